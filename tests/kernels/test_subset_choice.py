"""Subset choices against enumeration, their twins, lists with a closed form, and extreme scores."""

import numpy as np
import pytest

from luce.errors import DataError
from luce.kernels.enumeration import ordered_partitions, subsets
from luce.kernels.ordered_likelihood import ordered_likelihood
from luce.kernels.subset_choice import arithmetic_choice, geometric_choice, log_probability, reference
from luce.lists import Lists

BOTH = pytest.mark.parametrize("worth", ["arithmetic", "geometric"])
DIRECTIONS = pytest.mark.parametrize("direction", ["forward", "backward"])


def one_list(choice, scores, labels, **settings):
    offsets = np.array([0, len(scores)])
    loss, gradient = choice(Lists(np.asarray(scores, float), np.asarray(labels, float), offsets), **settings)[:2]
    return loss[0], gradient


def log_p(scores, labels, **settings):
    offsets = np.array([0, len(scores)])
    return log_probability(Lists(np.asarray(scores, float), np.asarray(labels, float), offsets), **settings)[0]


@BOTH
@DIRECTIONS
@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 13), (4, 75), (5, 541)])
@pytest.mark.parametrize("spread", [0.5, 20])
def test_probabilities_of_all_ordered_partitions_sum_to_one(worth, direction, n, count, spread):
    partitions = np.array(ordered_partitions(n), dtype=float)
    assert len(partitions) == count
    scores = np.tile(np.random.default_rng(n).normal(0, spread, n), count)
    offsets = np.arange(count + 1) * n
    logs = log_probability(Lists(scores, partitions.ravel(), offsets), worth, direction)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


