"""Rankers compared on the same lists: every fold, every seed, the same tests, and what each of them costs."""

import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from luce.arrays import as_floats
from luce.data import Dataset, concatenate, parts, rotations
from luce.data.splits import Fold
from luce.errors import DataError, LuceWarning, OptionError
from luce.experiments.cache import ResultCache, StoredFold, cache_key, shared_folder
from luce.experiments.comparison_result import RankerComparison, summarize
from luce.experiments.cost import Cost, peak_bytes
from luce.experiments.fits import FitResult
from luce.experiments.workers import FitError, FitJob, run_isolated, run_jobs
from luce.metrics import evaluate, parse_metrics
from luce.options import is_integer
from luce.rankers.estimator import Estimator
from luce.rankers.ranker import Ranker

METRICS = "ndcg@10,ndcg@5,ndcg@1,err"
"""The first is the one that summaries speak of."""
Lists = Dataset | Iterable[tuple[Dataset, Dataset | None, Dataset]]


class ComparisonProgress(NamedTuple):
    """The number of finished fits and of all, the ranker being fitted, and the estimated seconds left, or NaN."""

    done: int
    total: int
    ranker: str
    seconds_left: float


def compare_rankers(
    rankers: Mapping[str, Any],
    data: Lists,
    metrics: str | Iterable[str] = METRICS,
    *,
    folds: int = 5,
    seeds: int = 1,
    seed: int = 0,
    scores: Mapping[str, ArrayLike] | None = None,
    baseline: str | None = None,
    empty: Any = "skip",
    gain: str = "exponential",
    cache_dir: str | os.PathLike[str] | None = None,
    isolate: bool = False,
    callback: Callable[[ComparisonProgress], None] | None = None,
    n_jobs: int | None = None,
) -> RankerComparison:
    """Fit each ranker on every fold with every seed, and compare them on lists they were not trained on.

    To compare scores that you have already, use `luce.compare`.

    Parameters
    ----------
    rankers : dict of str to Ranker or PeerRanker
        By name, not fitted; they are not changed. `luce.peer` makes rankers of other libraries.
    data : Dataset or iterable of (train, validation or None, test)
        A dataset, which is split into folds by list; or the folds, for example from `luce.data.rotations`.
    metrics : str or iterable of str
        As for `luce.evaluate`. The first is the one that reports summarize.
    folds : int
        The number of folds into which a dataset is split.
    seeds : int
        The number of seeds: each ranker is fitted with `seed`, `seed` + 1, …, and the values of a list are averaged.
    seed : int
        The first seed, and that of the split into folds.
    scores : mapping of str to array-like of shape (N,), optional
        Scores of models that are trained already, by name, for all rows of the test data, one fold after the other.
        `data` must then be folds, with test lists that these models were not trained on.
    baseline : str, optional
        The ranker that the others are tested against; by default the first, of `scores` where there are any.
    empty, gain
        As for `luce.evaluate`.
    cache_dir : path, optional
        A folder that caches the results of fits. The same call resumes from them; a fit with other parameters, data or
        package versions is run again. Changes to your own code are not noticed.
    isolate : bool
        Run each ranker in a process of its own: its memory is measured, and if it crashes the others go on. A script
        that does this needs ``if __name__ == "__main__":``.
    callback : callable, optional
        Called with a `ComparisonProgress`.
    n_jobs : int, optional
        The number of threads of the evaluation; each ranker has its own `n_jobs`.

    Returns
    -------
    RankerComparison
        Results, tests and costs; a ranker that failed is only in its `failures`.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 9, [0, 2, 1] * 9, [q for q in range(9) for _ in range(3)])
    >>> rankers = {"one": luce.LinearRanker("listmle"), "other": luce.LinearRanker("listnet")}
    >>> found = compare_rankers(rankers, data, "ndcg@10", folds=3)
    >>> found.results["one"].means, found.tests["ndcg@10"][0].randomization_holm, found.failures
    ({'ndcg@10': 1.0}, 1.0, {})
    """
    scores = dict(scores or {})
    _check(rankers, scores, data, folds, seeds, seed, baseline)
    wanted = [str(one) for one in parse_metrics(metrics)]
    settings: dict[str, Any] = {"empty": empty, "gain": gain, "random_state": seed, "n_jobs": n_jobs}
    with _folder(cache_dir) as folder, shared_folder(folder):
        stored, tests = _store_folds(data, folds, seed, folder)
        test_data = concatenate(tests)
        n_rows = [test.n_rows for test in tests]
        given = {name: _given(name, values, n_rows, range(seed, seed + seeds)) for name, values in scores.items()}
        _check_measurable(test_data, wanted, settings)
        run = _Run(rankers, stored, n_rows, range(seed, seed + seeds), folder, callback)
        results, failures = run.all(isolate)
    n_lists = [test.n_lists for test in tests]
    return summarize(given | results, test_data, n_lists, failures, wanted, baseline, settings)


