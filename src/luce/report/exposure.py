"""Who gets how much attention, against merit: shares by grade and by group, as a table, pictures and a page."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data.ragged import Dataset
from luce.errors import DataError
from luce.metrics import Results
from luce.metrics.exposure import exposures_of, merits_of
from luce.report.contents import Report
from luce.report.formatting import count, decimal, interval, isolated, number, plain, plus_minus, share, short
from luce.report.layout import Cell, Facts, PageTable, Pictures, Section, Text, note, write_page
from luce.report.results import leading, scored
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture

ITEMS = 60_000
"""Rankings are drawn of lists with about so many items in all, evenly from the whole dataset: more only takes time."""
FEW_GRADES, BINS, MOST_GROUPS = 10, 5, 20
"""So many grades get a row each, more are put into bins of about equally many items; the largest groups get a row."""


class Share(NamedTuple):
    """What some of the items get: means over lists of their shares of the list, with the standard error over lists.

    ratio: attention over merit, 1 where it is in proportion. per_item: the mean exposure of an item.
    """

    name: str
    items: int
    of_items: float
    of_merit: float
    of_attention: float
    error: float
    ratio: float
    per_item: float


class Attention(NamedTuple):
    """Shares by grade, and by group where items have groups; the number of lists that count."""

    by_grade: list[Share]
    by_group: list[Share]
    n_lists: int


def attention(
    scores: Floats,
    dataset: Dataset,
    cutoff: int | None = 10,
    gain: str = "exponential",
    n_jobs: int | None = None,
) -> Attention:
    """Compute the shares of exposure that rankings drawn from the scores give to grades and groups.

    Lists in which no item has merit are left out.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        The scores of a ranker.
    dataset : Dataset
        The judged lists.
    cutoff : int or None, default=10
        The number of places that are seen; None for all.
    gain : {"exponential", "linear"}, default="exponential"
        The merit of an item: 2^y − 1, or y.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Attention
        The shares `by_grade` and `by_group`, and `n_lists`.

    Examples
    --------
    >>> data = Dataset(np.zeros((2, 1)), [2, 1], [0, 2])
    >>> [(row.name, row.of_merit, row.of_attention) for row in attention(np.zeros(2), data).by_grade]
    [('1', 0.25, 0.5), ('2', 0.75, 0.5)]
    """
    exposures = exposures_of(scores, dataset.labels, dataset.offsets, cutoff, n_jobs)
    merits = merits_of(np.nan_to_num(dataset.labels), gain)
    lists, seen = list_of_row(dataset.offsets), ~np.isnan(exposures)
    deserved, given = (np.bincount(lists, np.where(seen, each, 0.0), dataset.n_lists) for each in (merits, exposures))
    counted = (deserved > 0) & (given > 0)
    if not counted.any():
        raise DataError(
            f"There is no merit to hold attention against: no list of {dataset!r} has a label above 0 and an item that "
            "can be placed. Labels are grades, higher is better."
        )
    rows = np.flatnonzero(seen & counted[lists])
    numbers = (np.cumsum(counted) - 1)[lists[rows]]
    weights = np.ones(int(counted.sum())) if dataset.list_weights is None else dataset.list_weights[counted]
    columns = np.ones(len(rows)), merits[rows], exposures[rows]
    grades, item_groups = _grades(dataset.labels[rows]), None if dataset.item_groups is None else _groups(dataset, rows)
    by_grade = _shares(*grades, numbers, columns, weights)
    return Attention(
        by_grade, [] if item_groups is None else _shares(*item_groups, numbers, columns, weights), len(weights)
    )


def _grades(labels: Floats) -> tuple[Integers, list[str]]:
    """The bin of each label, and the names of the bins, from the lowest up."""
    distinct, which = np.unique(labels, return_inverse=True)
    if len(distinct) <= FEW_GRADES:
        return which, [number(grade) for grade in distinct]
    edges = np.unique(np.quantile(labels, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, labels, side="right") - 1, 0, len(edges) - 2)
    return bins, [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]


def _groups(dataset: Dataset, rows: Integers) -> tuple[Integers, list[str]]:
    """The same for groups, the largest first, the small ones together where there are many."""
    import pyarrow as pa

    coded = dataset.item_groups.take(pa.array(rows)).dictionary_encode()
    which, names = coded.indices.to_numpy(), [str(name) for name in coded.dictionary.to_pylist()]
    by_size = np.argsort(-np.bincount(which, minlength=len(names)), kind="stable")
    places = np.empty(len(names), dtype=np.int64)
    places[by_size] = np.arange(len(names))
    shown = [names[i] for i in by_size[:MOST_GROUPS]]
    if len(names) > MOST_GROUPS:
        shown.append(f"{len(names) - MOST_GROUPS:,} others")
    return np.minimum(places[which], MOST_GROUPS), shown


def _shares(
    bins: Integers, names: Sequence[str], lists: Integers, columns: tuple[Floats, Floats, Floats], weights: Floats
) -> list[Share]:
    n_lists, counted, result = len(weights), np.count_nonzero(weights), []
    totals = [np.bincount(lists, column, n_lists) for column in columns]
    for place, name in enumerate(names):
        here = bins == place
        parts = [
            np.bincount(lists[here], column[here], n_lists) / total
            for column, total in zip(columns, totals, strict=True)
        ]
        items, merit, seen = (float(weights @ part / weights.sum()) for part in parts)
        off = weights * (parts[2] - seen) / weights.sum()
        error = float(np.sqrt(off @ off * counted / (counted - 1))) if counted > 1 else np.nan
        ratio = seen / merit if merit > 0 else np.nan
        result.append(Share(name, int(here.sum()), items, merit, seen, error, ratio, float(columns[2][here].mean())))
    return result


def write_exposure(path: str | os.PathLike[str], found: Attention, results: Results, **about: Any) -> Path:
    """Write a page about the attention that a policy gives; `about` is as for `write_page`."""
    level = f"{number(100 * results.confidence)} %"
    measured = {name: f"{decimal(mean)} ({interval(*results.intervals[name])})" for name, mean in results.means.items()}
    text = f"0 is fair, lower is better. Means over lists and their {level} intervals."
    unfairness = Section("Unfairness", [Facts(measured), note(text)])
    return write_page(path, {"attention": _section({"": found}), "unfairness": unfairness}, **about)


def shares_picture(name: str, by: str, rows: Sequence[Share], heading: str | None = None) -> Picture:
    """A ring for the share of merit, a dot for the share of attention with its error, a line between them."""
    legend = "attention (dot), merit (ring)"
    title = f"By {by}: {legend}" if heading is None else short(heading, 40)

    def draw(axes: Any) -> None:
        for place, row in enumerate(rows):
            spread = np.nan_to_num(2 * row.error)
            ends = row.of_attention - spread, row.of_attention + spread
            axes.hlines(place, row.of_merit, row.of_attention, color=MUTED, linewidth=1.2)
            axes.hlines(place, *ends, color=ACCENT, linewidth=3.5, alpha=0.35)
            ring = {"markerfacecolor": "none", "markeredgecolor": INK, "markersize": 7, "clip_on": False}
            axes.plot(row.of_merit, place, "o", **ring)
            axes.plot(row.of_attention, place, "o", color=ACCENT, markersize=6)
        axes.set_xlim(left=0)
        axes.tick_params(axis="y", pad=8)
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")

    xlabel = "share of the list, mean over lists" if heading is None else f"{legend}, by {by}"
    spoken = "; ".join(f"{row.name}: merit {share(row.of_merit)}, attention {share(row.of_attention)}" for row in rows)
    description = f"{'' if heading is None else f'{heading}. '}Shares by {by}: {spoken}."
    looks: Any = {"title": title, "xlabel": xlabel, "grid": "x", "rows": [plain(row.name, 18) for row in rows]}
    return picture(name, description, 88 + 26 * len(rows), draw, **looks)


def attention_section(report: Report) -> Section | None:
    """Shares by grade and by group under the leader's scores, and the rival's beside them."""
    found, n_sampled = leaders_attention(report)
    return _section(found, n_sampled if n_sampled < report.dataset.n_lists else None) if found else None


def leaders_attention(report: Report) -> tuple[dict[str, Attention], int]:
    """The attention that the leader and its rival give, where they have scores, and how many lists were sampled."""
    leader = leading(report)
    names = [name for name in (leader.name, leader.rival) if name in report.scores] if leader is not None else []
    samples = {str(name): _sample(*scored(report, str(name))) for name in names}
    try:
        found = {name: attention(*each, gain=report.results[name].gain) for name, each in samples.items()}
    except DataError:  # no merit anywhere, or grades whose gains overflow
        return {}, 0
    return found, next((each[1].n_lists for each in samples.values()), 0)


def _section(found: Mapping[str, Attention], n_sampled: int | None = None) -> Section:
    """Tables and pictures of the first ranker's shares, with the second's beside them where there is one."""
    (name, first), *others = found.items()
    pictures = [
        shares_picture(f"shares-{by}-{place}", by, rows, ranker or None)
        for by in ("grade", "group")
        for place, (ranker, each) in enumerate(found.items())
        if (rows := getattr(each, f"by_{by}"))
    ]
    blocks: list[Any] = [Pictures(pictures)]
    if name:
        blocks.insert(0, Text(f"Attention in rankings sampled from the scores of {isolated(name)}, against merit."))
    for by in ("grade", "group"):
        if rows := getattr(first, f"by_{by}"):
            rival = {row.name: row.of_attention for _, each in others for row in getattr(each, f"by_{by}")}
            blocks.append(shares_table(by, rows, others[0][0] if others else None, rival))
    sampled = "" if n_sampled is None else f" in a sample of {number(n_sampled)}"
    text = (
        f"Shares of each list, averaged over {count(first.n_lists, 'list')} with merit{sampled}, ± standard error. "
        "Attention is the expected exposure in rankings sampled from the scores, 1 / log2(1 + rank) at each rank that "
        "is seen; merit is the gain of the grade."
    )
    return Section("Exposure and merit", [*blocks, note(text)])


def shares_table(
    by: str, rows: Sequence[Share], rival: str | None = None, rival_shares: Mapping[str, float] = MappingProxyType({})
) -> PageTable:
    """A row for each share, with the attention that a rival gives beside it."""
    columns = [by.capitalize(), "Items", "Share of items", "of merit", "of attention"]
    columns += [] if rival is None else [f"with {isolated(plain(rival, 30))}"]
    cells = []
    for row in rows:
        other = rival_shares.get(row.name)
        beside = [] if rival is None else ["–" if other is None else share(other)]
        attended = Cell(share(row.of_attention), plus_minus(row.error, share))
        shares = share(row.of_items), share(row.of_merit), attended, *beside
        cells.append([plain(row.name, 40), number(row.items), *shares, number(row.ratio), decimal(row.per_item)])
    return PageTable(f"Attention by {by}", [*columns, "Attention / merit", "Exposure per item"], cells, f"By {by}")


def _sample(dataset: Dataset, scores: Floats) -> tuple[Floats, Dataset]:
    """Lists with about `ITEMS` items in all, evenly from the whole dataset."""
    step = max(1, -(-dataset.n_rows // ITEMS))
    inside = np.repeat(np.arange(dataset.n_lists) % step == 0, dataset.sizes)
    return (scores, dataset) if step == 1 else (scores[inside], dataset.take(np.arange(0, dataset.n_lists, step)))
