"""The systems of the 2019 paper, the lists they learn from, and one training of one of them."""

import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, Integers, list_of_row
from luce.data import Dataset, concatenate, parts
from luce.data.splits import Fold
from luce.data.synthetic import web_search
from luce.metrics import measure
from luce.objectives import objective
from luce.rankers import Ranker, preset
from luce.rankers.presets import PRESETS
from papers.datasets import find

PRESET_OF = {
    **{f"PLRank(obj={orders})": "listmle-trees" for orders in (1, 3, 6, 9, 15)},
    "LambdaMART": "lambdamart",
    "McRank": "mcrank-trees",
    "MART-1": "mart-1",
    "MART-2": "mart-2",
    "c-MART-1": "c-mart-1",
    "CosMART": "cosmart",
    "c-CosMART": "c-cosmart",
    "KLMART": "klmart",
    "c-KLMART": "c-klmart",
    "CA": "coordinate-ascent",
    "l-ListMLE": "l-listmle",
}
"""The preset of each system; those with several orders of equal labels differ in that option alone."""

NDCG = tuple(f"ndcg@{depth}" for depth in range(1, 11))
PAIRED = ("ndcg@1", "ndcg@3", "ndcg@10", "err")
"""Metrics whose values are kept for each list."""

MAX_GRADE = 4.0
GRADES = {"yahoo-set1": (0.22, 0.50, 0.22, 0.04, 0.02)}
"""About how many documents have the grades 0 … 4, where they are not those of `web_search`, which are MSLR's."""


class Shape(NamedTuple):
    """Of made data: features, mean number of documents, and lists to learn from, to choose by and to test on."""

    features: int
    documents: int
    train: int
    validation: int
    test: int


class Source(NamedTuple):
    """A public dataset below a folder, or made lists of its shape; `thirds` splits the training lists in three."""

    name: str
    folder: str | None
    shape: Shape
    seed: int
    thirds: bool = False

    def settings(self) -> dict[str, Any]:
        """What tells its lists from others."""
        told: dict[str, Any] = {"data": self.name, "thirds": self.thirds, "seed": self.seed}
        if self.folder is None:
            told |= {"data": f"made {self.name}", **self.shape._asdict()}
        return told


@lru_cache(maxsize=2)
def fold_of(source: Source, number: int) -> Fold:
    """The lists of one fold, counted from 0."""
    fold = _public(source, number) if source.folder is not None else _made(source)
    if not source.thirds:
        return fold
    third = parts(fold.train, 3, source.seed)
    return Fold(concatenate([part for place, part in enumerate(third) if place != number]), None, third[number])


def _public(source: Source, number: int) -> Fold:
    there = find(Path(source.folder or "."), source.name, 1 if source.thirds else number + 1)
    if there is None:
        raise FileNotFoundError(f"{source.name} was there when this run began, below {source.folder}, and is no more.")
    return Fold(*(there.read(part, sparse=False) for part in ("train", "validation", "test")))


@lru_cache(maxsize=1)
def _made(source: Source) -> Fold:
    shape = source.shape
    lists = made_lists(source.name, shape.train + shape.validation + shape.test, shape, source.seed)
    numbers = np.split(np.arange(lists.n_lists), np.cumsum([shape.train, shape.validation]))
    return Fold(*(lists.take(some) for some in numbers))


def made_lists(name: str, n_lists: int, shape: Shape, seed: int) -> Dataset:
    """Lists of the shape of a public dataset, with about its shares of grades."""
    made = web_search(n_lists, shape.features, shape.documents, seed=seed)
    if name not in GRADES:
        return made.dataset
    random, data = default_rng([seed, 5]), made.dataset
    strictness = 0.6 * random.standard_normal(n_lists)[list_of_row(data.offsets)]
    judged = made.truth + strictness + 0.5 * random.standard_normal(data.n_rows)
    labels = np.searchsorted(np.quantile(judged, np.cumsum(GRADES[name])[:-1]), judged)
    return Dataset(data.features, labels, data.offsets, data.query_ids)


def system(name: str, trees: int, *, n_jobs: int | None, seed: int, **changes: Any) -> Ranker:
    """A system as the paper prints it, with so many trees (two and a half times as many of McRank's rounds)."""
    found = PRESET_OF[name]
    if name.startswith("PLRank"):
        orders = int(name.removeprefix("PLRank(obj=").removesuffix(")"))
        changes["objective"] = objective("listmle", depth=10, permutations=orders)
    if PRESETS[found].model == "trees":
        changes["n_estimators"] = trees * 5 // 2 if name == "McRank" else trees
    return preset(found, n_jobs=n_jobs, random_state=seed, **changes)


def some_features(train: Dataset, count: int, seed: int) -> Integers:
    """The first so many features in a random order of those that vary: for one seed, fewer are a part of more."""
    varying = np.flatnonzero(np.ptp(train.features, axis=0) > 0)
    return np.sort(default_rng([seed, 6]).permutation(varying)[:count])


def fit(
    *,
    system_name: str,
    fold: int,
    trees: int,
    sweeps: int,
    count: int,
    source: Source,
    n_jobs: int | None,
    **told: Any,
) -> dict[str, Any]:
    """One training: the paired metrics of each test list, and the means of NDCG@1 … NDCG@10.

    With a `count` of features above 0 only so many are learned from. `sweeps` above 0 limits coordinate ascent to so
    many, from one start; 0 leaves it as the preset has it.
    """
    lists = fold_of(source, fold)
    train, test = lists.train, lists.test
    if count:
        kept = some_features(train, count, source.seed)
        train, test = (each.with_features(np.ascontiguousarray(each.features[:, kept])) for each in (train, test))
    changes = {"restarts": 0, "max_iter": sweeps} if system_name == "CA" and sweeps else {}
    ranker = system(system_name, trees, n_jobs=n_jobs, seed=source.seed, **changes)
    scores = ranker.fit(train).predict(test)
    return _measured(scores, test)


def tune(
    *, system_name: str, leaves: int, rate: float, trees: int, source: Source, n_jobs: int | None, **told: Any
) -> dict[str, Any]:
    """One point of the search of Table 5: trained with these leaves and rate, stopped by the validation lists."""
    lists = fold_of(source, 0)
    ranker = system(system_name, trees, n_jobs=n_jobs, seed=source.seed, num_leaves=leaves, learning_rate=rate)
    ranker.fit(lists.train, validation=lists.validation)
    chosen = float(max(entry["validation"] for entry in ranker.history_))
    return {"validation": chosen, **_measured(ranker.predict(lists.test), lists.test)}


def _measured(scores: Floats, test: Dataset) -> dict[str, Any]:
    wanted = tuple(dict.fromkeys(NDCG + PAIRED))
    values = measure(scores, test.labels, test.offsets, wanted, max_grade=MAX_GRADE, n_jobs=1)
    kept = {metric: np.round(values[metric], 5) for metric in PAIRED}
    return {
        "lists": {metric: [None if value != value else value for value in kept[metric].tolist()] for metric in PAIRED},
        "by depth": [float(np.nanmean(values[metric])) for metric in NDCG],
    }


def round_seconds(*, system_name: str, rounds: int, source: Source, **told: Any) -> list[float]:
    """Seconds of processor time of each of some rounds, after a few to warm up, on one thread."""
    times: list[float] = []
    ranker = system(system_name, rounds, n_jobs=1, seed=source.seed)
    ranker.set_params(n_estimators=rounds + 3).fit(
        fold_of(source, 0).train, callback=lambda record: times.append(time.process_time())
    )
    return [float(value) for value in np.diff(times)[2:]]
