"""The boosting loop: one weak learner per round, with early stopping and checkpoints."""

from collections.abc import Callable
from typing import Any, Protocol

from luce.errors import DataError
from luce.optimizers.gradient_descent import Arrays, Checkpointer
from luce.optimizers.learning_curve import LearningCurve


class Booster(Protocol):
    """An ensemble that grows round by round."""

    def grow(self, round_number: int) -> bool:
        """Add the weak learner of one round, numbered from 0; False when none can be added."""

    def loss(self) -> float:
        """The loss after the last round."""

    def validation_score(self) -> float | None:
        """The validation score after the last round, or None without validation data."""

    def state(self) -> Arrays:
        """The arrays that the next round depends on."""

    def restore(self, state: Arrays, rounds: int) -> None:
        """Continue from a state after so many rounds."""


def boost(
    booster: Booster,
    curve: LearningCurve,
    *,
    rounds: int,
    checkpointer: Checkpointer | None = None,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> None:
    """Grow for up to `rounds` rounds; afterwards `curve.best_state` is the best number of rounds.

    `callback` gets the record of each round. A training resumed from a checkpoint gives exactly the same result.
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


def _save(checkpointer: Checkpointer, booster: Booster, curve: LearningCurve, done: int) -> None:
    checkpointer.save({"rounds": done, "history": curve.history}, booster.state())


def _resume(checkpointer: Checkpointer, booster: Booster, curve: LearningCurve) -> int:
    saved = checkpointer.load()
    if saved is None:
        return 0
    progress, arrays = saved
    try:
        done: Any = progress["rounds"]
        if type(done) is not int or done < 0:
            raise ValueError(f"there are no {done!r} rounds")
        curve.replay(progress["history"], done, None)
        curve.best_state = curve.best_iteration
        booster.restore(arrays, done)
        return done
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The checkpoint lacks what is needed to resume: {error!r}") from error
