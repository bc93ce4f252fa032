"""Ties for every t: items on one line are replaced by items that give the average over their orders.

A place is worth discount · u · (P + shift), where P starts at 1 and becomes keep · P + add for the place below.
Whatever stands above and below a block, its places are then worth what all orders of its items give on average.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.place_sums import CASCADE, COUNT, PAIRS

WORTH, SHIFT, KEEP, ADD = range(4)


@compiled
def fill_block(kind, worths, depth, items):
    """Write the items (m, 4) of a block of m items with these worths, of which `depth` places count."""
    size = len(worths)
    items[:, SHIFT], items[:, KEEP], items[:, ADD] = 0.0, 1.0, 0.0
    if size == 1 or kind == PAIRS:
        items[:, WORTH] = worths
        if kind == CASCADE:
            items[0, KEEP] = 1.0 - worths[0]
        elif kind == COUNT:
            items[0, ADD] = worths[0]
    elif kind == CASCADE:
        passed = _passed(worths, min(depth, size))
        for t in range(size):
            going_on = passed[t + 1] / passed[t] if t + 1 < len(passed) and passed[t] > 0.0 else 0.0
            items[t, WORTH], items[t, KEEP] = 1.0 - going_on, going_on
    else:
        mean = worths[0] + (worths - worths[0]).mean()  # exact where they are equal
        items[:, WORTH] = mean
        if kind == COUNT and mean != 0.0:
            total = mean * size
            beside = (total - (worths * worths).sum() / total) / (size - 1)  # worth of another place, seen from an item
            items[:, ADD] = mean
            items[:, SHIFT] = np.arange(size) * (beside - mean)


@compiled
def _passed(stops, depth):
    """P(passing the first t items) on average over their orders, for t = 0 … depth: items join one at a time."""
    passed = np.zeros(depth + 1)
    passed[0] = 1.0
    for joined in range(len(stops)):
        n, go_on = joined + 1.0, 1.0 - stops[joined]
        for t in range(min(joined + 1, depth), 0, -1):
            passed[t] = (passed[t] * (n - t) + go_on * passed[t - 1] * t) / n
    return passed