def _given(
    name: str, values: ArrayLike, n_rows: Sequence[int], seeds: Iterable[int]
) -> dict[tuple[int, int], FitResult]:
    """Scores that were given, as if each fold had been scored with each seed; what that cost is not known."""
    checked = as_floats(f"The scores of {name}", values, sum(n_rows))
    if not np.isfinite(checked).all():
        row = int(np.flatnonzero(~np.isfinite(checked))[0])
        raise DataError(f"The scores of {name} must be finite numbers. Got {checked[row]} at row {row + 1}.")
    parts_of_folds = np.split(checked, np.cumsum(n_rows)[:-1])
    return {(fold, seed): FitResult(part, Cost(math.nan)) for fold, part in enumerate(parts_of_folds) for seed in seeds}


class _Run:
    """The fits of all rankers: their jobs and results by fold and seed, and their times."""

    def __init__(
        self,
        rankers: Mapping[str, Any],
        folds: Sequence[StoredFold],
        n_rows: Sequence[int],
        seeds: Sequence[int],
        folder: Path,
        callback: Callable[[ComparisonProgress], None] | None,
    ) -> None:
        self.rankers, self.n_rows, self.cache, self.callback = rankers, n_rows, ResultCache(folder), callback
        self.jobs = {
            name: {
                (fold, seed): FitJob(folds[fold], seed, cache_key(ranker, folds[fold], seed))
                for seed in seeds
                for fold in range(len(folds))
            }
            for name, ranker in rankers.items()
        }
        self.results: dict[str, dict[tuple[int, int], FitResult]] = {name: {} for name in rankers}
        self.seconds: dict[str, list[float]] = {name: [] for name in rankers}
        self.totals = {name: len(jobs) for name, jobs in self.jobs.items()}
        self.start = time.monotonic()

    def all(self, isolate: bool) -> tuple[dict[str, dict[tuple[int, int], FitResult]], dict[str, str]]:
        """The results of each ranker by fold and seed, and why some have none."""
        measured = isolate and not math.isnan(peak_bytes())
        failures = {}
        for name in self.rankers:
            self._look_up(name, measured)
        for name in self.rankers:
            try:
                self._fit(name, isolate)
            except FitError as error:
                failures[name] = str(error)
                self.totals[name] = len(self.seconds[name])
        return {name: found for name, found in self.results.items() if name not in failures}, failures

    def _look_up(self, name: str, measured: bool) -> None:
        """Take results from the cache; `measured`: those with their memory."""
        for place, job in self.jobs[name].items():
            found = self.cache.find(name, job.key, self.n_rows[place[0]])
            if found is not None and not (measured and math.isnan(found.cost.peak_bytes)):
                self.results[name][place] = found
                self.seconds[name].append(found.cost.fit_seconds + found.cost.predict_seconds)

    def _fit(self, name: str, isolate: bool) -> None:
        """Run the jobs of a ranker that are left."""
        left = {place: job for place, job in self.jobs[name].items() if place not in self.results[name]}
        places, shown = iter(left), set[str]()
        self.start = time.monotonic()
        self._report(name)
        run = run_isolated if isolate else run_jobs
        with closing(run(self.rankers[name], list(left.values()), self.cache)) as finished:
            for messages in finished if left else ():
                if messages is not None:
                    place = next(places)
                    self.results[name][place] = self.cache.load(left[place].key, self.n_rows[place[0]])
                    self.seconds[name].append(time.monotonic() - self.start)
                    self.start = time.monotonic()
                    for message in dict.fromkeys(messages):
                        if message not in shown:
                            warnings.warn(f"{name}: {message}", LuceWarning, stacklevel=2)
                    shown.update(messages)
                self._report(name)

    def _report(self, name: str) -> None:
        if self.callback is not None and len(self.seconds[name]) < self.totals[name]:  # else its process is ending
            done, total = sum(map(len, self.seconds.values())), sum(self.totals.values())
            left = seconds_left(self.seconds, self.totals) - (time.monotonic() - self.start)
            self.callback(ComparisonProgress(done, total, name, max(left, 0.0) if done else math.nan))


