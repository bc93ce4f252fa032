"""The gradient estimators PL-Rank, 2021: Tables 1 and 2 and Figures 1 to 3, policies trained by each estimate."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.report.curves import lines
from luce.report.svg import Picture
from papers.datasets import DATASETS, find
from papers.outcome import Outcome
from papers.pl_rank_2021.findings import (
    BOUND,
    POINTS,
    SHORT,
    TRAINED,
    Curves,
    Findings,
    along_epochs,
    along_seconds,
    claims,
    tables,
)
from papers.pl_rank_2021.learning import (
    GROWING,
    METHODS,
    Curve,
    Shape,
    Source,
    learn,
    list_seconds,
    same_estimate,
)
from papers.runner import Run

FAIR = tuple(method for method in TRAINED if method != BOUND)
ENDLESS = 1_000_000


class Plan(NamedTuple):
    """How much is run.

    Attributes:
        shapes: of made data.
        seeds: trainings of each method.
        samples, epochs: of Figure 1. pairs: the most samples that LambdaLoss is trained with there, all pairs of each.
        seconds, fair_seconds: of training in Figure 2 and in Figure 3.
        timed, steps, repeats: numbers of samples of Table 1, steps of a measurement, measurements.
    """

    shapes: Mapping[str, Shape]
    seeds: int
    samples: tuple[int, ...]
    epochs: int
    pairs: int
    seconds: float
    fair_seconds: float
    timed: tuple[int, ...]
    steps: int
    repeats: int


FULL = Plan(
    {"yahoo-set1": Shape(700, 24, 400), "mslr-web30k": Shape(136, 125, 200), "istella": Shape(220, 315, 100)},
    seeds=20,
    samples=(10, 100, 1_000),
    epochs=60,
    pairs=1_000,
    seconds=60.0,
    fair_seconds=60.0,
    timed=(1, 10, 100, 1_000),
    steps=40,
    repeats=5,
)
QUICK = Plan(
    {"yahoo-set1": Shape(200, 24, 100), "mslr-web30k": Shape(136, 125, 80), "istella": Shape(220, 315, 60)},
    seeds=4,
    samples=(10, 100),
    epochs=16,
    pairs=10,
    seconds=1.5,
    fair_seconds=2.5,
    timed=(1, 10, 100),
    steps=12,
    repeats=4,
)


def run(run: Run) -> Outcome:
    """Trainings over a pool of processes, then the times of Table 1, one after the other."""
    plan = QUICK if run.quick else FULL
    sources = {name: _source(name, plan, run) for name in plan.shapes}
    by_epoch: dict[str, dict[int, Curves]] = {}
    by_time: dict[str, Curves] = {}
    fair: dict[str, Curves] = {}
    for number, (name, source) in enumerate(sources.items()):
        curves = _trained(source, plan, run, (0.29 * number, 0.29 * (number + 1)))
        by_epoch[name] = {samples: curves[samples, False] for samples in plan.samples}
        by_time[name], fair[name] = curves[GROWING, False], curves[GROWING, True]
    found = Findings(
        by_epoch,
        by_time,
        fair,
        _timed(sources, plan, run),
        {name: same_estimate(source) for name, source in sources.items()},
        {name: source.folder is None for name, source in sources.items()},
    )
    return Outcome(_told(sources, plan, run), tables(found), claims(found), lambda: _pictures(found))


def _source(name: str, plan: Plan, run: Run) -> Source:
    there = find(run.data, name)
    return Source(name, None if there is None else str(run.data), plan.shapes[name])


def _told(sources: Mapping[str, Source], plan: Plan, run: Run) -> str:
    words = []
    for name, source in sources.items():
        one, lists = source.shape, DATASETS[name].sizes["train"].lists
        made = (
            f"made data in the shape of {name}, scaled down: {one.lists:,} lists of about {one.documents} documents "
            f"with {one.features} features, instead of {lists:,}"
        )
        words.append(made if source.folder is None else name)
    return f"Run on {'; on '.join(words)}. {plan.seeds} seeds from {run.seed}."


def _trained(
    source: Source, plan: Plan, run: Run, span: tuple[float, float]
) -> dict[tuple[int | str, bool], dict[str, list[Curve]]]:
    """Curves by samples and by whether disparity was the goal."""
    figures: list[tuple[int | str, bool, int, float]] = [(n, False, plan.epochs, 0.0) for n in plan.samples]
    figures += [(GROWING, False, ENDLESS, plan.seconds), (GROWING, True, ENDLESS, plan.fair_seconds)]
    settings: list[dict[str, Any]] = [
        {"method": method, "samples": samples, "fair": fair, "seed": seed, "epochs": epochs, "seconds": seconds}
        | source.settings()
        for samples, fair, epochs, seconds in figures
        for method in (FAIR if fair or (samples != GROWING and int(samples) > plan.pairs) else TRAINED)
        for seed in range(run.seed, run.seed + plan.seeds)
    ]
    results = run.points(learn, settings, effort=_effort, span=span, processes=None, source=source)
    found: dict[tuple[int | str, bool], dict[str, list[Curve]]] = {}
    for point, result in zip(settings, results, strict=True):
        curves = found.setdefault((point["samples"], point["fair"]), {})
        curves.setdefault(point["method"], []).append(Curve(*result))
    return found


def _effort(point: Mapping[str, Any]) -> float:
    """LambdaLoss looks at all pairs of every sample."""
    return 3.0 if point["method"] == BOUND and not point["seconds"] else 1.0


def _timed(sources: Mapping[str, Source], plan: Plan, run: Run) -> dict[str, dict[tuple[str, int], Any]]:
    """Table 1: the methods in turn, so that what else the machine does falls on all."""
    found: dict[str, dict[tuple[str, int], Any]] = {}
    for number, (name, source) in enumerate(sources.items()):
        settings: list[dict[str, Any]] = [
            {"method": method, "samples": samples, "repeat": repeat, "steps": plan.steps} | source.settings()
            for repeat, samples, method in product(range(plan.repeats), plan.timed, METHODS)
        ]
        span = (0.87 + 0.04 * number, 0.91 + 0.04 * number)
        results = run.points(list_seconds, settings, effort=lambda one: 1 + one["samples"], span=span, source=source)
        cells: dict[tuple[str, int], list[float]] = {}
        for point, result in zip(settings, results, strict=True):
            cells.setdefault((point["method"], point["samples"]), []).append(result)
        found[name] = {cell: np.array(values) for cell, values in cells.items()}
    return found


def _pictures(found: Findings) -> list[Picture]:
    """Figures 1 to 3, the means over seeds."""
    drawn = []
    for data, figures in found.by_epoch.items():
        for samples, curves in figures.items():
            epochs, values = along_epochs(curves)
            some = np.unique(np.linspace(0, len(epochs) - 1, POINTS).astype(int))
            means = {name: each.mean(axis=0)[some] for name, each in values.items()}
            title = f"Figure 1: DCG@5, N = {samples:,}, {_name(found, data)}"
            drawn += lines(f"pl-rank-1-{data}-{samples}", title, "epochs", epochs[some], means)
    for figure, named in ((2, found.by_time), (3, found.fair)):
        for data, curves in named.items():
            times, values = along_seconds(curves)
            means = {name: each.mean(axis=0) for name, each in values.items()}
            title = f"Figure {figure}: {'DCG@5' if figure == 2 else 'disparity'}, {_name(found, data)}"
            drawn += lines(f"pl-rank-{figure}-{data}", title, "seconds of training", times, means)
    return drawn


def _name(found: Findings, data: str) -> str:
    return f"made {SHORT[data]}" if found.made[data] else SHORT[data]
