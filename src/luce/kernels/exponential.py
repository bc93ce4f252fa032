"""e^x that compilers turn into vector instructions: a loop over it is several times faster than over the C library."""

import numpy as np
from numba import njit

LOWEST = -708.0
"""Below it e^x is nothing: 0 is returned where float64 would still hold a number under 3e-308."""

_ROUNDER = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to an integer and leaves that in the lowest bits


@njit(inline="always", error_model="numpy")
def exp(x):
    """e^x for x ≤ 709 to one unit in the last place: e^x = 2^k e^r, |r| ≤ ½ ln 2, e^r by its series to r^13."""
    y = max(x, LOWEST)
    t = y * 1.4426950408889634 + _ROUNDER
    k = t - _ROUNDER
    r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.float64(t).view(np.int64) << 52  # 2^k is k added to the exponent bits
    value = np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
    return value if x >= LOWEST else 0.0
