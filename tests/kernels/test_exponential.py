"""The vectorised exponentials against NumPy's."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.elementary import LOWEST, exp, exp2m1, expm1


@compiled
def all_of(values):
    return np.array([exp(value) for value in values])


@compiled
def all_less_one_of(values):
    return np.array([expm1(value) for value in values])


@compiled
def all_gains_of(values):
    return np.array([exp2m1(value) for value in values])


def test_right_to_the_last_place():
    values = np.concatenate([np.linspace(LOWEST, 709, 200_001), np.linspace(-1, 1, 20_001), [0.0, -0.0]])
    np.testing.assert_allclose(all_of(values), np.exp(values), rtol=4.5e-16)


def test_far_below_is_nothing():
    assert not all_of(np.array([LOWEST - 1e-9, -1e4, -1e300, -np.inf])).any()


def test_less_one():
    small = np.geomspace(1e-300, 1, 20_001)
    values = np.concatenate([small, -small, np.linspace(-50, 709, 200_001), [0.0, LOWEST - 1, -np.inf]])
    np.testing.assert_allclose(all_less_one_of(values), np.expm1(values), rtol=7e-16)


def test_powers_of_two_less_one():
    whole = np.arange(1024.0)
    np.testing.assert_array_equal(all_gains_of(whole), np.exp2(whole) - 1)
    values = np.concatenate([np.geomspace(1e-300, 1, 20_001), np.linspace(0, 1_023.999, 200_001)])
    expected = np.where(values < 1, np.expm1(values * np.log(2)), np.exp2(values) - 1)
    np.testing.assert_allclose(all_gains_of(values), expected, rtol=1e-15)
    assert np.isinf(all_gains_of(np.array([1_024.0, 1_024.1, 1_100.0, 1e300]))).all()
