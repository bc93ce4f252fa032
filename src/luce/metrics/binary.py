"""Metrics of binary relevance: precision, recall, average precision, reciprocal rank and hit rate.

Equal scores count as the average over their orders, in closed form: every item of a block of equal scores is equally
likely to take each place of the block.
"""

import math

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled
from luce.kernels.place_sums import BINARY, CASCADE, COUNT, LENGTH, SUM, TOTAL
from luce.metrics import reference
from luce.metrics.base import NOTHING_RELEVANT, Metric, PlaceSum
from luce.metrics.gains import count_relevant
from luce.metrics.ordering import list_at
from luce.metrics.reference import RankedLabels, ratio


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
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if count_relevant(one.labels):
            values[q] = _relevant_within(one) / (options.cutoff or len(one.labels))


@compiled
def recall(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
        relevant = count_relevant(one.labels)
        values[q] = _relevant_within(one) / relevant if relevant else math.nan


@compiled
def average_precision(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
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
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = _first_relevant(one)[0] if count_relevant(one.labels) else math.nan


@compiled
def hit(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = _first_relevant(one)[1] if count_relevant(one.labels) else math.nan


def reciprocals(length: int) -> Floats:
    """1 / rank for the ranks 1 to `length`."""
    return 1 / np.arange(1.0, length + 1)


def reference_precision(ranked: RankedLabels) -> float:
    found = reference.count_relevant(ranked.top) / (ranked.cutoff or max(len(ranked.labels), 1))
    return found if ranked.relevant else math.nan


def reference_recall(ranked: RankedLabels) -> float:
    return ratio(reference.count_relevant(ranked.top), ranked.relevant)


def reference_average_precision(ranked: RankedLabels) -> float:
    precisions = [reference.count_relevant(ranked.top[:r]) / r for r, y in enumerate(ranked.top, 1) if y > 0]
    return ratio(sum(precisions), ranked.relevant)


def reference_reciprocal_rank(ranked: RankedLabels) -> float:
    return next((1 / r for r, y in enumerate(ranked.top, 1) if y > 0), 0.0) if ranked.relevant else math.nan


def reference_hit(ranked: RankedLabels) -> float:
    return float(reference.count_relevant(ranked.top) > 0) if ranked.relevant else math.nan


RECORDS = (
    Metric(
        name="precision",
        summary="The share of relevant items among the first k ranks, also if the list is shorter than k.",
        formula="#{relevant, r ≤ k} / k; without a cutoff k is the length of the list",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=precision,
        reference=reference_precision,
        place_sum=PlaceSum(SUM, BINARY, divisor=LENGTH),
    ),
    Metric(
        name="recall",
        summary="The share of the relevant items that are among the first k.",
        formula="#{relevant, r ≤ k} / #{relevant}",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=recall,
        reference=reference_recall,
        place_sum=PlaceSum(SUM, BINARY, divisor=TOTAL),
    ),
    Metric(
        name="map",
        summary="Average precision: the mean over the relevant items of the precision at their rank.",
        formula="Σ_{r ≤ k, relevant} precision@r / #{relevant}",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=average_precision,
        reference=reference_average_precision,
        place_sum=PlaceSum(COUNT, BINARY, reciprocals),
    ),
    Metric(
        name="mrr",
        summary="Reciprocal rank of the first relevant item.",
        formula="1 / min{r : relevant}, 0 if that is beyond k",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=reciprocal_rank,
        reference=reference_reciprocal_rank,
        place_sum=PlaceSum(CASCADE, BINARY, reciprocals),
    ),
    Metric(
        name="hit",
        summary="Whether a relevant item is among the first k.",
        formula="[min{r : relevant} ≤ k], 1 if so and 0 if not",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=hit,
        reference=reference_hit,
        place_sum=PlaceSum(CASCADE, BINARY),
    ),
)
