"""Second derivatives of a likelihood along the leaves of a tree: all items of a leaf move by the same step.

For leaf U and each context C, the items still to be chosen from: with p = Σ_{i ∈ U ∩ C} p(i | C), the second derivative
of the ordered likelihood is Σ_C p (1 − p). Each list costs O(n + K), however many leaves the tree has.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.kernels.leaf_sums import ordered, partitions
from luce.kernels.ordered_likelihood import Order
from luce.lists import NO_ROWS, Lists
from luce.threads import SMALL, sum_over_lists

BLOCKS = 64
"""The most blocks of lists that are summed apart; they depend on the data alone, so threads change no bit."""

Leaves = NDArray[np.int32]


def ordered_leaf_sums(
    lists: Lists,
    leaves: Leaves,
    n_leaves: int,
    list_weights: Floats | None = None,
    order: Order = Order(),  # noqa: B008 – a NamedTuple never changes
) -> Floats:
    """Σ_C w p and Σ_C w p (1 − p) of each leaf, (2, leaves), for what `ordered_likelihood` takes.

    leaves (N,): the leaf of each row. The same draw shuffles equal labels as it does there.

    >>> lists = Lists(np.zeros(3), np.array([2.0, 1, 0]), np.array([0, 3]))
    >>> ordered_leaf_sums(lists, np.array([0, 0, 1], dtype=np.int32), 2).round(3)
    array([[1.167, 1.833],
           [0.472, 0.472]])
    """
    place_weights, place_starts, numbers, *settings = order.arguments(lists)
    weights = NO_ROWS if list_weights is None else list_weights
    inputs = lists.weights, place_weights, place_starts, weights, numbers, *settings
    return _sums(ordered.leaf_sums, lists, leaves, n_leaves, *inputs)


def partition_leaf_sums(
    lists: Lists, leaves: Leaves, n_leaves: int, list_weights: Floats | None = None, tol: float = 1e-9
) -> Floats:
    """The same for the partition likelihood, (2, leaves): the size of its terms, and the second derivative.

    >>> lists = Lists(np.zeros(4), np.array([1.0, 1, 0, 0]), np.array([0, 4]))
    >>> partition_leaf_sums(lists, np.array([0, 0, 1, 1], dtype=np.int32), 2).round(3)
    array([[1.167, 1.167],
           [0.472, 0.472]])
    """
    weights = NO_ROWS if list_weights is None else list_weights
    return _sums(partitions.leaf_sums, lists, leaves, n_leaves, weights, float(tol))


def _sums(kernel: Callable[..., None], lists: Lists, leaves: Leaves, n_leaves: int, *arguments: Any) -> Floats:
    scores, labels, offsets = lists[:3]
    n_blocks = min(max(len(scores) // SMALL, 1), BLOCKS)
    inputs = scores, labels, leaves, *arguments
    (sums,) = sum_over_lists(kernel, offsets, [(2, n_leaves)], *inputs, n_blocks=n_blocks, n_jobs=lists.n_jobs)
    return sums
