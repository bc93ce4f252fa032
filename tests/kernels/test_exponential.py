"""The vectorised exponential against NumPy's."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.exponential import LOWEST, exp


@compiled
def all_of(values):
    return np.array([exp(value) for value in values])


def test_right_to_the_last_place():
    values = np.concatenate([np.linspace(LOWEST, 709, 200_001), np.linspace(-1, 1, 20_001), [0.0, -0.0]])
    np.testing.assert_allclose(all_of(values), np.exp(values), rtol=4.5e-16)


def test_far_below_is_nothing():
    assert not all_of(np.array([LOWEST - 1e-9, -1e4, -1e300, -np.inf])).any()
