"""Splits: every list in just one part, by seed, and the folds that LETOR has."""

from itertools import chain

import numpy as np
import pytest

from luce.data import Dataset, parts, rotations, split
from luce.errors import DataError, OptionError


def numbered(n_lists):
    """List q has q % 4 rows, all with feature q."""
    sizes = np.arange(n_lists) % 4
    lists = np.repeat(np.arange(n_lists), sizes)
    return Dataset(lists[:, None], np.zeros(len(lists)), np.concatenate([[0], np.cumsum(sizes)]), np.arange(n_lists))


def ids(dataset):
    return dataset.query_ids.to_pylist()


@pytest.mark.parametrize(
    ("n_lists", "fractions", "sizes"),
    [
        (10, (0.8, 0.2), [8, 2]),
        (100, (0.6, 0.2, 0.2), [60, 20, 20]),
        (7, (0.5, 0.5), [4, 3]),
        (3, (0.98, 0.01, 0.01), [1, 1, 1]),
        (10, (0.05, 0.95), [1, 9]),
        (5, (1.0,), [5]),
        (10, (0.71, 0.14, 0.15), [7, 1, 2]),
        (100, (0.29, 0.71), [29, 71]),
        (1000, (0.1, 0.2, 0.7), [100, 200, 700]),
    ],
)
def test_a_split_has_the_fractions_asked_for(n_lists, fractions, sizes):
    pieces = split(numbered(n_lists), fractions, seed=3)
    assert [piece.n_lists for piece in pieces] == sizes
    assert sorted(chain.from_iterable(map(ids, pieces))) == list(range(n_lists))


def test_lists_stay_whole():
    for piece in split(numbered(50), (0.5, 0.5)):
        assert np.array_equal(piece.sizes, piece.query_ids.to_numpy() % 4)
        assert np.array_equal(piece.features[:, 0], np.repeat(piece.query_ids.to_numpy(), piece.sizes))


def test_the_seed_decides():
    data = numbered(200)
    assert ids(split(data, seed=5)[0]) == ids(split(data, seed=5)[0])
    assert ids(split(data, seed=5)[0]) != ids(split(data, seed=6)[0])
    assert ids(split(numbered(10), (0.5, 0.5), seed=0)[0]) == [0, 1, 2, 8, 9]  # the same on every machine and release


def test_every_list_is_as_likely_in_every_part():
    data = numbered(12)
    counts = np.zeros(12)
    for seed in range(600):
        counts[ids(split(data, (0.75, 0.25), seed)[1])] += 1
    assert counts.sum() == 1800
    assert np.abs(counts - 150).max() < 5 * np.sqrt(600 * 0.25 * 0.75)


@pytest.mark.parametrize(("n_lists", "k"), [(784, 5), (10, 3), (4, 4), (11, 2)])
def test_parts_are_equal_to_one_list_and_share_none(n_lists, k):
    pieces = parts(numbered(n_lists), k, seed=1)
    sizes = [piece.n_lists for piece in pieces]
    assert len(sizes) == k
    assert max(sizes) - min(sizes) <= 1
    assert sorted(chain.from_iterable(map(ids, pieces))) == list(range(n_lists))


def test_rotations_are_those_of_letor():
    pieces = [Dataset([[i]], [0], [0, 1], [i]) for i in (1, 2, 3, 4, 5)]
    folds = [tuple(map(ids, fold)) for fold in rotations(pieces)]
    assert folds == [
        ([1, 2, 3], [4], [5]),
        ([2, 3, 4], [5], [1]),
        ([3, 4, 5], [1], [2]),
        ([4, 5, 1], [2], [3]),
        ([5, 1, 2], [3], [4]),
    ]


def test_rotations_of_few_parts():
    pieces = [Dataset([[i]], [0], [0, 1], [i]) for i in (1, 2, 3)]
    assert [tuple(map(ids, fold)) for fold in rotations(pieces)] == [([1], [2], [3]), ([2], [3], [1]), ([3], [1], [2])]
    folds = list(rotations(pieces[:2]))
    assert [fold.validation for fold in folds] == [None, None]
    assert [(ids(fold.train), ids(fold.test)) for fold in folds] == [([1], [2]), ([2], [1])]
    with pytest.raises(OptionError, match=r"at least 2 parts. Got 1"):
        next(rotations(pieces[:1]))


@pytest.mark.parametrize("fractions", [(), (0.5, 0.6), (0.5, 0.4), (1.2, -0.2), (1, 0), (np.nan, 1), 0.5])
def test_fractions_that_make_no_whole_are_refused(fractions):
    with pytest.raises(OptionError, match="fractions must be positive and sum to 1"):
        split(numbered(10), fractions)


def test_more_parts_than_lists_are_refused():
    with pytest.raises(DataError, match=r"5 parts need at least 5 lists. Got 4"):
        parts(numbered(4), 5)
    with pytest.raises(DataError, match=r"2 parts need at least 2 lists. Got 1"):
        split(numbered(1))
    with pytest.raises(OptionError, match=r"k must be at least 2 parts. Got 1"):
        parts(numbered(4), 1)
    with pytest.raises(OptionError, match=r"seed must not be negative. Got -1"):
        split(numbered(4), seed=-1)
