"""Ragged lists as kernels take them, and the call that evaluates a compiled kernel on them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.randomness import Draw
from luce.threads import over_lists

if TYPE_CHECKING:
    from torch import Tensor

NO_ROWS = np.empty(0)
"""Stands for an array that was not given: a compiled kernel takes no None."""


class Evaluation(NamedTuple):
    """What an objective returns; nothing is summed or averaged over lists.

    Attributes
    ----------
    loss : ndarray of shape (Q,)
    gradient : ndarray of shape (N,) or (N, outputs)
        The derivative of the total loss in each score.
    hessian : ndarray in the shape of the gradient, or None
        The diagonal of the second derivative, where it was asked for.
    nuisance_gradient : ndarray of shape (Q, P) or None
        The derivative in each of P nuisance parameters.
    """

    loss: Floats
    gradient: Floats
    hessian: Floats | None = None
    nuisance_gradient: Floats | None = None


class Lists(NamedTuple):
    """The scores and labels of ragged lists, and the settings of an evaluation, as `Objective.check` returns them."""

    scores: Floats
    labels: Floats
    offsets: Integers
    item_weights: Floats | None = None
    nuisance: Floats = NO_ROWS
    draw: Draw = Draw()
    hessian: bool = False
    n_jobs: int | None = None
    item_groups: Integers | None = None

    @property
    def weights(self) -> Floats:
        """The item weights as kernels take them: empty where there are none."""
        return NO_ROWS if self.item_weights is None else self.item_weights

    @property
    def stream(self) -> tuple[Integers, int, int]:
        """The draw as kernels take it: the numbers of the lists, the seed and the step."""
        return self.draw.stream(len(self.offsets) - 1)


class DeviceLists(NamedTuple):
    """Ragged lists as tensors of one device; `longest` is at least the size of the longest list.

    The gradient is wanted times `factor`: 1 / Q where the losses of the lists are averaged. What is drawn follows
    `stream`, the seed and the step as int64, and `numbers`, those of the lists in the dataset (0, 1, 2, … where None):
    both are on the device, so that a recorded CUDA graph draws anew in each step. Of `draw` only the epoch is read.
    """

    scores: "Tensor"
    labels: "Tensor"
    offsets: "Tensor"
    longest: int
    draw: Draw
    factor: float
    stream: "Tensor"
    numbers: "Tensor | None" = None
    item_weights: "Tensor | None" = None
    nuisance: "Tensor | None" = None
    item_groups: "Tensor | None" = None


class DeviceEvaluation(NamedTuple):
    """The losses (Q,) of lists on a device, the gradient, and that in each of P nuisance parameters, (Q, P)."""

    losses: "Tensor"
    gradient: "Tensor"
    nuisance_gradient: "Tensor | None" = None


def evaluate_kernel(
    kernel: Callable[..., None], lists: Lists, *arguments: Any, has_hessian: bool = True, zeroed: bool = True
) -> Evaluation:
    """Call `kernel(first, last, offsets, scores, labels, *arguments, loss, gradient, second)` on several threads.

    Inputs are read-only there; `second` is empty where no hessian is asked for, and left out without `has_hessian`.
    The results start at 0 if `zeroed`, which a kernel that writes every entry does without.

    >>> from luce.kernels.logistic import cpu
    >>> lists = Lists(np.zeros(2), np.array([3.0, 0.0]), np.array([0, 2]))
    >>> evaluate_kernel(cpu.logistic, lists, lists.weights).gradient
    array([-0.5,  0.5])
    """
    scores, labels, offsets = lists[:3]
    make = np.zeros if zeroed else np.empty
    loss, gradient, second = make(len(offsets) - 1), make(scores.shape), make(scores.shape if lists.hessian else 0)
    results = [loss, gradient.ravel(), second.ravel()]  # kernels take one row of outputs after the other
    inputs = offsets, scores.ravel(), labels, *arguments
    over_lists(kernel, *inputs, results=results if has_hessian else results[:2], n_jobs=lists.n_jobs)
    return Evaluation(loss, gradient, second if lists.hessian else None)
