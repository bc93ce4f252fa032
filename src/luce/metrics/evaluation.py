"""Evaluation: every list is sorted once by its scores, and every metric is measured on the sorted lists."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, as_floats, check_offsets, check_rows, list_blocks, read_only
from luce.data.ragged import Dataset, check_dataset
from luce.distributed import highest
from luce.errors import DataError, OptionError, unknown_name
from luce.metrics.base import Metric
from luce.metrics.exposure import RANKINGS, measure_fairness
from luce.metrics.gains import GAINS, discounts
from luce.metrics.ordering import NO_LIMIT, ranked_lists
from luce.metrics.over_ranks import ListValues, of_all_ranks
from luce.metrics.resampling import bootstrap_intervals
from luce.metrics.results import Empty, Results
from luce.metrics.table import Metrics, parse_metrics
from luce.threads import over_lists


class KernelOptions(NamedTuple):
    """What a metric's kernel may read besides the lists: cutoff (0 = none), parameters, logarithmic discounts."""

    cutoff: int
    linear: bool
    max_grade: float
    p: float
    discounts: Floats


def measure(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    metrics: Metrics = "ndcg@10",
    *,
    gain: str = "exponential",
    max_grade: float | None = None,
    item_groups: ArrayLike | None = None,
    ranking: str = "sampled",
    n_jobs: int | None = None,
) -> dict[str, Floats]:
    """The value of each metric for each list; `evaluate` on plain arrays.

    Parameters
    ----------
    scores : array-like of shape (N,)
        Higher ranks first; −∞ = not retrieved. Equal scores count as the average over their orders.
    labels : array-like of shape (N,)
        Relevance labels; NaN = not observed.
    offsets : array-like of shape (Q+1,)
        List q owns the rows offsets[q]:offsets[q+1].
    metrics : str, callable, or iterable of them
        As in `evaluate`.
    gain : {"exponential", "linear"}
        2^y − 1, or y. A label below 0 counts as 0.
    max_grade : float or None
        The highest grade of the scale, read by err; by default the largest label, and at least 1.
    item_groups : array-like of int of shape (N,) or None
        The group of each item, for metrics of groups.
    ranking : {"sampled", "sorted"}
        Whether metrics of exposure measure rankings sampled from the scores or items sorted by score.
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    dict of ndarray of shape (Q,)
        By the name of the metric; NaN for a list for which it is undefined.

    Examples
    --------
    >>> measure([3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0], [0, 3, 4], "mrr, ndcg")
    {'mrr': array([0.5, nan]), 'ndcg': array([0.659..., nan])}
    """
    wanted = parse_metrics(metrics)
    _check_gain(gain)
    if ranking not in RANKINGS:
        raise unknown_name("ranking", str(ranking), RANKINGS)
    labels = as_floats("labels", labels)
    if np.isinf(labels).any():
        raise DataError("labels must be finite, or NaN where not observed. Got an infinite one.")
    offsets = check_offsets(offsets, len(labels))
    scores = check_rows("scores", scores, len(labels))
    members = None if item_groups is None else as_floats("item_groups", item_groups, len(labels)).astype(np.int64)
    grades = {str(one): resolve_max_grade(one, labels, max_grade) for one in wanted}
    longest = int(np.diff(offsets).max(initial=0))
    table = discounts(min(longest, _depth(wanted)))
    values = {str(one): np.empty(len(offsets) - 1) for one in wanted}
    for one in wanted:
        if one.is_stochastic:
            kind = one.parameter("gain", gain)
            values[str(one)] = measure_fairness(
                one, scores, labels, offsets, gain=kind, item_groups=members, ranking=ranking, n_jobs=n_jobs
            )
        elif one.function is not None:
            values[str(one)] = _apply(one.function, scores, labels, offsets)
    for lists in list_blocks(offsets):
        bounds = offsets[lists.start : lists.stop + 1]
        rows, bounds = slice(bounds[0], bounds[-1]), bounds - bounds[0]
        ranked = ranked_lists(scores[rows], labels[rows], bounds, _depth(wanted), n_jobs)
        for one in wanted:
            if one.kernel is not None:
                is_linear = one.parameter("gain", gain) == "linear"
                grade, p = grades[str(one)] or 0.0, float(one.parameter("p"))
                options = KernelOptions(one.cutoff or 0, is_linear, grade, p, table)
                over_lists(one.kernel, bounds, ranked, options, results=[values[str(one)][lists]], n_jobs=n_jobs)
    return values


