"""Expected reciprocal rank: a reader goes down the list and stops at an item with a probability given by its grade."""

import math

import numpy as np

from luce.compiled import compiled, inlined
from luce.kernels.place_sums import CASCADE, STOP
from luce.metrics.base import NOTHING_RELEVANT, Metric, PlaceSum
from luce.metrics.binary import reciprocals
from luce.metrics.gains import count_relevant, gain
from luce.metrics.ordering import list_at
from luce.metrics.reference import RankedLabels


@compiled
def expected_reciprocal_rank(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, options.cutoff)
        values[q] = _read_down(one, options.max_grade) if count_relevant(one.labels) else math.nan


@inlined
def _read_down(one, max_grade):
    total, reaching, start = 0.0, 1.0, np.int64(0)  # a literal 0 would compile another `_read_block`
    while start < one.limit:
        end = one.ends[start]
        if end == start + 1:
            stop = gain(one.labels[start], max_grade, False)
            total += reaching * stop / end
            reaching *= 1.0 - stop
        else:
            value, passing = _read_block(one.labels[start:end], start, one.limit - start, max_grade)
            total += reaching * value
            reaching *= passing
        start = end
    return total


@compiled
def _read_block(labels, before, limit, max_grade):
    """The mean of 1/rank at which a reader stops in a block of equal scores, and the probability of passing all of it.

    The order of the relevant items among themselves and the places they take are independent. So it is the sum over
    the places of 1/rank, times P(the item there is relevant, after i relevant ones), times P(passing i, stopping next).
    """
    size, relevant = len(labels), count_relevant(labels)
    stops, passing, least = np.empty(relevant), 1.0, 1.0
    at = 0
    for label in labels:
        if label > 0:
            stops[at] = gain(label, max_grade, False)
            passing *= 1.0 - stops[at]
            least = min(least, stops[at])
            at += 1
    stopping = _stopping(stops, min(limit, relevant, _depth(least)))
    total = 0.0
    seen = np.zeros(len(stopping))  # seen[i] = P(i relevant items in the places so far)
    seen[:1] = 1.0
    for t in range(min(size, limit)):
        here = 0.0
        for i in range(len(stopping) - 1, -1, -1):
            here += seen[i] * (relevant - i) * stopping[i]
            seen[i] *= (size - t - relevant + i) / (size - t)
            if i > 0:
                seen[i] += seen[i - 1] * (relevant - i + 1) / (size - t)
        total += here / (size - t) / (before + t + 1)
    return total, passing


@inlined
def _depth(least):
    """How many relevant items, each stopping with probability ≥ least, fewer than one reader in 10^20 passes."""
    if least >= 1.0:
        return 1
    if least < 1e-12:
        return 2**62
    return math.ceil(-46.1 / math.log1p(-least)) + 1


@inlined
def _stopping(stops, depth):
    """stopping[i] = P(passing the first i, stopping at the next) over all orders of the items, for i < depth.

    Items join one at a time; the newcomer is after the first i + 1, among the first i, or the next. No term is below 0.
    """
    stopping, passed = np.zeros(depth), np.zeros(depth)  # passed[i] = P(passing i items chosen at random)
    passed[:1] = 1.0
    for joined in range(len(stops)):
        n, stop = joined + 1, stops[joined]
        for i in range(min(n, depth - 1), -1, -1):
            stopping[i] = (stopping[i] * max(n - i - 1, 0) + stop * passed[i]) / n
            passed[i] = passed[i] * (n - i) / n
            if i > 0:
                stopping[i] += (1.0 - stop) * stopping[i - 1] * i / n
                passed[i] += (1.0 - stop) * passed[i - 1] * i / n
    return stopping


def reference_err(ranked: RankedLabels) -> float:
    total, reaching = 0.0, 1.0
    for r, y in enumerate(ranked.top, 1):
        stop = (2.0 ** max(y, 0.0) - 1) / 2.0**ranked.max_grade
        total += reaching * stop / r
        reaching *= 1 - stop
    return total if ranked.relevant else math.nan


RECORDS = (
    Metric(
        name="err",
        summary="Expected reciprocal rank: the reader goes down the list and stops at a satisfying item.",
        formula="Σ_{r ≤ k} R_r/r · Π_{j < r} (1 − R_j), R = (2^y − 1) / 2^max_grade",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=expected_reciprocal_rank,
        reference=reference_err,
        place_sum=PlaceSum(CASCADE, STOP, reciprocals),
        options=("max_grade",),
    ),
)
