"""Cross-entropy and softmax of ragged lists against their twins."""

import numpy as np
import pytest
from scipy import special

from luce.kernels.cross_entropy import cross_entropy, reference, softmax


@pytest.mark.parametrize("spread", [0.1, 5, 1e4])
def test_equals_its_twin(spread):
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 30):
        scores, targets = rng.uniform(-spread, spread, n), rng.uniform(0, 2, n)
        targets[rng.random(n) < 0.3] = np.nan
        loss, gradient, _ = cross_entropy(scores, targets, np.array([0, n]))
        expected = reference.cross_entropy(scores, targets)
        np.testing.assert_allclose(loss[0], expected[0], rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12)


def test_softmax_of_each_list_alone():
    values = np.array([1e4, 1e4 - 1, -5, np.nan, 3, 2])
    offsets = np.array([0, 2, 2, 6])
    result = softmax(values, offsets)
    np.testing.assert_allclose(result[:2], special.softmax([1, 0]), rtol=1e-15)
    np.testing.assert_allclose(result[[2, 4, 5]], special.softmax([-5, 3, 2]), rtol=1e-15)
    assert np.isnan(result[3])


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 30_001, 30)
    scores, targets = rng.normal(size=30_000), rng.random(30_000)
    one, three = (cross_entropy(scores, targets, offsets, curvature=True, n_jobs=jobs) for jobs in (1, 3))
    for found, expected in zip(three, one, strict=True):
        np.testing.assert_array_equal(found, expected)
