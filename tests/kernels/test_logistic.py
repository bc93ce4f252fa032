"""The logistic kernel equals its reference, also for scores that overflow an exponential."""

from itertools import pairwise

import numpy as np
import pytest

from luce.arrays import offsets_of_sizes
from luce.kernels.logistic import cpu, reference
from luce.lists import Lists, evaluate_kernel


@pytest.mark.parametrize("spread", [0.01, 3.0, 300.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_reference(spread, weighted):
    rng = np.random.default_rng(0)
    offsets = offsets_of_sizes([0, 1, 7, 2, 33, 0])
    scores, labels = rng.normal(0, spread, offsets[-1]), rng.integers(-1, 4, offsets[-1]).astype(float)
    labels[[3, 20]] = np.nan
    scores[4] = 0.0
    weights = rng.random(offsets[-1]) if weighted else None
    lists = Lists(scores, labels, offsets, weights)
    loss, gradient, *_ = evaluate_kernel(cpu.logistic, lists, lists.weights)
    for q, (a, b) in enumerate(pairwise(offsets)):
        expected = reference.logistic(scores[a:b], labels[a:b], None if weights is None else weights[a:b])
        assert loss[q] == pytest.approx(expected[0], rel=1e-13, abs=1e-300)
        np.testing.assert_allclose(gradient[a:b], expected[1], rtol=1e-13, atol=1e-300)
