"""The pictures of the report, each drawn for the width of a phone and set side by side where there is room."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture
from luce.report.wording import decimal, number, plain, share, short


class Whisker(NamedTuple):
    """One mean with its interval; NaN where there is none."""

    name: str
    mean: float
    low: float
    high: float
    best: bool


def whiskers(name: str, metric: str, rows: Sequence[Whisker], level: str) -> Picture:
    """A dot for each mean and a line for its interval of this level, the names above them."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, row in enumerate(rows):
            colour = ACCENT if row.best else MUTED
            axes.hlines(place, row.low, row.high, color=colour, linewidth=2)
            axes.plot(row.mean, place, "o", color=colour, markersize=7)
            text = short(row.name, 44) if np.isfinite(row.mean) else f"{short(row.name, 34)}: no value"
            looks = {"va": "bottom", "weight": "bold" if row.best else "normal", "clip_on": False}
            axes.text(0, place - 0.22, text, transform=axes.get_yaxis_transform(), **looks)
        axes.set_ylim(len(rows) - 0.5, -1)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.grid(axis="x")
        axes.locator_params(axis="x", nbins=5)
        if not np.isfinite([row.mean for row in rows]).any():
            axes.set_xticks([])
        axes.set_title(plain(metric), pad=4, weight="bold")

    spoken = "; ".join(f"{row.name} {decimal(row.mean)}, {decimal(row.low)} to {decimal(row.high)}" for row in rows)
    return picture(name, f"{metric}, mean and {level} interval of each ranker: {spoken}.", 66 + 34 * len(rows), draw)


def curve(name: str, title: str, iterations: Floats, values: Floats, best: int) -> Picture:
    """Values by iteration, with the best iteration (an index) marked."""
    finite = np.isfinite(values)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        style = "o-" if finite.sum() <= 20 else "-"
        axes.plot(iterations[finite], values[finite], style, color=ACCENT, markersize=3.5, linewidth=1.8)
        axes.axvline(iterations[best], color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        axes.plot(iterations[best], values[best], "o", color=INK, markersize=6)
        if len(iterations) == 1:
            axes.set_xlim(iterations[0] - 1, iterations[0] + 1)
        axes.set_title(plain(title), weight="bold")
        axes.set_xlabel("iteration")
        axes.grid(axis="y")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
        axes.locator_params(axis="y", nbins=5)

    first, last = np.flatnonzero(finite)[[0, -1]]
    spoken = (
        f"from {decimal(values[first])} at iteration {iterations[first]:g} to {decimal(values[last])} at iteration "
    )
    return picture(
        name, f"{title} by iteration: {spoken}{iterations[last]:g}; best iteration {iterations[best]:g}.", 190, draw
    )


def bars(name: str, title: str, labels: Sequence[str], counts: Integers, along: str) -> Picture:
    """One bar for each of a few values, its share written above it."""
    shares = counts / counts.sum()

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        drawn = axes.bar(np.arange(len(counts)), counts, width=0.72, color=ACCENT)
        axes.bar_label(
            drawn, [share(value) for value in shares], padding=2, color=MUTED, fontsize=10 if len(counts) < 8 else 8
        )
        axes.set_xticks(np.arange(len(counts)), [plain(label, 8) for label in labels])
        axes.set_title(plain(title), weight="bold")
        axes.set_xlabel(along)
        axes.margins(x=0.05 if len(counts) > 2 else 0.5, y=0.15)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)

    spoken = ", ".join(f"{label} {share(value)}" for label, value in zip(labels, shares, strict=True))
    return picture(name, f"{title}: {spoken}.", 190, draw)


def histogram(name: str, title: str, edges: Floats, counts: Integers, along: str) -> Picture:
    """Counts between edges."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.bar(edges[:-1], counts, width=np.diff(edges) * 0.92, align="edge", color=ACCENT)
        axes.set_title(plain(title), weight="bold")
        axes.set_xlabel(along)
        axes.grid(axis="y")
        axes.locator_params(axis="y", nbins=4)
        axes.locator_params(axis="x", nbins=6)

    fullest = int(np.argmax(counts))
    spoken = f"from {number(edges[0])} to {number(edges[-1])}"
    most = f"most often {number(edges[fullest])} to {number(edges[fullest + 1])}"
    return picture(name, f"{title}: {spoken}, {most}.", 190, draw)
