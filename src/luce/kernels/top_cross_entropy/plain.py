"""The cross-entropy of the first places in plain PyTorch, for any device: that of `cpu` for all lists at once."""

from typing import NamedTuple

import torch
from torch import Tensor

from luce.kernels.padded import column_blocks, flat, padded


def top_cross_entropy(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    depth: int,
    *,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor, float32, of the first 2 or 3 places; NaN labels are left out."""
    y = padded(labels.double(), offsets, longest, torch.nan)
    s, here = padded(scores.double(), offsets, longest, 0.0), ~y.isnan()
    w = torch.ones_like(s) if item_weights is None else padded(item_weights.double(), offsets, longest, 0.0)
    losses, gradient, chance = _places(s, y, w, here, depth == 2)
    if depth == 3:
        items = torch.arange(s.shape[1], device=s.device)
        for some in column_blocks(*s.shape):
            left, out = here[:, None] & (items != items[some, None]), chance[:, some]
            more, more_gradient, _ = _places(s[:, None], y[:, None], w[:, None], left, True)
            losses, gradient = losses + (out * more).sum(1), gradient + (out[:, :, None] * more_gradient).sum(1)
    return losses.float(), (factor * flat(gradient, offsets, len(scores))).float()


class _Choice(NamedTuple):
    """The softmax of numbers and the log of their sum of exponentials, over all items, and without the highest."""

    best: Tensor
    share: Tensor
    log_sum: Tensor
    share_below: Tensor
    log_sum_below: Tensor


def _choice(values: Tensor, here: Tensor) -> _Choice:
    values = torch.where(here, values, -torch.inf)
    best = torch.zeros_like(here).scatter(-1, values.argmax(-1, keepdim=True), True)
    found = [best]
    for each in (values, values.masked_fill(best, -torch.inf)):
        found += [each.softmax(-1).nan_to_num(0.0), each.logsumexp(-1).nan_to_num(neginf=0.0)]  # 0 of no items
    return _Choice(*found)


def _places(s: Tensor, y: Tensor, w: Tensor, here: Tensor, two: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of the first place, or of the first two, its gradient (…, items), and the shares of the labels."""
    p, q = _choice(y, here), _choice(s, here)
    targets, surprise = w * p.share, torch.where(here, q.log_sum[..., None] - s, 0.0)
    losses, gradient = (targets * surprise).sum(-1), targets.sum(-1, keepdim=True) * q.share - targets
    if two:
        second, its_gradient = _second_place(p, q, w, here, surprise)
        losses, gradient = losses + second, gradient + its_gradient
    return losses, gradient, p.share


def _second_place(p: _Choice, q: _Choice, w: Tensor, here: Tensor, surprise: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of the second place and its gradient; `mass` is what all others would get if an item were first."""
    odds = torch.where(p.best, 0.0, p.share / torch.where(p.best, 1.0, 1.0 - p.share))
    all_odds, liked = odds.sum(-1, keepdim=True), torch.where(p.best, p.share, 0.0).sum(-1, keepdim=True)
    once, weighted = ((w * each).sum(-1, keepdim=True) for each in (p.share_below, p.share))
    targets = w * (p.share * (all_odds - odds) + liked * p.share_below)
    mass = torch.where(p.best, p.share * once, odds * (weighted - w * p.share))
    counted = here & (here.sum(-1, keepdim=True) > 2)  # of two items the second place is certain
    targets, mass = (torch.where(counted, each, 0.0) for each in (targets, mass))
    others = torch.where(q.best, 1.0, 1.0 - q.share)
    change = torch.where(q.best, (q.log_sum_below - q.log_sum)[..., None], others.log())
    inverse = torch.where(q.best, 0.0, mass / others)
    lone = torch.where(q.best, mass, 0.0).sum(-1, keepdim=True)
    gradient = q.share * (inverse.sum(-1, keepdim=True) - inverse) + lone * q.share_below - targets
    return (mass * change + targets * surprise).sum(-1), gradient
