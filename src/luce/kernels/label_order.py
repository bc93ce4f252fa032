"""The order that labels give a list, and its seeded shuffles: highest label first, equal labels in random order."""

import numpy as np
from numba import uint64

from luce.compiled import compiled
from luce.randomness import random_words

FEW_GRADES = 64
LOW = uint64(0xFFFFFFFF)
FIRST_SPARE_BLOCK = 2**31
"""Blocks of a stream from here on replace rejected words: sixteen a place, far more than ever rejected in a row."""


@compiled
def sort_by_label(labels, start, stop, order):
    """Write the observed rows of a list to `order`, highest label first, equal ones as they stood; return their number.

    Grades 0 … 63 are counted rather than compared, which makes the sort O(n) where it matters.
    """
    counts = np.zeros(FEW_GRADES, np.int64)
    n, top = 0, 0
    for row in range(start, stop):
        y = labels[row]
        grade = int(y) if 0.0 <= y < FEW_GRADES else -1
        if grade >= 0 and grade == y:
            counts[grade] += 1
            top = max(top, grade)
        elif not np.isnan(y):
            return _sort_any_labels(labels, start, stop, order)
    for grade in range(top, -1, -1):
        counts[grade], n = n, n + counts[grade]
    for row in range(start, stop):
        y = labels[row]
        if y >= 0.0:  # NaN is not
            grade = int(y)
            order[counts[grade]] = row
            counts[grade] += 1
    return n


@compiled
def _sort_any_labels(labels, start, stop, order):
    n = 0
    for row in range(start, stop):
        if not np.isnan(labels[row]):
            order[n] = row
            n += 1
    order[:n] = order[np.argsort(-labels[order[:n]], kind="mergesort")]
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
    deep = min(n, depth)
    words = random_words(seed, step, list_number, sample, 0, (deep + 3) // 4)
    begin = 0
    while begin < deep:
        end, label = begin + 1, labels[order[begin]]
        while end < n and labels[order[end]] == label:
            end += 1
        for place in range(begin, min(end - 1, deep)):
            choices = uint64(end - place)
            product = uint64(words[place]) * choices
            if product & LOW < choices:  # once in 2^32 / choices
                product = _accepted(product, choices, seed, step, list_number, sample, place)
            other = place + np.int64(product >> uint64(32))
            order[place], order[other] = order[other], order[place]
        begin = end


@compiled
def _accepted(product, choices, seed, step, list_number, sample, place):
    """The product of a word that favours no choice: this one, or the first good one of blocks kept for this place."""
    block = FIRST_SPARE_BLOCK + 16 * place
    while product & LOW < (uint64(4294967296) - choices) % choices:
        product = uint64(random_words(seed, step, list_number, sample, block, 1)[0]) * choices
        block += 1
    return product
