"""Which grade an item has: the softmax of its scores, one for each grade (McRank); NaN labels are left out."""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.grade_choice import cpu
from luce.threads import over_lists


def grade_choice(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,) −Σ_i w_i log π_i[y_i], gradient (N, grades) w (π − one-hot y), second derivative w π (1 − π).

    π_i = softmax of the scores (N, grades) of item i. A list with a label that is no grade has loss NaN.

    >>> grade_choice(np.zeros((1, 2)), np.array([1.0]), np.array([0, 1]))
    (array([0.69314718]), array([[ 0.5, -0.5]]), None)
    """
    loss, gradient = np.empty(len(offsets) - 1), np.empty(scores.shape)
    second = np.empty(scores.shape if curvature else 0)
    inputs = frozen(scores).ravel(), frozen(labels), frozen(np.empty(0) if item_weights is None else item_weights)
    results = loss, gradient.ravel(), second.ravel()
    over_lists(cpu.grade_choice, frozen(offsets), *inputs, scores.shape[1], *results, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None
