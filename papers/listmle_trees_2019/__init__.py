"""The boosted trees PLRank (2019): Tables 1, 3, 4, 5 and Figures 1 to 3, with the linear systems for comparison."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.report.curves import lines
from luce.report.svg import Picture
from papers.datasets import DATASETS, DatasetSpec, SyntheticShape
from papers.listmle_trees_2019.claims import claims
from papers.listmle_trees_2019.contexts import context_compression
from papers.listmle_trees_2019.published import TABLE_1, TABLE_3, TABLE_4
from papers.listmle_trees_2019.results import (
    MSLR,
    SHORT,
    YAHOO,
    SystemScores,
    TreeResults,
    TunedSystem,
    pool_folds,
    tables,
)
from papers.listmle_trees_2019.systems import fit, load_fold, round_seconds, synthetic_lists, tune
from papers.outcome import Outcome
from papers.plots import Line, log_lines
from papers.runner import Run

LINEAR = ("l-ListMLE", "CA")
IN_FIGURE_3 = ("PLRank(obj=1)", "LambdaMART", "McRank", "MART-2")
SEARCHED = ("PLRank(obj=1)", "LambdaMART")


class TreeExperiment(NamedTuple):
    """The size of the experiment.

    Attributes
    ----------
    shapes
        Of the synthetic data.
    trees
        The trees of each system; McRank has 2.5 times as many rounds.
    sweeps
        The maximum number of sweeps of coordinate ascent, from one start; 0 for the settings of the preset.
    counts
        The numbers of features in Figure 2.
    leaves, rates
        The grid of Table 5.
    rounds, repeats
        The rounds of a measurement for Table 4, and the number of measurements.
    context_lists
        The synthetic lists of Table 3.
    """

    shapes: Mapping[str, SyntheticShape]
    trees: int
    sweeps: int
    counts: tuple[int, ...]
    leaves: tuple[int, ...]
    rates: tuple[float, ...]
    rounds: int
    repeats: int
    context_lists: int


FULL = TreeExperiment(
    {YAHOO: SyntheticShape(2_000, 519, 500, 2_000, 23), MSLR: SyntheticShape(600, 136, 60, 600, 120)},
    trees=1_000,
    sweeps=0,
    counts=(10, 25, 50, 100, 200, 350, 519),
    leaves=tuple(range(100, 1_001, 100)),
    rates=(0.01, 0.04, 0.07, 0.1),
    rounds=50,
    repeats=5,
    context_lists=20_000,
)
QUICK = TreeExperiment(
    {YAHOO: SyntheticShape(250, 200, 100, 500, 23), MSLR: SyntheticShape(120, 136, 20, 200, 120)},
    trees=40,
    sweeps=4,
    counts=(5, 10, 20, 50, 100, 200),
    leaves=(10, 30, 100),
    rates=(0.04, 0.1),
    rounds=8,
    repeats=4,
    context_lists=4_000,
)


def run(run: Run) -> Outcome:
    """Reproduce every table and figure, on the public data where available and otherwise on synthetic data."""
    experiment = QUICK if run.quick else FULL
    datasets = {
        name: DatasetSpec.locate(run.data, name, shape, seed=run.seed, all_folds=True)
        for name, shape in experiment.shapes.items()
    }
    results = TreeResults(
        _main(datasets, experiment, run),
        _thirds(datasets[YAHOO], experiment, run),
        _features(datasets[YAHOO], experiment, run),
        _tuned(datasets[YAHOO], experiment, run),
        {name: _ratios(dataset, experiment) for name, dataset in datasets.items()},
        _seconds(datasets[MSLR], experiment, run),
        {name: dataset.shape is not None for name, dataset in datasets.items()},
    )
    data = f"Run on {'; and on '.join(map(_describe_data, datasets.values()))}. {experiment.trees:,} trees per system."
    return Outcome(data, tables(results), claims(results), lambda: _pictures(results))


def _describe_data(dataset: DatasetSpec) -> str:
    if (shape := dataset.shape) is None:
        return dataset.name
    return (
        f"{dataset}, scaled down: {shape.train:,} training lists of about {shape.documents} documents with "
        f"{shape.features} features, instead of {DATASETS[dataset.name].sizes['train'].lists:,}"
    )


def _points(run: Run, settings: Sequence[dict[str, Any]], span: tuple[float, float]) -> list[Any]:
    """Train in parallel processes on small synthetic data, else one after the other on all cores."""
    small = settings[0]["dataset"].shape is not None
    threads: dict[str, Any] = {"processes": None, "n_jobs": 1} if small else {"processes": 1, "n_jobs": run.n_jobs}
    compute = tune if "leaves" in settings[0] else fit
    return run.points(compute, settings, effort=_effort, span=span, **threads)


def _effort(point: Mapping[str, Any]) -> float:
    """Relative to trees of one output; McRank has more rounds, with five trees each."""
    return {"McRank": 12.0, "CA": 6.0, "l-ListMLE": 0.5}.get(point["system_name"], 1.0)


def _setting(system: str, fold: int, count: int, dataset: DatasetSpec, experiment: TreeExperiment) -> dict[str, Any]:
    size = {"trees": experiment.trees, "sweeps": experiment.sweeps, "count": count}
    return {"system_name": system, "fold": fold, "dataset": dataset, **size}


def _main(
    datasets: Mapping[str, DatasetSpec], experiment: TreeExperiment, run: Run
) -> dict[str, dict[str, SystemScores]]:
    """Table 1: all systems; the five folds of Microsoft's data."""
    found = {}
    for number, (name, dataset) in enumerate(datasets.items()):
        folds = DATASETS[name].folds if dataset.shape is None else 1
        settings = [_setting(system, fold, 0, dataset, experiment) for system in TABLE_1[name] for fold in range(folds)]
        results = _points(run, settings, (0.3 * number, 0.3 + 0.2 * number))
        each = [results[first : first + folds] for first in range(0, len(results), folds)]
        found[name] = {system: pool_folds(some) for system, some in zip(TABLE_1[name], each, strict=True)}
    return found


