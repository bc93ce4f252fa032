"""The systems of the 2019 paper, the lists they are trained on, and single trainings."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, list_of_row
from luce.data import Dataset, concatenate, parts
from luce.data.splits import Fold
from luce.data.synthetic import web_search
from luce.experiments.feature_study import feature_study
from luce.metrics import measure
from luce.rankers import PRESETS, TreeRanker, preset
from papers.datasets import DatasetSpec, SyntheticShape

PRESET_OF = {
    "PLRank(obj=1)": "listmle-trees",
    **{f"PLRank(obj={orders})": f"listmle-trees-{orders}" for orders in (3, 6, 9, 15)},
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
"""The preset of each system; l-ListMLE has ten times as many iterations on Microsoft's data."""

LINEAR = ("l-ListMLE", "CA")
SHARED = ("num_leaves", "learning_rate", "min_child_samples", "validation_fraction")
"""Settings of the paper's trees that LightGBM's objective has too."""

LIGHTGBM = "LightGBM lambdarank"
"""LightGBM's own objective, grown, stopped and measured as the others; it is in none of the paper's tables."""

NDCG = tuple(f"ndcg@{depth}" for depth in range(1, 11))
PAIRED = ("ndcg@10", "err")
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


def system(name: str, rounds: int, *, n_jobs: int | None, seed: int, data: str = "", **changes: Any) -> Any:
    """A system of the paper, or LightGBM's, with at most this number of rounds (McRank: 2.5 times as many)."""
    settings = {"n_jobs": n_jobs, "random_state": seed, **changes}
    if name == LIGHTGBM:
        paper = {name: PRESETS["lambdamart"].settings[name] for name in SHARED}
        return TreeRanker("lambdarank", lightgbm_objective="lambdarank", n_estimators=rounds, **{**paper, **settings})
    if name not in LINEAR:
        settings["n_estimators"] = rounds_of(name, rounds)
    is_long = name == "l-ListMLE" and data == "mslr-web30k"
    return preset("l-listmle-mslr" if is_long else PRESET_OF[name], **settings)


def rounds_of(name: str, rounds: int) -> int:
    """The rounds of a system where others have so many."""
    return rounds * 5 // 2 if name == "McRank" else rounds


def train(
    *,
    system_name: str,
    dataset: DatasetSpec,
    fold: int,
    grid: Sequence[Mapping[str, Any]],
    limits: Sequence[int],
    early_stopping_rounds: int,
    n_jobs: int | None,
    thirds: bool = False,
) -> dict[str, Any]:
    """For each limit of rounds, the settings of the grid and the round that are best on the validation lists.

    A training ends after `early_stopping_rounds` without improvement. With 0 there is no choice: the settings and the
    last limit are the paper's, and validation lists are not used.
    """
    lists = load_fold(dataset, fold, thirds)
    found = []
    for params in grid:
        ranker = system(system_name, limits[-1], n_jobs=n_jobs, seed=dataset.seed, data=dataset.name, **params)
        if not early_stopping_rounds:
            ranker.fit(lists.train)
            last = {
                "validation": 0.0,
                "round": limits[-1],
                **params,
                **_metrics(ranker.predict(lists.test), lists.test),
            }
            return {str(limits[-1]): last}
        ranker.set_params(early_stopping_rounds=early_stopping_rounds).fit(lists.train, validation=lists.validation)
        found.append({str(limit): {**params, **each} for limit, each in _by_limit(ranker, limits, lists.test)})
    return choose(found)


def _by_limit(ranker: Any, limits: Sequence[int], test: Dataset) -> Iterator[tuple[int, dict[str, Any]]]:
    """For each limit of rounds the best round by the validation lists, and the metrics of the test lists there."""
    validation = [record["validation"] for record in ranker.history_]
    measured: dict[int, dict[str, Any]] = {}
    for limit in limits:
        best, value = ranker.best_iteration_, ranker.best_score_
        if isinstance(ranker, TreeRanker):
            n_rounds = limit * ranker.n_estimators // limits[-1]
            best = int(np.argmax(validation[:n_rounds])) + 1
            value = validation[best - 1]
        if best not in measured:
            shorter = ranker.truncate(best) if isinstance(ranker, TreeRanker) else ranker
            measured[best] = _metrics(shorter.predict(test), test)
        yield limit, {"validation": value, "round": best, **measured[best]}


def choose(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of several trainings, for each limit of rounds the one with the best validation score."""
    return {limit: max((one[limit] for one in found), key=lambda each: each["validation"]) for limit in found[0]}


def by_features(*, count: int, dataset: DatasetSpec, validated: bool, n_jobs: int | None) -> dict[str, Any]:
    """Figure 2 with one number of features: the metrics of each test list for the linear systems."""
    lists = load_fold(dataset, 0)
    rankers = {name: system(name, 1, n_jobs=n_jobs, seed=0, data=dataset.name) for name in LINEAR}
    fold = lists if validated else lists._replace(validation=None)
    study = feature_study(rankers, [fold], [count], ("ndcg@1", "ndcg@10"), seed=dataset.seed, n_jobs=n_jobs)
    ((_, found),) = study.results.items()
    return {name: {metric: _texts(values) for metric, values in each.values.items()} for name, each in found.items()}


def _metrics(scores: Floats, test: Dataset) -> dict[str, Any]:
    metrics = tuple(dict.fromkeys(NDCG + PAIRED))
    values = measure(scores, test.labels, test.offsets, metrics, max_grade=MAX_GRADE, n_jobs=1)
    return {
        "lists": {metric: _texts(values[metric]) for metric in PAIRED},
        "by depth": [float(np.nanmean(values[metric])) for metric in NDCG],
    }


def _texts(values: Floats) -> list[float | None]:
    """Numbers as JSON has them, None for NaN."""
    return [None if value != value else value for value in np.round(values, 4).tolist()]


def round_seconds(*, system_name: str, rounds: int, repeat: int, dataset: DatasetSpec) -> list[float]:
    """The CPU time of boosting rounds in seconds on one thread, after a few rounds of warm-up."""
    times: list[float] = []
    ranker = system(system_name, rounds, n_jobs=1, seed=dataset.seed)
    ranker.set_params(n_estimators=rounds + 3).fit(
        load_fold(dataset, 0).train, callback=lambda record: times.append(time.process_time())
    )
    return [float(value) for value in np.diff(times)[2:]]
