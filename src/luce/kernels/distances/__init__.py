"""Squared and cosine distance between the scores of a list and a target; an item with target NaN is left out."""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.distances import cpu
from luce.threads import over_lists


def squared(
    scores: Floats, targets: Floats, offsets: Integers, weights: Floats | None = None, *, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Loss (Q,) Σ_i w_i (s_i − t_i)² and gradient (N,).

    >>> squared(np.array([1.0, 3.0]), np.array([0.0, np.nan]), np.array([0, 2]))
    (array([1.]), array([2., 0.]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    inputs = frozen(offsets), frozen(scores), frozen(targets), frozen(np.empty(0) if weights is None else weights)
    over_lists(cpu.squared, *inputs, loss, gradient, n_jobs=n_jobs)
    return loss, gradient


def cosine(scores: Floats, targets: Floats, offsets: Integers, *, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    """Loss (Q,) ½ (1 − ⟨t, s⟩ / ‖s‖) and gradient (N,); lists with fewer than two items are left out.

    Where all scores are 0, as they are before the first step of a linear model, the cosine is taken as 0 and the
    gradient as −½ t, which points to where it rises.

    >>> cosine(np.array([3.0, 4.0]), np.array([0.6, 0.8]), np.array([0, 2]))[0].round(12)
    array([0.])
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    over_lists(cpu.cosine, frozen(offsets), frozen(scores), frozen(targets), loss, gradient, n_jobs=n_jobs)
    return loss, gradient
