"""Cross-entropy between a target on the items of a list and the softmax of their scores (ListNet and its kin).

For a list with target t, of any sum: loss = Σ_i t_i (lse(s) − s_i); an item with target NaN is left out.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.cross_entropy import cpu
from luce.threads import over_lists


def cross_entropy(
    scores: Floats, targets: Floats, offsets: Integers, *, curvature: bool = False, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,), gradient (N,) (Σ t)·π − t and, if asked for, second derivative (N,) (Σ t)·π(1 − π); π = softmax(s).

    >>> cross_entropy(np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 2]), curvature=True)
    (array([0.69314718]), array([-0.5,  0.5]), array([0.25, 0.25]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    inputs = frozen(offsets), frozen(scores), frozen(targets)
    over_lists(cpu.cross_entropy, *inputs, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None


def softmax(values: Floats, offsets: Integers, *, n_jobs: int | None = None) -> Floats:
    """The softmax of each list's values (N,); NaN stays NaN and is left out of its list.

    >>> softmax(np.array([1e4, 1e4, np.nan, 3.0]), np.array([0, 3, 4]))
    array([0.5, 0.5, nan, 1. ])
    """
    result = np.empty(len(values))
    over_lists(cpu.softmax, frozen(offsets), frozen(values), result, n_jobs=n_jobs)
    return result
