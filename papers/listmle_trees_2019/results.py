"""Results of the 2019 paper, and the tables with our results beside the published ones."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from papers.listmle_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4, TABLE_5
from papers.outcome import ResultTable
from papers.paired_differences import Difference, difference

YAHOO, MSLR = TABLE_1
SHORT = {YAHOO: "Yahoo", MSLR: "Microsoft"}


class SystemScores(NamedTuple):
    """The metrics of every test list of all folds, NaN where a metric is undefined, and the mean NDCG by depth."""

    lists: Mapping[str, Floats]
    by_depth: Floats

    def mean(self, metric: str) -> float:
        return float(np.nanmean(self.lists[metric]))


class TunedSystem(NamedTuple):
    """The leaves and the learning rate chosen on the validation lists, and the resulting scores."""

    leaves: int
    rate: float
    scores: SystemScores


class TreeResults(NamedTuple):
    """All results.

    Attributes
    ----------
    main
        Table 1 and Figure 1, by dataset and system.
    thirds
        Figure 3, by system.
    features
        Figure 2, by number of features and system.
    tuned
        Table 5, by system.
    ratios
        Table 3, by dataset and number of orders.
    seconds
        Table 4: seconds of all rounds of a system, one value per repetition.
    is_synthetic
        Whether the data are synthetic, by dataset.
    """

    main: Mapping[str, Mapping[str, SystemScores]]
    thirds: Mapping[str, SystemScores]
    features: Mapping[tuple[int, str], SystemScores]
    tuned: Mapping[str, TunedSystem]
    ratios: Mapping[str, Mapping[int, float]]
    seconds: Mapping[str, Floats]
    is_synthetic: Mapping[str, bool]

    def difference(self, data: str, metric: str, one: str, other: str) -> Difference:
        """The difference between two systems on a dataset of Table 1, paired over test lists."""
        scores = self.main[data]
        return difference(scores[one].lists[metric], scores[other].lists[metric])

    def linear_difference(self, count: int, metric: str) -> Difference:
        """The difference between l-ListMLE and coordinate ascent with this number of features."""
        ours, theirs = (self.features[count, name].lists[metric] for name in ("l-ListMLE", "CA"))
        return difference(ours, theirs)


def pool_folds(folds: Sequence[Mapping[str, Any]]) -> SystemScores:
    """The scores of a system over all folds."""
    lists = {
        metric: np.array([value for one in folds for value in one["lists"][metric]], dtype=np.float64)
        for metric in METRICS
    }
    return SystemScores(lists, np.mean([one["by depth"] for one in folds], axis=0))


def tables(results: TreeResults) -> list[ResultTable]:
    return [
        *(_main_table(results, data) for data in results.main),
        _ratio_table(results),
        _time_table(results),
        _tuned_table(results),
        _feature_table(results),
        _thirds_table(results),
    ]


def data_name(results: TreeResults, data: str) -> str:
    return f"synthetic data in the shape of {data}" if results.is_synthetic[data] else data


def _main_table(results: TreeResults, data: str) -> ResultTable:
    rows: list[list[Any]] = [
        [name, *(cell for metric, paper in zip(METRICS, printed, strict=True) for cell in (one.mean(metric), paper))]
        for (name, printed), one in zip(TABLE_1[data].items(), results.main[data].values(), strict=True)
    ]
    columns = ["system", *(cell for metric in METRICS for cell in (f"{metric.upper()}", "paper"))]
    note = "Lists without a relevant document are excluded."
    return ResultTable(f"Table 1 on {data_name(results, data)}", columns, rows, note, form=".4f")


def _ratio_table(results: TreeResults) -> ResultTable:
    columns = [
        "orders",
        *(cell for data in TABLE_3 for cell in (SHORT[data], "equivalent orders", "paper", "equivalent orders")),
    ]
    rows = []
    for orders in TABLE_3[YAHOO]:
        cells = ((results.ratios[data][orders], TABLE_3[data][orders]) for data in TABLE_3)
        rows.append([str(orders), *(f"{x:{form}}" for ours, paper in cells for x, form in _pairs(ours, paper, orders))])
    note = "Ratio of distinct contexts to all contexts, top ten of each order of tied labels: "
    note += "; ".join(f"{SHORT[data]}: {data_name(results, data)}" for data in TABLE_3) + "."
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
        f"CPU time of all rounds (1,000; for McRank 2,500 of five trees), extrapolated from the median, one thread, "
        f"{data_name(results, MSLR)}."
    )
    return ResultTable("Table 4: running time", columns, rows, note)


def _tuned_table(results: TreeResults) -> ResultTable:
    rows: list[list[Any]] = []
    for name, (ndcg, err) in TABLE_5.items():
        one = results.tuned.get(name)
        ours = ["–"] * 4 if one is None else [*_formatted(one.scores), str(one.leaves), f"{one.rate:g}"]
        rows.append([name, ours[0], f"{ndcg:.3f}", ours[1], f"{err:.4f}", *ours[2:]])
    columns = ["system", "NDCG@10", "paper", "ERR", "paper", "leaves", "rate"]
    note = f"Leaves and rate chosen on the validation lists, {data_name(results, YAHOO)}. "
    note += "The published values of LambdaMART are those of other authors."
    return ResultTable("Table 5: tuned systems", columns, rows, note)


def _formatted(one: SystemScores) -> list[str]:
    return [f"{one.mean('ndcg@10'):.4f}", f"{one.mean('err'):.4f}"]


def _feature_table(results: TreeResults) -> ResultTable:
    rows = []
    for count in sorted({count for count, _ in results.features}):
        cells = []
        for metric in ("ndcg@1", "ndcg@10"):
            means = (results.features[count, name].mean(metric) for name in ("l-ListMLE", "CA"))
            cells += [*(f"{mean:.4f}" for mean in means), str(results.linear_difference(count, metric))]
        rows.append([str(count), *cells])
    names = [f"{name} {metric}" for metric in ("NDCG@1", "NDCG@10") for name in ("l-ListMLE", "CA", "difference")]
    note = f"Nested random subsets of the features; {data_name(results, YAHOO)}."
    return ResultTable(
        "Figure 2: l-ListMLE and coordinate ascent by number of features", ["features", *names], rows, note
    )


def _thirds_table(results: TreeResults) -> ResultTable:
    rows: list[list[Any]] = [
        [name, *(float(one.by_depth[k - 1]) for k in (1, 3, 5, 10))] for name, one in results.thirds.items()
    ]
    columns = ["system", *(f"NDCG@{k}" for k in (1, 3, 5, 10))]
    return ResultTable(
        f"Figure 3: three folds of the training lists, {data_name(results, YAHOO)}", columns, rows, form=".4f"
    )
