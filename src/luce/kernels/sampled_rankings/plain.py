"""Scores with Gumbel noise in plain PyTorch, for devices without Triton."""

import torch
from torch import Tensor

from luce.kernels.torch_random import random_words


def gumbel_scores(
    scores: Tensor, places: Tensor, numbers: Tensor, stream: Tensor, first_sample: int, samples: int
) -> Tensor:
    """Scores (N,) with the noise of each of some samples, (samples, N), float32; see `gpu.gumbel_scores`."""
    sample = torch.arange(first_sample, first_sample + samples, device=scores.device)[:, None]
    a, b, c, d = random_words(stream[0], stream[1], numbers, sample, places >> 1)
    odd = places % 2 == 1
    high, low = torch.where(odd, c, a), torch.where(odd, d, b)
    uniform = (high << 20 | low >> 12).double() * 2.0**-52 + 2.0**-53
    return (scores - uniform.log().neg().log()).float()
