"""The section on calibration: whether the probabilities that the scores stand for agree with what is observed."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.data.ragged import Dataset
from luce.report.contents import Report
from luce.report.curves import HEIGHT
from luce.report.formatting import number, plain, share
from luce.report.layout import PageTable, Pictures, Section, Text, note, sortable
from luce.report.results import scored
from luce.report.svg import ACCENT, MUTED, SMALL, Picture, picture

BINS = 8
"""Each of equal total probability."""

INTRODUCTION = (
    "In the Plackett-Luce model, scores define probabilities: an item is ranked first with probability exp(score) / "
    "Σ exp(score). If a ranker is calibrated, 30 % of the items with a probability of 30 % are the best of their list, "
    "and the dots lie on the dashed line. A steeper curve means an underconfident ranker, a flatter one an "
    "overconfident ranker."
)
EXPLANATION = (
    "Horizontal axis: the predicted probability of being ranked first. Vertical axis: how often an item is the best of "
    "its list, with ties counted in equal shares; the vertical lines are ± 2 standard errors. Items are binned by "
    "probability, with equal total probability per bin. The calibration error is the share of the total probability "
    "that is in the wrong bin; with few lists it is never 0. Dividing the scores by the best temperature makes them "
    "fit "
    "best: a temperature above 1 means overconfident scores, below 1 underconfident ones; it is 0 if a best item "
    "always "
    "has the highest score, and ∞ if a random order fits better. The last columns are the mean probability that a best "
    "item is ranked first, by the scores and in a random order, and the number of lists. Lists in which all grades are "
    "equal are left out. Scores trained with a loss that is not a likelihood are not expected to be calibrated."
)


class Bin(NamedTuple):
    """Items of similar probability to be placed first: its mean, how often they are the best, its standard error, which
    is NaN where they are all of one list."""

    chance: float
    seen: float
    error: float


class Calibration(NamedTuple):
    """How well probabilities fit what is observed: bins, the share of probability in the wrong bin, what the scores
    should be divided by (0: they are never wrong, ∞: a random order is better, NaN: unknown), the mean probability that
    a best item is placed first, by the scores and in a random order, and the number of lists that count."""

    bins: list[Bin]
    error: float
    temperature: float
    best_first: float
    by_chance: float
    n_lists: int


def calibration(report: Report) -> Section | None:
    """A small picture and a row of numbers for each ranker that has scores."""
    found = {name: calibrated(*scored(report, name)) for name in report.scores}
    rows = {name: each for name, each in found.items() if each is not None}
    if not rows:
        return None
    reach = max(max(each.chance, each.seen) for row in rows.values() for each in row.bins)
    pictures = [_picture(f"calibration-{i}", name, row, reach) for i, (name, row) in enumerate(rows.items())]
    table = PageTable(
        "Calibration",
        ["Ranker", "Calibration error", "Best temperature", "P(best item first)", "In random order", "Lists"],
        [
            [
                name,
                sortable(row.error, share),
                sortable(row.temperature, number),
                sortable(row.best_first, share),
                sortable(row.by_chance, share),
                sortable(row.n_lists, number),
            ]
            for name, row in rows.items()
        ],
        sortable=True,
    )
    return Section("Calibration", [Text(INTRODUCTION), Pictures(pictures, small=True), table, note(EXPLANATION)])


def calibrated(dataset: Dataset, scores: Floats) -> Calibration | None:
    """The chance e^s / Σ e^s of each item to be placed first, against 1/t for the t best items of its list, else 0.

    Both sum to one in a list. Items without a grade are left out, and so are lists whose grades do not differ or in
    which no item can be placed; every other list counts the same.

    >>> data = Dataset(np.zeros((4, 1)), [1, 0, 0, 0], [0, 4])
    >>> found = calibrated(data, np.zeros(4))
    >>> found.best_first, found.by_chance, found.bins[0].chance, found.bins[0].seen
    (0.25, 0.25, 0.25, 0.25)
    """
    rows, offsets = _ranked_rows(dataset, scores)
    if len(offsets) < 2:
        return None
    scores, lists = scores[rows], list_of_row(offsets)
    target, chance = _best(dataset.labels[rows], offsets), _softmax(scores, offsets)
    n_lists = len(offsets) - 1
    bins, error = _binned(chance, target, lists, n_lists)
    return Calibration(
        bins,
        error,
        _temperature(scores, target, offsets),
        float(chance[target > 0].sum()) / n_lists,
        float(np.mean(np.bincount(lists, target > 0) / np.diff(offsets))),
        n_lists,
    )


def _ranked_rows(dataset: Dataset, scores: Floats) -> tuple[Integers, Integers]:
    """The rows with a grade of lists whose grades differ and that can be ranked, and the offsets of those lists."""
    rows = np.flatnonzero(~np.isnan(dataset.labels))
    lists = list_of_row(dataset.offsets)[rows]
    low, high, top = np.full(dataset.n_lists, np.inf), *np.full((2, dataset.n_lists), -np.inf)
    np.minimum.at(low, lists, dataset.labels[rows])
    np.maximum.at(high, lists, dataset.labels[rows])
    np.maximum.at(top, lists, scores[rows])
    used = (low < high) & np.isfinite(top)
    sizes = np.bincount(lists, minlength=dataset.n_lists)[used]
    return rows[used[lists]], offsets_of_sizes(sizes)


def _best(labels: Floats, offsets: Integers) -> Floats:
    """1/t for each of the t items that have the best grade of their list, 0 for the others."""
    best = labels == np.repeat(np.maximum.reduceat(labels, offsets[:-1]), np.diff(offsets))
    return best / np.repeat(np.add.reduceat(best.astype(float), offsets[:-1]), np.diff(offsets))


def _softmax(scores: Floats, offsets: Integers) -> Floats:
    sizes = np.diff(offsets)
    worths = np.exp(scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes))
    return worths / np.repeat(np.add.reduceat(worths, offsets[:-1]), sizes)


def _binned(chance: Floats, target: Floats, lists: Integers, n_lists: int) -> tuple[list[Bin], float]:
    """Items from the smallest chance up, cut where the chance so far passes 1/8, 2/8, … of all; equal ones together."""
    _, which = np.unique(chance, return_inverse=True)
    mass = np.bincount(which, chance)
    middle = (np.cumsum(mass) - mass / 2) / n_lists
    places = np.clip(BINS * middle, 0, BINS - 1).astype(np.int64)[which]
    bins, error = [], 0.0
    for place in np.unique(places):
        here = places == place
        expected, seen = float(chance[here].mean()), float(target[here].mean())
        # Items of one list are not independent: what each list as a whole is off by counts.
        _, which = np.unique(lists[here], return_inverse=True)
        off = np.bincount(which, target[here] - seen)
        spread = np.sqrt(off @ off * len(off) / (len(off) - 1)) if len(off) > 1 else np.nan
        bins.append(Bin(expected, seen, float(spread) / int(here.sum())))
        error += abs(float(chance[here].sum() - target[here].sum()))
    return bins, error / (2 * n_lists)


def _temperature(scores: Floats, target: Floats, offsets: Integers) -> float:
    """The temperature under which the best items are placed first with the greatest likelihood.

    0 where their scores are always the highest, ∞ where none is likelier than a random order; NaN where scores do not
    differ or a best item cannot be placed.
    """
    sizes = np.diff(offsets)
    behind = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes)
    placed = np.isfinite(behind)
    scale = -float(behind[placed].mean())
    if scale == 0 or not placed[target > 0].all():
        return float("nan")
    behind = np.where(placed, behind / scale, 0.0)
    missed = float(target @ behind)
    if missed == 0:
        return 0.0

    def derivative(sharpness: float) -> float:
        """Of the loss, which is convex in one over the temperature."""
        worths = placed * np.exp(sharpness * behind)
        expected = np.add.reduceat(worths * behind, offsets[:-1]) / np.add.reduceat(worths, offsets[:-1])
        return float(expected.sum()) - missed

    if derivative(0.0) >= 0:
        return float("inf")
    sharpest = 1.0
    while derivative(sharpest) < 0:
        sharpest *= 2
    return scale / float(brentq(derivative, 0.0, sharpest))


def _picture(name: str, ranker: str, row: Calibration, reach: float) -> Picture:
    chances, seen = (np.array([getattr(each, field) for each in row.bins]) for field in ("chance", "seen"))
    spread = 2 * np.array([each.error for each in row.bins])

    def draw(axes: Any) -> None:
        axes.plot([0, reach], [0, reach], color=MUTED, linewidth=0.9, linestyle=(0, (3, 3)))
        axes.vlines(chances, np.maximum(seen - spread, 0), seen + spread, color=ACCENT, linewidth=1.2, alpha=0.6)
        axes.plot(chances, seen, "o-", color=ACCENT, linewidth=1.2, markersize=3.8)
        axes.set_xlim(0, 1.05 * reach)
        axes.set_ylim(0, 1.1 * reach)
        axes.locator_params(nbins=4)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")

    spoken = "; ".join(f"{share(each.chance)} observed {share(each.seen)}" for each in row.bins)
    caption = f"{plain(ranker, 80)}: predicted probability of being ranked first and observed frequency: {spoken}"
    caption += f". Temperature {number(row.temperature)}."
    return picture(name, caption, HEIGHT + 12, draw, title=ranker, width=SMALL)