@BOTH
def test_a_stage_is_the_worth_over_the_sum_of_all_worths(worth):
    scores, labels = np.array([0.3, -1, 2, 0.5, 1, 0]), np.array([1.0, 2, 0, 0, 1, np.nan])
    mean = {"arithmetic": lambda s: np.exp(s).mean(), "geometric": lambda s: np.exp(s.mean())}[worth]
    expected = 0.0
    for chosen, left in reference.stages(labels):
        total = sum(mean(scores[left[list(subset)]]) for subset in subsets(len(left)))
        expected += np.log(mean(scores[chosen]) / total)
    assert log_p(scores, labels, worth=worth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("spread", [0.1, 3, 100, 1000, 1e4])
@pytest.mark.parametrize("choice", [arithmetic_choice, geometric_choice])
def test_equals_its_twin(choice, spread):
    rng = np.random.default_rng(5)
    for n, grades in ((2, 1), (3, 2), (4, 4), (5, 3), (9, 9), (13, 1), (14, 2), (19, 4)):
        scores, labels = rng.normal(0, spread, n), rng.integers(0, grades, n).astype(float)
        labels[n // 2] = np.nan if n > 4 else labels[n // 2]
        loss, gradient = one_list(choice, scores, labels)
        expected = getattr(reference, choice.__name__)(scores, labels)
        np.testing.assert_allclose(loss, expected[0], rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-11)


def test_a_set_out_of_reach_of_its_supersets_scale():
    rng = np.random.default_rng(3)
    labels = np.repeat([3.0, 2, 1, 0], [2, 9, 6, 5])
    for step in (60, 900, -60, -900):
        scores = labels * step + rng.normal(0, 2, len(labels))
        loss, gradient = one_list(geometric_choice, scores, labels)
        expected = reference.geometric_choice(scores, labels)
        np.testing.assert_allclose(loss, expected[0], rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-12)


@pytest.mark.parametrize("sizes", [[500], [1, 3, 60, 136, 300], [1] * 500, [499, 1], [250, 250]])
def test_equal_scores_have_a_closed_form(sizes):
    labels = np.repeat(np.arange(len(sizes))[::-1], sizes)
    left = np.cumsum(sizes[::-1])[::-1].astype(float)
    log_subsets = left * np.log(2) + np.log1p(-(2.0**-left))
    loss, gradient = one_list(geometric_choice, np.full(500, 7.0), labels)
    assert loss == pytest.approx(log_subsets.sum(), rel=1e-13)
    np.testing.assert_allclose(gradient, np.repeat(np.cumsum(1 / left) - 1 / np.array(sizes), sizes), atol=1e-13)


def test_many_items_far_apart():
    rng = np.random.default_rng(1)
    for spread in (3, 300, 1e4):
        scores, labels = rng.normal(0, spread, 130), rng.integers(0, 3, 130).astype(float)
        loss, gradient = one_list(geometric_choice, scores, labels)
        expected = 0.0
        for chosen, left in reference.stages(labels):
            sizes = [reference.log_symmetric(scores[left] / m, m) for m in range(1, len(left) + 1)]
            expected += np.logaddexp.reduce(sizes) - scores[chosen].mean()
        assert loss == pytest.approx(expected, rel=1e-12)
        direction = rng.normal(size=130)
        above, below = (one_list(geometric_choice, scores + d * direction, labels)[0] for d in (1e-4, -1e-4))
        assert gradient @ direction == pytest.approx((above - below) / 2e-4, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("choice", [arithmetic_choice, geometric_choice])
def test_scores_far_from_zero_keep_their_digits(choice):
    rng = np.random.default_rng(2)
    scores, labels = rng.integers(-99, 99, 20) / 64, rng.integers(0, 3, 20)
    near, far = one_list(choice, scores, labels), one_list(choice, scores + 2.0**40, labels)
    assert far[0] == pytest.approx(near[0], rel=1e-13)
    np.testing.assert_allclose(far[1], near[1], atol=1e-13)


def test_full_orders_make_the_arithmetic_choice_plackett_luce():
    rng = np.random.default_rng(0)
    scores, labels, offsets = rng.normal(0, 300, 12), rng.permutation(12).astype(float), np.array([0, 5, 12])
    ours, theirs = (choice(Lists(scores, labels, offsets)) for choice in (arithmetic_choice, ordered_likelihood))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-13)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-13)


def test_small_losses_and_slopes_keep_their_digits():
    loss, gradient = one_list(arithmetic_choice, [50, 49, 0, -60], [2, 2, 1, 0])
    first = np.exp(-50) / (1 + np.exp(-1))
    assert loss == pytest.approx(first + np.exp(-60), rel=1e-13, abs=0)
    assert gradient[2] == pytest.approx(first - np.exp(-60), rel=1e-13, abs=0)


@BOTH
def test_backward_is_elimination(worth):
    # The two items are eliminated one by one, the second first: worths e^−1 and 1, and their mean for both at once.
    both = {"arithmetic": (np.exp(-1) + 1) / 2, "geometric": np.exp(-0.5)}[worth]
    expected = -np.log(np.exp(-1) + 1 + both)
    assert log_p([1, 0], [1, 0], worth=worth, direction="backward") == pytest.approx(expected, abs=1e-13)
    scores, labels = np.array([0.3, -1, 2, 0.5, 1]), np.array([1.0, 1, 0, 2, 0])
    choice = {"arithmetic": arithmetic_choice, "geometric": geometric_choice}[worth]
    loss, gradient = one_list(choice, scores, labels, direction="backward")
    turned_loss, turned = one_list(choice, -scores, -labels)
    assert loss == turned_loss != one_list(choice, scores, labels)[0]
    np.testing.assert_array_equal(gradient, -turned)


@BOTH
def test_lists_with_one_outcome(worth):
    choice = {"arithmetic": arithmetic_choice, "geometric": geometric_choice}[worth]
    for labels in ([], [1], [np.nan, np.nan], [np.nan, 1]):
        loss, gradient = one_list(choice, np.arange(len(labels)) + 0.3, labels)
        assert loss == 0
        assert not gradient.any()
        assert log_p(np.arange(len(labels)) + 0.3, labels, worth=worth) == 0


def test_too_long_a_list_for_the_exact_sum():
    labels = np.full(1203, np.nan)
    labels[600:1100] = 1
    offsets = np.array([0, 1, 1203])
    assert geometric_choice(Lists(np.zeros(1203), labels, offsets)).loss[1] == pytest.approx(500 * np.log(2))
    labels[599] = 0
    with pytest.raises(DataError, match=r"at most 500 observed items.*List 2 has 501\. Use pmop-gibbs"):
        geometric_choice(Lists(np.zeros(1203), labels, offsets))
