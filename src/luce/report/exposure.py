"""Who gets how much attention, against merit: shares by grade and by group, as a table, pictures and a page."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data.ragged import Dataset
from luce.errors import DataError
from luce.metrics import Results
from luce.metrics.exposure import exposures_of, merits_of
from luce.report.contents import Report
from luce.report.formatting import decimal, number, plain, share, short
from luce.report.layout import page_of, repeat_section, write_page
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
    grades, groups = _grades(dataset.labels[rows]), None if dataset.groups is None else _groups(dataset, rows)
    by_grade = _shares(*grades, numbers, columns, weights)
    return Attention(by_grade, [] if groups is None else _shares(*groups, numbers, columns, weights), len(weights))


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

    coded = dataset.groups.take(pa.array(rows)).dictionary_encode()
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
        ratio, count = seen / merit if merit > 0 else np.nan, int(here.sum())
        result.append(Share(name, count, items, merit, seen, error, ratio, float(columns[2][here].mean())))
    return result


def write_exposure(
    path: str | os.PathLike[str],
    found: Attention,
    results: Results,
    *,
    title: str,
    summary: str,
    command: str,
    settings: Mapping[str, Any],
) -> Path:
    """Write one self-contained HTML page about the exposure that a policy gives.

    Parameters
    ----------
    path : str or path-like
        The file to write.
    found : Attention
        The output of `attention`.
    results : Results
        Metrics of the policy.
    title, summary, command : str
        The heading, the main result in one sentence, and the command that reproduces the page.
    settings : mapping of str to object
        Settings of the run by name.

    Returns
    -------
    Path
        The path of the page.
    """
    level = f"{number(100 * results.confidence)} %"
    measured = {
        metric: f"{decimal(mean)} ({decimal(results.intervals[metric][0])} to {decimal(results.intervals[metric][1])})"
        for metric, mean in results.means.items()
    }
    sections: dict[str, Any] = {
        "attention": _section({"": found}),
        "unfairness": {
            "heading": "How unfair that is",
            "facts": measured,
            "note": f"0 is fair, lower is better. Means over lists and their {level} intervals.",
        },
        "repeat": repeat_section(command, settings),
    }
    return write_page(path, page_of(title, summary, sections))


def shares_picture(name: str, of: str, rows: Sequence[Share], heading: str | None = None) -> Picture:
    """A ring for the share of merit, a dot for the share of attention with its error, a line between them."""
    legend = "attention (dot), merit (ring)"
    title = f"By {of.lower()}: {legend}" if heading is None else short(heading, 40)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, row in enumerate(rows):
            axes.hlines(place, row.of_merit, row.of_attention, color=MUTED, linewidth=1.2)
            spread = 2 * row.error if row.error == row.error else 0.0
            axes.hlines(
                place, row.of_attention - spread, row.of_attention + spread, color=ACCENT, linewidth=3.5, alpha=0.35
            )
            axes.plot(
                row.of_merit, place, "o", markerfacecolor="none", markeredgecolor=INK, markersize=7, clip_on=False
            )
            axes.plot(row.of_attention, place, "o", color=ACCENT, markersize=6)
        axes.set_yticks(range(len(rows)), [plain(row.name, 18) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.6)
        axes.set_xlim(left=0)
        axes.tick_params(axis="y", pad=8)
        axes.grid(axis="x")
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axes.set_title(title, weight="bold")
        axes.set_xlabel("share of the list, mean over lists" if heading is None else f"{legend}, by {of.lower()}")

    spoken = "; ".join(f"{row.name}: merit {share(row.of_merit)}, attention {share(row.of_attention)}" for row in rows)
    return picture(
        name, f"{'' if heading is None else f'{heading}. '}Shares by {of.lower()}: {spoken}.", 88 + 26 * len(rows), draw
    )


def attention_section(report: Report) -> dict[str, Any] | None:
    """Shares by grade and by group under the leader's scores, and the rival's beside them."""
    leader = leading(report)
    names = [name for name in (leader.name, leader.rival) if name in report.scores] if leader is not None else []
    samples = {str(name): _sample(*scored(report, str(name))) for name in names}
    try:
        found = {name: attention(*each, gain=report.results[name].gain) for name, each in samples.items()}
    except DataError:  # no merit anywhere, or grades whose gains no number holds
        return None
    if not found:
        return None
    n_lists = next(iter(samples.values()))[1].n_lists
    return _section(found) | {"sampled": n_lists if n_lists < report.dataset.n_lists else None}


def _section(found: Mapping[str, Attention]) -> dict[str, Any]:
    """Tables and pictures of the first ranker's shares, with the second's beside them where there is one."""
    (name, first), *others = found.items()
    pictures = [
        shares_picture(f"shares-{of}-{place}", of, rows, ranker or None)
        for of in ("grade", "group")
        for place, (ranker, each) in enumerate(found.items())
        if (rows := getattr(each, f"by_{of}"))
    ]
    tables = {}
    for of in ("Grade", "Group"):
        rows, rival = (getattr(each, f"by_{of.lower()}") for each in (first, others[0][1] if others else first))
        known = {row.name: row.of_attention for row in rival} if others else {}
        if rows:
            tables[of] = [(row, known.get(row.name, np.nan)) for row in rows]
    rival_name = others[0][0] if others else None
    return {"name": name, "rival": rival_name, "n_lists": first.n_lists, "tables": tables, "pictures": pictures}


def _sample(dataset: Dataset, scores: Floats) -> tuple[Floats, Dataset]:
    """Lists with about `ITEMS` items in all, evenly from the whole dataset."""
    step = max(1, -(-dataset.n_rows // ITEMS))
    inside = np.repeat(np.arange(dataset.n_lists) % step == 0, dataset.sizes)
    return (scores, dataset) if step == 1 else (scores[inside], dataset.take(np.arange(0, dataset.n_lists, step)))
