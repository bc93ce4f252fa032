"""Prefix sums and masses as logarithms, accurate for any distance between scores."""

import numpy as np

from luce.compiled import compiled


@compiled
def log_add(a, b):
    """log(e^a + e^b); −∞ is the logarithm of nothing."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@compiled
def add_far(u, begin, end, scale, log_mass, once, twice, sums):
    """What the contexts begin … end − 1 give to a leaf of this mass; none of the products overflows."""
    if log_mass == -np.inf or begin == end or once[end] == -np.inf:
        return
    chosen = -np.exp(log_mass + once[end]) * np.expm1(once[begin] - once[end])
    squares = -np.exp(2.0 * log_mass + twice[end]) * np.expm1(twice[begin] - twice[end])
    sums[0, u] += scale * chosen
    sums[1, u] += scale * (chosen - squares)
