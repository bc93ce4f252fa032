"""Discounted cumulative gain, plain and normalized."""

import math

from luce.compiled import compiled
from luce.kernels.place_sums import CONSTANT, EXPONENTIAL, IDEAL, SUM
from luce.metrics.base import NOTHING_RELEVANT, Metric, PlaceSum
from luce.metrics.gains import discounts, exponent, gain, mean_gain, unscaled
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


def _sum_of_gains(ranked: RankedLabels) -> float:
    return sum(ranked.gain(y) / math.log2(1 + r) for r, y in enumerate(ranked.top, 1))


def reference_dcg(ranked: RankedLabels) -> float:
    return _sum_of_gains(ranked) if ranked.relevant else math.nan


def reference_ndcg(ranked: RankedLabels) -> float:
    return ratio(_sum_of_gains(ranked), _sum_of_gains(ranked.ideal()))


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
)
