"""Scores with Gumbel noise on a GPU: the numbers of `sampled_rankings.numbers`, from which the CPU makes its noise."""

import torch
import triton
import triton.language as tl
from torch import Tensor

ITEMS = 512
"""Items of a program."""


def gumbel_scores(
    scores: Tensor, places: Tensor, numbers: Tensor, stream: Tensor, first_sample: int, samples: int
) -> Tensor:
    """Scores (N,) with the noise of each of some samples, (samples, N), float32.

    Noise belongs to the place of an item in its list, from 0 on, and to the number of the list: both (N,).
    """
    noisy = torch.empty((samples, len(scores)), device=scores.device, dtype=torch.float32)
    if len(scores):
        _gumbel_scores[(triton.cdiv(len(scores), ITEMS), samples)](
            scores, places, numbers, stream, noisy, len(scores), first_sample, ITEMS, num_warps=4
        )
    return noisy


@triton.jit
def _gumbel_scores(scores, places, numbers, stream, noisy, n_rows, first_sample, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    here = row < n_rows
    place = tl.load(places + row, mask=here, other=0)
    number = tl.load(numbers + row, mask=here, other=0)
    seed, step = tl.load(stream), tl.load(stream + 1)
    sample, zero = tl.program_id(1), place * 0
    a, b, c, d = tl.philox(seed, (place >> 1).to(tl.uint32), (zero + sample + first_sample).to(tl.uint32),
                           number.to(tl.uint32), (zero + step).to(tl.uint32))  # fmt: skip
    odd = (place & 1) == 1
    high, low = tl.where(odd, c, a).to(tl.uint64), tl.where(odd, d, b).to(tl.uint64)
    uniform = (((high << 32) | low) >> 12).to(tl.int64).to(tl.float64) * 2.220446049250313e-16 + 1.1102230246251565e-16
    s = tl.load(scores + row, mask=here, other=0.0).to(tl.float64) - tl.log(-tl.log(uniform))
    tl.store(noisy + sample.to(tl.int64) * n_rows + row, s.to(tl.float32), mask=here)
