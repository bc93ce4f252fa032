"""Objectives of an expected metric: what they measure, how many samples they take, and that they learn."""

import numpy as np
import pytest

from luce.errors import DataError, OptionError
from luce.kernels.expected_gain import reference
from luce.metrics import measure
from luce.objectives import Draw, objective
from luce.objectives.expected import estimate, samples_at
from luce.objectives.linear_metrics import best_first, linear_gains

NAMES = ("policy-gradient", "pl-rank-1", "pl-rank-2")
METRICS = ("dcg@3", "dcg", "ndcg@2", "ndcg", "precision@4", "precision", "recall@2", "arp")
LABELS, OFFSETS = np.array([0.0, 2, 1, 0, 4, 1, 3, np.nan, 0, 0, 1, 1, 5, 2]), np.array([0, 5, 5, 8, 10, 12, 14])
INFORMATIVE = [True, False, True, False, False, True]


def decided(seed=0):
    """Scores so far apart that there is one ranking."""
    return 1e4 * np.random.default_rng(seed).permutation(len(LABELS))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_the_loss_is_minus_the_metric_where_the_ranking_is_decided(name, metric, gain):
    scores = decided()
    found = objective(name, metric=metric, gain=gain, samples=3).value_and_gradient(scores, LABELS, OFFSETS)
    value = measure(scores, LABELS, OFFSETS, metric, gain=gain)[metric.lower()]
    expected = np.where(INFORMATIVE, value if metric == "arp" else -value, 0)
    if metric in ("precision@4", "precision", "recall@2"):
        expected[[2, 5]] = 0  # all are relevant: no order is better
    np.testing.assert_allclose(found.loss, expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["dcg@2", "ndcg@2", "precision@3", "arp"])
def test_loss_and_gradient_tend_to_the_exact_ones(metric):
    scores, labels = np.array([1.0, 0, 0.5, -1, 2]), np.array([2.0, 0, 1, 3, 0])
    order, offsets = best_first(labels, np.array([0, 5]))
    gains, discounts = linear_gains(labels[order], offsets, metric)
    value, gradient = reference.exact(scores[order], gains, discounts)
    goal = objective("pl-rank-2", metric=metric, samples=100_000)
    found, noise = goal.value_and_gradient(scores, labels), estimate(goal, scores, labels)
    assert abs(found.loss[0] + value) < 4 * np.sqrt(noise.value_variance[0]) < 0.02 * abs(value)
    errors = np.sqrt(noise.gradient_variance[order])
    assert (np.abs(found.gradient[order] + gradient) < 4 * errors).all()
    assert errors.max() < 0.05 * np.abs(gradient).max()


def test_a_row_of_discounts():
    scores, row = decided(3), [1.0, 0.0, -0.5]
    loss = objective("pl-rank-2", metric=row).value_and_gradient(scores, LABELS, OFFSETS).loss
    first = np.argsort(-scores[:5])
    assert loss[0] == pytest.approx(-(2 ** LABELS[first][:3] - 1) @ row)
    same = objective("pl-rank-2", metric=1 / np.log2([2, 3, 4])).value_and_gradient(scores, LABELS, OFFSETS)
    dcg = objective("pl-rank-2", metric="dcg@3").value_and_gradient(scores, LABELS, OFFSETS)
    np.testing.assert_allclose(same.loss, dcg.loss)


def test_item_weights_multiply_the_gains():
    scores, labels = np.array([0.3, 1, 0, 2]), np.array([1.0, 0, 2, 1])
    weights = np.array([2.0, 1, 0, 0.5])
    goal = objective("pl-rank-2", metric="dcg@2", gain="linear", samples=40)
    found = goal.value_and_gradient(scores, labels, item_weights=weights)
    parts = [goal.value_and_gradient(scores, labels, item_weights=one) for one in np.eye(4)]
    np.testing.assert_allclose(found.loss, sum(w * part.loss for w, part in zip(weights, parts, strict=True)))
    np.testing.assert_allclose(found.gradient, sum(w * part.gradient for w, part in zip(weights, parts, strict=True)))


def test_lists_without_a_better_order_take_no_part():
    for metric in METRICS:
        found = objective("pl-rank-1", metric=metric).value_and_gradient(np.arange(14.0), LABELS, OFFSETS)
        rows = np.repeat(INFORMATIVE, np.diff(OFFSETS))
        assert not found.gradient[~rows].any()
        assert not found.loss[~np.array(INFORMATIVE)].any()


def test_huge_labels():
    for metric in ("ndcg@10", "arp"):
        found = objective("pl-rank-2", metric=metric).value_and_gradient([0.0, 1, 2], [1e3, 2e3, 0])
        assert np.isfinite(found.loss).all() and np.isfinite(found.gradient).all() and found.gradient.any()
    with pytest.raises(DataError, match=r"2\^2000 − 1 is beyond float64"):
        objective("pl-rank-2", metric="dcg@2").value_and_gradient([0.0, 1, 2], [1e3, 2e3, 0])


