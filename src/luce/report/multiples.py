"""Pictures of many rankers: a small one for each, on the same scale, or one for all where they are few."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.report.results import higher_is_better
from luce.report.svg import ACCENT, INK, LINE, MUTED, SERIES, SMALL, Picture, picture
from luce.report.wording import decimal, plain, short

HEIGHT, LETTERS, POINTS = 132, 22, 200
"""Units down a small picture, letters of its title, points of its line."""

_STYLES = tuple(zip(SERIES, "os^D", ("-", "--", "-.", ":"), strict=True))


class Curve(NamedTuple):
    """One curve of a ranker: what it tells ("loss" or a metric), at which iterations, and the index of the best."""

    ranker: str
    told: str
    iterations: Floats
    values: Floats
    best: int


def curves(name: str, rows: Sequence[Curve]) -> list[Picture]:
    """A small picture for each curve, the best iteration marked; on one scale where all tell the same metric."""
    same = len({row.told for row in rows}) == 1 and rows[0].told != "loss"
    limits = scale(rows) if same else None
    return [_curve(f"{name}-{place}", row, limits) for place, row in enumerate(rows)]


def scale(rows: Sequence[Curve]) -> tuple[float, float] | None:
    """The ends of an axis for curves of one metric; None where all values are the same.

    It leaves out the worst tenth of each curve: the first steps say little and would flatten the rest.
    """
    shares = (0.1, 1.0) if higher_is_better(rows[0].told) else (0.0, 0.9)
    ends = np.array([np.quantile(row.values[np.isfinite(row.values)], shares) for row in rows])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    return (low - 0.06 * (high - low), high + 0.1 * (high - low)) if low < high else None


def _curve(name: str, row: Curve, limits: tuple[float, float] | None) -> Picture:
    finite = np.flatnonzero(np.isfinite(row.values))
    kept = np.union1d(finite[:: -(-len(finite) // POINTS)], [row.best, finite[-1]])

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.axvline(row.iterations[row.best], color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
        axes.plot(row.iterations[kept], row.values[kept], "-", color=ACCENT, linewidth=1.5)
        axes.plot(row.iterations[row.best], row.values[row.best], "o", color=INK, markersize=4.5)
        if limits is not None:
            axes.set_ylim(*limits)
        if len(kept) == 1:
            axes.set_xlim(row.iterations[row.best] - 1, row.iterations[row.best] + 1)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=4)
        small(axes, row.ranker)

    best = f"{row.told} {decimal(row.values[row.best])} at iteration {row.iterations[row.best]:g}"
    told = f"{row.ranker}: best {best}, the last of {len(row.values)} is {decimal(row.values[finite[-1]])}."
    return picture(name, told, HEIGHT, draw, SMALL)


def small(axes: Any, title: str) -> None:
    """The looks of a small picture."""
    axes.set_title(short(title, LETTERS), weight="bold", fontsize=10.5, pad=5)
    axes.tick_params(labelsize=9.5)
    axes.locator_params(axis="y", nbins=4)
    axes.grid(axis="y")


def lines(name: str, title: str, along: str, places: Floats, series: Mapping[str, Floats]) -> list[Picture]:
    """Values at the same places: all in one picture, or with many rankers each before the pale lines of the others."""
    if len(series) > len(_STYLES):
        return [_before_others(f"{name}-{i}", one, along, places, series) for i, one in enumerate(series)]

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for (ranker, values), (colour, marker, dashes) in zip(series.items(), _STYLES, strict=False):
            looks = {"color": colour, "marker": marker, "linestyle": dashes, "label": short(ranker, 44)}
            axes.plot(places, values, **looks, linewidth=1.6, markersize=4)
        axes.set_title(plain(title), weight="bold")
        axes.set_xlabel(along)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(axis="y")
        axes.locator_params(axis="y", nbins=6)
        if len(series) > 1:
            canvas.legend(loc="outside lower left", frameon=False, fontsize=10, handlelength=3)

    return [picture(name, f"{title}: {'; '.join(_ends(*one, places) for one in series.items())}.", 280, draw)]


def _before_others(name: str, ranker: str, along: str, places: Floats, series: Mapping[str, Floats]) -> Picture:
    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for values in series.values():
            axes.plot(places, values, "-", color=LINE, linewidth=1.2)
        axes.plot(places, series[ranker], "-", color=ACCENT, linewidth=1.8)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=4)
        axes.set_xlabel(along, fontsize=9.5)
        small(axes, ranker)

    return picture(name, f"{_ends(ranker, series[ranker], places)}.", HEIGHT + 14, draw, SMALL)


def _ends(ranker: str, values: Floats, places: Floats) -> str:
    """A line in words: its first, its middle and its last value."""
    told = ", ".join(f"{decimal(values[i])} at {places[i]:g}" for i in sorted({0, len(values) // 2, len(values) - 1}))
    return f"{ranker} {told}"
