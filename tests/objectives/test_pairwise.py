"""The pairwise objectives beyond the laws: swaps tried out one by one, ranks held, tie parameters, huge labels."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.special import expit

from luce.errors import OptionError
from luce.objectives import objective

from .made import ragged


def ndcg(labels, order, level=None):
    """DCG of a ranking, best first, over the ideal DCG of the first `level` places."""
    discounts = 1 / np.log2(np.arange(2, len(labels) + 2))
    gains = 2.0 ** np.asarray(labels) - 1
    return gains[list(order)] @ discounts / (np.sort(gains)[::-1][:level] @ discounts[:level])


def swap_gradient(scores, labels, level=None):
    """LambdaRank's gradient with every swap carried out in every ranking that the scores allow."""
    n = len(scores)
    allowed = [o for o in permutations(range(n)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    gradient = np.zeros(n)
    for i, j in permutations(range(n), 2):
        if labels[i] > labels[j]:
            swapped = {i: j, j: i}
            changes = [
                abs(ndcg(labels, o, level) - ndcg(labels, [swapped.get(k, k) for k in o], level))
                * (level is None or min(o.index(i), o.index(j)) < level)
                for o in allowed
            ]
            wrong = np.mean(changes) * expit(scores[j] - scores[i])
            gradient[i] -= wrong
            gradient[j] += wrong
    return gradient


@pytest.mark.parametrize("level", [None, 1, 3])
@pytest.mark.parametrize("scores", [[0.3, -1, 2, 0.5, 1.2, -0.2], [0.0] * 6, [1, 1, 0, 0, 0, -2]])
def test_lambdarank_weighs_a_pair_by_what_swapping_it_does(scores, level):
    labels = [1, 0, 2, 0, 1, 4]
    found = objective("lambdarank", truncation_level=level).value_and_gradient(scores, labels).gradient
    np.testing.assert_allclose(found, swap_gradient(scores, labels, level), atol=1e-14)
    assert found.any()


@pytest.mark.parametrize("level", [1, 5, 30])
def test_lambdarank_is_that_of_lightgbm(level):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(level)
    sizes = [12, 50, 3]
    labels, scores = rng.integers(0, 5, 65), rng.normal(0, 2, 65)
    settings = {"objective": "lambdarank", "lambdarank_truncation_level": level, "lambdarank_norm": False}
    settings |= {"num_leaves": 2, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0, "lambda_l2": 1.0}
    settings |= {"learning_rate": 1.0, "num_threads": 1, "verbose": -1}
    goal = objective("lambdarank", truncation_level=level)
    ours = goal.value_and_gradient(scores, labels, np.cumsum([0, *sizes]), hessian=True)
    for _ in range(5):  # its gradients are seen in the leaves of a tree that divides the rows at random
        side = rng.integers(0, 2, 65)
        data = lightgbm.Dataset(side[:, None] * 1.0, labels, group=sizes, init_score=scores, params=settings)
        leaves = lightgbm.train(settings, data, 1).predict([[0.0], [1.0]])
        sums = np.array([[values[side == k].sum() for k in (0, 1)] for values in (ours.gradient, ours.hessian)])
        np.testing.assert_allclose(leaves, -sums[0] / (sums[1] + 1), rtol=1e-3, atol=1e-4)


def test_lambdarank_on_two_items_in_the_wrong_order():
    evaluation = objective("lambdarank").value_and_gradient([0.0, 1.0], [1, 0])
    weight = 1 - 1 / np.log2(3)
    np.testing.assert_allclose(evaluation.loss, weight * np.log1p(np.e), rtol=1e-14)
    np.testing.assert_allclose(evaluation.gradient, [-weight * expit(1), weight * expit(1)], rtol=1e-14)


def test_lambdaloss_by_hand():
    # Ranks 1, 3, 2; gains 3, 1, 0 over an ideal DCG of 3 + 1 / log₂ 3.
    scores, gains = np.array([2.0, 0.0, 1.0]), np.array([3.0, 1.0, 0.0]) / (3 + 1 / np.log2(3))
    fall = {1: 1 - 1 / np.log2(3), 2: 1 / np.log2(3) - 1 / 2}
    expected = (
        (gains[0] - gains[1]) * fall[2] * np.log2(1 + np.exp(-2))
        + (gains[0] - gains[2]) * fall[1] * np.log2(1 + np.exp(-1))
        + (gains[1] - gains[2]) * fall[1] * np.log2(1 + np.exp(1))
    )
    found = objective("lambdaloss").value_and_gradient(scores, [2, 1, 0])
    np.testing.assert_allclose(found.loss, expected, rtol=1e-14)


def test_lambdaloss_bounds_the_loss_of_ndcg():
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores, labels = rng.normal(0, 2, 8), rng.integers(0, 4, 8)
        lost = 1 - ndcg(labels, np.argsort(-scores)) if labels.any() else 0
        assert objective("lambdaloss").value_and_gradient(scores, labels).loss[0] >= lost


def test_the_variants_of_lambdaloss_add_up():
    scores, labels, offsets = ragged("lambdaloss")
    labels = np.where(np.arange(len(labels)) % 3, labels, 0)

    def gradient(name, **options):
        return objective(name, **options).value_and_gradient(scores, labels, offsets).gradient

    rank, gap = gradient("lambdarank") / np.log(2), gradient("lambdaloss")
    np.testing.assert_allclose(gradient("lambdaloss", variant="2++", mu=0.0), rank, atol=1e-14)
    np.testing.assert_allclose(gradient("lambdaloss", variant="2++", mu=3.0), rank + 3 * gap, atol=1e-14)


@pytest.mark.parametrize("goal", ["lambdarank", "lambdaloss"])
def test_with_the_ranks_held_the_gradient_is_the_slope_of_the_loss(goal):
    scores, labels, offsets = ragged(goal)
    gradient = objective(goal).value_and_gradient(scores, labels, offsets).gradient
    for row in range(len(scores)):
        step = np.zeros(len(scores))
        step[row] = 1e-6  # no two scores are as near as that
        above, below = (
            objective(goal).value_and_gradient(s, labels, offsets).loss.sum() for s in (scores + step, scores - step)
        )
        assert gradient[row] == pytest.approx((above - below) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("goal", ["lambdarank", "lambdaloss"])
def test_huge_labels_and_labels_without_gain(goal):
    scores = [0.0, 1.0, 2.0]
    huge = objective(goal).value_and_gradient(scores, [2_000, 1_999, 0])
    large = objective(goal).value_and_gradient(scores, [50, 49, -7])
    np.testing.assert_allclose(huge.gradient, large.gradient, atol=1e-12)
    assert huge.gradient[0] < 0
    nothing = objective(goal).value_and_gradient(scores, [0, -1, -2])
    assert nothing.loss[0] == 0 and not nothing.gradient.any()


def test_tie_parameters_start_where_one_game_in_three_of_equals_is_drawn():
    for goal in ("pairties-davidson", "pairties-rao-kupper"):
        drawn = objective(goal).value_and_gradient([1.0, 1.0], [2, 2])
        assert np.exp(-drawn.loss[0]) == pytest.approx(1 / 3)
        assert drawn.nuisance_gradient[0, 0] < 0  # a draw asks for more draws
        with pytest.raises(OptionError, match="tie parameter must be at most 700"):
            objective(goal).value_and_gradient([1.0, 1.0], [2, 2], nuisance=[701.0])


def test_equal_labels_pull_scores_together_only_where_ties_count():
    pull = {
        goal: objective(goal).value_and_gradient([1.0, 0.0], [2, 2]).gradient[0]
        for goal in ("ranknet", "ranksvm", "rankregress", "pairties-davidson", "pairties-rao-kupper")
    }
    assert pull["pairties-davidson"] > 0 and pull["pairties-rao-kupper"] > 0
    assert pull["ranknet"] == pull["ranksvm"] == pull["rankregress"] == 0


def test_item_weights_multiply_pairs():
    scores, labels = np.array([0.2, -0.4, 1.0]), [2, 1, 0]
    for goal in ("ranknet", "ranksvm", "rankregress", "lambdarank", "lambdaloss"):
        pairs = [
            objective(goal).value_and_gradient(scores, labels, item_weights=weights).loss[0]
            for weights in ([1, 1, 0], [1, 0, 1], [0, 1, 1])
        ]
        together = objective(goal).value_and_gradient(scores, labels, item_weights=[2, 3, 5]).loss[0]
        assert together == pytest.approx(np.dot(pairs, [6, 10, 15]))


@pytest.mark.parametrize("name", ["lambdarank", "lambdaloss"])
def test_dcg_weights_a_list_by_its_ideal_dcg(name):
    labels, scores = np.array([1.0, 0, 2, 0, 1, 4]), np.array([0.3, -1, 2, 0.5, 1.2, -0.2])
    ideal = np.sort(2**labels - 1)[::-1] @ (1 / np.log2(np.arange(2, 8)))
    dcg, ndcg = (objective(name, metric=metric).value_and_gradient(scores, labels) for metric in ("dcg", "ndcg"))
    np.testing.assert_allclose(dcg.gradient, ideal * ndcg.gradient)
    at_two = objective(name, metric="ndcg@2", truncation_level=None).value_and_gradient(scores, labels)
    cut = objective(name, metric="dcg@2", truncation_level=None).value_and_gradient(scores, labels)
    np.testing.assert_allclose(cut.loss, (15 + 3 / np.log2(3)) * at_two.loss)


def test_lambdaloss_of_dcg_at_five_is_the_baseline_of_2021():
    """Pair by pair as printed: (θ_d − θ_{d+1}) (ρ_i − ρ_j), θ zero past the cutoff."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, 14), rng.normal(size=14)
    gains, ranks = 2.0**labels - 1, np.argsort(np.argsort(-scores))
    theta = np.append(1 / np.log2(np.arange(2, 7)), np.zeros(20))
    wanted = np.zeros(14)
    for i, j in permutations(range(14), 2):
        if labels[i] > labels[j]:
            d = abs(ranks[i] - ranks[j])
            pull = (theta[d - 1] - theta[d]) * (gains[i] - gains[j]) * expit(scores[j] - scores[i]) / np.log(2)
            wanted[[i, j]] += [-pull, pull]
    found = objective("lambdaloss", metric="dcg@5", truncation_level=None).value_and_gradient(scores, labels)
    np.testing.assert_allclose(found.gradient, wanted, atol=1e-12)
    for other in ("err", "dcg@0", "ndcg(gain=linear)", 5):
        with pytest.raises(OptionError, match="'metric' option of lambdaloss must be ndcg or dcg"):
            objective("lambdaloss", metric=other)
