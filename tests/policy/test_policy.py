"""Policies: what they sample has the chances they say, means are those over all rankings, bad input is named."""

from itertools import permutations

import numpy as np
import pytest

import luce
from luce.errors import DataError, OptionError
from luce.kernels.enumeration import log_probability
from luce.kernels.sampled_rankings import reference as rankings_reference
from luce.metrics import METRICS, measure
from luce.policy import Expectation, Policy

LISTS = Policy([2.0, 1, 0, -1, 0.5, 0, 3, -np.inf, 1], offsets=[0, 4, 4, 6, 9])
LABELS = np.array([0.0, 2, 1, 0, 1, 0, np.nan, 3, 1])
SUMS = [name for name, record in METRICS.items() if record.place_sum is not None]
NAMES = [f"{name}{cut}" for name in SUMS for cut in (["", "@1", "@3"] if METRICS[name].takes_cutoff else [""])]


def expected_by_enumeration(scores, labels, name, **options):
    """The mean of the metric over every ranking of the items that can be placed."""
    live = np.flatnonzero(scores > -np.inf)
    total = 0.0
    for order in permutations(range(len(live))):
        decided = np.full(len(scores), -np.inf)
        decided[live[list(order)]] = -np.arange(len(live), dtype=float)
        figure = measure(decided, labels, [0, len(scores)], name, **options)[name][0]
        total += np.exp(log_probability(scores[live], order)) * figure
    return total


@pytest.mark.parametrize("name", NAMES)
def test_expected_metrics_are_means_over_all_rankings(name):
    found = LISTS.expected(name, LABELS, gain="linear", max_grade=4)
    assert not found.standard_error.any()
    for q in range(4):
        rows = slice(LISTS.offsets[q], LISTS.offsets[q + 1])
        options = {"gain": "linear", "max_grade": 4}
        wanted = expected_by_enumeration(LISTS.scores[rows], LABELS[rows], name, **options) if q != 1 else np.nan
        assert found.value[q] == pytest.approx(wanted, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["dcg@5", "ndcg", "err", "map", "mrr@4", "hit@3", "recall@2", "kendall-tau", "arp"])
def test_expected_metrics_of_long_lists_are_near_the_mean_of_many_rankings(name):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=80), rng.choice([0.0, 0, 0, 1, 2], 80)
    scores[3], labels[5] = -np.inf, np.nan
    offsets = np.array([0, 40, 80])
    policy = Policy(scores, offsets, temperature=0.7)
    found = policy.expected(name, labels, samples=3_000)
    rankings = policy.sample(3_000, seed=5)
    values = np.empty((2, 3_000))
    for i in range(3_000):
        decided = np.full(80, -np.inf)
        for q in range(2):
            ranking = rankings[q, i][rankings[q, i] >= 0]
            decided[offsets[q] + ranking] = -np.arange(len(ranking), dtype=float)
        values[:, i] = measure(decided, labels, offsets, name)[name]
    noise = values.std(axis=1) / np.sqrt(3_000)
    exact = name in ("kendall-tau", "arp", "mrr@4", "hit@3", "recall@2")  # pairs, or few places
    assert (np.abs(found.value - values.mean(axis=1)) < 4.5 * np.hypot(noise, found.standard_error)).all()
    np.testing.assert_allclose(found.standard_error, 0 if exact else noise, rtol=0.1)


def test_one_call_has_exact_and_estimated_lists():
    policy = Policy(np.zeros(50), [0, 5, 50])
    labels = np.arange(50) % 3
    for found in (policy.expected("ndcg", labels), policy.entropy(depth=7)):
        assert isinstance(found, Expectation)
        assert found.standard_error[0] == 0
    assert policy.expected("ndcg", labels).standard_error[1] > 0
    assert policy.exposure().standard_error[:5].max() == 0
    assert policy.placement_probabilities().standard_error[5:, 1:].max() == 0  # equal scores: no sample differs
    np.testing.assert_allclose(policy.exposure().value[5:], np.mean(1 / np.log2(np.arange(2, 47))), rtol=1e-9)


