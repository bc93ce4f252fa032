"""The trials of a tuning, and its result: the best of them, what parameters are worth, and the refitted ranker."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from luce.experiments.tuning_space import params_of
from luce.options import Choice, Range, text_of
from luce.rankers.ranker import Ranker

STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}


class Trial(NamedTuple):
    """One combination of parameters, and its score.

    Attributes
    ----------
    number : int
        From 1; the first has the parameters of the given ranker, where they are in the ranges.
    state : str
        "complete"; "pruned": stopped, because it was in the worst quarter; or "failed".
    value : float
        The mean of the metric over the folds; NaN unless complete.
    params : dict
        The values that were tried, by name.
    fold_scores, best_iterations : tuple
        The metric and the best iteration of each fold.
    seconds : float
        How long it took.
    error : str
        Why it failed.
    """

    number: int
    state: str
    value: float
    params: dict[str, Any]
    fold_scores: tuple[float, ...] = ()
    best_iterations: tuple[int, ...] = ()
    seconds: float = math.nan
    error: str = ""

    @property
    def mean_iteration(self) -> int:
        """The mean of the best iterations, rounded, at least 1."""
        return max(1, round(sum(self.best_iterations) / len(self.best_iterations)))


@dataclass(frozen=True, repr=False)
class TuningResult:
    """The result of `luce.tune`.

    Attributes
    ----------
    best_ranker : Ranker
        Fitted with the parameters of the best trial.
    best : Trial
        The best trial.
    trials : tuple of Trial
        All of them, in order.
    space : dict of str to Range or Choice
        The search space.
    metric : str
        The metric that was optimized.
    higher_is_better : bool
        Of the metric.
    importance : dict of str to float
        The share of the differences between trials that each parameter explains; empty for fewer than five trials.
    interrupted : bool
        Whether Ctrl-C ended the search.
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
        """The trial of the given parameters, where it was complete."""
        return next((trial for trial in self.trials if trial.number == 1 and trial.state == "complete"), None)

    def table(self) -> pa.Table:
        """One row per trial: number, state, value, seconds, and each parameter as text."""
        rows = [
            {"trial": trial.number, "state": trial.state, self.metric: trial.value, "seconds": trial.seconds}
            | {name: text_of(trial.params[name]) for name in self.space}
            for trial in self.trials
        ]
        return pa.Table.from_pylist(rows)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.trials]
        counted = ", ".join(f"{states.count(s)} {s}" for s in STATES.values() if s in states)
        found = ", ".join(f"{name}={text_of(value)}" for name, value in self.best.params.items())
        return f"TuningResult({len(self.trials)} trials, {counted}; {self.metric} {self.best.value:.4f} with {found})"


def finished_trials(study: Any, space: Mapping[str, Range | Choice]) -> list[Trial]:
    """The trials of an Optuna study, in order, without those that an interrupt or a crash cut off; a ValueError or
    TypeError where a trial holds what this space and `tune` cannot have written."""
    finished = [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.state.name in ("COMPLETE", "PRUNED") or (trial.state.name == "FAIL" and "error" in trial.user_attrs)
    ]
    return [_trial(number, trial, space) for number, trial in enumerate(finished, 1)]


def _trial(number: int, trial: Any, space: Mapping[str, Range | Choice]) -> Trial:
    state, attrs = STATES[trial.state.name], trial.user_attrs
    params = params_of(space, trial.params)
    if any(name not in params or params[name] not in space[name] for name in space):
        raise ValueError(f"the parameters of trial {number} are not in the ranges")
    scores, iterations = (tuple(attrs.get(name, ())) for name in ("fold_scores", "best_iterations"))
    if state == "complete" and not iterations:
        raise ValueError(f"trial {number} has no iterations")
    if not all(type(each) in (int, float) for each in (*scores, *iterations)):
        raise ValueError(f"the scores of trial {number} are not all numbers")
    value = float(trial.value) if state == "complete" else math.nan
    seconds = float(attrs.get("seconds", math.nan))
    return Trial(number, state, value, params, scores, iterations, seconds, str(attrs.get("error", "")))
