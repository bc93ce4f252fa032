"""Elementary functions that compilers vectorize: in a loop several times faster than those of libm."""

import numpy as np
from numba import njit

from luce.compiled import compiled, summing

LOWEST = -708.0
"""Below it e^x is nothing: 0 is returned where float64 would still hold a number under 3e-308."""

_ROUNDER = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to an integer and leaves that in the lowest bits


@njit(inline="always", error_model="numpy")
def _expm1_ratio(r):
    """(e^r − 1) / r for |r| ≤ ½ ln 2, by its series to r^12."""
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
    return p * r + 1.0


@njit(inline="always", error_model="numpy")
def exp(x):
    """e^x for x ≤ 709 to one unit in the last place: e^x = 2^k e^r, |r| ≤ ½ ln 2."""
    y = max(x, LOWEST)
    t = y * 1.4426950408889634 + _ROUNDER
    k = t - _ROUNDER
    r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = _expm1_ratio(r) * r + 1.0
    power = np.float64(t).view(np.int64) << 52  # 2^k is k added to the exponent bits
    value = np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
    return value if x >= LOWEST else 0.0


@njit(inline="always", error_model="numpy")
def expm1(x):
    """e^x − 1 for x ≤ 709 without loss of digits near 0; −1 far below."""
    y = max(x, LOWEST)
    t = y * 1.4426950408889634 + _ROUNDER
    k = t - _ROUNDER
    r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    power = np.int64((np.float64(t).view(np.int64) + 1023) << 52).view(np.float64)
    return power * (_expm1_ratio(r) * r) + (power - 1.0)


@njit(inline="always", error_model="numpy")
def exp2m1(x):
    """2^x − 1 for x ≥ 0, exact at whole numbers, without loss of digits near 0, infinite from 1,024 on."""
    t = min(x, 1024.0) + _ROUNDER
    k = t - _ROUNDER
    r = (x - k) * 6.93147180559945309417e-01
    half = np.int64((np.float64(t).view(np.int64) + 1022) << 52).view(np.float64)  # 2^(k − 1): 2^1024 is too large
    return 2.0 * (half * (_expm1_ratio(r) * r) + (half - 0.5))


_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
_ONE, _DIGITS = 0x3FF0000000000000, 0x000FFFFFFFFFFFFF  # the bits of 1, and those that say where in [2^k, 2^(k+1)) x is

_FACTORS = 1_000
"""So many numbers below 2 have a product that float64 can hold."""


@njit(inline="always", error_model="numpy")
def log(x):
    """log x, x ≥ 3e-308, to two units in the last place: x = 2^k m, √½ ≤ m < √2, log m = 2 artanh((m − 1)/(m + 1))."""
    bits = np.float64(x).view(np.int64)
    k = (bits - _ROOT_HALF) >> 52
    m = np.int64(bits - (k << 52)).view(np.float64)
    t = (m - 1.0) / (m + 1.0)
    square = t * t
    p = 2 / 19
    p = p * square + 2 / 17
    p = p * square + 2 / 15
    p = p * square + 2 / 13
    p = p * square + 2 / 11
    p = p * square + 2 / 9
    p = p * square + 2 / 7
    p = p * square + 2 / 5
    p = p * square + 2 / 3
    power = np.float64(k)
    return power * 6.93147180369123816490e-01 + (2.0 * t + (t * square * p + power * 1.90821492927058770002e-10))


@compiled
def sum_of_logarithms(values):
    """Σ log v for v ≥ 3e-308: with v = 2^k m, 1 ≤ m < 2, the k are added and the m multiplied, a thousand at a time."""
    exponents, total = 0, 0.0
    for begin in range(0, len(values), _FACTORS):
        exponent, product = _exponents_and_product(values[begin : begin + _FACTORS])
        exponents += exponent
        total += np.log(product)
    return total + exponents * np.log(2.0)


@summing
def _exponents_and_product(values):
    exponents, product = np.int64(-1023 * len(values)), 1.0
    for i in range(len(values)):
        bits = np.float64(values[i]).view(np.int64)
        exponents += bits >> 52
        product *= np.int64(bits & _DIGITS | _ONE).view(np.float64)
    return exponents, product


@njit(inline="always", error_model="numpy")
def log1p_and_inverse(u):
    """log(1 + u) and 1 / (1 + u) for 0 ≤ u < 1e307, to three units in the last place, small u included.

    log m = 2 artanh z with z = (m − 1)/(m + 1), |z| < 0.172; artanh z = z + z³ g(z²), g a polynomial near 1/3.
    """
    v = 1.0 + u
    bits = np.float64(v).view(np.int64)
    k = (bits - _ROOT_HALF) >> 52
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
