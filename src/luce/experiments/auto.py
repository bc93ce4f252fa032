"""The choice of a ranker for some lists: a few candidates, cross-validated within a budget of time."""

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from luce.arrays import Floats
from luce.data import Dataset
from luce.errors import DataError, LuceError, LuceWarning
from luce.experiments.cross_validation import CrossValidation
from luce.metrics import evaluate
from luce.metrics import metric as metric_of
from luce.options import number
from luce.rankers import EnsembleRanker, LinearRanker, Ranker, TreeRanker
from luce.rankers.importance import mean_and_error

FOLDS = 3
BUDGET = 60.0
BAGS = 5
MADE_OF = {"bagged trees": ("trees",), "linear and trees": ("linear", "trees")}
"""Candidates whose time can be told from that of others."""
FACTOR = 2.0
"""How many times as long as its parts a candidate takes at most: bags are small, and an ensemble is fitted twice."""


class Candidate(NamedTuple):
    """How a ranker to try is made, and the options of `luce train` for the same."""

    make: Callable[..., Ranker]
    command: str


CANDIDATES = {
    "linear": Candidate(LinearRanker, "--model linear"),
    "trees": Candidate(TreeRanker, "--model trees"),
    "bagged trees": Candidate(partial(TreeRanker, n_bags=BAGS), f"--model trees --set n_bags={BAGS}"),
    "linear and trees": Candidate(EnsembleRanker, "--model ensemble"),
}
"""What is tried, the simplest first."""


class CandidateResult(NamedTuple):
    """The result of the cross-validation of a candidate.

    Attributes
    ----------
    name : str
        Of the candidate.
    mean, error : float
        Of the metric over lists, and its standard error; NaN if it was not completed.
    seconds : float
        The time of its fits.
    note : str
        Why it was not completed; empty if it was.
    """

    name: str
    mean: float
    error: float
    seconds: float
    note: str = ""


class RankerChoice(NamedTuple):
    """A ranker and why it was chosen.

    Attributes
    ----------
    ranker : Ranker
        The chosen one, not fitted.
    name : str
        Of the candidate.
    reason : str
        Why.
    metric : str
        The metric by which the candidates were compared.
    candidates : tuple of CandidateResult
        All of them, the simplest first.
    """

    ranker: Ranker
    name: str
    reason: str
    metric: str
    candidates: tuple[CandidateResult, ...]


class _OutOfTime(Exception):
    """The budget is spent in the middle of a fit."""


def choose_ranker(
    dataset: Dataset,
    *,
    validation: Dataset | None = None,
    metric: str = "ndcg@10",
    budget: float = BUDGET,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[str, float], None] | None = None,
) -> RankerChoice:
    """Choose between a linear ranker, trees, bagged trees and the ensemble of a linear ranker and trees.

    Each is fitted on two thirds of the lists and measured on the rest, in turn. The simplest whose mean is within one
    standard error of the best is chosen, by the standard error of the differences over lists. A candidate that is
    predicted not to finish in time is not tried, and one that does not finish in time is stopped.

    Parameters
    ----------
    dataset : Dataset
        The training lists.
    validation : Dataset, optional
        Lists for early stopping.
    metric : str, default="ndcg@10"
        The metric by which the candidates are compared.
    budget : float, default=60.0
        Time limit of the comparison in seconds, not counting the compilation of kernels on first use. If no candidate
        finishes in time, the linear ranker is chosen.
    random_state : int, default=0
        Seed of the folds and of the rankers.
    n_jobs : int, optional
        Threads; None or −1 for all cores.
    callback : callable, optional
        Called with the name of a candidate and the fraction of the budget that is spent.

    Returns
    -------
    RankerChoice
        The ranker, not fitted, and the results of all candidates.

    Examples
    --------
    >>> from luce.data.synthetic import web_search
    >>> choice = choose_ranker(web_search(30, n_features=5, seed=1).dataset, budget=1e-9)
    >>> choice.name, choice.ranker, choice.candidates[0].note
    ('linear', LinearRanker(), 'not tried: the budget of 1e-09 s is used up')
    """
    number(0).check("budget", budget)
    params = {"metric": metric, "random_state": random_state, "n_jobs": n_jobs}
    rankers = {name: candidate.make(**params) for name, candidate in CANDIDATES.items()}
    trials = _Trials(dataset, validation, metric, random_state, budget, callback)
    results = tuple(trials.run(name, ranker) for name, ranker in rankers.items())
    name, reason = trials.choose() if trials.values else ("linear", f"linear is the simplest ({results[0].note})")
    return RankerChoice(rankers[name], name, reason, metric, results)


