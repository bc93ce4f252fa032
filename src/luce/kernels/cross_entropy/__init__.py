"""Cross-entropy between targets made of the labels of a list and the softmax of its scores (ListNet and its kin).

For a list with targets t, of any sum: loss = Σ_i t_i (lse(s) − s_i); an item whose label is NaN is left out.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.cross_entropy import cpu
from luce.kernels.label_targets import Target
from luce.threads import over_lists


def cross_entropy(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    target: Target,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,), gradient (N,) (Σ t)·π − t and, if asked for, second derivative (N,) (Σ t)·π(1 − π); π = softmax(s).

    Item weights multiply the targets.

    >>> share = Target("gain", "sum")
    >>> cross_entropy(np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 2]), share, curvature=True)
    (array([0.69314718]), array([-0.5,  0.5]), array([0.25, 0.25]))
    """
    loss, gradient = np.empty(len(offsets) - 1), np.empty(len(scores))
    second = np.empty(len(scores) if curvature else 0)
    inputs = frozen(scores), frozen(labels), frozen(np.empty(0) if item_weights is None else item_weights)
    settings = target.arguments(offsets)
    over_lists(cpu.cross_entropy, frozen(offsets), *inputs, *settings, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None
