"""Equal rankings found, so that each is kept once."""

from typing import TYPE_CHECKING

import numpy as np

from luce.arrays import Integers
from luce.compiled import compiled
from luce.threads import over_lists

if TYPE_CHECKING:
    from luce.data.rankings.rankings import Rankings


def first_equal(rankings: "Rankings") -> Integers:
    """For each ranking the number of the first that equals it: same levels, same end, same ranker. O(rows)."""
    offsets, n_rankings = rankings.offsets, len(rankings)
    ends = 2 * (rankings.pool + 1) + rankings.open_end
    if rankings.rankers is not None:
        ends = ends * len(rankings.ranker_names) + rankings.rankers
    words, hashes = np.empty(rankings.n_rows, np.int64), np.empty(n_rankings, np.uint64)
    over_lists(_spell, offsets, rankings.items, rankings.places, words)
    over_lists(_hash, offsets, words, ends, hashes)
    first = np.empty(n_rankings, np.int64)
    _match(offsets, words, ends, hashes, first)
    return first


@compiled
def _spell(first, last, offsets, items, places, words):
    """A number for each row: its item, and whether it starts a level. The items of a level are sorted."""
    for q in range(first, last):
        start, end = offsets[q], offsets[q + 1]
        while start < end:
            stop = start + 1
            while stop < end and places[stop] == places[start]:
                stop += 1
            for row in range(start, stop):
                words[row] = 2 * items[row]
            if stop > start + 1:
                words[start:stop].sort()
            words[start] += 1
            start = stop


@compiled
def _hash(first, last, offsets, words, ends, hashes):
    # Multiplied by an odd number and folded, word by word: quick, and what has the same hash is compared.
    factor, fold = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
    for q in range(first, last):
        value = np.uint64(ends[q])
        for row in range(offsets[q], offsets[q + 1]):
            value = (value ^ np.uint64(words[row])) * factor
            value ^= value >> fold
        hashes[q] = value


@compiled
def _match(offsets, words, ends, hashes, first):
    """A hash table with open addresses, half full at most: a slot holds the first ranking of its kind."""
    table, held = np.full(1024, -1, np.int64), 0
    for q in range(len(hashes)):
        slot = np.int64(hashes[q] & np.uint64(len(table) - 1))
        while table[slot] >= 0 and not _equal(table[slot], q, offsets, words, ends, hashes):
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] < 0:
            table[slot] = q
            held += 1
        first[q] = table[slot]
        if 2 * held > len(table):
            table = _larger(table, hashes)


@compiled
def _larger(table, hashes):
    larger = np.full(4 * len(table), -1, np.int64)
    for q in table:
        if q >= 0:
            slot = np.int64(hashes[q] & np.uint64(len(larger) - 1))
            while larger[slot] >= 0:
                slot = (slot + 1) & (len(larger) - 1)
            larger[slot] = q
    return larger


@compiled
def _equal(a, b, offsets, words, ends, hashes):
    size = offsets[a + 1] - offsets[a]
    if hashes[a] != hashes[b] or ends[a] != ends[b] or size != offsets[b + 1] - offsets[b]:
        return False
    same = 0
    while same < size and words[offsets[a] + same] == words[offsets[b] + same]:
        same += 1
    return same == size
