"""The losses against targets of the labels in plain PyTorch, for devices without Triton."""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from luce.kernels.label_targets.cpu import ATTENTION, DCG, EXPONENTIAL, GAIN, LENGTH, ONE
from luce.kernels.padded import flat, padded
from luce.kernels.target_losses import COSINE, CROSS_ENTROPY, SQUARED


def target_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    *,
    loss: int,
    value: int,
    norm: int,
    depth: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor of lists of at most `longest` items; NaN labels are not observed."""
    s, y = padded(scores.double(), offsets, longest, 0.0), padded(labels.double(), offsets, longest, torch.nan)
    seen = ~y.isnan()
    s, w = torch.where(seen, s, 0.0), seen.double()
    if item_weights is not None:
        w = w * padded(item_weights.double(), offsets, longest, 0.0)
    t, counts = _targets(y, seen, value, norm, depth)
    if loss == CROSS_ENTROPY:
        total = (t * w).sum(1, keepdim=True)
        log_p = torch.where(seen, s, -torch.inf).log_softmax(1)
        terms, gradient = torch.where(seen, -w * t * log_p, 0.0), total * log_p.exp() - w * t
    elif loss == COSINE:
        counts = counts & (seen.sum(1, keepdim=True) > 1)
        largest = s.abs().amax(1, keepdim=True)
        scale = torch.where(largest > 0, largest, 1.0)
        u = s / scale
        length = torch.where(largest > 0, u.norm(dim=1, keepdim=True), 1.0)
        along = (t * u).sum(1, keepdim=True) / length
        terms, gradient = 0.5 - 0.5 * along, 0.5 * (along * u / length - t) / (length * scale)
    elif loss == SQUARED:
        gap = torch.where(seen, s - t, 0.0)
        terms, gradient = w * gap.square(), 2.0 * w * gap
    else:
        sign = torch.where(y > 0, -1.0, 1.0)
        terms, gradient = w * softplus(sign * s), w * sign * (sign * s).sigmoid()
    losses = torch.where(counts, terms, 0.0).sum(1)
    return losses.float(), (factor * flat(torch.where(counts, gradient, 0.0), offsets, len(scores))).float()


def _targets(y: Tensor, seen: Tensor, value: int, norm: int, depth: int) -> tuple[Tensor, Tensor]:
    """The targets (Q, longest), 0 where not observed, and whether the labels of a list say anything, (Q, 1)."""
    y = torch.where(seen, y, 0.0)
    if value >= EXPONENTIAL:
        counted = seen & (y > 0) if value == ATTENTION else seen
        return torch.where(counted, y, -torch.inf).softmax(1).nan_to_num(0.0), counted.any(1, keepdim=True)
    targets = y
    if value == GAIN:
        y = y.clamp(min=0.0)
        power = torch.zeros_like(y[:, :1]) if norm == ONE else y.amax(1, keepdim=True).floor()
        targets = _gains(y, power)
    if norm == ONE:
        return targets, seen.any(1, keepdim=True)
    size = targets.sum(1, keepdim=True)
    if norm == LENGTH:
        size = targets.norm(dim=1, keepdim=True)
    if norm == DCG:
        best = targets.sort(dim=1, descending=True).values[:, :depth]
        discounts = (torch.arange(best.shape[1], device=y.device) + 2.0).double().log2().reciprocal()
        size = (best * discounts).sum(1, keepdim=True)
    return targets / torch.where(size > 0, size, 1.0), size > 0


def _gains(y: Tensor, power: Tensor) -> Tensor:
    """(2^y − 1) / 2^power, exact for small y: beyond 60 the 1 is rounded away."""
    small = torch.expm1(y.clamp(max=60.0) * math.log(2.0)) * torch.exp2(-power)
    return torch.where(y > 60.0, torch.exp2(y - power), small)
