"""The targets of one list in vector loops, and in scaled arithmetic where float64 would overflow."""

import math

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import exp, exp2m1
from luce.kernels.label_order import longest_list, sort_by_label

LABEL, GAIN, EXPONENTIAL, ATTENTION = range(4)
ONE, SUM, LENGTH, DCG = range(4)
LEAST, MOST = 1e-150, 1e150
"""Norms between them have a reciprocal, and squares that neither overflow nor vanish."""


@compiled
def label_targets(first, last, offsets, labels, value, norm, discounts, result):
    order = np.empty(longest_list(first, last, offsets), np.int64)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = list_targets(labels, start, stop, value, norm, discounts, order, result[start:stop])
        for row in range(start, stop):
            if n == 0 or np.isnan(labels[row]):
                result[row] = np.nan


@compiled
def list_targets(labels, start, stop, value, norm, discounts, order, targets):
    """Write the targets of a list, 0 where not observed; return how many are observed, 0 if the labels say nothing.

    `order` is scratch, as long as the list.
    """
    y = labels[start:stop]
    if value >= EXPONENTIAL:
        n, size = _exponentials(y, value == ATTENTION, targets)
    else:
        n, total, square = _gains(y, targets) if value == GAIN else _labels(y, targets)
        if norm == ONE:
            return n
        size = total if norm == SUM else np.sqrt(square)
        if total > 0.0 and not LEAST < size < MOST:
            size = _divide_by_the_largest(y, value, norm, targets)
        if total > 0.0 and norm == DCG:
            size = _ideal_dcg(labels, start, stop, discounts, order, targets)
    if size == 0.0:
        return 0
    share = 1.0 / size
    for j in range(y.size):
        targets[j] *= share
    return n


@summing
def _labels(y, targets):
    """The labels, their number, the sum of their sizes and that of their squares."""
    n, total, square = 0, 0.0, 0.0
    for j in range(y.size):
        targets[j] = y[j] if y[j] == y[j] else 0.0
    for j in range(y.size):
        n += y[j] == y[j]
        total += abs(targets[j])
        square += targets[j] * targets[j]
    return n, total, square


@summing
def _gains(y, targets):
    """The gains, the number of labels, the sum of the gains and that of their squares."""
    n, total, square = 0, 0.0, 0.0
    for j in range(y.size):
        targets[j] = exp2m1(y[j] if y[j] > 0.0 else 0.0)  # NaN is not
    for j in range(y.size):
        n += y[j] == y[j]
        total += targets[j]
        square += targets[j] * targets[j]
    return n, total, square


@summing
def _exponentials(y, attention, targets):
    """e^{y − highest}, the number of labels and the sum; 0 for attention where the label is not above 0."""
    n, floor = 0, 0.0 if attention else -np.inf
    for j in range(y.size):
        targets[j] = y[j] if y[j] > floor else -np.inf
        n += y[j] == y[j]
    top, total = highest(targets[: y.size]), 0.0
    if top == -np.inf:
        return n, 0.0
    for j in range(y.size):
        targets[j] = exp(targets[j] - top)
        total += targets[j]
    return n, total


@compiled
def highest(values):
    """The largest number, −∞ of none. Four at a time: a single chain of comparisons would wait for itself."""
    quarter = values.size // 4
    a = b = c = d = -np.inf
    for j in range(quarter):
        a = max(a, values[j])
        b = max(b, values[quarter + j])
        c = max(c, values[2 * quarter + j])
        d = max(d, values[3 * quarter + j])
    for j in range(4 * quarter, values.size):
        a = max(a, values[j])
    return max(max(a, b), max(c, d))


@inlined
def _divide_by_the_largest(y, value, norm, targets):
    """The targets again, now whatever the size of the labels; returns the norm."""
    top, largest, total, square = 0.0, 0.0, 0.0, 0.0
    for label in y:
        if label > top:
            top = label
    power = math.floor(top)
    for j in range(y.size):
        targets[j] = _scaled_gain(y[j], power) if value == GAIN else 0.0 if np.isnan(y[j]) else y[j]
        largest = max(largest, abs(targets[j]))
    for j in range(y.size):
        targets[j] /= largest
        total += targets[j]
        square += targets[j] ** 2
    return total if norm == SUM else np.sqrt(square)


@inlined
def _scaled_gain(label, power):
    """(2^y − 1) / 2^power."""
    if label > 60.0:  # the 1 is rounded away
        return np.exp2(label - power)
    return exp2m1(label) * np.exp2(-power) if label > 0.0 else 0.0


@inlined
def _ideal_dcg(labels, start, stop, discounts, order, targets):
    """The discounted sum of gains from the highest down."""
    n, total = sort_by_label(labels, start, stop, order), 0.0
    for j in range(n):
        gain = targets[order[j] - start]
        if gain == 0.0:
            break
        total += gain * discounts[j]
    return total
