"""Seeded shuffles of the items that have equal labels."""

import numpy as np
from numba import uint64

from luce.compiled import compiled
from luce.randomness import random_bits, random_words

LOW = uint64(0xFFFFFFFF)
FIRST_SPARE_BLOCK = 2**31
"""Blocks of a stream from here on replace rejected words: sixteen a place, far more than ever rejected in a row."""


@compiled
def shuffling_space(longest):
    """Workspace to shuffle a list of so many rows."""
    return np.empty(longest + 3, np.uint32)


@compiled
def shuffle_ties(order, ends, sets, depth, seed, step, list_number, sample, words):
    """Put the rows of each set in random order, as far as the first `depth` places need it.

    Fisher-Yates on 32-bit words of the stream (seed, step, list, sample); Lemire's rejection keeps it exactly uniform.
    """
    if sets == 0 or ends[sets - 1] == sets:
        return  # nothing is tied
    deep = min(np.int64(ends[sets - 1]), depth)
    blocks = (deep + 3) // 4
    random_words(seed, step, list_number, sample, words[: 4 * blocks].reshape(4, blocks))
    begin = np.int64(0)
    for m in range(sets):
        if begin >= deep:
            break
        end = np.int64(ends[m])
        for place in range(begin, min(end - 1, deep)):
            choices = uint64(end - place)
            product = uint64(words[place]) * choices
            if product & LOW < choices:  # once in 2^32 / choices
                product = _accepted(product, choices, seed, step, list_number, sample, place)
            other = uint64(place) + (product >> uint64(32))
            order[place], order[other] = order[other], order[place]
        begin = end


@compiled
def _accepted(product, choices, seed, step, list_number, sample, place):
    """The product of a word that favours no choice: this one, or the first good one of blocks kept for this place."""
    block = FIRST_SPARE_BLOCK + 16 * place
    while product & LOW < (uint64(4294967296) - choices) % choices:
        product = (random_bits(seed, step, list_number, sample, block) >> uint64(32)) * choices
        block += 1
    return product
