"""The curve of a training, the best point on it, and when to stop."""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Curve:
    """Records a training step by step and keeps the best state: by the validation figure if any, else the last.

    >>> curve = Curve(patience=2)
    >>> [curve.add(i, 1.0, value, f"state {i}") for i, value in enumerate([0.5, 0.7, 0.6, 0.6])]
    [False, False, False, True]
    >>> curve.best_iteration, curve.best_state
    (1, 'state 1')
    """

    higher_is_better: bool = True
    patience: int | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    best_iteration: int = 0
    best_value: float = math.nan
    best_state: Any = None

    def add(self, iteration: int, loss: float, validation: float | None, state: Any) -> bool:
        """Take a step into the record; True when `patience` steps have brought nothing better."""
        self.history.append({"iteration": iteration, "loss": loss})
        if validation is not None:
            self.history[-1]["validation"] = validation
        if validation is None or self._improves(validation):
            self.best_iteration, self.best_state = iteration, state
            self.best_value = math.nan if validation is None else validation
        return self.patience is not None and iteration - self.best_iteration >= self.patience

    def _improves(self, value: float) -> bool:
        if math.isnan(self.best_value):
            return True
        return value > self.best_value if self.higher_is_better else value < self.best_value