def evaluate(
    scores: ArrayLike,
    dataset: Dataset,
    metrics: Metrics = "ndcg@10",
    *,
    empty: Empty = "skip",
    gain: str = "exponential",
    max_grade: float | None = None,
    ranking: str = "sampled",
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Results:
    """Evaluate the rankings given by the scores of the items of each list of a dataset.

    Inside a group of processes each rank gives its own lists, and all get the results of all lists.

    Parameters
    ----------
    scores : array-like of shape (N,)
        Higher ranks first; −∞ = not retrieved. Equal scores count as the average over their orders.
    dataset : Dataset
        The labeled lists.
    metrics : str, callable, or iterable of them
        Names such as "ndcg@10, rbp(p=0.95)"; see `METRICS`. A function of the scores and labels of one list, without
        the items that have no label, returns its value, or NaN if there is nothing to measure; its `__name__` is the
        name of the metric.
    empty : {"skip", 0, 1}
        Whether lists for which a metric is undefined are left out, or the value they count as.
    gain : {"exponential", "linear"}
        2^y − 1, or y. A label below 0 counts as 0.
    max_grade : float or None
        The highest grade of the scale, read by err; by default the largest label, and at least 1.
    ranking : {"sampled", "sorted"}
        Whether metrics of exposure measure rankings sampled from the scores or items sorted by score.
    confidence : float
        The level of the confidence intervals, percentiles of means over lists drawn with replacement.
    n_bootstrap : int
        The number of bootstrap samples; 0 for no intervals.
    random_state : int or numpy.random.Generator
        The seed of the bootstrap.
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    Results

    Examples
    --------
    >>> data = Dataset(np.zeros((5, 1)), labels=[0, 2, 1, 0, 0], offsets=[0, 3, 5])
    >>> results = evaluate([3.0, 2.0, 1.0, 5.0, 4.0], data, "ndcg@2, err")
    >>> print(results)
    metric    mean  95 % interval  lists  skipped
    ndcg@2  0.5213              –      1        1
    err     0.3958              –      1        1
    err with max_grade 2
    >>> results.values["ndcg@2"]
    array([0.521..., nan])

    >>> def best_is_first(scores, labels):
    ...     return float(labels[scores.argmax()] == labels.max())
    >>> evaluate([3.0, 2.0, 1.0, 5.0, 4.0], data, ["mrr", best_is_first]).means
    {'mrr': 0.5, 'best_is_first': 0.5}
    """
    check_dataset(dataset, "evaluate")
    wanted = parse_metrics(metrics)
    _check_settings(empty, confidence, n_bootstrap)
    names = [str(one) for one in wanted]
    free = [one for one in wanted if "max_grade" in one.options and "max_grade" not in one.parameters]
    top = _highest_grade(free[0], dataset.labels, max_grade) if free else None
    item_groups = dataset.item_group_numbers() if any(one.needs_item_groups for one in wanted) else None
    settings: dict[str, Any] = {"gain": gain, "max_grade": top, "ranking": ranking, "n_jobs": n_jobs}
    found = measure(scores, dataset.labels, dataset.offsets, wanted, item_groups=item_groups, **settings)
    own = ListValues(np.stack(list(found.values()), axis=1), dataset.list_weights, dataset.query_ids)
    common = {"metrics": names, "empty": empty, "gain": gain, "max_grade": top, "ranking": ranking}
    values, weights, query_ids = of_all_ranks(own, **common, seed=repr(random_state))
    n_empty = np.isnan(values).sum(axis=0)
    if empty != "skip":
        values[np.isnan(values)] = empty
    intervals = bootstrap_intervals(values, weights, n_bootstrap, confidence, random_state)
    return Results(
        values={name: read_only(np.ascontiguousarray(column)) for name, column in zip(names, values.T, strict=True)},
        means={name: _mean(column, weights) for name, column in zip(names, values.T, strict=True)},
        intervals={name: (float(low), float(high)) for name, (low, high) in zip(names, intervals, strict=True)},
        n_empty=dict(zip(names, n_empty.tolist(), strict=True)),
        query_ids=query_ids,
        list_weights=weights,
        empty=empty,
        gain=gain,
        max_grade=top,
        ranking=ranking if any(one.is_stochastic for one in wanted) else None,
        confidence=confidence,
    )


def resolve_max_grade(metric: Metric, labels: Floats, max_grade: float | None) -> float | None:
    """The highest grade: as given, else the largest label and at least 1; None if the metric does not read it."""
    if "max_grade" not in metric.options:
        return None
    max_grade = metric.parameter("max_grade", max_grade)
    largest = float(np.fmax.reduce(labels, initial=0.0))
    if max_grade is None:
        return max(largest, 1.0)
    if isinstance(max_grade, bool) or not isinstance(max_grade, int | float | np.number) or not 0 <= max_grade < np.inf:
        raise OptionError(f"max_grade must be a finite number ≥ 0, the highest grade of the scale. Got {max_grade!r}.")
    if largest > max_grade:
        raise DataError(
            f"A label of {largest:g} is above max_grade {max_grade:g}, which was given or is the highest grade in "
            f"the training data of the model. Give the highest grade of the scale: max_grade={largest:g}, or "
            f"--max-grade {largest:g}."
        )
    return float(max_grade)


def _highest_grade(metric: Metric, labels: Floats, max_grade: float | None) -> float | None:
    """`resolve_max_grade` of the labels of all ranks."""
    return resolve_max_grade(metric, np.array([highest(float(np.fmax.reduce(labels, initial=0.0)))]), max_grade)


def _apply(function: Callable[[Floats, Floats], float], scores: Floats, labels: Floats, offsets: Integers) -> Floats:
    """The value of a function of the user for each list, of the items that have a label."""
    values = np.empty(len(offsets) - 1)
    observed = ~np.isnan(labels)
    for q, (start, stop) in enumerate(pairwise(offsets)):
        kept = observed[start:stop]
        found = function(scores[start:stop][kept], labels[start:stop][kept]) if kept.any() else np.nan
        if not isinstance(found, int | float | np.number | np.bool_):
            name = getattr(function, "__name__", "metric")
            raise OptionError(f"The metric {name} must return a number, or NaN. Got {found!r} for list {q + 1}.")
        values[q] = found
    return values


def _depth(metrics: Iterable[Metric]) -> int:
    return max(one.cutoff or NO_LIMIT for one in metrics)


def _mean(values: Floats, weights: Floats | None) -> float:
    measured = ~np.isnan(values)
    shares = measured.astype(np.float64) if weights is None else np.where(measured, weights, 0.0)
    total = shares.sum()
    if total == 0:
        return float("nan")
    counted = shares > 0
    return float(values[counted] @ shares[counted] / total)


def _check_gain(gain: str) -> None:
    if gain not in GAINS:
        raise unknown_name("gain", str(gain), GAINS)


def _check_settings(empty: Any, confidence: float, n_bootstrap: int) -> None:
    if empty not in ("skip", 0, 1):
        raise OptionError(
            f"empty must be 'skip', 0 or 1: the value of lists in which a metric is undefined. Got {empty!r}."
        )
    check_resampling(confidence, n_bootstrap)


def check_resampling(confidence: float, n_bootstrap: int) -> None:
    """An error for invalid settings of confidence intervals."""
    if not 0 < confidence < 1:
        raise OptionError(f"confidence must be between 0 and 1, such as 0.95. Got {confidence!r}.")
    if not isinstance(n_bootstrap, int | np.integer) or n_bootstrap < 0:
        raise OptionError(f"n_bootstrap must be an integer ≥ 0; 0 for no intervals. Got {n_bootstrap!r}.")