def _thirds(dataset: DatasetSpec, experiment: TreeExperiment, run: Run) -> dict[str, SystemScores]:
    """Figure 3: three random folds."""
    settings = [
        {**_setting(system, fold, 0, dataset, experiment), "thirds": True}
        for system in IN_FIGURE_3
        for fold in range(3)
    ]
    results = _points(run, settings, (0.5, 0.7))
    return {system: pool_folds(results[3 * i : 3 * i + 3]) for i, system in enumerate(IN_FIGURE_3)}


def _features(dataset: DatasetSpec, experiment: TreeExperiment, run: Run) -> dict[tuple[int, str], SystemScores]:
    """Figure 2: linear systems with fewer features."""
    cells = list(product(experiment.counts, LINEAR))
    settings = [_setting(system, 0, count, dataset, experiment) for count, system in cells]
    results = _points(run, settings, (0.7, 0.8))
    return {cell: pool_folds([result]) for cell, result in zip(cells, results, strict=True)}


def _tuned(dataset: DatasetSpec, experiment: TreeExperiment, run: Run) -> dict[str, TunedSystem]:
    """Table 5: the leaves and rate with the best validation score."""
    grid = list(product(experiment.leaves, experiment.rates))
    settings = [
        {"system_name": system, "leaves": leaves, "rate": rate, "trees": experiment.trees, "dataset": dataset}
        for system in SEARCHED
        for leaves, rate in grid
    ]
    results = _points(run, settings, (0.8, 0.95))
    found = {}
    for i, system in enumerate(SEARCHED):
        found[system] = best_of_grid(grid, results[i * len(grid) : (i + 1) * len(grid)])
    return found


def best_of_grid(grid: Sequence[tuple[int, float]], results: Sequence[Mapping[str, Any]]) -> TunedSystem:
    """The point of a grid of leaves and rates with the best validation score."""
    best = int(np.argmax([one["validation"] for one in results]))
    return TunedSystem(*grid[best], pool_folds([results[best]]))


def _ratios(dataset: DatasetSpec, experiment: TreeExperiment) -> dict[int, float]:
    """Table 3, on the training lists."""
    if dataset.shape is None:
        lists = load_fold(dataset, 0).train
    else:
        lists = synthetic_lists(
            dataset.name, experiment.context_lists, dataset.shape._replace(features=1), dataset.seed
        )
    return {orders: context_compression(lists, orders, seed=dataset.seed).ratio for orders in TABLE_3[dataset.name]}


def _seconds(dataset: DatasetSpec, experiment: TreeExperiment, run: Run) -> dict[str, Floats]:
    """Table 4, with the systems interleaved, so that other load on the machine affects all of them."""
    settings = [
        {"system_name": system, "rounds": experiment.rounds, "repeat": repeat, "dataset": dataset}
        for repeat in range(experiment.repeats)
        for system in TABLE_4
    ]
    results = run.points(round_seconds, settings, effort=_effort, span=(0.95, 1))
    found = {}
    for system in TABLE_4:
        own = [np.median(r) for s, r in zip(settings, results, strict=True) if s["system_name"] == system]
        found[system] = np.array(own) * (2_500 if system == "McRank" else 1_000)
    return found


def _pictures(results: TreeResults) -> list[Picture]:
    """Figures 1 to 3."""
    depths, drawn = np.arange(1.0, 11), []
    for data, systems in results.main.items():
        series = {name: systems[name].by_depth for name in LINEAR}
        title = f"Figure 1: NDCG@k, {'synthetic ' if results.is_synthetic[data] else ''}{SHORT[data]}"
        drawn += lines(f"listmle-trees-1-{data}", title, "k", depths, series)
    counts = sorted({count for count, _ in results.features})
    for metric in ("ndcg@1", "ndcg@10"):
        means = {
            name: Line(counts, [results.features[count, name].mean(metric) for count in counts]) for name in LINEAR
        }
        name = f"plrank-2-{metric.removeprefix('ndcg@')}"
        drawn.append(log_lines(name, f"Figure 2: {metric.upper()}", "features", means, log_values=False))
    series = {name: one.by_depth for name, one in results.thirds.items()}
    return [*drawn, *lines("listmle-trees-3", "Figure 3: NDCG@k, trees, three folds", "k", depths, series)]
