"""Vectorizable logarithms."""

import numpy as np
from numba import njit

from luce.compiled import compiled, summing

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
