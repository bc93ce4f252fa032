"""The trade-off between relevance and fairness: a picture, a table and a page."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.report.formatting import decimal, plain, plus_minus
from luce.report.layout import Cell, PageTable, Pictures, Section, note, write_page
from luce.report.svg import ACCENT, INK, LOSS, MUTED, Picture, picture


class Point(NamedTuple):
    """A policy: the weight of fairness, how its scores rank, its objective, and means over lists with their errors."""

    mix: float
    ranking: str
    objective: str
    relevance: float
    relevance_error: float
    unfairness: float
    unfairness_error: float


def write_tradeoff(
    path: str | os.PathLike[str],
    points: Sequence[Point],
    by_score: Point,
    relevance: str,
    fairness: str,
    **about: Any,
) -> Path:
    """Write a page about policies and the sorted ranking of the first; `about` is as for `write_page`."""
    text = (
        "Means over held-out lists, in expectation over rankings sampled from each policy. The diamond and the last "
        "row are the ranking sorted by the scores of the policy with a fairness weight of 0, items with equal scores "
        "in random order. All are measured on the same lists, and the standard errors (±; bars: two of them) are "
        "those of differences between policies: the variation between lists is removed."
    )
    given = points, by_score, relevance, fairness
    blocks = [Pictures([frontier_picture(*given)]), frontier_table(*given), note(text)]
    return write_page(path, {"frontier": Section("Trade-off", blocks)}, **about)


def frontier_table(points: Sequence[Point], by_score: Point, relevance: str, fairness: str) -> PageTable:
    """A row for each fairness weight, and one for the sorted ranking."""
    columns = ["Fairness weight", f"Expected {relevance}", Cell(fairness, "lower is fairer"), "Objective"]
    rows = [
        [
            f"{100 * point.mix:.3g} %{', sorted' * (point is by_score)}",
            Cell(decimal(point.relevance), plus_minus(point.relevance_error)),
            Cell(decimal(point.unfairness), plus_minus(point.unfairness_error)),
            point.objective,
        ]
        for point in (*points, by_score)
    ]
    return PageTable("Trade-off", columns, rows)


def frontier_picture(points: Sequence[Point], by_score: Point, relevance: str, fairness: str) -> Picture:
    """A dot for each policy and a diamond for the sorted ranking, with two standard errors both ways."""
    x, y = (np.array([getattr(point, name) for point in points]) for name in ("unfairness", "relevance"))

    def draw(axes: Any) -> None:
        axes.plot(x, y, "-", color=MUTED, linewidth=1)
        for point in (*points, by_score):
            spread = {"xerr": 2 * point.unfairness_error, "yerr": 2 * point.relevance_error}
            axes.errorbar(point.unfairness, point.relevance, **spread, color=MUTED, linewidth=0.8)
        axes.plot(x, y, "o", color=ACCENT, markersize=6, label="sampled from the scores")
        axes.plot(by_score.unfairness, by_score.relevance, "D", color=LOSS, markersize=6.5, label="sorted by score")
        for point, label, way in ((points[0], "relevance only", 1), (points[-1], "fairness only", -1)):
            end = point.unfairness, point.relevance + 2 * way * np.nan_to_num(point.relevance_error)  # of its bar
            where = {"xytext": (0, 4 * way), "textcoords": "offset points", "ha": "center", "color": INK}
            axes.annotate(label, end, va="bottom" if way > 0 else "top", **where)
        axes.margins(0.18)
        axes.figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=10, handletextpad=0.2)

    spoken = "; ".join(f"{p.mix:.0%}: {decimal(p.relevance)} at {decimal(p.unfairness)}" for p in points)
    description = f"Expected {relevance} at each {fairness}, by fairness weight: {spoken}; "
    description += f"sorted by score: {decimal(by_score.relevance)} at {decimal(by_score.unfairness)}."
    title, xlabel = f"Expected {plain(relevance, 24)}", f"{plain(fairness, 24)}, lower is fairer"
    return picture("frontier", description, 320, draw, title=title, xlabel=xlabel, grid="both")