def test_samples_follow_a_schedule():
    assert [samples_at((10, 100, 40), Draw(step=epoch)) for epoch in (0, 1, 20, 40, 400)] == [10, 12, 55, 100, 100]
    assert samples_at([20, 5, 3], Draw(epoch=0.6)) == 17
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=20), rng.integers(0, 4, 20).astype(float)
    for step, samples in ((0, 10), (20, 55), (90, 100)):
        draw = Draw(2, step)
        scheduled = objective("pl-rank-2", samples=(10, 100, 40)).value_and_gradient(scores, labels, draw=draw)
        constant = objective("pl-rank-2", samples=samples).value_and_gradient(scores, labels, draw=draw)
        np.testing.assert_array_equal(scheduled.gradient, constant.gradient)


@pytest.mark.parametrize("name", NAMES)
def test_an_estimate_tells_its_noise(name):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=20), rng.integers(0, 4, 20).astype(float)
    labels[4] = np.nan
    goal = objective(name, samples=50)
    found, evaluation = estimate(goal, scores, labels), goal.value_and_gradient(scores, labels)
    np.testing.assert_allclose(found.gradient, -evaluation.gradient, atol=1e-12)
    np.testing.assert_allclose(found.value, -evaluation.loss, atol=1e-12)
    assert found.samples[0] == 50 and found.gradient_variance[4] == 0
    several = np.array([estimate(goal, scores, labels, draw=Draw(seed)) for seed in range(200)], dtype=object)
    gradients, variances = (np.array(list(several[:, field]), dtype=float) for field in (1, 3))
    np.testing.assert_allclose(variances.mean(axis=0).sum(), gradients.var(axis=0).sum(), rtol=0.15)
    auto = estimate(objective(name, samples="auto"), np.tile(scores, 50), np.tile(labels, 50), np.arange(51) * 20)
    assert 16 <= auto.samples.min() < auto.samples.max() <= 1_024


def test_only_these_objectives_estimate_a_metric():
    with pytest.raises(OptionError, match=r"Only policy-gradient, .* Got listmle"):
        estimate(objective("listmle"), [0.0, 1], [1, 0])


@pytest.mark.parametrize("name", NAMES)
def test_following_the_gradient_makes_rankings_better(name):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 15).astype(float)
    goal, scores = objective(name, metric="ndcg@5"), np.zeros(15)
    start = objective("pl-rank-2", metric="ndcg@5", samples=10_000).value_and_gradient(scores, labels).loss[0]
    for step in range(150):
        scores -= 5 * goal.value_and_gradient(scores, labels, draw=Draw(0, step)).gradient
    end = objective("pl-rank-2", metric="ndcg@5", samples=10_000).value_and_gradient(scores, labels).loss[0]
    assert end < start - 0.3
    assert end < -0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "err"}, r"must be dcg, ndcg, rbp, precision or recall.*Got 'err'"),
        ({"metric": "arp@3"}, "'metric' option"),
        ({"metric": []}, "'metric' option"),
        ({"metric": [1.0, np.inf]}, "'metric' option"),
        ({"samples": 0}, "'samples' option of pl-rank-2 must be an integer ≥ 1, 'auto' or three of them"),
        ({"samples": True}, "'samples' option"),
        ({"samples": "many"}, "'samples' option"),
        ({"samples": (1, 2)}, "'samples' option"),
        ({"samples": (10, 100, 0)}, "'samples' option"),
        ({"gain": "square"}, "'gain' option"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(OptionError, match=words):
        objective("pl-rank-2", **options)


@pytest.mark.parametrize("name", ["pl-rank-2", "fair-policy"])
def test_the_number_of_samples_grows_with_every_step(name):
    scores, labels = np.array([2.0, 0.5, 1, 0, -1]), np.array([3.0, 2, 1, 1, 0])
    for draw, samples in ((Draw(5, 3), 6), (Draw(5, 3, epoch=3.6), 7), (Draw(5, 3, epoch=30.0), 11)):
        growing, fixed = (
            objective(name, samples=n).value_and_gradient(scores, labels, draw=draw).gradient
            for n in ((1, 11, 6), samples)
        )
        np.testing.assert_array_equal(growing, fixed)


def test_item_weights_stay_with_their_items():
    goal = objective("pl-rank-2", metric="dcg@3", gain="linear", samples=2)
    found = goal.value_and_gradient([3e4, 2e4, 1e4], [1.0, 0, 2], item_weights=[5.0, 7, 11])
    assert found.loss[0] == pytest.approx(-(5 * 1 + 11 * 2 / np.log2(4)))


def test_parameters_of_a_metric_are_those_of_its_name():
    labels, offsets = np.array([3.0, 1.0, 0.0, 2.0, 0.0]), np.array([0, 3, 5])
    named, given = (linear_gains(labels, offsets, *each) for each in [("ndcg(gain=linear)@2",), ("ndcg@2", "linear")])
    np.testing.assert_array_equal(named[0], given[0])
    np.testing.assert_allclose(linear_gains(labels, offsets, "rbp(p=0.5)")[1], [0.5, 0.25, 0.125])
