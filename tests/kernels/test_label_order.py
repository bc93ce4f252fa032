"""The order that labels give, and the uniformity of its shuffles."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from luce.kernels.label_order import FIRST_SPARE_BLOCK, _accepted, shuffle_ties, sort_by_label
from luce.randomness import random_words

EVERYTHING = np.iinfo(np.int64).max


@pytest.mark.parametrize("scale", [1.0, 0.5, 1000.0, -1.0])
def test_highest_label_first_and_stable(scale):
    labels = np.array([9.0, 0, 2, np.nan, 2, 1, 0, 2, 3]) * scale
    order = np.full(8, -1)
    n = sort_by_label(labels, 1, 9, order)
    expected = sorted((row for row in range(1, 9) if row != 3), key=lambda row: -labels[row])
    assert n == 7
    assert order[:n].tolist() == expected


@pytest.mark.parametrize("depth", [1, 2, 3, EVERYTHING])
def test_shuffles_are_uniform_as_far_as_the_depth(depth):
    labels = np.array([1.0, 1, 1, 2, 0, 0])
    order = np.empty(6, np.int64)
    counts = Counter()
    for step in range(12_000):
        n = sort_by_label(labels, 0, 6, order)
        shuffle_ties(labels, order, n, depth, 7, step, 3, 0)
        assert labels[order].tolist() == [2, 1, 1, 1, 0, 0]
        counts[tuple(order[: min(depth, n)])] += 1
    assert len(counts) == {1: 1, 2: 3, 3: 6, EVERYTHING: 12}[depth]
    assert len(counts) == 1 or chisquare(list(counts.values())).pvalue > 1e-4


def test_every_part_of_the_draw_matters():
    labels = np.zeros(50)

    def shuffled(*draw):
        order = np.arange(50)
        shuffle_ties(labels, order, 50, EVERYTHING, *draw)
        return tuple(order)

    draws = [(0, 0, 0, 0), (1, 0, 0, 0), (2**40, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    assert len({shuffled(*draw) for draw in draws}) == len(draws)
    assert shuffled(*draws[0]) == shuffled(*draws[0])


def test_words_of_a_stream_do_not_depend_on_where_it_is_cut():
    whole, part = random_words(5, 1, 2, 3, 0, 9), random_words(5, 1, 2, 3, 5, 4)
    np.testing.assert_array_equal(part.reshape(4, 4), whole.reshape(4, 9)[:, 5:])
    assert len(np.unique(whole)) == 36


def test_words_that_favour_a_choice_are_replaced():
    """Of 3 choices the word 0 is one too many: 2^32 is no multiple of 3. A replacement comes from the spare blocks."""
    draw = (5, 1, 2, 3)
    spare = int(random_words(*draw, FIRST_SPARE_BLOCK + 16 * 7, 1)[0])
    assert _accepted(np.uint64(0), np.uint64(3), *draw, 7) == 3 * spare
    good = np.uint64(3 * 5)
    assert _accepted(good, np.uint64(3), *draw, 7) == good
