"""Second derivatives of a likelihood along the leaves of a tree: all items of a leaf move by the same step.

For leaf U and each context C, the items still to be chosen from: with p = Σ_{i ∈ U ∩ C} p(i | C), the second derivative
of the ordered likelihood is Σ_C p (1 − p). Each list costs O(n + K), however many leaves the tree has.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, frozen
from luce.kernels.leaf_sums import ordered, partitions
from luce.kernels.ordered_likelihood import ALL
from luce.randomness import Draw
from luce.threads import SMALL, in_parallel

BLOCKS = 64
"""The most blocks of lists that are summed apart; they depend on the data alone, so threads change no bit."""

Leaves = NDArray[np.int32]


def ordered_leaf_sums(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    leaves: Leaves,
    n_leaves: int,
    *,
    depth: int = ALL,
    whole_grades: bool = False,
    permutations: int = 1,
    place_weights: Floats | None = None,
    halving: bool = False,
    item_weights: Floats | None = None,
    list_weights: Floats | None = None,
    draw: Draw | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Σ_C w p and Σ_C w p (1 − p) of each leaf, (2, leaves), for what `ordered_likelihood` takes.

    leaves (N,): the leaf of each row. The same `draw` shuffles equal labels as it does there.

    >>> lists = np.zeros(3), np.array([2.0, 1, 0]), np.array([0, 3])
    >>> ordered_leaf_sums(*lists, np.array([0, 0, 1], dtype=np.int32), 2).round(3)
    array([[1.167, 1.833],
           [0.472, 0.472]])
    """
    draw = draw or Draw()
    nothing = np.empty(0)
    inputs: tuple[NDArray[Any], ...] = (
        scores,
        labels,
        leaves,
        nothing if item_weights is None else item_weights,
        nothing if place_weights is None else place_weights,
        nothing if list_weights is None else list_weights,
        draw.list_numbers(len(offsets) - 1),
    )
    settings = draw.seed, draw.step, permutations, depth, whole_grades, halving
    return _summed(ordered.leaf_sums, offsets, n_leaves, *map(frozen, inputs), *settings, n_jobs=n_jobs)


def partition_leaf_sums(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    leaves: Leaves,
    n_leaves: int,
    *,
    tol: float = 1e-9,
    list_weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """The same for the partition likelihood, (2, leaves): the size of its terms, and the second derivative.

    >>> lists = np.zeros(4), np.array([1.0, 1, 0, 0]), np.array([0, 4])
    >>> partition_leaf_sums(*lists, np.array([0, 0, 1, 1], dtype=np.int32), 2).round(3)
    array([[1.167, 1.167],
           [0.472, 0.472]])
    """
    weights = np.empty(0) if list_weights is None else list_weights
    inputs: tuple[NDArray[Any], ...] = scores, labels, leaves, weights
    return _summed(partitions.leaf_sums, offsets, n_leaves, *map(frozen, inputs), float(tol), n_jobs=n_jobs)


def _summed(
    kernel: Callable[..., None], offsets: Integers, n_leaves: int, *arguments: Any, n_jobs: int | None
) -> Floats:
    n_rows = int(offsets[-1])
    n_blocks = min(max(n_rows // SMALL, 1), BLOCKS)
    cuts = np.searchsorted(offsets, np.linspace(0, n_rows, n_blocks + 1))
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    sums = np.zeros((n_blocks, 2, n_leaves))
    blocks = zip(pairwise(cuts.tolist()), sums, strict=True)
    in_parallel([partial(kernel, a, b, frozen(offsets), *arguments, own) for (a, b), own in blocks], n_jobs)
    return sums.sum(axis=0)
