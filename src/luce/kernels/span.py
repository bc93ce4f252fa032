"""The minimum and maximum of floats by integer comparisons, which compilers vectorize."""

import numpy as np
from numba import njit

from luce.compiled import compiled

_SIZE = 0x7FFFFFFFFFFFFFFF  # all bits of a float64 but its sign


@njit(inline="always")
def _flipped(bits):
    """From the bits of a number to an integer in the same order, and back: below 0 a larger size is a lower number."""
    return bits ^ ((bits >> 63) & _SIZE)


@compiled
def span(values):
    """The lowest and the highest value, none of them NaN; ∞ and −∞ if there are none."""
    lowest, highest = _flipped(np.float64(np.inf).view(np.int64)), _flipped(np.float64(-np.inf).view(np.int64))
    for i in range(len(values)):
        value = _flipped(np.float64(values[i]).view(np.int64))
        lowest, highest = min(lowest, value), max(highest, value)
    return np.int64(_flipped(lowest)).view(np.float64), np.int64(_flipped(highest)).view(np.float64)
