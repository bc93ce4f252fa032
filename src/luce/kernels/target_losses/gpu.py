"""The losses against targets of the labels on a GPU: one program a list, from the labels to the gradient.

Arithmetic is float64, so that a gradient which is the small difference of two probabilities keeps its digits.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels import target_losses
from luce.kernels.ideal_gpu import ideal_sum
from luce.kernels.label_targets import cpu

GAIN, EXPONENTIAL, ATTENTION = (tl.constexpr(value) for value in (cpu.GAIN, cpu.EXPONENTIAL, cpu.ATTENTION))
ONE, LENGTH, DCG = (tl.constexpr(norm) for norm in (cpu.ONE, cpu.LENGTH, cpu.DCG))
CROSS_ENTROPY, COSINE = tl.constexpr(target_losses.CROSS_ENTROPY), tl.constexpr(target_losses.COSINE)
SQUARED = tl.constexpr(target_losses.SQUARED)
LOG_2 = tl.constexpr(math.log(2.0))


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
    losses = torch.empty(len(offsets) - 1, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=scores.device, dtype=torch.float32)
    largest = triton.next_power_of_2(max(longest, 128))
    if len(losses):
        _target_lists[(len(losses),)](
            scores, labels, offsets, scores if item_weights is None else item_weights, losses, gradient, factor, depth,
            item_weights is not None, loss, value, norm, largest,
            num_warps=4 if largest <= 2_048 else 8 if largest <= 8_192 else 16,
        )  # fmt: skip
    return losses, gradient


@triton.jit
def _target_lists(
    scores, labels, offsets, weights, losses, gradient, factor, depth, weighted: tl.constexpr, loss: tl.constexpr,
    value: tl.constexpr, norm: tl.constexpr, largest: tl.constexpr,
):  # fmt: skip
    """A quarter of the workspace, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    scores, labels, weights = scores + begin, labels + begin, weights + begin
    if count <= largest // 4:
        _target_list(scores, labels, weights, losses + row, gradient + begin, count, factor, depth, weighted, loss,
                     value, norm, largest // 4)  # fmt: skip
    else:
        _target_list(scores, labels, weights, losses + row, gradient + begin, count, factor, depth, weighted, loss,
                     value, norm, largest)  # fmt: skip


@triton.jit
def _target_list(
    scores, labels, weights, result, out, count, factor, depth, weighted: tl.constexpr, loss: tl.constexpr,
    value: tl.constexpr, norm: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    places = tl.arange(0, size)
    here = places < count
    y = tl.load(labels + places, mask=here, other=float("nan")).to(tl.float32)
    seen = y == y
    s = tl.load(scores + places, mask=seen, other=0.0).to(tl.float64)
    w = seen.to(tl.float64)
    if weighted:
        w = tl.load(weights + places, mask=seen, other=0.0).to(tl.float64)
    t, counts = _targets(tl.where(seen, y, 0.0), seen, places, depth, value, norm)
    if loss == CROSS_ENTROPY:
        t *= w
        total = tl.sum(t, 0)
        top = tl.max(tl.where(seen, s, -float("inf")), 0)
        share = tl.exp(tl.where(seen, s - top, -float("inf")))
        z = tl.where(counts, tl.sum(share, 0), 1.0)
        found = tl.sum(t * tl.where(counts, top - s, 0.0), 0) + total * tl.log(z)
        derivative = total / z * share - t
    elif loss == COSINE:
        counts = counts & (tl.sum(seen.to(tl.int32), 0) > 1)
        largest = tl.max(tl.abs(s), 0)
        scale = tl.where(largest > 0.0, largest, 1.0)
        u = s / scale
        length = tl.where(largest > 0.0, tl.sqrt(tl.sum(u * u, 0)), 1.0)
        along = tl.sum(t * u, 0) / length
        found = 0.5 - 0.5 * along
        derivative = 0.5 * (along / length * u - t) / (length * scale)
    elif loss == SQUARED:
        gap = s - t
        found = tl.sum(w * gap * gap, 0)
        derivative = 2.0 * w * gap
    else:
        u = tl.exp(-tl.abs(s))
        right = (s >= 0.0) == (y > 0.0)
        found = tl.sum(w * (tl.log(1.0 + u) + tl.where(right, 0.0, tl.abs(s))), 0)
        derivative = w * tl.where(right, u, 1.0) / (1.0 + u)
        derivative = tl.where(y > 0.0, -derivative, derivative)
    tl.store(result, tl.where(counts, found, 0.0).to(tl.float32))
    tl.store(out + places, tl.where(counts, derivative * factor, 0.0).to(tl.float32), mask=here)


@triton.jit
def _targets(y, seen, places, depth, value: tl.constexpr, norm: tl.constexpr):
    """The targets, 0 where not observed, and whether the labels say anything."""
    t = y.to(tl.float64)
    total = tl.sum(seen.to(tl.float64), 0)
    if value == GAIN:
        y = tl.maximum(y, 0.0)
        power = tl.floor(tl.max(y, 0)) if norm != ONE else 0.0
        # Both are rounded alike, so that a label of 0 has no gain.
        t = tl.exp((y.to(tl.float64) - power) * LOG_2) - tl.exp((y.to(tl.float64) * 0.0 - power) * LOG_2)
    if value >= EXPONENTIAL:
        counted = seen
        if value == ATTENTION:
            counted = seen & (y > 0.0)
        top = tl.max(tl.where(counted, t, -float("inf")), 0)
        t = tl.exp(tl.where(counted, t - top, -float("inf")))
    if norm == LENGTH:
        total = tl.sqrt(tl.sum(t * t, 0))
    elif norm == DCG:
        total = ideal_sum(t, LOG_2 / tl.log((places + 2).to(tl.float64)), places, depth)
    elif norm != ONE:
        total = tl.sum(t, 0)
    if norm != ONE:
        t /= tl.where(total > 0.0, total, 1.0)
    return t, total > 0.0
