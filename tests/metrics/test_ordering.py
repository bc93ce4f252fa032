"""Lists in the order of their scores: as deep as asked, with the blocks of equal scores whole."""

import numpy as np
import pytest

from luce.metrics.ordering import NO_LIMIT, ranked_lists


@pytest.mark.parametrize("levels", [1, 5, 60, 10_000])
@pytest.mark.parametrize("depth", [1, 2, 7, 40, 100, NO_LIMIT])
def test_sorted_as_deep_as_asked(depth, levels):
    rng = np.random.default_rng(levels)
    for n in (1, 16, 17, 50, 300):
        for _ in range(10):
            scores, labels = rng.integers(0, levels, n).astype(float), rng.permutation(n).astype(float)
            ranked = ranked_lists(scores, labels, np.array([0, n]), depth)
            order = np.argsort(-scores, kind="stable")
            start = 0
            while start < min(depth, n):
                end = start + np.count_nonzero(scores == scores[order[start]])
                assert ranked.ends[start] == end
                assert set(ranked.labels[start:end]) == set(labels[order[start:end]])
                start = end
            assert set(ranked.labels) == set(labels)
            assert ranked.best[:depth].tolist() == list(range(n))[::-1][:depth]


@pytest.mark.parametrize("pattern", ["rising", "falling", "organ pipe", "saw"])
def test_patterns_that_defeat_a_fixed_pivot(pattern):
    n = 200_000
    places = np.arange(n, dtype=float)
    scores = {
        "rising": places,
        "falling": -places,
        "organ pipe": -np.abs(places - n / 2 + 0.25),
        "saw": places % 447 + places / n,
    }[pattern]
    ranked = ranked_lists(scores, places, np.array([0, n]))
    assert np.array_equal(ranked.labels, np.argsort(-scores))
