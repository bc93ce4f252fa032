"""Sorting of positive random numbers in linear time."""

import numpy as np

from luce.compiled import compiled

CROWD = 32
"""Numbers in one bucket from which on it is quicker to merge."""


@compiled
def sort_positive(values, order):
    """Write the order of numbers ≥ 0, least first; equal ones as they stood.

    The bits of such a number grow with it, about as its logarithm does. They are counted into buckets, and what is
    still out of order, within a bucket, is put right by insertion.
    """
    n = len(values)
    bits, keys = values.view(np.int64), np.empty(n, np.int64)
    lowest, highest = bits[0], bits[0]
    for j in range(n):
        lowest, highest = min(lowest, bits[j]), max(highest, bits[j])
    scale = (n - 1.0) / max(highest - lowest, 1)
    begin, fullest = np.zeros(n + 1, np.int64), 0
    for j in range(n):
        bucket = int(np.float64(bits[j] - lowest) * scale)
        begin[bucket + 1] += 1
        fullest = max(fullest, begin[bucket + 1])
    for bucket in range(n):
        begin[bucket + 1] += begin[bucket]
    for j in range(n):
        bucket = int(np.float64(bits[j] - lowest) * scale)
        place = begin[bucket]
        begin[bucket] += 1
        order[place], keys[place] = j, bits[j]
    if fullest > CROWD:
        _merge(keys, order)
    else:
        _insert(keys, order)


@compiled
def _insert(keys, partners):
    for j in range(1, len(keys)):
        key, partner, place = keys[j], partners[j], j
        while place > 0 and keys[place - 1] > key:
            keys[place], partners[place] = keys[place - 1], partners[place - 1]
            place -= 1
        keys[place], partners[place] = key, partner


@compiled
def _merge(keys, partners):
    """Merge sort, runs of 1, 2, 4, …"""
    n, run = len(keys), 1
    old_keys, old_partners = np.empty(n, np.int64), np.empty(n, np.int64)
    while run < n:
        old_keys[:], old_partners[:] = keys, partners
        for start in range(0, n, 2 * run):
            left, right = start, min(start + run, n)
            middle, end = right, min(start + 2 * run, n)
            for place in range(start, end):
                if left < middle and (right == end or old_keys[left] <= old_keys[right]):
                    keys[place], partners[place] = old_keys[left], old_partners[left]
                    left += 1
                else:
                    keys[place], partners[place] = old_keys[right], old_partners[right]
                    right += 1
        run *= 2
