"""The systems of the 2019 paper, the lists they are trained on, and single trainings."""

import time
from functools import lru_cache
from typing import Any

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
from papers.datasets import DatasetSpec, SyntheticShape

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
"""The preset of each system; the variants of PLRank differ only in the number of orders of tied labels."""

NDCG = tuple(f"ndcg@{depth}" for depth in range(1, 11))
PAIRED = ("ndcg@1", "ndcg@3", "ndcg@10", "err")
"""Metrics whose values are stored for each list."""

MAX_GRADE = 4.0
GRADES = {"yahoo-set1": (0.22, 0.50, 0.22, 0.04, 0.02)}
"""Approximate shares of the grades 0 … 4 where they differ from those of `web_search`, which are like MSLR's."""


@lru_cache(maxsize=2)
def load_fold(dataset: DatasetSpec, number: int, thirds: bool = False) -> Fold:
    """The lists of one fold, counted from 0; with `thirds`, one of three folds of the training lists."""
    fold = _read_fold(dataset, 0 if thirds else number) if dataset.shape is None else _synthetic_fold(dataset)
    if not thirds:
        return fold
    third = parts(fold.train, 3, dataset.seed)
    return Fold(concatenate([part for place, part in enumerate(third) if place != number]), None, third[number])


def _read_fold(dataset: DatasetSpec, number: int) -> Fold:
    return Fold(*(dataset.read(part, number + 1, sparse=False) for part in ("train", "validation", "test")))


@lru_cache(maxsize=1)
def _synthetic_fold(dataset: DatasetSpec) -> Fold:
    assert dataset.shape is not None
    sizes = dataset.shape.train, dataset.shape.validation, dataset.shape.test
    lists = synthetic_lists(dataset.name, sum(sizes), dataset.shape, dataset.seed)
    numbers = np.split(np.arange(lists.n_lists), np.cumsum(sizes[:2]))
    return Fold(*(lists.take(some) for some in numbers))


def synthetic_lists(name: str, n_lists: int, shape: SyntheticShape, seed: int) -> Dataset:
    """Lists in the shape of a public dataset, with approximately its shares of grades."""
    synthetic = web_search(n_lists, shape.features, shape.documents, seed=seed)
    if name not in GRADES:
        return synthetic.dataset
    random, data = default_rng([seed, 5]), synthetic.dataset
    strictness = 0.6 * random.standard_normal(n_lists)[list_of_row(data.offsets)]
    relevance = synthetic.truth + strictness + 0.5 * random.standard_normal(data.n_rows)
    labels = np.searchsorted(np.quantile(relevance, np.cumsum(GRADES[name])[:-1]), relevance)
    return Dataset(data.features, labels, data.offsets, data.query_ids)


def system(name: str, trees: int, *, n_jobs: int | None, seed: int, **changes: Any) -> Ranker:
    """A system of the paper, with this number of trees (McRank: 2.5 times as many rounds)."""
    preset_name = PRESET_OF[name]
    if name.startswith("PLRank"):
        orders = int(name.removeprefix("PLRank(obj=").removesuffix(")"))
        changes["objective"] = objective("listmle", depth=10, permutations=orders)
    if PRESETS[preset_name].model == "trees":
        changes["n_estimators"] = trees * 5 // 2 if name == "McRank" else trees
    return preset(preset_name, n_jobs=n_jobs, random_state=seed, **changes)


def random_features(train: Dataset, count: int, seed: int) -> Integers:
    """A random subset of the features that vary; for one seed, smaller subsets are contained in larger ones."""
    varying = np.flatnonzero(np.ptp(train.features, axis=0) > 0)
    return np.sort(default_rng([seed, 6]).permutation(varying)[:count])


def fit(
    *,
    system_name: str,
    fold: int,
    trees: int,
    sweeps: int,
    count: int,
    dataset: DatasetSpec,
    n_jobs: int | None,
    thirds: bool = False,
) -> dict[str, Any]:
    """Train once: the metrics of each test list, and the means of NDCG@1 … NDCG@10.

    A `count` above 0 selects a random subset of that many features. A value of `sweeps` above 0 limits coordinate
    ascent to that many sweeps from one start; 0 keeps the settings of the preset.
    """
    lists = load_fold(dataset, fold, thirds)
    train, test = lists.train, lists.test
    if count:
        selected = random_features(train, count, dataset.seed)
        train, test = (each.with_features(np.ascontiguousarray(each.features[:, selected])) for each in (train, test))
    changes = {"restarts": 0, "max_iter": sweeps} if system_name == "CA" and sweeps else {}
    ranker = system(system_name, trees, n_jobs=n_jobs, seed=dataset.seed, **changes)
    scores = ranker.fit(train).predict(test)
    return _metrics(scores, test)


def tune(
    *, system_name: str, leaves: int, rate: float, trees: int, dataset: DatasetSpec, n_jobs: int | None
) -> dict[str, Any]:
    """One point of the search of Table 5, with early stopping on the validation lists."""
    lists = load_fold(dataset, 0)
    ranker = system(system_name, trees, n_jobs=n_jobs, seed=dataset.seed, num_leaves=leaves, learning_rate=rate)
    ranker.fit(lists.train, validation=lists.validation)
    best = float(max(entry["validation"] for entry in ranker.history_))
    return {"validation": best, **_metrics(ranker.predict(lists.test), lists.test)}


def _metrics(scores: Floats, test: Dataset) -> dict[str, Any]:
    metrics = tuple(dict.fromkeys(NDCG + PAIRED))
    values = measure(scores, test.labels, test.offsets, metrics, max_grade=MAX_GRADE, n_jobs=1)
    rounded = {metric: np.round(values[metric], 5).tolist() for metric in PAIRED}
    return {
        "lists": {metric: [None if value != value else value for value in rounded[metric]] for metric in PAIRED},
        "by depth": [float(np.nanmean(values[metric])) for metric in NDCG],
    }


def round_seconds(*, system_name: str, rounds: int, repeat: int, dataset: DatasetSpec) -> list[float]:
    """The CPU time of boosting rounds in seconds on one thread, after a few rounds of warm-up."""
    times: list[float] = []
    ranker = system(system_name, rounds, n_jobs=1, seed=dataset.seed)
    ranker.set_params(n_estimators=rounds + 3).fit(
        load_fold(dataset, 0).train, callback=lambda record: times.append(time.process_time())
    )
    return [float(value) for value in np.diff(times)[2:]]
