"""Leaf sums against brute force, finite differences and extreme scores."""

from itertools import pairwise

import numpy as np
import pytest

from luce.kernels import leaf_sums
from luce.kernels import ordered_likelihood as orders
from luce.kernels import partition_likelihood as partitions
from luce.kernels.label_order import sort_by_label
from luce.kernels.leaf_sums import reference
from luce.kernels.ordered_likelihood import ALL, TO_THE_LOWEST, Order
from luce.kernels.ordered_likelihood.reference import halving
from luce.lists import Lists
from luce.randomness import Draw

STEP = 1e-3
GIVEN = ("item_weights", "draw", "hessian", "n_jobs")


def lists_and_settings(scores, labels, offsets, settings):
    given = {name: settings.pop(name) for name in GIVEN if name in settings}
    return Lists(scores, labels, offsets, **given), settings


def ordered_leaf_sums(scores, labels, offsets, leaves, n_leaves, list_weights=None, **settings):
    lists, order = lists_and_settings(scores, labels, offsets, settings)
    return leaf_sums.ordered_leaf_sums(lists, leaves, n_leaves, list_weights, Order(**order))


def partition_leaf_sums(scores, labels, offsets, leaves, n_leaves, list_weights=None, **settings):
    lists, more = lists_and_settings(scores, labels, offsets, settings)
    return leaf_sums.partition_leaf_sums(lists, leaves, n_leaves, list_weights, **more)


def ordered_likelihood(scores, labels, offsets, **settings):
    lists, order = lists_and_settings(scores, labels, offsets, settings)
    return orders.ordered_likelihood(lists, Order(**order))[:3]


def partition_likelihood(scores, labels, offsets, **settings):
    lists, more = lists_and_settings(scores, labels, offsets, settings)
    return partitions.partition_likelihood(lists, **more)[:3]


