"""The boosted trees PLRank (2019): Tables 1, 3, 4, 5 and Figures 1 to 3, with the linear systems for comparison."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.report.curves import lines
from luce.report.formatting import count
from luce.report.svg import Picture
from papers.datasets import DATASETS, DatasetSpec, SyntheticShape, real_data
from papers.listmle_trees_2019.claims import claims
from papers.listmle_trees_2019.contexts import context_compression
from papers.listmle_trees_2019.published import TABLE_1, TABLE_3, TABLE_4
from papers.listmle_trees_2019.results import MSLR, YAHOO, Cell, SystemScores, TreeResults
from papers.listmle_trees_2019.systems import (
    LIGHTGBM,
    LINEAR,
    by_features,
    choose,
    load_fold,
    round_seconds,
    synthetic_lists,
    train,
)
from papers.listmle_trees_2019.tables import BY_ROUNDS, tables
from papers.outcome import Outcome
from papers.plots import Line, log_lines
from papers.runner import Run

IN_FIGURE_3 = ("PLRank(obj=1)", "LambdaMART", "McRank", "MART-2")
SEARCHED = ("PLRank(obj=1)", "LambdaMART")
"""The systems of Table 5, which the paper tunes."""

NOTES = """\
On data other than the paper's, every system is tuned with the same effort: trees with each pair of {leaves} leaves and
a learning rate of {rates}, l-ListMLE with a λ of {penalties}, each training with validation lists and at most
{most:,} rounds (McRank, as in the paper, 2.5 times as many, of one tree per grade), ended after {waited} without
improvement. The settings and the round that are best on the validation lists are tested, within {limits} rounds; a
limit that changes no round of the compared systems, because their trainings ended before it, is no further trial. Each
seed has lists of its own, for training, validation and test, so that the spread over seeds is that of all three. With
the paper's data in --data the paper's protocol is followed instead: 30 leaves, rate 0.1, 1,000 trees, and the grid of
section 4.5 for Table 5. Coordinate ascent is an exact line search, as in DirectRank, not the heuristic of Metzler and
Croft that the paper uses. l-ListMLE has at most 100 iterations on Yahoo and 1,000 on Microsoft, as in the paper.
"LightGBM lambdarank" is LightGBM's own objective, with gradients and leaf values of its own, in the same trees and
grid."""


class TreeExperiment(NamedTuple):
    """The size of the experiment.

    Attributes
    ----------
    shapes
        Of the synthetic data; their numbers of training lists are `sizes`.
    sizes
        The numbers of training lists of all systems, and then of those that are compared by rounds.
    seeds
        The number of seeds.
    limits
        The limits of rounds at which systems are tested; McRank has 2.5 times as many.
    judged
        Those of the limits that claims are judged at.
    early_stopping_rounds
        The rounds without improvement after which a training ends.
    leaves, rates, penalties
        The grid of trees, and that of the linear l-ListMLE.
    counts
        The numbers of features in Figure 2.
    rounds, repeats
        The rounds of a measurement for Table 4, and the number of measurements.
    context_lists
        The synthetic lists of Table 3.
    """

    shapes: Mapping[str, SyntheticShape]
    sizes: Mapping[str, tuple[int, ...]]
    seeds: int
    limits: tuple[int, ...]
    judged: tuple[int, ...]
    early_stopping_rounds: int
    leaves: tuple[int, ...]
    rates: tuple[float, ...]
    penalties: tuple[float, ...]
    counts: tuple[int, ...]
    rounds: int
    repeats: int
    context_lists: int


FULL = TreeExperiment(
    {YAHOO: SyntheticShape(0, 100, 150, 300, 23), MSLR: SyntheticShape(0, 68, 60, 200, 120)},
    {YAHOO: (60, 240, 720), MSLR: (24, 72, 216)},
    seeds=2,
    limits=(10, 20, 40, 100, 200, 400, 1_000),
    judged=(40, 200, 1_000),
    early_stopping_rounds=50,
    leaves=(10, 30),
    rates=(0.05, 0.1),
    penalties=(0.1, 1.0, 10.0, 100.0),
    counts=(5, 10, 20, 50, 100),
    rounds=30,
    repeats=5,
    context_lists=20_000,
)
QUICK = FULL._replace(
    shapes={YAHOO: SyntheticShape(0, 60, 60, 120, 23), MSLR: SyntheticShape(0, 40, 30, 80, 120)},
    sizes={YAHOO: (50, 100, 200), MSLR: (20, 40, 80)},
    seeds=2,
    limits=(10, 20, 40, 100, 200),
    judged=(40, 200),
    early_stopping_rounds=30,
    rates=(0.1,),
    penalties=(1.0, 100.0),
    counts=(5, 20, 60),
    rounds=8,
    repeats=4,
    context_lists=4_000,
)
PAPER_LEAVES, PAPER_RATES = tuple(range(100, 1_001, 100)), (0.01, 0.04, 0.07, 0.1)


class Unit(NamedTuple):
    """Lists to train on: their cell in the results, where they come from, the fold, and the systems."""

    cell: Cell
    dataset: DatasetSpec
    fold: int
    systems: Sequence[str]


def run(run: Run) -> Outcome:
    """Reproduce every table and figure, on the public data where available and otherwise on synthetic data."""
    experiment = QUICK if run.quick else FULL
    shapes = experiment.shapes
    datasets = {
        name: DatasetSpec.locate(run.data, name, shape, seed=run.seed, all_folds=True) for name, shape in shapes.items()
    }
    is_public = all(dataset.shape is None for dataset in datasets.values())
    units = [unit for name, dataset in datasets.items() for unit in _units(name, dataset, experiment)]
    real = [] if is_public else real_data(run.data)
    units += [unit for dataset in real for unit in _real_units(dataset)]
    scores = _scores(units, experiment, run)
    judged = experiment.judged[-1:] if is_public else experiment.judged
    results = TreeResults(
        scores,
        judged,
        _thirds(datasets[YAHOO], scores, experiment, run),
        _features(datasets[YAHOO], experiment, run),
        _tuned(datasets[YAHOO], scores, experiment, run),
        {name: _ratios(dataset, experiment) for name, dataset in datasets.items()},
        _seconds(datasets[MSLR], experiment, run),
        {name: label(dataset) for name, dataset in datasets.items()},
    )
    return Outcome(_describe(results), tables(results), claims(results), lambda: _pictures(results), _notes(experiment))


def _notes(experiment: TreeExperiment) -> str:
    """The protocol, with the grid that was searched."""

    def either(values: Sequence[float]) -> str:
        *first, last = (f"{value:,g}" for value in values)
        return f"{', '.join(first)} or {last}" if first else last

    grid = {name: either(getattr(experiment, name)) for name in ("leaves", "rates", "penalties")}
    limits, waited = either(experiment.judged), experiment.early_stopping_rounds
    return NOTES.format(**grid, limits=limits, waited=waited, most=experiment.limits[-1])


def label(dataset: DatasetSpec) -> str:
    """What the data are called in trials."""
    return dataset.name if dataset.shape is None else f"synthetic {dataset.name}"


def _describe(results: TreeResults) -> str:
    sizes = {data: sorted({cell.size for cell in results.scores if cell.data == data}) for data in results.datasets()}
    seeds = {data: len({cell.seed for cell in results.scores if cell.data == data}) for data in results.datasets()}
    each = (
        f"{data} ({', '.join(f'{size:,}' for size in sizes[data])} training lists, "
        f"{count(seeds[data], 'seed' if data.startswith('synthetic') else 'fold')})"
        for data in sizes
    )
    return f"Run on {'; '.join(each)}; at most {results.limits[-1]:,} rounds."


def _units(name: str, dataset: DatasetSpec, experiment: TreeExperiment) -> list[Unit]:
    """The folds of public data; synthetic lists of each size and seed, the largest for a few systems."""
    every, shape = [*TABLE_1[name], LIGHTGBM], dataset.shape
    if shape is None:
        size = DATASETS[name].sizes["train"].lists
        return [Unit(Cell(name, size, fold), dataset, fold, every) for fold in range(DATASETS[name].folds)]
    *sizes, largest = experiment.sizes[name]
    systems = {**dict.fromkeys(sizes, every), largest: [*BY_ROUNDS]}
    return [
        Unit(Cell(label(dataset), size, seed), DatasetSpec(name, None, shape._replace(train=size), seed), 0, own)
        for seed in range(dataset.seed, dataset.seed + experiment.seeds)
        for size, own in systems.items()
    ]


def _real_units(dataset: DatasetSpec) -> list[Unit]:
    folds = DATASETS[dataset.name].folds
    sizes = [dataset.read("train", fold + 1, sparse=False).n_lists for fold in range(folds)]
    systems = [*TABLE_1[MSLR], LIGHTGBM]
    return [Unit(Cell(dataset.name, min(sizes), fold), dataset, fold, systems) for fold in range(folds)]


def _grid(system: str, experiment: TreeExperiment) -> list[dict[str, Any]]:
    """Leaves and rates of trees, penalties of l-ListMLE; coordinate ascent has neither."""
    if system == "CA":
        return [{}]
    if system in LINEAR:
        return [{"reg_lambda": penalty} for penalty in experiment.penalties]
    return [{"num_leaves": n, "learning_rate": rate} for n, rate in product(experiment.leaves, experiment.rates)]


def _setting(system: str, dataset: DatasetSpec, fold: int, experiment: TreeExperiment, paper: bool) -> dict[str, Any]:
    """One point: on the paper's data with the paper's settings, else the whole grid."""
    return {
        "system_name": system,
        "dataset": dataset,
        "fold": fold,
        "grid": [{}] if paper else _grid(system, experiment),
        "limits": experiment.limits[-1:] if paper else experiment.limits,
        "early_stopping_rounds": 0 if paper else experiment.early_stopping_rounds,
    }


def _points(run: Run, compute: Any, settings: Sequence[dict[str, Any]], span: tuple[float, float]) -> list[Any]:
    """Train in parallel processes on small data, else one after the other on all cores."""
    small = all(each["dataset"].name not in TABLE_1 or each["dataset"].shape is not None for each in settings)
    threads: dict[str, Any] = {"processes": None, "n_jobs": 1} if small else {"processes": 1, "n_jobs": run.n_jobs}
    return run.points(compute, settings, effort=_effort, span=span, **threads)


def _effort(point: Mapping[str, Any]) -> float:
    """Relative to trees of one output on one list; McRank has more rounds, with five trees each."""
    shape = point["dataset"].shape
    own = {"McRank": 5.0, "CA": 0.6, "l-ListMLE": 0.1}.get(point.get("system_name", "CA"), 1.0)
    return own * (100 if shape is None else shape.train * shape.documents * shape.features / 3_000)


def _scores(
    units: Sequence[Unit], experiment: TreeExperiment, run: Run
) -> dict[Cell, dict[str, dict[int, SystemScores]]]:
    """Every system on all lists."""
    cells = [(unit, system) for unit in units for system in unit.systems]
    settings = [
        _setting(system, unit.dataset, unit.fold, experiment, paper=unit.cell.data in TABLE_1) for unit, system in cells
    ]
    found: dict[Cell, dict[str, dict[int, SystemScores]]] = {unit.cell: {} for unit in units}
    for (unit, system), result in zip(cells, _points(run, train, settings, (0, 0.85)), strict=True):
        found[unit.cell][system] = {int(limit): SystemScores.of(each) for limit, each in result.items()}
    return found


def _thirds(
    dataset: DatasetSpec, scores: Mapping[Cell, Mapping[str, Any]], experiment: TreeExperiment, run: Run
) -> dict[str, list[SystemScores]]:
    """Figure 3: three random folds of the public lists; of synthetic data, the seeds."""
    last = experiment.limits[-1]
    if dataset.shape is not None:
        own = {cell: each for cell, each in scores.items() if cell.data == label(dataset) and "MART-2" in each}
        largest = max(cell.size for cell in own)
        return {name: [each[name][last] for cell, each in own.items() if cell.size == largest] for name in IN_FIGURE_3}
    cells = list(product(IN_FIGURE_3, range(3)))
    settings = [{**_setting(name, dataset, fold, experiment, paper=True), "thirds": True} for name, fold in cells]
    found: dict[str, list[SystemScores]] = {name: [] for name in IN_FIGURE_3}
    for (name, _), result in zip(cells, _points(run, train, settings, (0.85, 0.9)), strict=True):
        found[name].append(SystemScores.of(result[str(last)]))
    return found


def _features(
    dataset: DatasetSpec, experiment: TreeExperiment, run: Run
) -> dict[Cell, dict[int, dict[str, dict[str, Floats]]]]:
    """Figure 2: linear systems with fewer features."""
    units = [unit for unit in _units(YAHOO, dataset, experiment) if "CA" in unit.systems]
    cells = list(product(units, experiment.counts))
    settings = [{"count": n, "dataset": unit.dataset, "validated": dataset.shape is not None} for unit, n in cells]
    found: dict[Cell, dict[int, dict[str, dict[str, Floats]]]] = {unit.cell: {} for unit in units}
    for (unit, n), result in zip(cells, _points(run, by_features, settings, (0.85, 0.9)), strict=True):
        found[unit.cell][n] = {
            name: {metric: np.array(values, dtype=np.float64) for metric, values in each.items()}
            for name, each in result.items()
        }
    return found


def _tuned(
    dataset: DatasetSpec, scores: Mapping[Cell, Mapping[str, Any]], experiment: TreeExperiment, run: Run
) -> dict[Cell, dict[str, SystemScores]]:
    """Table 5: of synthetic data the largest size; of the public lists every point of the paper's grid by itself."""
    last = experiment.limits[-1]
    own = {cell: each for cell, each in scores.items() if cell.data == label(dataset)}
    if dataset.shape is not None:
        largest = max(cell.size for cell in own)
        return {
            cell: {name: each[name][last] for name in BY_ROUNDS} for cell, each in own.items() if cell.size == largest
        }
    grid = [{"num_leaves": n, "learning_rate": rate} for n, rate in product(PAPER_LEAVES, PAPER_RATES)]
    shared = {
        "dataset": dataset,
        "fold": 0,
        "limits": (last,),
        "early_stopping_rounds": experiment.early_stopping_rounds,
    }
    settings = [{"system_name": name, "grid": [point], **shared} for name in SEARCHED for point in grid]
    results = _points(run, train, settings, (0.9, 0.95))
    found = {}
    for i, name in enumerate(SEARCHED):
        best = choose(results[i * len(grid) : (i + 1) * len(grid)])
        found[name] = SystemScores.of(best[str(last)])
    return {next(iter(own)): found}


