"""Counts of comparisons by pair of items, by bucket sort: O(comparisons + items) but for short sorts."""

import numpy as np

from luce.compiled import compiled

CROWDED = 16
"""With more comparisons than a sixteenth of all items, an item's opponents are found by a look at every item."""


@compiled
def count(items, places, weights, n_items):
    """The first and second item of each pair that occurs, sorted, and how often the first won, lost and tied."""
    starts, other, amount = _buckets(items, places, weights, n_items)
    tallied = np.zeros((n_items, 3))
    workspace = min(len(other), n_items * (n_items - 1) // 2) + 1
    first, second, counts = np.empty(workspace, np.int64), np.empty(workspace, np.int64), np.empty((3, workspace))
    pair = 0
    for item in range(n_items):
        begin, end = starts[item], starts[item + 1]
        if begin == end:
            continue
        for place in range(begin, end):
            tallied[other[place] // 3, other[place] % 3] += amount[place]
        if CROWDED * (end - begin) >= n_items:
            for code in range(item + 1, n_items):
                pair += _write(item, code, tallied, pair, first, second, counts)
        else:
            for code in np.unique(other[begin:end] // 3):
                pair += _write(item, code, tallied, pair, first, second, counts)
    return first[:pair], second[:pair], counts[:, :pair]


@compiled
def _buckets(items, places, weights, n_items):
    """The comparisons by the lower of their items: the other item times three, plus 0, 1, 2 for won, lost, tied."""
    starts = np.zeros(n_items + 1, np.int64)
    for q in range(len(weights)):
        starts[min(items[2 * q], items[2 * q + 1]) + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    at = starts[:-1].copy()
    other, amount = np.empty(len(weights), np.int64), np.empty(len(weights))
    for q in range(len(weights)):
        a, b = items[2 * q], items[2 * q + 1]
        low, high = min(a, b), max(a, b)
        place = at[low]
        at[low] = place + 1
        tied = places[2 * q + 1] == 0
        other[place] = 3 * high + (2 * tied + (a > b) * (not tied))
        amount[place] = weights[q]
    return starts, other, amount


@compiled
def _write(item, code, tallied, pair, first, second, counts):
    """Write the counts of a pair and clear them; returns 1 if there are any, else what was written is written over."""
    own = tallied[code]
    first[pair], second[pair] = item, code
    counts[0, pair], counts[1, pair], counts[2, pair] = own[0], own[1], own[2]
    found = own[0] + own[1] + own[2] > 0.0
    own[0] = own[1] = own[2] = 0.0
    return 1 if found else 0
