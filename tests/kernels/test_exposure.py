"""Exposures: unbiased, honest about their noise, with less of it than counting, and exact where all are alike."""

import numpy as np
import pytest

from luce.errors import DataError
from luce.kernels.exposure import exposure, reference
from luce.kernels.sampled_rankings import sample_rankings
from luce.randomness import Draw
from luce.threads import SMALL

DCG_3, FLAT, RISING = 1 / np.log2([2.0, 3.0, 4.0]), np.ones(4), -np.arange(1.0, 6.0)
SCORES = {
    "mixed": np.array([1.0, 0, 0.5, -1, 2]),
    "equal": np.zeros(5),
    "one cannot be placed": np.array([1.0, -np.inf, 0, 2, -1]),
    "30, 20, 1, 0": np.array([30.0, 20, 1, 0]),
    "small masses": np.array([0.0, -15, -16, -30, -31]),
    "gaps of 1,000": np.array([3_000.0, 1_000, 4_000, 0, 2_000]),
    "far, with a pair": np.array([3_000.0, 3_000.5, 0, 0.5, 0.25]),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("discounts", [DCG_3, FLAT, RISING, np.array([0.0, 1.0])], ids=["dcg@3", "flat", "arp", "2nd"])
def test_estimates_are_unbiased(name, discounts):
    scores, samples = SCORES[name], 200_000
    offsets = np.array([0, len(scores)])
    exact = reference.exact(scores, discounts)
    found = exposure(scores, offsets, discounts, samples=samples, variance=True)
    assert (np.abs(found.value - exact) <= 4.5 * np.sqrt(found.variance) + 1e-6).all()
    assert found.variance.max() < 1e-4
    np.testing.assert_allclose(found.value.sum(), discounts[: np.isfinite(scores).sum()].sum(), atol=5e-3)


@pytest.mark.parametrize("name", SCORES)
def test_the_noise_is_what_estimates_scatter_by(name):
    scores = SCORES[name]
    several = [
        exposure(scores, np.array([0, len(scores)]), DCG_3, samples=40, variance=True, draw=Draw(seed))
        for seed in range(400)
    ]
    scatter = np.var([one.value for one in several], axis=0)
    told = np.mean([one.variance for one in several], axis=0)
    np.testing.assert_allclose(told, scatter, rtol=0.3, atol=2e-6)


@pytest.mark.parametrize("discounts", [DCG_3, FLAT, np.ones(20), 1 / np.log2(np.arange(2, 22))])
def test_less_noise_than_counting_places(discounts):
    scores, samples = np.random.default_rng(0).normal(0, 1, 20), 2_000
    offsets = np.array([0, 20])
    exact = exposure(scores, offsets, discounts, samples=200_000).value
    found = exposure(scores, offsets, discounts, samples=samples, variance=True)
    rankings = sample_rankings(scores, offsets, samples=samples, depth=len(discounts))[0]
    counted = reference.counted(rankings, discounts, 20)
    if len(set(discounts)) == 1 and len(discounts) == 20:  # every item gets a place
        np.testing.assert_allclose(found.value, 1, rtol=1e-12)
    else:
        assert 5 * np.sum((found.value - exact) ** 2) < np.sum((counted - exact) ** 2)


def test_equal_scores_need_one_sample():
    for n, depth in ((1, 3), (2, 1), (7, 3), (50, 10), (5, 5)):
        discounts = 1 / np.log2(np.arange(2, depth + 2))
        found = exposure(np.full(n, 3.0), np.array([0, n]), discounts, samples=1).value
        np.testing.assert_allclose(found, discounts[:n].sum() / n, rtol=1e-12)


def test_lists_threads_and_numbers():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 500))])
    scores = rng.normal(0, 3, offsets[-1])
    scores[rng.random(len(scores)) < 0.1] = -np.inf
    assert len(scores) > SMALL
    one, three = (exposure(scores, offsets, DCG_3, samples=30, variance=True, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.value, three.value)
    np.testing.assert_array_equal(one.variance, three.variance)
    assert not one.value[scores == -np.inf].any()
    q, rows = 7, slice(offsets[7], offsets[8])
    alone = exposure(scores[rows], np.array([0, rows.stop - rows.start]), DCG_3, samples=30, draw=Draw(lists=[q]))
    np.testing.assert_array_equal(alone.value, one.value[rows])
    parts = [exposure(scores, offsets, DCG_3, samples=15, first_sample=first).value for first in (0, 15)]
    np.testing.assert_allclose(np.mean(parts, axis=0), one.value, atol=1e-12)


def test_nothing_to_place_and_nothing_seen():
    offsets = np.array([0, 2, 2, 3])
    assert not exposure(np.full(3, -np.inf), offsets, DCG_3).value.any()
    assert not exposure(np.zeros(3), offsets, np.zeros(2)).value.any()
    assert np.isnan(exposure(np.array([0.0, 1]), np.array([0, 2]), DCG_3, samples=1, variance=True).variance).all()


def test_bad_input_is_named():
    with pytest.raises(DataError, match=r"scores must be numbers, or −inf.*Got nan at row 2"):
        exposure(np.array([0.0, np.nan]), np.array([0, 2]), DCG_3)
    with pytest.raises(DataError, match="discounts must be finite"):
        exposure(np.zeros(2), np.array([0, 2]), np.array([1.0, np.inf]))
