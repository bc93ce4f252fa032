"""Gradient descent over batches of lists: order, early stopping and checkpoints, whatever it is that learns."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Integers
from luce.errors import DataError
from luce.optimizers.convergence import Curve

Arrays = dict[str, NDArray[Any]]
PULSE = 0.5
"""Seconds between two words of how far an epoch is."""


class Learner(Protocol):
    """Something with parameters that lists of the data can improve."""

    def step(self, lists: Integers, epoch: int, step: int) -> float:
        """One update from these lists; their mean loss before it."""

    def validation_score(self) -> float | None:
        """The validation score of the parameters as they are, where there is validation data."""

    def parameters(self) -> Arrays:
        """A copy of what has been learned."""

    def state(self) -> Arrays:
        """A copy of all that the next step depends on: the parameters, and the optimizer's memory of the past."""

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""


class Checkpointer(Protocol):
    """Keeps the state of a training where a crash cannot reach it."""

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """What was kept last, where this training is to go on from it."""

    def due(self, step: int) -> bool:
        """Whether to save now."""

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        """Keep this instead of what was kept before."""


@dataclass
class Place:
    """Where a descent is: epochs done, batches done of the next one, and the sum of its losses so far."""

    epoch: int = 0
    batch: int = 0
    loss: float = 0.0

    def check(self, n_batches: int) -> None:
        """A ValueError where there is no such place."""
        counts = type(self.epoch) is int and type(self.batch) is int and type(self.loss) in (int, float)
        if not (counts and self.epoch >= 0 and 0 <= self.batch <= n_batches and math.isfinite(self.loss)):
            raise ValueError(f"there is no {self}")


def descend(
    learner: Learner,
    lists: Integers,
    curve: Curve,
    *,
    epochs: int,
    batch_size: int | None,
    seed: int,
    checkpointer: Checkpointer | None = None,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> None:
    """Go over the lists `epochs` times in batches, in an order that depends on the seed and the epoch alone.

    The curve gets a record after each epoch and may end the training. `callback` gets each record, and while an epoch
    runs a record whose iteration is a fraction. With a checkpointer, a training that goes on ends in the same bits.
    """
    size = batch_size or len(lists)
    n_batches = math.ceil(len(lists) / size)
    place = Place() if checkpointer is None else _resume(checkpointer, learner, curve, n_batches)
    pulse = time.monotonic() + PULSE
    while place.epoch < epochs and not curve.exhausted:
        order = lists[np.random.default_rng((seed, place.epoch)).permutation(len(lists))]
        for batch in range(place.batch, n_batches):
            chosen = order[batch * size : (batch + 1) * size]
            step = place.epoch * n_batches + batch
            place.loss += learner.step(chosen, place.epoch, step) * len(chosen)
            place.batch = batch + 1
            if checkpointer is not None and checkpointer.due(step + 1):
                _keep(checkpointer, learner, curve, place)
            if callback is not None and time.monotonic() > pulse and place.batch < n_batches:
                share = place.batch / n_batches
                callback({"iteration": place.epoch + share, "loss": place.loss / min(len(lists), place.batch * size)})
                pulse = time.monotonic() + PULSE
        curve.add(place.epoch + 1, place.loss / len(lists), learner.validation_score(), learner.parameters())
        place = Place(place.epoch + 1)
        if callback is not None:
            callback(curve.history[-1])
    if checkpointer is not None:
        _keep(checkpointer, learner, curve, place)


def _keep(checkpointer: Checkpointer, learner: Learner, curve: Curve, place: Place) -> None:
    arrays = {f"state.{name}": array for name, array in learner.state().items()}
    if curve.best_state is not None:
        arrays |= {f"best.{name}": array for name, array in curve.best_state.items()}
    checkpointer.save({"place": asdict(place), "history": curve.history}, arrays)


def _resume(checkpointer: Checkpointer, learner: Learner, curve: Curve, n_batches: int) -> Place:
    kept = checkpointer.load()
    if kept is None:
        return Place()
    progress, arrays = kept
    try:
        place = Place(**progress["place"])
        place.check(n_batches)
        best = like(learner.parameters(), _part(arrays, "best.")) if place.epoch else None
        curve.replay(progress["history"], place.epoch, best)
        learner.restore(_part(arrays, "state."))
        return place
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"The checkpoint does not hold what this training needs to go on: {error!r}") from error


def like(wanted: Arrays, given: Arrays) -> Arrays:
    """The given arrays, if they have the names, shapes and types of the wanted and are finite; else a ValueError."""
    forms = [{name: (array.shape, array.dtype) for name, array in arrays.items()} for arrays in (wanted, given)]
    if forms[0] != forms[1]:
        name = next(name for name in {**wanted, **given} if forms[0].get(name) != forms[1].get(name))
        raise ValueError(f"{name} must be {forms[0].get(name)}. Got {forms[1].get(name)}")
    for name, array in given.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
    return given


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
