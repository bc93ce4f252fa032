"""Exposures of items: sorted by score, or in rankings sampled from the scores, for metrics without bias by noise."""

import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, selected_offsets
from luce.errors import DataError
from luce.kernels.exposure import exposure
from luce.metrics.base import Metric
from luce.metrics.fairness import ValueAndGradient
from luce.metrics.gains import discounts as logarithmic
from luce.randomness import Draw

SAMPLES = 1_000
"""Rankings drawn from each list to estimate exposures."""
RANKINGS = "sampled", "sorted"
"""Rankings sampled from the Plackett-Luce policy of the scores, or the items sorted by score."""


class SampledExposures(NamedTuple):
    """Two independent estimates (M,) of the exposures of the same items, from half of the rankings each."""

    first: Floats
    second: Floats

    @property
    def mean(self) -> Floats:
        return (self.first + self.second) / 2


def draw_exposures(
    scores: Floats, offsets: Integers, discounts: Floats, samples: int, draw: Draw, n_jobs: int | None = None
) -> SampledExposures:
    """Exposures from the rankings 0 … `samples` − 1 of a draw, half and half; at least one each."""
    half = max(1, samples // 2)
    return SampledExposures(
        *(
            exposure(scores, offsets, discounts, samples=half, draw=draw, first_sample=first, n_jobs=n_jobs).value
            for first in (0, half)
        )
    )


def without_noise(function: Callable[[Floats], ValueAndGradient], drawn: SampledExposures) -> ValueAndGradient:
    """A function of exposures at their mean, corrected for the bias of sampling noise, and its gradient there.

    F(Ê) is too high by half the variance times the second derivative. 2 F(mean) − (F(first) + F(second))/2 is
    unbiased, for a quadratic F exactly: then it is F's bilinear form of the two halves. It may be slightly below 0.
    """
    value, gradient = function(drawn.mean)
    return 2 * value - (function(drawn.first)[0] + function(drawn.second)[0]) / 2, gradient


def merits_of(labels: Floats, gain: str = "exponential") -> Floats:
    """The merit of each item: 2^y − 1, or y; 0 for a label below 0.

    >>> merits_of(np.array([-1.0, 0, 1, 3]))
    array([0., 0., 1., 7.])
    """
    positive = np.maximum(labels, 0.0)
    with np.errstate(over="ignore"):
        merits = positive if gain == "linear" else np.expm1(positive * np.log(2.0))
        beyond = np.flatnonzero(np.isinf(merits**2))
    if beyond.size:
        raise DataError(f"The merit of the label {labels[beyond[0]]:g} squared is beyond float64. Scale the labels.")
    return merits


def check_item_groups(metric: Metric, item_groups: Integers | None) -> None:
    """An error where the metric needs groups and there are none."""
    if metric.needs_item_groups and item_groups is None:
        raise DataError(
            f"{metric} needs the group of each item, and the data have none: pass item_groups= to Dataset or "
            "from_arrays, or name the column when reading a table, item_group='seller' (--read item_group=seller)."
        )


def measure_fairness(
    metric: Metric,
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    gain: str = "exponential",
    item_groups: Integers | None = None,
    ranking: str = "sampled",
    n_jobs: int | None = None,
) -> Floats:
    """A metric of exposures for each list (Q,), from rankings that depend on the list alone; NaN where empty."""
    function = metric.exposure_function
    assert function is not None
    check_item_groups(metric, item_groups)
    rows, bounds, drawn = _drawn(scores, labels, offsets, metric.cutoff, ranking, n_jobs)
    merits, members = merits_of(labels[rows], gain), None if item_groups is None else item_groups[rows]
    values = without_noise(lambda exposures: function(exposures, merits, members, bounds), drawn)[0]
    return np.where(_measurable(metric, drawn.mean, merits, members, bounds), values, np.nan)


def exposures_of(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    cutoff: int | None = None,
    ranking: str = "sampled",
    n_jobs: int | None = None,
    discounts: Callable[[int], Floats] = logarithmic,
) -> Floats:
    """The exposure (N,) of each observed item, as the metrics estimate it; NaN of the others.

    With discounts of one, `np.ones`, it is the probability of a place among the first `cutoff`.

    >>> exposures_of(np.zeros(3), np.array([1.0, 0, np.nan]), np.array([0, 3]), cutoff=1)
    array([0.5, 0.5, nan])
    """
    rows, _, drawn = _drawn(scores, labels, offsets, cutoff, ranking, n_jobs, discounts)
    exposures = np.full(len(scores), np.nan)
    exposures[rows] = drawn.mean
    return exposures


def sorted_exposures(scores: Floats, offsets: Integers, discounts: Floats) -> Floats:
    """The exposure (N,) of each item where lists are sorted by score; items with equal scores share their ranks.

    That is the exact mean over the orders of the equal scores. An item of score −∞ is not placed.

    >>> sorted_exposures(np.array([1.0, 2.0, 1.0, -np.inf]), np.array([0, 4]), np.array([1.0, 0.6, 0.4, 0.3]))
    array([0.5, 1. , 0.5, 0. ])
    """
    lists, weights = list_of_row(offsets), np.zeros(int(np.diff(offsets).max(initial=0)))
    weights[: len(discounts)] = discounts[: len(weights)]
    order = np.lexsort((-scores, lists))
    given = np.where(scores[order] > -np.inf, weights[np.arange(len(scores)) - offsets[lists]], 0.0)
    exposures = np.empty(len(scores))
    exposures[order] = _alike(given, offsets, scores[order])
    return exposures


def _drawn(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    cutoff: int | None,
    ranking: str,
    n_jobs: int | None,
    discounts: Callable[[int], Floats] = logarithmic,
) -> tuple[Integers, Integers, SampledExposures]:
    """The observed rows, their offsets and their exposures; two equal halves where nothing is sampled."""
    rows, bounds = _in_order(scores, labels, offsets)
    seen = discounts(int(np.diff(bounds).max(initial=0)))[:cutoff]
    if ranking == "sorted":
        exact = sorted_exposures(scores[rows], bounds, seen)
        return rows, bounds, SampledExposures(exact, exact)
    lists = [zlib.crc32(labels[rows[a:b]].tobytes()) for a, b in pairwise(bounds)]
    drawn = draw_exposures(scores[rows], bounds, seen, SAMPLES, Draw(lists=np.array(lists, np.int64)), n_jobs)
    return rows, bounds, SampledExposures(*(_alike(each, bounds, scores[rows], labels[rows]) for each in drawn))


def _in_order(scores: Floats, labels: Floats, offsets: Integers) -> tuple[Integers, Integers]:
    """The observed rows of each list from the highest label and score down, so that no order of rows changes a draw."""
    order = np.lexsort((-scores, -labels, list_of_row(offsets)))
    return order[~np.isnan(labels[order])], selected_offsets(~np.isnan(labels), offsets)


def _alike(exposures: Floats, offsets: Integers, *keys: Floats) -> Floats:
    """The mean exposure for neighbors in a list with the same keys, which differ by chance alone."""
    new = np.ones(len(exposures), dtype=bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    new[offsets[:-1][np.diff(offsets) > 0]] = True
    block = np.cumsum(new) - 1
    return (np.bincount(block, exposures) / np.maximum(np.bincount(block), 1))[block]


def _measurable(
    metric: Metric, exposures: Floats, merits: Floats, item_groups: Integers | None, offsets: Integers
) -> np.ndarray:
    """Which lists (Q,) have what it takes to be unfair: exposure, merit, two items or two groups."""
    lists, n_lists = list_of_row(offsets), len(offsets) - 1
    parts = item_groups if metric.needs_item_groups and item_groups is not None else np.arange(len(lists))
    several = np.bincount(np.unique(np.stack([lists, parts]), axis=1)[0], minlength=n_lists) > 1
    deserved = np.bincount(lists, merits, n_lists) > 0 if metric.needs_merit else True
    return several & deserved & (np.bincount(lists, exposures, n_lists) > 0)
