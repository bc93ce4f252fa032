"""Metrics of the top of a list, compiled; equal scores count as the average over their orders, in closed form.

A kernel is called as kernel(first, last, offsets, ranked, options, values); NaN means a list with nothing to measure.
Every member of a block of equal scores is as likely at each place of the block.
"""

import math
from typing import NamedTuple

from luce.arrays import Floats
from luce.compiled import compiled
from luce.metrics.gains import exponent, gain, unscaled
from luce.metrics.ordering import take


class Options(NamedTuple):
    """What a kernel may read besides the lists: cutoff (0 = none), the kind of gain, ERR's highest grade, discounts."""

    cutoff: int
    linear: bool
    max_grade: float
    discounts: Floats


@compiled
def count_relevant(labels):
    """The number of labels above zero."""
    count = 0
    for label in labels:
        count += label > 0
    return count


@compiled
def mean_gain(labels, power, linear):
    """The mean gain of a block; exact where its labels are equal."""
    first = gain(labels[0], power, linear)
    rest = 0.0
    for i in range(1, len(labels)):
        rest += gain(labels[i], power, linear) - first
    return first + rest / len(labels)


@compiled
def _discounted(one, power, options):
    total, start = 0.0, 0
    while start < one.limit:
        end = one.ends[start]
        share = 0.0
        for place in range(start, min(end, one.limit)):
            share += options.discounts[place]
        total += share * mean_gain(one.labels[start:end], power, options.linear)
        start = end
    return total


@compiled
def dcg(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if len(one.best) and one.best[0] > 0:
            power = exponent(one.best[0], options.linear)
            values[q] = unscaled(_discounted(one, power, options), power)


@compiled
def ndcg(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if len(one.best) and one.best[0] > 0:
            power = exponent(one.best[0], options.linear)
            ideal = 0.0
            for place in range(min(len(one.best), options.cutoff or len(one.best))):
                ideal += options.discounts[place] * gain(one.best[place], power, options.linear)
            values[q] = _discounted(one, power, options) / ideal


@compiled
def _relevant_within(one):
    """The expected number of relevant items within the limit."""
    total, start = 0.0, 0
    while start < one.limit:
        end = one.ends[start]
        relevant = count_relevant(one.labels[start:end])
        total += relevant if end <= one.limit else relevant * (one.limit - start) / (end - start)
        start = end
    return total


@compiled
def precision(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if count_relevant(one.labels):
            values[q] = _relevant_within(one) / (options.cutoff or len(one.labels))


@compiled
def recall(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        relevant = count_relevant(one.labels)
        values[q] = _relevant_within(one) / relevant if relevant else math.nan


@compiled
def average_precision(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        total, before, start = 0.0, 0, 0
        while start < one.limit:
            end = one.ends[start]
            size, relevant = end - start, count_relevant(one.labels[start:end])
            # Given a relevant item in the block, each other place of the block is relevant with this probability.
            density = (relevant - 1) / (size - 1) if size > 1 else 0.0
            for i in range(min(end, one.limit) - start):
                total += relevant / size * (before + 1 + i * density) / (start + i + 1)
            before += relevant
            start = end
        relevant = count_relevant(one.labels)
        values[q] = total / relevant if relevant else math.nan


@compiled
def _first_relevant(one):
    """Of the first relevant item: the mean of 1/rank, 0 beyond the limit; the probability of being within it."""
    start = 0
    while start < one.limit:
        end = one.ends[start]
        relevant = count_relevant(one.labels[start:end])
        if relevant:
            reciprocal, none_yet = 0.0, 1.0
            for place in range(start, min(end - relevant + 1, one.limit)):
                left = end - place
                reciprocal += none_yet * relevant / left / (place + 1)
                none_yet *= (left - relevant) / left
            return reciprocal, 1.0 - none_yet
        start = end
    return 0.0, 0.0


@compiled
def reciprocal_rank(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        values[q] = _first_relevant(one)[0] if count_relevant(one.labels) else math.nan


@compiled
def hit(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = take(q, offsets, ranked, options.cutoff)
        values[q] = _first_relevant(one)[1] if count_relevant(one.labels) else math.nan
