"""Passes over the rows of a tree: which leaf each is in, and what it gets there."""

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled
from luce.kernels.leaf_sums import Leaves
from luce.threads import over_lists

BLOCK, SIDE_BY_SIDE = 8_192, 2_048
"""Rows of a block for a thread, and of those that are halved together."""


def find_leaves(before: Floats, after: Floats, leaf_values: Floats, rounding: float, n_jobs: int) -> Leaves | None:
    """The leaf whose value is by how much a score changed, for each row; None where two values are too near for that.

    >>> find_leaves(np.zeros(4), np.array([2.0, -1, 0.5, 2]), np.array([0.5, -1, 2]), 1e-15, 1)
    array([2, 1, 0, 2], dtype=int32)
    """
    order = np.argsort(leaf_values, kind="stable").astype(np.int32)
    values = leaf_values[order]
    if len(values) > 1 and np.diff(values).min() <= 4 * rounding:
        return None
    size = 1 << (len(values) - 1).bit_length()
    middles = np.full(size, np.inf)
    middles[: len(values) - 1] = (values[1:] + values[:-1]) / 2
    leaves = np.empty(len(before), dtype=np.int32)
    over_lists(_find, _blocks(len(before)), before, after, middles, order, results=[leaves], n_jobs=n_jobs)
    return leaves


def add_values(scores: Floats, leaves: Leaves, values: Floats, n_jobs: int) -> None:
    """Give each row the value of its leaf."""
    over_lists(_add, _blocks(len(scores)), leaves, values, results=[scores], n_jobs=n_jobs)


def _blocks(n_rows: int) -> np.ndarray:
    return np.append(np.arange(0, n_rows, BLOCK), n_rows)


@compiled
def _find(first, last, offsets, before, after, middles, order, leaves):
    """So many middles are below the change: halving, many rows side by side, so that none waits for another."""
    places = np.empty(SIDE_BY_SIDE, np.int64)
    for begin in range(offsets[first], offsets[last], SIDE_BY_SIDE):
        count = min(SIDE_BY_SIDE, offsets[last] - begin)
        for k in range(count):
            places[k] = 0
        half = len(middles) // 2
        while half > 0:
            for k in range(count):
                above = after[begin + k] - before[begin + k] > middles[places[k] + half - 1]
                places[k] = places[k] + (half if above else 0)
            half //= 2
        for k in range(count):
            leaves[begin + k] = order[places[k]]


@compiled
def _add(first, last, offsets, leaves, values, scores):
    for i in range(offsets[first], offsets[last]):
        scores[i] += values[leaves[i]]
