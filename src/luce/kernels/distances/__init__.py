"""Squared and cosine distance between the scores of a list and targets made of its labels; NaN labels are left out."""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.distances import cpu
from luce.kernels.label_targets import Target
from luce.threads import over_lists


def squared(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    target: Target,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,) Σ_i w_i (s_i − t_i)², gradient (N,) and, if asked for, second derivative (N,).

    >>> squared(np.array([1.0, 3.0]), np.array([0.0, np.nan]), np.array([0, 2]), Target("label", "one"))
    (array([1.]), array([2., 0.]), None)
    """
    loss, gradient = np.empty(len(offsets) - 1), np.empty(len(scores))
    second = np.empty(len(scores) if curvature else 0)
    inputs = frozen(scores), frozen(labels), frozen(np.empty(0) if item_weights is None else item_weights)
    settings = target.arguments(offsets)
    over_lists(cpu.squared, frozen(offsets), *inputs, *settings, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None


def cosine(
    scores: Floats, labels: Floats, offsets: Integers, target: Target, *, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Loss (Q,) ½ (1 − ⟨t, s⟩ / ‖s‖) and gradient (N,); lists with fewer than two items are left out.

    Where all scores are 0, as they are before the first step of a linear model, the cosine is taken as 0 and the
    gradient as −½ t, which points to where it rises.

    >>> cosine(np.array([3.0, 4.0]), np.array([6.0, 8.0]), np.array([0, 2]), Target("label", "length"))[0].round(12)
    array([0.])
    """
    loss, gradient = np.empty(len(offsets) - 1), np.empty(len(scores))
    inputs = frozen(offsets), frozen(scores), frozen(labels), *target.arguments(offsets)
    over_lists(cpu.cosine, *inputs, loss, gradient, n_jobs=n_jobs)
    return loss, gradient
