"""Several orders of equal labels against the mean of single ones, each computed term by term."""

import numpy as np
import pytest

from luce.kernels.label_order import sort_into_sets, sorting_space
from luce.kernels.leaf_sums import ordered_leaf_sums
from luce.kernels.leaf_sums import reference as leaf_reference
from luce.kernels.ordered_likelihood import ALL, Order, ordered_likelihood, reference
from luce.kernels.ordered_likelihood.cpu import places_that_count
from luce.kernels.shuffles import shuffle_ties, shuffling_space
from luce.lists import Lists
from luce.randomness import Draw

LEAVES = 5
DRAW = Draw(3, 7)
GRADES = {  # how many items have each grade, the highest first
    "two tied above": (2, 1, 1, 1, 1, 1),
    "two tied amid": (1, 1, 2, 1, 1, 1),
    "two tied below": (1, 1, 1, 1, 1, 2),
    "tied twice": (1, 3, 1, 4, 1, 1),
    "few and many": (3, 14),
    "one and many": (1, 20),
}


def orders_of(labels, deep, number, permutations):
    """The orders that are drawn, one after the other, and how many places of each count."""
    order, ends = np.empty(len(labels), np.uint32), np.empty(len(labels), np.uint32)
    sets = sort_into_sets(labels, 0, len(labels), order, ends, sorting_space(len(labels)))
    deep = places_that_count(ends, sets, *deep, False)
    for sample in range(permutations):
        shuffle_ties(order, ends, sets, deep, DRAW.seed, DRAW.step, number, sample, shuffling_space(len(labels)))
        yield order.tolist(), deep


def made(spread):
    """A list of each kind, in random order: scores, labels, offsets, leaves."""
    rng = np.random.default_rng(0)
    labels = [rng.permutation(np.repeat(np.arange(len(sizes))[::-1], sizes)) for sizes in GRADES.values()]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in labels])])
    scores = rng.uniform(-spread, spread, offsets[-1])
    return scores, np.concatenate(labels).astype(float), offsets, rng.integers(0, LEAVES, offsets[-1]).astype(np.int32)


@pytest.mark.parametrize("permutations", [2, 7])
@pytest.mark.parametrize("depth", [(1, False), (4, False), (4, True), (10, False), (ALL, False)])
@pytest.mark.parametrize("spread", [0.5, 3, 10, 140, 1000])
@pytest.mark.parametrize("weights", ["none", "items", "places", "halving"])
def test_the_mean_of_orders(permutations, depth, spread, weights):
    """Scores near each other, so that draws leave much; far apart, so that they leave little; and beyond one scale."""
    scores, labels, offsets, leaves = made(spread)
    rng = np.random.default_rng(1)
    items = rng.uniform(0, 3, len(scores)) if weights in ("items", "halving") else None
    alpha = {"places": {"place_weights": rng.uniform(0, 1, 9)}, "halving": {"halving": True}}.get(weights, {})
    lists = Lists(scores, labels, offsets, items, draw=DRAW, hessian=True, n_jobs=1)
    order = Order(*depth, permutations, **alpha)
    loss, gradient, second = np.zeros(len(GRADES)), np.zeros(len(scores)), np.zeros(len(scores))
    sums, list_weights = np.zeros((2, LEAVES)), rng.uniform(0, 2, len(GRADES))
    for q in range(len(GRADES)):
        rows = slice(offsets[q], offsets[q + 1])
        n, own = offsets[q + 1] - offsets[q], None if items is None else items[rows]
        given = {"places": np.pad(alpha.get("place_weights", []), (0, 30)), "halving": reference.halving(n)}.get(
            weights
        )
        for each, deep in orders_of(labels[rows], depth, q, permutations):
            single = reference.ordered_likelihood(scores[rows], each, deep, own, given)
            loss[q] += single[0] / permutations
            gradient[rows] += single[1] / permutations
            second[rows] += single[2] / permutations
            one = leaf_reference.ordered_leaf_sums(scores[rows], each, leaves[rows], LEAVES, deep, own, given)
            sums += list_weights[q] * one / permutations
    error = 1e-12 if spread < 150 else 1e-13 * spread
    found = ordered_likelihood(lists, order)
    np.testing.assert_allclose(found.loss, loss, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.hessian, second, rtol=1e-12, atol=1e-12)
    of_leaves = ordered_leaf_sums(lists, leaves, LEAVES, list_weights, order)
    np.testing.assert_allclose(of_leaves, sums, rtol=4 * error, atol=4 * error)


@pytest.mark.parametrize("spread", [3, 1000])
@pytest.mark.parametrize("depth", [3, ALL])
def test_without_ties_that_count_one_order_stands_for_all(spread, depth):
    """To the last bit: nothing is added up and divided. In one of the lists, ties begin below the third place."""
    rng = np.random.default_rng(2)
    below = rng.permutation([9, 8, 7] + [0] * 9) if depth == 3 else []
    labels = np.concatenate([rng.permutation(12), below]).astype(float)
    offsets, scores = np.arange(0, len(labels) + 1, 12), rng.uniform(-spread, spread, len(labels))
    lists = Lists(scores, labels, offsets, draw=DRAW, hessian=True, n_jobs=1)
    leaves = np.arange(len(labels), dtype=np.int32)
    one, many = (ordered_likelihood(lists, Order(depth, permutations=n)) for n in (1, 21))
    for each, other in zip(one[:3], many[:3], strict=True):
        np.testing.assert_array_equal(each, other)
    one, many = (ordered_leaf_sums(lists, leaves, len(labels), order=Order(depth, permutations=n)) for n in (1, 21))
    np.testing.assert_array_equal(one, many)
