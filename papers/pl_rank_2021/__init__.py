"""The gradient estimators PL-Rank (2021): Tables 1 and 2 and Figures 1 to 3, policies trained with each estimator."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from papers.datasets import DatasetSpec, SyntheticShape, real_data
from papers.outcome import Outcome
from papers.pl_rank_2021.claims import claims
from papers.pl_rank_2021.learning import (
    INCREASING,
    LAMBDALOSS,
    METHODS,
    NORMALIZED,
    PL_RANK_1,
    PL_RANK_2,
    POLICY_GRADIENT,
    TURNED,
    WHOLE,
    LearningCurve,
    gradient_difference,
    learn,
    step_seconds,
)
from papers.pl_rank_2021.results import Curves, EstimatorResults, Group, Setting
from papers.pl_rank_2021.tables import pictures, tables
from papers.runner import Run

ESTIMATED = (PL_RANK_2, PL_RANK_1, POLICY_GRADIENT)
FAIR = (*ESTIMATED, LAMBDALOSS)
ALL = (*ESTIMATED, LAMBDALOSS, TURNED, WHOLE, NORMALIZED)

NOTES = (
    "Every method trains the network of the paper (two layers of 32 sigmoid units, plain gradient descent, one list a "
    "step, features standardized) to maximize DCG@5, without normalization. On synthetic data and small real sets "
    "the learning rate of each method is the one of a common grid with the best mean on validation lists, for each "
    "dataset, size and length of training, by epochs and by time. "
    "With the paper's data it is 0.01, as printed (the authors' code of 2021 has 0.001 for relevance and 0.01 for "
    "fairness), and training takes the minutes of the paper. LambdaLoss is the DCG@5 form of their code of 2022, "
    "over sampled rankings; “turned sign” is that of their code of 2021, where pairs that are in order are pushed "
    "most. LambdaLoss for exposure takes the derivatives of the fairness metric in the place of the "
    "relevances, as that code does; the paper does not say. Disparity is divided by its value under random rankings, "
    "so that the grid of learning rates suits it. Times are CPU seconds on one thread."
)


class EstimatorExperiment(NamedTuple):
    """The size of the experiment on synthetic and small real data.

    Attributes
    ----------
    shapes, sizes
        Of the synthetic data: features and documents, and numbers of training lists.
    real_sizes
        Numbers of training lists of the small real sets.
    rates, seeds, samples, epochs
        Of Figure 1: learning rates, number of seeds, numbers of samples, and the epochs at which it is evaluated.
    seconds, fair_seconds
        The training times of Figure 2 and of Figure 3 at which they are evaluated.
    timed_samples, steps, repeats
        The numbers of samples in Table 1, the steps of a measurement, and the number of measurements.
    """

    shapes: Mapping[str, SyntheticShape]
    sizes: Mapping[str, tuple[int, ...]]
    real_sizes: Mapping[str, tuple[int, ...]]
    rates: tuple[float, ...]
    seeds: int
    samples: tuple[int, ...]
    epochs: tuple[float, ...]
    seconds: tuple[float, ...]
    fair_seconds: tuple[float, ...]
    timed_samples: tuple[int, ...]
    steps: int
    repeats: int


FULL = EstimatorExperiment(
    {
        "yahoo-set1": SyntheticShape(160, 700, 100, 200, 24),
        "mslr-web30k": SyntheticShape(100, 136, 60, 120, 125),
        "istella": SyntheticShape(48, 220, 40, 80, 315),
    },
    {"yahoo-set1": (40, 160), "mslr-web30k": (25, 100), "istella": (12, 48)},
    {"mq2008": (40, 160), "mslr-sample": (17, 34)},
    rates=(0.01, 0.03, 0.1, 0.3),
    seeds=2,
    samples=(10, 100),
    epochs=(4, 8, 16),
    seconds=(0.5, 1.0, 2.0),
    fair_seconds=(0.5, 1.0),
    timed_samples=(1, 10, 100, 1_000),
    steps=20,
    repeats=4,
)
QUICK = FULL._replace(
    shapes={name: shape._replace(validation=30, test=60) for name, shape in FULL.shapes.items()},
    sizes={"yahoo-set1": (25, 75), "mslr-web30k": (15, 40), "istella": (10, 20)},
    real_sizes={"mq2008": (20, 60), "mslr-sample": (10, 30)},
    rates=(0.01, 0.1),
    epochs=(3, 10),
    seconds=(0.25, 1.0),
    fair_seconds=(0.25, 1.0),
    timed_samples=(1, 10, 100),
    steps=6,
    repeats=3,
)
PAPER: dict[str, Any] = {
    "sizes": (0,),
    "rates": (0.01,),
    "seeds": 20,
    "samples": (10, 100, 1_000),
    "epochs": (5, 10, 20, 40),
}
MINUTES = {"yahoo-set1": (100, 60), "mslr-web30k": (120, 200), "istella": (200, 100)}
"""Of Table 2, and of Figure 3 in the authors' code."""


