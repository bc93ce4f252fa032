"""Metrics of the whole list: average relevance position, sharp NDCG, pairwise disagreement and Kendall's tau."""

import itertools
import math

import numpy as np

from luce.arrays import Floats
from luce.compiled import compiled
from luce.kernels.place_sums import EXPONENTIAL, LABEL, LINEAR, PAIRS, SUM, TOTAL
from luce.metrics.base import NOTHING_RELEVANT, Metric, PlaceSum
from luce.metrics.gains import exponent, gain, mean_gain, unscaled
from luce.metrics.ordering import list_at
from luce.metrics.reference import RankedLabels, ratio


@compiled
def average_position(first, last, offsets, ranked, options, values):
    for q in range(first, last):
        one = list_at(q, offsets, ranked, 0)
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
        one = list_at(q, offsets, ranked, 0)
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
        one = list_at(q, offsets, ranked, 0)
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
        one = list_at(q, offsets, ranked, 0)
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


def _negative_ranks(length: int) -> Floats:
    return -np.arange(1.0, length + 1)


def reference_average_position(ranked: RankedLabels) -> float:
    weights = [max(y, 0.0) for y in ranked.labels]
    return ratio(sum(r * weight for r, weight in enumerate(weights, 1)), sum(weights))


def sharp_dcg(ranked: RankedLabels) -> float:
    """Σ_r (n − r) Gain(y_r) of one order."""
    return sum((len(ranked.labels) - r) * ranked.gain(y) for r, y in enumerate(ranked.labels, 1))


def reference_sharp_ndcg(ranked: RankedLabels) -> float:
    return ratio(sharp_dcg(ranked), sharp_dcg(ranked.ideal()))


def reference_disagreement(ranked: RankedLabels) -> float:
    gains = [ranked.gain(y) for y in ranked.labels]
    total = sum(max(below - above, 0.0) for above, below in itertools.combinations(gains, 2))
    return total if len(set(gains)) > 1 else math.nan


def reference_kendall_tau(ranked: RankedLabels) -> float:
    signs = [1 if above > below else -1 for above, below in itertools.combinations(ranked.labels, 2) if above != below]
    return ratio(sum(signs), len(signs))


RECORDS = (
    Metric(
        name="arp",
        summary="Average relevance position: the mean rank of the items, weighted by their labels.",
        formula="(Σ y_r r) / (Σ y_r), labels below 0 counting as 0",
        bounds=(1, math.inf),
        empty_when=NOTHING_RELEVANT,
        kernel=average_position,
        reference=reference_average_position,
        place_sum=PlaceSum(SUM, LINEAR, _negative_ranks, TOTAL),
        higher_is_better=False,
        takes_cutoff=False,
    ),
    Metric(
        name="sharp-ndcg",
        summary="NDCG with the sharper discount n − r of the position-aware ListMLE paper (2014).",
        formula="Σ (n − r) Gain(y_r) / (the same sum for the labels from high to low)",
        bounds=(0, 1),
        empty_when="no label is above 0, or there is one item",
        kernel=sharp_ndcg,
        reference=reference_sharp_ndcg,
        place_sum=PlaceSum(SUM, EXPONENTIAL, _negative_ranks),
        takes_cutoff=False,
        options=("gain",),
    ),
    Metric(
        name="disagreement",
        summary="Weighted pairwise disagreement (2014): the sum of the gain differences of all pairs in the wrong "
        "order.",
        formula="Σ_{i, j : y_i > y_j} (Gain(y_i) − Gain(y_j)) · [r_i > r_j]",
        bounds=(0, math.inf),
        empty_when="no two gains differ",
        kernel=disagreement,
        reference=reference_disagreement,
        place_sum=PlaceSum(SUM, EXPONENTIAL, _negative_ranks),
        higher_is_better=False,
        takes_cutoff=False,
        options=("gain",),
    ),
    Metric(
        name="kendall-tau",
        summary="Kendall's rank correlation of scores and labels, over pairs with different labels.",
        formula="(pairs in the correct order − pairs in the wrong order) / #{i, j : y_i > y_j}",
        bounds=(-1, 1),
        empty_when="no two labels differ",
        kernel=kendall_tau,
        reference=reference_kendall_tau,
        place_sum=PlaceSum(PAIRS, LABEL),
        takes_cutoff=False,
    ),
)