def _ratios(dataset: DatasetSpec, experiment: TreeExperiment) -> dict[int, float]:
    """Table 3, on the training lists."""
    if dataset.shape is None:
        lists = load_fold(dataset, 0).train
    else:
        shape = dataset.shape._replace(features=1)
        lists = synthetic_lists(dataset.name, experiment.context_lists, shape, dataset.seed)
    return {orders: context_compression(lists, orders, seed=dataset.seed).ratio for orders in TABLE_3[dataset.name]}


def _seconds(dataset: DatasetSpec, experiment: TreeExperiment, run: Run) -> dict[str, Floats]:
    """Table 4, with the systems interleaved, so that other load on the machine affects all of them."""
    if dataset.shape is not None:
        dataset = dataset._replace(shape=dataset.shape._replace(train=experiment.sizes[MSLR][1]))
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
    """NDCG@10 by rounds, and Figures 1 to 3."""
    drawn = [] if results.is_public else [_by_rounds(results, data) for data in results.datasets()]
    depths = np.arange(1.0, 11)
    for data, own in results.names.items():
        cells = results.largest(own, *LINEAR)
        series = {name: np.mean([results.at(cell, name).by_depth for cell in cells], axis=0) for name in LINEAR}
        drawn += lines(f"listmle-trees-1-{data}", f"Figure 1: NDCG@k, {own}", "k", depths, series)
    size = max(cell.size for cell in results.features)
    found = [each for cell, each in results.features.items() if cell.size == size]
    counts = sorted(found[0])
    for metric in ("ndcg@1", "ndcg@10"):
        means = {
            name: Line(counts, [float(np.mean([np.nanmean(each[n][name][metric]) for each in found])) for n in counts])
            for name in LINEAR
        }
        name = f"listmle-trees-2-{metric.removeprefix('ndcg@')}"
        drawn.append(log_lines(name, f"Figure 2: {metric.upper()}", "features", means, log_values=False))
    series = {name: np.mean([one.by_depth for one in each], axis=0) for name, each in results.thirds.items()}
    return [*drawn, *lines("listmle-trees-3", "Figure 3: NDCG@k, trees", "k", depths, series)]


def _by_rounds(results: TreeResults, data: str) -> Picture:
    """The systems of Table 5 by the limit of rounds, at the largest size."""
    cells = results.largest(data, *BY_ROUNDS)
    limits = sorted(results.scores[cells[0]][BY_ROUNDS[0]])
    means = {
        name: Line(limits, [results.mean(cells, name, "ndcg@10", limit) for limit in limits]) for name in BY_ROUNDS
    }
    title = f"NDCG@10, {data}, {cells[0].size:,} training lists"
    return log_lines(f"listmle-trees-rounds-{data.replace(' ', '-')}", title, "rounds", means, log_values=False)
