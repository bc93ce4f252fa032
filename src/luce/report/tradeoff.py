"""The frontier between relevance and fairness: a picture, a table and a page."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.report.formatting import decimal, plain, plus_minus
from luce.report.layout import Cell, PageTable, Pictures, Section, note, write_page
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture


class Point(NamedTuple):
    """One mix on the frontier: the share of fairness in it, its formula, and means over lists with their errors."""

    mix: float
    objective: str
    relevance: float
    relevance_error: float
    unfairness: float
    unfairness_error: float


def write_tradeoff(
    path: str | os.PathLike[str], points: Sequence[Point], relevance: str, fairness: str, **about: Any
) -> Path:
    """Write a page about a frontier; `about` is as for `write_page`."""
    text = (
        "Means over held-out lists, in expectation over rankings sampled from each policy. All policies are measured "
        "on the same lists, and the standard errors are those of differences between policies: the variation between "
        "lists is removed."
    )
    pictures = Pictures([frontier_picture(points, relevance, fairness)])
    section = Section("The frontier", [pictures, frontier_table(points, relevance, fairness), note(text)])
    return write_page(path, {"frontier": section}, **about)


def frontier_table(points: Sequence[Point], relevance: str, fairness: str) -> PageTable:
    """A row for each weight of fairness."""
    fair = Cell(fairness, "lower is better")
    columns = ["Weight of fairness", f"Expected {relevance}", fair, "Objective"]
    rows = [
        [
            f"{100 * point.mix:.3g} %",
            Cell(decimal(point.relevance), plus_minus(point.relevance_error)),
            Cell(decimal(point.unfairness), plus_minus(point.unfairness_error)),
            point.objective,
        ]
        for point in points
    ]
    return PageTable("The frontier", columns, rows)


def frontier_picture(points: Sequence[Point], relevance: str, fairness: str) -> Picture:
    """A dot for each mix with two standard errors both ways, from relevance alone to fairness alone."""
    x, y = (np.array([getattr(point, name) for point in points]) for name in ("unfairness", "relevance"))

    def draw(axes: Any) -> None:
        axes.plot(x, y, "-", color=MUTED, linewidth=1)
        for point in points:
            spread = {"xerr": 2 * point.unfairness_error, "yerr": 2 * point.relevance_error}
            axes.errorbar(point.unfairness, point.relevance, **spread, color=MUTED, linewidth=0.8)
        axes.plot(x, y, "o", color=ACCENT, markersize=6)
        for at, label, way in ((0, "relevance alone", 1), (-1, "fairness alone", -1)):
            where = {"xytext": (0, 10 * way), "textcoords": "offset points", "ha": "center", "color": INK}
            axes.annotate(label, (x[at], y[at]), va="bottom" if way > 0 else "top", **where)
        axes.margins(0.18)

    spoken = "; ".join(f"{p.mix:.0%}: {decimal(p.relevance)} at {decimal(p.unfairness)}" for p in points)
    description = f"Expected {relevance} at each {fairness}, by the weight of fairness: {spoken}."
    title, xlabel = f"Expected {plain(relevance, 24)}", f"{plain(fairness, 24)}, lower is fairer"
    return picture("frontier", description, 300, draw, title=title, xlabel=xlabel, grid="both")
