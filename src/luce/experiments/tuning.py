"""Tuning: settings chosen with Optuna by the metric on lists not learned from, and the ranker fitted with the best."""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.errors import DataError, LuceError, LuceWarning, OptionError
from luce.experiments.tuning_judge import SPAN, Judge, Watch, falls_behind, step_of
from luce.experiments.tuning_space import own_values, space_of
from luce.experiments.tuning_study import Study, mark_of, open_study, quiet_optuna
from luce.experiments.tuning_trials import Trial, Tuned, best_of
from luce.options import Choice, Range, is_integer, is_number, text_of
from luce.rankers.ranker import Ranker
from luce.rankers.search_space import value_of

FAILURES = 3
"""Trials that may fail before one is complete: after that the data or what is fixed must be at fault."""


class Progress(NamedTuple):
    """How far a tuning is: the share that is done, what it is at, in words, and the trial that just ended, if any."""

    share: float
    words: str
    ended: Trial | None = None


class _Pruned(Exception):
    """The trial is behind the others."""


class _TimeUp(Exception):
    """The minutes are over."""


def tune(
    ranker: Ranker,
    data: Dataset | TaggedData,
    *,
    validation: Dataset | TaggedData | None = None,
    folds: int = 3,
    trials: int = 50,
    minutes: float | None = None,
    vary: Mapping[str, Range | Choice] | None = None,
    fixed: Iterable[str] = (),
    pruning: bool = True,
    storage: str | os.PathLike[str] | None = None,
    seed: int = 0,
    callback: Callable[[Progress], None] | None = None,
) -> Tuned:
    """Choose settings of a ranker and options of its objective by its `metric` on lists not learned from; fit the best.

    Each trial fits the ranker on all folds but one, in turn, stopped early by that one, or on all of the data, stopped
    by `validation`. The first has the settings as they are; Optuna's TPE sampler chooses the others. A trial that falls
    behind three in four of the others is given up (`pruning`); one that fails is told and the search goes on. The best
    settings are then fitted on all of the data: for as many iterations as their folds wanted on average, or stopped by
    `validation`.

    Parameters:
        trials: how many in all, counting those that are in the storage.
        minutes: the search ends after that many, in the middle of a trial too, but not before one has ended.
        vary: ranges by name, instead of the declared ones or beside them: luce.Range(1, 9), luce.Choice(("a", "b")).
        fixed: names of what stays as it is, of what would otherwise be varied.
        storage: a file that keeps the trials; the same tuning goes on from it. None: in memory alone.
        seed: of the folds and of the sampler.
        callback: gets a `Progress` at every step.

    Ctrl-C ends the search, and the best settings so far are fitted; once more ends that too. The value of the best
    trial was chosen among many on the same lists: on new ones expect a little less.

    >>> import luce
    >>> from luce.data.synthetic import web_search
    >>> data = web_search(30, n_features=5, mean_length=8).dataset
    >>> found = tune(luce.LinearRanker("listnet", n_jobs=1), data, trials=3, folds=2)
    >>> found.best.value >= found.trials[0].value, found.trials[0].settings, len(found.best_ranker.coef_)
    (True, {'reg_lambda': 1.0}, 5)
    """
    space = space_of(ranker, vary, fixed)
    _check(ranker, data, validation, folds, trials, minutes, seed)
    judge = Judge(ranker, data, validation, folds, seed)
    better = ranker.get_metric().higher_is_better
    with (
        quiet_optuna(),
        open_study(storage, _described(judge, space), space, higher_is_better=better, seed=seed) as study,
    ):
        search = _Search(judge, study, trials, minutes, pruning, callback or (lambda progress: None))
        interrupted = search.run()
        ended = study.trials()
        best = best_of(ended, better)
        if best is None:
            raise OptionError(f"No trial was complete: {len(ended)} ended. Give more trials, or more minutes.")
        fitted = judge.fitted(best.settings, best.rounds, search.fitting)
        return Tuned(fitted, best, tuple(ended), space, ranker.metric, better, study.importance(), interrupted)


