"""The Plackett-Luce likelihood of the order that labels give, to a depth, equal labels shuffled (the ListMLE family).

For a list in the order (1), …, (n): loss = Σ_{j ≤ K} α_j w_(j) (lse(C_j) − s_(j)) with C_j = {(j), …, (n)}; K = depth.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.ordered_likelihood import cpu
from luce.randomness import Draw
from luce.threads import over_lists

ALL = np.iinfo(np.int64).max
TO_THE_LOWEST = -1
"""Depths: every place; or every place above the lowest label, where a tie makes the loss NaN."""


def ordered_likelihood(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    depth: int = ALL,
    whole_grades: bool = False,
    permutations: int = 1,
    place_weights: Floats | None = None,
    halving: bool = False,
    item_weights: Floats | None = None,
    draw: Draw | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,), gradient (N,) and, if asked for, the diagonal of the second derivative (N,).

    All are averages over `permutations` shuffles of the tied labels. With `whole_grades` the places go on to the end
    of the label that `depth` cuts. `place_weights` are α, 0 beyond their end; `halving` makes them
    (2^(n−j) − 1) / (2^(n−1) − 1), whatever the length n of the list.

    >>> loss, gradient, _ = ordered_likelihood(np.array([20.0, 0, -1]), np.array([2.0, 1, 0]), np.array([0, 3]))
    >>> loss.round(7)
    array([0.3132617])
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    draw = draw or Draw()
    nothing = np.empty(0)
    inputs = (
        scores,
        labels,
        nothing if item_weights is None else item_weights,
        nothing if place_weights is None else place_weights,
        draw.list_numbers(len(loss)),
    )
    settings = draw.seed, draw.step, permutations, depth, whole_grades, halving
    over_lists(
        cpu.ordered_likelihood,
        frozen(offsets),
        *map(frozen, inputs),
        *settings,
        loss,
        gradient,
        second,
        n_jobs=n_jobs,
    )
    return loss, gradient, second if curvature else None
