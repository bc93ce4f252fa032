"""Tiles of ragged lists on a GPU: as many programs for each list as its items fill, and sums over them.

List q has the tiles from offsets[q] // rows + q on: these are enough, and no program looks at other lists. The sums
are no atomic additions: the same input gives the same bits.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


def n_tiles(offsets: Tensor, n_rows: int, rows: int) -> int:
    """How many programs take `rows` items each; a few more than are needed."""
    return n_rows // rows + len(offsets) - 1


def sum_tiles(parts: Tensor, offsets: Tensor, rows: int) -> Tensor:
    """The sums (Q,) over the tiles of each list, float32."""
    totals = torch.empty(len(offsets) - 1, device=parts.device, dtype=torch.float32)
    if len(totals):
        _sum_tiles[(len(totals),)](parts, offsets, totals, rows, num_warps=1)
    return totals


@triton.jit
def _sum_tiles(parts, offsets, totals, rows: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    tiles = (tl.load(offsets + row + 1) - begin + rows - 1) // rows
    parts += begin // rows + row
    total = tl.zeros([128], tl.float64)
    for at in range(0, tiles, 128):
        tile = at + tl.arange(0, 128)
        total += tl.load(parts + tile, mask=tile < tiles, other=0.0).to(tl.float64)
    tl.store(totals + row, tl.sum(total, 0).to(tl.float32))


@triton.jit
def tile_of(offsets, n_lists, rows: tl.constexpr):
    """Where the list of this program begins, its number of items, and the first of the tile; beyond them if unused."""
    program = tl.program_id(0).to(tl.int64)
    low, high = program * 0, program * 0 + n_lists
    while high - low > 1:
        middle = (low + high) // 2
        reached = tl.load(offsets + middle) // rows + middle <= program
        low, high = tl.where(reached, middle, low), tl.where(reached, high, middle)
    begin = tl.load(offsets + low)
    count = (tl.load(offsets + low + 1) - begin).to(tl.int32)
    return begin, count, ((program - begin // rows - low) * rows).to(tl.int32)
