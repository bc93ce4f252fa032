"""Targets of ragged lists against their twin, and for labels of any size."""

from itertools import pairwise

import numpy as np
import pytest

from luce.kernels.label_targets import label_targets, reference
from luce.kernels.label_targets.cpu import highest

TARGETS = [
    ("label", "one"),
    ("label", "length"),
    ("gain", "one"),
    ("gain", "sum"),
    ("gain", "length"),
    ("gain", "dcg"),
    ("gain", "dcg", 3),
    ("exponential", "sum"),
    ("attention", "sum"),
]
EVERY = pytest.mark.parametrize("target", TARGETS)


def made(grades):
    """Lists of many lengths, with unobserved items, lists of zeros and lists that nobody observed."""
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, 0, 1, 2, 3, 7, 64, 1, 133, 4, 5])
    labels = rng.integers(-1, 5, offsets[-1]).astype(float) if grades else rng.normal(0, 2, offsets[-1])
    labels[rng.random(len(labels)) < 0.2] = np.nan
    labels[offsets[-2] :], labels[offsets[-3] : offsets[-2]] = 0, np.nan
    return labels, offsets


@EVERY
@pytest.mark.parametrize("grades", [True, False])
def test_equal_their_twin(target, grades):
    labels, offsets = made(grades)
    found = label_targets(labels, offsets, *target)
    for a, b in pairwise(offsets):
        expected = reference.label_targets(labels[a:b], *target)
        np.testing.assert_allclose(found[a:b], expected, rtol=2e-15, atol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 700.0, -700.0, 1e4, 1e15])
def test_exponentials_do_not_overflow(shift):
    found = label_targets(shift + np.array([1.0, 0, np.nan, 3]), np.array([0, 4]), "exponential", "sum")
    weights = np.exp([1, 0, np.nan, 3])
    np.testing.assert_allclose(found, weights / np.nansum(weights), rtol=1e-15)


@pytest.mark.parametrize("top", [50.0, 59.5, 61.0, 400.0, 700.0, 1e3, 1024.0, 2000.0, 1e6])
def test_gains_of_any_size(top):
    labels, offsets = np.array([top, np.nan, top - 1, top - 2, 1.5, 0, -3]), np.array([0, 7])
    gains = np.array([1, np.nan, 0.5, 0.25, 2 ** (1.5 - top), 0, 0]) - (labels > 0) * 2.0**-top
    discounts = 1 / np.log2([2, np.nan, 3, 4, 5, 6, 7])
    sizes = {"sum": np.nansum(gains), "length": np.sqrt(np.nansum(gains**2)), "dcg": np.nansum(gains * discounts)}
    for norm, size in sizes.items():
        found = label_targets(labels, offsets, "gain", norm)
        np.testing.assert_allclose(found, gains / size, rtol=1e-14, atol=1e-307)


def test_the_highest_stands_anywhere():
    assert highest(np.empty(0)) == -np.inf
    for n in range(1, 10):
        for place in range(n):
            values = np.full(n, -3.0)
            values[place] = -2.0
            assert highest(values) == -2.0


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-160, 1e-200, 1e-310, 1e160, 1e300])
def test_lengths_and_sums_of_any_size(scale):
    labels, offsets = scale * np.array([3.0, np.nan, 4, 0]), np.array([0, 4])
    tiny = 1e-4 if scale < 1e-300 else 1e-12  # numbers so small have few digits
    unit = label_targets(labels, offsets, "label", "length")
    np.testing.assert_allclose(unit, [0.6, np.nan, 0.8, 0], rtol=tiny)
    np.testing.assert_allclose(label_targets(-labels, offsets, "label", "length"), -unit, rtol=1e-15)
    if scale < 1e-10:  # gains are then as good as proportional to the labels
        share = label_targets(labels, offsets, "gain", "sum")
        np.testing.assert_allclose(share, [3 / 7, np.nan, 4 / 7, 0], rtol=max(tiny, 1e-11))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    labels, offsets = rng.normal(0, 2, 30_000), np.arange(0, 30_001, 30)
    one, three = (label_targets(labels, offsets, "gain", "dcg", n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one, three)
