"""Uniform random numbers of the streams (seed, step, list, sample), two of 52 bits from each block of the generator."""

from typing import NamedTuple

import numpy as np
from numba import uint32, uint64

from luce.compiled import compiled, inlined
from luce.randomness import philox


class Stream(NamedTuple):
    """Where the numbers of a list come from; `sample` is the first of the samples at hand, which are counted from 0."""

    seed: int
    step: int
    list_number: int
    sample: int


@inlined
def _pair(stream, i, block):
    """Two numbers in the open interval (0, 1)."""
    a, b, c, d = philox(
        uint32(uint64(stream.seed)),
        uint32(uint64(stream.seed) >> uint64(32)),
        uint32(block),
        uint32(stream.sample + i),
        uint32(stream.list_number),
        uint32(stream.step),
    )
    return _between_0_and_1(a, b), _between_0_and_1(c, d)


@inlined
def _between_0_and_1(high, low):
    """Behind the bits of 1.0, 52 random ones make a number from 1 to 2; half of the last keeps it off the ends."""
    bits = ((uint64(high) << uint64(32)) | uint64(low)) >> uint64(12)
    return np.uint64(bits | uint64(0x3FF0000000000000)).view(np.float64) - (1.0 - 2.0**-53)


@compiled
def fill_uniforms(stream, samples, uniforms):
    """uniforms[t, i]: number t of sample i, for the first `samples` columns. An even number of rows."""
    for block in range(len(uniforms) // 2):
        even, odd = uniforms[2 * block], uniforms[2 * block + 1]
        for i in range(samples):
            even[i], odd[i] = _pair(stream, i, block)


@compiled
def later_uniform(stream, i, t):
    """Number t of sample i, alone."""
    even, odd = _pair(stream, i, t // 2)
    return even if t % 2 == 0 else odd
