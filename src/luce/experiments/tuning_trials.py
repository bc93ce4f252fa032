"""What a tuning finds: its trials, the best of them, what settings are worth, and the ranker fitted with the best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from luce.options import Choice, Range, text_of
from luce.rankers.ranker import Ranker


class Trial(NamedTuple):
    """One combination of settings, tried.

    Attributes:
        number: from 1; the first has the settings of the ranker that was given, where they are in the ranges.
        state: "complete"; "pruned", given up since three in four of the others had been better at that point; "failed".
        value: the mean of the metric over the folds; NaN where it is not complete.
        figures: the metric of each fold. iterations: the best iteration of each.
        settings: what was tried, by name. seconds: how long it took. error: why it failed.
    """

    number: int
    state: str
    value: float
    settings: dict[str, Any]
    figures: tuple[float, ...] = ()
    iterations: tuple[int, ...] = ()
    seconds: float = math.nan
    error: str = ""

    @property
    def rounds(self) -> int:
        """The mean of the best iterations, rounded, at least 1."""
        return max(1, round(sum(self.iterations) / len(self.iterations)))


@dataclass(frozen=True, repr=False)
class Tuned:
    """What `luce.tune` gives.

    Attributes:
        best_ranker: fitted with the settings of the best trial; on all lists for as many iterations as its folds
            wanted on average, or, where there are validation lists, stopped by them.
        best: the best trial. trials: all of them, in their order.
        space: what was varied, and over which ranges. metric: what was compared, and whether higher is better.
        importance: the share of the differences between trials that each setting explains; empty for too few trials.
        interrupted: whether the search was ended by Ctrl-C.
    """

    best_ranker: Ranker
    best: Trial
    trials: tuple[Trial, ...]
    space: Mapping[str, Range | Choice]
    metric: str
    higher_is_better: bool
    importance: Mapping[str, float]
    interrupted: bool = False

    @property
    def ranked(self) -> list[Trial]:
        """The complete trials, best first."""
        complete = [trial for trial in self.trials if trial.state == "complete"]
        return sorted(complete, key=lambda trial: -trial.value if self.higher_is_better else trial.value)

    @property
    def first(self) -> Trial | None:
        """The trial of the settings that were given, where it was complete."""
        return next((trial for trial in self.trials if trial.number == 1 and trial.state == "complete"), None)

    def table(self) -> pa.Table:
        """One row a trial: number, state, value, seconds, rounds, and each setting as text."""
        rows = [
            {"trial": trial.number, "state": trial.state, self.metric: trial.value, "seconds": trial.seconds}
            | {name: text_of(trial.settings[name]) for name in self.space}
            for trial in self.trials
        ]
        return pa.Table.from_pylist(rows)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.trials]
        counted = ", ".join(f"{states.count(s)} {s}" for s in ("complete", "pruned", "failed") if s in states)
        found = ", ".join(f"{name}={text_of(value)}" for name, value in self.best.settings.items())
        return f"Tuned({len(self.trials)} trials, {counted}; {self.metric} {self.best.value:.4f} with {found})"


def best_of(trials: list[Trial], higher_is_better: bool) -> Trial | None:
    """The best of the complete trials, the first where some are equal."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return min(complete, key=lambda trial: -trial.value if higher_is_better else trial.value, default=None)
