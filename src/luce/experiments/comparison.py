"""Rankers compared on the same lists: every fold, every seed, the same tests, and what each of them took."""

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from luce.data import Dataset, concatenate, parts, rotations
from luce.data.splits import Fold
from luce.errors import DataError, LuceWarning, OptionError
from luce.experiments.cells import Cell
from luce.experiments.kept import StoredFold, cell_path, key_of, load_cell, stored_in
from luce.experiments.memory import peak_bytes
from luce.experiments.outcome import RankerComparison, outcome
from luce.experiments.schedule import Progress, Schedule
from luce.experiments.workers import Task, work_apart, work_here
from luce.metrics import evaluate, parse_metrics
from luce.options import is_integer
from luce.rankers.estimator import Estimator
from luce.rankers.ranker import Ranker

METRICS = "ndcg@1,ndcg@5,ndcg@10,err"
Lists = Dataset | Iterable[tuple[Dataset, Dataset | None, Dataset]]


def compare_rankers(
    rankers: Mapping[str, Any],
    data: Lists,
    metrics: str | Iterable[str] = METRICS,
    *,
    folds: int = 5,
    seeds: int = 1,
    seed: int = 0,
    baseline: str | None = None,
    empty: Any = "skip",
    gain: str = "exponential",
    keep: str | os.PathLike[str] | None = None,
    apart: bool = False,
    callback: Callable[[Progress], None] | None = None,
    n_jobs: int | None = None,
) -> RankerComparison:
    """Fit each ranker on every fold with every seed, and compare them on the lists that they have not seen.

    Args:
        rankers: rankers or peers (`luce.experiments.peers.peer`) by name, not fitted; they stay as they are.
        data: a dataset, to be cut by list; or folds, each (train, validation or None, test), as `luce.data.rotations`
            makes them of parts.
        metrics, empty, gain: as for `luce.evaluate`.
        folds: how many, where a dataset is cut.
        seeds: how many; a ranker is fitted with `seed`, `seed` + 1, …, and the values of a list are averaged.
        baseline: the ranker that the others are tested against; the first by default.
        keep: a folder for finished cells (a ranker, a fold, a seed): the same call goes on from what is there, and
            does anew what has other settings, data or versions. It does not see that code of your own has changed.
        apart: run each ranker in a process of its own, so that its memory is measured and a crash is its alone. A
            script that does this needs `if __name__ == "__main__":`.
        callback: hears of the progress. n_jobs: threads of the measuring; each ranker has its own.

    A ranker that fails is told in `failures` and the others go on.

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 9, [0, 2, 1] * 9, [q for q in range(9) for _ in range(3)])
    >>> rankers = {"one": luce.LinearRanker("listmle"), "other": luce.LinearRanker("listnet")}
    >>> found = compare_rankers(rankers, data, "ndcg@10", folds=3)
    >>> found.results["one"].means, found.tests["ndcg@10"][0].randomization_holm, found.failures
    ({'ndcg@10': 1.0}, 1.0, {})
    """
    _check(rankers, folds, seeds, seed, baseline)
    wanted = [str(one) for one in parse_metrics(metrics)]
    settings: dict[str, Any] = {"empty": empty, "gain": gain, "random_state": seed, "n_jobs": n_jobs}
    with _folder(keep) as folder, stored_in(folder):
        stored, tests = _stored(data, folds, seed, folder)
        judged = concatenate(tests)
        _check_measurable(judged, wanted, settings)
        plan = _Plan(rankers, stored, [test.n_rows for test in tests], range(seed, seed + seeds), folder)
        cells, failures = plan.run(apart, callback)
    return outcome(cells, judged, [test.n_lists for test in tests], failures, wanted, baseline, settings)


