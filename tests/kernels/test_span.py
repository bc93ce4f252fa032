"""The lowest and highest value against NumPy's."""

import numpy as np
import pytest

from luce.kernels.elementary import span


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("centre", [-1e300, -5, 0, 5, 1e300])
def test_lowest_and_highest(n, centre):
    values = centre + np.random.default_rng(n).normal(size=n) * (1 + abs(centre) / 10)
    assert span(values) == (values.min(), values.max())


def test_of_nothing_and_of_zeros():
    assert span(np.empty(0)) == (np.inf, -np.inf)
    assert span(np.array([0.0, -0.0])) == (0, 0)
    assert span(np.array([-np.inf, 3.0, np.inf])) == (-np.inf, np.inf)
