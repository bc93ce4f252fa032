"""Gains of labels and discounts of ranks."""

import math

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled

GAINS = ("exponential", "linear")
"""The gain of a label y is 2^y − 1, or y itself; 0 for a label below zero."""


@compiled
def exponent(top, linear):
    """The power of two by which gains are scaled to about 1 in a list whose largest label is `top`."""
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
    """The value times 2^power: exact, and infinite only where it exceeds float64."""
    return math.ldexp(value, int(min(power, 10_000.0)))


@compiled
def mean_gain(labels, power, linear):
    """The mean gain of some labels, divided by 2^power; exact where they are equal."""
    first = gain(labels[0], power, linear)
    rest = 0.0
    for i in range(1, len(labels)):
        rest += gain(labels[i], power, linear) - first
    return first + rest / len(labels)


@compiled
def count_relevant(labels):
    """The number of labels above zero."""
    count = 0
    for label in labels:
        count += label > 0
    return count


def discounts(length: int) -> Floats:
    """1 / log₂(1 + rank) for the ranks 1 to `length`.

    >>> discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    """
    return 1 / np.log2(np.arange(2, length + 2))
