"""Squared and cosine distances against their twins."""

import numpy as np
import pytest

from luce.kernels.distances import cpu, reference
from luce.kernels.label_targets import label_targets, target_arguments
from luce.lists import Lists, evaluate_kernel

LABELS, UNIT, GAINS = ("label", "one"), ("label", "length"), ("gain", "dcg")


def squared(scores, labels, offsets, target, **given):
    lists = Lists(scores, labels, offsets, **given)
    return evaluate_kernel(cpu.squared, lists, lists.weights, *target_arguments(offsets, *target))[:3]


def cosine(scores, labels, offsets, target, **given):
    lists = Lists(scores, labels, offsets, **given)
    return evaluate_kernel(cpu.cosine, lists, *target_arguments(offsets, *target), has_hessian=False)[:2]


def made(n, spread, observed):
    rng = np.random.default_rng(n)
    scores, labels, weights = spread * rng.normal(size=n), rng.normal(size=n), rng.uniform(0, 2, n)
    labels[rng.random(n) > observed] = np.nan
    return scores, labels, np.array([0, n]), weights


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("observed", [0.7, 1.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 30, 133])
def test_equal_their_twins(n, observed, spread):
    scores, labels, offsets, weights = made(n, spread, observed)
    for target in (LABELS, UNIT, GAINS):
        targets = label_targets(labels, offsets, *target)
        for w in (None, weights):
            loss, gradient, second = squared(scores, labels, offsets, target, item_weights=w, hessian=True)
            expected = reference.squared(scores, targets, w)
            assert loss[0] == pytest.approx(expected[0], rel=1e-12)
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(second, np.where(np.isnan(targets), 0, 2 * (1 if w is None else w)))
        found, expected = cosine(scores, labels, offsets, target), reference.cosine(scores, targets)
        assert found[0][0] == pytest.approx(expected[0], abs=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1e80, 1e200])
def test_the_cosine_of_scores_whose_squares_are_no_numbers(scale):
    scores, labels, offsets, _ = made(30, 1.0, 0.7)
    plain, scaled = (cosine(factor * scores, labels, offsets, UNIT) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled[0], plain[0], rtol=1e-13)
    np.testing.assert_allclose(scale * scaled[1], plain[1], rtol=1e-12, atol=1e-15)


def test_lists_that_say_nothing_give_nothing():
    scores, labels = np.array([3.0, -1, 2, 0.5, -4]), np.array([np.nan, 0, 0, np.nan, 1])
    offsets = np.array([0, 1, 3, 3, 5])
    for values in squared(scores, labels, offsets, GAINS, hessian=True):
        assert not values[:-2].any()
    for values in cosine(scores, labels, offsets, GAINS):
        assert not values.any()


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    lists = rng.normal(size=30_000), rng.normal(size=30_000), np.arange(0, 30_001, 30)
    for distance in (squared, cosine):
        one, three = (distance(*lists, UNIT, n_jobs=jobs)[:2] for jobs in (1, 3))
        for found, expected in zip(three, one, strict=True):
            np.testing.assert_array_equal(found, expected)
