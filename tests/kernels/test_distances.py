"""Squared and cosine distances against their twins."""

import numpy as np
import pytest

from luce.kernels.distances import cosine, reference, squared


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
def test_equal_their_twins(spread):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 30):
        scores, targets, weights = spread * rng.normal(size=n), rng.normal(size=n), rng.uniform(0, 2, n)
        targets[rng.random(n) < 0.3] = np.nan
        for w in (None, weights):
            found, expected = squared(scores, targets, np.array([0, n]), w), reference.squared(scores, targets, w)
            assert found[0][0] == pytest.approx(expected[0], rel=1e-12)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
        found, expected = cosine(scores, targets, np.array([0, n])), reference.cosine(scores, targets)
        assert found[0][0] == pytest.approx(expected[0], abs=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-14)
