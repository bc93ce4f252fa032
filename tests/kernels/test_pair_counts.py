"""Counted comparisons against counting by hand, the formulas of the three models, and extreme scores."""

import numpy as np
import pytest

from luce.kernels.pair_counts import (
    OUTCOMES,
    count_pairs,
    pair_log_probabilities,
    pair_product,
    pair_sums,
    reference,
)

PARAMETER = {"bradley-terry": 0.0, "davidson": -0.4, "rao-kupper": 0.7}


def comparisons(n_items, count, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items, count)
    second = (first + rng.integers(1, n_items, count)) % n_items
    places = np.stack([np.zeros(count, np.int64), rng.random(count) < 0.7], axis=1).astype(np.int64)
    return np.stack([first, second], axis=1).ravel(), places.ravel(), rng.integers(1, 4, count).astype(float)


@pytest.mark.parametrize(("n_items", "count"), [(2, 1), (5, 200), (300, 100)])  # crowded, crowded, sparse
def test_counts(n_items, count):
    items, places, weights = comparisons(n_items, count)
    table = np.zeros((3, n_items, n_items))
    for q in range(count):
        a, b = items[2 * q : 2 * q + 2]
        if places[2 * q + 1] == 0:
            table[2, min(a, b), max(a, b)] += weights[q]
        elif a < b:
            table[0, a, b] += weights[q]
        else:
            table[1, b, a] += weights[q]
    counts = count_pairs(items, places, weights, n_items)
    first = np.repeat(np.arange(n_items), np.diff(counts.starts))
    seen = table.sum(axis=0) > 0
    np.testing.assert_array_equal(np.argwhere(seen), np.stack([first, counts.second], axis=1))
    for ours, theirs in zip((counts.wins, counts.losses, counts.ties), table, strict=True):
        np.testing.assert_array_equal(ours, theirs[seen])


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_sums_equal_their_twin(outcome):
    counts = count_pairs(*comparisons(5, 60), 5)
    if outcome == "bradley-terry":
        counts = counts._replace(ties=np.zeros(len(counts.ties)))
    scores, parameter = np.array([0.3, -1, 0.8, 2.0, 0]), PARAMETER[outcome]
    sums = pair_sums(counts, scores, outcome=outcome, parameter=parameter)
    assert sums.value == pytest.approx(reference.log_likelihood(counts, scores, outcome, parameter), rel=1e-13)
    gradient, second = reference.derivatives(counts, scores, outcome, parameter)
    np.testing.assert_allclose(sums.gradient, gradient[:5], atol=1e-6)
    matrix = np.stack([pair_product(counts, sums.curvature, unit) for unit in np.eye(5)], axis=1)
    np.testing.assert_allclose(matrix, second[:5, :5], atol=1e-4)
    np.testing.assert_allclose(sums.degree, np.diag(matrix), rtol=1e-12)
    if outcome != "bradley-terry":
        assert sums.derivative == pytest.approx(gradient[5], abs=1e-6)
        np.testing.assert_allclose(sums.border, second[:5, 5], atol=1e-4)
        assert sums.corner == pytest.approx(second[5, 5], abs=1e-4)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("gap", [0, 0.7, -40, 800, 1e4])
def test_probabilities_sum_to_one_however_far_apart(outcome, gap):
    counts = count_pairs(np.array([0, 1]), np.array([0, 1]), np.ones(1), 2)
    logs = pair_log_probabilities(counts, np.array([gap, 0.0]), outcome=outcome, parameter=PARAMETER[outcome])
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-13)
    if abs(gap) < 100:
        np.testing.assert_allclose(np.ravel(np.exp(logs)), reference.probabilities(gap, outcome, PARAMETER[outcome]))
    for shown in ("wins", "losses", "ties"):
        if shown == "ties" and outcome == "bradley-terry":
            continue
        one = counts._replace(**{name: np.array([float(name == shown)]) for name in ("wins", "losses", "ties")})
        sums = pair_sums(one, np.array([gap, 0.0]), outcome=outcome, parameter=PARAMETER[outcome])
        assert sums.value == pytest.approx(logs[("wins", "losses", "ties").index(shown)][0], rel=1e-12, abs=1e-300)
        assert np.isfinite(sums.gradient).all()
        assert sums.curvature[0] >= 0


def test_threads_change_nothing_but_rounding():
    items, places, weights = comparisons(400, 30_000)
    counts = count_pairs(items, places, weights, 400)
    scores = np.random.default_rng(1).normal(size=400)
    one, two = (pair_sums(counts, scores, outcome="davidson", parameter=0.2, n_jobs=n) for n in (1, 2))
    assert two.value == pytest.approx(one.value, rel=1e-13)
    np.testing.assert_allclose(two.gradient, one.gradient, atol=1e-11)
    np.testing.assert_allclose(two.border, one.border, atol=1e-11)
