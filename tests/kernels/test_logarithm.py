"""The vectorised logarithms against NumPy's."""

import numpy as np
import pytest

from luce.compiled import compiled
from luce.kernels.elementary import log, sum_of_logarithms


@compiled
def all_of(values):
    return np.array([log(value) for value in values])


def test_right_to_two_units_in_the_last_place():
    near_one = 1 + np.linspace(-0.6, 1, 20_001)
    values = np.concatenate([np.geomspace(3e-308, 1e308, 200_001), near_one, 2.0 ** np.arange(-1022, 1024)])
    np.testing.assert_allclose(all_of(values), np.log(values), rtol=5e-16)


def test_next_to_one():
    values = 1 + np.arange(-50.0, 51) * 2.0**-52
    np.testing.assert_allclose(all_of(values), np.log1p(values - 1), rtol=5e-16)
    assert all_of(np.ones(1))[0] == 0


@pytest.mark.parametrize("n", [0, 1, 5, 999, 1_000, 1_001, 3_500])
@pytest.mark.parametrize("low", [-700, -3, 1, 690])
def test_sum(n, low):
    """Products would leave float64 at once; the digits of none are lost."""
    logarithms = np.random.default_rng(n).uniform(low, low + 5, n)
    assert sum_of_logarithms(np.exp(logarithms)) == pytest.approx(logarithms.sum(), rel=1e-13, abs=1e-12)


def test_sum_of_numbers_just_below_two():
    assert sum_of_logarithms(np.full(5_000, 2 - 2.0**-52)) == pytest.approx(5_000 * np.log(2), rel=1e-13)
