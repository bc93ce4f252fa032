"""Tuning: parameters chosen with Optuna by the metric on held-out lists, and the ranker refitted with the best."""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from luce.compilation import working_time
from luce.data.extreme import TaggedData
from luce.data.fingerprint import fingerprint
from luce.data.ragged import Dataset
from luce.errors import DataError, LuceError, LuceWarning, OptionError, load_package
from luce.experiments.cross_validation import CrossValidation
from luce.experiments.study import errors_of, importances, open_study, sampler
from luce.experiments.trials import Trial, TuningResult, finished_trials
from luce.experiments.tuning_space import own_values, space_of, suggest
from luce.options import Choice, Range, is_integer, is_number, text_of
from luce.rankers.ranker import Ranker
from luce.rankers.search_space import value_of

MAX_FAILURES = 3
"""Trials that may fail before one is complete: after that the data or the fixed parameters must be at fault."""
LOOKS = 4
"""A single fit is compared with other trials when it has done a quarter, half and three quarters of its iterations."""


class TuningProgress(NamedTuple):
    """The fraction of a tuning that is done, what it is doing, and the trial that just finished, if one did."""

    fraction: float
    message: str
    trial: Trial | None = None


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
    callback: Callable[[TuningProgress], None] | None = None,
) -> TuningResult:
    """Tune parameters of a ranker and options of its objective for its `metric` on held-out lists, and refit the best.

    Each trial fits the ranker on all folds but one, in turn, with early stopping on that one, or on all of the data,
    with early stopping on `validation`. The first trial has the parameters as they are; Optuna's TPE sampler chooses
    the others. A trial that fails is reported, and the search continues. The best parameters are then fitted
    on all of the data: for the mean of the best iterations of the folds, or with early stopping on `validation`.

    Ctrl-C ends the search, and the best parameters so far are fitted; a second Ctrl-C ends that too. The value of the
    best trial was selected among many on the same lists: expect a slightly worse value on new lists.

    Parameters
    ----------
    ranker : Ranker
        Not fitted; its parameters are those of the first trial, and of what is not searched.
    data : Dataset or TaggedData
        The training data.
    validation : Dataset or TaggedData, optional
        Held-out data for early stopping and for the score of each trial, instead of folds of `data`.
    folds : int
        The number of folds; lists are not split.
    trials : int
        The total number of trials, including those in the storage.
    minutes : float, optional
        The search ends after this long, even during a trial, but not before one has finished.
    vary : dict of str to Range or Choice, optional
        Ranges by name, instead of or beside the declared ones: ``luce.Range(1, 9)``, ``luce.Choice(("a", "b"))``.
    fixed : iterable of str
        Names of parameters to leave out of the search.
    pruning : bool
        Whether a trial in the worst quarter is stopped before its last fold, or before the end of its only fit.
    storage : path, optional
        An SQLite file for the trials; the same call resumes from it. By default they are only in memory.
    seed : int
        Seed of the folds and of the sampler.
    callback : callable, optional
        Called with a `TuningProgress` after every iteration and every trial.

    Returns
    -------
    TuningResult
        The best ranker, fitted, and all trials.

    Raises
    ------
    DataError
        If `storage` is damaged, is in use, or is another study.
    OptionError
        If an argument is wrong, or no trial is complete.

    Examples
    --------
    >>> import luce
    >>> from luce.data.synthetic import web_search
    >>> data = web_search(30, n_features=5, mean_length=8).dataset
    >>> found = tune(luce.LinearRanker("listnet", n_jobs=1), data, trials=3, folds=2)
    >>> found.best.value >= found.trials[0].value, found.trials[0].params, len(found.best_ranker.coef_)
    (True, {'reg_lambda': 10.0}, 5)
    """
    space = space_of(ranker, vary, fixed)
    _check(ranker, data, validation, folds, trials, minutes, seed)
    scorer = CrossValidation(ranker, data, validation, folds, seed)
    better = ranker.get_metric().higher_is_better
    with open_study(storage, _description(scorer, space), higher_is_better=better, pruning=pruning) as study:
        with errors_of(storage):
            search = _Search(scorer, study, space, trials, minutes, callback or (lambda progress: None))
        interrupted = search.run()
        best = search.best
        if best is None:
            raise OptionError(f"None of {len(search.finished)} trials was completed. Allow more trials or minutes.")
        fitted = scorer.refit(best.params, best.mean_iteration, search.report_refit)
        found = tuple(search.finished)
        return TuningResult(fitted, best, found, space, ranker.metric, better, importances(study), interrupted)


