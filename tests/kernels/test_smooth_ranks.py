"""Discounted gains at smooth ranks against their twin."""

import numpy as np
import pytest

from luce.kernels.smooth_ranks import cpu, reference
from luce.threads import over_lists


def discounted_gains(scores, gains, offsets, temperature, n_jobs=1):
    results = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    over_lists(cpu.discounted_gains, offsets, scores, gains, temperature, results=results, n_jobs=n_jobs)
    return results


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("temperature", [0.01, 0.1, 3.0])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 133])
def test_equals_its_twin(n, temperature, spread):
    rng = np.random.default_rng(n)
    scores, gains = np.round(spread * rng.normal(size=n), 1), rng.integers(0, 4, n).astype(float)
    loss, gradient = discounted_gains(scores, gains, np.array([0, n]), temperature)
    expected = reference.discounted_gains(scores, gains, temperature)
    assert loss[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-13)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    given = rng.normal(size=30_000), rng.random(30_000), np.arange(0, 30_001, 30), 0.1
    for one, three in zip(discounted_gains(*given), discounted_gains(*given, n_jobs=3), strict=True):
        np.testing.assert_array_equal(one, three)
