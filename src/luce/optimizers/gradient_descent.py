"""The loop of stochastic gradient descent over batches of lists, with early stopping and checkpoints."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Integers
from luce.errors import DataError
from luce.optimizers.learning_curve import LearningCurve

Arrays = dict[str, NDArray[Any]]
PROGRESS_INTERVAL = 0.5
"""Seconds between two callbacks within an epoch."""


class Learner(Protocol):
    """A model with parameters that are updated from batches of lists."""

    def expect(self, lists: Integers) -> None:
        """These will be the lists of the step after the next: a learner may begin to load them."""
        return

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        """One update from these lists; returns their mean loss before it, a number or a tensor of a GPU."""

    def read(self, total: Any, step: int) -> float:
        """A sum of such losses as a number, after this step; an error where a loss on a GPU was not finite."""
        return float(total)

    def validation_score(self) -> float | None:
        """The validation score of the current parameters, or None without validation data."""

    def parameters(self) -> Any:
        """A copy of the parameters, by name: arrays, or tensors of a GPU."""

    def state(self) -> Arrays:
        """A copy of all that the next step depends on: the parameters and the state of the optimizer."""

    def restore(self, state: Arrays) -> None:
        """Continue from a state."""


class Checkpointer(Protocol):
    """Stores the state of a training so that it can be resumed after a crash."""

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """What was saved last, or None to start anew."""

    def due(self, step: int) -> bool:
        """Whether to save now."""

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        """Replace what was saved before."""


@dataclass
class DescentProgress:
    """Epochs done, and of the next one: steps done, the sum of the losses of their lists, and how many lists."""

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    lists: int = 0

    def check(self, steps_per_epoch: int) -> None:
        """A ValueError where this cannot be."""
        counts = all(type(count) is int for count in (self.epoch, self.step, self.lists))
        if not (counts and type(self.loss) in (int, float) and math.isfinite(self.loss)):
            raise ValueError(f"there is no {self}")
        if not (self.epoch >= 0 and 0 <= self.step <= steps_per_epoch and self.lists >= self.step):
            raise ValueError(f"there is no {self}")


def descend(
    learner: Learner,
    lists: Integers,
    curve: LearningCurve,
    *,
    epochs: int,
    batch_size: int | None,
    seed: int,
    steps_per_epoch: int | None = None,
    checkpointer: Checkpointer | None = None,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> None:
    """Train for `epochs` epochs of `steps_per_epoch` steps each, by default of one pass over the lists.

    The batches run through one shuffled pass after the other, whatever the epochs. The curve gets a record after each
    epoch and may stop the training. `callback` gets each record, and within an epoch records with a fractional
    iteration. A training resumed from a checkpoint gives exactly the same result.
    """
    size = batch_size or len(lists)
    steps = steps_per_epoch or math.ceil(len(lists) / size)
    progress = DescentProgress() if checkpointer is None else _resume(checkpointer, learner, curve, steps)
    batches = _batches(lists, size, seed, start=progress.epoch * steps + progress.step)
    upcoming = next(batches)
    next_report = time.monotonic() + PROGRESS_INTERVAL
    while progress.epoch < epochs and not curve.exhausted:
        while progress.step < steps:
            (epoch, chosen), upcoming = upcoming, next(batches)
            learner.expect(upcoming[1])
            step = progress.epoch * steps + progress.step
            progress.loss += learner.step(chosen, epoch, step) * len(chosen)
            progress.step, progress.lists = progress.step + 1, progress.lists + len(chosen)
            if checkpointer is not None and checkpointer.due(step + 1):
                progress.loss = learner.read(progress.loss, step)
                _save(checkpointer, learner, curve, progress)
            if callback is not None and time.monotonic() > next_report and progress.step < steps:
                progress.loss = learner.read(progress.loss, step)
                iteration = progress.epoch + progress.step / steps
                callback({"iteration": iteration, "loss": progress.loss / progress.lists})
                next_report = time.monotonic() + PROGRESS_INTERVAL
        loss = learner.read(progress.loss, (progress.epoch + 1) * steps - 1) / progress.lists
        curve.add(progress.epoch + 1, loss, learner.validation_score(), learner.parameters())
        progress = DescentProgress(progress.epoch + 1)
        if callback is not None:
            callback(curve.history[-1])
    if checkpointer is not None:
        _save(checkpointer, learner, curve, progress)


def _batches(lists: Integers, size: int, seed: int, *, start: int) -> Iterator[tuple[float, Integers]]:
    """The batches from a step on, without end, each with the passes before it; seed and pass decide the order."""
    n_batches = math.ceil(len(lists) / size)
    first, batch = divmod(start, n_batches)
    for pass_number in count(first):
        order = lists[np.random.default_rng((seed, pass_number)).permutation(len(lists))]
        for place in range(batch * size, len(lists), size):
            yield pass_number + place / len(lists), order[place : place + size]
        batch = 0


def _save(checkpointer: Checkpointer, learner: Learner, curve: LearningCurve, progress: DescentProgress) -> None:
    arrays = {f"state.{name}": array for name, array in learner.state().items()}
    if curve.best_state is not None:
        arrays |= {f"best.{name}": array for name, array in as_arrays(curve.best_state).items()}
    checkpointer.save({"place": asdict(progress), "history": curve.history}, arrays)


def _resume(checkpointer: Checkpointer, learner: Learner, curve: LearningCurve, steps: int) -> DescentProgress:
    saved = checkpointer.load()
    if saved is None:
        return DescentProgress()
    stored, arrays = saved
    try:
        progress = DescentProgress(**stored["place"])
        progress.check(steps)
        wanted = as_arrays(learner.parameters())
        best = like(wanted, _with_prefix(arrays, "best.")) if progress.epoch else None
        curve.replay(stored["history"], progress.epoch, best)
        learner.restore(_with_prefix(arrays, "state."))
        return progress
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"The checkpoint lacks what is needed to resume: {error!r}") from error


def as_arrays(parameters: Any) -> Arrays:
    """Parameters as a learner gives them, as arrays."""
    return {name: value if isinstance(value, np.ndarray) else value.cpu().numpy() for name, value in parameters.items()}


def like(wanted: Arrays, given: Arrays) -> Arrays:
    """The given arrays if they are finite and have the names, shapes and types of `wanted`; else a ValueError."""
    forms = [{name: (array.shape, array.dtype) for name, array in arrays.items()} for arrays in (wanted, given)]
    if forms[0] != forms[1]:
        name = next(name for name in {**wanted, **given} if forms[0].get(name) != forms[1].get(name))
        raise ValueError(f"{name} must be {forms[0].get(name)}. Got {forms[1].get(name)}")
    for name, array in given.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
    return given


def _with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
