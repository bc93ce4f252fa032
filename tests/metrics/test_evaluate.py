"""evaluate: means, empty lists, weights, intervals, what it refuses, and what its results show."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from luce.data.ragged import Dataset
from luce.errors import DataError, OptionError
from luce.metrics import METRICS, evaluate, measure

SCORES = [3.0, 2, 1, 2, 1, 1, 2]
LABELS = [0, 2, 1, 0, 0, 3, 1]
OFFSETS = [0, 3, 5, 7]


def dataset(labels=LABELS, offsets=OFFSETS, **fields):
    return Dataset(np.zeros((len(labels), 1)), labels, offsets, **fields)


def random_case(n_lists, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 8 * n_lists).astype(float)
    return rng.normal(size=len(labels)), dataset(labels, np.arange(0, len(labels) + 1, 8))


def test_values_are_those_of_measure_and_frozen():
    results = evaluate(SCORES, dataset(), "ndcg@2, err, arp")
    found = measure(SCORES, LABELS, OFFSETS, ["ndcg@2", "err", "arp"])
    assert list(results.values) == ["ndcg@2", "err", "arp"]
    for name, values in found.items():
        np.testing.assert_array_equal(results.values[name], values)
        with pytest.raises(ValueError, match="read-only"):
            results.values[name][0] = 1


def test_empty_lists_are_skipped_and_counted_or_given_a_value():
    skipped = evaluate(SCORES, dataset(), "ndcg")
    first, second, third = skipped.values["ndcg"]
    assert math.isnan(second)
    assert skipped.skipped == {"ndcg": 1} and skipped.n_empty == {"ndcg": 1} and skipped.n_lists == 3
    assert skipped.means["ndcg"] == pytest.approx((first + third) / 2)
    for empty in (0, 1):
        results = evaluate(SCORES, dataset(), "ndcg", empty=empty)
        assert results.values["ndcg"][1] == empty
        assert results.means["ndcg"] == pytest.approx((first + empty + third) / 3)
        assert results.skipped == {"ndcg": 0} and results.n_empty == {"ndcg": 1}


def test_means_are_weighted_by_list_weights():
    results = evaluate(SCORES, dataset(list_weights=[1.0, 5.0, 3.0]), "ndcg")
    first, _, third = results.values["ndcg"]
    assert results.means["ndcg"] == pytest.approx((first + 3 * third) / 4)
    assert math.isnan(evaluate(SCORES, dataset(list_weights=[0.0, 5.0, 0.0]), "ndcg").means["ndcg"])


def test_weights_are_as_repetition():
    scores, data = random_case(30)
    weights = np.random.default_rng(1).integers(0, 4, 30)
    repeated = data.take(np.repeat(np.arange(30), weights))
    rows = np.concatenate([np.arange(8 * q, 8 * q + 8) for q in np.repeat(np.arange(30), weights)])
    weighted = Dataset(data.features, data.labels, data.offsets, list_weights=weights)
    a, b = evaluate(scores, weighted, "ndcg,mrr"), evaluate(scores[rows], repeated, "ndcg,mrr")
    assert a.means == pytest.approx(b.means, rel=1e-12)


def test_highest_grade_of_err():
    assert evaluate(SCORES, dataset(), "err").max_grade == 3
    assert evaluate(SCORES, dataset(), "err", max_grade=4).max_grade == 4
    assert evaluate(SCORES, dataset(), "ndcg", max_grade=1).max_grade is None
    assert evaluate([1.0, 2.0], dataset([0, 0.5], [0, 2]), "err").max_grade == 1
    assert evaluate([], dataset([], [0]), "err").max_grade == 1
    with pytest.raises(DataError, match="A label of 3 is above max_grade 2"):
        evaluate(SCORES, dataset(), "err", max_grade=2)


def test_intervals_cover_the_mean_of_the_population():
    scores, data = random_case(20_000, seed=12_345)
    values = evaluate(scores, data, "ndcg@3", n_bootstrap=0).values["ndcg@3"]
    mean, spread = np.nanmean(values), np.nanstd(values)
    covered, width = 0, []
    for seed in range(100):
        scores, data = random_case(80, seed)
        low, high = evaluate(scores, data, "ndcg@3", confidence=0.9, n_bootstrap=300, random_state=seed).intervals[
            "ndcg@3"
        ]
        covered += low <= mean <= high
        width.append(high - low)
    assert 80 <= covered <= 97
    assert np.mean(width) == pytest.approx(2 * 1.645 * spread / math.sqrt(80), rel=0.05)


def test_many_lists_are_resampled_in_groups_with_the_same_width():
    scores, data = random_case(20_000)
    results = evaluate(scores, data, "ndcg@3,mrr", n_bootstrap=2000)
    values = results.values["ndcg@3"]
    low, high = results.intervals["ndcg@3"]
    assert high - low == pytest.approx(2 * 1.96 * np.nanstd(values) / math.sqrt(20_000), rel=0.1)
    assert low < results.means["ndcg@3"] < high


def test_intervals_are_weighted_as_the_means_are():
    scores, data = random_case(200)
    values = evaluate(scores, data, "ndcg@3").values["ndcg@3"]
    weights = np.where(values > np.nanmedian(values), 9.0, 1.0)
    weighted = Dataset(data.features, data.labels, data.offsets, list_weights=weights)
    results = evaluate(scores, weighted, "ndcg@3")
    low, high = results.intervals["ndcg@3"]
    assert np.nanmean(values) < low < results.means["ndcg@3"] < high


def test_a_seed_repeats_the_interval():
    scores, data = random_case(50)
    first, again, other = (evaluate(scores, data, random_state=seed).intervals for seed in (3, 3, 4))
    assert first == again != other
    low, high = evaluate(scores, data, confidence=0.5).intervals["ndcg@10"]
    assert first["ndcg@10"][0] < low < high < first["ndcg@10"][1]


def test_no_interval_without_a_bootstrap_or_two_lists_or_finite_values():
    scores, data = random_case(50)
    assert np.isnan(evaluate(scores, data, n_bootstrap=0).intervals["ndcg@10"]).all()
    assert np.isnan(evaluate(SCORES[:5], dataset(LABELS[:5], OFFSETS[:3])).intervals["ndcg@10"]).all()
    huge = evaluate([1.0, 2.0], dataset([2000, 2000], [0, 1, 2]), "dcg")
    assert huge.means["dcg"] == math.inf and np.isnan(huge.intervals["dcg"]).all()


def test_no_lists_at_all():
    results = evaluate([], dataset([], [0]), [name for name in METRICS if not METRICS[name].is_stochastic])
    assert all(math.isnan(mean) for mean in results.means.values())
    assert results.n_lists == 0 and results.table().num_rows == 0


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"empty": "zero"}, "empty must be 'skip', 0 or 1.*Got 'zero'"),
        ({"gain": "lineal"}, "There is no gain 'lineal'. Did you mean 'linear'"),
        ({"confidence": 95}, "confidence must be between 0 and 1, such as 0.95. Got 95"),
        ({"n_bootstrap": -1}, "n_bootstrap must be an integer ≥ 0.*Got -1"),
        ({"metrics": "err", "max_grade": -1}, "max_grade must be a finite number ≥ 0.*Got -1"),
        ({"metrics": "err", "max_grade": math.nan}, "max_grade must be a finite number ≥ 0.*Got nan"),
        ({"metrics": "err", "max_grade": "4"}, "max_grade must be a finite number ≥ 0.*Got '4'"),
        ({"metrics": "nothing"}, "There is no metric 'nothing'"),
    ],
)
def test_bad_settings(settings, text):
    with pytest.raises(OptionError, match=text):
        evaluate(SCORES, dataset(), **settings)


def test_bad_scores_and_labels():
    with pytest.raises(DataError, match=r"evaluate needs a Dataset. Got list.*luce.from_arrays\(X, y, qid\)"):
        evaluate(SCORES, LABELS)
    with pytest.raises(DataError, match=r"scores must not be NaN\. Got NaN at row 2"):
        evaluate([1, np.nan, 1, 1, 1, 1, 1], dataset())
    with pytest.raises(DataError, match=r"scores must have 7 entries\. Got 2"):
        evaluate([1, 2], dataset())
    with pytest.raises(DataError, match="labels must be finite"):
        measure([1.0], [np.inf], [0, 1])


def test_table_has_a_row_per_list():
    data = dataset(query_ids=["a", "b", "c"])
    table = evaluate(SCORES, data, "ndcg, mrr").table()
    assert table.column_names == ["query", "ndcg", "mrr"]
    assert table["query"].to_pylist() == ["a", "b", "c"]
    np.testing.assert_array_equal(table["mrr"].to_numpy(), [0.5, np.nan, 1])


def lowest_relevant(scores, labels):
    """The score of the lowest relevant item."""
    return scores[labels > 0].min() if (labels > 0).any() else math.nan


def test_a_function_is_a_metric_of_lists():
    labels = np.array(LABELS, dtype=float)
    labels[0] = np.nan
    results = evaluate(SCORES, dataset(labels), ["mrr", lowest_relevant], n_bootstrap=50)
    np.testing.assert_array_equal(results.values["lowest_relevant"], [1, np.nan, 1])
    assert results.skipped["lowest_relevant"] == 1 and results.intervals["lowest_relevant"] == (1, 1)
    assert list(results.means) == ["mrr", "lowest_relevant"]
    assert evaluate(SCORES, dataset(), lowest_relevant).means == {"lowest_relevant": 1}
    sizes = []
    evaluate(SCORES, dataset(labels), lambda scores, labels: sizes.append((len(scores), len(labels))) or 0)
    assert sizes == [(2, 2), (2, 2), (2, 2)]


def test_functions_that_are_no_metrics():
    with pytest.raises(OptionError, match=r"The metric <lambda> must return a number, or NaN\. Got None for list 1"):
        evaluate(SCORES, dataset(), lambda scores, labels: None)
    with pytest.raises(OptionError, match=r"Two metrics are called '<lambda>'\. Give the functions different names"):
        evaluate(SCORES, dataset(), [lambda scores, labels: 0.0, lambda scores, labels: 1.0])


def test_err_of_two_scales():
    results = evaluate(SCORES, dataset(), "err, err(max_grade=5)")
    assert results.max_grade == 3 and results.means["err"] > results.means["err(max_grade=5)"]
    assert evaluate(SCORES, dataset(), "err(max_grade=5)").max_grade is None
    with pytest.raises(DataError, match="A label of 3 is above max_grade 2"):
        evaluate(SCORES, dataset(), "err(max_grade=2)")


def test_summary_is_json():
    summary = json.loads(json.dumps(evaluate(SCORES, dataset(), "mrr, err", n_bootstrap=0).to_dict(), allow_nan=False))
    assert summary["metrics"]["mrr"] == {"mean": 0.75, "low": None, "high": None, "lists": 2, "n_empty": 1}
    assert (summary["n_lists"], summary["empty"], summary["max_grade"]) == (3, "skip", 3)


def test_text():
    text = str(evaluate(SCORES, dataset(), "mrr, disagreement, err", n_bootstrap=20))
    lines = text.splitlines()
    assert lines[0].split() == ["metric", "mean", "95", "%", "interval", "lists", "skipped"]
    assert lines[1].split() == ["mrr", "0.7500", "0.5000", "to", "1.0000", "2", "1"]
    assert lines[-1] == "err with max_grade 3"
    assert len({len(line) for line in lines[:-1]}) == 1
    assert "empty, as 0" in str(evaluate(SCORES, dataset(), "mrr", empty=0))
    assert repr(evaluate(SCORES, dataset(), "mrr")) == "Results(3 lists, mrr 0.7500)"


def test_a_data_frame_is_answered_with_how_to_make_a_dataset():
    with pytest.raises(DataError, match=r"evaluate needs a Dataset. Got DataFrame.*luce\.from_table\("):
        evaluate([1.0], pd.DataFrame({"query": [1], "label": [0]}))
