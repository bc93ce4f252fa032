"""The outcome likelihood of a list with very many pairs in O(n), by cutting the list into blocks.

A block is a grade of many items, or several smaller grades. Pairs within a block of smaller grades are summed one by
one; those between blocks, and the draws of a large grade, are summed by `interpolated`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.pairs.draws import DAVIDSON, NO_DRAWS, RAO_KUPPER, own_share, terms_of_draws
from luce.kernels.pairs.interpolated import HESSIAN, LOSS, TERMS, WRONG, sums_over_later_blocks, table_of_terms
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
    wants_hessian: bool,
    n_jobs: int | None,
) -> tuple[float, Floats, Floats, float]:
    """Loss, gradient, second derivative and derivative of the tie parameter; `within` gives them for short lists."""
    order = np.argsort(-labels, kind="stable")[: np.count_nonzero(~np.isnan(labels))]
    s, y = scores[order], labels[order]
    w = np.ones(len(s)) if item_weights is None else item_weights[order]
    cuts = _cuts(y)
    large = np.diff(cuts) > LARGE
    rows_of_large = np.repeat(large, np.diff(cuts))
    weights = None if item_weights is None else w
    losses, derivative, hessian, tie_derivatives = within(
        s, np.where(rows_of_large, np.nan, y), cuts, item_weights=weights
    )
    loss, tie_derivative = losses.sum(), tie_derivatives.sum()
    hessian = np.zeros(len(s)) if hessian is None else hessian

    # Lower items meet upper ones as upper ones meet lower ones in the list turned round, with the scores negated.
    margin = np.log1p(np.exp(parameter)) if draws == RAO_KUPPER else 0.0
    tie = np.exp(parameter) if draws == DAVIDSON else 0.0
    share = np.where(large, {NO_DRAWS: 0.0, RAO_KUPPER: 1.0, DAVIDSON: 0.5}[draws], 0.0)  # of draws, as met both ways
    terms, table = TERMS if wants_hessian else HESSIAN, table_of_terms(margin, tie)
    down, up = np.zeros((2, len(s))), np.zeros((2, len(s)))
    back = len(s) - cuts[::-1], share[::-1].copy(), -s[::-1], w[::-1].copy()
    tasks: list[Callable[[], tuple[float, float]]] = [
        partial(sums_over_later_blocks, cuts, share, s, w, margin, tie, table, LOSS, terms, down),
        partial(sums_over_later_blocks, *back, margin, tie, table, WRONG, terms, up),
    ]
    (between, drawn), _ = in_parallel(tasks, n_jobs)
    loss += between
    tie_derivative += drawn + own_share(draws, parameter) * (w @ down[0])
    derivative += w * (up[0, ::-1] - down[0])
    hessian += w * (up[1, ::-1] + down[1])

    if draws != NO_DRAWS:
        log_own, own_derivative, own_hessian, log_tied, tied_derivative = terms_of_draws(draws, parameter)
        starts, met = cuts[:-1], np.repeat(share, np.diff(cuts)) * w * w  # items of large grades met themselves too
        tied = 0.5 * (np.add.reduceat(w, starts) ** 2 - np.add.reduceat(w * w, starts)) @ large
        loss -= tied * log_tied + met.sum() * log_own
        tie_derivative -= tied * tied_derivative + met.sum() * own_derivative
        hessian = np.maximum(hessian - 2.0 * met * own_hessian, 0.0)

    gradient, second = np.zeros(len(scores)), np.zeros(len(scores))
    gradient[order], second[order] = derivative, hessian
    return loss, gradient, second, tie_derivative


def _cuts(labels: Floats) -> Integers:
    """Where the blocks of sorted labels begin, and where the last one ends."""
    ends = np.append(np.flatnonzero(np.diff(labels)) + 1, len(labels))
    cuts = [0]
    while cuts[-1] < len(labels):
        fitting = np.searchsorted(ends, cuts[-1] + LARGE, side="right") - 1
        first = np.searchsorted(ends, cuts[-1], side="right")
        cuts.append(int(ends[max(fitting, first)]))
    return np.array(cuts)
