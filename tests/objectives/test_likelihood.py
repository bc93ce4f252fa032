"""Likelihood objectives against the examples and relations of the papers."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln, softmax

from luce.errors import DataError, OptionError
from luce.lists import Lists
from luce.metrics import measure
from luce.objectives import objective
from luce.objectives.log_prob import log_prob

from .made import DRAW, ragged, without_ties


def loss(name, scores, labels, **options):
    return objective(name, **options).value_and_gradient(scores, labels).loss[0]


def test_the_example_of_2014():
    """f₁ errs at the top and f₂ at the bottom: ListMLE prefers f₁, and only a steep α turns that round."""
    labels, f1, f2 = [5.0, 4, 3, 2, 1], np.log([4, 5, 3, 2, 1.0]), np.log([5, 4, 1, 2, 3.0])
    ndcg = [measure(f, labels, [0, 5], "ndcg")["ndcg"][0] for f in (f1, f2)]
    assert ndcg == pytest.approx([0.871, 0.985], abs=5e-4)
    assert loss("listmle", f1, labels) < loss("listmle", f2, labels)
    papers = [15 * loss("p-listmle", f, labels) for f in (f1, f2)]  # ours is a ratio to α(1) = 15
    assert papers == pytest.approx([27.83, 29.18], abs=0.005)
    assert loss("p-listmle", f1, labels, alpha=steep) > loss("p-listmle", f2, labels, alpha=steep)


def test_the_example_of_2019():
    """Section 3.2: four documents in their order, depth 2; L' as printed, L'' from it by the diagonal."""
    s = np.array([0.3, -0.2, 0.8, 0.1])
    evaluation = objective("listmle", depth=2).value_and_gradient(s, [3, 2, 1, 0], hessian=True)
    first, second = softmax(s), np.append(0, softmax(s[1:]))
    response = np.array([1, 1, 0, 0]) - first - second
    np.testing.assert_allclose(-evaluation.gradient, response, atol=1e-14)
    np.testing.assert_allclose(evaluation.hessian, first * (1 - first) + second * (1 - second), atol=1e-14)


def steep(n):
    """4^(n−j) − 1, relative to the first place so that no list is too long."""
    weights = 4.0 ** -np.arange(n) - 4.0 ** (1 - n)
    return weights / weights[0]


def test_place_weights_by_name_or_number():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=6), np.arange(6.0)
    places = np.arange(1, 7)
    for name, alpha in {"dcg": 1 / np.log2(1 + places), 1: 1 / places, 0.5: places**-0.5}.items():
        given = loss("p-listmle", scores, labels, alpha=alpha)
        assert loss("p-listmle", scores, labels, alpha=name) == pytest.approx(given, rel=1e-14)
    for ones in (np.ones(6), 0, np.ones):
        assert loss("p-listmle", scores, labels, alpha=ones) == pytest.approx(loss("listmle", scores, labels))
    assert loss("p-listmle", [1.0], [2.0]) == 0
    for wrong in ("steep", [], [-1.0], [[1.0]], [np.nan], -1, True):
        with pytest.raises(OptionError, match="'alpha' option of p-listmle"):
            objective("p-listmle", alpha=wrong)


def test_place_weights_as_a_function_of_the_length():
    """Each ragged list has the weights of its own number of observed items, also where leaves are summed."""
    scores, labels, offsets = without_ties("p-listmle")
    chosen = objective("p-listmle", alpha=steep)
    found = chosen.value_and_gradient(scores, labels, offsets, hessian=True)
    for q, (a, b) in enumerate(pairwise(offsets)):
        n = int(np.sum(~np.isnan(labels[a:b])))
        row = steep(n) if n > 1 else [1.0]
        alone = objective("p-listmle", alpha=row).value_and_gradient(scores[a:b], labels[a:b], hessian=True)
        assert found.loss[q] == pytest.approx(alone.loss[0], rel=1e-14)
        np.testing.assert_allclose(found.gradient[a:b], alone.gradient, atol=1e-15)
    lists, leaves = Lists(scores, labels, offsets), np.arange(len(scores), dtype=np.int32)
    np.testing.assert_allclose(chosen.leaf_sums(lists, leaves, len(scores), None, **chosen.options)[1], found.hessian)
    long = np.random.default_rng(0).normal(size=5000)
    assert np.isfinite(loss("p-listmle", long, np.arange(5000.0), alpha=steep))
    assert str(chosen) == "p-listmle(alpha=steep)"
    assert pickle.loads(pickle.dumps(chosen)).options["alpha"] is steep