class _Plan:
    """The cells of all rankers: which there are, and where each is kept."""

    def __init__(
        self,
        rankers: Mapping[str, Any],
        folds: Sequence[StoredFold],
        n_rows: Sequence[int],
        seeds: Sequence[int],
        folder: Path,
    ) -> None:
        self.rankers, self.n_rows = rankers, n_rows
        self.places = [(fold, seed) for seed in seeds for fold in range(len(folds))]
        self.tasks = {
            name: [self._task(ranker, folds[fold], seed, folder) for fold, seed in self.places]
            for name, ranker in rankers.items()
        }
        self.cells: dict[str, dict[tuple[int, int], Cell]] = {name: {} for name in rankers}

    @staticmethod
    def _task(ranker: Any, fold: StoredFold, seed: int, folder: Path) -> Task:
        key = key_of(ranker, fold, seed)
        return Task(fold, seed, key, cell_path(folder, key))

    def run(self, apart: bool, callback: Callable[[Progress], None] | None) -> tuple[dict[str, Any], dict[str, str]]:
        """The cells of each ranker by fold and seed, and why some have none."""
        schedule = Schedule({name: len(self.places) for name in self.rankers}, callback)
        measured = apart and not math.isnan(peak_bytes())
        left = {name: self._look_up(name, schedule, measured) for name in self.rankers}
        failures = {}
        for name, numbers in left.items():
            if numbers:
                failure = self._do(name, numbers, work_apart if apart else work_here, schedule)
                if failure is not None:
                    failures[name] = failure
                    schedule.failed(name)
        return {name: cells for name, cells in self.cells.items() if name not in failures}, failures

    def _look_up(self, name: str, schedule: Schedule, measured: bool) -> list[int]:
        """Take what is kept, `measured`: with its memory; the numbers of the tasks that are left."""
        left = []
        for number, task in enumerate(self.tasks[name]):
            if not task.path.exists():
                left.append(number)
                continue
            try:
                cell = self._take(name, number)
            except DataError as error:
                warnings.warn(f"A kept cell of {name} is done anew: {error}", LuceWarning, stacklevel=4)
                left.append(number)
                continue
            if measured and math.isnan(cell.peak_bytes):
                left.append(number)
            else:
                schedule.finished(name, cell.fit_seconds + cell.predict_seconds)
        return left

    def _take(self, name: str, number: int) -> Cell:
        fold, task = self.places[number][0], self.tasks[name][number]
        cell = load_cell(task.path, task.key, self.n_rows[fold])
        self.cells[name][self.places[number]] = cell
        return cell

    def _do(self, name: str, numbers: list[int], work: Any, schedule: Schedule) -> str | None:
        said: set[str] = set()

        def told(number: int, notes: list[str]) -> None:
            self._take(name, numbers[number])
            schedule.finished(name)
            for note in notes:
                if note not in said:
                    warnings.warn(f"{name}: {note}", LuceWarning, stacklevel=2)
            said.update(notes)

        schedule.began()
        tasks = [self.tasks[name][number] for number in numbers]
        failure: str | None = work(self.rankers[name], tasks, told, lambda: schedule.tell(name))
        return failure


def _check(rankers: Mapping[str, Any], folds: int, seeds: int, seed: int, baseline: str | None) -> None:
    if not isinstance(rankers, Mapping) or not rankers:
        raise OptionError(f"There must be at least one ranker to compare, by its name. Got {rankers!r}.")
    for name, ranker in rankers.items():
        if not isinstance(ranker, BaseEstimator) or "random_state" not in ranker.get_params(deep=False):
            raise OptionError(f"{name} must be a ranker or a peer, such as luce.LinearRanker(). Got {ranker!r}.")
        if isinstance(ranker, Estimator) and not isinstance(ranker, Ranker):
            raise OptionError(f"{name} learns from tagged rows; here rankers of lists are compared.")
        try:
            getattr(ranker, "check_params", lambda: None)()
        except OptionError as error:
            raise OptionError(f"{name}: {error}") from error
    for option, value, least in (("folds", folds, 2), ("seeds", seeds, 1), ("seed", seed, 0)):
        if not (is_integer(value) and value >= least):
            raise OptionError(f"{option} must be an integer ≥ {least}. Got {value!r}.")
    if baseline is not None and baseline not in rankers:
        raise OptionError(f"The baseline must be one of the rankers: {', '.join(rankers)}. Got {baseline!r}.")


def _check_measurable(judged: Dataset, metrics: list[str], settings: dict[str, Any]) -> None:
    """An error, before anything is fitted, where the test lists cannot be measured."""
    found = evaluate(np.zeros(judged.n_rows), judged, metrics, n_bootstrap=0, **settings)
    for name, mean in found.means.items():
        if math.isnan(mean):
            raise DataError(f"No test list has anything for {name} to measure: {judged!r}.")


@contextmanager
def _folder(keep: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Where the cells go; a folder in which nothing came to be is not left behind."""
    if keep is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    try:
        Path(keep).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"Finished cells cannot be kept in {keep}: {error}. Name another folder.") from error
    try:
        yield Path(keep)
    finally:
        with suppress(OSError):
            Path(keep).rmdir()


def _stored(data: Lists, folds: int, seed: int, folder: Path) -> tuple[list[StoredFold], list[Dataset]]:
    """The folds in files, one after the other so that memory holds one at a time, and their test lists."""
    turns = rotations(parts(data, folds, seed)) if isinstance(data, Dataset) else data
    stored: list[StoredFold] = []
    tests: list[Dataset] = []
    for turn in turns:
        fold = _fold(turn)
        stored.append(StoredFold.of(fold, folder))
        marks = stored[-1].marks
        known: dict[Any, Any] = {each.marks[2]: test for each, test in zip(stored, tests, strict=False)}
        known |= zip(marks[:2], fold[:2], strict=True)
        if marks[2] in known and known[marks[2]].query_ids.equals(fold.test.query_ids):
            raise DataError(
                f"The test lists of fold {len(stored)} are those of another fold, or those that it learns from or "
                "stops by: a list must be tested once, by rankers that have not seen it."
            )
        tests.append(fold.test)
    if not stored:
        raise DataError("There must be at least one fold: (train, validation or None, test). Got none.")
    return stored, tests


def _fold(turn: Any) -> Fold:
    whole = isinstance(turn, tuple) and len(turn) == 3 and all(isinstance(turn[i], Dataset) for i in (0, 2))
    if not whole or not isinstance(turn[1], Dataset | None):
        raise DataError(f"A fold is (train, validation or None, test), all of them datasets. Got {turn!r}.")
    return Fold(*turn)
