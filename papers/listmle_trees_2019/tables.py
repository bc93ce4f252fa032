"""The tables of the 2019 paper with our results beside the published ones, and those by number of rounds."""

from typing import Any

import numpy as np

from luce.report.formatting import count
from papers.listmle_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4, TABLE_5
from papers.listmle_trees_2019.results import MSLR, SHORT, YAHOO, Pair, SystemScores, TreeResults
from papers.listmle_trees_2019.systems import LIGHTGBM, LINEAR
from papers.outcome import ResultTable

BY_ROUNDS = ("PLRank(obj=1)", "LambdaMART", LIGHTGBM)


def tables(results: TreeResults) -> list[ResultTable]:
    real = [data for data in results.datasets() if data not in results.names.values()]
    return [
        _rounds_table(results),
        *(_main_table(results, data) for data in TABLE_1),
        *([_real_table(results, real)] if real else []),
        _ratio_table(results),
        _time_table(results),
        _tuned_table(results),
        _feature_table(results),
        _thirds_table(results),
    ]


def _rounds_table(results: TreeResults) -> ResultTable:
    """NDCG@10 within each limit of rounds, and the difference from PLRank."""
    ours, rows = BY_ROUNDS[0], []
    for data in results.datasets():
        cells = results.largest(data, *BY_ROUNDS)
        for name in BY_ROUNDS:
            means = [results.mean(cells, name, "ndcg@10", limit) for limit in results.limits]
            best = int(np.median([results.at(cell, name).round for cell in cells]))
            pair = Pair("ndcg@10", ours, name)
            gaps = ["–" if name == ours else str(results.difference(data, pair, limit)) for limit in results.limits]
            rows.append([f"{data} ({cells[0].size:,})", name, *(f"{each:.4f}" for each in means), f"{best:,}", *gaps])
    limits = [f"{limit:,}" for limit in results.limits]
    columns = ["data (training lists)", "system", *limits, "best round", *(f"PLRank − it, {limit}" for limit in limits)]
    note = (
        "NDCG@10 on test lists. Leaves, learning rate and number of rounds, at most so many, are those with the best "
        "NDCG@10 on validation lists; ± is the standard error over seeds or folds, which have lists of their own, and "
        "over lists where there is one fold."
    )
    return ResultTable("NDCG@10 by the limit of rounds", columns, rows, note, on_page=True)


def _main_table(results: TreeResults, data: str) -> ResultTable:
    own = results.names[data]
    cells = results.largest(own, *TABLE_1[data])
    rows: list[list[Any]] = []
    for name, printed in TABLE_1[data].items():
        ours = [results.mean(cells, name, metric) for metric in METRICS]
        rows.append([name, *(cell for pair in zip(ours, printed, strict=True) for cell in pair)])
    columns = ["system", *(cell for metric in METRICS for cell in (metric.upper(), "paper"))]
    note = "Each system at its best round. Lists without a relevant document are excluded."
    return ResultTable(f"Table 1 on {own}, {cells[0].size:,} training lists", columns, rows, note, form=".4f")


def _real_table(results: TreeResults, real: list[str]) -> ResultTable:
    cells, metrics = {data: results.largest(data, "MART-2") for data in real}, ("ndcg@10", "err")
    rows: list[list[Any]] = [
        [name, *(results.mean(own, name, metric) for own in cells.values() for metric in metrics)]
        for name in (*TABLE_1[MSLR], LIGHTGBM)
    ]
    columns = ["system", *(f"{data} {metric.upper()}" for data in real for metric in metrics)]
    folds = "; ".join(f"{data}: {count(len(own), 'fold')}" for data, own in cells.items())
    note = f"Each system at its best round. {folds}."
    return ResultTable("The systems on other real data", columns, rows, note, form=".4f")


