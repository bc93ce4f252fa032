"""The choice of the interval with the highest value, the widest of those, ignoring intervals due to rounding."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled

NARROW = 1e-10
"""Intervals this narrow, relative to the times at hand, may be due to rounding and are ignored."""

EQUAL = 1e-11
"""Levels this close, relative to the largest so far, are equal but for rounding."""


class BestInterval(NamedTuple):
    """State of the search: end and level of the last step, the best interval so far, the level around the present.

    The level around is −∞ where the present is at a step itself: neither side says what it is worth.
    """

    start: float = -np.inf
    level: float = 0.0
    largest: float = 0.0
    best: float = -np.inf
    width: float = -1.0
    middle: float = np.nan
    around: float = -np.inf


def best_time(steps: Iterable[tuple[Floats, Floats]], now: float, unit: float) -> float | None:
    """The middle of the interval where the sum of the steps so far is highest; None if it is as high around `now`.

    Of intervals on one level the widest; one without end goes on from its step by as much as that is from `now` or
    from 0. `unit` is the size of a time with which rounding is compared.

    >>> best_time([(np.array([1.0, 3.0, 7.0]), np.array([0.5, -0.25, 0.25]))], now=0.0, unit=1.0)
    10.5
    """
    search = BestInterval()
    for times, sizes in steps:
        search = _look(times, sizes, now, unit, search)
    if search.start == -np.inf:
        return None
    search = _look(np.array([np.inf]), np.zeros(1), now, unit, search)
    higher = search.best > search.around + EQUAL * search.largest
    return float(search.middle) if higher and np.isfinite(search.middle) else None


@compiled
def _look(times, sizes, now, unit, search):
    start, level, largest = search.start, search.level, search.largest
    best, width, middle, around = search.best, search.width, search.middle, search.around
    for i in range(len(times)):
        low, high = _bounded(start, times[i], now, unit)
        narrow = NARROW * max(abs(low), abs(high), unit)
        if high - low > narrow:
            equal = EQUAL * largest
            if level > best + equal or (level >= best - equal and high - low > width):
                width, middle = high - low, 0.5 * low + 0.5 * high
            best = max(best, level)
            if start + narrow < now < times[i] - narrow:
                around = level
        start = times[i]
        level += sizes[i]
        largest = max(largest, abs(level))
    return BestInterval(start, level, largest, best, width, middle, around)


@compiled
def _bounded(low, high, now, unit):
    """The interval, or the part of it that is looked at where it has no end."""
    edge = high if low == -np.inf else low
    reach = max(abs(edge - now), abs(edge))
    if reach == 0.0:
        reach = unit if unit > 0.0 else 1.0
    return max(low, edge - reach), high if high < np.inf else edge + reach
