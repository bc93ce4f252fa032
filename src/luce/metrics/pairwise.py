"""Metrics of the whole list, of places and of pairs, compiled; equal scores count as the average over their orders."""

import math

import numpy as np

from luce.compiled import compiled
from luce.metrics.gains import exponent, gain, unscaled
from luce.metrics.listwise import mean_gain
from luce.metrics.ordering import take


@compiled
def average_position(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, 0)
        n, weighted, total, start = len(one.labels), 0.0, 0.0, 0
        power = exponent(one.best[0], True) if n else 0.0
        while start < n:
            end = one.ends[start]
            for place in range(start, end):
                weight = gain(one.labels[place], power, True)
                weighted += weight * (start + 1 + end) / 2
                total += weight
            start = end
        values[q] = weighted / total if total > 0 else math.nan


@compiled
def sharp_ndcg(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, 0)
        n, reached, ideal, start = len(one.labels), 0.0, 0.0, 0
        power = exponent(one.best[0], options.linear) if n else 0.0
        while start < n:
            end = one.ends[start]
            reached += (
                (end - start) * (n - (start + 1 + end) / 2) * mean_gain(one.labels[start:end], power, options.linear)
            )
            start = end
        for place in range(n):
            ideal += (n - 1 - place) * gain(one.best[place], power, options.linear)
        values[q] = reached / ideal if ideal > 0 else math.nan


@compiled
def disagreement(first, last, offsets, ranked, options, values):
    """The sum over pairs is what the gains down to each place fall short of the best order's (Theorem 3 of 2014)."""
    for q in range(first, last):
        one = take(q, offsets, ranked, 0)
        n = len(one.labels)
        values[q] = math.nan
        if n == 0 or max(one.best[0], 0.0) == max(one.best[n - 1], 0.0):
            continue
        power = exponent(one.best[0], options.linear)
        total, short, start = 0.0, 0.0, 0
        while start < n:
            end = one.ends[start]
            mean = mean_gain(one.labels[start:end], power, options.linear)
            for place in range(start, end):
                short += gain(one.best[place], power, options.linear) - mean
                total += short
            start = end
        values[q] = unscaled(max(total, 0.0), power)


@compiled
def kendall_tau(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, 0)
        grades, pairs = _grades(one.best)
        counts = np.zeros(len(grades) + 1, dtype=np.int64)  # a Fenwick tree: items above the block, by grade
        agreeing, start = 0, 0
        while start < len(one.labels):
            end = one.ends[start]
            for place in range(start, end):
                grade = np.searchsorted(grades, -one.labels[place])
                agreeing += _count(counts, grade) - (start - _count(counts, grade + 1))
            for place in range(start, end):
                _add(counts, np.searchsorted(grades, -one.labels[place]))
            start = end
        values[q] = agreeing / pairs if pairs else math.nan


@compiled
def _grades(best):
    """The different labels from high to low, negated so that they rise; the number of pairs with different labels."""
    grades = np.empty(len(best))
    n_grades, pairs, start = 0, 0, 0
    for place in range(len(best)):
        if place == 0 or best[place] != best[place - 1]:
            grades[n_grades] = -best[place]
            n_grades += 1
            start = place
        pairs += start
    return grades[:n_grades], pairs


@compiled
def _count(counts, grade):
    """How many were added of the grades before this one."""
    total = 0
    while grade > 0:
        total += counts[grade]
        grade &= grade - 1
    return total


@compiled
def _add(counts, grade):
    grade += 1
    while grade < len(counts):
        counts[grade] += 1
        grade += grade & -grade
