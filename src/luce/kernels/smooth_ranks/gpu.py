"""Discounted gains at smooth ranks on a GPU: a program takes some items and meets all items of their list."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels.gpu_tiles import n_tiles, sum_tiles, tile_of

ROWS, COLUMNS = 8, 128
"""Items of a program, and others that they meet at a time."""

LOG_2 = tl.constexpr(0.6931471805599453)


def discounted_gains(
    scores: Tensor, gains: Tensor, offsets: Tensor, longest: int, temperature: float, factor: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Minus the discounted sums of gains (Q,), and the gradient (N,) times a factor, float32.

    Items with a gain of NaN are not observed.
    """
    device, n_programs = scores.device, n_tiles(offsets, len(scores), ROWS)
    losses = torch.empty(n_programs, device=device, dtype=torch.float32)
    gradient, pulls = torch.empty((2, len(scores)), device=device, dtype=torch.float32)
    if n_programs:
        settings = len(offsets) - 1, 1.0 / temperature, ROWS, COLUMNS
        _find_ranks[(n_programs,)](scores, gains, offsets, pulls, losses, *settings, num_warps=4)
        _find_gradient[(n_programs,)](scores, pulls, offsets, gradient, float(factor), *settings, num_warps=4)
    return sum_tiles(losses, offsets, ROWS), gradient


@triton.jit
def _find_ranks(scores, gains, offsets, pulls, losses, n_lists, steepness, rows: tl.constexpr, columns: tl.constexpr):
    """The loss, and what each rank adds to it as it grows, times the steepness; NaN of items that are not observed."""
    begin, count, first = tile_of(offsets, n_lists, rows)
    if first < count:
        scores, gains = scores + begin, gains + begin
        i = first + tl.arange(0, rows)[:, None]
        own = tl.load(scores + i, mask=i < count, other=0.0).to(tl.float32)
        gain = tl.load(gains + i, mask=i < count, other=0.0).to(tl.float32)
        ranks = tl.zeros([rows, columns], tl.float32)
        for at in range(0, count, columns):
            j = at + tl.arange(0, columns)[None, :]
            other_gain = tl.load(gains + j, mask=j < count, other=float("nan"))
            difference = (tl.load(scores + j, mask=j < count, other=0.0).to(tl.float32) - own) * steepness
            close = tl.exp(-tl.abs(difference))
            above = tl.where(difference > 0.0, 1.0, close) / (1.0 + close)
            ranks += tl.where(other_gain == other_gain, above, 0.0)
        rank = 0.5 + tl.sum(ranks, 1)[:, None]  # of the item itself half is in the sum
        logarithm = tl.log(1.0 + rank)
        value = gain * LOG_2 / logarithm
        tl.store(pulls + begin + i, value / ((1.0 + rank) * logarithm) * steepness, mask=i < count)
        tl.store(losses + tl.program_id(0), -tl.sum(tl.sum(tl.where(gain == gain, value, 0.0), 1), 0))


@triton.jit
def _find_gradient(
    scores, pulls, offsets, gradient, factor, n_lists, steepness, rows: tl.constexpr, columns: tl.constexpr
):
    begin, count, first = tile_of(offsets, n_lists, rows)
    if first < count:
        scores, pulls = scores + begin, pulls + begin
        i = first + tl.arange(0, rows)[:, None]
        own = tl.load(scores + i, mask=i < count, other=0.0).to(tl.float32)
        own_pull = tl.load(pulls + i, mask=i < count, other=float("nan"))
        slopes = tl.zeros([rows, columns], tl.float32)
        for at in range(0, count, columns):
            j = at + tl.arange(0, columns)[None, :]
            pull = tl.load(pulls + j, mask=j < count, other=float("nan"))
            difference = (tl.load(scores + j, mask=j < count, other=0.0).to(tl.float32) - own) * steepness
            close = tl.exp(-tl.abs(difference))
            inverse = 1.0 / (1.0 + close)
            change = pull - own_pull
            slopes += tl.where(change == change, change, 0.0) * close * inverse * inverse
        tl.store(gradient + begin + i, tl.sum(slopes, 1)[:, None] * factor, mask=i < count)
