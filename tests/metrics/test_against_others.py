"""The same numbers as scikit-learn and SciPy give, where they measure the same."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score, dcg_score, label_ranking_average_precision_score, ndcg_score

from luce.metrics import measure


def one_list(seed, levels=None, n=30):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n).astype(float)
    scores = rng.permutation(n).astype(float) if levels is None else rng.integers(0, levels, n).astype(float)
    return scores, labels


def value(name, scores, labels, **settings):
    return measure(scores, labels, [0, len(labels)], name, **settings)[name][0]


@pytest.mark.parametrize("levels", [None, 1, 2, 8])
@pytest.mark.parametrize("cutoff", [None, 1, 5, 10, 29, 40])
def test_dcg_and_ndcg_with_equal_scores(cutoff, levels):
    at = "" if cutoff is None else f"@{cutoff}"
    for seed in range(5):
        scores, labels = one_list(seed, levels)
        for name, theirs in (("dcg", dcg_score), ("ndcg", ndcg_score)):
            exponential = theirs([2**labels - 1], [scores], k=cutoff)
            assert value(name + at, scores, labels) == pytest.approx(exponential, rel=1e-12)
            assert value(name + at, scores, labels, gain="linear") == pytest.approx(
                theirs([labels], [scores], k=cutoff), rel=1e-12
            )


def test_average_precision():
    for seed in range(20):
        scores, labels = one_list(seed)
        assert value("map", scores, labels) == pytest.approx(average_precision_score(labels > 0, scores), rel=1e-12)


def test_reciprocal_rank_with_one_relevant_item():
    for seed in range(20):
        scores, labels = one_list(seed)
        labels = (np.arange(len(labels)) == np.argmax(labels)).astype(float)
        theirs = label_ranking_average_precision_score([labels], [scores])
        assert value("mrr", scores, labels) == pytest.approx(theirs, rel=1e-12)


def test_precision_and_recall_by_hand():
    for seed in range(20):
        scores, labels = one_list(seed)
        relevant = labels[np.argsort(-scores)] > 0
        for k in (1, 7, 30):
            assert value(f"precision@{k}", scores, labels) == pytest.approx(relevant[:k].mean(), rel=1e-15)
            assert value(f"recall@{k}", scores, labels) == pytest.approx(relevant[:k].sum() / relevant.sum(), rel=1e-15)


def test_kendall_tau_without_equal_labels():
    for seed in range(20):
        scores, _ = one_list(seed)
        labels = np.random.default_rng(seed + 100).normal(size=len(scores))
        assert value("kendall-tau", scores, labels) == pytest.approx(kendalltau(scores, labels).statistic, rel=1e-12)


def test_figures_worked_out_by_hand():
    scores, labels = [3.0, 2, 1], [0, 2, 1]
    assert value("ndcg", scores, labels) == pytest.approx((3 / np.log2(3) + 1 / 2) / (3 + 1 / np.log2(3)))
    assert value("err", scores, labels, max_grade=2) == pytest.approx(3 / 4 / 2 + 1 / 4 * 1 / 4 / 3)
    assert value("map", scores, labels) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert value("map@2", scores, labels) == pytest.approx(1 / 2 / 2)
    assert value("precision@10", scores, labels) == pytest.approx(2 / 10)
    assert value("arp", scores, labels) == pytest.approx((2 * 2 + 1 * 3) / 3)
    assert value("disagreement", scores, labels) == 3 + 1
    assert value("sharp-ndcg", scores, labels) == pytest.approx(3 / (2 * 3 + 1 * 1))
    assert value("kendall-tau", scores, labels) == pytest.approx(-1 / 3)


def test_not_retrieved_items_count_among_the_relevant_and_bring_nothing():
    scores, labels = [2.0, 1.0, -np.inf, -np.inf], [0, 1, 1, 0]
    assert value("recall", scores, labels) == 0.5
    assert value("map", scores, labels) == pytest.approx(1 / 2 / 2)
    assert value("precision", scores, labels) == 0.25
    assert value("ndcg", scores, labels) == pytest.approx(1 / np.log2(3) / (1 + 1 / np.log2(3)))
    assert value("hit", [-np.inf, -np.inf], [1, 1]) == value("mrr", [-np.inf, -np.inf], [1, 1]) == 0
    assert value("arp", scores, labels) == pytest.approx((2 + 3.5) / 2)