@pytest.mark.parametrize("alpha", ["dcg", 0.7, [1.0, 0.5, 0.1], steep])
def test_the_gradient_of_any_place_weights_is_the_finite_difference(alpha):
    scores, labels, offsets = ragged("p-listmle")
    weights = np.random.default_rng(1).uniform(0, 2, len(scores))
    chosen = objective("p-listmle", alpha=alpha, permutations=3)

    def evaluate(moved):
        return chosen.value_and_gradient(moved, labels, offsets, item_weights=weights, draw=DRAW, hessian=True)

    found = evaluate(scores)
    for i, step in enumerate(1e-5 * np.eye(len(scores))):
        above, below = evaluate(scores + step), evaluate(scores - step)
        assert found.gradient[i] == pytest.approx((above.loss - below.loss).sum() / 2e-5, abs=1e-8)
        assert found.hessian[i] == pytest.approx((above.gradient - below.gradient)[i] / 2e-5, abs=1e-8)


@pytest.mark.parametrize("wrong", [lambda n: np.ones(n - 1), lambda n: [-1.0] * n, lambda n: [np.inf] * n])
def test_a_function_that_returns_no_weights_is_named(wrong):
    with pytest.raises(OptionError, match="must return 12 finite weights ≥ 0 for a list of 12 items"):
        loss("p-listmle", np.zeros(12), np.arange(12.0), alpha=wrong)


def test_relations_of_the_partition_family():
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=9), np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0])
    bound = loss("pl-lb", scores, labels)
    assert bound > loss("pl-partition", scores, labels)
    assert 3 * loss("attrank", scores, labels) == pytest.approx(bound + gammaln(4), abs=1e-12)
    strict = rng.permutation(9).astype(float)
    for name in ("pl-partition", "pl-lb", "pl-topk"):
        assert loss(name, scores, strict) == pytest.approx(loss("listmle", scores, strict), abs=1e-10)


def test_the_partition_is_the_sum_over_the_orders_of_the_top():
    from itertools import permutations

    scores = np.array([0.2, -1.0, 0.7, 0.0, 1.5])
    total = sum(np.exp(-loss("pl-topk", scores, [*order, 0, 0])) for order in permutations((1.0, 2.0, 3.0)))
    assert -np.log(total) == pytest.approx(loss("pl-partition", scores, [1, 1, 1, 0, 0]), abs=1e-10)


def test_a_tie_at_the_top_is_named():
    with pytest.raises(DataError, match="list 2 has equal labels there"):
        objective("pl-topk").value_and_gradient(np.zeros(5), [1, 0, 2, 2, 0], [0, 2, 5])


def test_a_tie_across_the_depth_has_no_single_order():
    np.testing.assert_allclose(log_prob(np.zeros(3), [2, 1, 1], model="listmle", depth=1), -np.log(3))
    with pytest.raises(DataError, match="List 1 has equal labels"):
        log_prob(np.zeros(3), [2, 2, 1], model="listmle", depth=1)


def test_tolerance_buys_digits():
    scores, labels = np.random.default_rng(0).normal(size=60), np.repeat([1.0, 0.0], 30)
    exact = loss("pl-partition", scores, labels, tol=1e-14)
    assert abs(loss("pl-partition", scores, labels, tol=1e-4) - exact) < 1e-4
    assert abs(loss("pl-partition", scores, labels, tol=1e-12) - exact) < 1e-12 * 60
