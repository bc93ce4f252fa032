"""How well do boosted trees rank: ours, the systems of the 2019 paper, LightGBM, XGBoost and CatBoost, on public data.

MQ2008 has five folds. mslr-sample and lightgbm-rank have their own test lists: each system is trained five times, each
time with another fifth of the training lists for validation, and the five values of a test list are averaged. All have
the same maximum number of trees and the same early stopping by the NDCG@10 of the validation lists. The systems of the
paper have its leaves and learning rates; LightGBM, XGBoost and CatBoost have our learning rate, once with our leaves
and once with the 31 of LightGBM. Lists without a relevant item are excluded.

    python benchmarks/quality.py --data ../shared/data --cache quality.json    # about fifteen minutes on one core
    python benchmarks/quality.py --data ../shared/data --quick                 # one fold of each, few trees
    python benchmarks/quality.py --data ../shared/data --search --cache search.json  # how the default was chosen

Results are cached in the JSON file, from which an interrupted run resumes. `--search` never uses the test lists: for
MQ2008, half of the validation lists of a fold are for early stopping and the other half for the comparison; of the
others, the training lists are split into fifths three times: three for training, one for early stopping, one for the
comparison. (In MQ2008 every list is in the test set of one fold and in the validation set of another.)
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.data import Dataset, concatenate, parts, read, rotations, split
from luce.data.splits import Fold
from luce.experiments.cache import version_of
from luce.experiments.peers import PEERS, is_installed, peer
from luce.files import atomic_write
from luce.metrics import measure
from luce.objectives import objective
from luce.rankers import TreeRanker
from luce.rankers.presets import PRESETS
from measuring import show_machine, verdict
from quality_candidates import CANDIDATES, USUAL

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")
OURS = "luce default"
DEFAULT = TreeRanker()
LIMITS = {
    name: getattr(DEFAULT, name) for name in ("n_estimators", "num_leaves", "learning_rate", "early_stopping_rounds")
}
"""The settings that all systems share."""
REPEATS = 3
"""How many times the search splits a small dataset into fifths."""
Values = dict[str, np.ndarray]
"""The values of each metric, one per list."""


class QualityDataset(NamedTuple):
    """The folds of a dataset, and the highest grade of its scale."""

    folds: list[Fold]
    max_grade: float


class System(NamedTuple):
    """A name, all settings that the scores depend on, and a function for the scores of the test lists of a fold."""

    name: str
    settings: str
    scores: Callable[[Fold], np.ndarray]


def mq2008(folder: Path, search: bool) -> QualityDataset:
    folds = list(rotations([read(folder / "mq2008" / f"S{part}.txt") for part in range(1, 6)]))
    if search:
        halves = [(fold.train, *split(fold.validation, (0.5, 0.5))) for fold in folds if fold.validation is not None]
        folds = [Fold(train, *pair) for train, a, b in halves for pair in ((a, b), (b, a))]
    return QualityDataset(folds, 2.0)


def with_test(train: Dataset, test: Dataset, search: bool) -> QualityDataset:
    if search:
        return QualityDataset([fold for seed in range(REPEATS) for fold in rotations(parts(train, 5, seed))], 4.0)
    fifths = parts(train, 5)
    others = [concatenate([part for part in fifths if part is not left_out]) for left_out in fifths]
    return QualityDataset([Fold(most, part, test) for most, part in zip(others, fifths, strict=True)], 4.0)


def load_datasets(folder: Path, search: bool, quick: bool) -> dict[str, QualityDataset]:
    mslr, example = folder / "mslr-sample", folder / "lightgbm-rank"
    loaded = {
        "mq2008": mq2008(folder, search),
        "mslr-sample": with_test(read(mslr / "train.txt"), read(mslr / "test.txt"), search),
        "lightgbm-rank": with_test(
            read(example / "rank.train", n_features=301), read(example / "rank.test", n_features=301), search
        ),
    }
    return {name: each._replace(folds=each.folds[:1]) if quick else each for name, each in loaded.items()}


def system(name: str, ranker: Any) -> System:
    settings = {key: str(value) for key, value in ranker.get_params(deep=False).items()}
    settings |= {package: version_of(package) for package in ranker.packages}
    return System(
        name,
        json.dumps(settings, sort_keys=True),
        lambda fold: ranker.fit(fold.train, validation=fold.validation).predict(fold.test),
    )


def systems(limits: Mapping[str, Any]) -> Iterable[System]:
    """Our default first, then the presets, then the peers."""
    shared = {
        "n_estimators": limits["n_estimators"],
        "early_stopping_rounds": limits["early_stopping_rounds"],
        "n_jobs": 1,
    }
    yield system(OURS, TreeRanker(**shared))
    for preset in PRESETS.values():
        if preset.model == "trees":
            yield system(preset.name, TreeRanker(**{**preset.parameters(), **shared}))
    for leaves in (limits["num_leaves"], USUAL["num_leaves"]):
        yield from peers({**limits, "num_leaves": leaves})


def peers(limits: Mapping[str, Any]) -> Iterable[System]:
    """The installed peers; those that are not installed are reported."""
    for name in PEERS:
        if is_installed(name):
            yield system(f"{name}, {limits['num_leaves']} leaves", peer(name, **limits, n_jobs=1))
        else:
            print(f"{name} is skipped: it is not installed.")


def candidates(limits: Mapping[str, Any]) -> Iterable[System]:
    """The candidates for the default settings, and the peers for comparison."""
    for name, (objective_name, options, settings) in CANDIDATES.items():
        given = {
            **USUAL,
            "n_estimators": limits["n_estimators"],
            "early_stopping_rounds": limits["early_stopping_rounds"],
            "n_jobs": 1,
            **settings,
        }
        yield system(name, TreeRanker(**{"objective": objective(objective_name, **options), **given}))
    yield from peers(limits)


def values_of(system: System, dataset: QualityDataset) -> Values:
    """Values of the lists by query id, averaged for a list that is tested in several folds."""
    by_fold = [
        measure(
            system.scores(fold), fold.test.labels, fold.test.offsets, METRICS, max_grade=dataset.max_grade, n_jobs=1
        )
        for fold in dataset.folds
    ]
    ids = np.concatenate([fold.test.query_ids.to_numpy(zero_copy_only=False) for fold in dataset.folds])
    _, place, times = np.unique(ids, return_inverse=True, return_counts=True)
    joined = {metric: np.concatenate([values[metric] for values in by_fold]) for metric in METRICS}
    return {metric: np.bincount(place, joined[metric]) / times for metric in METRICS}


class ScoreCache:
    """Values by dataset and system, in a JSON file if one is given; those of other settings are computed again."""

    def __init__(self, path: Path | None):
        self.path = path
        self.cells = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def values(self, name: str, system: System, dataset: QualityDataset) -> Values:
        key, settings = f"{name} | {system.name}", f"{len(dataset.folds)} folds, {system.settings}"
        if self.cells.get(key, {}).get("settings") != settings:
            start = time.perf_counter()
            values = values_of(system, dataset)
            print(f"  {key}: {time.perf_counter() - start:.1f} s", flush=True)
            rows = {metric: [None if math.isnan(x) else x for x in values[metric].tolist()] for metric in METRICS}
            self.cells[key] = {"settings": settings, "values": rows}
            self._write()
        rows = self.cells[key]["values"]
        return {metric: np.array(rows[metric], dtype=np.float64) for metric in METRICS}

    def _write(self) -> None:
        if self.path is not None:
            with atomic_write(self.path) as partial:
                partial.write_text(json.dumps(self.cells))


class MeanWithError(NamedTuple):
    mean: float
    standard_error: float


def estimate(values: np.ndarray) -> MeanWithError:
    """The mean and its standard error over the lists for which the metric is defined."""
    seen = values[~np.isnan(values)]
    return MeanWithError(float(seen.mean()), float(seen.std(ddof=1) / np.sqrt(len(seen))))


def over_datasets(estimates: list[MeanWithError]) -> MeanWithError:
    """The unweighted mean over datasets, whose errors are independent."""
    return MeanWithError(
        float(np.mean([one.mean for one in estimates])),
        math.hypot(*(one.standard_error for one in estimates)) / len(estimates),
    )


Results = dict[str, dict[str, Values]]
"""By dataset and system."""


def estimates(results: Results, metric: str, system: str, other: str | None = None) -> list[MeanWithError]:
    """The mean of a system, or its paired difference to another, for each dataset and for their mean."""
    each = [
        estimate(values[system][metric] - (0.0 if other is None else values[other][metric]))
        for values in results.values()
    ]
    return [*each, over_datasets(each)]


def in_standard_errors(difference: MeanWithError) -> float:
    return difference.mean / difference.standard_error if difference.standard_error > 0 else 0.0


def show(results: Results, base: str) -> None:
    """Print a section for each dataset and one for their mean, with the systems ordered by mean NDCG@10."""
    names = sorted(next(iter(results.values())), key=lambda name: -estimates(results, "ndcg@10", name)[-1].mean)
    width = max(map(len, names)) + 4
    print("\nMeans with half the width of the 95 % interval, and the paired difference over lists to")
    print(f"{base} in standard errors; * marks two or more.\n")
    print(f"{'':{width}}" + "".join(f"{metric:24}" for metric in METRICS))
    for place, dataset in enumerate([*results, "mean over datasets"]):
        print(dataset)
        for name in names:
            cells = []
            for metric in METRICS:
                one = estimates(results, metric, name)[place]
                difference = in_standard_errors(estimates(results, metric, name, base)[place])
                mark = "" if name == base else f"{difference:+.1f}{'*' if abs(difference) >= 2 else ''}"
                cells.append(f"{one.mean:.4f} ± {1.96 * one.standard_error:.4f} {mark:8}")
            print(f"  {name:{width - 2}}" + "".join(cells).rstrip())


def show_verdict(results: Results, others: list[str]) -> None:
    """Compare our default with the peers, by the mean over datasets."""
    print(f"\n{OURS}, mean over datasets: above most peers, and below none by more than one paired standard error")
    for metric in METRICS:
        differences = {name: in_standard_errors(estimates(results, metric, OURS, name)[-1]) for name in others}
        above, worst = sum(value > 0 for value in differences.values()), min(differences, key=differences.__getitem__)
        met = 2 * above > len(differences) and differences[worst] >= -1
        print(
            f"  {metric:8} above {above} of {len(differences)}, least {differences[worst]:+.1f} against {worst}: "
            f"{verdict(met)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with mq2008, mslr-sample and lightgbm-rank")
    parser.add_argument("--cache", type=Path, help="JSON file of finished results, to resume from")
    parser.add_argument("--search", action="store_true", help="candidates for the default, on validation lists")
    parser.add_argument("--only", help="comma-separated words: only systems whose names contain one")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    show_machine("luce", "lightgbm", "numpy")
    datasets = load_datasets(arguments.data, arguments.search, arguments.quick)
    limits = {**LIMITS, "n_estimators": 30} if arguments.quick else LIMITS
    chosen = list(candidates(limits) if arguments.search else systems(limits))
    if arguments.only:
        words = arguments.only.split(",")
        chosen = [one for i, one in enumerate(chosen) if i == 0 or any(word in one.name for word in words)]
    cache, results = ScoreCache(arguments.cache), {}
    for name, dataset in datasets.items():
        results[name] = {one.name: cache.values(name, one, dataset) for one in chosen}
    show(results, chosen[0].name)
    others = [one.name for one in chosen if one.name.startswith(tuple(PEERS))]
    if others and not (arguments.search or arguments.quick):
        show_verdict(results, others)


if __name__ == "__main__":
    main()