class _Search:
    """The trials of a study, one after the other."""

    def __init__(
        self,
        scorer: CrossValidation,
        study: Any,
        space: Mapping[str, Range | Choice],
        trials: int,
        minutes: float | None,
        callback: Callable[[TuningProgress], None],
    ):
        self.scorer, self.study, self.space, self.trials, self.callback = scorer, study, space, trials, callback
        self.start, self.seconds = time.monotonic(), math.inf if minutes is None else 60 * minutes
        self.finished = finished_trials(study, space)

    @property
    def best(self) -> Trial | None:
        """The best of the complete trials, the first where some are equal."""
        key = attrgetter("value")
        complete = [trial for trial in self.finished if trial.state == "complete"]
        higher_is_better = self.scorer.ranker.get_metric().higher_is_better
        return (max if higher_is_better else min)(complete, key=key, default=None)

    def run(self) -> bool:
        """Run trials until all are done or the time is up; True where an interrupt ended them."""
        own = own_values(self.scorer.ranker, self.space)
        if not self.finished and own and not any(trial.state.name == "WAITING" for trial in self.study.trials):
            self.study.enqueue_trial(own)
        self._seed()
        left = max(0, self.trials - len(self.finished))
        try:
            self.study.optimize(self._score, n_trials=left, catch=Exception, callbacks=[self._after_trial])
        except KeyboardInterrupt:
            if self.best is None:
                raise
            return True
        return False

    def _seed(self) -> None:
        """Seed the sampler by the number of the trial, so that a resumed study draws what it would have drawn."""
        self.study.sampler = sampler(self.scorer.seed, len(self.finished) + 1, len(self.space))

    def _after_trial(self, study: Any, _: Any) -> None:
        before, self.finished = len(self.finished), finished_trials(study, self.space)
        if len(self.finished) > before:
            self._report(len(self.finished), len(self.finished), self.finished[-1])
        if len(self.finished) >= MAX_FAILURES and all(trial.state == "failed" for trial in self.finished):
            last = self.finished[-1].error
            raise OptionError(f"The first {len(self.finished)} trials failed, the last of them with: {last}")
        if self._time_is_up():
            study.stop()
        self._seed()

    def _score(self, trial: Any) -> float:
        """The mean of the metric over the folds, as Optuna asks for it."""
        self.looks, start, params = 0, working_time(), suggest(trial, self.space)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LuceWarning)  # such as that no tree can split: its value says it
                scores, iterations = self.scorer.scores(params, partial(self._on_step, trial))
        except (load_package("optuna", "tune").TrialPruned, _TimeUp):
            raise
        except Exception as error:
            message = str(error) if isinstance(error, LuceError) else f"{type(error).__name__}: {error}"
            trial.set_user_attr("error", message)
            raise
        finally:
            trial.set_user_attr("seconds", round(working_time() - start, 3))
        trial.set_user_attr("fold_scores", scores)
        trial.set_user_attr("best_iterations", iterations)
        return float(np.mean(scores))

    def _on_step(self, trial: Any, fold: int, fraction: float, value: float) -> None:
        """Report how far a trial is, and end it when Optuna prunes it or the time is up."""
        n_fits = self.scorer.n_fits
        self._report(len(self.finished) + (fold + fraction) / n_fits, len(self.finished) + 1)
        if self.best is not None and self._time_is_up():
            raise _TimeUp
        # Trials are compared after each fold; a single fit that stopped early keeps its value for later looks.
        looks = int(LOOKS * fraction) if n_fits == 1 else fold + int(fraction)
        if looks > self.looks and not math.isnan(value):
            for look in range(self.looks, looks):
                trial.report(value, look)
            self.looks = looks
            if fold + fraction < n_fits and trial.should_prune():
                raise load_package("optuna", "tune").TrialPruned

    def _time_is_up(self) -> bool:
        return time.monotonic() - self.start > self.seconds

    def _report(self, done: float, number: int, trial: Trial | None = None) -> None:
        fraction = min(1.0, max(done / self.trials, (time.monotonic() - self.start) / self.seconds))
        best = "" if self.best is None else f", best {self.scorer.ranker.metric} {self.best.value:.4f}"
        self.callback(TuningProgress(fraction, f"trial {number} of {self.trials}{best}", trial))

    def report_refit(self, record: dict[str, float]) -> None:
        """Report how far the last fit is."""
        name = self.scorer.ranker.iteration_name
        self.callback(TuningProgress(1.0, f"fitting the best parameters, {name} {record['iteration']:.4g}"))


def _description(scorer: CrossValidation, space: Mapping[str, Range | Choice]) -> dict[str, Any]:
    """What must be the same for a study to be resumed."""
    ranker, validation = scorer.ranker, scorer.validation
    params = ranker.describe(("n_jobs", *ranker.machine_specific_params))
    objective = ranker.get_objective()
    options = {name: text_of(value) for name, value in objective.options.items() if name not in space}
    return {
        **{name: value for name, value in params.items() if name not in space},
        "objective": {"name": objective.name, **options},
        "ranges": {name: str(candidates) for name, candidates in space.items()},
        "first trial": {name: text_of(value_of(ranker, name)) for name in space},
        "folds": scorer.n_folds if validation is None else None,
        "seed": scorer.seed,
        "data": f"{scorer.data!r} {fingerprint(scorer.data)}",
        "validation": None if validation is None else f"{validation!r} {fingerprint(validation)}",
    }


def _check(
    ranker: Ranker, data: Any, validation: Any, folds: int, trials: int, minutes: float | None, seed: int
) -> None:
    """Every argument, before any work."""
    kind = Dataset if isinstance(ranker, Ranker) else TaggedData
    for name, given in {"data": data, "validation": data if validation is None else validation}.items():
        if not isinstance(given, kind):
            raise OptionError(f"To tune a {ranker.kind} ranker, the {name} must be a {kind.__name__}. Got {given!r}.")
    for name, number, least in (("folds", folds, 2), ("trials", trials, 1), ("seed", seed, 0)):
        if not is_integer(number) or number < least:
            raise OptionError(f"{name} must be an integer ≥ {least}. Got {number!r}.")
    if validation is None and data.n_lists < folds:
        raise DataError(f"{folds} folds need at least {folds} lists. Got {data!r}.")
    if minutes is not None and not (is_number(minutes) and minutes > 0):
        raise OptionError(f"minutes must be a number > 0, or None. Got {minutes!r}.")
    rate = getattr(ranker, "learning_rate", None)
    if isinstance(rate, list | tuple | np.ndarray) and len(rate) != 1:
        raise OptionError(f"Tuning needs one learning_rate, or a range for it in vary=. Got {rate!r}.")
    if not isinstance(ranker.random_state, int | np.integer):
        raise OptionError(
            "To tune a ranker, its random_state must be an integer, the same for all trials. Got "
            f"{ranker.random_state!r}."
        )
    ranker.check_params()
