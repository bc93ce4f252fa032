"""The section on wins and losses: in which lists the best ranker does better than its rival, and in which worse."""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.metrics.significance import SAME
from luce.metrics.table import higher_is_better
from luce.report.contents import Report
from luce.report.formatting import count, decimal, isolated, number, plain, short, signed
from luce.report.layout import PageTable, Pictures, Section, Text, note, sortable
from luce.report.results import Leader, goodness, leading
from luce.report.svg import ACCENT, INK, LOSS, MUTED, Picture, picture

SHOWN, POINTS = 5, 400
"""Lists shown at either end, and bars of the picture; more lists are thinned out."""


class Tally(NamedTuple):
    """A ranker against another, list by list: how many are better, worse and the same, and the mean of either."""

    name: str
    better: int
    worse: int
    same: int
    gained: float
    lost: float


class Chosen(NamedTuple):
    """A list to look at: its number, why it was chosen, its query and size, its value and that of the rival."""

    number: int
    kind: str
    query: str
    size: int
    value: float
    before: float


def differences(report: Report) -> Section | None:
    """The tally of every ranker against the rival, and a picture of the leader's."""
    leader = leading(report)
    if leader is None or leader.rival is None:
        return None
    change = changes(report, leader.metric, leader.name, leader.rival)
    if np.isnan(change).all():
        return None
    name, metric, rival = isolated(leader.name), plain(leader.metric, 40), isolated(leader.rival)
    rows = [
        [
            row.name,
            sortable(row.better, number, signed(row.gained) if row.better else ""),
            sortable(row.worse, number, signed(row.lost) if row.worse else ""),
            sortable(row.same, number),
        ]
        for row in tallies(report, leader)
    ]
    heading = f"Compared with {rival}"
    lower = "" if higher_is_better(leader.metric) else "; lower is better"
    return Section(
        "Wins and losses, list by list",
        [
            Text(f"{name}, which has the best mean {metric}, compared with {rival} on each list."),
            Pictures([differences_picture(leader, change)]),
            PageTable("Wins and losses", ["Ranker", "Better", "Worse", "Same"], rows, heading, sortable=True),
            note(
                "Number of lists in which a ranker is better or worse; below it the mean gain or loss of "
                f"{metric} in those lists{lower}."
            ),
        ],
    )


def tallies(report: Report, leader: Leader) -> list[Tally]:
    """Every other ranker against the rival of the leader."""
    rival = str(leader.rival)
    others = [name for name, each in report.results.items() if leader.metric in each.values and name != rival]
    return [tally(name, changes(report, leader.metric, name, rival)) for name in others]


def changes(report: Report, metric: str, ranker: str, rival: str) -> Floats:
    """By how much a ranker is better than its rival in each list; NaN where one of them has no value."""
    found = goodness(report, metric, ranker) - goodness(report, metric, rival)
    return np.where(np.abs(found) <= SAME, 0.0, found)


def tally(name: str, change: Floats) -> Tally:
    """Counts and means of the lists on either side.

    >>> tally("a", np.array([0.5, -0.25, 0.0, np.nan]))
    Tally(name='a', better=1, worse=1, same=1, gained=0.5, lost=-0.25)
    """
    better, worse = change[change > 0], change[change < 0]
    means = (float(each.mean()) if each.size else 0.0 for each in (better, worse))
    return Tally(name, better.size, worse.size, int((change == 0).sum()), *means)


def chosen_lists(report: Report, leader: Leader) -> list[Chosen]:
    """The lists that lost most, those that won most, and a typical one; without a rival by the value itself."""
    values = goodness(report, leader.metric, leader.name)
    change = values if leader.rival is None else changes(report, leader.metric, leader.name, leader.rival)
    order = np.argsort(change, kind="stable")[: int((~np.isnan(change)).sum())]
    middle = float(np.median(change[order])) if len(order) else 0.0
    low, high = (0.0, 0.0) if leader.rival is not None else (middle, middle)
    worst, best = order[:SHOWN], order[::-1][:SHOWN]
    kinds = {
        "worse": worst[change[worst] < low],
        "better": best[change[best] > high],
        "typical": _typical(report, values, [*worst, *best]),
    }
    return [_chosen(report, leader, int(place), kind) for kind, found in kinds.items() for place in found]


def _typical(report: Report, values: Floats, chosen: list[Any]) -> Integers:
    """A list of common length whose value is near the middle: neither a triumph nor a failure."""
    sizes = report.dataset.sizes
    common = ~np.isnan(values) & (sizes >= np.median(sizes)) & ~np.isin(np.arange(len(sizes)), chosen)
    if not common.any():
        return np.zeros(0, dtype=np.int64)
    return np.argmin(np.where(common, np.abs(values - np.nanmedian(values)), np.inf)).reshape(1)


def _chosen(report: Report, leader: Leader, place: int, kind: str) -> Chosen:
    value, before = report.results[leader.name].values[leader.metric][place], np.nan
    if leader.rival is not None:
        before = report.results[leader.rival].values[leader.metric][place]
    query = str(report.dataset.query_ids[place].as_py())
    size = int(report.dataset.sizes[place])
    return Chosen(place, kind, query, size, float(value), float(before))


def differences_picture(leader: Leader, change: Floats) -> Picture:
    """Every list from the greatest loss to the greatest win: below the line worse, above it better, in any metric."""
    ordered = np.sort(change[~np.isnan(change)])
    at = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), POINTS)).round().astype(np.int64))
    edges = np.append(at, len(ordered))
    counts = tally(leader.name, ordered)

    def draw(axes: Any) -> None:
        for color, part in ((LOSS, np.minimum(ordered[at], 0)), (ACCENT, np.maximum(ordered[at], 0))):
            axes.stairs(part, edges, fill=True, color=color)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlim(0, len(ordered))
        looks = {"transform": axes.transAxes, "color": MUTED}
        axes.text(0.98, 0.04, f"worse in {count(counts.worse, 'list')}", ha="right", va="bottom", **looks)
        axes.text(0.02, 0.96, f"better in {count(counts.better, 'list')}", ha="left", va="top", **looks)
        axes.set_xticks([])

    spoken = f"better in {counts.better}, worse in {counts.worse} and the same in {counts.same} lists"
    ends = f"by {decimal(float(ordered[0]))} to {decimal(float(ordered[-1]))}"
    title = f"Difference in {short(leader.metric)} on each list"
    xlabel = "lists, from the largest loss to the largest gain"
    description = f"{leader.metric} of {leader.name}: {spoken}, {ends}."
    return picture("differences", description, 230, draw, title=title, xlabel=xlabel)
