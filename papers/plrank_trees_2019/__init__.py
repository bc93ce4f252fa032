"""The boosted trees PLRank, 2019: Tables 1, 3, 4, 5 and Figures 1 to 3, with the linear systems beside them."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.report.curves import lines
from luce.report.svg import Picture
from papers.datasets import DATASETS, find_folds
from papers.outcome import Outcome
from papers.plots import Line, log_lines
from papers.plrank_trees_2019.claims import claims
from papers.plrank_trees_2019.contexts import context_compression
from papers.plrank_trees_2019.findings import MSLR, SHORT, YAHOO, Findings, Scored, Tuned, scored, tables
from papers.plrank_trees_2019.published import TABLE_1, TABLE_3, TABLE_4
from papers.plrank_trees_2019.systems import Shape, Source, fit, fold_of, made_lists, round_seconds, tune
from papers.runner import Run

LINEAR = ("l-ListMLE", "CA")
IN_FIGURE_3 = ("PLRank(obj=1)", "LambdaMART", "McRank", "MART-2")
SEARCHED = ("PLRank(obj=1)", "LambdaMART")


class Plan(NamedTuple):
    """How much is run.

    Attributes:
        shapes: of made data.
        trees: of each system, McRank with two and a half times as many rounds.
        sweeps: the most of coordinate ascent, from one start; 0: as the preset has it.
        counts: numbers of features in Figure 2.
        leaves, rates: the search of Table 5.
        rounds, repeats: timed for Table 4.
        orders: made lists to count contexts in.
    """

    shapes: Mapping[str, Shape]
    trees: int
    sweeps: int
    counts: tuple[int, ...]
    leaves: tuple[int, ...]
    rates: tuple[float, ...]
    rounds: int
    repeats: int
    orders: int


FULL = Plan(
    {YAHOO: Shape(519, 23, 2_000, 500, 2_000), MSLR: Shape(136, 120, 600, 60, 600)},
    trees=1_000,
    sweeps=0,
    counts=(10, 25, 50, 100, 200, 350, 519),
    leaves=tuple(range(100, 1_001, 100)),
    rates=(0.01, 0.04, 0.07, 0.1),
    rounds=50,
    repeats=5,
    orders=20_000,
)
QUICK = Plan(
    {YAHOO: Shape(200, 23, 250, 100, 500), MSLR: Shape(136, 120, 120, 20, 200)},
    trees=40,
    sweeps=4,
    counts=(5, 10, 20, 50, 100, 200),
    leaves=(10, 30, 100),
    rates=(0.04, 0.1),
    rounds=8,
    repeats=4,
    orders=4_000,
)


def run(run: Run) -> Outcome:
    """Every table and figure, on the public data where they are and on made data of their shape otherwise."""
    plan = QUICK if run.quick else FULL
    sources = {name: _source(name, plan, run) for name in (YAHOO, MSLR)}
    main = _main(sources, plan, run)
    found = Findings(
        main,
        _thirds(sources[YAHOO], plan, run),
        _features(sources[YAHOO], plan, run),
        _tuned(sources[YAHOO], plan, run),
        {name: _ratios(source, plan) for name, source in sources.items()},
        _seconds(sources[MSLR], plan, run),
        {name: source.folder is None for name, source in sources.items()},
    )
    return Outcome(_told(sources, plan), tables(found), claims(found), lambda: _pictures(found))


def _source(name: str, plan: Plan, run: Run) -> Source:
    there = find_folds(run.data, name)
    return Source(name, None if there is None else str(run.data), plan.shapes[name], run.seed)


def _told(sources: Mapping[str, Source], plan: Plan) -> str:
    words = []
    for name, source in sources.items():
        one, size = source.shape, DATASETS[name].sizes["train"]
        made = (
            f"made data in the shape of {name}, scaled down: {one.train:,} training lists of about {one.documents} "
            f"documents with {one.features} features, instead of {size.lists:,}"
        )
        words.append(made if source.folder is None else name)
    return f"Run on {'; and on '.join(words)}. {plan.trees:,} trees a system."


def _points(run: Run, settings: Sequence[dict[str, Any]], source: Source, span: tuple[float, float]) -> list[Any]:
    """Trainings: side by side where data are small, else one after the other on all cores."""
    made = source.folder is None
    threads: dict[str, Any] = {"processes": None, "n_jobs": 1} if made else {"processes": 1, "n_jobs": run.n_jobs}
    compute = tune if "leaves" in settings[0] else fit
    return run.points(compute, settings, effort=_effort, span=span, source=source, **threads)


def _effort(point: Mapping[str, Any]) -> float:
    """To a tree of one output; McRank grows five for each of its rounds, which are more."""
    return {"McRank": 12.0, "CA": 6.0, "l-ListMLE": 0.5}.get(point["system_name"], 1.0)


def _setting(system: str, fold: int, count: int, source: Source, plan: Plan) -> dict[str, Any]:
    own = {"system_name": system, "fold": fold, "trees": plan.trees, "sweeps": plan.sweeps, "count": count}
    return {**own, **source.settings()}


def _main(sources: Mapping[str, Source], plan: Plan, run: Run) -> dict[str, dict[str, Scored]]:
    """Table 1: all systems; the five folds of Microsoft's data."""
    found = {}
    for number, (name, source) in enumerate(sources.items()):
        folds = DATASETS[name].folds if source.folder is not None else 1
        settings = [_setting(system, fold, 0, source, plan) for system in TABLE_1[name] for fold in range(folds)]
        results = _points(run, settings, source, (0.3 * number, 0.3 + 0.2 * number))
        each = [results[first : first + folds] for first in range(0, len(results), folds)]
        found[name] = {system: scored(some) for system, some in zip(TABLE_1[name], each, strict=True)}
    return found


