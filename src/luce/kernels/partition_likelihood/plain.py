"""The partition likelihood in plain PyTorch, for devices without Triton.

Rows of scores have few relevant labels: the others are summed chunk by chunk, the rows are finished, and the gradient
is computed from two numbers per row and one per relevant label.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from luce.kernels.padded import flat, padded
from luce.kernels.partition_likelihood import ALL_RANKS, ATTENTION, BOUND, IDEAL, LOGISTIC, PARTITION, SQUARED

WIDTH = 4_096
"""Columns of a chunk."""

TOLERANCE = 1e-7
"""Of a log-probability: scores of float32 say no more."""


class RowWorkspace(NamedTuple):
    """Where the numbers of B rows lie, one after the other in `numbers`.

    losses, hazard, top, low: (B,) each. Every label gets hazard · e^{s − top − low}, but for the relevant ones; from
    LOGISTIC on hazard times the derivative of its own term. Then the greatest score of each chunk and Σ e^{s −
    greatest}, or 0 and the sum of the terms, (B, chunks); scores and gradient of the relevant labels.
    """

    numbers: Tensor
    n_rows: int
    chunks: int
    n_picked: int

    @classmethod
    def make(cls, like: Tensor, n_labels: int, n_picked: int) -> "RowWorkspace":
        """RowWorkspace for the rows of `like`, on its device."""
        n_rows, chunks = len(like), n_chunks(n_labels)
        size = 4 * n_rows + 2 * n_rows * chunks + 2 * n_picked
        return cls(torch.empty(size, device=like.device, dtype=torch.float32), n_rows, chunks, n_picked)

    @property
    def losses(self) -> Tensor:
        return self.numbers[: self.n_rows]

    def parts(self) -> list[Tensor]:
        """Views: losses, hazard, top, low; tops and sums (B, chunks); picked, gradient."""
        sizes = [self.n_rows] * 4 + [self.n_rows * self.chunks] * 2 + [self.n_picked] * 2
        views = list(self.numbers.split(sizes))
        views[4:6] = [view.view(self.n_rows, self.chunks) for view in views[4:6]]
        return views


def grid_settings(tol: float) -> tuple[float, float]:
    """How far below its peak the integrand is cut off, and the step as a multiple of that for 1e-9.

    >>> grid_settings(1e-9)[1]
    1.0
    """
    finer = 20.0 / (20.0 + min(max(math.log(1e-9 / tol), -6.0), 20.0))
    return 6.0 - math.log(tol), finer


def n_chunks(n_labels: int) -> int:
    """How many chunks a row has."""
    return -(-n_labels // WIDTH)


def losses_and_gradient(
    scores: Tensor,
    labels: Tensor,
    starts: Tensor,
    longest: int,
    kind: int,
    workspace: RowWorkspace,
    factor: float,
    out: Tensor,
    depth: int = ALL_RANKS,
) -> None:
    """All at once: the workspace filled, and the gradient (B, N) times a factor in `out`."""
    sum_rest(scores, labels, starts, kind, workspace)
    finish_rows(starts, scores.shape[1], longest, kind, workspace, depth)
    write_gradient(scores, labels, starts, kind, workspace, None, factor, out)


def sum_rest(
    scores: Tensor, labels: Tensor, starts: Tensor, kind: int, workspace: RowWorkspace, first: int = 0
) -> None:
    """Sum up each chunk of a row without the relevant labels, whose scores are picked.

    All labels count for the bounds and cross-entropies. Where the columns are not all labels, `first`, a multiple of
    WIDTH, is the label of the first one.
    """
    *_, tops, sums, picked, _ = workspace.parts()
    rest, n_labels = scores.float(), scores.shape[1]
    rows, inside = _rows(starts, len(labels)), (labels >= first) & (labels < first + n_labels)
    at = rows[inside], labels[inside] - first
    picked[inside] = rest[at]
    if kind == PARTITION or kind >= LOGISTIC:
        rest = rest.clone()
        rest[at] = -torch.inf
    here = slice(first // WIDTH, first // WIDTH + n_chunks(n_labels))
    tops[:, here], sums[:, here] = -torch.inf, 0.0
    top = torch.zeros_like(rest[:, 0]) if kind >= LOGISTIC else rest.amax(1)
    tops[:, here.start] = top
    if kind == LOGISTIC:
        terms = softplus(rest)
    elif kind == SQUARED:
        terms = torch.where(rest == -torch.inf, 0.0, rest).square()
    else:
        terms = (rest - top.nan_to_num(neginf=0.0)[:, None]).exp()
    sums[:, here.start] = terms.sum(1)


def finish_rows(
    starts: Tensor, n_labels: int, longest: int, kind: int, workspace: RowWorkspace, depth: int = ALL_RANKS
) -> None:
    """Finish the rows: from the scores of the relevant labels and the sums of the chunks to losses and gradient.

    The ideal DCG counts `depth` ranks.
    """
    losses, hazard, top, low, tops, sums, picked, gradient = workspace.parts()
    counts, rows = starts.diff(), _rows(starts, len(picked))
    top.copy_(tops.amax(1).nan_to_num(neginf=0.0))
    rest = (sums.double() * (tops - top[:, None]).double().exp()).sum(1).log()
    has_signal = (counts > 0) & ((rest > -torch.inf) | (kind >= LOGISTIC)) & ((counts < n_labels) | (kind > BOUND))
    rest = torch.where(has_signal, rest, 0.0)
    places = torch.arange(max(longest, 1), device=starts.device)
    chosen = (places < counts[:, None]) & has_signal[:, None]
    own = torch.zeros(chosen.shape, dtype=torch.float64, device=starts.device)
    at = rows, torch.arange(len(picked), device=starts.device) - starts[rows]
    own[at] = picked.double()
    relative = torch.where(chosen, own - top.double()[:, None] - rest[:, None], 0.0)
    n = chosen.sum(1).double()
    if kind == PARTITION:
        log_p, rates = set_log_probability(relative, chosen)
        found = -log_p, rates.sum(1), -rates
    elif kind >= LOGISTIC:
        away = -own if kind == LOGISTIC else own - 1.0
        terms = softplus(away) if kind == LOGISTIC else away.square()
        slopes = -away.sigmoid() if kind == LOGISTIC else 2.0 * away
        total = sums.double().sum(1) + torch.where(chosen, terms, 0.0).sum(1)
        found = torch.where(has_signal, total, 0.0), has_signal.double(), torch.where(chosen, slopes, 0.0)
    else:
        size = torch.ones_like(n)
        if kind == ATTENTION:
            size = n.clamp(min=1.0)
        elif kind == IDEAL:
            discounts = torch.where(places < depth, (places + 2.0).double().log2().reciprocal(), 0.0)
            size = torch.where(places < n.clamp(min=1.0)[:, None], discounts, 0.0).sum(1)
        derivative = torch.where(chosen, (n[:, None] * relative.exp() - 1.0) / size[:, None], 0.0)
        found = -relative.sum(1) / size, n / size, derivative
    for target, value in zip((losses, hazard, low, gradient), (*found[:2], rest, found[2][at]), strict=True):
        target.copy_(value)


def write_gradient(
    scores: Tensor,
    labels: Tensor,
    starts: Tensor,
    kind: int,
    workspace: RowWorkspace,
    upstream: Tensor | None,
    factor: float,
    out: Tensor,
    first: int = 0,
) -> None:
    """Write the gradient (B, N) of rows, each times its `upstream` and a factor; `out` may be the scores themselves."""
    _, hazard, top, low, *_, gradient = workspace.parts()
    scale = torch.ones_like(hazard) if upstream is None else upstream.float().expand(workspace.n_rows)
    scale = scale * factor
    force, share = (scale * hazard)[:, None], scores.float()
    if kind == LOGISTIC:
        share = share.sigmoid()
    elif kind == SQUARED:
        share = 2.0 * share
    else:
        share = ((share - top[:, None]) - low[:, None]).exp()
    out.copy_(torch.where(force == 0.0, 0.0, force * share))
    rows, inside = _rows(starts, len(labels)), (labels >= first) & (labels < first + scores.shape[1])
    out[rows[inside], labels[inside] - first] = (scale[rows] * gradient)[inside].to(out.dtype)


def partition_lists(
    scores: Tensor, labels: Tensor, offsets: Tensor, longest: int, factor: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor of lists of at most `longest` items; NaN labels are not observed."""
    s, y = padded(scores.double(), offsets, longest, 0.0), padded(labels.double(), offsets, longest, torch.nan)
    seen = ~y.isnan()
    loss, gradient = s.new_zeros(len(s)), torch.zeros_like(s)
    level = torch.where(seen, y, -torch.inf).amax(1, keepdim=True)
    rest = seen & (y < level)
    while bool(rest.any()):
        chosen = seen & (y == level) & rest.any(1, keepdim=True)
        low = torch.where(rest, s, -torch.inf).logsumexp(1, keepdim=True).nan_to_num(neginf=0.0)
        log_p, rates = set_log_probability(torch.where(chosen, s - low, 0.0), chosen)
        loss -= log_p
        gradient += rates.sum(1, keepdim=True) * torch.where(rest, s - low, -torch.inf).exp() - rates
        level = torch.where(rest, y, -torch.inf).amax(1, keepdim=True)
        rest = rest & (y < level)
    return loss.float(), (factor * flat(gradient, offsets, len(scores))).float()


