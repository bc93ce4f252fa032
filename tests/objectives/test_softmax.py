"""Softmax, cosine, regression and grade objectives against values worked out by hand."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from luce.arrays import list_of_row
from luce.errors import DataError, NumericalError, OptionError
from luce.kernels.top_cross_entropy import reference
from luce.metrics import measure
from luce.objectives import objective
from luce.objectives.pointwise import expected_grade

from .made import ragged

SCORES, LABELS = np.array([0.5, -1.0, 2.0]), np.array([2.0, 0.0, 1.0])
GAINS = np.array([3.0, 0.0, 1.0])
IDEAL = 3 + 1 / np.log2(3)


def loss(name, scores=SCORES, labels=LABELS, **options):
    return objective(name, **options).value_and_gradient(scores, labels).loss[0]


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
    assert loss("c-kl", depth=1) == pytest.approx(-GAINS @ log_p / 3, abs=1e-14)


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
        with pytest.raises(DataError, match="gain 2\\^2000 − 1 at row 2 is beyond float64"):
            objective("squared-gain").value_and_gradient(SCORES, [0.0, 2000, 1], item_weights=weights)


@pytest.mark.parametrize("name", ["kl", "c-kl", "cosine", "c-cosine", "c-squared"])
def test_lists_without_gain_give_nothing_and_large_labels_do_not_overflow(name):
    evaluation = objective(name).value_and_gradient(SCORES, np.zeros(3))
    assert evaluation.loss[0] == 0
    assert not evaluation.gradient.any()
    assert np.isfinite(loss(name, labels=[2000.0, 0, 1999]))


MINIMIZERS = {"c-squared": np.array, "c-cosine": np.array, "c-kl": np.log}
"""The scores of least expected loss, of the expected gains over ideal DCG."""


@pytest.mark.parametrize("name", MINIMIZERS)
def test_the_ideal_dcg_to_a_depth_makes_losses_consistent_with_ndcg_at_that_depth(name):
    labels, chances = np.array([[2.0, 0, 0, 0], [0, 1, 1, 1], [1, 2, 0, 1]]), np.array([0.4, 0.5, 0.1])
    gains, discounts = np.exp2(labels) - 1, 1 / np.log2([2, 3, 4, 5])
    firsts = {}
    for depth in (1, 2, None):
        ideal = np.sum((np.sort(gains)[:, ::-1] * discounts)[:, :depth], axis=1)
        best = MINIMIZERS[name](chances @ (gains / ideal[:, None]))
        slope = [objective(name, depth=depth).value_and_gradient(best, one).gradient for one in labels]
        np.testing.assert_allclose(chances @ slope, 0, atol=1e-15)
        firsts[depth] = best.argmax()
        metric = "ndcg" if depth is None else f"ndcg@{depth}"
        orders = [best, *map(np.array, permutations(np.arange(4.0)))]
        values = [
            chances @ measure(np.tile(order, 3), labels.ravel(), np.arange(0, 13, 4), metric)[metric]
            for order in orders
        ]
        assert values[0] == pytest.approx(max(values), abs=1e-14)
    assert firsts[1] == 1 != firsts[None]  # the whole list's ideal DCG is not that of NDCG@1


@pytest.mark.parametrize("name", MINIMIZERS)
def test_depth_beyond_a_list_changes_nothing_and_the_gradient_is_the_finite_difference(name):
    scores, labels, offsets = ragged(name)
    whole, deep, top = (
        objective(name, depth=depth).value_and_gradient(scores, labels, offsets) for depth in (None, 10_000, 2)
    )
    np.testing.assert_array_equal(whole.gradient, deep.gradient)
    assert np.abs(top.gradient - whole.gradient).max() > 1e-3
    for row in range(len(scores)):
        step = 1e-5 * (np.arange(len(scores)) == row)
        above, below = (
            objective(name, depth=2).value_and_gradient(scores + d, labels, offsets).loss.sum() for d in (step, -step)
        )
        assert top.gradient[row] == pytest.approx((above - below) / 2e-5, rel=1e-6, abs=1e-7)


def test_mcrank():
    scores = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    expected = -log_softmax(scores, axis=1)[[0, 1, 2], [1, 0, 1]].sum()
    assert loss("mcrank", scores, [1, 0, 1]) == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(expected_grade(np.log([[1.0, 1, 2], [1, 0.0001, 1e-9]])), [1.25, 0.0001], atol=1e-4)
    assert objective("mcrank").ranking_score is expected_grade
    for wrong in (0.5, 3, -1):
        with pytest.raises(DataError, match=f"integer grades from 0 to 2, one for each output. Got {wrong} at row 2"):
            loss("mcrank", scores, [np.nan, wrong, 0])
    with pytest.raises(DataError, match=r"needs scores of shape \(rows, grades\)"):
        loss("mcrank", SCORES, LABELS)


@pytest.mark.parametrize(
    ("gain", "values"),
    [
        ("label", {-2.0: 0, 0: 0, 0.5: 0.5, 1: 1, 3: 3}),
        ("exponential", {-2.0: 0, 0: 0, 0.5: np.sqrt(2) - 1, 1: 1, 3: 7}),
        ("binary", {-2.0: 0, 0: 0, 0.5: 1, 1: 1, 3: 1}),
    ],
)
def test_softmax_weights_by_the_gain(gain, values):
    scores = np.array([0.5, -1.0, 2.0, 9.0, 0.1, -0.3, 1.0, 0.0])
    labels, offsets = np.array([3, 0, -2, np.nan, 0.5, 1, 0, -2]), [0, 6, 8]
    weights = np.array([1, 1, 2, 5, 0.5, 1, 1, 1])
    found = objective("softmax", gain=gain).value_and_gradient(scores, labels, offsets, item_weights=weights)
    log_p = log_softmax(scores[[0, 1, 2, 4, 5]])
    gains = weights[[0, 1, 2, 4, 5]] * [values[y] for y in labels[[0, 1, 2, 4, 5]]]
    np.testing.assert_allclose(found.loss, [-gains @ log_p, 0], rtol=1e-14)  # the second list has no gain
    expected = np.zeros(8)
    expected[[0, 1, 2, 4, 5]] = gains.sum() * np.exp(log_p) - gains
    np.testing.assert_allclose(found.gradient, expected, atol=1e-14)


def test_softmax_is_the_cross_entropy_of_other_libraries():
    scores, labels = np.array([[1.0, 3, 2], [1, 2, 3]]), np.array([[0.0, 0, 1], [0, 0, 2]])
    found = objective("softmax").value_and_gradient(scores.ravel(), labels.ravel(), [0, 3, 6])
    # An example in the tests of TF-Ranking: the mean over lists is −(log p + 2 log q) / 2.
    p, q = np.exp(2) / np.exp([1, 3, 2]).sum(), np.exp(3) / np.exp([1, 2, 3]).sum()
    assert found.loss.mean() == pytest.approx(-(np.log(p) + 2 * np.log(q)) / 2, rel=1e-14)
    inputs = torch.tensor(scores, requires_grad=True)
    each = torch.nn.functional.cross_entropy(inputs, torch.tensor(labels), reduction="none")
    each.sum().backward()
    np.testing.assert_allclose(found.loss, each.detach(), rtol=1e-14)
    np.testing.assert_allclose(found.gradient, inputs.grad.ravel(), atol=1e-14)


def test_kl_is_softmax_with_normalized_gains():
    scores, labels, offsets = ragged("softmax")
    labels[labels == 0] = -1.0
    plain = objective("softmax", gain="exponential").value_and_gradient(scores, labels, offsets, hessian=True)
    normalized = objective("kl").value_and_gradient(scores, labels, offsets, hessian=True)
    lists = list_of_row(offsets)
    sums = np.bincount(lists, np.nan_to_num(np.exp2(np.maximum(labels, 0)) - 1), len(offsets) - 1)
    np.testing.assert_allclose(normalized.loss * sums, plain.loss, rtol=1e-13)
    np.testing.assert_allclose(normalized.gradient * sums[lists], plain.gradient, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(normalized.hessian * sums[lists], plain.hessian, rtol=1e-12, atol=1e-14)


def test_softmax_refuses_gains_beyond_float64():
    with pytest.raises(NumericalError, match=r"of softmax is beyond float64 .* labels from 0 to 2000"):
        objective("softmax", gain="exponential").value_and_gradient(SCORES, [2000.0, 0, 1999])


@pytest.mark.parametrize("depth", [2, 3])
def test_listnet_of_several_ranks(depth):
    scores, labels, offsets = ragged("listnet")
    chosen = objective("listnet", depth=depth)
    found = chosen.value_and_gradient(scores, labels, offsets)
    kept = ~np.isnan(labels)
    fewer = np.concatenate([[0], np.cumsum(kept)])[offsets]
    for q, (a, b) in enumerate(pairwise(fewer)):
        expected = reference.top_cross_entropy(scores[kept][a:b], labels[kept][a:b], depth) if b - a > 1 else 0.0
        assert found.loss[q] == pytest.approx(expected, rel=1e-12)
    moved = chosen.value_and_gradient(np.round(8 * scores) / 8 + 1e9, labels + 5, offsets)
    at_rest = chosen.value_and_gradient(np.round(8 * scores) / 8, labels, offsets)
    np.testing.assert_allclose(moved.loss, at_rest.loss, rtol=1e-12)
    np.testing.assert_allclose(moved.gradient, at_rest.gradient, atol=1e-13)
    with pytest.raises(OptionError, match="'depth' option of listnet must be an integer from 1 to 3"):
        objective("listnet", depth=4)
