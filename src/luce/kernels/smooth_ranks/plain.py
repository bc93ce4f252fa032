"""Discounted gains at smooth ranks in plain PyTorch, for devices without Triton."""

import math

import torch
from torch import Tensor

from luce.kernels.padded import column_blocks, flat, padded


def discounted_gains(
    scores: Tensor, gains: Tensor, offsets: Tensor, longest: int, temperature: float, factor: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Minus the discounted sums of gains (Q,), and the gradient (N,) times a factor; see `gpu.discounted_gains`."""
    s, gain = padded(scores.double(), offsets, longest, 0.0), padded(gains.double(), offsets, longest, torch.nan)
    seen, gain = ~gain.isnan(), gain.nan_to_num(nan=0.0)
    ranks, slopes = torch.full_like(s, 0.5), torch.zeros_like(s)
    for some in column_blocks(*s.shape):
        above = torch.sigmoid((s[:, None, some] - s[:, :, None]) / temperature)
        ranks += (above * seen[:, None, some]).sum(2)
    value = gain * math.log(2.0) / ranks.log1p()
    pull = value / ((1.0 + ranks) * ranks.log1p() * temperature)
    for some in column_blocks(*s.shape):
        above = torch.sigmoid((s[:, None, some] - s[:, :, None]) / temperature)
        slopes += ((pull[:, None, some] - pull[:, :, None]) * above * (1.0 - above) * seen[:, None, some]).sum(2)
    gradient = flat(torch.where(seen, slopes, 0.0), offsets, len(scores))
    return -value.sum(1).float(), (factor * gradient).float()