class _Search:
    """The trials of a study, one after the other."""

    def __init__(self, judge: Judge, study: Study, trials: int, minutes: float | None, pruning: bool, tell: Any):
        self.judge, self.study, self.trials, self.pruning, self.tell = judge, study, trials, pruning, tell
        self.began, self.seconds = time.monotonic(), math.inf if minutes is None else 60 * minutes
        self.better = judge.ranker.get_metric().higher_is_better
        self.own = own_values(judge.ranker, study.space)

    def run(self) -> bool:
        """Try until all trials are done or the time is up; True where an interrupt ended it."""
        ended = self.study.trials()
        try:
            while len(ended) < self.trials and not (ended and self._late()):
                self._try(len(ended) + 1, best_of(ended, self.better))
                ended = self.study.trials()
                self.tell(Progress(self._share(len(ended)), self._words(len(ended), ended), ended[-1]))
                self._give_up_on(ended)
        except _TimeUp:
            return False
        except KeyboardInterrupt:
            if best_of(ended, self.better) is None:
                raise
            return True
        return False

    def _try(self, number: int, best: Trial | None) -> None:
        trial = self.study.ask(number, self.own)
        began, settings = time.monotonic(), self.study.settings_of(trial)

        def end(state: str, value: float | None = None, **notes: Any) -> None:
            self.study.end(trial, state, value, seconds=round(time.monotonic() - began, 3), **notes)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LuceWarning)  # such as that no tree can split: its value says it
                figures, iterations = self.judge.figures(settings, self._watch(trial, number, best))
        except _Pruned:
            end("PRUNED")
        except (KeyboardInterrupt, _TimeUp):
            end("FAIL")
            raise
        except Exception as error:
            end("FAIL", error=str(error) if isinstance(error, LuceError) else f"{type(error).__name__}: {error}")
        else:
            end("COMPLETE", float(np.mean(figures)), figures=figures, iterations=iterations)

    def _watch(self, trial: Any, number: int, best: Trial | None) -> Watch:
        """Tells how far a trial is, and ends it when it falls behind or the time is up."""
        others = self.study.reports() if self.pruning else []
        words, n_fits, reported = self._words(number, [] if best is None else [best]), self.judge.n_fits, -1

        def watch(fold: int, share: float, value: float, ended: bool) -> None:
            nonlocal reported
            self.tell(Progress(self._share(number - 1 + (fold + share) / n_fits), words))
            if best is not None and self._late():
                raise _TimeUp
            step = step_of(fold, share, ended)
            due = step % SPAN > 0 and (ended or n_fits == 1) and not math.isnan(value)
            if due and step > reported:
                reported = step
                trial.report(value, step)
                if fold + share < n_fits and falls_behind(value, step, others, self.better):
                    raise _Pruned

        return watch

    def _late(self) -> bool:
        return time.monotonic() - self.began > self.seconds

    def _share(self, done: float) -> float:
        """Of the trials or of the time, whichever is nearer to its end."""
        return min(1.0, max(done / self.trials, (time.monotonic() - self.began) / self.seconds))

    def _words(self, number: int, ended: list[Trial]) -> str:
        best = best_of(ended, self.better)
        known = "" if best is None else f", best {self.judge.ranker.metric} {best.value:.4f}"
        return f"trial {number} of {self.trials}{known}"

    def _give_up_on(self, ended: list[Trial]) -> None:
        if len(ended) >= FAILURES and all(trial.state == "failed" for trial in ended):
            raise OptionError(f"The first {len(ended)} trials failed, the last of them so: {ended[-1].error}")

    def fitting(self, record: dict[str, float]) -> None:
        """Tell how far the last fit is."""
        self.tell(
            Progress(1.0, f"fitting the best settings, {self.judge.ranker.iteration_name} {record['iteration']:.4g}")
        )


def _described(judge: Judge, space: Mapping[str, Range | Choice]) -> dict[str, Any]:
    """What must be the same for a study to go on."""
    ranker, validated = judge.ranker, judge.validation is not None
    settings = ranker.describe(("n_jobs", *ranker.machine_specific_params))
    varied = [name for name in space if name in settings]
    goal = ranker.get_objective()
    options = {name: text_of(value) for name, value in goal.options.items() if name not in space}
    return {
        **{name: value for name, value in settings.items() if name not in varied},
        "objective": {"name": goal.name, **options},
        "ranges": {name: str(tried) for name, tried in space.items()},
        "first trial": {name: text_of(value_of(ranker, name)) for name in space},
        "folds": None if validated else judge.n_folds,
        "seed": judge.seed,
        "data": mark_of(judge.data),
        "validation": mark_of(judge.validation) if validated else None,
    }


def _check(
    ranker: Ranker, data: Any, validation: Any, folds: int, trials: int, minutes: float | None, seed: int
) -> None:
    """What was asked for, before any work."""
    kind = Dataset if isinstance(ranker, Ranker) else TaggedData
    for name, given in {"data": data, "validation": data if validation is None else validation}.items():
        if not isinstance(given, kind):
            raise OptionError(f"The {name} to tune a {ranker.kind} ranker on must be a {kind.__name__}. Got {given!r}.")
    for name, number, least in (("folds", folds, 2), ("trials", trials, 1), ("seed", seed, 0)):
        if not is_integer(number) or number < least:
            raise OptionError(f"{name} must be an integer ≥ {least}. Got {number!r}.")
    if validation is None and data.n_lists < folds:
        raise DataError(f"{folds} folds need at least as many lists. Got {data!r}.")
    if minutes is not None and not (is_number(minutes) and minutes > 0):
        raise OptionError(f"minutes must be a number > 0, or None. Got {minutes!r}.")
    rate = getattr(ranker, "learning_rate", None)
    if isinstance(rate, list | tuple | np.ndarray) and len(rate) != 1:
        raise OptionError(f"Tuning varies learning_rate itself: give one, or a range. Got {rate!r}.")
    if not isinstance(ranker.random_state, int | np.integer):
        raise OptionError(
            f"Trials differ by their settings alone: random_state must be an integer. Got {ranker.random_state!r}."
        )
    ranker.check_params()
