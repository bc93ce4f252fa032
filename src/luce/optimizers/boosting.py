"""Boosting: one weak learner a round, with early stopping and checkpoints, whatever it is that grows."""

from collections.abc import Callable
from typing import Any, Protocol

from luce.errors import DataError
from luce.optimizers.convergence import Curve
from luce.optimizers.gradient_descent import Arrays, Checkpointer


class Booster(Protocol):
    """Something that grows round by round."""

    def grow(self, round_number: int) -> bool:
        """One round, numbered from 0; False when nothing can be added."""

    def loss(self) -> float:
        """The loss after the last round."""

    def validation_score(self) -> float | None:
        """The validation score after the last round, where there is validation data."""

    def state(self) -> Arrays:
        """All that the next round depends on."""

    def restore(self, state: Arrays, rounds: int) -> None:
        """Go on from a state after so many rounds."""


def boost(
    booster: Booster,
    curve: Curve,
    *,
    rounds: int,
    checkpointer: Checkpointer | None = None,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> None:
    """Grow for so many rounds; the best state of the curve is the number of rounds to keep.

    `callback` gets the record of each round. With a checkpointer, a training that goes on ends in the same bits.
    """
    done = 0 if checkpointer is None else _resume(checkpointer, booster, curve)
    saved = done
    while done < rounds and not curve.exhausted and booster.grow(done):
        done += 1
        curve.add(done, booster.loss(), booster.validation_score(), done)
        if checkpointer is not None and checkpointer.due(done):
            _save(checkpointer, booster, curve, done)
            saved = done
        if callback is not None:
            callback(curve.history[-1])
    if checkpointer is not None and (done > saved or not done):
        _save(checkpointer, booster, curve, done)


def _save(checkpointer: Checkpointer, booster: Booster, curve: Curve, done: int) -> None:
    checkpointer.save({"rounds": done, "history": curve.history}, booster.state())


def _resume(checkpointer: Checkpointer, booster: Booster, curve: Curve) -> int:
    kept = checkpointer.load()
    if kept is None:
        return 0
    progress, arrays = kept
    try:
        done: Any = progress["rounds"]
        if type(done) is not int or done < 0:
            raise ValueError(f"there are no {done!r} rounds")
        curve.replay(progress["history"], done, None)
        curve.best_state = curve.best_iteration
        booster.restore(arrays, done)
        return done
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The checkpoint does not hold what this training needs to go on: {error!r}") from error
