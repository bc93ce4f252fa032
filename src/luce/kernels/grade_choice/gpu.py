"""The softmax over grades on a GPU: one program a list, which takes some of its items at a time."""

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 4_096
"""Scores that a program holds at a time, where one item has not more."""


def grade_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N, grades) times a factor; see `plain.grade_lists`."""
    losses = torch.empty(len(offsets) - 1, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(scores.shape, device=scores.device, dtype=torch.float32)
    if len(losses) and scores.numel():
        width = triton.next_power_of_2(scores.shape[1])
        rows = min(max(TILE // width, 1), triton.next_power_of_2(max(longest, 16)))
        _grade_lists[(len(losses),)](
            scores, labels, offsets, scores if item_weights is None else item_weights, losses, gradient, factor,
            scores.shape[1], item_weights is not None, rows, width, num_warps=8,
        )  # fmt: skip
    return losses, gradient


@triton.jit
def _grade_lists(
    scores, labels, offsets, weights, losses, gradient, factor, grades,
    weighted: tl.constexpr, rows: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    begin, end = tl.load(offsets + tl.program_id(0)), tl.load(offsets + tl.program_id(0) + 1)
    grade = tl.arange(0, width)[None, :]
    total = tl.zeros([rows], tl.float64)
    for first in range(begin, end, rows):
        row = first + tl.arange(0, rows)
        here = row < end
        y = tl.load(labels + row, mask=here, other=float("nan"))
        w = (y == y).to(tl.float64)
        if weighted:
            w = tl.load(weights + row, mask=y == y, other=0.0).to(tl.float64)
        cells = row[:, None] * grades + grade
        inside = here[:, None] & (grade < grades)
        s = tl.load(scores + cells, mask=inside, other=-float("inf")).to(tl.float64)
        s = tl.where(here[:, None], s, 0.0)
        top = tl.max(s, 1)
        share = tl.exp(s - top[:, None])
        z = tl.sum(share, 1)
        chosen = inside & (grade == y[:, None])
        no_grade = (y == y) & (tl.sum(chosen.to(tl.int32), 1) == 0)
        found = tl.log(z) + top - tl.sum(tl.where(chosen, s, 0.0), 1)
        total += tl.where(no_grade, float("nan"), tl.where(y == y, w * found, 0.0))
        derivative = (w * factor)[:, None] * (share / z[:, None] - chosen.to(tl.float64))
        tl.store(gradient + cells, tl.where((y == y)[:, None], derivative, 0.0).to(tl.float32), mask=inside)
    tl.store(losses + tl.program_id(0), tl.sum(total, 0).to(tl.float32))
