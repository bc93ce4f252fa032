"""The outcomes of a list with too many pairs to go through: in O(n), by cutting the list into blocks.

A block is a grade of many items, or several smaller grades. Pairs within a block of smaller grades are gone through;
those between blocks, and the draws of a large grade, are summed by `interpolated`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.pairs.draws import DAVIDSON, NO_DRAWS, RAO_KUPPER, own_share, terms_of_draws
from luce.kernels.pairs.interpolated import BENT, LOSS, TERMS, WRONG, sums_over_later_blocks, table_of_terms
from luce.threads import in_parallel

LARGE = 256
"""Items up to which a block is gone through."""


def outcomes_in_blocks(
    scores: Floats,
    labels: Floats,
    item_weights: Floats | None,
    draws: int,
    parameter: float,
    within: Callable[..., tuple[Floats, Floats, Floats | None, Floats]],
    curvature: bool,
    n_jobs: int | None,
) -> tuple[float, Floats, Floats, float]:
    """Loss, gradient, second derivative and slope of the tie parameter; `within` gives them for short lists."""
    order = np.argsort(-labels, kind="stable")[: np.count_nonzero(~np.isnan(labels))]
    s, y = scores[order], labels[order]
    w = np.ones(len(s)) if item_weights is None else item_weights[order]
    cuts = _cuts(y)
    large = np.diff(cuts) > LARGE
    rows_of_large = np.repeat(large, np.diff(cuts))
    weights = None if item_weights is None else w
    losses, slope, bend, tie_slopes = within(s, np.where(rows_of_large, np.nan, y), cuts, item_weights=weights)
    loss, tie_slope = losses.sum(), tie_slopes.sum()
    bend = np.zeros(len(s)) if bend is None else bend

    # Lower items meet upper ones as upper ones meet lower ones in the list turned round, with the scores negated.
    margin = np.log1p(np.exp(parameter)) if draws == RAO_KUPPER else 0.0
    tie = np.exp(parameter) if draws == DAVIDSON else 0.0
    share = np.where(large, {NO_DRAWS: 0.0, RAO_KUPPER: 1.0, DAVIDSON: 0.5}[draws], 0.0)  # of draws, as met both ways
    terms, table = TERMS if curvature else BENT, table_of_terms(margin, tie)
    down, up = np.zeros((2, len(s))), np.zeros((2, len(s)))
    back = len(s) - cuts[::-1], share[::-1].copy(), -s[::-1], w[::-1].copy()
    tasks: list[Callable[[], tuple[float, float]]] = [
        partial(sums_over_later_blocks, cuts, share, s, w, margin, tie, table, LOSS, terms, down),
        partial(sums_over_later_blocks, *back, margin, tie, table, WRONG, terms, up),
    ]
    (between, drawn), _ = in_parallel(tasks, n_jobs)
    loss += between
    tie_slope += drawn + own_share(draws, parameter) * (w @ down[0])
    slope += w * (up[0, ::-1] - down[0])
    bend += w * (up[1, ::-1] + down[1])

    if draws != NO_DRAWS:
        log_own, own_slope, own_bend, log_tied, tied_slope = terms_of_draws(draws, parameter)
        starts, met = cuts[:-1], np.repeat(share, np.diff(cuts)) * w * w  # items of large grades met themselves too
        tied = 0.5 * (np.add.reduceat(w, starts) ** 2 - np.add.reduceat(w * w, starts)) @ large
        loss -= tied * log_tied + met.sum() * log_own
        tie_slope -= tied * tied_slope + met.sum() * own_slope
        bend = np.maximum(bend - 2.0 * met * own_bend, 0.0)

    gradient, second = np.zeros(len(scores)), np.zeros(len(scores))
    gradient[order], second[order] = slope, bend
    return loss, gradient, second, tie_slope


def _cuts(labels: Floats) -> Integers:
    """Where the blocks of sorted labels begin, and where the last one ends."""
    ends = np.append(np.flatnonzero(np.diff(labels)) + 1, len(labels))
    cuts = [0]
    while cuts[-1] < len(labels):
        fitting = np.searchsorted(ends, cuts[-1] + LARGE, side="right") - 1
        first = np.searchsorted(ends, cuts[-1], side="right")
        cuts.append(int(ends[max(fitting, first)]))
    return np.array(cuts)
