"""Successive choices of single items, summed over rankings to one number per item: Plackett-Luce with free worths.

A ranking is a chain of choices: its first `depth` items were chosen one after another, each from what was left of its
rows and of its pool. With worths v = e^{s − highest s} and z_j the worth of what was left at choice j:
log-likelihood = Σ_q w_q Σ_j s_(j) − log z_j, and the expected wins of an item are v_i Σ w_q / z_j over its choices.
The rest of a pool costs nothing: it is the pool's worth less that of the items named, summed anew where that cancels.
"""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.ranked_choices import cpu, pools
from luce.threads import kernel_input, over_lists, sum_over_lists

NARROW = 60.0
"""Scores up to this far apart: no worth and no product of ten of them leaves the numbers."""

FAR_APART = 12.0
"""Scores of pools further apart: the matrix is put together from products, for pools less rows would cancel in it."""


class Choices(NamedTuple):
    """Rankings as chains of choices among `n_items`.

    items (N,), offsets (Q+1,); depth (Q,): how many rows were chosen in turn; weights (Q,); pool (Q,): −1, or which
    of the pools the rankings choose from too; pool_items, pool_offsets: the pools, one after another.
    """

    items: Integers
    offsets: Integers
    depth: Integers
    weights: Floats
    pool: Integers
    pool_items: Integers
    pool_offsets: Integers
    n_items: int

    @property
    def n_pools(self) -> int:
        return len(self.pool_offsets) - 1


def choice_wins(choices: Choices) -> Floats:
    """How often each item was chosen, weighted (n_items,)."""
    sizes = np.diff(choices.offsets)
    place = np.arange(len(choices.items)) - np.repeat(choices.offsets[:-1], sizes)
    chosen = place < np.repeat(choices.depth, sizes)
    weights = np.repeat(choices.weights, choices.depth)
    return np.bincount(choices.items[chosen], weights, minlength=choices.n_items).astype(np.float64)


def choice_sums(choices: Choices, scores: Floats, *, n_jobs: int | None = None) -> tuple[float, Floats]:
    """Σ w log z and the expected wins (n_items,). Scores must lie within NARROW of each other.

    >>> one = np.array([0, 1, 2]), np.array([0, 3]), np.array([2]), np.ones(1)
    >>> none = np.full(1, -1), np.empty(0, np.int64), np.zeros(1, np.int64)
    >>> choice_sums(Choices(*one, *none, 3), np.zeros(3))[1]  # a third, then a half
    array([0.33333333, 0.83333333, 0.83333333])
    """
    highest = float(scores.max())
    worth = np.exp(scores - highest)
    ends = _ends(choices)
    rests = _rests(choices, worth[:, None], n_jobs)[:, 0]
    hazards, log_z = _sums(cpu.sums, choices, [choices.n_items, 2], rests, worth, ends=ends, n_jobs=n_jobs)
    return float(log_z[0] + highest * log_z[1]), worth * (hazards + _to_pools(choices, ends))


def choice_product(
    choices: Choices, scores: Floats, expected: Floats, direction: Floats, *, n_jobs: int | None = None
) -> Floats:
    """Second derivative of Σ w log z times a direction (n_items,); `expected` as `choice_sums` gave it."""
    worth = np.exp(scores - scores.max())
    both = np.stack([worth, worth * direction], axis=1)
    ends, rests = _ends(choices), _rests(choices, both, n_jobs)
    shapes = [longest_ranking(choices), choices.n_items]
    _, hazard_changes = _sums(cpu.product, choices, shapes, rests, both, ends=ends, n_jobs=n_jobs)
    return direction * expected - worth * (hazard_changes + _to_pools(choices, ends))


def choice_diagonal(choices: Choices, scores: Floats, expected: Floats, *, n_jobs: int | None = None) -> Floats:
    """The diagonal of the second derivative of Σ w log z (n_items,); pools with scores far apart may cancel in it."""
    worth = np.exp(scores - scores.max())
    ends, rests = _ends(choices), _rests(choices, worth[:, None], n_jobs)[:, 0]
    (squares,) = _sums(cpu.seconds, choices, [choices.n_items], rests, worth, ends=ends, n_jobs=n_jobs)
    return expected - worth * worth * (squares + _to_pools(choices, ends))