def _thirds(source: Source, plan: Plan, run: Run) -> dict[str, Scored]:
    """Figure 3: three random folds."""
    thirds = source._replace(thirds=True)
    settings = [_setting(system, fold, 0, thirds, plan) for system in IN_FIGURE_3 for fold in range(3)]
    results = _points(run, settings, thirds, (0.5, 0.7))
    return {system: scored(results[3 * i : 3 * i + 3]) for i, system in enumerate(IN_FIGURE_3)}


def _features(source: Source, plan: Plan, run: Run) -> dict[tuple[int, str], Scored]:
    """Figure 2: linear systems with fewer features."""
    cells = list(product(plan.counts, LINEAR))
    settings = [_setting(system, 0, count, source, plan) for count, system in cells]
    results = _points(run, settings, source, (0.7, 0.8))
    return {cell: scored([result]) for cell, result in zip(cells, results, strict=True)}


def _tuned(source: Source, plan: Plan, run: Run) -> dict[str, Tuned]:
    """Table 5: the best leaves and rate by the validation lists."""
    grid = list(product(plan.leaves, plan.rates))
    settings = [
        {"system_name": system, "leaves": leaves, "rate": rate, "trees": plan.trees, **source.settings()}
        for system in SEARCHED
        for leaves, rate in grid
    ]
    results = _points(run, settings, source, (0.8, 0.95))
    found = {}
    for i, system in enumerate(SEARCHED):
        found[system] = chosen(grid, results[i * len(grid) : (i + 1) * len(grid)])
    return found


def chosen(grid: Sequence[tuple[int, float]], results: Sequence[Mapping[str, Any]]) -> Tuned:
    """What the validation lists like best of a grid of leaves and rates."""
    best = int(np.argmax([one["validation"] for one in results]))
    return Tuned(*grid[best], scored([results[best]]))


def _ratios(source: Source, plan: Plan) -> dict[int, float]:
    """Table 3, on the training lists."""
    if source.folder is None:
        lists = made_lists(source.name, plan.orders, source.shape._replace(features=1), source.seed)
    else:
        lists = fold_of(source, 0).train
    return {orders: context_compression(lists, orders, seed=source.seed).ratio for orders in TABLE_3[source.name]}


def _seconds(source: Source, plan: Plan, run: Run) -> dict[str, Floats]:
    """Table 4: the systems in turn, so that what else the machine does falls on all."""
    settings = [
        {"system_name": system, "rounds": plan.rounds, "repeat": repeat, **source.settings()}
        for repeat in range(plan.repeats)
        for system in TABLE_4
    ]
    results = run.points(round_seconds, settings, effort=_effort, span=(0.95, 1), source=source)
    found = {}
    for system in TABLE_4:
        own = [np.median(r) for s, r in zip(settings, results, strict=True) if s["system_name"] == system]
        found[system] = np.array(own) * (2_500 if system == "McRank" else 1_000)
    return found


def _pictures(found: Findings) -> list[Picture]:
    """Figures 1 to 3."""
    depths, drawn = np.arange(1.0, 11), []
    for data, systems in found.main.items():
        series = {name: systems[name].by_depth for name in LINEAR}
        title = f"Figure 1: NDCG@k, {'made ' if found.made[data] else ''}{SHORT[data]}"
        drawn += lines(f"plrank-1-{data}", title, "k", depths, series)
    counts = sorted({count for count, _ in found.features})
    for metric in ("ndcg@1", "ndcg@10"):
        means = {name: Line(counts, [found.features[count, name].mean(metric) for count in counts]) for name in LINEAR}
        name = f"plrank-2-{metric.removeprefix('ndcg@')}"
        drawn.append(log_lines(name, f"Figure 2: {metric.upper()}", "features", means, log_values=False))
    series = {name: one.by_depth for name, one in found.thirds.items()}
    return [*drawn, *lines("plrank-3", "Figure 3: NDCG@k, trees, three folds", "k", depths, series)]
