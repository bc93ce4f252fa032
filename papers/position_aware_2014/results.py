"""The trainings of Figure 1: which are made on which data, and how methods differ over them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.datasets import DatasetSpec
from papers.outcome import Trial
from papers.paired_differences import Difference, difference
from papers.position_aware_2014.learning import FAMILY, GAINS, LEARNED, METHODS, OURS, Learned, learn
from papers.runner import Run

FOLDS = 5
Results = Mapping[Trial, Mapping[str, Learned]]
"""By trial and method; the trial has the number of training lists and the maximal number of epochs."""


class Plan(NamedTuple):
    """The numbers of training lists (None: all), the maximal numbers of epochs, and how many seeds or folds."""

    sizes: tuple[int | None, ...]
    lengths: tuple[int, ...]
    seeds: int


PUBLIC = Plan((None,), (500,), FOLDS)
"""The paper's own."""

SYNTHETIC = {True: Plan((40, 80), (4, 12), 2), False: Plan((60, 180), (10, 40), 2)}
OTHER = {True: Plan((80, None), (4, 12), 2), False: Plan((150, None), (10, 40), FOLDS)}
"""Of synthetic and of other real data, quick and full."""


def plan_of(dataset: DatasetSpec, quick: bool) -> Plan:
    if dataset.shape is not None:
        return SYNTHETIC[quick]
    return PUBLIC if dataset.name.endswith("-list") else OTHER[quick]


def data_name(dataset: DatasetSpec) -> str:
    return dataset.name if dataset.shape is None else f"synthetic {dataset.name}"


def train_all(run: Run, datasets: Sequence[DatasetSpec], span: tuple[float, float]) -> Results:
    """Every method on every dataset, size and fold."""
    settings: list[dict[str, Any]] = [
        {
            "method": method,
            "dataset": dataset,
            "size": size,
            "fold": fold,
            "lengths": plan.lengths,
            "train_seed": run.seed,
        }
        for dataset in datasets
        for plan in [plan_of(dataset, run.quick)]
        for size in plan.sizes
        for fold in range(plan.seeds)
        for method in METHODS
    ]
    found = run.points(learn, settings, effort=_effort, span=span, processes=None)
    results: dict[Trial, dict[str, Learned]] = {}
    for point, by_length in zip(settings, found, strict=True):
        for length, values in zip(point["lengths"], by_length, strict=True):
            one = Learned(*values)
            trial = Trial(data_name(point["dataset"]), one.n_lists, length, point["fold"])
            results.setdefault(trial, {})[point["method"]] = one
    return {trial: each | {LEARNED: _best(each)} for trial, each in results.items()}


def _effort(point: Mapping[str, Any]) -> float:
    return float((point["size"] or 500) * max(point["lengths"]))


def _best(methods: Mapping[str, Learned]) -> Learned:
    return max((methods[name] for name in FAMILY), key=lambda one: one.validation)


def mean_ndcg(one: Learned, gain: str) -> float:
    """NDCG@10 of the test lists that have one."""
    return float(np.nanmean(np.array(one.test[gain], dtype=np.float64)))


def trial_differences(results: Results, other: str, ours: str = OURS) -> dict[Trial, float]:
    """How much a method is above another in NDCG@10 with the gain of the paper, by trial."""
    return {
        trial: mean_ndcg(each[ours], GAINS[0]) - mean_ndcg(each[other], GAINS[0]) for trial, each in results.items()
    }


class Largest(NamedTuple):
    """The trials of one dataset with the most lists and epochs, a training per fold."""

    data: str
    size: int
    length: float
    folds: list[Mapping[str, Learned]]

    def mean(self, method: str, gain: str) -> float:
        return float(np.mean([mean_ndcg(fold[method], gain) for fold in self.folds]))

    def curve(self, method: str) -> np.ndarray:
        """NDCG@1 … NDCG@10."""
        return np.mean([fold[method].curve for fold in self.folds], axis=0)

    def difference(self, ours: str, other: str, gain: str) -> Difference:
        """Paired over the test lists of all folds."""
        first, second = ([value for fold in self.folds for value in fold[name].test[gain]] for name in (ours, other))
        return difference(np.array(first, dtype=np.float64), np.array(second, dtype=np.float64))

    def rates(self, method: str) -> str:
        rates = Counter(f"{fold[method].rate:g}" for fold in self.folds)
        return ", ".join(f"{rate} in {times}" for rate, times in sorted(rates.items()))


def largest(results: Results) -> Iterator[Largest]:
    """The largest trials of each dataset."""
    for data in dict.fromkeys(trial.data for trial in results):
        longest = max(trial.length for trial in results if trial.data == data)
        last = {trial: each for trial, each in results.items() if trial.data == data and trial.length == longest}
        top = max(trial.size for trial in last)
        # The folds of real data differ a little in their numbers of lists.
        yield Largest(data, top, longest, [each for trial, each in last.items() if 10 * trial.size > 9 * top])
