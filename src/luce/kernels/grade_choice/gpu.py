"""The softmax over grades on a GPU: a program takes some items of a list."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels.gpu_tiles import n_tiles, sum_tiles, tile_of

ROWS = 64
"""Items of a program."""


def grade_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N, grades) times a factor; see `plain.grade_lists`."""
    n_programs = n_tiles(offsets, len(scores), ROWS)
    losses = torch.empty(n_programs, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(scores.shape, device=scores.device, dtype=torch.float32)
    if n_programs:
        _grade_lists[(n_programs,)](
            scores, labels, offsets, scores if item_weights is None else item_weights, losses, gradient, factor,
            len(offsets) - 1, scores.shape[1], item_weights is not None, ROWS, triton.next_power_of_2(scores.shape[1]),
            num_warps=2,
        )  # fmt: skip
    return sum_tiles(losses, offsets, ROWS), gradient


@triton.jit
def _grade_lists(
    scores, labels, offsets, weights, losses, gradient, factor, n_lists, grades,
    weighted: tl.constexpr, rows: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    begin, count, first = tile_of(offsets, n_lists, rows)
    place, grade = first + tl.arange(0, rows), tl.arange(0, width)[None, :]
    here = place < count
    y = tl.load(labels + begin + place, mask=here, other=float("nan"))
    w = (y == y).to(tl.float64)
    if weighted:
        w = tl.load(weights + begin + place, mask=y == y, other=0.0).to(tl.float64)
    cells = (begin + place)[:, None] * grades + grade
    inside = here[:, None] & (grade < grades)
    s = tl.load(scores + cells, mask=inside, other=-float("inf")).to(tl.float64)
    s = tl.where(here[:, None], s, 0.0)
    top = tl.max(s, 1)
    share = tl.exp(s - top[:, None])
    z = tl.sum(share, 1)
    chosen = inside & (grade == y[:, None])
    no_grade = (y == y) & (tl.sum(chosen.to(tl.int32), 1) == 0)
    found = tl.log(z) + top - tl.sum(tl.where(chosen, s, 0.0), 1)
    found = tl.where(no_grade, float("nan"), tl.where(y == y, w * found, 0.0))
    derivative = (w * factor)[:, None] * (share / z[:, None] - chosen.to(tl.float64))
    tl.store(gradient + cells, tl.where((y == y)[:, None], derivative, 0.0).to(tl.float32), mask=inside)
    tl.store(losses + tl.program_id(0), tl.sum(found, 0).to(tl.float32))