def _ratio_table(results: TreeResults) -> ResultTable:
    columns = [
        "orders",
        *(cell for data in TABLE_3 for cell in (SHORT[data], "equivalent orders", "paper", "equivalent orders")),
    ]
    rows = []
    for orders in TABLE_3[YAHOO]:
        cells = ((results.ratios[data][orders], TABLE_3[data][orders]) for data in TABLE_3)
        rows.append([str(orders), *(f"{x:{form}}" for ours, paper in cells for x, form in _pairs(ours, paper, orders))])
    note = "Ratio of distinct contexts to all contexts, top ten of each order of tied labels, counted exactly: "
    note += "; ".join(f"{SHORT[data]}: {results.names[data]}" for data in TABLE_3) + "."
    return ResultTable("Table 3: compression by sharing contexts between orders", columns, rows, note)


def _pairs(ours: float, paper: float, orders: int) -> list[tuple[float, str]]:
    return [(ours, ".4f"), (ours * orders, ".2f"), (paper, ".4f"), (paper * orders, ".2f")]


def _time_table(results: TreeResults) -> ResultTable:
    base, rows = np.median(results.seconds["MART-2"]), []
    for name, hours in TABLE_4.items():
        ours = float(np.median(results.seconds[name]))
        paper = f"{hours:g}" if name != "McRank" else "250+"
        rows.append([name, f"{ours:.1f}", f"{ours / base:.2f}", paper, f"{hours / TABLE_4['MART-2']:.2f}"])
    columns = ["system", "seconds", "to MART-2", "paper, hours", "to MART"]
    note = (
        "CPU time of one thread for 1,000 rounds (McRank: 2,500 of five trees), extrapolated from the median round of "
        f"short trainings on {results.names[MSLR]}: our code and machine, so only the ratios compare with the paper's."
    )
    return ResultTable("Table 4: running time", columns, rows, note)


def _tuned_table(results: TreeResults) -> ResultTable:
    rows: list[list[Any]] = []
    for name in (*TABLE_5, LIGHTGBM):
        found = [each[name] for each in results.tuned.values() if name in each]
        ours = [float(np.mean([one.mean(metric) for one in found])) if found else None for metric in ("ndcg@10", "err")]
        params = [_chosen(found, param) for param in ("num_leaves", "learning_rate")]
        ndcg, err = TABLE_5.get(name, (None, None))
        rows.append([name, ours[0], ndcg, ours[1], err, *params])
    columns = ["system", "NDCG@10", "paper", "ERR", "paper", "leaves", "rate"]
    cell = next(iter(results.tuned))
    note = (
        f"Leaves, rate and rounds chosen on the validation lists of each seed, {cell.data}, {cell.size:,} training "
        "lists. The published values of LambdaMART are those of other authors; Aug70 has more training data."
    )
    return ResultTable("Table 5: tuned systems", columns, rows, note, form=".4f", on_page=True)


def _chosen(found: list[SystemScores], name: str) -> str:
    return ", ".join(f"{one.params.get(name, 0):g}" for one in found) or "–"


def _feature_table(results: TreeResults) -> ResultTable:
    data = next(iter(results.features)).data
    size = max(cell.size for cell in results.features)
    found = [each for cell, each in results.features.items() if cell.size == size]
    rows = []
    for n in sorted(found[0]):
        cells = []
        for metric in ("ndcg@1", "ndcg@10"):
            means = (np.mean([np.nanmean(each[n][name][metric]) for each in found]) for name in LINEAR)
            cells += [*(f"{mean:.4f}" for mean in means), str(results.linear_difference(data, n, metric))]
        rows.append([str(n), *cells])
    names = [f"{name} {metric}" for metric in ("NDCG@1", "NDCG@10") for name in (*LINEAR, "difference")]
    note = f"Nested random subsets of the features, {data}, {size:,} training lists, {len(found)} subsets of each size."
    title = "Figure 2: l-ListMLE and coordinate ascent by number of features"
    return ResultTable(title, ["features", *names], rows, note)


def _thirds_table(results: TreeResults) -> ResultTable:
    rows: list[list[Any]] = [
        [name, *(float(np.mean([one.by_depth[k - 1] for one in found])) for k in (1, 3, 5, 10))]
        for name, found in results.thirds.items()
    ]
    columns = ["system", *(f"NDCG@{k}" for k in (1, 3, 5, 10))]
    what = "three folds of the training lists" if results.is_public else "the mean over seeds"
    return ResultTable(f"Figure 3: {what}, {results.names[YAHOO]}", columns, rows, form=".4f")
