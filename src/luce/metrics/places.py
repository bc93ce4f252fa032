"""Every metric as a sum over places or pairs, so that a swap of two neighbours changes it by a few products."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.compiled import compiled
from luce.errors import OptionError
from luce.kernels.line_search import CASCADE, COUNT, PAIRS, SUM, Places
from luce.metrics.evaluate import measure, resolve_max_grade
from luce.metrics.gains import discounts, exponent, gain
from luce.metrics.metric import Metric
from luce.threads import over_lists

LABEL, RELEVANT, GAIN, LINEAR_GAIN, STOP = range(5)
"""What an item is worth: its label, 1 if relevant, its gain, the label as gain, the probability to stop at it."""


class Form(NamedTuple):
    """The kind of sum, what an item is worth, and the discounts of the first n places; all up to a scale a list."""

    kind: int
    worth: int
    discounts: Callable[[int], Floats] = np.ones


def _reciprocal(length: int) -> Floats:
    return 1 / np.arange(1.0, length + 1)


def _falling(length: int) -> Floats:
    return np.arange(length, 0.0, -1)


FORMS: dict[str, Form] = {
    "dcg": Form(SUM, GAIN, discounts),
    "ndcg": Form(SUM, GAIN, discounts),
    "err": Form(CASCADE, STOP, _reciprocal),
    "precision": Form(SUM, RELEVANT),
    "recall": Form(SUM, RELEVANT),
    "map": Form(COUNT, RELEVANT, _reciprocal),
    "mrr": Form(CASCADE, RELEVANT, _reciprocal),
    "hit": Form(CASCADE, RELEVANT),
    "arp": Form(SUM, LINEAR_GAIN, _falling),
    "sharp-ndcg": Form(SUM, GAIN, _falling),
    "disagreement": Form(SUM, GAIN, _falling),
    "kendall-tau": Form(PAIRS, LABEL),
}
"""By the name of the metric. Falling discounts need not begin at the length of the list: a shift changes nothing."""


def places_of(
    metric: Metric,
    labels: Floats,
    offsets: Integers,
    *,
    gain: str = "exponential",
    max_grade: float | None = None,
    n_jobs: int | None = None,
) -> Places:
    """The sum over places that differs from the metric by a constant a list; of scale 0 where no order is better.

    The scale of a list is what the metric itself says of its best order and of its worst, beside what the sum says.

    >>> from luce.metrics import metric
    >>> places = places_of(metric("recall@1"), np.array([0.0, 1, 2]), np.array([0, 3]))
    >>> places.worths, places.scales, places.discounts
    (array([0., 1., 1.]), array([0.5]), array([1., 0., 0., 0.]))
    """
    if metric.name not in FORMS:
        raise OptionError(f"{metric} is no sum over the places of one order: it cannot be searched for along a weight.")
    form, offsets = FORMS[metric.name], frozen(offsets)
    longest = int(np.diff(offsets).max(initial=0))
    depth = longest if metric.cutoff is None else min(metric.cutoff, longest)
    table = np.zeros(longest + 1)
    table[:depth] = form.discounts(depth)
    top = resolve_max_grade([metric], labels, max_grade)
    worth = LINEAR_GAIN if form.worth == GAIN and gain == "linear" else form.worth
    worths, spans = np.empty(len(labels)), np.empty(len(offsets) - 1)
    over_lists(_fill_worths, offsets, worth, frozen(labels), top or 0.0, worths, n_jobs=n_jobs)
    over_lists(_fill_spans, offsets, form.kind, worths, table, spans, n_jobs=n_jobs)
    name, settings = str(metric), dict[str, Any](gain=gain, max_grade=top, n_jobs=n_jobs)
    best, worst = (measure(s * labels, labels, offsets, name, **settings)[name] for s in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = (best - worst) / spans
    return Places(form.kind, worths, np.where(np.isfinite(scales), scales, 0.0), table, max(depth, 1))


@compiled
def _fill_worths(first, last, offsets, worth, labels, max_grade, worths):
    for q in range(first, last):
        rows = labels[offsets[q] : offsets[q + 1]]
        top = rows.max() if len(rows) else 0.0
        power = max_grade if worth == STOP else exponent(top, worth == LINEAR_GAIN)
        for row in range(offsets[q], offsets[q + 1]):
            if worth == LABEL:
                worths[row] = labels[row]
            elif worth == RELEVANT:
                worths[row] = labels[row] > 0
            else:
                worths[row] = gain(labels[row], power, worth == LINEAR_GAIN)


@compiled
def _fill_spans(first, last, offsets, kind, worths, discounts, spans):
    """By how much the sum of the best order is above that of the worst."""
    for q in range(first, last):
        rising = np.sort(worths[offsets[q] : offsets[q + 1]])
        if kind == PAIRS:
            spans[q] = _unequal_pairs(rising)
        else:
            spans[q] = _value(kind, rising[::-1].copy(), discounts) - _value(kind, rising, discounts)


@compiled
def _unequal_pairs(rising):
    pairs, lower = 0, 0
    for i in range(1, len(rising)):
        if rising[i] > rising[i - 1]:
            lower = i
        pairs += lower
    return pairs


@compiled
def _value(kind, ordered, discounts):
    total, prefix = 0.0, 1.0
    for place in range(len(ordered)):
        total += discounts[place] * ordered[place] * prefix
        if kind == CASCADE:
            prefix *= 1.0 - ordered[place]
        elif kind == COUNT:
            prefix += ordered[place]
    return total