def _rows(starts: Tensor, total: int) -> Tensor:
    """The row of each relevant label."""
    return torch.arange(len(starts) - 1, device=starts.device).repeat_interleave(starts.diff(), output_size=total)


def set_log_probability(log_a: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """log P (B,) of the set of `chosen` items of each row (B, S), and E[q] of each; 0 for a row without any."""
    n = chosen.sum(1).double()
    cut, finer = grid_settings(TOLERANCE)
    low, high = torch.zeros_like(n), (n + 1.0).log()
    for _ in range(60):  # the mode: e^z = 1 + Σ q
        middle = 0.5 * (low + high)
        rises = _factors(log_a, chosen, middle)[1].sum(1).log1p() > middle
        low, high = torch.where(rises, middle, low), torch.where(rises, high, middle)
    mode = low
    logs, _, gradient = _factors(log_a, chosen, mode)
    peak, sd = mode - mode.exp() + logs.sum(1), (mode.exp() - gradient.sum(1)).rsqrt()
    step = finer * torch.minimum((0.7 * sd).clamp(max=0.24), 0.5 / (n + 1.0).log().clamp(min=0.5))
    begin = mode - 6.0 * sd
    logs, q, _ = _factors(log_a, chosen, begin)
    fallen = peak - (begin - begin.exp() + logs.sum(1))
    begin = begin - (cut - fallen).clamp(min=0.0) / (1.0 - begin.exp() + q.sum(1))
    end = mode + (1.0 + (cut / mode.exp()).log1p())
    total, rates = torch.zeros_like(n), torch.zeros_like(log_a)
    for node in range(int(((end - begin) / step).max().nan_to_num(0.0)) + 1 if len(n) else 0):
        z = begin + node * step
        logs, q, _ = _factors(log_a, chosen, z)
        weight = torch.where(z < end, (z - z.exp() + logs.sum(1) - peak).exp(), 0.0)
        total += weight
        rates += weight[:, None] * q
    return torch.where(n > 0, peak + (total * step).log(), 0.0), rates / total[:, None]


def _factors(log_a: Tensor, chosen: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of every item at z: log w, q and q (1 − x − q), 0 outside the set; w = 1 − e^{−x}, q = x / (e^x − 1)."""
    log_x = (log_a + z[:, None]).clamp(max=6.5)
    x = log_x.clamp(min=-700.0).exp()
    w = -torch.expm1(-x)
    q = x * (1.0 - w) / w
    log_w = torch.where(log_x < -40.0, log_x, w.log())
    return torch.where(chosen, log_w, 0.0), torch.where(chosen, q, 0.0), torch.where(chosen, q * (1.0 - x - q), 0.0)
