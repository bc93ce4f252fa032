"""Labels, list lengths and ties far beyond the usual; and the identity of Theorem 3 of the 2014 paper."""

import math
from fractions import Fraction

import numpy as np
import pytest

from luce.metrics import measure
from luce.metrics.pairwise import sharp_dcg
from luce.metrics.reference import RankedLabels


def value(name, scores, labels, **settings):
    return float(measure(scores, labels, [0, len(labels)], name, **settings)[name][0])


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("levels", [1000, 6])
def test_theorem_3_with_and_without_equal_scores(levels, gain):
    rng = np.random.default_rng(levels)
    for _ in range(20):
        labels = rng.integers(-1, 5, 40).astype(float)
        scores = rng.permutation(levels)[:40] if levels > 40 else rng.integers(0, levels, 40)
        best = RankedLabels(sorted(labels.tolist(), reverse=True), 40, None, gain == "linear", 4.0)
        ideal = sharp_dcg(best)
        reached = ideal * value("sharp-ndcg", scores, labels, gain=gain)
        assert ideal - reached == pytest.approx(value("disagreement", scores, labels, gain=gain), rel=1e-10)


def test_labels_of_two_thousand():
    scores, labels = [3.0, 2, 1, 0], [0, 2000, 1999, 1]
    shares = np.array([0, 1, 0.5, 0])
    assert value("ndcg", scores, labels) == pytest.approx(
        shares @ (1 / np.log2([2, 3, 4, 5])) / (1 + 0.5 / math.log2(3)), rel=1e-14
    )
    assert value("sharp-ndcg", scores, labels) == pytest.approx((2 * 1 + 1 * 0.5) / (3 * 1 + 2 * 0.5), rel=1e-14)
    assert value("err", scores, labels) == pytest.approx(1 / 2, rel=1e-14)
    assert value("dcg", scores, labels) == value("disagreement", scores, labels) == math.inf
    assert value("disagreement", [1, 0, 2], [2000, 1999, 2001]) == 0
    assert value("kendall-tau", scores, labels) == pytest.approx(0)


def test_sums_that_overflow_only_on_the_way():
    assert value("dcg", [2, 1], [0, 1024]) == pytest.approx(2.0**1000 / math.log2(3) * 2.0**24, rel=1e-14)
    assert value("arp", [2, 1], [1e308, 1e308]) == pytest.approx(1.5)
    assert value("ndcg", [2, 1], [1e308, 1e308], gain="linear") == pytest.approx(1)
    assert value("ndcg", [1, 2], [1e-310, 0], gain="linear") == pytest.approx(1 / math.log2(3))


def test_small_labels_keep_their_digits():
    tiny = 1e-12
    assert value("dcg", [1], [tiny]) == pytest.approx(tiny * math.log(2), rel=1e-11, abs=0)
    assert value("err", [1], [tiny], max_grade=1) == pytest.approx(tiny * math.log(2) / 2, rel=1e-11, abs=0)


def exact_err(counts, max_grade, limit):
    """ERR of equal scores in rational numbers: P(passing j items) by elementary symmetric polynomials."""
    n = sum(counts.values())
    polynomial = [Fraction(1)] + [Fraction(0)] * n
    for grade, count in counts.items():
        passing = 1 - Fraction(2**grade - 1, 2**max_grade)
        for _ in range(count):
            for j in range(n, 0, -1):
                polynomial[j] += passing * polynomial[j - 1]
    passed = [polynomial[j] / math.comb(n, j) for j in range(n + 1)]
    return float(sum((passed[j] - passed[j + 1]) / (j + 1) for j in range(min(limit, n))))


@pytest.mark.parametrize("counts", [{0: 30, 1: 20, 3: 6, 4: 4}, {1: 40}, {0: 59, 4: 1}, {4: 50}, {0: 20, 2: 20}])
@pytest.mark.parametrize("max_grade", [4, 40])
def test_err_of_a_large_block_of_equal_scores(counts, max_grade):
    labels = np.repeat(list(counts), list(counts.values()))
    for cutoff in (1, 10, len(labels)):
        found = value(f"err@{cutoff}", np.zeros(len(labels)), labels, max_grade=max_grade)
        assert found == pytest.approx(exact_err(counts, max_grade, cutoff), rel=1e-12, abs=0)


def test_err_of_thousands_of_equal_scores():
    n = 5000
    stop = 15 / 16
    assert value("err", np.zeros(n), np.full(n, 4.0)) == pytest.approx(
        sum(stop * (1 - stop) ** i / (i + 1) for i in range(100)), rel=1e-12
    )
    one_relevant = np.arange(n) == 17
    assert value("err", np.zeros(n), one_relevant * 4.0) == pytest.approx(
        stop * np.mean(1 / np.arange(1, n + 1)), rel=1e-12
    )


def test_a_list_of_a_hundred_thousand():
    rng = np.random.default_rng(5)
    labels, scores = rng.integers(0, 30, 100_000).astype(float), rng.normal(size=100_000)
    for order in (scores, np.sort(scores), -np.abs(np.arange(100_000) - 50_000.0)):
        tau = value("kendall-tau", order, labels)
        assert tau == pytest.approx(-value("kendall-tau", -order, labels), rel=1e-12) and abs(tau) < 0.01
        total = value("disagreement", order, labels) + value("disagreement", -order, labels)
        assert total == pytest.approx(value("disagreement", -labels, labels), rel=1e-9)
    assert value("kendall-tau", labels, labels) == 1
    assert value("disagreement", labels, labels) == 0
    assert value("mrr", np.zeros(100_000), labels) == pytest.approx(
        value("mrr@200", np.zeros(100_000), labels), rel=1e-12
    )
