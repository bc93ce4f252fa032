"""The learning curve of a training, its best iteration, and early stopping."""

import math
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, float]
"""One iteration of a training: its number, its loss, and its validation score where there is validation data."""


def checked_history(given: Any) -> list[Record]:
    """The records of a training as read from a file; a ValueError where they are malformed."""
    if not isinstance(given, list) or not all(_is_record(step) for step in given):
        raise ValueError("history must be records of an iteration and a loss")
    return given


def _is_record(step: Any) -> bool:
    numbers = isinstance(step, dict) and all(type(value) in (int, float) for value in step.values())
    return numbers and {"iteration", "loss"} <= step.keys()


@dataclass
class LearningCurve:
    """The records of a training and its best state: by the validation score if there is one, else the last.

    >>> curve = LearningCurve(early_stopping_rounds=2)
    >>> [curve.add(i, 1.0, value, f"state {i}") for i, value in enumerate([0.5, 0.7, 0.6, 0.6])]
    [False, False, False, True]
    >>> curve.best_iteration, curve.best_state
    (1, 'state 1')
    """

    higher_is_better: bool = True
    early_stopping_rounds: int | None = None
    history: list[Record] = field(default_factory=list)
    best_iteration: int = 0
    best_value: float = math.nan
    best_state: Any = None

    def add(self, iteration: int, loss: float, validation: float | None, state: Any) -> bool:
        """Append a record; returns whether to stop, after `early_stopping_rounds` iterations without improvement."""
        self.history.append({"iteration": iteration, "loss": loss})
        if validation is not None:
            self.history[-1]["validation"] = validation
        if validation is None or self.improves(validation):
            self.best_iteration, self.best_state = iteration, state
            self.best_value = math.nan if validation is None else validation
        return self.exhausted

    def replay(self, history: Any, n_steps: int, best_state: Any) -> None:
        """Restore `n_steps` records and the best state from a file; a ValueError where they are malformed."""
        steps = [step["iteration"] for step in checked_history(history)]
        if len(steps) != n_steps or steps != list(range(1, len(steps) + 1)):
            raise ValueError(f"history must have the iterations 1 to {n_steps}")
        for step in history:
            self.add(step["iteration"], step["loss"], step.get("validation"), best_state)

    @property
    def exhausted(self) -> bool:
        """Whether the last `early_stopping_rounds` iterations brought no improvement."""
        if self.early_stopping_rounds is None or not self.history:
            return False
        return self.history[-1]["iteration"] - self.best_iteration >= self.early_stopping_rounds

    def improves(self, value: float) -> bool:
        """Whether a validation score is better than the best so far."""
        if math.isnan(self.best_value):
            return True
        return value > self.best_value if self.higher_is_better else value < self.best_value