def seconds_left(seconds: Mapping[str, Sequence[float]], totals: Mapping[str, int]) -> float:
    """The time for the fits that are not done: of each ranker as its own took on average, or as those of all did.

    >>> seconds_left({"linear": [1.0, 3.0], "trees": []}, {"linear": 3, "trees": 2})
    6.0
    """
    known = [each for own in seconds.values() for each in own]
    return sum((totals[name] - len(own)) * float(np.mean(own or known or [math.nan])) for name, own in seconds.items())


def _check(
    rankers: Mapping[str, Any],
    scores: Mapping[str, Any],
    data: Lists,
    folds: int,
    seeds: int,
    seed: int,
    baseline: str | None,
) -> None:
    if not isinstance(rankers, Mapping) or not rankers:
        raise OptionError(f"rankers must map names to rankers, with at least one. Got {rankers!r}.")
    if scores and isinstance(data, Dataset):
        raise OptionError(
            "scores are of models that are trained already, perhaps on lists of this dataset: give data as folds, "
            "[(train, validation or None, test)], with test lists that they were not trained on."
        )
    twice = [name for name in scores if name in rankers]
    if twice:
        raise OptionError(f"Names of scores and of rankers must differ. Got {twice[0]!r} as both.")
    for name, ranker in rankers.items():
        if not isinstance(ranker, BaseEstimator) or "random_state" not in ranker.get_params(deep=False):
            raise OptionError(f"{name} must be a ranker such as luce.LinearRanker() or luce.peer(…). Got {ranker!r}.")
        if isinstance(ranker, Estimator) and not isinstance(ranker, Ranker):
            raise OptionError(f"{name} is trained on tagged rows; only rankers of lists can be compared.")
        try:
            getattr(ranker, "check_params", lambda: None)()
        except OptionError as error:
            raise OptionError(f"{name}: {error}") from error
    for option, value, least in (("folds", folds, 2), ("seeds", seeds, 1), ("seed", seed, 0)):
        if not (is_integer(value) and value >= least):
            raise OptionError(f"{option} must be an integer ≥ {least}. Got {value!r}.")
    if baseline is not None and baseline not in {*scores, *rankers}:
        raise OptionError(f"baseline must be one of {', '.join([*scores, *rankers])}. Got {baseline!r}.")


def _check_measurable(test_data: Dataset, metrics: list[str], settings: dict[str, Any]) -> None:
    """An error, before anything is fitted, where the test lists cannot be measured."""
    found = evaluate(np.zeros(test_data.n_rows), test_data, metrics, n_bootstrap=0, **settings)
    for name, mean in found.means.items():
        if math.isnan(mean):
            raise DataError(f"{name} is undefined for every test list: are all labels equal? Got {test_data!r}.")


@contextmanager
def _folder(cache_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folder of the cache, a temporary one by default; one in which nothing was cached is not left behind."""
    if cache_dir is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    try:
        Path(cache_dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The cache folder {cache_dir} cannot be created: {error}. Choose another.") from error
    try:
        yield Path(cache_dir)
    finally:
        with suppress(OSError):
            Path(cache_dir).rmdir()


def _store_folds(data: Lists, folds: int, seed: int, folder: Path) -> tuple[list[StoredFold], list[Dataset]]:
    """The folds in files, one after the other so that memory holds one at a time, and their test lists."""
    stored: list[StoredFold] = []
    tests: list[Dataset] = []
    for given in rotations(parts(data, folds, seed)) if isinstance(data, Dataset) else data:
        fold = _checked_fold(given)
        stored.append(StoredFold.write(fold, folder))
        train, validation, test = stored[-1].fingerprints
        known: dict[Any, Any] = {each.fingerprints[2]: one for each, one in zip(stored, tests, strict=False)}
        known |= {train: fold.train, validation: fold.validation}
        if test in known and known[test].query_ids.equals(fold.test.query_ids):
            raise DataError(
                f"The test lists of fold {len(stored)} are also the test lists of another fold, or its own training or "
                "validation lists. Each list must be tested once, by rankers that were not trained on it."
            )
        tests.append(fold.test)
    if not stored:
        raise DataError("At least one fold is needed: (train, validation or None, test). Got none.")
    return stored, tests


def _checked_fold(given: Any) -> Fold:
    is_fold = isinstance(given, tuple) and len(given) == 3 and all(isinstance(given[i], Dataset) for i in (0, 2))
    if not is_fold or not isinstance(given[1], Dataset | None):
        raise DataError(f"A fold must be a tuple of datasets (train, validation or None, test). Got {given!r}.")
    return Fold(*given)
