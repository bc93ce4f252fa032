"""Vectorizable log(1 + u), with 1 / (1 + u) at the cost of one division."""

import numpy as np
from numba import njit

_LOWEST = 0x3FE6A09E667F3BCD  # the bits of √½: numbers are written 2^k·m with √½ ≤ m < √2


@njit(inline="always", error_model="numpy")
def log1p_and_inverse(u):
    """log(1 + u) and 1 / (1 + u) for 0 ≤ u < 1e307, to three units in the last place, small u included.

    log m = 2 artanh z with z = (m − 1)/(m + 1), |z| < 0.172; artanh z = z + z³ g(z²), g a polynomial near 1/3.
    """
    v = 1.0 + u
    bits = np.float64(v).view(np.int64)
    k = (bits - _LOWEST) >> 52
    m = np.int64(bits - (k << 52)).view(np.float64)
    small = u < 0.41  # then k = 0, and u itself still has the digits that 1 + u has lost
    above, below = (u if small else m - 1.0), (u + 2.0 if small else m + 1.0)
    ratio = 1.0 / (v * below)
    z = above * v * ratio
    y = z * z
    g = 0.073086084331672
    g = g * y + 0.07665827407590968
    g = g * y + 0.09091445652669837
    g = g * y + 0.11111105550993083
    g = g * y + 0.1428571431309947
    g = g * y + 0.19999999999949472
    g = g * y + 0.3333333333333335
    return np.float64(k) * 0.6931471805599453 + (2.0 * z + 2.0 * z * y * g), ratio * below
