"""Second derivatives of ordered partitions against differences of the gradient, and pools as one row."""

import numpy as np
import pytest
from scipy.special import logsumexp

from luce.kernels.partition_curvature import partition_hessian, partition_product, reference
from luce.kernels.partition_likelihood import partition_likelihood
from luce.lists import Lists


def whole(scores, places):
    n = len(scores)
    rows = np.asarray(scores, float), np.asarray(places), np.array([0, n]), np.ones(1)
    return partition_hessian(*rows, np.arange(n), np.zeros(1), np.ones(n), n), rows


@pytest.mark.parametrize("spread", [0, 0.5, 3, 20])
def test_equal_differences_of_the_gradient(spread):
    rng = np.random.default_rng(int(spread))
    for _ in range(6):
        n = int(rng.integers(2, 9))
        places = np.sort(np.unique(rng.integers(0, 4, n), return_inverse=True)[1])
        scores, direction = rng.normal(0, spread, n), rng.normal(size=n)
        expected = reference.partition_hessian(scores, places)
        matrix, rows = whole(scores, places)
        np.testing.assert_allclose(matrix, expected, atol=1e-9)
        np.testing.assert_allclose(partition_product(*rows, direction), expected @ direction, atol=1e-9)


def test_a_set_of_sixty():
    rng = np.random.default_rng(0)
    scores, places = rng.normal(0, 2, 100), np.repeat([0, 1, 2], [60, 1, 39])
    matrix, rows = whole(scores, places)
    direction = rng.normal(size=100)
    given = -places.astype(float), np.array([0, 100])
    above, below = (partition_likelihood(Lists(scores + h * direction, *given), 1e-13).gradient for h in (1e-5, -1e-5))
    np.testing.assert_allclose(matrix @ direction, (above - below) / 2e-5, atol=1e-7)
    np.testing.assert_allclose(partition_product(*rows, direction), matrix @ direction, atol=1e-10)
    np.testing.assert_allclose(matrix.sum(axis=1), 0, atol=1e-10)


def test_scores_far_apart_stay_finite():
    rng = np.random.default_rng(1)
    scores, places = rng.normal(0, 1e4, 12), np.repeat([0, 1, 2, 3], 3)
    matrix, rows = whole(scores, places)
    assert np.isfinite(matrix).all()
    assert np.isfinite(partition_product(*rows, rng.normal(size=12))).all()


def test_the_rest_of_a_pool_as_one_row():
    # Items 0, 1 | 2 above the rest {3, 4, 5} of a pool of six: the last row stands for the rest.
    rng = np.random.default_rng(4)
    scores, places, weight = rng.normal(size=6), np.array([0, 0, 1, 2, 2, 2]), 1.7
    expected = weight * whole(scores, places)[0]
    worths = np.exp(scores)
    rest = worths[3:].sum()
    rows = np.append(scores[:3], logsumexp(scores[3:])), np.array([0, 0, 1, 2]), np.array([0, 4]), np.array([weight])
    extended = partition_hessian(*rows, np.array([0, 1, 2, 6]), np.array([rest]), np.append(worths[:3], 0), 7)
    # The coordinate of the pool is Σ worth over it; its log of a sum is curved itself: slope · (diag π − π πᵀ).
    ours = extended[:6, :6] + np.outer(worths, extended[6, :6]) + np.outer(extended[:6, 6], worths)
    ours += extended[6, 6] * np.outer(worths, worths)
    slope = weight * partition_likelihood(Lists(rows[0], -rows[1].astype(float), rows[2])).gradient[3]
    share = np.where(np.arange(6) > 2, worths, 0) / rest
    ours += slope * (np.diag(share) - np.outer(share, share))
    np.testing.assert_allclose(ours, expected, atol=1e-9)
