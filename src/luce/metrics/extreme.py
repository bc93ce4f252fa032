"""LABEL_METRICS, the table of metrics of the first k labels predicted for a row, and their evaluation."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, check_rows, list_of_row, read_only
from luce.data.extreme import TaggedData
from luce.distributed import overall_mean
from luce.errors import DataError, OptionError
from luce.metrics.base import Metric
from luce.metrics.evaluation import check_resampling
from luce.metrics.gains import discounts
from luce.metrics.over_ranks import ListValues, of_all_ranks
from luce.metrics.resampling import bootstrap_intervals
from luce.metrics.results import Results
from luce.metrics.table import metric, parse_metrics

A, B = 0.55, 1.5
"""Constants of the propensity model, as published results on most datasets use them."""


EMPTY = "no label is relevant"


class Hits(NamedTuple):
    """The gains of the first k places of all rows, and the highest possible: (N, k) each.

    gains: the gain of each place, 0 where its label is not relevant. weighted: divided by the propensity of the label.
    best, best_weighted: the highest gains of each row, and the highest weighted ones.
    """

    gains: Floats
    weighted: Floats
    best: Floats
    best_weighted: Floats


@dataclass(frozen=True)
class LabelMetric(Metric):
    """A metric of the first k labels predicted for each row; an entry of `LABEL_METRICS`.

    Attributes
    ----------
    label_function : callable
        `Hits` → the value (N,) of each row.
    is_graded : bool
        Whether a relevant label of grade y has the gain 2^y − 1, and not 1.
    """

    label_function: Callable[[Hits], Floats] = field(kw_only=True)
    is_graded: bool = False

    def facts(self) -> dict[str, Any]:
        """The record as JSON values, as the command line and the documentation show it."""
        own = {
            "measured on": "the first k labels predicted for a row",
            "lists left out": f"none; 0 if {EMPTY}",
        }
        return super().facts() | own


def _precision(hits: Hits) -> Floats:
    return hits.gains.mean(axis=1)


def _ndcg(hits: Hits) -> Floats:
    falling = discounts(hits.gains.shape[1])
    return _over(hits.gains @ falling, hits.best @ falling)


def _psp(hits: Hits) -> Floats:
    return _over(hits.weighted.mean(axis=1), np.full(len(hits.gains), overall_mean(hits.best_weighted)))


def _psndcg(hits: Hits) -> Floats:
    falling = discounts(hits.gains.shape[1])
    ideal = hits.best @ falling
    found, best = (_over(each @ falling, ideal) for each in (hits.weighted, hits.best_weighted))
    return _over(found, np.full(len(found), overall_mean(best)))


def _over(found: Floats, best: Floats) -> Floats:
    """The ratio; 0 where there was nothing to find."""
    return np.divide(found, best, out=np.zeros_like(found), where=best > 0)


BEST = "divided by the mean over rows of what the best order attains"
_TABLE = (
    LabelMetric(
        name="precision",
        summary="The share of relevant labels among the first k.",
        formula="#{relevant, r ≤ k} / k",
        bounds=(0, 1),
        empty_when=EMPTY,
        label_function=_precision,
    ),
    LabelMetric(
        name="ndcg",
        summary="Normalized discounted cumulative gain of the first k labels.",
        formula="Σ_{r ≤ k} (2^{y_r} − 1) / log2(1 + r), divided by that of the best order",
        bounds=(0, 1),
        empty_when=EMPTY,
        label_function=_ndcg,
        is_graded=True,
    ),
    LabelMetric(
        name="psp",
        summary="Propensity-scored precision: relevant labels that are rare in the training data count more.",
        formula=f"Σ_{{relevant, r ≤ k}} 1 / (k p_r), {BEST}; p = 1 / (1 + C (n + B)^−A), C = (log N − 1)(B + 1)^A",
        bounds=(0, math.inf),
        empty_when=EMPTY,
        label_function=_psp,
        options=("propensities",),
    ),
    LabelMetric(
        name="psndcg",
        summary="Propensity-scored NDCG: the gains of labels that are rare in the training data count more.",
        formula=f"Σ_{{r ≤ k}} (2^{{y_r}} − 1) / (p_r log2(1 + r)), divided by the row's ideal DCG, {BEST}",
        bounds=(0, math.inf),
        empty_when=EMPTY,
        label_function=_psndcg,
        is_graded=True,
        options=("propensities",),
    ),
)
LABEL_METRICS: dict[str, LabelMetric] = {entry.name: entry for entry in _TABLE}


def label_metric(name: str) -> LabelMetric:
    """The label metric of a name with a cutoff.

    Parameters
    ----------
    name : str
        A name such as "psp@5".

    Returns
    -------
    LabelMetric

    Examples
    --------
    >>> str(label_metric("Precision@3"))
    'precision@3'
    """
    named = metric(name, LABEL_METRICS)
    if named.cutoff is None:
        raise OptionError(f"A metric for labels needs a cutoff, such as '{named.name}@5'. Got {name!r}.")
    return replace(LABEL_METRICS[named.name], cutoff=named.cutoff)


def propensities(label_counts: ArrayLike, n_rows: int, *, a: float = A, b: float = B) -> Floats:
    """The probability that a relevant label was observed, by the number n of its training rows.

    p = 1 / (1 + C (n + b)^−a), C = (log N − 1)(b + 1)^a, N training rows (Jain, Prabhu and Varma 2016).

    Parameters
    ----------
    label_counts : array-like of shape (L,)
        The number of training rows of each label.
    n_rows : int
        The number of training rows.
    a, b : float
        Constants of the model.

    Returns
    -------
    ndarray of shape (L,)

    Examples
    --------
    >>> propensities([0, 10, 1000], 10_000).round(3)
    array([0.084, 0.22 , 0.767])
    """
    counts = check_rows("label_counts", label_counts)
    if counts.size and counts.min() < 0:
        raise DataError(f"label_counts must not be negative. Got {counts.min():g}.")
    if not (n_rows >= 1 and a >= 0 and b > 0):
        raise OptionError(f"Propensities need at least one training row, a ≥ 0 and b > 0. Got {n_rows}, {a}, {b}.")
    scale = max(0.0, math.log(n_rows) - 1) * (b + 1) ** a  # with one or two rows the model would pass 1
    return 1 / (1 + scale * (counts + b) ** -a)


def measure_labels(
    ranking: ArrayLike,
    data: TaggedData,
    metrics: str | Iterable[str] = "precision@5",
    *,
    propensities: ArrayLike | None = None,
) -> dict[str, Floats]:
    """The value of each label metric for each row; their mean is the value that papers report.

    Parameters
    ----------
    ranking : array-like of int of shape (N, K)
        The first K labels predicted for each row, best first; −1 = none.
    data : TaggedData
        The rows with their relevant labels; a row without any counts as 0.
    metrics : str or iterable of str
        Names such as "precision@5, psp@5"; see `LABEL_METRICS`.
    propensities : array-like of shape (L,) or None
        Of the labels, for psp and psndcg, whose values are divided by the mean of the best attainable.

    Returns
    -------
    dict of ndarray of shape (N,)

    Examples
    --------
    >>> data = TaggedData([[1.0], [1.0]], [[0, 1, 1], [1, 0, 0]])
    >>> measure_labels([[1, 0], [1, 0]], data, "precision@1, precision@2")
    {'precision@1': array([1., 0.]), 'precision@2': array([0.5, 0.5])}
    """
    wanted = _wanted(metrics)
    predicted = _checked_ranking(ranking, data, max(one.cutoff or 1 for one in wanted))
    if propensities is None and any(one.options for one in wanted):
        raise OptionError(f"{', '.join(map(str, wanted))}: the propensity-scored ones need propensities=….")
    grades, weights = data.labels.data, _weights(propensities, data)
    gains = {True: np.exp2(grades) - 1, False: np.ones_like(grades)}
    return {
        str(one): one.label_function(_hits(predicted[:, : one.cutoff], data, gains[one.is_graded], weights))
        for one in wanted
    }


def evaluate_labels(
    ranking: ArrayLike,
    data: TaggedData,
    metrics: str | Iterable[str] = "precision@1, precision@3, precision@5",
    *,
    propensities: ArrayLike | None = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    random_state: Any = 0,
) -> Results:
    """Evaluate the labels predicted for rows, with means and confidence intervals.

    Inside a group of processes each rank gives its own rows, and all get the results of all rows.

    Parameters
    ----------
    ranking : array-like of int of shape (N, K)
        The first K labels predicted for each row, best first; −1 = none.
    data : TaggedData
        The rows with their relevant labels; a row without any counts as 0.
    metrics : str or iterable of str
        Names such as "precision@5, psp@5"; see `LABEL_METRICS`.
    propensities : array-like of shape (L,) or None
        Of the labels, for psp and psndcg: `propensities(…)` of the training labels.
    confidence : float
        The level of the confidence intervals.
    n_bootstrap : int
        The number of bootstrap samples; 0 for no intervals.
    random_state : int or numpy.random.Generator
        The seed of the bootstrap.

    Returns
    -------
    Results

    Examples
    --------
    >>> data = TaggedData([[1.0], [1.0]], [[0, 1, 1], [1, 0, 0]])
    >>> print(evaluate_labels([[1, 0], [1, 0]], data, "precision@1, ndcg@2", n_bootstrap=0))
    metric         mean  95 % interval  lists  empty, as 0
    precision@1  0.5000              –      2            0
    ndcg@2       0.6220              –      2            0
    """
    check_resampling(confidence, n_bootstrap)
    found = measure_labels(ranking, data, metrics, propensities=propensities)
    own = ListValues(np.stack(list(found.values()), axis=1), None, pa.array(data.sizes))
    values, _, sizes = of_all_ranks(own, metrics=list(found), seed=repr(random_state))
    intervals = bootstrap_intervals(values, None, n_bootstrap, confidence, random_state)
    return Results(
        values={name: read_only(np.ascontiguousarray(column)) for name, column in zip(found, values.T, strict=True)},
        means={name: float(each.mean()) if len(each) else math.nan for name, each in zip(found, values.T, strict=True)},
        intervals={name: (float(low), float(high)) for name, (low, high) in zip(found, intervals, strict=True)},
        n_empty=dict.fromkeys(found, int(np.count_nonzero(sizes.to_numpy() == 0))),
        query_ids=pa.array(np.arange(1, len(values) + 1)),
        list_weights=None,
        empty=0,
        gain="exponential",
        max_grade=None,
        ranking=None,
        confidence=confidence,
    )


def _wanted(metrics: str | Iterable[str]) -> tuple[LabelMetric, ...]:
    return tuple(label_metric(str(one)) for one in parse_metrics(metrics, LABEL_METRICS))


def _weights(given: ArrayLike | None, data: TaggedData) -> Floats:
    """One over the propensity of each relevant label, row after row."""
    if given is None:
        return np.ones_like(data.labels.data)
    found = check_rows("propensities", given)
    if len(found) != data.n_labels or not (found > 0).all():
        raise DataError(f"propensities must be {data.n_labels:,} numbers above 0. Got {len(found):,}.")
    return 1 / found[data.labels.indices]


def _checked_ranking(ranking: ArrayLike, data: TaggedData, depth: int) -> Integers:
    """The ranking as integers, `depth` columns wide."""
    given = np.asarray(ranking)
    if given.ndim != 2 or len(given) != data.n_rows or given.dtype.kind not in "iu":
        raise DataError(
            f"ranking must have {data.n_rows:,} rows of label numbers. Got {given.dtype} of shape {given.shape}."
        )
    if given.shape[1] < min(depth, data.n_labels):
        raise DataError(f"The ranking has {given.shape[1]} labels per row; the metrics need {depth}.")
    result = given[:, :depth].astype(np.int64)
    if result.size and (result.min() < -1 or result.max() >= data.n_labels):
        raise DataError(f"ranking must contain labels from 0 to {data.n_labels - 1:,}, or −1 for none.")
    ordered = np.sort(result, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise DataError("ranking must not contain a label twice in a row.")
    return np.pad(result, ((0, 0), (0, depth - result.shape[1])), constant_values=-1)


def _hits(ranking: Integers, data: TaggedData, gains: Floats, weights: Floats) -> Hits:
    labels, k = data.labels, ranking.shape[1]
    rows = list_of_row(labels.indptr.astype(np.int64))
    weighted = gains * weights
    keys = rows * data.n_labels + labels.indices  # rising, as the labels of a row are
    asked = np.arange(data.n_rows)[:, None] * data.n_labels + ranking
    place = np.searchsorted(keys, asked)
    # One entry is appended for labels that are not relevant.
    place[(np.append(keys, -1)[place] != asked) | (ranking < 0)] = len(keys)
    found = (np.append(each, 0.0)[place] for each in (gains, weighted))
    return Hits(*found, *(_highest(each, rows, labels.indptr, k) for each in (gains, weighted)))


def _highest(values: Floats, rows: Integers, starts: Integers, k: int) -> Floats:
    """The k highest values of each row, high to low, 0 where it has fewer."""
    result = np.zeros((len(starts) - 1, k))
    order = np.lexsort((-values, rows))
    place = np.arange(len(values)) - starts[rows]
    top = place < k
    result[rows[top], place[top]] = values[order][top]
    return result
