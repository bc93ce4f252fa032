"""Fairness of exposure: slopes, exact values, no bias from noise, and the laws that other metrics keep too."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from luce.data import Dataset
from luce.errors import DataError, OptionError
from luce.kernels.exposure import reference
from luce.metrics import METRICS, evaluate, measure, metric
from luce.metrics.exposure import RANKINGS, draw_exposures, exposures_of, merits_of, sorted_exposures, without_noise
from luce.metrics.gains import discounts
from luce.metrics.places import places_of
from luce.randomness import Draw

FAIRNESS = {name: record for name, record in METRICS.items() if record.is_stochastic}
NAMES = list(FAIRNESS)
EVERY = pytest.mark.parametrize("name", NAMES)


def made(seed=0, n_lists=40, most=9, zero=0.4):
    """Exposures, merits, groups and offsets; some lists are empty, some have no merit at all."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, n_lists))])
    n = offsets[-1]
    merits = np.where(rng.random(n) < zero, 0.0, rng.integers(1, 4, n))
    merits[offsets[5] : offsets[8]] = 0
    return rng.uniform(0.1, 1, n), merits, rng.integers(0, 3, n), offsets


def lists_of(seed=0, n_lists=30, most=12):
    """Scores, labels, groups and offsets, with ties in all of them, −∞ and unobserved items."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, n_lists))])
    n = offsets[-1]
    labels = rng.integers(-1, 4, n).astype(float)
    labels[rng.random(n) < 0.1] = np.nan
    scores = np.round(rng.normal(0, 1.5, n))
    scores[rng.random(n) < 0.1] = -np.inf
    return scores, labels, rng.integers(0, 3, n), offsets


@EVERY
def test_slopes_are_finite_differences(name):
    exposures, merits, groups, offsets = made()
    slope = FAIRNESS[name].exposure_function(exposures, merits, groups, offsets)[1]
    assert slope.any()
    for row in range(len(exposures)):
        step = np.zeros(len(exposures))
        step[row] = 1e-6
        above, below = (
            FAIRNESS[name].exposure_function(exposures + d, merits, groups, offsets)[0].sum() for d in (step, -step)
        )
        assert slope[row] == pytest.approx((above - below) / 2e-6, rel=1e-6, abs=1e-8)


def test_disparity_is_the_mean_over_pairs():
    exposures, merits, groups, offsets = made(1)
    value = FAIRNESS["disparity"].exposure_function(exposures, merits, groups, offsets)[0]
    for q, (a, b) in enumerate(pairwise(offsets)):
        e, r, n = exposures[a:b], merits[a:b], b - a
        pairs = (np.outer(e, r) - np.outer(r, e)) ** 2
        assert value[q] == pytest.approx(pairs.sum() / (n * (n - 1)) if n > 1 else 0, rel=1e-12, abs=1e-15)
    proportional = FAIRNESS["disparity"].exposure_function(0.1 * merits, merits, groups, offsets)
    np.testing.assert_allclose(proportional[0], 0, atol=1e-25)


@pytest.mark.parametrize("name", ["parity-gap", "merit-gap"])
def test_gaps_are_between_shares(name):
    exposures, merits, groups, offsets = made(2)
    value = FAIRNESS[name].exposure_function(exposures, merits, groups, offsets)[0]
    for q, (a, b) in enumerate(pairwise(offsets)):
        deserts = merits[a:b] if name == "merit-gap" else np.ones(b - a)
        if a == b or not deserts.any():
            assert value[q] == 0
            continue
        expected = 0.0
        for group in range(3):
            here = groups[a:b] == group
            expected += (exposures[a:b][here].sum() / exposures[a:b].sum() - deserts[here].sum() / deserts.sum()) ** 2
        assert value[q] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@EVERY
def test_zero_merit_and_short_lists_are_defined(name):
    offsets, groups = np.array([0, 0, 1, 3]), np.array([0, 0, 1])
    value, slope = FAIRNESS[name].exposure_function(np.array([0.5, 1, 0.5]), np.zeros(3), groups, offsets)
    assert np.isfinite(value).all() and np.isfinite(slope).all()
    assert value[0] == value[1] == 0
    if FAIRNESS[name].needs_merit:
        assert value[2] == 0 and not slope.any()
    nothing = FAIRNESS[name].exposure_function(np.zeros(3), np.ones(3), groups, offsets)
    assert not np.any(nothing[0])


@EVERY
@pytest.mark.parametrize("cutoff", [None, 1, 2, 9])
def test_metrics_tend_to_what_exact_exposures_give(name, cutoff):
    scores, labels, groups = np.array([1.0, 0, 0.5, -1, 2]), np.array([2.0, 0, 1, 3, 0]), np.array([0, 1, 1, 0, 2])
    full = name if cutoff is None else f"{name}@{cutoff}"
    exact = reference.exact(scores, discounts(5)[:cutoff])
    wanted = FAIRNESS[name].exposure_function(exact, merits_of(labels), groups, np.array([0, 5]))[0]
    # Other labels of the same merit draw other rankings: many lists say how far off one may be.
    shifts = [np.where(labels == 0, -shift, labels) for shift in np.linspace(0, 1, 300)]
    found = measure(
        np.tile(scores, 300), np.concatenate(shifts), np.arange(301) * 5, full, item_groups=np.tile(groups, 300)
    )
    values = found[full]
    assert values.std() < 0.15 * wanted[0]
    assert abs(values.mean() - wanted[0]) < 4.5 * values.std() / np.sqrt(300) + 1e-12


@EVERY
def test_noise_does_not_bias_the_value_as_plugging_in_would(name):
    scores, merits, groups = np.array([1.0, 0, 0.5, -1, 2]), np.array([2.0, 0, 1, 3, 0]), np.array([0, 1, 1, 0, 2])
    exact = FAIRNESS[name].exposure_function(reference.exact(scores, discounts(3)), merits, groups, np.array([0, 5]))[
        0
    ][0]
    n = 40_000  # of the same list
    merits, groups, offsets = np.tile(merits, n), np.tile(groups, n), np.arange(n + 1) * 5

    def function(exposures):
        return FAIRNESS[name].exposure_function(exposures, merits, groups, offsets)

    drawn = draw_exposures(np.tile(scores, n), offsets, discounts(3), 2, Draw(1))
    for value, biased in ((without_noise(function, drawn)[0], False), (function(drawn.mean)[0], True)):
        errors = (value.mean() - exact) / (value.std() / np.sqrt(n))
        assert errors > 8 if biased else abs(errors) < 4


def test_halves_are_independent():
    n, scores = 20_000, np.random.default_rng(0).normal(size=8)
    drawn = draw_exposures(np.tile(scores, n), np.arange(n + 1) * 8, discounts(3), 2, Draw())
    first, second = (half.reshape(n, 8)[:, 0] for half in drawn)
    assert first.std() > 0.01 and abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(n)


def everything(scores, labels, groups, offsets, **settings):
    names = [full for name in NAMES for full in (name, f"{name}@3")]
    return measure(scores, labels, offsets, names, item_groups=groups, **settings)


def assert_same(found, expected):
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_neither_order_of_rows_nor_neighbours_nor_threads_matter(ranking):
    scores, labels, groups, offsets = lists_of()
    usual, rng = everything(scores, labels, groups, offsets, ranking=ranking, n_jobs=1), np.random.default_rng(0)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(offsets)])
    assert_same(everything(scores[order], labels[order], groups[order], offsets, ranking=ranking), usual)
    assert_same(everything(scores, labels, 2 - groups, offsets, ranking=ranking, n_jobs=3), usual)
    for q, (a, b) in enumerate(pairwise(offsets)):
        alone = everything(scores[a:b], labels[a:b], groups[a:b], [0, b - a], ranking=ranking)
        assert_same(alone, {name: values[q : q + 1] for name, values in usual.items()})
    kept = ~np.isnan(labels)
    fewer = np.concatenate([[0], np.cumsum(kept)])[offsets]
    assert_same(everything(scores[kept], labels[kept], groups[kept], fewer, ranking=ranking), usual)
    assert all(np.isfinite(values).any() and np.isnan(values).any() for values in usual.values())


@EVERY
def test_lists_with_nothing_to_measure(name):
    cases = [[], [np.nan], [2.0]] + ([[0.0, 0, 0], [-1.0, 0]] if FAIRNESS[name].needs_merit else [])
    labels, offsets = np.concatenate(cases), np.cumsum([0, *map(len, cases)])
    scores = np.ones(len(labels))
    assert np.isnan(measure(scores, labels, offsets, name, item_groups=np.arange(len(labels)))[name]).all()
    assert np.isnan(measure([-np.inf, -np.inf], [1, 0], [0, 2], name, item_groups=[0, 1])[name]).all()
    if FAIRNESS[name].needs_item_groups:
        assert np.isnan(measure([0.0, 1], [1, 0], [0, 2], name, item_groups=[4, 4])[name]).all()


@EVERY
def test_records_and_options(name):
    record = METRICS[name]
    assert record.is_stochastic and not record.higher_is_better and record.takes_cutoff
    scores, labels, groups, offsets = lists_of(3)
    usual, linear = (
        measure(scores, labels, offsets, name, item_groups=groups, gain=g)[name] for g in ("exponential", "linear")
    )
    assert np.array_equal(usual, linear, equal_nan=True) == ("gain" not in record.options)
    assert np.nanmin(usual) > -1e-3 and np.nanmax(usual) <= record.bounds[1]
    fair, unfair = (
        measure(sign * 30 * np.nan_to_num(labels), labels, offsets, name, item_groups=groups)[name] for sign in (0, -1)
    )
    assert np.nanmean(fair) < np.nanmean(unfair)


def test_evaluate_knows_the_groups_of_a_dataset():
    scores, labels, groups, offsets = lists_of(4)
    data = Dataset(np.zeros((len(labels), 1)), labels, offsets, item_groups=[f"seller {g}" for g in groups])
    results = evaluate(scores, data, "merit-gap@5, disparity, ndcg@5", n_bootstrap=50)
    expected = measure(scores, labels, offsets, "merit-gap@5", item_groups=groups)["merit-gap@5"]
    np.testing.assert_array_equal(results.values["merit-gap@5"], expected)
    assert results.intervals["disparity"][0] < results.means["disparity"] < results.intervals["disparity"][1]
    with pytest.raises(DataError, match=r"parity-gap needs the group of each item.*item_group='seller'"):
        evaluate(scores, Dataset(np.zeros((len(labels), 1)), labels, offsets), "parity-gap")


def test_what_cannot_be():
    with pytest.raises(OptionError, match="disparity@3 is not a sum over the ranks of one order"):
        places_of(metric("disparity@3"), np.array([0.0, 1]), np.array([0, 2]))
    with pytest.raises(DataError, match="merit of the label 600 squared is beyond float64"):
        measure([0.0, 1], [600, 0], [0, 2], "disparity")
    with pytest.raises(DataError, match="scores must be numbers, or −inf"):
        measure([0.0, np.inf], [1, 0], [0, 2], "disparity")


def test_exposure_is_not_averaged_across_lists():
    found = exposures_of(np.zeros(5), np.ones(5), np.array([0, 2, 5]), cutoff=1)
    np.testing.assert_allclose(found, [1 / 2] * 2 + [1 / 3] * 3)


def mean_over_orders(scores, weights):
    """Exposures by enumeration: the mean over all orders in which no item stands before one of a higher score."""
    live = np.flatnonzero(scores > -np.inf)
    orders = [order for order in permutations(live) if all(scores[a] >= scores[b] for a, b in pairwise(order))]
    exposures = np.zeros(len(scores))
    for order in orders:
        exposures[list(order)] += np.pad(weights, (0, len(scores)))[: len(order)] / len(orders)
    return exposures


def test_sorted_exposures_are_means_over_the_orders_of_ties():
    scores, _, _, offsets = lists_of(5, n_lists=40, most=6)
    for weights in (discounts(6), discounts(2), discounts(9), np.ones(3)):
        found = sorted_exposures(scores, offsets, weights)
        for a, b in pairwise(offsets):
            np.testing.assert_allclose(found[a:b], mean_over_orders(scores[a:b], weights), rtol=1e-12)


@EVERY
def test_metrics_of_the_sorted_ranking_are_exact(name):
    scores, labels, groups, offsets = lists_of(6, most=6)
    found = measure(scores, labels, offsets, f"{name}@3", item_groups=groups, ranking="sorted")[f"{name}@3"]
    assert np.isfinite(found).sum() > 5
    for q in np.flatnonzero(np.isfinite(found)):
        rows = np.arange(offsets[q], offsets[q + 1])[~np.isnan(labels[offsets[q] : offsets[q + 1]])]
        exposures = mean_over_orders(scores[rows], discounts(3))
        ends = np.array([0, len(rows)])
        expected = FAIRNESS[name].exposure_function(exposures, merits_of(labels[rows]), groups[rows], ends)[0][0]
        assert found[q] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_cold_policy_ranks_as_sorting_does():
    rng = np.random.default_rng(7)
    scores, labels, offsets = 1e4 * rng.permutation(30), rng.integers(0, 3, 30).astype(float), np.array([0, 12, 30])
    sampled, in_order = (exposures_of(scores, labels, offsets, 5, ranking) for ranking in RANKINGS)
    np.testing.assert_allclose(sampled, in_order, rtol=1e-12)
    with pytest.raises(OptionError, match=r"There is no ranking 'ordered'.*sampled, sorted"):
        measure(scores, labels, offsets, "ndcg", ranking="ordered")
