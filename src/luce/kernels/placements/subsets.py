"""Exact expectations over all rankings of a few items, by dynamic programming over the sets of items placed first.

Which item is next depends on the items placed before, not on their order. So one pass over the sets S of up to K − 1
items, small ones first, with P(S ∪ d) += P(S) π(d | S), replaces one over the rankings: 2^n · n steps and not n!.
Sets of one size stand in an array in the order of their largest items, then of the next largest, …: set c_1 < c_2 < …
at Σ_i C(c_i, i), so that the place of a set with one more item is found while walking along the items.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.place_sums import CASCADE, COUNT


@compiled
def steps(n, depth):
    """How many pairs of a set and a next item there are: Σ_{k < depth} C(n, k) (n − k)."""
    total, sets = 0.0, 1.0
    for k in range(depth):
        total += sets * (n - k)
        sets *= (n - k) / (k + 1)
    return total


@compiled
def walk(scores, depth, kind, worths, discounts, chances):
    """The entropy of the first `depth` places, and the expected sum over them, of items from the highest score down.

    chances: (depth, n), gets P(item d is at place k). The sum is that of `line_search`: discount times worth times what
    the items placed before make of it.
    """
    n, layer = len(scores), np.ones(1)
    counts, (ratios, shorts) = _binomials(n, depth), _ratios(scores, depth)
    members, waiting, bases = np.empty(depth, np.int64), np.empty(n, np.int64), np.empty(depth, np.int64)
    entropy, expected = 0.0, 0.0
    chances[:] = 0.0
    for k in range(depth):
        placed, left, after = members[:k], waiting[: n - k], np.zeros(counts[n, k + 1] if k + 1 < depth else 0)
        _first_set(placed, left)
        for number in range(len(layer)):
            weights, short = ratios[left[0]], shorts[left[0]]
            mass, lack, worth = 0.0, 0.0, 0.0
            for j in left:
                mass += weights[j]
                lack += short[j]
                worth += weights[j] * worths[j]
            factor = layer[number] / mass
            entropy += layer[number] * np.log(mass) + factor * lack
            expected += discounts[k] * _standing(kind, placed, worths) * factor * worth
            for j in left:
                chances[k, j] += factor * weights[j]
            if len(after):
                _pass_on(placed, left, factor, weights, counts, bases, after)
            _next_set(placed, left)
        layer = after
    return entropy, expected


@compiled
def _binomials(n, depth):
    """C(c, i) for c up to n and i up to depth; those that are used are far below 2^63."""
    counts = np.zeros((n + 1, depth + 1), np.int64)
    counts[:, 0] = 1
    for c in range(1, n + 1):
        for i in range(1, depth + 1):
            counts[c, i] = counts[c - 1, i - 1] + counts[c - 1, i]
    return counts


@compiled
def _ratios(scores, depth):
    """e^{s_j − s_i}, and that times s_i − s_j, j ≥ i. The highest left before place k is one of the first k + 1."""
    n = len(scores)
    ratios, shorts = np.zeros((depth, n)), np.zeros((depth, n))
    for i in range(depth):
        for j in range(i, n):
            ratios[i, j] = np.exp(scores[j] - scores[i])
            shorts[i, j] = ratios[i, j] * (scores[i] - scores[j])
    return ratios, shorts


@compiled
def _standing(kind, placed, worths):
    """By what the worth of the next item is multiplied."""
    standing = 1.0
    for item in placed:
        if kind == CASCADE:
            standing *= 1.0 - worths[item]
        elif kind == COUNT:
            standing += worths[item]
    return standing


@compiled
def _pass_on(placed, left, factor, weights, counts, bases, after):
    """Add the chance of each set with one more item, that of the set times the share of the item."""
    base = 0
    for i in range(len(placed)):
        base += counts[placed[i], i + 2]
    bases[0] = base  # where the new item is the lowest, all the others move up by one
    for i in range(len(placed)):
        base += counts[placed[i], i + 1] - counts[placed[i], i + 2]
        bases[i + 1] = base
    for at in range(len(left)):
        item = left[at]
        lower = item - at  # so many placed ones
        after[bases[lower] + counts[item, lower + 1]] += factor * weights[item]


@compiled
def _first_set(placed, left):
    for i in range(len(placed)):
        placed[i] = i
    for at in range(len(left)):
        left[at] = len(placed) + at


@compiled
def _next_set(placed, left):
    """The lowest placed item that can rise by one does, and those below it begin anew; `left` are the others."""
    if len(placed) == 0 or len(left) == 0:
        return
    lowest, i = placed[0], 0
    while i + 1 < len(placed) and placed[i] + 1 == placed[i + 1]:
        placed[i] = i
        i += 1
    placed[i] += 1
    for at in range(min(lowest + 1, len(left))):  # placed were `lowest` and those next to it
        left[at] = i + at