def test_a_decided_policy_is_the_order_of_its_scores():
    scores, labels = np.array([3.0, 1, 2, 5]), np.array([1.0, 0, 2, 1])
    policy = Policy(scores, temperature=1e-3)
    for name in SUMS:
        value = measure(scores, labels, [0, 4], name)[name]
        np.testing.assert_allclose(policy.expected(name, labels).value, value, rtol=1e-12)
    assert (policy.sample(100)[0] == [3, 0, 2, 1]).all()
    assert policy.log_prob([3, 0, 2, 1]) == pytest.approx(0)
    assert policy.entropy().value[0] == pytest.approx(0, abs=1e-100)


def test_temperature_divides_the_scores():
    hot, same = Policy(LISTS.scores, LISTS.offsets, temperature=2.5), Policy(LISTS.scores / 2.5, LISTS.offsets)
    np.testing.assert_array_equal(hot.sample(50), same.sample(50))
    np.testing.assert_array_equal(hot.log_prob(hot.sample(50)), same.log_prob(same.sample(50)))
    for method in ("placement_probabilities", "exposure", "entropy"):
        np.testing.assert_array_equal(getattr(hot, method)(), getattr(same, method)())
    np.testing.assert_array_equal(hot.expected("err", LABELS), same.expected("err", LABELS))
    assert (hot.entropy().value >= LISTS.entropy().value).all()
    assert hot.scores.tolist() == LISTS.scores.tolist()


def test_samples_have_the_chances_of_log_prob():
    policy = Policy([1.0, 0, 0.5, -1], temperature=0.5)
    rankings = policy.sample(40_000, depth=2)[0]
    found, counts = np.unique(rankings, axis=0, return_counts=True)
    chances = np.exp(policy.log_prob(found[None])[0])
    assert chances.sum() == pytest.approx(1)
    assert (np.abs(counts / 40_000 - chances) < 4.5 * np.sqrt(chances / 40_000)).all()
    wanted = rankings_reference.prefix_probabilities([2.0, 0, 1, -2], 2)
    np.testing.assert_allclose(chances, [wanted[tuple(prefix)] for prefix in found.tolist()], rtol=1e-12)


def test_samples_repeat_with_the_seed_and_go_on():
    assert LISTS.sample(7, seed=3).shape == (4, 7, 4)
    np.testing.assert_array_equal(LISTS.sample(7, seed=3), LISTS.sample(20, seed=3)[:, :7])
    assert (LISTS.sample(20, seed=3) != LISTS.sample(20, seed=4)).any()
    one, other = (LISTS.expected("ndcg", LABELS).value for _ in range(2))
    np.testing.assert_array_equal(one, other)
    longer = Policy(np.random.default_rng(0).normal(size=40))
    same, different = (longer.placement_probabilities(9, seed=seed).value for seed in (0, 1))
    np.testing.assert_array_equal(longer.placement_probabilities(9).value, same)
    assert (same != different).any()


def test_places_beyond_a_list_are_empty():
    rankings = LISTS.sample(5, depth=100)
    assert rankings.shape == (4, 5, 4)
    assert (rankings[1] == -1).all() and (rankings[2, :, 2:] == -1).all() and (rankings[3, :, 2:] == -1).all()
    chances = LISTS.placement_probabilities(100).value
    assert chances.shape == (9, 4)
    np.testing.assert_allclose(chances.sum(axis=1), [1, 1, 1, 1, 1, 1, 1, 0, 1])
    np.testing.assert_allclose(LISTS.exposure(np.ones(100)).value, chances.sum(axis=1))
    assert LISTS.log_prob(rankings).shape == (4, 5)
    np.testing.assert_array_equal(LISTS.entropy(100), LISTS.entropy())


def test_shapes_of_log_prob():
    rankings = LISTS.sample(3)
    whole = LISTS.log_prob(rankings)
    np.testing.assert_array_equal(LISTS.log_prob(rankings[:, 1]), whole[:, 1])
    single = Policy([0.0, 1, 2])
    assert single.log_prob([2, 1]).shape == ()
    assert single.log_prob([[2, 1]]).shape == (1,)
    assert single.log_prob(np.zeros(0, int)) == 0
    assert single.log_prob([2, 1, 0]) == pytest.approx(log_probability([0.0, 1, 2], (2, 1, 0)))
    assert Policy([0.0, -np.inf]).log_prob([0, 1]) == -np.inf


