"""Lists sorted by their scores, once for all metrics, with the blocks of equal scores marked."""

import math
from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.kernels.label_order import longest_list
from luce.threads import over_lists

NO_LIMIT = 2**62
"""A depth greater than the length of any list."""


class RankedLists(NamedTuple):
    """All lists in rank order; the items of list q with a label are the first `observed[q]` of its rows.

    labels: float64 (N,), from the highest score down, down to the depth asked for and on to the end of that block.
    best: float64 (N,), the same labels from the highest down, down to the depth asked for.
    ends: int64 (N,), at the first place of each block of equal scores the place after its last, within the list.
    observed: int64 (Q,), items with a label.
    retrieved: int64 (Q,), those of them with a score above −∞.
    """

    labels: Floats
    best: Floats
    ends: Integers
    observed: Integers
    retrieved: Integers


class RankedList(NamedTuple):
    """One list of a RankedLists; `limit` is the number of places that count."""

    labels: Floats
    best: Floats
    ends: Integers
    limit: int


def ranked_lists(
    scores: Floats, labels: Floats, offsets: Integers, depth: int = NO_LIMIT, n_jobs: int | None = None
) -> RankedLists:
    """The lists in the order of their scores, down to `depth`; items without a label are left out.

    >>> ranked = ranked_lists(np.array([1.0, 3.0, 3.0]), np.array([2.0, 0.0, 1.0]), np.array([0, 3]))
    >>> ranked.labels[2], ranked.ends[[0, 2]], ranked.best
    (np.float64(2.0), array([2, 3]), array([2., 1., 0.]))
    """
    n_rows, n_lists = len(labels), len(offsets) - 1
    ranked = RankedLists(
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_lists, dtype=np.int64),
        np.empty(n_lists, dtype=np.int64),
    )
    over_lists(_order, offsets, scores, labels, depth, results=[ranked], n_jobs=n_jobs)
    return ranked


@compiled
def list_at(q, offsets, ranked, cutoff):
    """List q; its limit is the cutoff (0 = none) or the number of retrieved items, whichever is less."""
    start = offsets[q]
    end = start + ranked.observed[q]
    limit = ranked.retrieved[q]
    if 0 < cutoff < limit:
        limit = cutoff
    return RankedList(ranked.labels[start:end], ranked.best[start:end], ranked.ends[start:end], limit)


@compiled
def _order(first, last, offsets, scores, labels, depth, ranked):
    keys = np.empty(longest_list(first, last, offsets))
    for q in range(first, last):
        start, n, retrieved = offsets[q], 0, 0
        for row in range(start, offsets[q + 1]):
            if not math.isnan(labels[row]):
                keys[n] = scores[row]
                ranked.labels[start + n] = labels[row]
                ranked.best[start + n] = labels[row]
                retrieved += scores[row] > -math.inf
                n += 1
        ranked.observed[q], ranked.retrieved[q] = n, retrieved
        _sort_falling(keys[:n], ranked.labels[start : start + n], depth)
        place = 0
        while place < min(n, depth):
            end = place + 1
            while end < n and keys[end] == keys[place]:
                end += 1
            ranked.ends[start + place] = end
            place = end
        _sort_falling(ranked.best[start : start + n], keys[:n], depth)


@compiled
def _sort_falling(keys, partners, depth):
    """Sort keys from high to low in place, and partners with them; places from `depth` on may stay unordered.

    Quicksort in three parts, above, equal to and below a pivot, so that equal keys always end side by side.
    """
    waiting = np.empty((64, 2), dtype=np.int64)  # the larger part waits, so 64 halvings are enough for any list
    n_waiting, low, high, seed = 0, np.int64(0), len(keys), 1
    while True:
        if low >= depth or high - low <= 16:
            if low < depth:
                _insert_falling(keys, partners, low, high)
            if n_waiting == 0:
                return
            n_waiting -= 1
            low, high = waiting[n_waiting, 0], waiting[n_waiting, 1]
            continue
        seed = (seed * 1_103_515_245 + 12_345) & 0x7FFFFFFF  # at random: some inputs defeat a fixed choice
        size = high - low
        a, b, c = keys[low + seed % size], keys[low + (seed >> 8) % size], keys[low + (seed >> 16) % size]
        pivot = max(min(a, b), min(max(a, b), c))
        above = _gather(keys, partners, low, high, pivot, False)
        if above >= depth:
            high = above
            continue
        below = _gather(keys, partners, above, high, pivot, True)
        if above - low < high - below:
            waiting[n_waiting, 0], waiting[n_waiting, 1] = below, high
            high = above
        else:
            waiting[n_waiting, 0], waiting[n_waiting, 1] = low, above
            low = below
        n_waiting += 1


@compiled
def _gather(keys, partners, low, high, pivot, equal):
    """Bring the keys above the pivot, or equal to it, to the front of low:high; returns where they end.

    It always swaps and never branches: half of the branches would be mispredicted on random keys.
    """
    end = low
    for i in range(low, high):
        key, partner = keys[i], partners[i]
        keys[i], partners[i] = keys[end], partners[end]
        keys[end], partners[end] = key, partner
        end += key == pivot if equal else key > pivot
    return end


@compiled
def _insert_falling(keys, partners, low, high):
    for i in range(low + 1, high):
        key, partner, j = keys[i], partners[i], i
        while j > low and keys[j - 1] < key:
            keys[j], partners[j] = keys[j - 1], partners[j - 1]
            j -= 1
        keys[j], partners[j] = key, partner
