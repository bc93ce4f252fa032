"""The counter-based draws of `luce.randomness` as operations of PyTorch, for any device."""

import torch
from torch import Tensor

WORD = 0xFFFF_FFFF
"""All bits of a 32-bit word; words are held as int64, whose products keep their lower 64 bits."""


def random_words(seed: Tensor, step: Tensor, numbers: Tensor, sample: Tensor, block: Tensor) -> tuple[Tensor, ...]:
    """Four 32-bit words for each block of a stream, the shapes of numbers, samples and blocks being broadcast.

    >>> one = torch.zeros(1, dtype=torch.int64)
    >>> [int(word) for word in random_words(one[0], one[0], one, one, one)]  # Philox 4×32-10 of zeros
    [1713891541, 3781805453, 3159862348, 2600524760]
    """
    c0, c1, c2, c3 = torch.broadcast_tensors(block & WORD, sample & WORD, numbers & WORD, step & WORD)
    key0, key1 = seed & WORD, seed >> 32 & WORD
    for _ in range(10):
        high, low = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (low >> 32 & WORD) ^ c1 ^ key0, low & WORD, (high >> 32 & WORD) ^ c3 ^ key1, high & WORD
        key0, key1 = key0 + 0x9E3779B9 & WORD, key1 + 0xBB67AE85 & WORD
    return c0, c1, c2, c3


def numbers_of(numbers: Tensor | None, offsets: Tensor) -> Tensor:
    """The dataset-wide numbers of the lists, (Q,); 0, 1, 2, … where none are given."""
    return torch.arange(len(offsets) - 1, device=offsets.device) if numbers is None else numbers