def test_of_a_ranker():
    rng = np.random.default_rng(0)
    data = luce.from_arrays(rng.normal(size=(30, 3)), rng.integers(0, 3, 30), np.repeat([5, 7, 9], 10))
    ranker = luce.LinearRanker().fit(data)
    policy = luce.Policy.of(ranker, data, temperature=2)
    np.testing.assert_array_equal(policy.scores, ranker.predict(data))
    assert policy.n_lists == 3 and policy.temperature == 2
    assert repr(policy) == "Policy(30 rows, 3 lists, temperature 2)"
    with pytest.raises(DataError, match=r"needs a Dataset. Got ndarray"):
        luce.Policy.of(ranker, data.features)


def test_a_policy_keeps_what_it_was_given():
    scores, offsets = np.array([1.0, 2.0]), np.array([0, 2])
    policy = Policy(scores, offsets)
    scores[0], offsets[1] = np.nan, 7
    assert policy.scores.tolist() == [1, 2] and policy.offsets.tolist() == [0, 2]
    with pytest.raises(ValueError, match="read-only"):
        policy.scores[0] = 3


def test_nothing_at_all():
    nothing = Policy([])
    assert repr(nothing) == "Policy(0 rows, 1 list, temperature 1)"
    assert nothing.sample(2).shape == (1, 2, 0)
    assert nothing.entropy().value.tolist() == [0]
    assert nothing.placement_probabilities(3).value.shape == (0, 0)
    assert nothing.exposure().value.shape == (0,)
    assert np.isnan(nothing.expected("err", []).value).all()
    never = Policy([-np.inf, -np.inf])
    assert (never.sample(2) == -1).all()
    assert never.expected("dcg", [1, 0]).value.tolist() == [0]


BAD = [
    (lambda: Policy([0.0, np.nan]), DataError, "scores must be numbers.*Got nan at row 2"),
    (lambda: Policy([0.0, np.inf]), DataError, "Got inf at row 2"),
    (lambda: Policy([[0.0]]), DataError, "scores must be one-dimensional"),
    (lambda: Policy([0.0, 1], [0, 3]), DataError, "offsets must run from 0"),
    *[
        (
            lambda bad=bad: Policy([0.0], temperature=bad),
            OptionError,
            r"temperature of a policy must be a number > 0\. Got",
        )
        for bad in (0, -1, np.nan, np.inf, "1", None, True)
    ],
    (lambda: Policy([1e4], temperature=1e-307), OptionError, "beyond float64"),
    (lambda: LISTS.sample(0), OptionError, "number of rankings must be an integer ≥ 1. Got 0"),
    (lambda: LISTS.sample(1.5), OptionError, "number of rankings"),
    (lambda: LISTS.sample(2, depth=0), OptionError, "depth of a ranking must be an integer ≥ 1. Got 0"),
    (lambda: LISTS.sample(2, seed=-1), OptionError, "seed must be an integer from 0"),
    (lambda: LISTS.placement_probabilities(0), OptionError, "depth of a ranking"),
    (lambda: LISTS.placement_probabilities(2, samples=0), OptionError, "samples must be an integer ≥ 1"),
    (lambda: LISTS.entropy(-1), OptionError, "depth of a ranking"),
    (lambda: LISTS.exposure([1.0, np.nan]), DataError, "discounts must be finite"),
    (lambda: LISTS.expected("ndgc", LABELS), OptionError, "Did you mean 'ndcg'"),
    (lambda: LISTS.expected("disparity", LABELS), OptionError, r"use luce.evaluate. Metrics that are means: dcg"),
    (lambda: LISTS.expected("ndcg", LABELS[:3]), DataError, "labels must have 9 entries. Got 3"),
    (lambda: LISTS.expected("ndcg", LABELS, gain="square"), OptionError, "no gain 'square'"),
    (lambda: LISTS.expected("err", LABELS, max_grade=1), DataError, "above max_grade 1"),
    (lambda: LISTS.log_prob([[0, 0]] * 4), DataError, r"list 1 must contain different items.*Got \[0, 0\]"),
    (lambda: LISTS.log_prob([0, 1]), DataError, r"rankings must be integers \(4 lists"),
    (lambda: LISTS.log_prob([[0], [0, 1]]), DataError, "pad shorter ones with −1"),
]


@pytest.mark.parametrize(("work", "kind", "words"), BAD)
def test_bad_input_is_named(work, kind, words):
    with pytest.raises(kind, match=words):
        work()
