"""The ordered likelihood against its twin, enumeration and extreme scores."""

import numpy as np
import pytest

from luce.kernels.enumeration import consistent_orders, log_probability, orders
from luce.kernels.ordered_likelihood import ALL, TO_THE_LOWEST, Order, ordered_likelihood, reference
from luce.lists import Lists
from luce.randomness import Draw


def one_list(scores, labels, item_weights=None, hessian=False, **order):
    arrays = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float), np.array([0, len(scores)])
    lists = Lists(*arrays, item_weights, hessian=hessian)
    loss, gradient, second, _ = ordered_likelihood(lists, Order(**order))
    return (loss[0], gradient, second) if second is not None else (loss[0], gradient)


def test_example_with_a_known_value():
    loss, gradient = one_list([20, 0, -1], [2, 1, 0])
    assert loss == pytest.approx(np.log1p(np.exp(-1)) + np.log1p(np.exp(-20) + np.exp(-21)), abs=1e-15)
    np.testing.assert_allclose(gradient, [-2.8194e-9, -0.26894142, 0.26894142], atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_probabilities_of_all_orders_sum_to_one(n):
    scores = np.random.default_rng(n).normal(0, 3, n)
    losses = [one_list(scores, [-order.index(i) for i in range(n)])[0] for order in orders(n)]
    assert np.exp(-np.array(losses)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("depth", [ALL, 1, 3, 50])
@pytest.mark.parametrize("spread", [0.1, 3, 140, 1000, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", ["equal", "given", "halving"])
def test_equals_its_twin(depth, spread, weighted, places):
    rng = np.random.default_rng(5)
    for n in (2, 3, 10, 40):
        scores, labels = rng.uniform(-spread, spread, n), rng.permutation(n).astype(float)
        labels[rng.random(n) < 0.2] = np.nan
        weights = rng.uniform(0, 3, n) if weighted else None
        order = [i for i in np.argsort(-labels) if not np.isnan(labels[i])]
        alpha = {"equal": None, "given": rng.uniform(0, 1, 45), "halving": reference.halving(len(order))}[places]
        expected = reference.ordered_likelihood(scores, order, min(depth, n), weights, alpha)
        if len(order) < 2:
            expected = 0.0, np.zeros(n), np.zeros(n)
        settings = {"halving": {"halving": True}, "given": {"place_weights": alpha}, "equal": {}}[places]
        found = one_list(scores, labels, depth=depth, item_weights=weights, hessian=True, **settings)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("depth", [ALL, 1, 8])
@pytest.mark.parametrize("far", [-1000, 1000])
def test_near_scores_and_one_far_off(depth, far):
    """Scales that differ a little, beside one that differs beyond all measure."""
    rng = np.random.default_rng(6)
    for place in (0, 5, 11):
        scores, order = rng.normal(0, 2, 12), rng.permutation(12)
        scores[order[place]] += far
        weights, labels = rng.uniform(0, 3, 12), np.empty(12)
        labels[order] = -np.arange(12)
        found = one_list(scores, labels, depth=depth, item_weights=weights, hessian=True)
        for one, other in zip(found, reference.ordered_likelihood(scores, order, depth, weights), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_place_weights_may_end_early_and_halving_never_overflows():
    scores, labels = np.arange(6.0), np.arange(6.0)
    short = one_list(scores, labels, place_weights=np.ones(2))
    np.testing.assert_allclose(short[1], one_list(scores, labels, depth=2)[1], atol=1e-15)
    long = np.random.default_rng(0).normal(size=5000)
    loss, gradient = one_list(long, np.arange(5000), halving=True)
    assert np.isfinite(loss) and np.isfinite(gradient).all() and gradient.any()


def test_halving_goes_on_to_the_smallest_numbers():
    """Scores one apart, each place twice as heavy as the next: so are the slopes in the end, as far as float64 goes."""
    scores = -np.arange(1200.0)
    _, gradient = one_list(scores, scores, halving=True)
    np.testing.assert_allclose(gradient[100:1000] / gradient[101:1001], 2, rtol=1e-12)
    assert np.isfinite(gradient).all()


def test_to_the_lowest_label():
    scores, labels = np.array([0.5, -1, 2, 0, 1]), np.array([0.0, 3, 0, 1, 0])
    found, expected = (one_list(scores, labels, depth=depth) for depth in (TO_THE_LOWEST, 2))
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    assert np.isnan(one_list(scores, [0.0, 3, 0, 3, 0], depth=TO_THE_LOWEST)[0])


def test_scores_a_thousand_apart_are_exact():
    loss, gradient = one_list([1000, 0, -1000], [0, 1, 2])
    assert loss == pytest.approx(3000, abs=1e-12)
    np.testing.assert_allclose(gradient, [2, -1, -1], atol=1e-12)


def test_the_average_over_shuffles_tends_to_the_average_over_consistent_orders():
    scores, labels = np.array([0.3, -1, 2, 0.5, 1]), np.array([1.0, 1, 0, 0, 1])
    expected = np.mean([-log_probability(scores, order) for order in consistent_orders(labels)])
    loss, _ = one_list(scores, labels, permutations=20_000)
    assert loss == pytest.approx(expected, abs=0.01)


def test_lists_that_order_nothing_give_nothing():
    for labels in ([], [1], [2, 2, 2], [np.nan, np.nan], [np.nan, 1]):
        loss, gradient = one_list(np.arange(len(labels)), labels)
        assert loss == 0
        assert not gradient.any()


def test_threads_and_batches_change_nothing():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 200, 300)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores, labels = rng.normal(size=offsets[-1]), rng.integers(0, 3, offsets[-1]).astype(float)
    whole = [ordered_likelihood(Lists(scores, labels, offsets, draw=Draw(4, 2), n_jobs=jobs)) for jobs in (1, 3)]
    np.testing.assert_array_equal(whole[0][0], whole[1][0])
    np.testing.assert_array_equal(whole[0][1], whole[1][1])
    rows = slice(offsets[100], offsets[200])
    some = scores[rows], labels[rows], offsets[100:201] - offsets[100]
    part = ordered_likelihood(Lists(*some, draw=Draw(4, 2, np.arange(100, 200))))
    np.testing.assert_array_equal(part[0], whole[0][0][100:200])
    np.testing.assert_array_equal(part[1], whole[0][1][rows])


def test_a_depth_may_go_on_to_the_end_of_a_grade():
    """Grades of 1, 3 and 4 items: a depth inside a grade then counts all of it."""
    scores, labels = np.random.default_rng(0).normal(size=8), np.array([0, 1, 0, 2, 1, 0, 1, 0.0])
    for depth, places in ((1, 1), (2, 4), (3, 4), (4, 4), (5, 8), (99, 8)):
        whole = one_list(scores, labels, depth=depth, whole_grades=True, permutations=2)
        exact = one_list(scores, labels, depth=places, permutations=2)
        assert whole[0] == exact[0]
        np.testing.assert_array_equal(whole[1], exact[1])
