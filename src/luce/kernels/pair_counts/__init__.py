"""Comparisons of two items, counted: how often each of a pair won, and how often they tied.

With δ = s_i − s_j, the outcomes have the probabilities of Bradley and Terry, P(i > j) = 1 / (1 + e^{−δ}), no ties; of
Davidson, P(i > j) = e^{δ/2} / D, P(i ≈ j) = ν / D, D = e^{δ/2} + e^{−δ/2} + ν, parameter log ν; or of Rao and Kupper,
P(i > j) = 1 / (1 + e^{m − δ}), P(i ≈ j) = (e^{2m} − 1) P(i > j) P(j > i), parameter m > 0, the margin.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from luce.arrays import Floats, Integers, read_only
from luce.kernels.pair_counts import cpu
from luce.threads import over_lists, sum_over_lists

OUTCOMES = ("bradley-terry", "davidson", "rao-kupper")
SUMS = (cpu.bradley_terry_sums, cpu.davidson_sums, cpu.rao_kupper_sums)

CROWDED = 4
"""A table of all pairs of items is made where it has no more than so many entries for each comparison."""


class PairCounts(NamedTuple):
    """P pairs of items, each once, sorted: the first of a pair has the lower number.

    starts (n_items+1,): the pairs whose first item is i; second (P,); wins, losses and ties of the first (P,).
    """

    starts: Integers
    second: Integers
    wins: Floats
    losses: Floats
    ties: Floats


def count_pairs(items: Integers, places: Integers, weights: Floats, n_items: int) -> PairCounts:
    """The counts of M comparisons: two rows each, the better first, with places 0 and 1, or 0 and 0 for a tie.

    items (2M,), places (2M,), weights (M,).

    >>> counts = count_pairs(np.array([1, 0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0, 0]), np.ones(3), 3)
    >>> counts.starts, counts.second, counts.wins, counts.losses, counts.ties
    (array([0, 1, 2, 2]), array([1, 2]), array([1., 0.]), array([1., 0.]), array([0., 1.]))
    """
    count = _count_in_table if n_items**2 <= CROWDED * len(weights) else _count_sparse
    return count(items, places, weights, n_items)


def _count_in_table(items: Integers, places: Integers, weights: Floats, n_items: int) -> PairCounts:
    ties, wins, losses = table = np.zeros((3, n_items, n_items))
    cpu.add_to_table(*map(read_only, (items, places, weights)), table)
    found = np.flatnonzero(ties + wins + losses)
    starts = np.searchsorted(found, n_items * np.arange(n_items + 1))
    return PairCounts(starts, found % n_items, *(each.ravel()[found] for each in (wins, losses, ties)))


def _count_sparse(items: Integers, places: Integers, weights: Floats, n_items: int) -> PairCounts:
    """SciPy sorts and adds up the outcomes of each first item: 4 times the second, plus 0, 1, 2 for won, lost, tied."""
    one, other = items[::2], items[1::2]
    columns = 4 * np.maximum(one, other) + np.where(places[1::2] == 0, 2, one > other)
    found = sparse.csr_array((weights, (np.minimum(one, other), columns)), shape=(n_items, 4 * n_items))
    second = found.indices >> 2
    new = np.append(True, second[1:] != second[:-1])
    new[found.indptr[:-1][np.diff(found.indptr) > 0]] = True
    before = np.append(0, np.cumsum(new))  # pairs before each outcome
    counts = np.zeros((3, before[-1]))
    counts[found.indices & 3, before[1:] - 1] = found.data
    return PairCounts(before[found.indptr], second[new].astype(np.int64), *counts)


class PairSums(NamedTuple):
    """The log-likelihood of all pairs, its gradient (n_items,), its derivative in the parameter and second derivatives.

    curvature (P,): −∂²/∂δ² of each pair; degree (n_items,): the diagonal that they add up to; border (n_items,): −∂²/∂s
    ∂parameter; corner: −∂²/∂parameter². Border and corner are 0 where the model has no parameter.
    """

    value: float
    gradient: Floats
    derivative: float
    curvature: Floats
    degree: Floats
    border: Floats
    corner: float


def pair_sums(
    counts: PairCounts, scores: Floats, *, outcome: str = OUTCOMES[0], parameter: float = 0.0, n_jobs: int | None = None
) -> PairSums:
    """The sums over all pairs.

    >>> counts = count_pairs(np.array([0, 1, 0, 1, 1, 0]), np.array([0, 1] * 3), np.ones(3), 2)
    >>> pair_sums(counts, np.zeros(2)).gradient
    array([ 0.5, -0.5])
    """
    n, curvature = len(scores), np.empty(len(counts.second))
    number = OUTCOMES.index(outcome)
    workspace = cpu.N_BUFFERS, int(np.diff(counts.starts).max(initial=0))
    _, gradient, degree, totals, *borders = sum_over_lists(
        SUMS[number],
        counts.starts,
        [workspace, n, n, 3, *([n] if number else [])],
        counts,
        scores,
        float(parameter),
        results=[curvature],
        n_jobs=n_jobs,
    )
    border = borders[0] if borders else np.zeros(n)
    return PairSums(float(totals[0]), gradient, float(totals[1]), curvature, degree, border, float(totals[2]))


def pair_product(counts: PairCounts, curvature: Floats, direction: Floats, *, n_jobs: int | None = None) -> Floats:
    """Σ_pairs curvature · (d_i − d_j) (e_i − e_j): minus the second derivative times a direction (n_items,)."""
    inputs = counts.second, curvature, direction
    (result,) = sum_over_lists(cpu.product, counts.starts, [len(direction)], *inputs, n_jobs=n_jobs)
    return result


def pair_log_probabilities(
    counts: PairCounts, scores: Floats, *, outcome: str = OUTCOMES[0], parameter: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """log P (P,) that the first wins, that it loses, and that they tie (−inf where there are no ties)."""
    results = np.empty((3, len(counts.second)))
    inputs = counts.second, scores, OUTCOMES.index(outcome), float(parameter)
    over_lists(cpu.log_probabilities, counts.starts, *inputs, results=[results])
    return results[0], results[1], results[2]
