"""Who gets how much exposure, against merit: tables, pictures and a page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.errors import DataError
from luce.metrics import Results
from luce.report.contents import Report
from luce.report.exposure_shares import ExposureShares, Share, exposure_shares
from luce.report.formatting import count, decimal, interval, isolated, number, plain, plus_minus, share, short
from luce.report.layout import Cell, PageTable, Pictures, Section, Text, note, write_page
from luce.report.results import leading, scored
from luce.report.svg import ACCENT, INK, LOSS, MUTED, Picture, picture

ITEMS = 60_000
"""Rankings are drawn of lists with about so many items in all, evenly from the whole dataset: more only takes time."""
FOUR_FIFTHS = 0.8
"""Impact ratios below it are marked."""
WHEN_SORTED = "When sorted"


def write_exposure(
    path: str | os.PathLike[str], found: ExposureShares, results: Mapping[str, Results], **about: Any
) -> Path:
    """Write a page about the exposure that scores give.

    Parameters
    ----------
    path : str or path
        The HTML file to write.
    found : ExposureShares
        Of the scores, as `exposure_shares` returns it.
    results : mapping of str to Results
        Metrics of exposure with `ranking="sampled"` and with `ranking="sorted"`, by these names.
    **about
        The `title`, `summary`, `command` and `settings` of the page.

    Returns
    -------
    Path
        Of the page.
    """
    level = f"{number(100 * next(iter(results.values())).confidence)} %"
    text = f"0 is fair; lower is better. Means over lists with {level} intervals."
    sections = {"exposure": _section({"": found})}
    if found.by_group:
        sections["impact"] = Section("Groups compared", [impact_table(found), note(_impact_note(found.cutoff))])
    sections["unfairness"] = Section("Unfairness", [unfairness_table(results), note(text)])
    return write_page(path, sections, **about)


def unfairness_table(results: Mapping[str, Results]) -> PageTable:
    """A row for each metric, a column for each kind of ranking."""
    cells = [
        [name, *(Cell(decimal(each.means[name]), _bracketed(*each.intervals[name])) for each in results.values())]
        for name in next(iter(results.values())).means
    ]
    return PageTable("Unfairness", ["Metric", *(f"{ranking.capitalize()} rankings" for ranking in results)], cells)


def _bracketed(low: float, high: float) -> str:
    return f"({between})" if (between := interval(low, high)) else ""


def impact_table(found: ExposureShares) -> PageTable:
    """Impact ratios and recall of each group, in sampled and in sorted rankings."""
    heads = "Impact ratio", "Impact ratio by merit", _recall(found.cutoff)
    cells = [
        [
            short(row.name, 40),
            *(_impact(each.impact_ratio, each.impact_ratio_error) for each in (row.sampled, row.sorted)),
            *(_impact(each.merit_impact_ratio, each.merit_impact_ratio_error) for each in (row.sampled, row.sorted)),
            *("–" if np.isnan(each.recall) else share(each.recall) for each in (row.sampled, row.sorted)),
        ]
        for row in found.by_group
    ]
    columns = [column for head in heads for column in (head, WHEN_SORTED)]
    return PageTable("Groups compared", ["Group", *columns], cells)


def _impact(ratio: float, error: float) -> Cell:
    if np.isnan(ratio):
        return Cell("–")
    small = [plus_minus(error, "{:.3f}".format)] if error > 0 else []
    small += [f"below {FOUR_FIFTHS}"] if ratio < FOUR_FIFTHS else []
    return Cell(f"{ratio:.3f}", ", ".join(small))


def _recall(cutoff: int | None) -> str:
    return "Recall" if cutoff is None else f"Recall@{cutoff}"


def _impact_note(cutoff: int | None) -> str:
    places = "that are ranked" if cutoff is None else f"in the top {cutoff}"
    return (
        "Impact ratio: a group's share of the exposure divided by its share of the items, relative to the group where "
        "this quotient is highest; by merit, the same with its share of the merit. ± standard error over lists. Ratios "
        f"below {FOUR_FIFTHS} are marked, after the four-fifths rule for selection rates: for information, neither a "
        "statistical test nor a legal finding. Among many small groups, some ratios are low by chance. "
        f"{_recall(cutoff)}: the share of a group's relevant items {places}."
    )


def shares_picture(name: str, by: str, rows: Sequence[Share], heading: str | None = None) -> Picture:
    """A ring for the share of merit, a dot with its error for that of exposure, a diamond for that when sorted."""

    def draw(axes: Any) -> None:
        for place, row in enumerate(rows):
            given, spread = row.sampled.of_exposure, np.nan_to_num(2 * row.sampled.error)
            shown = row.of_merit, given, row.sorted.of_exposure
            axes.hlines(place, min(shown), max(shown), color=MUTED, linewidth=1.2)
            axes.hlines(place, given - spread, given + spread, color=ACCENT, linewidth=3.5, alpha=0.35)
        places = range(len(rows))
        hollow = {"markerfacecolor": "none", "clip_on": False, "linestyle": "none"}
        axes.plot([row.of_merit for row in rows], places, "o", color=INK, markersize=7, label="merit", **hollow)
        sampled, in_order = ([getattr(row, kind).of_exposure for row in rows] for kind in ("sampled", "sorted"))
        axes.plot(sampled, places, "o", color=ACCENT, markersize=6, label="exposure, sampled")
        axes.plot(in_order, places, "D", color=LOSS, markersize=6.5, label="exposure, sorted", **hollow)
        axes.set_xlim(left=0)
        axes.tick_params(axis="y", pad=8)
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        looks: Any = {"ncols": 3, "frameon": False, "fontsize": 10, "handletextpad": 0.2, "columnspacing": 1.2}
        axes.figure.legend(loc="outside lower left", **looks)

    spoken = "; ".join(
        f"{row.name}: merit {share(row.of_merit)}, exposure {share(row.sampled.of_exposure)}, when sorted "
        f"{share(row.sorted.of_exposure)}"
        for row in rows
    )
    description = f"{'' if heading is None else f'{heading}. '}Shares by {by}: {spoken}."
    title = f"By {by}" if heading is None else f"{short(heading, 40)}, by {by}"
    looks: Any = {"title": title, "xlabel": "share of the list, mean over lists", "grid": "x"}
    return picture(name, description, 112 + 26 * len(rows), draw, rows=[short(row.name, 18) for row in rows], **looks)


def exposure_section(report: Report) -> Section | None:
    """Shares by grade and by group under the leader's scores, and the rival's beside them."""
    found, n_sampled = leaders_exposure(report)
    return _section(found, n_sampled if n_sampled < report.dataset.n_lists else None) if found else None


def leaders_exposure(report: Report) -> tuple[dict[str, ExposureShares], int]:
    """The exposure that the leader and its rival give, where they have scores, and how many lists were sampled."""
    leader = leading(report)
    names = [name for name in (leader.name, leader.rival) if name in report.scores] if leader is not None else []
    samples = {str(name): _sample(*scored(report, str(name))) for name in names}
    try:
        found = {name: exposure_shares(*each, gain=report.results[name].gain) for name, each in samples.items()}
    except DataError:  # no merit anywhere, or grades whose gains overflow
        return {}, 0
    return found, next((each[1].n_lists for each in samples.values()), 0)


def _section(found: Mapping[str, ExposureShares], n_sampled: int | None = None) -> Section:
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
        blocks.insert(0, Text(f"Exposure under the scores of {isolated(name)}, compared with merit."))
    for by in ("grade", "group"):
        if rows := getattr(first, f"by_{by}"):
            rivals = {ranker: getattr(each, f"by_{by}") for ranker, each in others}
            blocks.append(shares_table(by, rows, rivals))
    sampled = "" if n_sampled is None else f" in a sample of {number(n_sampled)}"
    seen = "" if first.cutoff is None else f" down to rank {first.cutoff}"
    text = (
        f"Shares of each list, averaged over {count(first.n_lists, 'list')} with merit{sampled}, ± standard error. "
        f"Exposure is the expected value of 1 / log2(1 + rank){seen}, in rankings sampled from the scores or, when "
        "sorted, in the order of the scores. Merit is the gain of the grade."
    )
    return Section("Exposure and merit", [*blocks, note(text)])


def shares_table(by: str, rows: Sequence[Share], rivals: Mapping[str, Sequence[Share]] | None = None) -> PageTable:
    """A row for each share, with the exposure that rivals give beside it."""
    beside = {
        f"With {isolated(plain(name, 30))}": {row.name: share(row.sampled.of_exposure) for row in shares}
        for name, shares in (rivals or {}).items()
    }
    heads = by.capitalize(), "Items", "Share of items", "Share of merit", "Share of exposure", *beside, WHEN_SORTED
    cells = []
    for row in rows:
        given, in_order = (
            Cell(share(each.of_exposure), plus_minus(each.error, share)) for each in (row.sampled, row.sorted)
        )
        rival = [shares.get(row.name, "–") for shares in beside.values()]
        name, items, merit = short(row.name, 40), share(row.of_items), share(row.of_merit)
        ratio = number(row.sampled.exposure_per_merit)
        cells.append([name, number(row.items), items, merit, given, *rival, in_order, ratio])
    return PageTable(f"Exposure by {by}", [*heads, "Exposure / merit"], cells, f"By {by}")


def _sample(dataset: Dataset, scores: Floats) -> tuple[Floats, Dataset]:
    """Lists with about `ITEMS` items in all, evenly from the whole dataset."""
    step = max(1, -(-dataset.n_rows // ITEMS))
    inside = np.repeat(np.arange(dataset.n_lists) % step == 0, dataset.sizes)
    return (scores, dataset) if step == 1 else (scores[inside], dataset.take(np.arange(0, dataset.n_lists, step)))
