"""Discounted cumulative gain, plain and normalized, and rank-biased precision."""

import math

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled
from luce.kernels.place_sums import BINARY, CONSTANT, EXPONENTIAL, IDEAL, SUM
from luce.metrics.base import NOTHING_RELEVANT, Metric, PlaceSum
from luce.metrics.gains import count_relevant, discounts, exponent, gain, mean_gain, unscaled
from luce.metrics.ordering import list_at
from luce.metrics.reference import RankedLabels, ratio


@compiled
def _discounted(one, power, options):
    """The DCG of a list in units of 2^power."""
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
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if len(one.best) and one.best[0] > 0:
            power = exponent(one.best[0], options.linear)
            values[q] = unscaled(_discounted(one, power, options), power)


@compiled
def ndcg(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = math.nan
        if len(one.best) and one.best[0] > 0:
            power = exponent(one.best[0], options.linear)
            ideal = 0.0
            for place in range(min(len(one.best), options.cutoff or len(one.best))):
                ideal += options.discounts[place] * gain(one.best[place], power, options.linear)
            values[q] = _discounted(one, power, options) / ideal


@compiled
def rank_biased_precision(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
        total, reaching, start = 0.0, 1.0, 0
        while start < one.limit:
            end = one.ends[start]
            share = count_relevant(one.labels[start:end]) / (end - start)
            for _ in range(start, min(end, one.limit)):
                total += share * reaching
                reaching *= options.p
            start = end
        values[q] = (1.0 - options.p) * total if count_relevant(one.labels) else math.nan


def persistence(length: int, p: float) -> Floats:
    """(1 − p) p^(rank − 1): how much of the attention of a reader goes to each rank.

    >>> persistence(3, 0.5)
    array([0.5  , 0.25 , 0.125])
    """
    return (1 - p) * p ** np.arange(length, dtype=np.float64)


def _sum_of_gains(ranked: RankedLabels) -> float:
    return sum(ranked.gain(y) / math.log2(1 + r) for r, y in enumerate(ranked.top, 1))


def reference_dcg(ranked: RankedLabels) -> float:
    return _sum_of_gains(ranked) if ranked.relevant else math.nan


def reference_ndcg(ranked: RankedLabels) -> float:
    return ratio(_sum_of_gains(ranked), _sum_of_gains(ranked.ideal()))


def reference_rank_biased_precision(ranked: RankedLabels) -> float:
    attention = [(1 - ranked.p) * ranked.p ** (r - 1) for r, y in enumerate(ranked.top, 1) if y > 0]
    return sum(attention) if ranked.relevant else math.nan


RECORDS = (
    Metric(
        name="dcg",
        summary="Discounted cumulative gain: the sum of the gains, each divided by the logarithm of 1 + rank.",
        formula="Σ_{r ≤ k} Gain(y_r) / log2(1 + r), Gain(y) = 2^y − 1, or y for linear gain",
        bounds=(0, math.inf),
        empty_when=NOTHING_RELEVANT,
        kernel=dcg,
        reference=reference_dcg,
        place_sum=PlaceSum(SUM, EXPONENTIAL, discounts, CONSTANT),
        options=("gain",),
    ),
    Metric(
        name="ndcg",
        summary="Normalized discounted cumulative gain: dcg divided by that of the best order.",
        formula="dcg@k / (dcg@k of the labels from high to low)",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=ndcg,
        reference=reference_ndcg,
        place_sum=PlaceSum(SUM, EXPONENTIAL, discounts, IDEAL),
        options=("gain",),
    ),
    Metric(
        name="rbp",
        summary="Rank-biased precision: a reader goes on from each item to the next with probability p.",
        formula="(1 − p) Σ_{r ≤ k, relevant} p^{r − 1}",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=rank_biased_precision,
        reference=reference_rank_biased_precision,
        place_sum=PlaceSum(SUM, BINARY, persistence, CONSTANT),
        options=("p",),
    ),
)
