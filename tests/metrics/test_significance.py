"""Paired tests against SciPy's and against all sign patterns, Holm by hand, rankers compared."""

import itertools

import numpy as np
import pytest
from scipy import stats

from luce.data.ragged import Dataset
from luce.errors import DataError, OptionError
from luce.metrics import compare_results, evaluate, holm, paired_t_test, randomization_test


def pair(n, shift=0.3, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return a + shift + rng.normal(size=n), a


def test_t_test_is_scipys():
    for n in (2, 5, 100):
        a, b = pair(n)
        theirs = stats.ttest_rel(a, b)
        ours = paired_t_test(a, b)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.n_lists == n


def test_randomization_test_looks_at_all_sign_patterns_of_few_lists():
    a, b = pair(9)
    d = a - b
    signs = np.array(list(itertools.product([1, -1], repeat=9)))
    wanted = np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-9)
    assert randomization_test(a, b).p_value == wanted
    scipys = stats.permutation_test((a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=1000)
    assert wanted == pytest.approx(scipys.pvalue)


@pytest.mark.parametrize("n", [40, 6000])
def test_randomization_test_of_many_lists_is_near_the_t_test(n):
    a, b = pair(n, shift=2 / np.sqrt(n), seed=3)
    ours, t = randomization_test(a, b), paired_t_test(a, b)
    assert ours.p_value == pytest.approx(t.p_value, abs=0.01) and 0.001 < t.p_value < 0.5
    assert ours == randomization_test(a, b) != randomization_test(a, b, random_state=1)
    assert ours.statistic == pytest.approx(np.mean(a - b))


def test_p_is_uniform_where_there_is_no_difference():
    p = [randomization_test(*pair(20, shift=0, seed=seed), n_permutations=500).p_value for seed in range(200)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_p_is_never_zero():
    assert randomization_test(np.ones(100), np.zeros(100), n_permutations=99).p_value == 0.01
    assert randomization_test(np.ones(5), np.zeros(5)).p_value == 2 / 32


@pytest.mark.parametrize("test", [paired_t_test, randomization_test])
def test_no_difference_or_too_few_lists_is_no_evidence(test):
    assert test(np.ones(20), np.ones(20)).p_value == 1
    assert test([1.0], [0.0]).p_value == 1
    assert test([], []).p_value == 1


@pytest.mark.parametrize("test", [paired_t_test, randomization_test])
def test_lists_without_a_value_are_left_out(test):
    a, b = pair(10)
    holes_a, holes_b = np.insert(a, 3, np.nan), np.insert(b, 3, 0.5)
    assert test(holes_a, holes_b) == test(holes_b * 0 + holes_a, holes_b) == test(a, b)
    assert test(np.insert(a, 3, 0.5), np.insert(b, 3, np.nan)) == test(a, b)


@pytest.mark.parametrize("test", [paired_t_test, randomization_test])
def test_pairs_must_match(test):
    with pytest.raises(DataError, match=r"b must have 2 entries\. Got 3"):
        test([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="must be finite"):
        test([1, np.inf], [1, np.inf])


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.6, 0.01]), [1.0, 1.0, 0.03])
    assert len(holm([])) == 0


def rankers(weights=None, n_lists=60):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 6 * n_lists).astype(float)
    labels[:6] = 0
    data = Dataset(np.zeros((len(labels), 1)), labels, np.arange(0, len(labels) + 1, 6), list_weights=weights)
    noise = rng.normal(size=len(labels))
    return {
        name: evaluate(strength * labels + noise, data, "ndcg, mrr", n_bootstrap=0)
        for name, strength in {"none": 0.0, "weak": 0.1, "strong": 2.0}.items()
    }


def test_rankers_against_the_baseline():
    results = rankers()
    weak, strong = compare_results(results, "ndcg")
    assert (weak.name, strong.name, weak.baseline, strong.n_lists) == ("weak", "strong", "none", 59)
    assert strong.difference == pytest.approx(results["strong"].means["ndcg"] - results["none"].means["ndcg"])
    values = [results[name].values["ndcg"] for name in ("none", "weak", "strong")]
    assert weak.t_test == paired_t_test(values[1], values[0]).p_value
    assert strong.randomization == randomization_test(values[2], values[0]).p_value
    assert [weak.t_test_holm, strong.t_test_holm] == holm([weak.t_test, strong.t_test]).tolist()
    assert [weak.randomization_holm, strong.randomization_holm] == holm(
        [weak.randomization, strong.randomization]
    ).tolist()
    assert strong.t_test < 0.001 < weak.t_test
    back = compare_results(results, "mrr", baseline="strong")
    assert [row.name for row in back] == ["none", "weak"] and back[0].difference < 0


def test_the_interval_and_the_wins_are_those_of_the_differences():
    results = rankers()
    _, strong = compare_results(results, "mrr")
    change = (results["strong"].values["mrr"] - results["none"].values["mrr"])[1:]
    assert (strong.wins, strong.losses) == ((change > 1e-9).sum(), (change < -1e-9).sum())
    draws = np.random.default_rng(5).integers(len(change), size=(4000, len(change)))
    assert (strong.low, strong.high) == pytest.approx(np.quantile(change[draws].mean(axis=1), [0.025, 0.975]), abs=0.02)
    assert strong.mean - strong.baseline_mean == pytest.approx(strong.difference)
    assert np.isnan(compare_results(results, "mrr", n_bootstrap=0)[0].low)


def test_comparison_is_weighted_as_the_means_are():
    weights = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    results = rankers(weights)
    weak, strong = compare_results(results, "ndcg")
    assert strong.low < strong.difference < strong.high
    assert strong.mean == pytest.approx(results["strong"].means["ndcg"])
    assert weak.difference == pytest.approx(results["weak"].means["ndcg"] - results["none"].means["ndcg"])
    assert weak.n_lists == np.count_nonzero(weights[1:])


def test_comparisons_that_cannot_be_made():
    results = rankers()
    with pytest.raises(OptionError, match=r"needs a baseline and at least one other ranker. Got none"):
        compare_results({"none": results["none"]}, "ndcg")
    with pytest.raises(OptionError, match=r"There is no ranker 'week'\. Did you mean 'weak'"):
        compare_results(results, "ndcg", baseline="week")
    with pytest.raises(OptionError, match=r"do not contain 'ndcg@10'\. They contain ndcg, mrr"):
        compare_results(results, "ndcg@10")
    with pytest.raises(DataError, match="same lists"):
        compare_results({**results, "other": rankers(n_lists=50)["weak"]}, "ndcg")
    with pytest.raises(OptionError, match=r"n_permutations must be an integer ≥ 1\. Got 0"):
        randomization_test([1, 2], [0, 1], n_permutations=0)