def made(n_lists, seed, spread=2.0, grades=5, n_leaves=7, longest=30):
    """Lists of many lengths, some labels missing: scores, labels, offsets, leaves."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest, n_lists))])
    n = int(offsets[-1])
    labels = rng.integers(0, grades, n).astype(float)
    labels[rng.random(n) < 0.1] = np.nan
    return rng.uniform(-spread, spread, n), labels, offsets, rng.integers(0, n_leaves, n).astype(np.int32)


def strict(labels):
    """Labels without ties, in the same order otherwise."""
    return labels + np.arange(len(labels)) * 1e-6


@pytest.mark.parametrize("depth", [ALL, 1, 3, 50])
@pytest.mark.parametrize("spread", [0.1, 3, 140, 1000, 1e4])
@pytest.mark.parametrize("places", ["equal", "given", "halving"])
def test_ordered_sums_equal_brute_force(depth, spread, places):
    scores, labels, offsets, leaves = made(20, 1, spread)
    labels = strict(labels)
    rng = np.random.default_rng(2)
    items, lists = rng.uniform(0, 3, len(scores)), rng.uniform(0, 2, 20)
    alpha = rng.uniform(0, 1, 35)
    alpha[4] = 0
    settings = {"equal": {}, "given": {"place_weights": alpha}, "halving": {"halving": True}}[places]
    expected = np.zeros((2, 7))
    for q in range(20):
        rows = slice(offsets[q], offsets[q + 1])
        order = [i for i in np.argsort(-labels[rows]) if not np.isnan(labels[rows][i])]
        if len(order) < 2:
            continue
        weights = {"equal": None, "given": alpha, "halving": halving(len(order))}[places]
        expected += lists[q] * reference.ordered_leaf_sums(
            scores[rows], order, leaves[rows], 7, min(depth, 99), items[rows], weights
        )
    found = ordered_leaf_sums(
        scores, labels, offsets, leaves, 7, depth=depth, item_weights=items, list_weights=lists, **settings
    )
    # Beyond one scale logarithms of the size of the scores are added, which keep fewer digits.
    error = 1e-12 if spread < 150 else 1e-13 * spread
    np.testing.assert_allclose(found, expected, rtol=error, atol=error)


@pytest.mark.parametrize("spread", [2.0, 400.0])
@pytest.mark.parametrize("settings", [{}, {"depth": 4}, {"depth": 4, "whole_grades": True}, {"depth": TO_THE_LOWEST}])
def test_one_leaf_moves_as_the_likelihood_bends(spread, settings):
    """The second derivative along each leaf by differences of the gradient, ties shuffled by the same draws."""
    scores, labels, offsets, leaves = made(6, 3, spread, grades=3)
    if settings.get("depth") == TO_THE_LOWEST:
        labels = np.where(np.arange(len(labels)) % 4, 0.0, strict(labels))
    extra = {} if settings.get("depth") == TO_THE_LOWEST else {"permutations": 3, "draw": Draw(5, 2)}
    found = ordered_leaf_sums(scores, labels, offsets, leaves, 7, **settings, **extra)[1]

    def slope(u, step):
        _, gradient, _ = ordered_likelihood(scores + step * (leaves == u), labels, offsets, **settings, **extra)
        return gradient[leaves == u].sum()

    for u in range(7):
        near, far = ((slope(u, k * STEP) - slope(u, -k * STEP)) / k for k in (1, 2))
        assert found[u] == pytest.approx((4 * near - far) / (6 * STEP), abs=1e-7)


@pytest.mark.parametrize("spread", [0.1, 3, 30])
@pytest.mark.parametrize("grades", [2, 5, 1000])
def test_partition_sums_equal_the_whole_matrix(spread, grades):
    scores, labels, offsets, leaves = made(12, 4, spread, grades, n_leaves=5, longest=14)
    lists = np.random.default_rng(0).uniform(0, 2, 12)
    expected = np.zeros(5)
    for q in range(12):
        rows = slice(offsets[q], offsets[q + 1])
        matrix = reference.partition_hessian(scores[rows], labels[rows])
        for u in range(5):
            along = (leaves[rows] == u).astype(float)
            expected[u] += lists[q] * along @ matrix @ along
    found = partition_leaf_sums(scores, labels, offsets, leaves, 5, tol=1e-14, list_weights=lists)
    np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=2e-12)
    coarse = partition_leaf_sums(scores, labels, offsets, leaves, 5, list_weights=lists)
    np.testing.assert_allclose(coarse[1], expected, atol=1e-7)


@pytest.mark.parametrize("spread", [300.0, 1e4])
def test_partition_sums_of_scores_far_apart(spread):
    scores, labels, offsets, leaves = made(8, 5, spread, 4)
    labels[offsets[3]] = labels[offsets[3] + 1] = 3
    scores[offsets[3] : offsets[4]] = 1e4  # one list all of one score
    found = partition_leaf_sums(scores, labels, offsets, leaves, 7)

    def slope(u, step):
        moved = scores + step * (leaves == u)
        return partition_likelihood(moved, labels, offsets, tol=1e-13)[1][leaves == u].sum()

    for u in range(7):
        near, far = ((slope(u, k * STEP) - slope(u, -k * STEP)) / k for k in (1, 2))
        assert found[1, u] == pytest.approx((4 * near - far) / (6 * STEP), abs=1e-6)


@pytest.mark.parametrize("sums", [ordered_leaf_sums, partition_leaf_sums])
def test_one_leaf_each_is_the_diagonal_and_one_leaf_for_all_is_flat(sums):
    scores, labels, offsets, _ = made(9, 6)
    likelihood = ordered_likelihood if sums is ordered_leaf_sums else partition_likelihood
    _, gradient, second = likelihood(scores, labels, offsets, hessian=True)
    each = sums(scores, labels, offsets, np.arange(len(scores), dtype=np.int32), len(scores))
    np.testing.assert_allclose(each[1], second, atol=1e-8)
    pulled = np.abs(gradient)
    assert (each[0] >= pulled - 1 - 1e-9).all()
    everything = sums(scores, labels, offsets, np.zeros(len(scores), dtype=np.int32), 1)
    assert abs(everything[1, 0]) < 1e-9 * everything[0, 0]


@pytest.mark.parametrize("sums", [ordered_leaf_sums, partition_leaf_sums])
def test_no_bit_depends_on_threads_or_on_other_leaves(sums):
    lists = made(1500, 7, longest=50)
    assert len(lists[0]) > 3 * 8192
    one = sums(*lists, 7, n_jobs=1)
    np.testing.assert_array_equal(sums(*lists, 7, n_jobs=2), one)
    np.testing.assert_array_equal(sums(*lists, 7, n_jobs=5), one)
    np.testing.assert_array_equal(sums(*lists, 300, n_jobs=2)[:, :7], one)
    assert not sums(*lists, 300, n_jobs=2)[:, 7:].any()


@pytest.mark.parametrize("sums", [ordered_leaf_sums, partition_leaf_sums])
def test_lists_that_say_nothing(sums):
    labels = np.array([2.0, 2, 1, np.nan, np.nan, 0])
    offsets = np.array([0, 0, 2, 3, 6])
    assert not sums(np.arange(6.0), labels, offsets, np.zeros(6, dtype=np.int32), 1).any()
    two = np.array([1.0, 0]), np.array([1.0, 0]), np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    assert not sums(*two, 2, list_weights=np.zeros(1)).any()
    p = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(sums(*two, 2)[1], p * (1 - p), rtol=1e-12)


def test_the_order_is_that_of_the_likelihood():
    """Ties are shuffled as for the gradient: Σ_C p of each leaf is what its items were chosen, less the gradient."""
    scores, labels, offsets, leaves = made(30, 8, grades=2)
    settings = {"depth": 5, "permutations": 2, "draw": Draw(3, 9)}
    _, gradient, _ = ordered_likelihood(scores, labels, offsets, **settings)
    pulled = ordered_leaf_sums(scores, labels, offsets, leaves, 7, **settings)[0]
    order = np.empty(30, np.int64)
    top = sum(
        min(5, sort_by_label(labels, a, b, order))
        for a, b in pairwise(offsets)
        if len(set(labels[a:b][~np.isnan(labels[a:b])])) > 1
    )
    assert pulled.sum() == pytest.approx(top)
    chosen = pulled - np.bincount(leaves, gradient, 7)
    np.testing.assert_allclose(chosen * 2, np.round(chosen * 2), atol=1e-9)
