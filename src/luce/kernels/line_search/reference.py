"""The steps of one list from its values between all crossings, averaged over orders of ties: a reference for `cpu`."""

import itertools
import math

from luce.kernels.place_sums import CASCADE, COUNT, PAIRS


def value(kind: int, ordered: list[float], discounts: list[float]) -> float:
    """The value of one order of worths, from the first place down."""
    if kind == PAIRS:
        return sum(above > below for above, below in itertools.combinations(ordered, 2))
    total = 0.0
    for place, worth in enumerate(ordered):
        term = worth
        if kind == CASCADE:
            term *= math.prod(1 - above for above in ordered[:place])
        elif kind == COUNT:
            term *= 1 + sum(ordered[:place])
        total += discounts[place] * term
    return total


def value_at(kind: int, scores: list[float], worths: list[float], discounts: list[float]) -> float:
    """The mean of the value over the orders that no score contradicts."""
    blocks = [[u for u, s in zip(worths, scores, strict=True) if s == level] for level in sorted(set(scores))[::-1]]
    orders = itertools.product(*(itertools.permutations(block) for block in blocks))
    values = [value(kind, [u for part in parts for u in part], discounts) for parts in orders]
    return math.fsum(values) / len(values)


def changes(
    kind: int, heights: list[float], slopes: list[float], worths: list[float], discounts: list[float]
) -> list[tuple[float, float]]:
    """The time and the size of every step, those of no size too.

    >>> changes(CASCADE, [0.0, 3.0], [2.0, 1.0], [0.5, 0.25], [1.0, 0.5])
    [(3.0, 0.125)]
    """
    lines = list(zip(heights, slopes, strict=True))
    times = sorted({(a - c) / (d - b) for (a, b), (c, d) in itertools.combinations(lines, 2) if b != d})
    if not times:
        return []
    middles = [times[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(times)), times[-1] + 1]
    levels = [value_at(kind, [h + t * s for h, s in lines], worths, discounts) for t in middles]
    return [(t, after - before) for t, (before, after) in zip(times, itertools.pairwise(levels), strict=True)]
