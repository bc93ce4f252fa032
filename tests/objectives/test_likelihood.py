"""Likelihood objectives against the examples and relations of the papers."""

import numpy as np
import pytest
from scipy.special import gammaln, softmax

from luce.errors import DataError, OptionError
from luce.metrics import measure
from luce.objectives import objective
from luce.objectives.log_prob import log_prob


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
    steep = 4.0 ** np.arange(4, -1, -1) - 1
    assert loss("p-listmle", f1, labels, alpha=steep) > loss("p-listmle", f2, labels, alpha=steep)


def test_the_example_of_2019():
    """Section 3.2: four documents in their order, depth 2; L' as printed, L'' from it by the diagonal."""
    s = np.array([0.3, -0.2, 0.8, 0.1])
    evaluation = objective("listmle", depth=2).value_and_gradient(s, [3, 2, 1, 0], hessian=True)
    first, second = softmax(s), np.append(0, softmax(s[1:]))
    response = np.array([1, 1, 0, 0]) - first - second
    np.testing.assert_allclose(-evaluation.gradient, response, atol=1e-14)
    np.testing.assert_allclose(evaluation.hessian, first * (1 - first) + second * (1 - second), atol=1e-14)


def test_place_weights_by_name():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=6), np.arange(6.0)
    places = np.arange(1, 7)
    for name, alpha in {"dcg": 1 / np.log2(1 + places), "reciprocal": 1 / places}.items():
        assert loss("p-listmle", scores, labels, alpha=name) == loss("p-listmle", scores, labels, alpha=alpha)
    assert loss("p-listmle", scores, labels, alpha=np.ones(6)) == pytest.approx(loss("listmle", scores, labels))
    assert loss("p-listmle", [1.0], [2.0]) == 0
    for wrong in ("steep", [], [-1.0], [[1.0]], [np.nan]):
        with pytest.raises(OptionError, match="'alpha' option of p-listmle"):
            objective("p-listmle", alpha=wrong)


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