def run(run: Run) -> Outcome:
    """Train in a pool of processes, then measure the times of Table 1 one after the other."""
    experiment = QUICK if run.quick else FULL
    settings = dict(_settings(run, experiment))
    by_epoch = _train(run, (0.0, 0.6), _by_epoch(settings, run.seed))
    by_time = _train(run, (0.6, 0.75), _by_time(settings, run.seed))
    fair = _train(run, (0.75, 0.9), _fair(settings, run.seed))
    compared = [name for name in experiment.shapes if name in settings]
    results = EstimatorResults(
        settings,
        {**by_epoch, **by_time, **fair},
        seconds={name: _step_times(settings[name].dataset, experiment, run) for name in compared},
        gradient_differences={name: gradient_difference(settings[name].dataset) for name in compared},
    )
    data = f"Run on {'; on '.join(map(_describe, settings.values()))}. Seeds from {run.seed}."
    return Outcome(data, tables(results), claims(results), lambda: pictures(results), NOTES)


def _settings(run: Run, experiment: EstimatorExperiment) -> Iterable[tuple[str, Setting]]:
    """What is run on which data."""
    given = experiment._asdict()
    common = {name: given[name] for name in ("rates", "seeds", "samples", "epochs", "seconds", "fair_seconds")}
    for name, shape in experiment.shapes.items():
        dataset = DatasetSpec.locate(run.data, name, shape)
        if dataset.shape is None:
            seconds, fair_seconds = (tuple(60.0 * m * part for part in (0.25, 0.5, 1.0)) for m in MINUTES[name])
            yield name, Setting(dataset, **PAPER, seconds=seconds, fair_seconds=fair_seconds)
        else:
            yield name, Setting(dataset, experiment.sizes[name], **common)
    for dataset in real_data(run.data):
        if dataset.name in experiment.real_sizes:
            sizes = experiment.real_sizes[dataset.name]
            yield dataset.name, Setting(dataset, sizes, **common | {"samples": experiment.samples[:1]})


def _describe(setting: Setting) -> str:
    sizes = " and ".join("all" if size == 0 else f"{size:,}" for size in setting.sizes)
    return f"{setting.dataset} ({sizes} training lists, {setting.seeds} seeds)"


def _points(settings: Mapping[str, Setting], first: int, **fixed: Any) -> Iterable[dict[str, Any]]:
    for setting in settings.values():
        for size, seed in product(setting.sizes, range(first, first + setting.seeds)):
            yield {"dataset": setting.dataset, "size": size, "seed": seed, **fixed}


def _by_epoch(settings: Mapping[str, Setting], seed: int) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    for name, setting in settings.items():
        for samples in setting.samples:
            few = samples == setting.samples[0]
            methods = ALL if few else FAIR if setting.is_papers else ESTIMATED
            fixed = {"samples": samples, "fair": False, "unit": "epochs", "checkpoints": setting.epochs}
            for method, rate in product(methods, setting.rates):
                points += _points({name: setting}, seed, method=method, rate=rate, **fixed)
    return points


def _by_time(settings: Mapping[str, Setting], seed: int) -> list[dict[str, Any]]:
    """In the same time a method makes few epochs or many, so its learning rate is chosen for that time."""
    points: list[dict[str, Any]] = []
    for name, setting in settings.items():
        fixed = {"samples": INCREASING, "fair": False, "unit": "seconds", "checkpoints": setting.seconds}
        for method, rate in product(ALL, setting.rates):
            points += _points({name: setting}, seed, method=method, rate=rate, **fixed)
    return points


def _fair(settings: Mapping[str, Setting], seed: int) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    for name, setting in settings.items():
        fixed = {"samples": INCREASING, "fair": True, "unit": "seconds", "checkpoints": setting.fair_seconds}
        for method, rate in product(FAIR, setting.rates):
            points += _points({name: setting}, seed, method=method, rate=rate, **fixed)
    return points


def _train(run: Run, span: tuple[float, float], points: list[dict[str, Any]]) -> Curves:
    """Learning curves by what was trained, learning rate and seed."""
    found: Curves = {}
    points.sort(key=lambda point: (point["dataset"].name, point["size"], point["seed"]))  # data are loaded once
    for point, result in zip(points, run.points(learn, points, effort=_effort, span=span, processes=None), strict=True):
        named = point["dataset"].name, point["size"], point["method"], point["samples"], point["fair"]
        found.setdefault(Group(*named), {}).setdefault(point["rate"], {})[point["seed"]] = LearningCurve(*result)
    return found


def _effort(point: Mapping[str, Any]) -> float:
    """LambdaLoss goes through all pairs of every sample."""
    if point["unit"] == "seconds":
        return float(point["checkpoints"][-1])
    return 0.001 * point["checkpoints"][-1] * (point["size"] or 20_000) * (1.0 if point["method"] in ESTIMATED else 2.5)


def _step_times(dataset: DatasetSpec, experiment: EstimatorExperiment, run: Run) -> dict[tuple[str, int, bool], Any]:
    """Table 1, with the methods interleaved, so that other load on the machine affects all of them."""
    ways = product(range(experiment.repeats), experiment.timed_samples, METHODS, (False, True))
    points: list[dict[str, Any]] = [
        {"method": method, "samples": samples, "published": published, "repeat": repeat, "steps": experiment.steps}
        | {"dataset": dataset}
        for repeat, samples, method, published in ways
    ]
    results = run.points(step_seconds, points, effort=lambda one: 10 + one["samples"], span=(0.9, 1.0))
    cells: dict[tuple[str, int, bool], list[float]] = {}
    for point, result in zip(points, results, strict=True):
        cells.setdefault((point["method"], point["samples"], point["published"]), []).append(result)
    return {cell: np.array(values) for cell, values in cells.items()}
