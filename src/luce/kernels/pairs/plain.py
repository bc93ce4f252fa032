"""Losses of pairs in plain PyTorch, for devices without Triton: all items meet some partners at a time."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from luce.kernels.padded import best_first, column_blocks, flat, padded
from luce.kernels.pairs import HINGE, SQUARE
from luce.kernels.pairs.draws import DAVIDSON, RAO_KUPPER


def pair_losses(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    kind: int,
    *,
    item_weights: Tensor | None = None,
    parameter: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Losses (Q,), gradient (N,) times a factor, and (Q, 1) in the parameter of ties; see `gpu.pair_losses`."""
    s = padded(scores.double(), offsets, longest, 0.0)
    y = padded(labels.double(), offsets, longest, torch.nan)
    w = torch.ones_like(s) if item_weights is None else padded(item_weights.double(), offsets, longest, 0.0)
    of_list = None if parameter is None else parameter.double().expand(len(s)).clone()
    inputs = [each for each in (s, of_list) if each is not None]
    losses, slopes = s.new_zeros(len(s)), [torch.zeros_like(each) for each in inputs]
    places = torch.arange(s.shape[1], device=s.device)
    with torch.enable_grad():
        for each in inputs:
            each.requires_grad_()
        for some in column_blocks(*s.shape):
            tied = (y[:, :, None] == y[:, None, some]) & (places[:, None] < places[some])
            tied = tied & (kind in (RAO_KUPPER, DAVIDSON))
            values = _values(
                s[:, :, None] - s[:, None, some], tied, kind, None if of_list is None else of_list[:, None, None]
            )
            counted = (y[:, :, None] > y[:, None, some]) | tied
            found = torch.where(counted, w[:, :, None] * w[:, None, some] * values, 0.0).sum((1, 2))
            losses += found.detach()
            for total, found_gradient in zip(slopes, torch.autograd.grad(found.sum(), inputs), strict=True):
                total += found_gradient
    by_parameter = None if parameter is None else slopes[1][:, None].float()
    return losses.float(), (factor * flat(slopes[0], offsets, len(scores))).float(), by_parameter


def _values(d: Tensor, tied: Tensor, kind: int, parameter: Tensor | None) -> Tensor:
    """The loss of each pair whose upper item is `d` above the other, or that is tied."""
    if kind == HINGE:
        return relu(1.0 - d)
    if kind == SQUARE:
        return (1.0 - d) ** 2
    if parameter is None:
        return -logsigmoid(d)
    if kind == RAO_KUPPER:
        margin = -logsigmoid(-parameter)
        both = parameter + torch.logaddexp(parameter, torch.full_like(parameter, 2.0).log())
        return torch.where(tied, -logsigmoid(-d - margin) - both, 0.0) - logsigmoid(d - margin)
    whole = torch.logaddexp(torch.logaddexp(torch.zeros_like(d), -d), parameter - 0.5 * d)
    return whole + torch.where(tied, 0.5 * d - parameter, 0.0)


def pair_swaps(
    scores: Tensor,
    gains: Tensor,
    offsets: Tensor,
    longest: int,
    sums: Tensor,
    *,
    level: int,
    change: float,
    gap: float,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor; see `gpu.pair_swaps`."""
    rows = best_first(torch.where(gains.isnan(), torch.nan, scores.double()), offsets)
    seen = ~gains.isnan()
    w = seen.double() if item_weights is None else torch.where(seen, item_weights.double(), 0.0)
    s = padded(torch.where(seen, scores.double(), -torch.inf)[rows], offsets, longest, -torch.inf)
    g, w = (padded(each[rows], offsets, longest, 0.0) for each in (gains.double().nan_to_num(nan=0.0), w))
    falling = -s
    blocks = [torch.searchsorted(falling, falling, right=right) for right in (False, True)]
    s = s.nan_to_num(neginf=0.0)
    losses, slopes = s.new_zeros(len(s)), torch.zeros_like(s)
    places = torch.arange(s.shape[1], device=s.device)
    for some in column_blocks(*s.shape):
        own, others = ([each[:, :, None] for each in blocks], [each[:, None, some] for each in blocks])
        worth = _worths(own, others, sums, level, change, gap)
        weight = w[:, :, None] * w[:, None, some] * worth * (g[:, :, None] - g[:, None, some])
        d = weight.sign() * (s[:, :, None] - s[:, None, some])
        slopes -= (weight * torch.sigmoid(-d)).sum(2)
        losses -= torch.where(places[:, None] < places[some], weight.abs() * logsigmoid(d), 0.0).sum((1, 2))
    gradient = torch.empty_like(scores, dtype=torch.float32)
    gradient[rows] = (factor * flat(slopes, offsets, len(scores))).float()
    return losses.float(), gradient


def _worths(own: list[Tensor], others: list[Tensor], sums: Tensor, level: int, change: float, gap: float) -> Tensor:
    """What swapping two items is worth on average, from where their blocks of equal scores begin and end."""
    (start, end), (other_start, other_end) = own, others
    first, last = torch.minimum(start, other_start), torch.maximum(end, other_end)
    upper, lower = torch.minimum(end, other_end), torch.maximum(start, other_start)
    counted = upper.clamp(max=level).maximum(first)
    total, moment = sums[0], sums[1]
    n_counted, size, lower_size = counted - first, upper - first, last - lower
    fall = lower_size * (total[counted] - total[first]) - n_counted * (total[last] - total[lower])
    near = total[lower - first] - total[(lower - counted).clamp(min=0)]
    far = total[last - first] - total[last - counted]
    within = change * (
        (last - 1) * (total[counted] - total[first])
        - n_counted * total[last]
        + counted * total[counted]
        - first * total[first]
        - 2.0 * (moment[counted] - moment[first])
    ) + gap * (n_counted * total[1] - far)
    inside = 2.0 * within / (size * (size - 1)).clamp(min=1)
    return torch.where(start == other_start, inside, (change * fall + gap * (near - far)) / (size * lower_size))
