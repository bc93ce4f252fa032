"""How well do boosted trees rank: ours, the systems of the 2019 paper, LightGBM, XGBoost and CatBoost, on real lists.

MQ2008 in its five folds; mslr-sample and lightgbm-rank with their own test lists, five times, each time stopped by
another fifth of the training lists, and the five values of a test list averaged. All have as many trees at most, and
are stopped by NDCG@10 of the validation lists with the same early stopping. The paper's systems have the leaves and
rates that it prints; LightGBM, XGBoost and CatBoost our rate, once with our leaves and once with LightGBM's 31. Lists
without
a relevant item are left out.

    python benchmarks/quality.py --data ../shared/data --keep quality.json     # about fifteen minutes on one core
    python benchmarks/quality.py --data ../shared/data --quick                 # one turn of each, few trees
    python benchmarks/quality.py --data ../shared/data --search --keep search.json   # how the default was chosen

What is done is kept in the file named, and a run that is interrupted goes on from there. `--search` never looks at
test lists: MQ2008 trains on a fold's training lists, stops by one half of its validation lists and is judged by the
other; the training lists of the others are cut into fifths, three times over: three to train, one to stop by, one to
judge.
(In MQ2008 every list is for testing in one of the five folds and for validation in another.)
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
from luce.files import replacing
from luce.metrics import measure
from luce.objectives import objective
from luce.rankers import TreeRanker
from luce.rankers.presets import PRESETS
from measuring import show_machine, verdict
from quality_candidates import CANDIDATES, USUAL

METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "err")
OURS = "luce default"
DEFAULT = TreeRanker()
LIMITS = {name: getattr(DEFAULT, name) for name in ("trees", "leaves", "learning_rate", "early_stopping_rounds")}
"""What all have alike."""
REPEATS = 3
"""How often the search cuts a small data set into fifths."""
Values = dict[str, np.ndarray]
"""The values of each metric, one a list."""


class Lists(NamedTuple):
    """The folds of a data set, and the highest grade of its scale."""

    folds: list[Fold]
    max_grade: float


class System(NamedTuple):
    """How it is called, all that its scores depend on, and the scores of a fold's test lists."""

    name: str
    settings: str
    scores: Callable[[Fold], np.ndarray]


def mq2008(folder: Path, search: bool) -> Lists:
    folds = list(rotations([read(folder / "mq2008" / f"S{part}.txt") for part in range(1, 6)]))
    if search:
        halves = [(fold.train, *split(fold.validation, (0.5, 0.5))) for fold in folds if fold.validation is not None]
        folds = [Fold(train, *pair) for train, a, b in halves for pair in ((a, b), (b, a))]
    return Lists(folds, 2.0)


def with_test(train: Dataset, test: Dataset, search: bool) -> Lists:
    if search:
        return Lists([fold for seed in range(REPEATS) for fold in rotations(parts(train, 5, seed))], 4.0)
    fifths = parts(train, 5)
    others = [concatenate([part for part in fifths if part is not left_out]) for left_out in fifths]
    return Lists([Fold(most, part, test) for most, part in zip(others, fifths, strict=True)], 4.0)


def data_sets(folder: Path, search: bool, quick: bool) -> dict[str, Lists]:
    mslr, example = folder / "mslr-sample", folder / "lightgbm-rank"
    found = {
        "mq2008": mq2008(folder, search),
        "mslr-sample": with_test(read(mslr / "train.txt"), read(mslr / "test.txt"), search),
        "lightgbm-rank": with_test(
            read(example / "rank.train", n_features=301), read(example / "rank.test", n_features=301), search
        ),
    }
    return {name: lists._replace(folds=lists.folds[:1]) if quick else lists for name, lists in found.items()}


