"""Losses summed over the pairs of a list: what is wanted of δ = s_i − s_j where item i has the higher label.

A pair's weight is the product of its items' weights. Lists without a pair that says anything give 0. However many the
pairs, memory is O(n): squares and outcomes take O(n) time, hinges O(n log n), the swaps go through the pairs.
"""

from functools import partial

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.pairs import hinges, outcomes, squares, swaps
from luce.kernels.pairs.blocks import outcomes_in_blocks
from luce.kernels.pairs.draws import DAVIDSON, NO_DRAWS, RAO_KUPPER
from luce.kernels.pairs.parts import over_lists_and_parts
from luce.threads import over_lists

DRAWS = {"none": NO_DRAWS, "rao-kupper": RAO_KUPPER, "davidson": DAVIDSON}
NONE = np.empty(0)


def pair_squares(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Σ (1 − δ)² over the pairs with different labels: loss (Q,), gradient (N,), second derivative (N,) if asked for.

    >>> pair_squares(np.array([2.0, 0, 0]), np.array([1.0, 0, 0]), np.array([0, 3]), curvature=True)
    (array([2.]), array([ 4., -2., -2.]), array([4., 2., 2.]))
    """
    loss, gradient, second = np.zeros(len(offsets) - 1), np.zeros(len(scores)), np.zeros(len(scores) * curvature)
    inputs = [frozen(array) for array in (offsets, scores, labels, NONE if item_weights is None else item_weights)]
    over_lists(squares.pair_squares, *inputs, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None


def pair_hinges(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    item_weights: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Σ max(0, 1 − δ) over the pairs with different labels: loss (Q,) and gradient (N,), 0 where δ = 1.

    >>> pair_hinges(np.array([0.5, 0, -1]), np.array([1.0, 0, 0]), np.array([0, 3]))
    (array([0.5]), array([-1.,  1.,  0.]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    inputs = [frozen(array) for array in (offsets, scores, labels, NONE if item_weights is None else item_weights)]
    over_lists(hinges.pair_hinges, *inputs, loss, gradient, n_jobs=n_jobs)
    return loss, gradient


def pair_outcomes(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    draws: str = "none",
    parameter: float = 0.0,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None, Floats]:
    """−Σ log P(outcome): loss (Q,), gradient (N,), second derivative (N,) if asked for, slope of the parameter (Q,).

    draws="none": P(i > j) = 1 / (1 + e^{−δ}); pairs with equal labels say nothing. Else they are draws:
    "rao-kupper", θ = 1 + e^parameter: P(i > j) = 1 / (1 + θ e^{−δ}), P(draw) = (θ² − 1) P(i > j) P(j > i);
    "davidson", ν = e^parameter: P(i > j) = 1 / D, P(draw) = ν e^{−δ/2} / D with D = 1 + ν e^{−δ/2} + e^{−δ}.

    >>> loss, gradient, _, _ = pair_outcomes(np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 3]))
    >>> loss / np.log(2), gradient
    (array([2.]), array([-1. ,  0.5,  0.5]))
    >>> loss, _, _, _ = pair_outcomes(np.zeros(2), np.ones(2), np.array([0, 2]), draws="davidson")
    >>> np.exp(-loss)  # equal items draw one game in three where ν = 1
    array([0.33333333])
    """
    loss, slope = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1)
    gradient, second = np.zeros(len(scores)), np.zeros(len(scores) * curvature)
    left, model = np.zeros(len(offsets) - 1, dtype=bool), (DRAWS[draws], float(parameter))
    inputs = [frozen(array) for array in (offsets, scores, labels, NONE if item_weights is None else item_weights)]
    over_lists(outcomes.pair_outcomes, *inputs, *model, loss, slope, gradient, second, left, n_jobs=n_jobs)
    within = partial(pair_outcomes, draws=draws, parameter=parameter, curvature=curvature, n_jobs=n_jobs)
    for q in np.flatnonzero(left):
        rows = slice(offsets[q], offsets[q + 1])
        weights = None if item_weights is None else item_weights[rows]
        loss[q], gradient[rows], bend, slope[q] = outcomes_in_blocks(
            scores[rows], labels[rows], weights, *model, within, curvature, n_jobs
        )
        if curvature:
            second[rows] = bend
    return loss, gradient, second if curvature else None, slope


def pair_swaps(
    scores: Floats,
    labels: Floats,
    gains: Floats,
    offsets: Integers,
    *,
    truncation_level: int | None = None,
    change: float = 1.0,
    gap: float = 0.0,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Σ c_ij log(1 + e^{−δ}) over the pairs with different labels: loss (Q,), gradient (N,), second derivative (N,).

    c_ij = (G_i − G_j) / ideal DCG · (change·|D_i − D_j| + gap·Δ(|r_i − r_j|)): gains G on any scale, rising with the
    labels (NaN in a list without gain: loss 0); discounts D = 1 / log₂(1 + rank); Δ(d) = 1/log₂(1 + d) − 1/log₂(2 + d);
    r the ranks by the scores, which are held in the derivatives. With a truncation level k, c_ij = 0 where neither item
    is among the first k, and the ideal DCG is that of k places. Equal scores share their ranks: c_ij is its mean over
    their orders.

    >>> loss, gradient, _ = pair_swaps(np.zeros(2), np.array([1.0, 0]), np.array([1.0, 0]), np.array([0, 2]))
    >>> gradient.round(6)  # ½ (1 − 1 / log₂ 3)
    array([-0.184535,  0.184535])
    """
    loss, gradient, second = np.zeros(len(offsets) - 1), np.zeros(len(scores)), np.zeros(len(scores) * curvature)
    level = np.iinfo(np.int64).max if truncation_level is None else truncation_level
    over_lists_and_parts(
        swaps.pair_swaps,
        offsets,
        [scores, labels, gains, NONE if item_weights is None else item_weights],
        [level, float(change), float(gap)],
        [loss],
        [gradient, second],
        n_jobs,
        level,
    )
    return loss, gradient, second if curvature else None
