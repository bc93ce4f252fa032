"""Metrics that are linear in the gains of the items, Σ_r θ_r ρ(item at rank r): their discounts θ and gains ρ."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, selected_offsets
from luce.compiled import compiled
from luce.errors import DataError, LuceError
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.place_sums import BINARY, CONSTANT, EXPONENTIAL, IDEAL, LENGTH, LINEAR, TOTAL
from luce.metrics.base import PlaceSum
from luce.metrics.gains import exponent, gain
from luce.metrics.table import METRICS
from luce.metrics.table import metric as metric_named
from luce.options import is_row
from luce.threads import over_lists


def is_linear_metric(value: Any) -> bool:
    """Whether this names a linear metric, or is a row of discounts.

    >>> is_linear_metric("ndcg@10"), is_linear_metric("err"), is_linear_metric([1, 0.5])
    (True, False, True)
    """
    if isinstance(value, str):
        try:
            return metric_named(value).is_linear
        except LuceError:
            return False
    return is_row(value)


def best_first(labels: Floats, offsets: Integers, n_jobs: int | None = None) -> tuple[Integers, Integers]:
    """The observed rows of each list from the highest label down (M,), and their offsets (Q+1,).

    >>> best_first(np.array([0.0, 2.0, np.nan, 1.0]), np.array([0, 3, 4]))
    (array([1, 0, 3]), array([0, 2, 3]))
    """
    bounds = selected_offsets(~np.isnan(labels), offsets)
    order = np.empty(bounds[-1], dtype=np.int64)
    over_lists(_best_first, offsets, labels, bounds, results=[order], n_jobs=n_jobs)
    return order, bounds


def linear_gains(
    labels: Floats, offsets: Integers, metric: Any, gain: str = "exponential", n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """The gains ρ (N,) of items that stand from the highest label down in their lists, and the discounts θ (K,).

    Σ θ ρ is the metric, minus the metric where lower is better (arp). A row of discounts takes the gains of dcg.
    In a list where no order is better than another, because all gains are alike, they are 0.

    >>> linear_gains(np.array([1.0, 0.0, 3.0]), np.array([0, 2, 3]), "precision@2")
    (array([0.5, 0. , 0. ]), array([1., 1.]))
    """
    form, weights = linear_form(metric, int(np.diff(offsets).max(initial=0)), gain)
    gains = np.empty(len(labels))
    cutoff = len(weights) if isinstance(metric, str) and "@" in metric else 0
    settings = form.worth, form.divisor, cutoff
    over_lists(_linear_gains, offsets, labels, *settings, weights, results=[gains], n_jobs=n_jobs)
    beyond = np.flatnonzero(np.isinf(gains))
    if beyond.size:
        raise DataError(
            f"The gain 2^{labels[beyond[0]]:g} − 1 is beyond float64. Scale the labels, or use ndcg or linear gain."
        )
    return gains, weights


def linear_form(metric: Any, longest: int, gain: str = "exponential") -> tuple[PlaceSum, Floats]:
    """The sum over places that a linear metric is, and its discounts for lists of up to so many items.

    A row of discounts takes the gains of dcg.
    """
    named = metric_named(metric) if isinstance(metric, str) else METRICS["dcg"]
    form = named.place_sum
    assert form is not None
    if form.worth == EXPONENTIAL and named.parameter("gain", gain) == "linear":
        form = form._replace(worth=LINEAR)
    if not isinstance(metric, str):
        return form, np.asarray(metric, dtype=np.float64)
    return form, named.discounts(longest if named.cutoff is None else named.cutoff)


@compiled
def _best_first(first, last, offsets, labels, bounds, order):
    found = np.empty(longest_list(first, last, offsets), np.int64)
    for q in range(first, last):
        n = sort_by_label(labels, offsets[q], offsets[q + 1], found)
        order[bounds[q] : bounds[q] + n] = found[:n]


@compiled
def _linear_gains(first, last, offsets, labels, worth, divisor, cutoff, discounts, gains):
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        if start == stop:
            continue
        power = exponent(labels[start], worth == LINEAR) if divisor == IDEAL else 0.0
        norm = 1.0 if divisor == CONSTANT else 0.0
        if divisor == LENGTH:
            norm = float(cutoff if cutoff > 0 else stop - start)
        for row in range(start, stop):
            if worth == BINARY:
                gains[row] = 1.0 if labels[row] > 0.0 else 0.0
            else:
                gains[row] = gain(labels[row], power, worth == LINEAR)
            if divisor == IDEAL:
                norm += gains[row] * discounts[row - start] if row - start < len(discounts) else 0.0
            elif divisor == TOTAL:
                norm += gains[row]
        alike = gains[start] == gains[stop - 1]  # the highest and the lowest
        for row in range(start, stop):
            gains[row] = 0.0 if alike else gains[row] / norm
