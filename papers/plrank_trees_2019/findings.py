"""What the trainings of the 2019 paper gave, and the tables of ours beside theirs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from papers.outcome import Table
from papers.paired_differences import Difference, difference
from papers.plrank_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4, TABLE_5

YAHOO, MSLR = TABLE_1
SHORT = {YAHOO: "Yahoo", MSLR: "Microsoft"}


class Scored(NamedTuple):
    """Of a system: metrics of every test list of all folds, NaN where there is nothing to measure; NDCG by depth."""

    lists: Mapping[str, Floats]
    by_depth: Floats

    def mean(self, metric: str) -> float:
        return float(np.nanmean(self.lists[metric]))


class Tuned(NamedTuple):
    """The leaves and the rate that the validation lists chose, and what they gave."""

    leaves: int
    rate: float
    scored: Scored


class Findings(NamedTuple):
    """All that was measured.

    Attributes:
        main: Table 1 and Figure 1, by data set and system.
        thirds: Figure 3, by system.
        features: Figure 2, by number of features and system.
        tuned: Table 5, by system.
        ratios: Table 3, by data set and number of orders.
        seconds: Table 4: of all rounds of a system, one figure a repetition.
        made: whether no data set was at hand.
    """

    main: Mapping[str, Mapping[str, Scored]]
    thirds: Mapping[str, Scored]
    features: Mapping[tuple[int, str], Scored]
    tuned: Mapping[str, Tuned]
    ratios: Mapping[str, Mapping[int, float]]
    seconds: Mapping[str, Floats]
    made: Mapping[str, bool]

    def apart(self, data: str, metric: str, one: str, other: str) -> Difference:
        """What a system has more than another on a data set of Table 1, paired over test lists."""
        scored = self.main[data]
        return difference(scored[one].lists[metric], scored[other].lists[metric])

    def fewer(self, count: int, metric: str) -> Difference:
        """What l-ListMLE has more than coordinate ascent with so many features."""
        ours, theirs = (self.features[count, name].lists[metric] for name in ("l-ListMLE", "CA"))
        return difference(ours, theirs)


def scored(results: Sequence[Mapping[str, Any]]) -> Scored:
    """The folds of a system put together."""
    lists = {
        metric: np.array([value for one in results for value in one["lists"][metric]], dtype=np.float64)
        for metric in METRICS
    }
    return Scored(lists, np.mean([one["by depth"] for one in results], axis=0))


def tables(found: Findings) -> list[Table]:
    return [
        *(_main_table(found, data) for data in found.main),
        _ratio_table(found),
        _time_table(found),
        _tuned_table(found),
        _feature_table(found),
        _thirds_table(found),
    ]


def where(found: Findings, data: str) -> str:
    return f"made data in the shape of {data}" if found.made[data] else data


def _main_table(found: Findings, data: str) -> Table:
    rows: list[list[Any]] = [
        [name, *(cell for metric, paper in zip(METRICS, printed, strict=True) for cell in (one.mean(metric), paper))]
        for (name, printed), one in zip(TABLE_1[data].items(), found.main[data].values(), strict=True)
    ]
    columns = ["system", *(cell for metric in METRICS for cell in (f"{metric.upper()}", "paper"))]
    note = "Lists without a relevant document are left out."
    return Table(f"Table 1 on {where(found, data)}", columns, rows, note, form=".4f")


def _ratio_table(found: Findings) -> Table:
    columns = ["orders", *(cell for data in TABLE_3 for cell in (SHORT[data], "equal to orders", "paper", "paper's"))]
    rows = []
    for orders in TABLE_3[YAHOO]:
        cells = ((found.ratios[data][orders], TABLE_3[data][orders]) for data in TABLE_3)
        rows.append([str(orders), *(f"{x:{form}}" for ours, paper in cells for x, form in _pairs(ours, paper, orders))])
    note = "Contexts stored of contexts in all, top ten of each order of equal labels: "
    note += "; ".join(f"{SHORT[data]}: {where(found, data)}" for data in TABLE_3) + "."
    return Table("Table 3: how far contexts that orders share are stored once", columns, rows, note)


def _pairs(ours: float, paper: float, orders: int) -> list[tuple[float, str]]:
    return [(ours, ".4f"), (ours * orders, ".2f"), (paper, ".4f"), (paper * orders, ".2f")]


def _time_table(found: Findings) -> Table:
    base, rows = np.median(found.seconds["MART-2"]), []
    for name, hours in TABLE_4.items():
        ours = float(np.median(found.seconds[name]))
        paper = f"{hours:g}" if name != "McRank" else "250+"
        rows.append([name, f"{ours:.1f}", f"{ours / base:.2f}", paper, f"{hours / TABLE_4['MART-2']:.2f}"])
    columns = ["system", "seconds", "to MART-2", "paper, hours", "to MART"]
    note = (
        f"Processor time of all rounds (1,000; McRank's 2,500 of five trees) from the medians of a few, one thread, "
        f"{where(found, MSLR)}."
    )
    return Table("Table 4: running time", columns, rows, note)


def _tuned_table(found: Findings) -> Table:
    rows: list[list[Any]] = []
    for name, (ndcg, err) in TABLE_5.items():
        one = found.tuned.get(name)
        ours = ["–"] * 4 if one is None else [*_figures(one.scored), str(one.leaves), f"{one.rate:g}"]
        rows.append([name, ours[0], f"{ndcg:.3f}", ours[1], f"{err:.4f}", *ours[2:]])
    columns = ["system", "NDCG@10", "paper", "ERR", "paper", "leaves", "rate"]
    note = f"Leaves and rate chosen by the validation lists, {where(found, YAHOO)}. LambdaMART's figures are of others."
    return Table("Table 5: tuned systems", columns, rows, note)


def _figures(one: Scored) -> list[str]:
    return [f"{one.mean('ndcg@10'):.4f}", f"{one.mean('err'):.4f}"]


def _feature_table(found: Findings) -> Table:
    rows = []
    for count in sorted({count for count, _ in found.features}):
        cells = []
        for metric in ("ndcg@1", "ndcg@10"):
            means = (found.features[count, name].mean(metric) for name in ("l-ListMLE", "CA"))
            cells += [*(f"{mean:.4f}" for mean in means), str(found.fewer(count, metric))]
        rows.append([str(count), *cells])
    names = [f"{name} {metric}" for metric in ("NDCG@1", "NDCG@10") for name in ("l-ListMLE", "CA", "difference")]
    note = f"Features in a random order, the first so many; {where(found, YAHOO)}."
    return Table("Figure 2: l-ListMLE and coordinate ascent by number of features", ["features", *names], rows, note)


def _thirds_table(found: Findings) -> Table:
    rows: list[list[Any]] = [
        [name, *(float(one.by_depth[k - 1]) for k in (1, 3, 5, 10))] for name, one in found.thirds.items()
    ]
    columns = ["system", *(f"NDCG@{k}" for k in (1, 3, 5, 10))]
    return Table(f"Figure 3: three folds of the training lists, {where(found, YAHOO)}", columns, rows, form=".4f")
