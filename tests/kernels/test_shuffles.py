"""The shuffles of equal labels: uniform, and the same for the same draw."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from luce.kernels.shuffles import FIRST_SPARE_BLOCK, _accepted, shuffle_ties, shuffling_space
from luce.randomness import philox, random_bits, random_words

EVERYTHING = np.iinfo(np.int64).max


def shuffled(ends, depth, *draw):
    order = np.arange(ends[-1])
    shuffle_ties(order, np.array(ends), len(ends), depth, *draw, shuffling_space(ends[-1]))
    return tuple(order.tolist())


@pytest.mark.parametrize("depth", [1, 2, 3, EVERYTHING])
def test_shuffles_are_uniform_as_far_as_the_depth(depth):
    counts = Counter()
    for step in range(12_000):
        order = shuffled([1, 4, 6], depth, 7, step, 3, 0)
        assert [set(order[:1]), set(order[1:4]), set(order[4:])] == [{0}, {1, 2, 3}, {4, 5}]
        counts[order[: min(depth, 6)]] += 1
    assert len(counts) == {1: 1, 2: 3, 3: 6, EVERYTHING: 12}[depth]
    assert len(counts) == 1 or chisquare(list(counts.values())).pvalue > 1e-4


def test_every_part_of_the_draw_matters():
    draws = [(0, 0, 0, 0), (1, 0, 0, 0), (2**40, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    assert len({shuffled([50], EVERYTHING, *draw) for draw in draws}) == len(draws)
    assert shuffled([50], EVERYTHING, *draws[0]) == shuffled([50], EVERYTHING, *draws[0])


def test_nothing_tied_nothing_shuffled():
    assert shuffled([1, 2, 3], EVERYTHING, 0, 0, 0, 0) == (0, 1, 2)
    order = np.arange(3)
    shuffle_ties(order, np.empty(0, np.int64), 0, EVERYTHING, 0, 0, 0, 0, shuffling_space(0))
    assert order.tolist() == [0, 1, 2]


def test_words_are_the_blocks_of_the_stream():
    words = np.empty((4, 9), np.uint32)
    random_words(5 + 2**33, 1, 2, 3, words)
    expected = [[int(word) for word in philox(5, 2, block, 3, 2, 1)] for block in range(9)]
    np.testing.assert_array_equal(words.T, expected)


def test_words_that_favour_a_choice_are_replaced():
    """Of 3 choices the word 0 is one too many: 2^32 is no multiple of 3. A replacement comes from the spare blocks."""
    draw = (5, 1, 2, 3)
    spare = int(random_bits(*draw, FIRST_SPARE_BLOCK + 16 * 7)) >> 32
    assert _accepted(np.uint64(0), np.uint64(3), *draw, 7) == 3 * spare
    good = np.uint64(3 * 5)
    assert _accepted(good, np.uint64(3), *draw, 7) == good
