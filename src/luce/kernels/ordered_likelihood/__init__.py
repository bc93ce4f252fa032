"""The Plackett-Luce likelihood of the order that labels give, to a depth, equal labels shuffled (the ListMLE family).

For a list in the order (1), …, (n): loss = Σ_{j ≤ K} α_j w_(j) (lse(C_j) − s_(j)) with C_j = {(j), …, (n)}; K = depth.
"""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.ordered_likelihood import cpu
from luce.lists import NO_ROWS, Evaluation, Lists, evaluate_kernel

ALL = np.iinfo(np.int64).max
TO_THE_LOWEST = -1
"""Depths: every place; or every place above the lowest label, where a tie makes the loss NaN."""

LONGEST_ON_GPU = 16_384
"""Items of a list that a program holds; longer lists run in plain PyTorch."""

SHARED = np.empty(0, dtype=np.int64)
"""The starts of place weights that are the same for every list."""


class Order(NamedTuple):
    """Which orders of a list count, and which of their places.

    Losses are averages over `permutations` shuffles of equal labels. With `whole_grades` the places go on to the end of
    the label that `depth` cuts. `place_weights` are α, 0 beyond their end, all 1 where empty; those of list q start at
    `place_starts[q]`, where lists have their own. `halving` makes them (2^(n−j) − 1) / (2^(n−1) − 1), whatever the
    length n of the list.
    """

    depth: int = ALL
    whole_grades: bool = False
    permutations: int = 1
    place_weights: Floats = NO_ROWS
    place_starts: Integers = SHARED
    halving: bool = False

    def arguments(self, lists: Lists) -> tuple[Any, ...]:
        """As kernels take it, with the draw that shuffles."""
        settings = self.permutations, self.depth, self.whole_grades, self.halving
        return self.place_weights, self.place_starts, *lists.stream, *settings


def ordered_likelihood(lists: Lists, order: Order = Order()) -> Evaluation:  # noqa: B008 – a NamedTuple never changes
    """Minus the log-likelihood, averaged over shuffles.

    >>> lists = Lists(np.array([20.0, 0, -1]), np.array([2.0, 1, 0]), np.array([0, 3]))
    >>> ordered_likelihood(lists).loss.round(7)
    array([0.3132617])
    """
    return evaluate_kernel(cpu.ordered_likelihood, lists, lists.weights, *order.arguments(lists))
