"""Curves of rankers: the validation metric by iteration, and a metric by the depth to which a reader looks."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError, OptionError
from luce.metrics import evaluate
from luce.metrics.table import higher_is_better
from luce.report.contents import Report
from luce.report.formatting import decimal, number, short
from luce.report.layout import Pictures, Section, Text
from luce.report.results import family, leading, scored
from luce.report.svg import ACCENT, INK, LINE, MUTED, SERIES, SMALL, Picture, picture

HEIGHT, POINTS = 132, 200
"""Units down a small picture, points of its line."""
DEEPEST = 20
"""The picture by depth ends here, or with the longest list."""

_STYLES = tuple(zip(SERIES, "os^D", ("-", "--", "-.", ":"), strict=True))


class RankerCurve(NamedTuple):
    """The loss or a metric of a ranker by iteration, and the index of the best."""

    ranker: str
    metric: str
    iterations: Floats
    values: Floats
    best: int


def learning(report: Report) -> Section | None:
    """The curve that each ranker was stopped by; where there is one ranker, its loss too."""
    found = [learning_curve(name, steps, report.validation_metric) for name, steps in report.histories.items()]
    rows = [row for row in found if row is not None]
    if not rows:
        return None
    metrics = {row.metric for row in rows}
    drawn, one = rows, rows[0]
    if len(rows) == 1:
        losses = _column(report.histories[one.ranker], "loss")
        if one.metric != "loss" and np.isfinite(losses).any():
            drawn = [one, one._replace(metric="loss", values=losses)]
        last, best, value = number(one.iterations[-1]), number(one.iterations[one.best]), decimal(one.values[one.best])
        text = f"Training ended at iteration {last}. The best {one.metric}, {value}, was at iteration {best}."
    else:
        what = f"{metrics.pop()} on the validation lists" if len(metrics) == 1 else "The early-stopping criterion"
        text = f"{what} by iteration; a dot and a dashed line mark the best iteration."
    return Section("Learning curves", [Text(text), Pictures(curves("learning", drawn), small=True)])


def learning_curve(ranker: str, history: Sequence[Mapping[str, float]], metric: str) -> RankerCurve | None:
    """The validation metric of a history, or the loss where there is none; the first best value is the best.

    >>> steps = [{"iteration": i, "validation": v} for i, v in enumerate([0.2, 0.4, 0.4])]
    >>> learning_curve("a", steps, "ndcg@10").best
    1
    """
    for name, column, upward in ((metric, "validation", higher_is_better(metric)), ("loss", "loss", False)):
        values = _column(history, column)
        if np.isfinite(values).any():
            badness = np.where(np.isfinite(values), -values if upward else values, np.inf)
            return RankerCurve(ranker, name, _column(history, "iteration"), values, int(np.argmin(badness)))
    return None


def _column(history: Sequence[Mapping[str, float]], name: str) -> Floats:
    return np.array([entry.get(name, np.nan) for entry in history], dtype=np.float64)


def depth(report: Report) -> Section | None:
    """A picture of the means at depth 1, 2, … of each ranker that has scores."""
    found = means_by_depth(report)
    if found is None:
        return None
    metric, ranks, means = found
    pictures = lines("depth", f"{metric} by depth", "depth", ranks, means)
    text = f"Mean {metric} if only the first item counts, the first two, and so on"
    several = len(pictures) > 1
    blocks = [Text(f"{text}{'; the other rankers in gray' if several else ''}."), Pictures(pictures, small=several)]
    return Section(f"{metric} by depth", blocks)


def means_by_depth(report: Report) -> tuple[str, Floats, dict[str, Floats]] | None:
    """The metric, the depths, and the means of each ranker that has scores; None where there is nothing to draw."""
    leader = leading(report)
    if leader is None:
        return None
    try:
        name = family(leader.metric)
        ranks = np.arange(1.0, min(DEEPEST, int(report.dataset.sizes.max(initial=0))) + 1)
        means = {ranker: _means(report, ranker, name, ranks) for ranker in report.scores if ranker in report.results}
    except (DataError, OptionError):  # a metric of the user's own, or grades whose gains overflow
        return None
    means = {ranker: values for ranker, values in means.items() if np.isfinite(values).any()}
    return (name, ranks, means) if means and len(ranks) > 1 else None


def _means(report: Report, ranker: str, name: str, places: Floats) -> Floats:
    dataset, scores = scored(report, ranker)
    one = report.results[ranker]
    settings: dict[str, Any] = {"empty": one.empty, "gain": one.gain, "max_grade": one.max_grade, "n_bootstrap": 0}
    settings["ranking"] = one.ranking or "sampled"
    found = evaluate(scores, dataset, [f"{name}@{place:g}" for place in places], **settings)
    return np.array(list(found.means.values()))


def curves(name: str, rows: Sequence[RankerCurve]) -> list[Picture]:
    """A small picture for each curve, the best iteration marked; on one scale where all are of the same metric."""
    same = len({row.metric for row in rows}) == 1 and rows[0].metric != "loss"
    limits = scale(rows) if same else None
    return [_curve(f"{name}-{place}", row, limits) for place, row in enumerate(rows)]


def scale(rows: Sequence[RankerCurve]) -> tuple[float, float] | None:
    """The ends of an axis for curves of one metric; None where all values are the same.

    It leaves out the worst tenth of each curve: the first steps say little and would flatten the rest.
    """
    shares = (0.1, 1.0) if higher_is_better(rows[0].metric) else (0.0, 0.9)
    ends = np.array([np.quantile(row.values[np.isfinite(row.values)], shares) for row in rows])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    return (low - 0.06 * (high - low), high + 0.1 * (high - low)) if low < high else None


def _curve(name: str, row: RankerCurve, limits: tuple[float, float] | None) -> Picture:
    finite = np.flatnonzero(np.isfinite(row.values))
    shown = np.union1d(finite[:: -(-len(finite) // POINTS)], [row.best, finite[-1]])
    best, value = row.iterations[row.best], row.values[row.best]

    def draw(axes: Any) -> None:
        axes.axvline(best, color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
        axes.plot(row.iterations[shown], row.values[shown], "-", color=ACCENT, linewidth=1.5)
        axes.plot(best, value, "o", color=INK, markersize=4.5)
        if limits is not None:
            axes.set_ylim(*limits)
        if len(shown) == 1:
            axes.set_xlim(best - 1, best + 1)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=4)

    text = f"{row.ranker}: best {row.metric} {decimal(value)} at iteration {best:g}"
    text += f", the last of {len(row.values)} is {decimal(row.values[finite[-1]])}."
    title = row.ranker if row.metric != "loss" else f"{row.ranker}: loss"
    return picture(name, text, HEIGHT, draw, title=title, width=SMALL)


def lines(name: str, title: str, along: str, places: Floats, series: Mapping[str, Floats]) -> list[Picture]:
    """Values at the same places: all in one picture, or with many rankers each before the pale lines of the others."""
    if len(series) > len(_STYLES):
        return [_before_others(f"{name}-{i}", one, along, places, series) for i, one in enumerate(series)]

    def draw(axes: Any) -> None:
        for (ranker, values), (color, marker, dashes) in zip(series.items(), _STYLES, strict=False):
            looks = {"color": color, "marker": marker, "linestyle": dashes, "label": short(ranker, 44)}
            axes.plot(places, values, **looks, linewidth=1.6, markersize=4)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if len(series) > 1:
            axes.figure.legend(loc="outside lower left", frameon=False, fontsize=10, handlelength=3)

    description = f"{title}: {'; '.join(_ends(*one, places) for one in series.items())}."
    return [picture(name, description, 280, draw, title=title, xlabel=along)]


def _before_others(name: str, ranker: str, along: str, places: Floats, series: Mapping[str, Floats]) -> Picture:
    def draw(axes: Any) -> None:
        for values in series.values():
            axes.plot(places, values, "-", color=LINE, linewidth=1.2)
        axes.plot(places, series[ranker], "-", color=ACCENT, linewidth=1.8)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=4)

    description = f"{_ends(ranker, series[ranker], places)}."
    return picture(name, description, HEIGHT + 14, draw, title=ranker, xlabel=along, width=SMALL)


def _ends(ranker: str, values: Floats, places: Floats) -> str:
    """A line in words: its first, its middle and its last value."""
    text = ", ".join(f"{decimal(values[i])} at {places[i]:g}" for i in sorted({0, len(values) // 2, len(values) - 1}))
    return f"{ranker} {text}"
