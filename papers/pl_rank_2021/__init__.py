"""The gradient estimators PL-Rank (2021): Tables 1 and 2 and Figures 1 to 3, policies trained with each estimator."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.report.curves import lines
from luce.report.svg import Picture
from papers.datasets import DATASETS, DatasetSpec, SyntheticShape
from papers.outcome import Outcome
from papers.pl_rank_2021.learning import INCREASING, METHODS, LearningCurve, gradient_difference, learn, step_seconds
from papers.pl_rank_2021.results import (
    LAMBDALOSS,
    N_TIMES,
    SHORT,
    TRAINED,
    Curves,
    EstimatorResults,
    along_epochs,
    along_seconds,
    claims,
    tables,
)
from papers.runner import Run

FAIR = tuple(method for method in TRAINED if method != LAMBDALOSS)
UNLIMITED = 1_000_000


class EstimatorExperiment(NamedTuple):
    """The size of the experiment.

    Attributes
    ----------
    shapes
        Of the synthetic data.
    seeds
        The number of trainings of each method.
    samples, epochs
        Of Figure 1.
    max_lambdaloss_samples
        The largest number of samples in Figure 1 for LambdaLoss, which forms all pairs of each.
    seconds, fair_seconds
        The training times of Figure 2 and of Figure 3.
    timed_samples, steps, repeats
        The numbers of samples in Table 1, the steps of a measurement, and the number of measurements.
    """

    shapes: Mapping[str, SyntheticShape]
    seeds: int
    samples: tuple[int, ...]
    epochs: int
    max_lambdaloss_samples: int
    seconds: float
    fair_seconds: float
    timed_samples: tuple[int, ...]
    steps: int
    repeats: int


FULL = EstimatorExperiment(
    {
        "yahoo-set1": SyntheticShape(400, 700, documents=24),
        "mslr-web30k": SyntheticShape(200, 136, documents=125),
        "istella": SyntheticShape(100, 220, documents=315),
    },
    seeds=20,
    samples=(10, 100, 1_000),
    epochs=60,
    max_lambdaloss_samples=1_000,
    seconds=60.0,
    fair_seconds=60.0,
    timed_samples=(1, 10, 100, 1_000),
    steps=40,
    repeats=5,
)
QUICK = EstimatorExperiment(
    {
        "yahoo-set1": SyntheticShape(100, 200, documents=24),
        "mslr-web30k": SyntheticShape(80, 136, documents=125),
        "istella": SyntheticShape(60, 220, documents=315),
    },
    seeds=4,
    samples=(10, 100),
    epochs=16,
    max_lambdaloss_samples=10,
    seconds=1.5,
    fair_seconds=2.5,
    timed_samples=(1, 10, 100),
    steps=12,
    repeats=4,
)


def run(run: Run) -> Outcome:
    """Train in a pool of processes, then measure the times of Table 1 one after the other."""
    experiment = QUICK if run.quick else FULL
    datasets = {name: DatasetSpec.locate(run.data, name, shape) for name, shape in experiment.shapes.items()}
    by_epoch: dict[str, dict[int, Curves]] = {}
    by_time: dict[str, Curves] = {}
    fair: dict[str, Curves] = {}
    for number, (name, dataset) in enumerate(datasets.items()):
        curves = _train(dataset, experiment, run, (0.29 * number, 0.29 * (number + 1)))
        by_epoch[name] = {samples: curves[samples, False] for samples in experiment.samples}
        by_time[name], fair[name] = curves[INCREASING, False], curves[INCREASING, True]
    results = EstimatorResults(
        by_epoch,
        by_time,
        fair,
        _step_times(datasets, experiment, run),
        {name: gradient_difference(dataset) for name, dataset in datasets.items()},
        {name: dataset.shape is not None for name, dataset in datasets.items()},
    )
    data = f"Run on {'; on '.join(map(_describe_data, datasets.values()))}. {experiment.seeds} seeds from {run.seed}."
    return Outcome(data, tables(results), claims(results), lambda: _pictures(results))


def _describe_data(dataset: DatasetSpec) -> str:
    if (shape := dataset.shape) is None:
        return dataset.name
    return (
        f"{dataset}, scaled down: {shape.train:,} lists of about {shape.documents} documents with {shape.features} "
        f"features, instead of {DATASETS[dataset.name].sizes['train'].lists:,}"
    )


def _train(
    dataset: DatasetSpec, experiment: EstimatorExperiment, run: Run, span: tuple[float, float]
) -> dict[tuple[int | str, bool], dict[str, list[LearningCurve]]]:
    """Learning curves by number of samples and by whether the objective was disparity."""
    limit = experiment.max_lambdaloss_samples
    figures: list[tuple[int | str, bool, int, float]] = [(n, False, experiment.epochs, 0.0) for n in experiment.samples]
    figures += [
        (INCREASING, False, UNLIMITED, experiment.seconds),
        (INCREASING, True, UNLIMITED, experiment.fair_seconds),
    ]
    settings: list[dict[str, Any]] = [
        {"method": method, "samples": samples, "fair": fair, "seed": seed, "epochs": epochs, "seconds": seconds}
        | {"dataset": dataset}
        for samples, fair, epochs, seconds in figures
        for method in (FAIR if fair or (samples != INCREASING and int(samples) > limit) else TRAINED)
        for seed in range(run.seed, run.seed + experiment.seeds)
    ]
    results = run.points(learn, settings, effort=_effort, span=span, processes=None)
    grouped: dict[tuple[int | str, bool], dict[str, list[LearningCurve]]] = {}
    for point, result in zip(settings, results, strict=True):
        curves = grouped.setdefault((point["samples"], point["fair"]), {})
        curves.setdefault(point["method"], []).append(LearningCurve(*result))
    return grouped


def _effort(point: Mapping[str, Any]) -> float:
    """LambdaLoss forms all pairs of every sample."""
    return 3.0 if point["method"] == LAMBDALOSS and not point["seconds"] else 1.0


def _step_times(
    datasets: Mapping[str, DatasetSpec], experiment: EstimatorExperiment, run: Run
) -> dict[str, dict[tuple[str, int], Any]]:
    """Table 1, with the methods interleaved, so that other load on the machine affects all of them."""
    times: dict[str, dict[tuple[str, int], Any]] = {}
    for number, (name, dataset) in enumerate(datasets.items()):
        settings: list[dict[str, Any]] = [
            {"method": method, "samples": samples, "repeat": repeat, "steps": experiment.steps, "dataset": dataset}
            for repeat, samples, method in product(range(experiment.repeats), experiment.timed_samples, METHODS)
        ]
        span = (0.87 + 0.04 * number, 0.91 + 0.04 * number)
        results = run.points(step_seconds, settings, effort=lambda one: 1 + one["samples"], span=span)
        cells: dict[tuple[str, int], list[float]] = {}
        for point, result in zip(settings, results, strict=True):
            cells.setdefault((point["method"], point["samples"]), []).append(result)
        times[name] = {cell: np.array(values) for cell, values in cells.items()}
    return times


def _pictures(results: EstimatorResults) -> list[Picture]:
    """Figures 1 to 3: means over seeds."""
    drawn = []
    for data, figures in results.by_epoch.items():
        for samples, curves in figures.items():
            epochs, values = along_epochs(curves)
            shown = np.unique(np.linspace(0, len(epochs) - 1, N_TIMES).astype(int))
            means = {name: each.mean(axis=0)[shown] for name, each in values.items()}
            title = f"Figure 1: DCG@5, N = {samples:,}, {_name(results, data)}"
            drawn += lines(f"pl-rank-1-{data}-{samples}", title, "epochs", epochs[shown], means)
    for figure, named in ((2, results.by_time), (3, results.fair)):
        for data, curves in named.items():
            times, values = along_seconds(curves)
            means = {name: each.mean(axis=0) for name, each in values.items()}
            title = f"Figure {figure}: {'DCG@5' if figure == 2 else 'disparity'}, {_name(results, data)}"
            drawn += lines(f"pl-rank-{figure}-{data}", title, "seconds of training", times, means)
    return drawn


def _name(results: EstimatorResults, data: str) -> str:
    return f"synthetic {SHORT[data]}" if results.is_synthetic[data] else SHORT[data]
