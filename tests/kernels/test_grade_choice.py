"""The choice of a grade against its twin."""

from itertools import pairwise

import numpy as np
import pytest

from luce.kernels.grade_choice import cpu, reference
from luce.lists import Lists, evaluate_kernel


def grade_choice(scores, labels, offsets, **given):
    lists = Lists(scores, labels, offsets, **given)
    return evaluate_kernel(cpu.grade_choice, lists, lists.weights, scores.shape[1])[:3]


@pytest.mark.parametrize("spread", [0.1, 5, 1e4])
@pytest.mark.parametrize("grades", [1, 2, 5, 9])
def test_equals_its_twin(grades, spread):
    rng = np.random.default_rng(grades)
    offsets = np.cumsum([0, 4, 0, 1, 40])
    n = offsets[-1]
    scores, labels, weights = rng.normal(0, spread, (n, grades)), rng.integers(0, grades, n) * 1.0, rng.uniform(0, 2, n)
    labels[rng.random(n) < 0.3] = np.nan
    for w in (None, weights):
        loss, gradient, second = grade_choice(scores, labels, offsets, item_weights=w, hessian=True)
        for q, (a, b) in enumerate(pairwise(offsets)):
            expected = reference.grade_choice(scores[a:b], labels[a:b], None if w is None else w[a:b])
            assert loss[q] == pytest.approx(expected[0], rel=1e-13, abs=1e-13)
            np.testing.assert_allclose(gradient[a:b], expected[1], rtol=1e-12, atol=1e-14)
        weight = np.where(np.isnan(labels), 0, 1 if w is None else w)[:, None]
        p = np.where(weight > 0, gradient + weight * (labels[:, None] == np.arange(grades)), 0) / np.fmax(weight, 1e-9)
        np.testing.assert_allclose(second, weight * p * (1 - p), atol=1e-13)


@pytest.mark.parametrize("wrong", [-1.0, 0.5, 3.0, 1e300])
def test_labels_that_are_no_grades_spoil_their_own_list_alone(wrong):
    scores, labels = np.zeros((4, 3)), np.array([0.0, 2, wrong, 1])
    loss, gradient, _ = grade_choice(scores, labels, np.array([0, 2, 4]))
    assert loss[0] == pytest.approx(2 * np.log(3))
    assert np.isnan(loss[1])
    assert np.isfinite(gradient).all()


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(30_000, 3)), rng.integers(0, 3, 30_000) * 1.0
    offsets = np.arange(0, 30_001, 30)
    one, three = (grade_choice(scores, labels, offsets, hessian=True, n_jobs=jobs) for jobs in (1, 3))
    for found, expected in zip(three, one, strict=True):
        np.testing.assert_array_equal(found, expected)