@dataclass
class _Trials:
    """The candidates on the same folds: the metric of each list by each candidate, and the seconds they took."""

    dataset: Dataset
    validation: Dataset | None
    metric: str
    seed: int
    budget: float
    callback: Callable[[str, float], None] | None
    values: dict[str, Floats] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    weights: Floats = field(default_factory=lambda: np.empty(0))
    start: float = field(default_factory=lambda: time.monotonic())

    @property
    def spent(self) -> float:
        return time.monotonic() - self.start

    def run(self, name: str, ranker: Ranker) -> CandidateResult:
        """Fit a candidate on all folds, if there is time."""
        note = self.obstacle(name)
        if not note and name not in MADE_OF:
            self.compile(ranker)
        before = self.spent
        try:
            if not note:
                self.values[name] = self.cross_validate(name, ranker)
        except _OutOfTime:
            note = f"stopped: the budget of {self.budget:g} s is used up"
        except LuceError as error:
            if name == "linear":
                raise
            note = f"failed: {error}"
        self.seconds[name] = self.spent - before
        mean, spread = (np.nan, np.nan) if note else mean_and_error(self.values[name], self.weights)
        return CandidateResult(name, mean, spread, self.seconds[name], note)

    def obstacle(self, name: str) -> str:
        """Why a candidate is not tried; empty where it is."""
        if self.dataset.n_lists < 2 * FOLDS:
            return f"not tried: {2 * FOLDS} lists are needed for {FOLDS} folds, and there are {self.dataset.n_lists}"
        predicted = FACTOR * sum(self.seconds[part] for part in MADE_OF.get(name, ()))
        left = max(self.budget - self.spent, 0.0)
        if not left:
            return f"not tried: the budget of {self.budget:g} s is used up"
        if predicted <= left:
            return ""
        return f"not tried: it would take about {predicted:.2g} s, and {left:.2g} s of the {self.budget:g} s are left"

    def compile(self, ranker: Ranker) -> None:
        """Run one iteration on a few lists, off the clock: on first use the kernels are compiled."""

        def stop(record: Mapping[str, float]) -> None:
            raise _OutOfTime

        few, start = self.dataset.take(np.arange(min(self.dataset.n_lists, 20))), time.monotonic()
        with suppress(_OutOfTime, LuceError), warnings.catch_warnings(action="ignore"):
            clone(ranker).fit(few, validation=few, callback=stop)
        self.start += time.monotonic() - start

    def cross_validate(self, name: str, ranker: Ranker) -> Floats:
        """The metric of each list by a ranker that has not seen it; sets the weights of the lists."""

        def watch(record: Mapping[str, float]) -> None:
            if self.callback is not None:
                self.callback(name, min(self.spent / max(self.budget, 1e-9), 1.0))
            if self.spent > self.budget:
                raise _OutOfTime

        values: list[Floats] = []
        weights: list[Floats] = []
        for train, test in CrossValidation(ranker, self.dataset, None, FOLDS, self.seed).splits():
            watch({})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LuceWarning)  # such as that no tree can split: its value says it
                ranker.fit(train, validation=self.validation, callback=watch)
            found = evaluate(ranker.predict(test), test, self.metric, n_bootstrap=0, n_jobs=ranker.n_jobs)
            values.extend(found.values.values())
            weights.append(np.ones(test.n_lists) if test.list_weights is None else test.list_weights)
        found_values = np.concatenate(values)
        self.weights = np.where(np.isnan(found_values), 0.0, np.concatenate(weights))
        if not self.weights.any():
            raise DataError(f"{self.metric} is undefined for every list of {self.dataset!r}: check its labels.")
        return found_values

    def choose(self) -> tuple[str, str]:
        """The simplest candidate within one standard error of the best, by the differences over lists, and why."""
        sign = 1.0 if metric_of(self.metric).higher_is_better else -1.0
        means = {name: sign * mean_and_error(values, self.weights)[0] for name, values in self.values.items()}
        best = max(means, key=lambda name: means[name])
        for name, values in self.values.items():
            behind, error = mean_and_error(sign * (self.values[best] - values), self.weights)
            if name == best or behind <= error:
                break
        if len(self.values) == 1:
            return name, f"{name} is the only candidate that was completed"
        if name == best:
            simpler = (
                ""
                if name == next(iter(self.values))
                else ", and no simpler candidate is within one standard error of it"
            )
            return name, f"{name} has the best mean{simpler}"
        return name, (
            f"{name} is the simplest within one standard error of the best, {best}: it is {behind:.4f} behind, with a "
            f"standard error of the paired differences of {error:.4f}"
        )
