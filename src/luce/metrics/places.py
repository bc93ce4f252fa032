"""A metric as a sum over the places or pairs of given lists, for line search and for expectations over rankings."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.errors import OptionError
from luce.kernels.place_sums import BINARY, CASCADE, COUNT, EXPONENTIAL, LABEL, LINEAR, PAIRS, STOP, Places
from luce.metrics.base import Metric
from luce.metrics.evaluation import measure, resolve_max_grade
from luce.metrics.gains import exponent, gain
from luce.threads import over_lists


def places_of(
    metric: Metric,
    labels: Floats,
    offsets: Integers,
    *,
    gain: str = "exponential",
    max_grade: float | None = None,
    n_jobs: int | None = None,
) -> Places:
    """The sum over places that differs from the metric by a constant per list; its scale is 0 where all orders tie.

    The scale of a list is the range of the metric between the best and the worst order, divided by that of the sum.

    >>> from luce.metrics import metric
    >>> places = places_of(metric("recall@1"), np.array([0.0, 1, 2]), np.array([0, 3]))
    >>> places.worths, places.scales, places.discounts
    (array([0., 1., 1.]), array([0.5]), array([1., 0., 0., 0.]))
    """
    form = metric.place_sum
    if form is None:
        raise OptionError(f"{metric} is not a sum over the ranks of one order: coordinate ascent cannot maximize it.")
    longest = int(np.diff(offsets).max(initial=0))
    depth = longest if metric.cutoff is None else min(metric.cutoff, longest)
    table = np.zeros(longest + 1)
    table[:depth] = metric.discounts(depth)
    gain = metric.parameter("gain", gain)
    top = resolve_max_grade(metric, labels, max_grade)
    worth = LINEAR if form.worth == EXPONENTIAL and gain == "linear" else form.worth
    worths, spans = np.empty(len(labels)), np.empty(len(offsets) - 1)
    over_lists(_fill_worths, offsets, worth, labels, top or 0.0, results=[worths], n_jobs=n_jobs)
    over_lists(_fill_spans, offsets, form.terms, worths, table, results=[spans], n_jobs=n_jobs)
    name, settings = str(metric), dict[str, Any](gain=gain, max_grade=top, n_jobs=n_jobs)
    best, worst = (measure(s * labels, labels, offsets, name, **settings)[name] for s in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = (best - worst) / spans
    return Places(form.terms, worths, np.where(np.isfinite(scales), scales, 0.0), table, max(depth, 1))


@compiled
def _fill_worths(first, last, offsets, worth, labels, max_grade, worths):
    for q in range(first, last):
        rows = labels[offsets[q] : offsets[q + 1]]
        top = rows.max() if len(rows) else 0.0
        power = max_grade if worth == STOP else exponent(top, worth == LINEAR)
        for row in range(offsets[q], offsets[q + 1]):
            if worth == LABEL:
                worths[row] = labels[row]
            elif worth == BINARY:
                worths[row] = labels[row] > 0
            else:
                worths[row] = gain(labels[row], power, worth == LINEAR)


@compiled
def _fill_spans(first, last, offsets, terms, worths, discounts, spans):
    """The sum of the best order minus that of the worst."""
    for q in range(first, last):
        rising = np.sort(worths[offsets[q] : offsets[q + 1]])
        if terms == PAIRS:
            spans[q] = _unequal_pairs(rising)
        else:
            spans[q] = _value(terms, rising[::-1].copy(), discounts) - _value(terms, rising, discounts)


@compiled
def _unequal_pairs(rising):
    pairs, lower = 0, 0
    for i in range(1, len(rising)):
        if rising[i] > rising[i - 1]:
            lower = i
        pairs += lower
    return pairs


@compiled
def _value(terms, ordered, discounts):
    total, prefix = 0.0, 1.0
    for place in range(len(ordered)):
        total += discounts[place] * ordered[place] * prefix
        if terms == CASCADE:
            prefix *= 1.0 - ordered[place]
        elif terms == COUNT:
            prefix += ordered[place]
    return total
