"""Targets that listwise objectives make of the labels: gains, divided by a norm of their list."""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.compiled import compiled
from luce.errors import DataError
from luce.kernels.label_order import longest_list, sort_by_label
from luce.metrics.gains import exponent, gain
from luce.threads import over_lists

NORMS = {"sum": 0, "length": 1, "dcg": 2}


def gain_targets(labels: Floats, offsets: Integers, norm: str, n_jobs: int | None = None) -> Floats:
    """G_i = 2^y − 1 of each row, divided by its list's ΣG, ‖G‖₂ or ideal DCG; NaN throughout a list without gain.

    >>> gain_targets(np.array([2.0, 1.0, 0.0, 0.0]), np.array([0, 3, 4]), "sum")
    array([0.75, 0.25, 0.  ,  nan])
    """
    targets = np.empty(len(labels))
    over_lists(_gain_targets, frozen(offsets), frozen(labels), NORMS[norm], targets, n_jobs=n_jobs)
    return targets


def plain_gains(labels: Floats) -> Floats:
    """G_i = 2^y − 1 of each row, labels below 0 counting as 0; NaN stays NaN."""
    with np.errstate(over="ignore"):
        gains = np.expm1(np.maximum(labels, 0) * np.log(2))
    if np.isinf(gains).any():
        row = int(np.flatnonzero(np.isinf(gains))[0])
        raise DataError(
            f"The gain 2^{labels[row]:g} − 1 at row {row} is beyond float64. Scale the labels, or use c-squared."
        )
    return gains


def unit_labels(labels: Floats, offsets: Integers, n_jobs: int | None = None) -> Floats:
    """Labels divided by their list's Euclidean length; NaN throughout a list of zeros."""
    result = np.empty(len(labels))
    over_lists(_unit_labels, frozen(offsets), frozen(labels), result, n_jobs=n_jobs)
    return result


@compiled
def _gain_targets(first, last, offsets, labels, norm, targets):
    longest = longest_list(first, last, offsets)
    order = np.empty(longest, np.int64)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = sort_by_label(labels, start, stop, order)
        power = exponent(labels[order[0]], False) if n else 0.0
        total = 0.0
        for j in range(n):
            g = gain(labels[order[j]], power, False)
            targets[order[j]] = g
            total += g if norm == 0 else g * g if norm == 1 else g / np.log2(j + 2.0)
        total = np.sqrt(total) if norm == 1 else total
        for row in range(start, stop):
            targets[row] = np.nan if np.isnan(labels[row]) or total == 0.0 else targets[row] / total


@compiled
def _unit_labels(first, last, offsets, labels, result):
    for q in range(first, last):
        largest, square = 0.0, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if abs(labels[row]) > largest:
                largest = abs(labels[row])
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(labels[row]) and largest > 0.0:
                square += (labels[row] / largest) ** 2
        for row in range(offsets[q], offsets[q + 1]):
            result[row] = labels[row] / largest / np.sqrt(square) if largest > 0.0 else np.nan
