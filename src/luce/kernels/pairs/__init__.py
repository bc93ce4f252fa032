"""Losses summed over the pairs of a list, as functions of δ = s_i − s_j, where item i has the higher label.

A pair's weight is the product of its items' weights. Lists without such a pair give 0. However many the
pairs, memory is O(n): squares and outcomes take O(n) time, hinges O(n log n), the swaps go through the pairs.
Squares: Σ (1 − δ)² over the pairs with different labels. Hinges: Σ max(0, 1 − δ), the derivative 0 where δ = 1.
"""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, read_only
from luce.kernels.pairs import outcomes, swaps
from luce.kernels.pairs.blocks import outcomes_in_blocks
from luce.kernels.pairs.draws import DAVIDSON, NO_DRAWS, RAO_KUPPER
from luce.kernels.pairs.parts import over_lists_and_parts
from luce.lists import Evaluation, Lists
from luce.threads import over_lists

DRAWS = {"none": NO_DRAWS, "rao-kupper": RAO_KUPPER, "davidson": DAVIDSON}

HINGE, SQUARE = 3, 4
"""The losses on a device that are not the likelihood of an outcome, beside the numbers of `DRAWS`."""


def pair_outcomes(lists: Lists, draws: str = "none", parameter: float = 0.0) -> Evaluation:
    """−Σ log P(outcome), and its derivative in the parameter as the gradient of one nuisance parameter.

    draws="none": P(i > j) = 1 / (1 + e^{−δ}); pairs with equal labels say nothing. Else they are draws:
    "rao-kupper", θ = 1 + e^parameter: P(i > j) = 1 / (1 + θ e^{−δ}), P(draw) = (θ² − 1) P(i > j) P(j > i);
    "davidson", ν = e^parameter: P(i > j) = 1 / D, P(draw) = ν e^{−δ/2} / D with D = 1 + ν e^{−δ/2} + e^{−δ}.

    >>> found = pair_outcomes(Lists(np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 3])))
    >>> found.loss / np.log(2), found.gradient
    (array([2.]), array([-1. ,  0.5,  0.5]))
    >>> found = pair_outcomes(Lists(np.zeros(2), np.ones(2), np.array([0, 2])), "davidson")
    >>> np.exp(-found.loss)  # equal items draw one game in three where ν = 1
    array([0.33333333])
    """
    scores, labels, offsets, weights = lists[:4]
    n_lists, model = len(offsets) - 1, (DRAWS[draws], float(parameter))
    loss, derivative, left = np.zeros(n_lists), np.zeros(n_lists), np.zeros(n_lists, dtype=bool)
    gradient, second = np.zeros(len(scores)), np.zeros(len(scores) * lists.hessian)
    results = loss, derivative, gradient, second, left
    inputs = scores, labels, lists.weights, *model
    over_lists(outcomes.pair_outcomes, offsets, *inputs, results=results, n_jobs=lists.n_jobs)

    def within(scores: Floats, labels: Floats, offsets: Integers, item_weights: Floats | None) -> Any:
        block = lists._replace(scores=scores, labels=labels, offsets=offsets, item_weights=item_weights)
        return pair_outcomes(block, draws, parameter)

    for q in np.flatnonzero(left):
        rows = slice(offsets[q], offsets[q + 1])
        own = scores[rows], labels[rows], None if weights is None else weights[rows]
        loss[q], gradient[rows], hessian, derivative[q] = outcomes_in_blocks(
            *own, *model, within, lists.hessian, lists.n_jobs
        )
        if lists.hessian:
            second[rows] = hessian
    return Evaluation(loss, gradient, second if lists.hessian else None, derivative[:, None])


def pair_swaps(
    lists: Lists,
    gains: Floats,
    truncation_level: int | None = None,
    change: float = 1.0,
    gap: float = 0.0,
    discounts: Floats | None = None,
    normalized: bool = True,
) -> Evaluation:
    """Σ c_ij log(1 + e^{−δ}) over the pairs with different labels.

    c_ij = (G_i − G_j) / ideal DCG · (change·|D(r_i) − D(r_j)| + gap·(D(d) − D(d + 1))), d = |r_i − r_j|: gains G on any
    scale, rising with the labels (NaN in a list without gain: loss 0), not divided unless `normalized`; discounts D of
    the first ranks, 0 past them, by default 1 / log₂(1 + rank) of all; r the ranks by the scores, which are held in the
    derivatives. With a truncation level k, c_ij = 0 where neither item is among the first k, and the ideal DCG is that
    of k places. Equal scores share their ranks: c_ij is its mean over their orders.

    >>> found = pair_swaps(Lists(np.zeros(2), np.array([1.0, 0]), np.array([0, 2])), np.array([1.0, 0]))
    >>> found.gradient.round(6)  # ½ (1 − 1 / log₂ 3)
    array([-0.184535,  0.184535])
    """
    n_rows, level = len(lists.scores), np.iinfo(np.int64).max if truncation_level is None else truncation_level
    longest = int(np.diff(lists.offsets).max(initial=0))
    given = 1.0 / np.log2(np.arange(2.0, longest + 2.0)) if discounts is None else discounts[:longest]
    by_rank = np.concatenate([given, np.zeros(longest - len(given))])
    loss, gradient, second = np.zeros(len(lists.offsets) - 1), np.zeros(n_rows), np.zeros(n_rows * lists.hessian)
    over_lists_and_parts(
        swaps.pair_swaps,
        lists.offsets,
        [lists.scores, lists.labels, gains, lists.weights],
        [level, float(change), float(gap), read_only(by_rank), normalized],
        [loss],
        [gradient, second],
        level,
        lists.n_jobs,
    )
    return Evaluation(loss, gradient, second if lists.hessian else None)


def sums_of_discounts(discounts: Floats) -> Floats:
    """Σ_{r<k} D_r and Σ_{r<k} r D_r for k = 0 … places, (2, places + 1), r counted from the first place on.

    >>> sums_of_discounts(np.array([1.0, 0.5, 0.25]))
    array([[0.  , 1.  , 1.5 , 1.75],
           [0.  , 0.  , 0.5 , 1.  ]])
    """
    sums = np.zeros((2, len(discounts) + 1))
    np.cumsum([discounts, np.arange(len(discounts)) * discounts], axis=1, out=sums[:, 1:])
    return sums
