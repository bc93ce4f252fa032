"""Which items differ: the ranks that each may have, and tiers by the chains of sure differences above them."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from luce.arrays import Floats, Integers

ROWS = 512
"""Items compared with all others at a time."""


def critical_value(level: float, comparisons: int = 1) -> float:
    """How many standard errors a difference must reach, if so many are looked at together (Šidák, 1967).

    >>> round(critical_value(0.95), 3), round(critical_value(0.95, 10), 3)
    (1.96, 2.8)
    """
    return float(ndtri(0.5 + 0.5 * level ** (1 / max(comparisons, 1))))


def rank_intervals(log_worths: Floats, variances: Callable[[slice], Floats], level: float) -> Integers:
    """The lowest and highest rank of each item (n, 2), 1 = best: how many are surely better, and surely not worse.

    `variances(rows)` gives the variances of the differences of some items and all (rows, n). The interval of an item
    holds its true rank with the probability `level`, its n − 1 differences being looked at together.
    """
    n = len(log_worths)
    critical = critical_value(level, n - 1)
    result = np.empty((n, 2), np.int64)
    for begin in range(0, n, ROWS):
        rows = slice(begin, min(begin + ROWS, n))
        ahead = log_worths[None, :] - log_worths[rows, None]
        clear = critical * np.sqrt(variances(rows))
        result[rows, 0] = 1 + (ahead > clear).sum(axis=1)
        result[rows, 1] = n - (ahead < -clear).sum(axis=1)
    return result


def tiers(log_worths: Floats, variances: Callable[[slice], Floats], level: float) -> Integers:
    """The tier of each item (n,): 1 if no item is surely better, else one below the lowest tier of those that are.

    >>> tiers(np.array([0.0, 3.0, 2.9]), lambda rows: np.full((1, 3), 0.01), 0.95)
    array([2, 1, 1])
    """
    n = len(log_worths)
    critical = critical_value(level, n - 1)
    result = np.ones(n, np.int64)
    for item in np.argsort(-log_worths, kind="stable").tolist():
        ahead = log_worths - log_worths[item]
        better = ahead > critical * np.sqrt(variances(slice(item, item + 1))[0])
        result[item] = 1 + result[better].max(initial=0)
    return result
