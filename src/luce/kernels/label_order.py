"""The order that labels give a list, and its seeded shuffles: highest label first, equal labels in random order."""

import numpy as np
from numba import uint32, uint64

from luce.compiled import compiled
from luce.randomness import philox

FEW_GRADES = 64


@compiled
def sort_by_label(labels, start, stop, order):
    """Write the observed rows of a list to `order`, highest label first, equal ones as they stood; return their number.

    Grades 0 … 63 are counted rather than compared, which makes the sort O(n) where it matters.
    """
    n = 0
    counted = True
    for row in range(start, stop):
        y = labels[row]
        if not np.isnan(y):
            order[n] = row
            n += 1
            if not (0.0 <= y < FEW_GRADES and y == np.floor(y)):
                counted = False
    if not counted:
        order[:n] = order[np.argsort(-labels[order[:n]], kind="mergesort")]
        return n
    ends = np.zeros(FEW_GRADES + 1, np.int64)
    for i in range(n):
        ends[FEW_GRADES - np.int64(labels[order[i]])] += 1
    for grade in range(FEW_GRADES):
        ends[grade + 1] += ends[grade]
    n = 0
    for row in range(start, stop):
        y = labels[row]
        if not np.isnan(y):
            place = FEW_GRADES - 1 - np.int64(y)
            order[ends[place]] = row
            ends[place] += 1
            n += 1
    return n


@compiled
def longest_list(first, last, offsets):
    """Rows of the longest of the lists first … last − 1."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


@compiled
def split_by_label(labels, order, n, ends):
    """Write where each set of equal labels ends among the first n rows of `order`; return how many sets there are."""
    sets = 0
    for j in range(n):
        if j == n - 1 or labels[order[j]] != labels[order[j + 1]]:
            ends[sets] = j + 1
            sets += 1
    return sets


@compiled
def shuffle_ties(labels, order, n, depth, seed, step, list_number, sample):
    """Put equal labels among the first n rows of `order` in random order, as far as the first `depth` places need it.

    Fisher-Yates on 32-bit words of the stream (seed, step, list, sample); Lemire's rejection keeps it exactly uniform.
    """
    key0, key1 = uint32(uint64(seed)), uint32(uint64(seed) >> uint64(32))
    words = np.empty(4, np.uint32)
    block, used = 0, 4
    begin = 0
    while begin < min(n, depth):
        end = begin + 1
        while end < n and labels[order[end]] == labels[order[begin]]:
            end += 1
        for place in range(begin, min(end - 1, depth)):
            choices = uint64(end - place)
            while True:
                if used == 4:
                    words[0], words[1], words[2], words[3] = philox(
                        key0, key1, uint32(block), uint32(sample), uint32(list_number), uint32(step)
                    )
                    block += 1
                    used = 0
                product = uint64(words[used]) * choices
                used += 1
                rest = product & uint64(0xFFFFFFFF)
                if rest >= choices or rest >= (uint64(4294967296) - choices) % choices:
                    break
            other = place + np.int64(product >> uint64(32))
            order[place], order[other] = order[other], order[place]
        begin = end
