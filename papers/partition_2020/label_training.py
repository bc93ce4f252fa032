"""One training of a method of the 2020 tables, and its metrics on the test rows."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from luce.arrays import Floats, Integers
from luce.data import split
from luce.data.extreme import TaggedData
from luce.data.synthetic import tagged_documents
from luce.metrics import measure_labels, propensities
from papers.datasets import DatasetSpec
from papers.partition_2020 import leml, sleec
from papers.partition_2020.published import CUTOFFS, TABLE_3

Parameters = tuple[float, ...]
BlockScorer = Callable[[slice], Floats]

METRICS = {"precision": "P", "psp": "PSP", "ndcg": "nDCG", "psndcg": "PSnDCG"}
CHOSEN_BY, PATIENCE = "precision@5", 5
"""The metric of the validation rows by which parameters and the best epoch are chosen, and the epochs without a better
one after which a training stops."""

LEML, SLEEC = "leml", "sleec"
PARAMETERS = {LEML: ("penalty",), SLEEC: ("ridge", "neighbors")}
GRIDS: dict[str, list[Parameters]] = {
    LEML: [(penalty,) for penalty in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)],
    SLEEC: list(product((0.05, 0.15, 0.5, 1.5, 5.0, 15.0, 50.0), (5, 10, 20, 40, 70, 120))),
}
"""Parameters to choose from; the authors of SLEEC give a ridge of 5 and 70 neighbors for D-1K."""

BLOCK = 1_024
"""Rows whose scores of all labels are in memory at once."""


@lru_cache(maxsize=1)
def load(dataset: DatasetSpec) -> tuple[TaggedData, TaggedData]:
    """The training and test rows, published or synthetic."""
    if dataset.shape is None:
        return dataset.read("train"), dataset.read("test")
    most = round(2 * TABLE_3[dataset.name].labels_per_row - 1)
    sizes = {"n_words": dataset.shape.features, "n_labels": dataset.shape.labels, "most_labels": most}
    return (
        tagged_documents(dataset.shape.train, **sizes, seed=2 * dataset.seed + 1),
        tagged_documents(dataset.shape.test, **sizes, seed=2 * dataset.seed + 2),
    )


def _validation_split(dataset: DatasetSpec, train: TaggedData, seed: int) -> tuple[TaggedData, ...]:
    held_out = 0.1 if dataset.name == "delicious-200k" else 0.25
    return split(train, (1 - held_out, held_out), seed=seed)


def train_and_test(
    dataset: DatasetSpec, method: str, seed: int, *, n_jobs: int | None, **network: Any
) -> dict[str, float]:
    """The result of LEML, SLEEC or, with a learning rate and a number of epochs, a network."""
    if method in GRIDS:
        return train_embedding(dataset, method, seed, n_jobs)
    return train_network(dataset, method, seed, n_jobs=n_jobs, **network)


def train_network(
    dataset: DatasetSpec, method: str, seed: int, rate: float, epochs: int, n_jobs: int | None
) -> dict[str, float]:
    """The metrics of a network in percent, its validation score and the seconds of the training."""
    from luce.rankers import LabelRanker
    from luce.rankers.presets import preset_of

    train, test = load(dataset)
    part, validation = _validation_split(dataset, train, seed)
    parameters = preset_of(f"tags-{method}").parameters()
    one_pass = math.ceil(np.count_nonzero(part.sizes) / parameters["batch_size"])
    settings = {"learning_rate": rate, "epochs": epochs, "early_stopping_rounds": PATIENCE, "metric": CHOSEN_BY}
    settings |= {"steps_per_epoch": one_pass, "random_state": seed, "n_jobs": n_jobs}
    start = time.perf_counter()
    ranker = LabelRanker(**{**parameters, **settings}).fit(part, validation=validation)
    seconds = time.perf_counter() - start
    ranking = ranker.top_labels(test, max(CUTOFFS))[0]
    return {"validation": 100 * (ranker.best_score_ or 0.0), "seconds": seconds} | _metrics(ranking, train, test)


def train_embedding(dataset: DatasetSpec, method: str, seed: int, n_jobs: int | None) -> dict[str, float]:
    """The metrics of LEML or SLEEC in percent, the parameters, their validation score and the seconds of all fits.

    The parameters are chosen on the validation rows; the model is then fitted to all training rows, as the published
    ones were. A network cannot be: the validation rows choose its best epoch.
    """
    train, test = load(dataset)
    part, validation = _validation_split(dataset, train, seed)
    start = time.perf_counter()
    with threadpool_limits(n_jobs):
        scores = {
            parameters: float(measure_labels(_ranking(scorer, validation), validation, CHOSEN_BY)[CHOSEN_BY].mean())
            for parameters, scorer in _scorers(dataset, method, seed, part, validation, GRIDS[method])
        }
        best = max(scores, key=lambda parameters: scores[parameters])
        [(_, scorer)] = _scorers(dataset, method, seed, train, test, [best])
        ranking = _ranking(scorer, test)
    seconds = time.perf_counter() - start
    parameters = dict(zip(PARAMETERS[method], best, strict=True))
    return {"validation": 100 * scores[best], "seconds": seconds} | parameters | _metrics(ranking, train, test)


def _scorers(
    dataset: DatasetSpec, method: str, seed: int, train: TaggedData, rows: TaggedData, grid: Sequence[Parameters]
) -> Iterator[tuple[Parameters, BlockScorer]]:
    """The scores of the labels of some rows with each of the parameters."""
    if method == SLEEC:
        settings = sleec.settings_for(dataset.name, train.n_rows, TABLE_3[dataset.name].train)
        return sleec.scorers(train, rows, grid, settings, seed)
    return leml.scorers(train, rows, grid, seed)


def _ranking(scorer: BlockScorer, rows: TaggedData) -> Integers:
    """The first labels of each row; of labels with equal scores the first."""
    blocks = (slice(start, start + BLOCK) for start in range(0, rows.n_rows, BLOCK))
    return np.concatenate([np.argsort(-scorer(block), axis=1, kind="stable")[:, : max(CUTOFFS)] for block in blocks])


def _metrics(ranking: Integers, train: TaggedData, test: TaggedData) -> dict[str, float]:
    """In percent."""
    names = [f"{metric}@{cutoff}" for metric in METRICS for cutoff in CUTOFFS]
    found = measure_labels(ranking, test, names, propensities=propensities(train.label_counts, train.n_rows))
    return {name: 100 * float(values.mean()) for name, values in found.items()}
