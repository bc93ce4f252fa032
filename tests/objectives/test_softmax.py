"""Softmax, cosine, regression and grade objectives against values worked out by hand."""

import numpy as np
import pytest
from scipy.special import log_softmax

from luce.errors import DataError
from luce.objectives import objective
from luce.objectives.pointwise import expected_grade

SCORES, LABELS = np.array([0.5, -1.0, 2.0]), np.array([2.0, 0.0, 1.0])
GAINS = np.array([3.0, 0.0, 1.0])
IDEAL = 3 + 1 / np.log2(3)


def loss(name, scores=SCORES, labels=LABELS):
    return objective(name).value_and_gradient(scores, labels).loss[0]


def test_listnet():
    evaluation = objective("listnet").value_and_gradient([1.0, 0.0], [np.log(3.0), 0.0])
    p = 1 / (1 + np.exp(-1))
    assert evaluation.loss[0] == pytest.approx(-0.75 * np.log(p) - 0.25 * np.log(1 - p), abs=1e-14)
    np.testing.assert_allclose(evaluation.gradient, [p - 0.75, 0.75 - p], atol=1e-14)


def test_cross_entropies():
    log_p = log_softmax(SCORES)
    attention = np.array([np.e**2, 0, np.e]) / (np.e**2 + np.e)
    assert loss("attrank") == pytest.approx(-attention @ log_p, abs=1e-14)
    assert loss("kl") == pytest.approx(-GAINS @ log_p / 4, abs=1e-14)
    assert loss("c-kl") == pytest.approx(-GAINS @ log_p / IDEAL, abs=1e-14)


def test_cosines():
    length = np.linalg.norm(SCORES)
    assert loss("rankcosine") == pytest.approx((1 - LABELS @ SCORES / (np.sqrt(5) * length)) / 2, abs=1e-14)
    assert loss("cosine") == pytest.approx((1 - GAINS @ SCORES / (np.sqrt(10) * length)) / 2, abs=1e-14)
    assert loss("c-cosine") == pytest.approx((1 - GAINS @ SCORES / (IDEAL * length)) / 2, abs=1e-14)
    start = objective("rankcosine").value_and_gradient(np.zeros(3), LABELS)
    assert start.loss[0] == 0.5
    assert start.gradient.argmin() == 0


def test_regressions():
    assert loss("squared-gain") == pytest.approx(((SCORES - GAINS) ** 2).sum())
    assert loss("squared-label") == pytest.approx(((SCORES - LABELS) ** 2).sum())
    assert loss("c-squared") == pytest.approx(((SCORES - GAINS / IDEAL) ** 2).sum())
    assert np.isfinite(loss("squared-gain", labels=[500.0, 0, 1]))
    with pytest.raises(DataError, match=r"loss .* of squared-gain is beyond float64 .* labels from 0 to 600"):
        loss("squared-gain", labels=[600.0, 0, 1])
    for weights in (None, np.zeros(3)):
        with pytest.raises(DataError, match="gain 2\\^2000 − 1 at row 1 is beyond float64"):
            objective("squared-gain").value_and_gradient(SCORES, [0.0, 2000, 1], item_weights=weights)


@pytest.mark.parametrize("name", ["kl", "c-kl", "cosine", "c-cosine", "c-squared"])
def test_lists_without_gain_give_nothing_and_large_labels_do_not_overflow(name):
    evaluation = objective(name).value_and_gradient(SCORES, np.zeros(3))
    assert evaluation.loss[0] == 0
    assert not evaluation.gradient.any()
    assert np.isfinite(loss(name, labels=[2000.0, 0, 1999]))


def test_mcrank():
    scores = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    expected = -log_softmax(scores, axis=1)[[0, 1, 2], [1, 0, 1]].sum()
    assert loss("mcrank", scores, [1, 0, 1]) == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(expected_grade(np.log([[1.0, 1, 2], [1, 0.0001, 1e-9]])), [1.25, 0.0001], atol=1e-4)
    assert objective("mcrank").ranking_score is expected_grade
    for wrong in (0.5, 3, -1):
        with pytest.raises(DataError, match=f"integer grades from 0 to 2, one for each output. Got {wrong} at row 1"):
            loss("mcrank", scores, [np.nan, wrong, 0])
    with pytest.raises(DataError, match=r"takes scores \(rows, grades\)"):
        loss("mcrank", SCORES, LABELS)


def test_softmax_counts_every_grade_above_zero_once():
    log_p = log_softmax(SCORES)
    assert loss("softmax") == pytest.approx(-log_p[0] - log_p[2], abs=1e-14)
