"""The Plackett-Luce likelihood of the order that labels give, to a depth, equal labels shuffled (ListMLE).

For a list in the order (1), …, (n): loss = Σ_{j ≤ K} w_(j) (lse(C_j) − s_(j)) with C_j = {(j), …, (n)}; K = depth.
"""

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, frozen
from luce.kernels.ordered_likelihood import cpu
from luce.randomness import Draw
from luce.threads import over_lists


def ordered_likelihood(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    depth: int | None = None,
    permutations: int = 1,
    item_weights: Floats | None = None,
    draw: Draw | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Loss (Q,) and gradient (N,), averaged over `permutations` shuffles of the tied labels.

    >>> loss, gradient = ordered_likelihood(np.array([20.0, 0, -1]), np.array([2.0, 1, 0]), np.array([0, 3]))
    >>> loss.round(7)
    array([0.3132617])
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    draw = draw or Draw()
    arguments: list[NDArray] = [scores, labels, np.empty(0) if item_weights is None else item_weights]
    over_lists(
        cpu.ordered_likelihood,
        frozen(offsets),
        *[frozen(array) for array in (*arguments, draw.list_numbers(len(loss)))],
        draw.seed,
        draw.step,
        permutations,
        np.iinfo(np.int64).max if depth is None else depth,
        loss,
        gradient,
        n_jobs=n_jobs,
    )
    return loss, gradient
