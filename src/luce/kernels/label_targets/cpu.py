"""The targets of one list in vector loops, and in scaled arithmetic where float64 would overflow."""

import math

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import exp, exp2m1
from luce.kernels.label_order import FEW_GRADES, longest_list, merge_sort

LABEL, GAIN, EXPONENTIAL, ATTENTION = range(4)
ONE, SUM, LENGTH, DCG = range(4)
LEAST, MOST = 1e-150, 1e150
"""Norms between them have a reciprocal, and squares that neither overflow nor vanish."""


@compiled
def label_targets(first, last, offsets, labels, value, norm, discounts, result):
    scratch = target_scratch(longest_list(first, last, offsets))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = list_targets(labels[start:stop], value, norm, discounts, scratch, result[start:stop])
        for row in range(start, stop):
            if n == 0 or np.isnan(labels[row]):
                result[row] = np.nan


@inlined
def target_scratch(longest):
    """Workspace for the targets of lists of at most so many rows."""
    return np.empty(max(longest, FEW_GRADES), np.int64)


@compiled
def list_targets(y, value, norm, discounts, scratch, targets):
    """Write the targets of a list, 0 where not observed; return how many are observed, 0 if the labels say nothing.

    `scratch` is that of `target_scratch`.
    """
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
            size = _ideal_dcg(y, targets, discounts, scratch)
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
def _ideal_dcg(y, targets, discounts, scratch):
    """The discounted sum of gains from the highest down: grades are counted, other labels sorted."""
    n, top, only_grades, total = 0, 0, True, 0.0
    for grade in range(FEW_GRADES):
        scratch[grade] = 0
    for j in range(y.size):
        grade = int(y[j]) if 0.0 < y[j] < FEW_GRADES else 0  # neither NaN nor a label below 0 has a gain
        only_grades &= not y[j] > grade
        scratch[grade] += 1
        top = max(top, grade)
    if only_grades:
        for grade in range(top, 0, -1):
            gain = exp2m1(np.float64(grade))
            for place in range(n, n + scratch[grade]):
                total += gain * discounts[place]
            n += scratch[grade]
        return total
    for j in range(y.size):
        if targets[j] > 0.0:
            scratch[n] = j
            n += 1
    merge_sort(targets, scratch[:n])
    for place in range(n):
        total += targets[scratch[place]] * discounts[place]
    return total
