"""Metrics of predicted labels against literal sums over rows and places, and what they refuse."""

import math

import numpy as np
import pytest
from scipy import sparse

from luce.data.extreme import TaggedData
from luce.errors import DataError, OptionError
from luce.metrics.extreme import LABEL_METRICS, evaluate_labels, label_metric, measure_labels, propensities


def literal(name, k, ranking, labels, p):
    """The figure of the public tables, place by place; `labels` is a table of grades."""
    found = best = 0.0
    for order, row in zip(ranking, labels, strict=True):
        relevant = [label for label in range(len(row)) if row[label] > 0]
        if name == "precision":
            found += sum(row[label] > 0 for label in order[:k] if label >= 0) / k
            best += 1
            continue
        if name == "psp":
            found += sum(1 / p[label] for label in order[:k] if label >= 0 and row[label] > 0) / k
            best += sum(sorted((1 / p[label] for label in relevant), reverse=True)[:k]) / k
            continue
        gain = [2.0**grade - 1 for grade in row]
        ideal = sum(g / math.log2(r + 2) for r, g in enumerate(sorted(gain, reverse=True)[:k]))
        weight = [1 / p[label] if name == "psndcg" else 1.0 for label in range(len(row))]
        if ideal > 0:
            found += sum(gain[i] * weight[i] / math.log2(r + 2) for r, i in enumerate(order[:k]) if i >= 0) / ideal
        weighted = sorted((g * w for g, w in zip(gain, weight, strict=True)), reverse=True)[:k]
        best += sum(g / math.log2(r + 2) for r, g in enumerate(weighted)) / ideal if ideal > 0 else 0
    rows = len(labels)
    return found / rows if name in ("precision", "ndcg") else found / best


def made(seed, graded=False, n_rows=60, n_labels=23):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n_rows, n_labels)) < rng.random((n_rows, 1)) * 0.4) * 1.0
    labels[:3] = 0
    labels[3] = 1
    if graded:
        labels *= rng.integers(1, 4, labels.shape)
    ranking = np.argsort(rng.random(labels.shape) - 0.3 * labels, axis=1)[:, :12]
    counts = rng.integers(0, 500, n_labels)
    return TaggedData(np.zeros((n_rows, 1)), labels), labels, ranking, propensities(counts, 2_000)


@pytest.mark.parametrize("name", LABEL_METRICS)
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_means_equal_the_literal_sums(name, graded, k):
    for seed in range(4):
        data, labels, ranking, p = made(seed, graded)
        values = measure_labels(ranking, data, f"{name}@{k}", propensities=p)[f"{name}@{k}"]
        assert values.mean() == pytest.approx(literal(name, k, ranking, labels, p), abs=1e-12)
        assert (values[:3] == 0).all()  # rows without labels


@pytest.mark.parametrize("name", LABEL_METRICS)
def test_the_best_order_attains_one(name):
    data, labels, _, p = made(5)
    best = np.argsort(-labels / p, axis=1)[:, :4] if name.startswith("ps") else np.argsort(-labels, axis=1)[:, :4]
    rows = data.sizes >= 4
    kept = TaggedData(np.zeros((rows.sum(), 1)), labels[rows])
    assert measure_labels(best[rows], kept, f"{name}@4", propensities=p)[f"{name}@4"].mean() == pytest.approx(1.0)


def test_propensities_follow_the_formula():
    n, rows, a, b = np.array([0.0, 3, 70]), 12_920, 0.6, 2.6
    c = (math.log(rows) - 1) * (b + 1) ** a
    np.testing.assert_allclose(propensities(n, rows, a=a, b=b), 1 / (1 + c * np.exp(-a * np.log(n + b))), rtol=1e-14)
    np.testing.assert_array_equal(propensities([0, 1], 1), 1.0)


def test_more_places_than_labels_are_not_forgiven():
    data = TaggedData([[1.0]], [[1, 1]])
    values = measure_labels([[0, 1]], data, "precision@4, ndcg@4")
    assert values["precision@4"][0] == 0.5 and values["ndcg@4"][0] == 1.0
    two = TaggedData(np.zeros((2, 1)), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(measure_labels([[1, -1], [-1, -1]], two, "precision@2")["precision@2"], [0.5, 0])


def test_labels_beyond_what_32_bits_count_in_all():
    last = 2**31 - 2
    some = sparse.csr_array((np.ones(3), ([0, 1, 2], [last, 5, last])), shape=(3, last + 1))
    values = measure_labels([[last], [last], [5]], TaggedData(np.zeros((3, 1)), some), "precision@1, ndcg@1")
    np.testing.assert_array_equal(values["precision@1"], [1, 0, 0])
    np.testing.assert_array_equal(values["ndcg@1"], [1, 0, 0])


def test_rows_without_any_label_at_all():
    data = TaggedData(np.zeros((2, 1)), np.zeros((2, 3)))
    values = measure_labels([[0], [1]], data, "precision@1,ndcg@1,psp@1,psndcg@1", propensities=np.ones(3))
    assert all((value == 0).all() for value in values.values())


def test_results_tell_means_intervals_and_empty_rows():
    data, labels, ranking, p = made(1)
    results = evaluate_labels(ranking, data, "precision@5, psp@5", propensities=p, n_bootstrap=200)
    assert results.n_empty["psp@5"] == (labels.sum(axis=1) == 0).sum() > 0 and results.skipped["psp@5"] == 0
    low, high = results.intervals["precision@5"]
    assert low < results.means["precision@5"] < high
    assert results.means["psp@5"] == pytest.approx(results.values["psp@5"].mean())


def test_what_is_refused():
    data, _, ranking, _ = made(2)
    with pytest.raises(OptionError, match="Did you mean 'psp'"):
        measure_labels(ranking, data, "pspp@3")
    with pytest.raises(OptionError, match="needs a cutoff, such as 'ndcg@5'"):
        label_metric("ndcg")
    with pytest.raises(OptionError, match="need propensities="):
        measure_labels(ranking, data, "psp@3")
    for wrong, words in (
        (ranking[:5], "60 rows"),
        (ranking * 1.0, "label numbers"),
        (ranking[:, :2], "has 2 labels per row; the metrics need 3"),
        (ranking + 20, "from 0 to 22"),
        (np.zeros_like(ranking), "a label twice in a row"),
    ):
        with pytest.raises(DataError, match=words):
            measure_labels(wrong, data, "precision@3")
    with pytest.raises(DataError, match="23 numbers above 0"):
        measure_labels(ranking, data, "psp@3", propensities=[0.5])
    with pytest.raises(OptionError, match="at least one training row"):
        propensities([1], 0)
    with pytest.raises(DataError, match="not be negative"):
        propensities([-1], 5)