def choice_hessian(choices: Choices, scores: Floats, expected: Floats, *, n_jobs: int | None = None) -> Floats:
    """Second derivative of Σ w log z as a matrix (n_items, n_items)."""
    if choices.n_pools and np.ptp(scores) > FAR_APART:
        columns = [choice_product(choices, scores, expected, unit, n_jobs=n_jobs) for unit in np.eye(choices.n_items)]
        return np.stack(columns, axis=1)
    n, size = choices.n_items, choices.n_items + choices.n_pools
    worth = np.exp(scores - scores.max())
    (squares,) = _sums(cpu.squares, choices, [(size, size)], choices.pool, worth, np.arange(n), n_jobs=n_jobs)
    if choices.n_pools:
        rests = _rests(choices, worth[:, None], n_jobs)[:, 0]
        squares += _sums(pools.squares, choices, [(size, size)], choices.pool, rests, worth, n_jobs=n_jobs)[0]
    squares = squares + squares.T
    lower = np.zeros((choices.n_pools, n))  # each pool as the worths of its items
    for p in range(choices.n_pools):
        members = choices.pool_items[choices.pool_offsets[p] : choices.pool_offsets[p + 1]]
        lower[p, members] = worth[members]
    cross = squares[:n, n:] @ lower
    hessian = -(squares[:n, :n] + cross + cross.T + lower.T @ squares[n:, n:] @ lower)
    hessian[np.diag_indices(n)] += expected
    return hessian


def gathered_hessian(
    choices: Choices, scores: Floats, expected: Floats, groups: Integers, n_groups: int, *, n_jobs: int | None = None
) -> Floats:
    """That matrix summed over groups of items (n_groups, n_groups), groups (n_items,); there must be no pools.

    >>> one = np.array([0, 1]), np.array([0, 2]), np.array([1]), np.ones(1)
    >>> none = np.full(1, -1), np.empty(0, np.int64), np.zeros(1, np.int64)
    >>> gathered_hessian(Choices(*one, *none, 2), np.zeros(2), np.full(2, 0.5), np.array([1, 0]), 2)
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    worth = np.exp(scores - scores.max())
    (squares,) = _sums(cpu.squares, choices, [(n_groups, n_groups)], choices.pool, worth, groups, n_jobs=n_jobs)
    hessian: Floats = -(squares + squares.T)
    hessian[np.diag_indices(n_groups)] += np.bincount(groups, expected, minlength=n_groups)
    return hessian


def pool_rests(
    choices: Choices, scores: Floats, direction: Floats | None = None, *, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """The worth of what each ranking's pool holds beside its rows (Q,), and the mean direction there (Q,); 0 without.

    The unit is e^{highest score}.
    """
    worth = np.exp(scores - scores.max())
    both = np.stack([worth, worth * (0.0 if direction is None else direction)], axis=1)
    result = _rests(choices, both, n_jobs)
    rest = result[:, 0]
    return rest, np.divide(result[:, 1], rest, out=np.zeros(len(rest)), where=rest > 0)


def spread_over_rests(choices: Choices, scores: Floats, rest: Floats, amounts: Floats) -> Floats:
    """Amounts (Q,) given to the rest of each ranking's pool, shared out by worth and summed by item (n_items,)."""
    ends = np.divide(amounts, rest, out=np.zeros(len(rest)), where=rest > 0)
    return np.exp(scores - scores.max()) * _to_pools(choices, ends)


def _sums(
    kernel: Any,
    choices: Choices,
    shapes: list[Any],
    *inputs: Floats | Integers,
    ends: Floats | None = None,
    n_jobs: int | None,
) -> list[Floats]:
    """What a kernel adds to arrays of these shapes; it gets workspace for the longest ranking before them."""
    results, rows = [] if ends is None else [ends], (choices.items, choices.depth, choices.weights)
    shapes = [longest_ranking(choices), *shapes]
    return sum_over_lists(kernel, choices.offsets, shapes, *rows, *inputs, results=results, n_jobs=n_jobs)[1:]


def longest_ranking(choices: Choices) -> int:
    """Rows of the longest ranking."""
    return int(np.diff(choices.offsets).max(initial=0))


def _rests(choices: Choices, values: Floats, n_jobs: int | None) -> Floats:
    """The sums of worths, and of further columns, over the rest of each ranking's pool; 0 without a pool."""
    result = np.zeros((len(choices.depth), values.shape[1]))
    if choices.n_pools:
        bounds = choices.pool_offsets
        sets = [choices.pool_items[bounds[p] : bounds[p + 1]] for p in range(choices.n_pools)]
        totals = np.array([values[members].sum(axis=0) for members in sets])
        over_lists(pools.rests, choices.offsets, choices, values, totals, results=[result], n_jobs=n_jobs)
    return result


def _ends(choices: Choices) -> Floats:
    """An array for what each ranking adds to the rest of its pool; none where there are no pools."""
    return np.zeros(len(choices.depth) if choices.n_pools else 0)


def _to_pools(choices: Choices, ends: Floats) -> Floats | float:
    if not ends.size:
        return 0.0
    result: Floats = pools.to_pools(kernel_input(choices), kernel_input(ends))
    return result
