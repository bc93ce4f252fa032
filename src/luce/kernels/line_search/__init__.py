"""How a sum over places changes while every item of a list moves along a line: an exact sweep over the crossings.

At t the item i has the score h_i + t·s_i. The order of a list changes only where two lines cross, so whatever is made
of the order is a step function of t: the times of its steps and their sizes are all there is to know.

Items on one line are tied for every t: they count as the average over their orders.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.kernels.line_search import cpu
from luce.kernels.line_search.choice import best_time
from luce.kernels.place_sums import PAIRS, Places
from luce.threads import over_lists

__all__ = ["best_time", "changes"]

MOST = 2**23
"""Steps held at a time, about: more are given in several windows of t."""


def changes(
    heights: Floats, slopes: Floats, offsets: Integers, places: Places, *, n_jobs: int | None = None
) -> Iterator[tuple[Floats, Floats]]:
    """Times, rising, and what the summed value of all lists changes there, from t = −∞ to ∞; in one or more windows.

    Steps of one list at exactly one time are one; those of no size are left out.

    >>> from luce.kernels.place_sums import SUM
    >>> places = Places(SUM, np.array([1.0, 0.0]), np.ones(1), np.array([1.0, 0.5, 0.0]), 2)
    >>> list(changes(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([0, 2]), places))
    [(array([3.]), array([0.5]))]
    """
    n_rows = len(heights)
    first = np.lexsort((-heights, slopes, list_of_row(offsets)))  # at t = −∞ the flattest line is the highest
    sweep = cpu.Sweep(
        heights[first], slopes[first], np.empty(n_rows, np.int64), np.empty((n_rows, 4)), np.empty(n_rows)
    )
    over_lists(cpu.begin, offsets, places.kind, places.worths[first], places.depth, results=[sweep], n_jobs=n_jobs)
    for until in _window_ends(heights, slopes, offsets, places.depth):
        times, sizes = _advance(offsets, places, until, sweep, n_jobs)
        order = np.argsort(times, kind="stable")  # lists come as rising runs, which it merges
        yield times[order], sizes[order]


def _advance(
    offsets: Integers, places: Places, until: float, sweep: cpu.Sweep, n_jobs: int | None
) -> tuple[Floats, Floats]:
    found: dict[int, tuple[Floats, Floats]] = {}

    def advance(first: int, last: int, *arguments: Any) -> None:
        found[first] = cpu.advance(first, last, *arguments)

    inputs = places.kind == PAIRS, places.scales, places.discounts, places.depth, until
    over_lists(advance, offsets, *inputs, results=[sweep], n_jobs=n_jobs)
    times, sizes = zip(*(found[first] for first in sorted(found)), strict=True)
    return np.concatenate(times), np.concatenate(sizes)


def _window_ends(heights: Floats, slopes: Floats, offsets: Integers, depth: int) -> list[float]:
    """Where to break off so that about MOST steps are held: quantiles of some crossings, drawn at random."""
    n = np.diff(offsets)
    pairs = n * (n - 1) // 2
    n_windows = -(-int(np.minimum(pairs, n * depth).sum()) // MOST)
    if n_windows <= 1:
        return [np.inf]
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(n), size=(64 * n_windows, 1), p=pairs / pairs.sum())
    i, j = (offsets[drawn] + rng.integers(n[drawn], size=(64 * n_windows, 2))).T
    with np.errstate(divide="ignore", invalid="ignore"):
        times = (heights[i] - heights[j]) / (slopes[j] - slopes[i])
    times = times[np.isfinite(times)]
    quantiles = np.quantile(times, np.arange(1, n_windows) / n_windows) if times.size else []
    return [*np.unique(quantiles).tolist(), np.inf]
