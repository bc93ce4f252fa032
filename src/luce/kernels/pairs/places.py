"""The places that present scores give the items of a list, and what they mean for swapping two of them.

Equal scores share their places: a pair's change of discount and its gap in ranks are means over their orders. So an
item has a mean discount and a mean place, and two items of equal score differ by the mean over two different places.
"""

import numpy as np

from luce.compiled import compiled, summing

FEW = 256
"""Items up to which counting the scores above each is quicker than sorting."""


@compiled
def discounts_to(length, cutoff):
    """1 / log₂(1 + rank) for the ranks 1 … length, 0 beyond the cutoff."""
    result = np.zeros(length)
    for k in range(min(length, cutoff)):
        result[k] = 1.0 / np.log2(k + 2.0)
    return result


@compiled
def gap_change(gap):
    """LambdaLoss's change of discount over a gap in ranks: 1 / log₂(1 + gap) − 1 / log₂(2 + gap)."""
    return 1.0 / np.log2(1.0 + gap) - 1.0 / np.log2(2.0 + gap)


@compiled
def gap_changes(length):
    """The same for twice the gap, 1 … 2·length − 1; mean places are halves."""
    result = np.zeros(2 * length)
    for twice in range(1, 2 * length):
        result[twice] = gap_change(0.5 * twice)
    return result


@compiled
def share_places(ordered, n, discounts, shared, twice_place):
    """For each item, in the order given: its mean discount, and the change of discount and the gap to its equals.

    They are the rows of `shared`; `twice_place` gets twice the mean place, counted from 0.
    """
    if n <= FEW:
        for k in range(n):
            top, size = _stand(ordered[k], ordered[:n])
            shared[0, k], shared[1, k], shared[2, k] = _block(top, size, discounts)
            twice_place[k] = 2 * top + size - 1
        return
    by_score = np.argsort(ordered[:n])
    end = n
    while end > 0:
        begin = end - 1
        while begin > 0 and ordered[by_score[begin - 1]] == ordered[by_score[begin]]:
            begin -= 1
        top, size = n - end, end - begin  # by_score rises, places fall
        discount, change, gap = _block(top, size, discounts)
        for place in range(begin, end):
            k = by_score[place]
            shared[0, k], shared[1, k], shared[2, k] = discount, change, gap
            twice_place[k] = 2 * top + size - 1
        end = begin


@summing
def _stand(score, scores):
    """How many scores are above, and how many equal."""
    above, equal = 0.0, 0.0
    for k in range(len(scores)):
        above += 1.0 if scores[k] > score else 0.0
        equal += 1.0 if scores[k] == score else 0.0
    return int(above), int(equal)


@compiled
def _block(top, size, discounts):
    """Of a block of equal scores the mean discount; of two of its places the mean change, and that by the mean gap."""
    if size == 1:
        return discounts[top], 0.0, 0.0
    total, differences = 0.0, 0.0
    for t in range(size):
        total += discounts[top + t]
        differences += discounts[top + t] * (size - 1 - 2 * t)
    return total / size, differences / (0.5 * size * (size - 1)), gap_change((size + 1) / 3.0)