def system(name: str, ranker: Any) -> System:
    told = {key: str(value) for key, value in ranker.get_params(deep=False).items()}
    told |= {package: version_of(package) for package in ranker.packages}
    return System(
        name,
        json.dumps(told, sort_keys=True),
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
    """The peers that are here, and a word on those that are not."""
    for name in PEERS:
        if is_installed(name):
            yield system(f"{name}, {limits['num_leaves']} leaves", peer(name, **limits, n_jobs=1))
        else:
            print(f"{name} is left out: it is not installed.")


def candidates(limits: Mapping[str, Any]) -> Iterable[System]:
    """What the default was chosen from, and the peers beside it."""
    for name, (goal, options, settings) in CANDIDATES.items():
        given = {
            **USUAL,
            "n_estimators": limits["n_estimators"],
            "early_stopping_rounds": limits["early_stopping_rounds"],
            "n_jobs": 1,
            **settings,
        }
        yield system(name, TreeRanker(**{"objective": objective(goal, **options), **given}))
    yield from peers(limits)


def values_of(system: System, lists: Lists) -> Values:
    """Values of the lists by query id; those of a list that is judged in several folds are averaged."""
    found = [
        measure(system.scores(fold), fold.test.labels, fold.test.offsets, METRICS, max_grade=lists.max_grade, n_jobs=1)
        for fold in lists.folds
    ]
    ids = np.concatenate([fold.test.query_ids.to_numpy(zero_copy_only=False) for fold in lists.folds])
    _, place, times = np.unique(ids, return_inverse=True, return_counts=True)
    joined = {metric: np.concatenate([values[metric] for values in found]) for metric in METRICS}
    return {metric: np.bincount(place, joined[metric]) / times for metric in METRICS}


class Kept:
    """Values by data set and system, in a file if one is named; those found with other settings are found anew."""

    def __init__(self, path: Path | None):
        self.path = path
        self.cells = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def values(self, data_set: str, system: System, lists: Lists) -> Values:
        key, settings = f"{data_set} | {system.name}", f"{len(lists.folds)} folds, {system.settings}"
        if self.cells.get(key, {}).get("settings") != settings:
            start = time.perf_counter()
            found = values_of(system, lists)
            print(f"  {key}: {time.perf_counter() - start:.1f} s", flush=True)
            rows = {metric: [None if math.isnan(x) else x for x in found[metric].tolist()] for metric in METRICS}
            self.cells[key] = {"settings": settings, "values": rows}
            self._write()
        rows = self.cells[key]["values"]
        return {metric: np.array(rows[metric], dtype=np.float64) for metric in METRICS}

    def _write(self) -> None:
        if self.path is not None:
            with replacing(self.path) as partial:
                partial.write_text(json.dumps(self.cells))


class Estimate(NamedTuple):
    mean: float
    error: float


def estimate(values: np.ndarray) -> Estimate:
    """Mean and its standard error over the lists that have a value."""
    seen = values[~np.isnan(values)]
    return Estimate(float(seen.mean()), float(seen.std(ddof=1) / np.sqrt(len(seen))))


def over_sets(estimates: list[Estimate]) -> Estimate:
    """The plain mean over data sets, whose errors are independent."""
    return Estimate(
        float(np.mean([one.mean for one in estimates])), math.hypot(*(one.error for one in estimates)) / len(estimates)
    )


Found = dict[str, dict[str, Values]]
"""By data set and system."""


def estimates(found: Found, metric: str, system: str, less: str | None = None) -> list[Estimate]:
    """Of each data set and of their mean: a system's figure, or what it has more than another, paired by list."""
    each = [
        estimate(values[system][metric] - (0.0 if less is None else values[less][metric])) for values in found.values()
    ]
    return [*each, over_sets(each)]


def in_errors(difference: Estimate) -> float:
    return difference.mean / difference.error if difference.error > 0 else 0.0


def show(found: Found, base: str) -> None:
    """One table, a part for each data set and one for their mean; systems by their mean NDCG@10."""
    names = sorted(next(iter(found.values())), key=lambda name: -estimates(found, "ndcg@10", name)[-1].mean)
    width = max(map(len, names)) + 4
    print("\nEach figure with half of its 95 % interval, and after it, in paired standard errors over lists,")
    print(f"what it has more than {base}; a star where that is two or more.\n")
    print(f"{'':{width}}" + "".join(f"{metric:24}" for metric in METRICS))
    for place, data_set in enumerate([*found, "mean over data sets"]):
        print(data_set)
        for name in names:
            cells = []
            for metric in METRICS:
                one = estimates(found, metric, name)[place]
                apart = in_errors(estimates(found, metric, name, base)[place])
                mark = "" if name == base else f"{apart:+.1f}{'*' if abs(apart) >= 2 else ''}"
                cells.append(f"{one.mean:.4f} ± {1.96 * one.error:.4f} {mark:8}")
            print(f"  {name:{width - 2}}" + "".join(cells).rstrip())


def show_verdict(found: Found, others: list[str]) -> None:
    """Our default against the peers, on the mean over data sets."""
    print(f"\n{OURS}, mean over data sets: above most peers, and below none by more than one paired standard error")
    for metric in METRICS:
        apart = {name: in_errors(estimates(found, metric, OURS, name)[-1]) for name in others}
        above, worst = sum(value > 0 for value in apart.values()), min(apart, key=apart.__getitem__)
        met = 2 * above > len(apart) and apart[worst] >= -1
        told = f"above {above} of {len(apart)}, least {apart[worst]:+.1f} against {worst}"
        print(f"  {metric:8} {told}: {verdict(met)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with mq2008, mslr-sample and lightgbm-rank")
    parser.add_argument("--keep", type=Path, help="JSON file for what is done")
    parser.add_argument("--search", action="store_true", help="candidates for the default, on validation lists")
    parser.add_argument("--only", help="systems whose names hold one of these words, with commas")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    show_machine("luce", "lightgbm", "numpy")
    sets = data_sets(arguments.data, arguments.search, arguments.quick)
    limits = {**LIMITS, "n_estimators": 30} if arguments.quick else LIMITS
    chosen = list(candidates(limits) if arguments.search else systems(limits))
    if arguments.only:
        words = arguments.only.split(",")
        chosen = [one for i, one in enumerate(chosen) if i == 0 or any(word in one.name for word in words)]
    kept, found = Kept(arguments.keep), {}
    for data_set, lists in sets.items():
        found[data_set] = {one.name: kept.values(data_set, one, lists) for one in chosen}
    show(found, chosen[0].name)
    others = [one.name for one in chosen if one.name.startswith(tuple(PEERS))]
    if others and not (arguments.search or arguments.quick):
        show_verdict(found, others)


if __name__ == "__main__":
    main()
