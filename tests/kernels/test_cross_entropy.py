"""Cross-entropy of ragged lists against its twin."""

import numpy as np
import pytest

from luce.kernels.cross_entropy import cpu, reference
from luce.kernels.label_targets import label_targets, target_arguments
from luce.lists import Lists, evaluate_kernel

GAINS, EXPONENTIALS = ("gain", "sum"), ("exponential", "sum")


def cross_entropy(scores, labels, offsets, target, **given):
    lists = Lists(scores, labels, offsets, **given)
    return evaluate_kernel(cpu.cross_entropy, lists, lists.weights, *target_arguments(offsets, *target))[:3]


@pytest.mark.parametrize("spread", [0.1, 5, 1e4])
@pytest.mark.parametrize("observed", [0.7, 1.0])
@pytest.mark.parametrize(
    "target", [GAINS, EXPONENTIALS, ("attention", "sum"), ("gain", "dcg"), ("gain", "one"), ("label", "one")]
)
def test_equals_its_twin(target, observed, spread):
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 30, 133):
        scores, labels, weights = rng.uniform(-spread, spread, n), rng.integers(0, 5, n) * 1.0, rng.uniform(0, 2, n)
        labels[rng.random(n) > observed] = np.nan
        offsets = np.array([0, n])
        targets = label_targets(labels, offsets, *target)
        for given, expected in (None, targets), (weights, weights * targets):
            loss, gradient, _ = cross_entropy(scores, labels, offsets, target, item_weights=given)
            expected = reference.cross_entropy(scores, expected)
            np.testing.assert_allclose(loss[0], expected[0], rtol=1e-13, atol=1e-12)
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12)


def test_lists_that_say_nothing_give_nothing():
    scores, labels = np.array([3.0, -1, 2, 0.5, 4]), np.array([np.nan, 0, 0, np.nan, 1])
    loss, gradient, second = cross_entropy(scores, labels, np.array([0, 1, 3, 3, 5]), GAINS, hessian=True)
    assert not loss.any()
    assert not gradient.any()
    assert not second.any()


def test_an_unobserved_item_is_no_rival_even_with_the_highest_score():
    offsets = np.array([0, 3])
    labels, scores = np.array([1.0, np.nan, 0.0]), np.array([0.0, 1e4, 0.0])
    loss, gradient, second = cross_entropy(scores, labels, offsets, GAINS, hessian=True)
    np.testing.assert_allclose(loss, np.log(2), rtol=1e-15)
    np.testing.assert_allclose(gradient, [-0.5, 0, 0.5], rtol=1e-15)
    np.testing.assert_allclose(second, [0.25, 0, 0.25], rtol=1e-15)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 30_001, 30)
    scores, labels = rng.normal(size=30_000), rng.random(30_000)
    one, three = (cross_entropy(scores, labels, offsets, GAINS, hessian=True, n_jobs=jobs) for jobs in (1, 3))
    for found, expected in zip(three, one, strict=True):
        np.testing.assert_array_equal(found, expected)
