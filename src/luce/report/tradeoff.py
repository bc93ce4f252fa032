"""The frontier between relevance and fairness: a picture, a table and a page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.report.formatting import decimal, plain
from luce.report.layout import page_of, repeat_section, write_page
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
    path: str | os.PathLike[str],
    points: Sequence[Point],
    relevance: str,
    fairness: str,
    *,
    title: str,
    summary: str,
    command: str,
    settings: Mapping[str, Any],
) -> Path:
    """Write one self-contained HTML page about a frontier, and give back its path."""
    section = {"points": points, "relevance": relevance, "fairness": fairness}
    sections: dict[str, Any] = {
        "frontier": {**section, "pictures": [frontier_picture(points, relevance, fairness)]},
        "repeat": repeat_section(command, settings),
    }
    return write_page(path, page_of(title, summary, sections))


def frontier_picture(points: Sequence[Point], relevance: str, fairness: str) -> Picture:
    """A dot for each mix with two standard errors both ways, from relevance alone to fairness alone."""
    x, y = (np.array([getattr(point, name) for point in points]) for name in ("unfairness", "relevance"))

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.plot(x, y, "-", color=MUTED, linewidth=1)
        for point in points:
            spread = {"xerr": 2 * point.unfairness_error, "yerr": 2 * point.relevance_error}
            axes.errorbar(point.unfairness, point.relevance, **spread, color=MUTED, linewidth=0.8)
        axes.plot(x, y, "o", color=ACCENT, markersize=6)
        for at, label, way in ((0, "relevance alone", 1), (-1, "fairness alone", -1)):
            where = {"xytext": (0, 10 * way), "textcoords": "offset points", "ha": "center", "color": INK}
            axes.annotate(label, (x[at], y[at]), va="bottom" if way > 0 else "top", **where)
        axes.margins(0.18)
        axes.grid()
        axes.set_xlabel(f"{plain(fairness, 24)}, lower is fairer")
        axes.set_title(f"Expected {plain(relevance, 24)}", weight="bold")

    spoken = "; ".join(f"{p.mix:.0%}: {decimal(p.relevance)} at {decimal(p.unfairness)}" for p in points)
    return picture(
        "frontier", f"Expected {relevance} at each {fairness}, by the share of fairness: {spoken}.", 300, draw
    )
