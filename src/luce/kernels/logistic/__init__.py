"""The logistic loss of each item alone: is its label above 0? An item whose label is NaN is left out.

For a list: loss = Σ_i w_i (log(1 + e^{s_i}) − t_i s_i), t = 1 where the label is above 0, else 0.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.logistic import cpu
from luce.threads import over_lists


def logistic(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,), gradient (N,) w(σ(s) − t) and, if asked for, second derivative (N,) w σ(s)(1 − σ(s)).

    >>> loss, gradient, _ = logistic(np.array([0.0, 0.0]), np.array([3.0, 0.0]), np.array([0, 2]))
    >>> np.exp(-loss), gradient
    (array([0.25]), array([-0.5,  0.5]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    weights = np.empty(0) if item_weights is None else item_weights
    inputs = frozen(offsets), frozen(scores), frozen(labels), frozen(weights)
    over_lists(cpu.logistic, *inputs, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None
