"""The losses of sets of equal labels on a GPU: one program a list, one round a label."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels import grade_losses

BOUND = tl.constexpr(grade_losses.BOUND)


def grade_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    kind: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor of lists of at most `longest` items; NaN labels are not observed."""
    losses = torch.empty(len(offsets) - 1, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=scores.device, dtype=torch.float32)
    largest = triton.next_power_of_2(max(longest, 128))
    if len(losses):
        _grade_lists[(len(losses),)](
            scores, labels, offsets, scores if item_weights is None else item_weights, losses, gradient, factor,
            item_weights is not None, kind, largest,
            num_warps=4 if largest <= 2_048 else 8 if largest <= 8_192 else 16,
        )  # fmt: skip
    return losses, gradient


@triton.jit
def _grade_lists(
    scores, labels, offsets, weights, losses, gradient, factor, weighted: tl.constexpr, kind: tl.constexpr,
    largest: tl.constexpr,
):  # fmt: skip
    """A quarter of the workspace, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    scores, labels, weights = scores + begin, labels + begin, weights + begin
    if count <= largest // 4:
        _grade_list(scores, labels, weights, losses + row, gradient + begin, count, factor, weighted, kind,
                    largest // 4)  # fmt: skip
    else:
        _grade_list(scores, labels, weights, losses + row, gradient + begin, count, factor, weighted, kind,
                    largest)  # fmt: skip


@triton.jit
def _grade_list(
    scores, labels, weights, loss, out, count, factor, weighted: tl.constexpr, kind: tl.constexpr, size: tl.constexpr
):
    places = tl.arange(0, size)
    here = places < count
    s = tl.load(scores + places, mask=here, other=0.0).to(tl.float64)
    y = tl.load(labels + places, mask=here, other=float("nan")).to(tl.float32)
    w = here.to(tl.float64)
    if weighted:
        w = tl.load(weights + places, mask=here, other=0.0).to(tl.float64)
    derivative = tl.zeros_like(s)
    value = tl.sum(derivative, 0)
    left = y == y
    level = tl.max(tl.where(left, y, -float("inf")), 0)
    rest = left & (y < level)
    while tl.sum(rest.to(tl.int32), 0) > 0:
        chosen = left & (y == level)
        top = tl.max(tl.where(left, s, -float("inf")), 0)
        share = tl.exp(tl.where(left, s - top, -float("inf")))
        z = tl.sum(share, 0)
        if kind == BOUND:
            own = tl.where(chosen, w, 0.0)
            total = tl.sum(own, 0)
            value += tl.sum(own * (top - s), 0) + total * tl.log(z) - _log_factorial(total)
            derivative += total / z * share - own
        else:
            best = tl.max(tl.where(chosen, s, -float("inf")), 0)
            among = tl.exp(tl.where(chosen, s - best, -float("inf")))
            own_z = tl.sum(among, 0)
            value += (top - best) + tl.log(z) - tl.log(own_z)
            derivative += share / z - among / own_z
        left = rest
        level = tl.max(tl.where(rest, y, -float("inf")), 0)
        rest = rest & (y < level)
    tl.store(loss, value.to(tl.float32))
    tl.store(out + places, (derivative * factor).to(tl.float32), mask=here)


@triton.jit
def _log_factorial(x):
    """log Γ(x + 1) for x ≥ 0: Stirling's series at x + 9."""
    product = (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0) * (x + 7.0) * (x + 8.0)
    z = x + 9.0
    square = 1.0 / (z * z)
    series = (1.0 - square * (1.0 - square * (1.0 - square * 0.75) * 2.0 / 7.0) / 30.0) / (12.0 * z)
    return (z - 0.5) * tl.log(z) - z + 0.9189385332046727 + series - tl.log(product)
