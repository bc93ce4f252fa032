"""Training of the linear models of Table 1, and the choice of their settings on validation lists."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from luce.data import Dataset, split
from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.errors import LuceError
from luce.metrics import evaluate
from luce.rankers import Checkpoint, LinearRanker
from luce.rankers.presets import PRESETS
from papers.datasets import DATASETS, DatasetSpec, SyntheticShape
from papers.ordered_partitions_2011.published import METRICS, ORDERS, PRINTED, SAMPLED
from papers.outcome import Trial
from papers.runner import Settings

YAHOO = "yahoo-set1"
SYNTHETIC = f"synthetic {YAHOO}"
MAX_GRADE = 4
"""Of Yahoo's labels, and of the paper's formula of ERR."""


class Protocol(NamedTuple):
    """What is tried: sizes and seeds of synthetic data, L2 penalties, learning rates, lengths of training.

    `iterations` of L-BFGS and `passes` over the lists of the sampled methods belong together, one by one.
    """

    sizes: tuple[int, ...]
    seeds: int
    features: int
    penalties: tuple[float, ...]
    learning_rates: tuple[float, ...]
    iterations: tuple[int, ...]
    passes: tuple[int, ...]
    validation: int = 200
    test: int = 1_000

    def synthetic(self, first_seed: int) -> list[DatasetSpec]:
        """The synthetic datasets, in the shape of Yahoo's set 1."""
        return [
            DatasetSpec(YAHOO, None, SyntheticShape(size, self.features, self.validation, self.test, 23.7), seed)
            for size in self.sizes
            for seed in range(first_seed, first_seed + self.seeds)
        ]


FULL = Protocol((150, 400), 2, 519, (1.0, 30.0, 1_000.0), (0.1, 0.01, 0.001), (25, 100), (2, 6))
QUICK = Protocol((150, 300), 2, 136, (10.0, 100.0), (0.1, 0.01), (25, 50), (2, 4), test=300)
AS_PRINTED = Protocol((), 1, 519, (1.0,), (0.1,), (100,), (1_000,))
"""For Yahoo's own lists; the paper does not state a penalty."""


class Result(NamedTuple):
    """A training with the settings that were best on the validation lists."""

    features: int
    seconds: float
    metrics: Mapping[str, float]


Results = dict[tuple[str, str, Trial], Result]
"""By method, order of features and trial."""


def points_of(protocol: Protocol, datasets: Iterable[DatasetSpec]) -> list[Settings]:
    """A point for each dataset, fold, order of features, method and learning rate."""
    return [
        {
            "method": method,
            "features": order,
            "dataset": dataset,
            "fold": fold,
            "penalties": protocol.penalties,
            "learning_rate": rate,
            "lengths": protocol.passes if method in SAMPLED else protocol.iterations,
        }
        for dataset in datasets
        for fold in range(1, 1 + (DATASETS[dataset.name].folds if dataset.shape is None else 1))
        for order in ORDERS
        for method in PRINTED
        for rate in (protocol.learning_rates if method in SAMPLED else (None,))
    ]


def effort(point: Settings) -> float:
    """Approximate seconds."""
    shape, sampled = point["dataset"].shape, point["method"] in SAMPLED
    lists = 400 if shape is None else shape.train
    steps = len(point["penalties"]) * lists * max(point["lengths"])
    return 2.0 + (5e-4 if sampled else 2e-5) * steps


def train_and_test(
    method: str,
    features: str,
    dataset: DatasetSpec,
    fold: int,
    penalties: Sequence[float],
    learning_rate: float | None,
    lengths: Sequence[int],
) -> dict[str, Any]:
    """Every training of a method: its metrics on test lists, its ERR on validation lists, and its CPU seconds."""
    preset = PRESETS[f"{features}-order-{method}"].parameters()
    parts = load(dataset, fold)
    chain = fit_transforms(preset["transforms"], parts[0])
    train, validation, test = (
        part.with_features(apply_transforms(chain, part.features, part.offsets)) for part in parts
    )
    settings = {**preset, "transforms": (), "random_state": dataset.seed, "n_jobs": 1}
    if learning_rate is not None:
        settings["learning_rate"] = learning_rate
    LinearRanker(**{**settings, "max_iter": 1, "learning_rate": 1e-9}).fit(train)  # compiles
    trainings = [
        {"length": place, "validation": judged, "seconds": seconds, "metrics": means}
        for penalty in penalties
        for place, (judged, seconds, means) in enumerate(
            _trainings(LinearRanker(**{**settings, "reg_lambda": penalty}), lengths, train, validation, test)
        )
    ]
    return {"lists": train.n_lists, "features": train.n_features, "trainings": trainings}


def _trainings(
    ranker: LinearRanker, lengths: Sequence[int], train: Dataset, validation: Dataset, test: Dataset
) -> Iterator[tuple[float, float, dict[str, float]]]:
    """ERR on validation lists, CPU seconds and metrics on test lists after each length; none once it diverges."""
    with TemporaryDirectory() as folder:
        resumed, spent = ranker.optimizer == "gradient-descent", 0.0
        checkpoint = Checkpoint(Path(folder) / "training.checkpoint", resume=True) if resumed else None
        for length in lengths:
            start = time.process_time()  # not the wall time, which depends on the load of the machine
            try:
                ranker.set_params(max_iter=length).fit(train, checkpoint=checkpoint)
            except LuceError:  # only the learning rates that are too high diverge
                return
            spent = time.process_time() - start + (spent if resumed else 0.0)
            judged = _means(ranker, validation)["err"] if validation.n_lists else 0.0
            yield judged, spent, _means(ranker, test)


def _means(ranker: LinearRanker, lists: Dataset) -> dict[str, float]:
    scores = ranker.predict(lists)
    return evaluate(scores, lists, list(METRICS), max_grade=MAX_GRADE, n_bootstrap=0, n_jobs=1).means


def load(dataset: DatasetSpec, fold: int = 1) -> list[Dataset]:
    """Training, validation and test lists; of Yahoo's own, as in the paper, nine tenths, none and a tenth."""
    if dataset.shape is not None:
        shape = dataset.shape
        sizes = shape.train, shape.validation, shape.test
        lists = web_search(sum(sizes), shape.features, shape.documents, seed=dataset.seed).dataset
        return [lists.take(part) for part in np.split(np.arange(sum(sizes)), np.cumsum(sizes[:2]))]
    if dataset.name == YAHOO:
        train, test = split(dataset.read("train"), (0.9, 0.1), seed=dataset.seed)
        return [train, train.take(np.arange(0)), test]
    return [dataset.read(part, fold) for part in ("train", "validation", "test")]


def chosen_results(points: Sequence[Settings], results: Sequence[Mapping[str, Any]], protocol: Protocol) -> Results:
    """For every method and trial the training whose penalty and learning rate are best on the validation lists."""
    best: dict[tuple[str, str, Trial], tuple[float, Result]] = {}
    for point, result in zip(points, results, strict=True):
        dataset = point["dataset"]
        name = SYNTHETIC if dataset.shape is not None else dataset.name
        seed = dataset.seed if dataset.shape is not None else point["fold"]
        for each in result["trainings"]:
            trial = Trial(name, result["lists"], protocol.iterations[each["length"]], seed)
            key = point["method"], point["features"], trial
            if key not in best or each["validation"] > best[key][0]:
                found = Result(result["features"], each["seconds"], each["metrics"])
                best[key] = each["validation"], found
    return {key: result for key, (_, result) in best.items()}
