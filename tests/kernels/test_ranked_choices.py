"""Sums over chains of choices against the softmax of every choice, with pools, weights and open ends."""

import numpy as np
import pytest

from luce.kernels.ranked_choices import (
    FAR_APART,
    Choices,
    choice_diagonal,
    choice_hessian,
    choice_product,
    choice_sums,
    choice_wins,
    gathered_hessian,
    pool_rests,
    reference,
    spread_over_rests,
)
from luce.threads import SMALL


def made(n_items=8, n_rankings=60, pools=True, seed=0, weights=True):
    """Rankings of every kind: whole, with an open end, or with one of three pools below them."""
    rng = np.random.default_rng(seed)
    sets = [np.arange(n_items), np.arange(0, n_items, 2), np.arange(3)] if pools else []
    items, sizes, depth, pool = [], [], [], []
    for _ in range(n_rankings):
        p = int(rng.integers(-1, len(sets)))
        source = sets[p] if p >= 0 else np.arange(n_items)
        k = int(rng.integers(1 if p >= 0 else 2, min(6, len(source) - (p >= 0)) + 1))
        items.append(rng.choice(source, k, replace=False))
        sizes.append(k)
        depth.append(k if p >= 0 else int(rng.integers(1, k)))
        pool.append(p)
    return Choices(
        np.concatenate(items),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array(depth),
        rng.random(n_rankings) + 0.1 if weights else np.ones(n_rankings),
        np.array(pool),
        np.concatenate([np.empty(0, np.int64), *sets]),
        np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64),
        n_items,
    )


@pytest.mark.parametrize("pools", [False, True])
@pytest.mark.parametrize("spread", [0, 0.5, 3, 8])
def test_equal_their_twin(pools, spread):
    choices = made(pools=pools, seed=spread > 1)
    rng = np.random.default_rng(1)
    scores, direction = rng.normal(0, spread, 8) + 5, rng.normal(size=8)
    value, expected, hessian = reference.choice_sums(choices, scores)
    ours, wins = choice_sums(choices, scores)
    assert ours == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(wins, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(choice_product(choices, scores, wins, direction), hessian @ direction, atol=1e-10)
    np.testing.assert_allclose(choice_hessian(choices, scores, wins), hessian, atol=1e-7)
    if spread < 5:
        np.testing.assert_allclose(choice_diagonal(choices, scores, wins), np.diag(hessian), atol=1e-8)


def test_items_of_one_group_share_a_score():
    choices, scores = made(pools=False), np.random.default_rng(0).normal(size=8)
    groups = np.array([2, 0, 1, 1, 4, 0, 2, 3])
    _, expected, hessian = reference.choice_sums(choices, scores)
    found = gathered_hessian(choices, scores, expected, groups, 5)
    np.testing.assert_allclose(found, np.eye(5)[groups].T @ hessian @ np.eye(5)[groups], atol=1e-12)


def test_a_pool_whose_items_are_nearly_all_of_its_worth():
    # The first item has all but e^−30 of the worth: what is left of the pool must not be a difference of ones.
    one = np.array([0, 1]), np.array([0, 2]), np.array([2]), np.ones(1), np.zeros(1, np.int64)
    choices = Choices(*one, np.arange(4), np.array([0, 4]), 4)
    scores = np.array([30.0, 0.3, 0.1, -0.2])
    value, expected, hessian = reference.choice_sums(choices, scores)
    ours, wins = choice_sums(choices, scores)
    assert ours == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(wins, expected, rtol=1e-12)
    assert np.ptp(scores) > FAR_APART
    np.testing.assert_allclose(choice_hessian(choices, scores, wins), hessian, atol=1e-13)
    np.testing.assert_allclose(pool_rests(choices, scores)[0], np.exp(scores[2:] - 30).sum(), rtol=1e-14)


def test_sums_of_a_pool_do_not_drown_the_item_that_is_mostly_named():
    # Most rankings name items 0 and 1; the rest of the pool then gets e^12 times as much, and item 0 nothing of it.
    count = 2_000
    named = [[0, 1] if q % 3 else [1, 2] for q in range(count)]
    rows = np.ravel(named), np.arange(count + 1) * 2, np.full(count, 2), np.random.default_rng(0).random(count) + 0.5
    choices = Choices(*rows, np.zeros(count, np.int64), np.arange(4), np.array([0, 4]), 4)
    scores = np.array([12.0, 0.0, 0.5, -0.3])
    np.testing.assert_allclose(
        choice_sums(choices, scores)[1], reference.choice_sums(choices, scores)[1], rtol=3e-13, atol=0
    )


def test_wins_count_the_chosen():
    rows = np.array([2, 0, 1, 1, 2, 0]), np.array([0, 3, 6]), np.array([2, 1]), np.array([1.0, 2.5])
    none = np.full(2, -1), np.empty(0, np.int64), np.zeros(1, np.int64)
    np.testing.assert_array_equal(choice_wins(Choices(*rows, *none, 4)), [1, 2.5, 1, 0])


def test_rests_shared_out_by_worth():
    choices = made(seed=3)
    rng = np.random.default_rng(0)
    scores, direction, amounts = rng.normal(size=8), rng.normal(size=8), rng.normal(size=60)
    rest, drift = pool_rests(choices, scores, direction)
    worth, total = np.exp(scores - scores.max()), np.zeros(8)
    for q in range(60):
        p = choices.pool[q]
        named = choices.items[choices.offsets[q] : choices.offsets[q + 1]]
        members = choices.pool_items[choices.pool_offsets[p] : choices.pool_offsets[p + 1]] if p >= 0 else []
        left = np.setdiff1d(members, named).astype(int)
        assert rest[q] == pytest.approx(worth[left].sum(), rel=1e-12)
        if len(left):
            assert drift[q] == pytest.approx(worth[left] @ direction[left] / worth[left].sum(), abs=1e-12)
            total[left] += amounts[q] * worth[left] / worth[left].sum()
    np.testing.assert_allclose(spread_over_rests(choices, scores, rest, amounts), total, atol=1e-12)


@pytest.mark.parametrize("weights", [False, True])
def test_threads_and_one_weight_change_nothing_but_rounding(weights):
    choices = made(n_items=40, n_rankings=4_000, pools=False, weights=weights)
    assert choices.offsets[-1] > SMALL
    scores, direction = np.random.default_rng(0).normal(0, 2, (2, 40))
    value, expected = choice_sums(choices, scores, n_jobs=1)
    assert value == pytest.approx(reference.choice_sums(choices, scores)[0], rel=1e-13)
    for jobs in (2, 3):
        ours = choice_sums(choices, scores, n_jobs=jobs)
        assert ours[0] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(ours[1], expected, rtol=1e-12)
        one, several = (choice_product(choices, scores, expected, direction, n_jobs=n) for n in (1, jobs))
        np.testing.assert_allclose(several, one, atol=1e-10)
