"""Gains and discounts: what a label is worth, and what a rank leaves of it."""

import math

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled

GAINS = ("exponential", "linear")
"""Gain 2^y − 1, or y itself. A label below zero has no gain: it counts as 0."""


@compiled
def exponent(top, linear):
    """The power of two that brings the gains of a list to the size of 1, where its largest label is `top`."""
    if top <= 0:
        return 0.0
    return float(math.frexp(top)[1]) if linear else math.floor(top)


@compiled
def gain(label, power, linear):
    """The gain of a label, divided by 2^power; finite for every label up to power + 1,023."""
    if label <= 0:
        return 0.0
    if linear:
        return math.ldexp(label, -int(power))
    if label < 1:  # 2^y − 1 would lose the digits of a small y
        return math.expm1(label * math.log(2.0)) * np.exp2(-power)
    return np.exp2(label - power) - np.exp2(-power)


@compiled
def unscaled(value, power):
    """The value times 2^power: exact, and infinite only if truly beyond float64."""
    return math.ldexp(value, int(min(power, 10_000.0)))


def discounts(length: int) -> Floats:
    """1 / log₂(1 + rank) for the ranks 1 to `length`.

    >>> discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    """
    return 1 / np.log2(np.arange(2, length + 2))
