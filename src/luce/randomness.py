"""Counter-based random numbers: (seed, step, list, sample, draw) gives the same number for any batch, thread or device.

The generator is Philox 4×32-10 (Salmon et al., 2011): the seed is its key, the other four numbers are its counter.
"""

from typing import NamedTuple

import numpy as np
from numba import uint32, uint64

from luce.arrays import Integers
from luce.compiled import compiled, inlined


class Draw(NamedTuple):
    """The randomness of one evaluation of a random objective.

    Attributes
    ----------
    seed : int
    step : int
        The iteration of training; another step draws other numbers.
    lists : ndarray of shape (Q,), optional
        The numbers of the lists in the dataset; 0, 1, 2, … by default. A list draws the same numbers in every batch.
    epoch : float, optional
        The passes over the data so far, with the fraction of this one; `step` by default. A schedule follows it.
    """

    seed: int = 0
    step: int = 0
    lists: Integers | None = None
    epoch: float | None = None

    def list_numbers(self, n_lists: int) -> Integers:
        """The numbers of the lists; 0, 1, 2, … by default."""
        return np.arange(n_lists) if self.lists is None else np.ascontiguousarray(self.lists, dtype=np.int64)

    def stream(self, n_lists: int) -> tuple[Integers, int, int]:
        """As kernels take it: the numbers of the lists, the seed and the step."""
        return self.list_numbers(n_lists), self.seed, self.step


@inlined
def philox(key0, key1, c0, c1, c2, c3):
    """Four 32-bit words for a 64-bit key and a 128-bit counter."""
    for _ in range(10):
        high = uint64(c0) * uint64(0xD2511F53)
        low = uint64(c2) * uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            uint32(uint32(low >> uint64(32)) ^ c1 ^ key0),
            uint32(low),
            uint32(uint32(high >> uint64(32)) ^ c3 ^ key1),
            uint32(high),
        )
        key0 = uint32(key0 + uint32(0x9E3779B9))
        key1 = uint32(key1 + uint32(0xBB67AE85))
    return c0, c1, c2, c3


@inlined
def random_bits(seed, step, list_number, sample, draw):
    """64 random bits for one draw."""
    a, b, _, _ = philox(
        uint32(uint64(seed)),
        uint32(uint64(seed) >> uint64(32)),
        uint32(draw),
        uint32(sample),
        uint32(list_number),
        uint32(step),
    )
    return (uint64(a) << uint64(32)) | uint64(b)


@inlined
def uniform(seed, step, list_number, sample, draw):
    """A float64 in the open interval (0, 1) for one draw."""
    bits = random_bits(seed, step, list_number, sample, draw) >> uint64(12)
    return (np.float64(bits) + 0.5) * 2.0**-52


@compiled
def random_words(seed, step, list_number, sample, words):
    """Fill `words` (4, blocks) with the first blocks of a stream: row k gets word k of each block."""
    key0, key1 = uint32(uint64(seed)), uint32(uint64(seed) >> uint64(32))
    for block in range(words.shape[1]):
        words[0, block], words[1, block], words[2, block], words[3, block] = philox(
            key0, key1, uint32(block), uint32(sample), uint32(list_number), uint32(step)
        )
