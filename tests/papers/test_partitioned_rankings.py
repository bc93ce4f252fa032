"""The simulated rankings of the 2020 paper: partitions, and draws by worth."""

import numpy as np

from papers.partition_2020.rankings import partitioned_rankings


def test_rankings_are_cut_into_partitions():
    sampled = partitioned_rankings(n_items=50, n_samples=200, n_partitions=4, top=20, seed=1)
    assert sampled.worths.shape == (50,)
    assert np.isclose(sampled.worths.sum(), 1)
    assert 1 < sampled.worths.max() / sampled.worths.min() < 50
    sizes = np.diff(sampled.offsets)
    assert sizes.min() >= 3
    assert sizes.max() == 20
    for first, last in zip(sampled.offsets[:-1], sampled.offsets[1:], strict=True):
        labels, items = sampled.labels[first:last], sampled.items[first:last]
        assert np.all(np.diff(labels) <= 0)
        assert sorted(set(labels)) == [1, 2, 3]
        assert len(set(items)) == last - first
        assert items.min() >= 0
        assert items.max() < 50
    cuts = [
        np.count_nonzero(sampled.labels[a:b] == 3)
        for a, b in zip(sampled.offsets[:-1], sampled.offsets[1:], strict=True)
    ]
    assert len(set(cuts)) > 5
    everything = partitioned_rankings(n_items=5, n_samples=50, n_partitions=5, top=500)
    assert np.all(np.diff(everything.offsets) == 4)


def test_the_first_item_is_drawn_by_its_worth():
    sampled = partitioned_rankings(n_items=6, n_samples=6_000, n_partitions=2, seed=3)
    firsts = np.bincount(sampled.items[sampled.offsets[:-1]], minlength=6)
    expected = 6_000 * sampled.worths
    assert ((firsts - expected) ** 2 / expected).sum() < 20.5  # chi-square, 5 degrees: passed by all but 1 in 1,000
    second = sampled.offsets[:-1][np.diff(sampled.offsets) > 1] + 1
    pairs = sampled.items[second][sampled.items[second - 1] == 0]
    rest = sampled.worths[1:] / sampled.worths[1:].sum() * len(pairs)
    assert ((np.bincount(pairs, minlength=6)[1:] - rest) ** 2 / rest).sum() < 18.5  # 4 degrees


def test_the_first_of_many_items_is_drawn_by_its_worth():
    sampled = partitioned_rankings(n_items=300, n_samples=3_000, n_partitions=2, seed=4)
    tenth = np.argsort(np.argsort(sampled.worths)) // 30
    expected = 3_000 * np.bincount(tenth, sampled.worths)
    firsts = np.bincount(tenth[sampled.items[sampled.offsets[:-1]]], minlength=10)
    assert ((firsts - expected) ** 2 / expected).sum() < 27.9  # 9 degrees


def test_rankings_follow_the_seed():
    one, same, other = (partitioned_rankings(30, 5, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one.worths, other.worths)
    many = partitioned_rankings(100_000, 2)
    assert np.diff(many.offsets).max() <= 500
