"""Softmax objectives against values worked out by hand."""

import numpy as np
import pytest

from luce.objectives import objective


def test_listnet_by_hand():
    evaluation = objective("listnet").value_and_gradient([1.0, 0.0], [np.log(3.0), 0.0])
    p = 1 / (1 + np.exp(-1))
    assert evaluation.loss[0] == pytest.approx(-0.75 * np.log(p) - 0.25 * np.log(1 - p), abs=1e-14)
    np.testing.assert_allclose(evaluation.gradient, [p - 0.75, 0.75 - p], atol=1e-14)
