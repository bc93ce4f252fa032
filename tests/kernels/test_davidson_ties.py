"""Davidson-Luce ties against every subset, closed forms, logarithms throughout, extreme scores and draws."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import comb, logsumexp
from scipy.stats import chi2

from luce.kernels.davidson_ties import (
    TiedRankings,
    davidson_hessian,
    davidson_product,
    davidson_ties,
    draw_tied_rankings,
    reference,
)
from luce.kernels.enumeration import ordered_partitions
from luce.kernels.subset_choice.reference import log_symmetric


def one(places, orders, open_end=False):
    return TiedRankings(np.asarray(places), np.array([0, len(places)]), np.array([open_end]), np.asarray(orders))


@pytest.mark.parametrize("spread", [0, 0.5, 5, 100, 3_000])
def test_equals_the_sum_over_subsets(spread):
    rng = np.random.default_rng(int(spread))
    for _ in range(25):
        n = int(rng.integers(2, 10))
        places = np.sort(np.unique(rng.integers(0, 4, n), return_inverse=True)[1])
        orders = np.unique(np.concatenate([np.bincount(places), [1, 3]]))
        open_end = bool(rng.random() < 0.4 and places.max() > 0)
        scores, log_delta = rng.normal(0, spread, n), rng.normal(0, 1, len(orders))
        scores[: n // 2] = scores[0]  # equal odds have a rule of their own
        value, gradient, hessian = reference.davidson_ties(scores, places, open_end, orders, log_delta)
        rankings = one(places, orders, open_end)
        log_p, rows, slopes = davidson_ties(rankings, scores, log_delta)
        assert log_p[0] == pytest.approx(value, rel=1e-13, abs=1e-12)
        np.testing.assert_allclose(np.concatenate([rows, slopes[0]]), gradient, atol=1e-12)
        ours = davidson_hessian(rankings, np.arange(n), np.ones(1), scores, log_delta, n)
        np.testing.assert_allclose(ours, hessian, atol=1e-11)
        direction = rng.normal(size=n + len(orders))
        product = davidson_product(rankings, np.ones(1), scores, log_delta, direction[:n], direction[n:])
        np.testing.assert_allclose(np.concatenate(product), hessian @ direction, atol=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_probabilities_of_all_ordered_partitions_sum_to_one(n):
    rng = np.random.default_rng(n)
    scores, log_delta, orders = rng.normal(0, 2, n), rng.normal(0, 1, n), np.arange(1, n + 1)
    total = 0.0
    for labels in ordered_partitions(n):
        order = np.argsort(labels, kind="stable")
        total += np.exp(davidson_ties(one(np.array(labels)[order], orders), scores[order], log_delta)[0][0])
    assert total == pytest.approx(1, abs=1e-12)


def test_sixty_items_in_logarithms():
    rng = np.random.default_rng(0)
    orders, log_delta = np.arange(1, 31), rng.normal(0, 1, 30)
    places = np.repeat([0, 1, 2, 3], [30, 7, 1, 22])
    for spread in (1, 30, 1e4):
        scores = rng.normal(0, spread, 60)
        expected = 0.0
        for place, (begin, end) in enumerate([(0, 30), (30, 37), (37, 38), (38, 60)]):
            left = scores[begin:]
            sizes = [log_delta[t - 1] + log_symmetric(left / t, t) for t in orders if t <= len(left)]
            expected += log_delta[end - begin - 1] + scores[begin:end].mean() - logsumexp(sizes)
            assert place < 4
        log_p, rows, _ = davidson_ties(one(places, orders), scores, log_delta)
        assert log_p[0] == pytest.approx(expected, rel=1e-12)
        direction = rng.normal(size=60)
        above, below = (davidson_ties(one(places, orders), scores + h * direction, log_delta)[0] for h in (1e-5, -1e-5))
        assert rows @ direction == pytest.approx((above - below)[0] / 2e-5, rel=1e-6, abs=1e-5)


def test_equal_scores_have_a_closed_form():
    places, orders = np.repeat([0, 1], [40, 160]), np.array([1, 40, 160])
    log_p, rows, _ = davidson_ties(one(places, orders, open_end=True), np.full(200, 3.0), np.zeros(3))
    assert log_p[0] == pytest.approx(-logsumexp(np.log(comb(200, orders))), rel=1e-12)
    np.testing.assert_allclose(rows, np.repeat([1 / 40 - 1 / 200, -1 / 200], [40, 160]), atol=1e-14)


def test_rankings_are_weighted_and_summed_by_item():
    rng = np.random.default_rng(2)
    items, weights = np.array([0, 1, 2, 2, 1, 0, 1]), np.array([1.5, 0.5])
    rankings = TiedRankings(np.array([0, 0, 1, 0, 1, 1, 2]), np.array([0, 3, 7]), np.zeros(2, bool), np.array([1, 2]))
    scores, log_delta = rng.normal(size=3)[items], np.array([0.0, 0.4])
    total = np.zeros((5, 5))
    for q, (a, b) in enumerate([(0, 3), (3, 7)]):
        places = rankings.places[a:b]
        own = reference.davidson_ties(scores[a:b], places, False, [1, 2], log_delta)[2]
        where = np.concatenate([items[a:b], [3, 4]])
        np.add.at(total, (where[:, None], where), weights[q] * own)
    np.testing.assert_allclose(davidson_hessian(rankings, items, weights, scores, log_delta, 3), total, atol=1e-12)


def test_a_tie_of_an_order_that_cannot_be_has_probability_zero():
    assert davidson_ties(one([0, 0, 1], [1, 3]), np.zeros(3), np.zeros(2))[0][0] == -np.inf


def test_draws_have_the_probabilities():
    scores, orders, log_delta = np.array([0.5, 0, -1, 0.8]), np.array([1, 2, 3]), np.array([0, 0.3, -0.2])
    count = 20_000
    rows = np.arange(count + 1) * 4, np.tile(np.arange(4), count), np.tile(scores, count)
    items, places, is_open = draw_tied_rankings(*rows, orders, log_delta, np.full(count, 4), seed=3)
    assert not is_open.any()
    found = np.empty((count, 4), int)
    np.put_along_axis(found, items.reshape(count, 4), places.reshape(count, 4), axis=1)
    seen, statistic, outcomes = Counter(map(tuple, found.tolist())), 0.0, 0
    for labels in ordered_partitions(4):
        if np.bincount(labels).max() <= 3:
            order = np.argsort(labels, kind="stable")
            log_p = reference.davidson_ties(scores[order], np.array(labels)[order], False, orders, log_delta)[0]
            expected = count * np.exp(log_p)
            statistic += (seen.pop(labels, 0) - expected) ** 2 / expected
            outcomes += 1
    assert not seen
    assert chi2.sf(statistic, outcomes - 1) > 1e-4


def test_draws_stop_after_so_many_levels_and_repeat():
    rows = np.array([0, 5]), np.arange(5), np.array([9.0, 6, 3, 0, -3])
    given = *rows, np.array([1]), np.zeros(1), np.array([2])
    items, places, is_open = draw_tied_rankings(*given, seed=1)
    assert places.tolist() == [0, 1, 2, 2, 2]
    assert is_open.tolist() == [True]
    assert sorted(items.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(draw_tied_rankings(*given, seed=1)[0], items)
