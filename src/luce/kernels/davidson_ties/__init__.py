"""Ties of every order as outcomes of a choice: Davidson's model of 1970, carried to rankings (Turner et al., 2020).

A ranking is a chain of choices of sets: at each level any subset S of what is left may be chosen, if its size is one
of the tie orders, with probability proportional to δ_|S| (Π_{i∈S} worth_i)^{1/|S|}. The subsets of size t sum to the
elementary symmetric polynomial e_t(worth^{1/t}), and worth^{1/t} as odds make it the chance that independent draws
give t successes: all is done with such chances, scaled so that t are expected. Nothing overflows and nothing cancels.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.kernels.davidson_ties import cpu, draws
from luce.threads import over_lists, sum_over_lists


class TiedRankings(NamedTuple):
    """Rankings with ties: places (N,), from 0 and not falling; offsets (Q+1,); open_end (Q,): the last level is left.

    orders (T,): the sizes that a chosen set may have, rising.
    """

    places: Integers
    offsets: Integers
    open_end: NDArray[np.bool_]
    orders: Integers


def davidson_ties(
    rankings: TiedRankings, scores: Floats, log_delta: Floats, *, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """log P of each ranking (Q,), its gradient in the scores of its rows (N,) and in log δ (Q, T).

    O(n D²) for a choice among n items with ties up to order D.

    >>> two = TiedRankings(np.array([0, 0]), np.array([0, 2]), np.array([False]), np.array([1, 2]))
    >>> log_p, _, delta_gradient = davidson_ties(two, np.zeros(2), np.zeros(2))
    >>> np.exp(log_p), delta_gradient  # one, the other, or both
    (array([0.33333333]), array([[-0.66666667,  0.66666667]]))
    """
    n_rankings = len(rankings.offsets) - 1
    results = np.zeros(n_rankings), np.zeros(len(scores)), np.zeros((n_rankings, len(rankings.orders)))
    over_lists(cpu.evaluate, rankings.offsets, rankings, log_delta, scores, results=results, n_jobs=n_jobs)
    return results


def davidson_hessian(
    rankings: TiedRankings,
    items: Integers,
    weights: Floats,
    scores: Floats,
    log_delta: Floats,
    n_items: int,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """Minus the second derivative of Σ w log P in the scores of the items, then log δ: (n_items + T) squared.

    items (N,): whose score each row has; weights (Q,). O(n² D) for a choice.
    """
    size = n_items + len(rankings.orders)
    inputs = rankings, log_delta, scores, items, weights, n_items
    (matrix,) = sum_over_lists(cpu.hessian, rankings.offsets, [(size, size)], *inputs, n_jobs=n_jobs)
    return 0.5 * (matrix + matrix.T)


def davidson_product(
    rankings: TiedRankings,
    weights: Floats,
    scores: Floats,
    log_delta: Floats,
    direction: Floats,
    delta_direction: Floats,
    *,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Minus that second derivative times a direction, given for each row (N,) and for log δ (T,), in the same form."""
    rows = np.zeros(len(scores))
    inputs = rankings, log_delta, scores, weights, direction, delta_direction
    shapes = [len(rankings.orders)]
    (of_delta,) = sum_over_lists(cpu.product, rankings.offsets, shapes, *inputs, results=[rows], n_jobs=n_jobs)
    return rows, of_delta


def draw_tied_rankings(
    offsets: Integers,
    items: Integers,
    scores: Floats,
    orders: Integers,
    log_delta: Floats,
    levels: Integers,
    seed: int,
    *,
    n_jobs: int | None = None,
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Items (N,) and places (N,) of rankings drawn of the given items, and whether an open end is left (Q,).

    levels (Q,): after so many choices the rest is left in unknown order; scores (N,) of the rows.

    >>> rows = np.array([0, 2]), np.array([0, 1]), np.array([50.0, 0.0])
    >>> draw_tied_rankings(*rows, np.array([1, 2]), np.zeros(2), np.array([2]), seed=0)
    (array([0, 1]), array([0, 1]), array([False]))
    """
    results = np.empty(len(items), np.int64), np.empty(len(items), np.int64), np.zeros(len(levels), bool)
    inputs = items, scores, orders, log_delta, levels, int(seed)
    over_lists(draws.draw, offsets, *inputs, results=results, n_jobs=n_jobs)
    return results
