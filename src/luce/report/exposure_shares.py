"""Shares of exposure against shares of items and merit, by grade and by group, in sampled and in sorted rankings."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data.ragged import Dataset
from luce.errors import DataError
from luce.metrics.exposure import RANKINGS, exposures_of, merits_of
from luce.metrics.fairness import sums
from luce.report.formatting import number

FEW_GRADES, BINS, MOST_GROUPS = 10, 5, 20
"""So many grades get a row each, more are put into bins of about equally many items; the largest groups get a row."""


class Received(NamedTuple):
    """What some of the items get in one kind of ranking.

    of_exposure: the mean over lists of their share of the exposure of the list; error: its standard error.
    exposure_per_merit: of_exposure / of_merit, 1 where exposure is in proportion to merit.
    recall: the share of the relevant ones that are among the places seen.
    impact_ratio: of a group, of_exposure / of_items relative to the group where that is highest, with its standard
    error; merit_impact_ratio: the same for of_exposure / of_merit. NaN for grades.
    """

    of_exposure: float
    error: float
    exposure_per_merit: float
    recall: float
    impact_ratio: float = np.nan
    impact_ratio_error: float = np.nan
    merit_impact_ratio: float = np.nan
    merit_impact_ratio_error: float = np.nan


class Share(NamedTuple):
    """Some of the items: how many, the means over lists of their shares of the items and the merit, and what they get
    in rankings sampled from the scores and in those sorted by score."""

    name: str
    items: int
    of_items: float
    of_merit: float
    sampled: Received
    sorted: Received


class ExposureShares(NamedTuple):
    """Shares by grade, and by group where items have groups; the number of lists that count; the places seen."""

    by_grade: list[Share]
    by_group: list[Share]
    n_lists: int
    cutoff: int | None

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each grade or group and each ranking."""
        return [
            {"by": by, **dict(zip(Share._fields[:4], one, strict=False)), "ranking": ranking, **received._asdict()}
            for by, shares in (("grade", self.by_grade), ("group", self.by_group))
            for one in shares
            for ranking, received in zip(RANKINGS, (one.sampled, one.sorted), strict=True)
        ]


def exposure_shares(
    scores: Floats,
    dataset: Dataset,
    cutoff: int | None = 10,
    gain: str = "exponential",
    n_jobs: int | None = None,
) -> ExposureShares:
    """Compute the shares of exposure that grades and groups of items get, in sampled and in sorted rankings.

    Lists in which no item has merit are left out.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        The scores of a ranker.
    dataset : Dataset
        The judged lists.
    cutoff : int or None, default=10
        The number of places that are seen; None for all.
    gain : {"exponential", "linear"}, default="exponential"
        The merit of an item: 2^y − 1, or y.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    ExposureShares
        The shares `by_grade` and `by_group`, and `n_lists`.

    Examples
    --------
    >>> data = Dataset(np.zeros((2, 1)), [2, 1], [0, 2], item_groups=["large", "small"])
    >>> for row in exposure_shares(np.zeros(2), data).by_group:
    ...     print(row.name, row.of_merit, row.sampled.of_exposure, round(row.sampled.merit_impact_ratio, 2))
    large 0.75 0.5 0.33
    small 0.25 0.5 1.0
    """
    labels, offsets = dataset.labels, dataset.offsets
    merits, lists = merits_of(np.nan_to_num(labels), gain), list_of_row(offsets)
    rankings = [
        [exposures_of(scores, labels, offsets, cutoff, ranking, n_jobs, *weights) for weights in ((), (np.ones,))]
        for ranking in RANKINGS
    ]
    seen = ~np.isnan(labels)
    deserved, given = (np.bincount(lists[seen], each[seen], dataset.n_lists) for each in (merits, rankings[0][0]))
    weights = np.ones(dataset.n_lists) if dataset.list_weights is None else dataset.list_weights
    counted = (deserved > 0) & (given > 0) & (weights > 0)
    if not counted.any():
        raise DataError(
            f"There is no merit to compare exposure with: no list of {dataset!r} has a label above 0 and an item that "
            "can be ranked. Labels are grades, higher is better."
        )
    rows = np.flatnonzero(seen & counted[lists])
    items = _Items(
        (np.cumsum(counted) - 1)[lists[rows]],
        weights[counted],
        merits[rows],
        labels[rows] > 0,
        # Rounded, since sums over samples make 0.99999 of what is always seen.
        [(exposures[rows], in_top[rows].round(9)) for exposures, in_top in rankings],
    )
    by_group = [] if dataset.item_groups is None else _shares(*_groups(dataset, rows), items, compared=True)
    return ExposureShares(_shares(*_grades(labels[rows]), items), by_group, len(items.weights), cutoff)


class _Items(NamedTuple):
    """The items that count; for each ranking, their exposures and the probabilities of being seen at all."""

    lists: Integers
    weights: Floats
    merits: Floats
    relevant: np.ndarray
    rankings: list[tuple[Floats, Floats]]


def _grades(labels: Floats) -> tuple[Integers, list[str]]:
    """The bin of each label, and the names of the bins, from the lowest up."""
    distinct, which = np.unique(labels, return_inverse=True)
    if len(distinct) <= FEW_GRADES:
        return which, [number(grade) for grade in distinct]
    edges = np.unique(np.quantile(labels, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, labels, side="right") - 1, 0, len(edges) - 2)
    return bins, [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]


def _groups(dataset: Dataset, rows: Integers) -> tuple[Integers, list[str]]:
    """The same for groups, the largest first, the small ones together where there are many."""
    import pyarrow as pa

    coded = dataset.item_groups.take(pa.array(rows)).dictionary_encode()
    which, names = coded.indices.to_numpy(), [str(name) for name in coded.dictionary.to_pylist()]
    by_size = np.argsort(-np.bincount(which, minlength=len(names)), kind="stable")
    places = np.empty(len(names), dtype=np.int64)
    places[by_size] = np.arange(len(names))
    shown = [names[i] for i in by_size[:MOST_GROUPS]]
    if len(names) > MOST_GROUPS:
        shown.append(f"{len(names) - MOST_GROUPS:,} others")
    return np.minimum(places[which], MOST_GROUPS), shown


def _shares(bins: Integers, names: Sequence[str], items: _Items, compared: bool = False) -> list[Share]:
    """What the items of each bin get; the bins compared with each other where they are groups."""
    lists, weights, merits, relevant, rankings = items
    n_bins, n_lists = len(names), len(weights)

    def totals(values: Any) -> Floats:
        return sums(bins * n_lists + lists, values, n_bins * n_lists).reshape(n_bins, n_lists)

    def shares(values: Any) -> Floats:
        return totals(values) / sums(lists, values, n_lists)

    of_items, of_merit, received = shares(np.ones(len(bins))), shares(merits), []
    with np.errstate(divide="ignore", invalid="ignore"):
        for exposures, in_top in rankings:
            share = shares(exposures)
            mean = _mean(share, weights)
            per_merit = np.where(of_merit.any(axis=1), mean / _mean(of_merit, weights), np.nan)
            recall = totals(in_top * relevant) @ weights / (totals(relevant) @ weights)
            columns = [mean, _errors(share - mean[:, None], weights), per_merit, recall]
            if compared:
                columns += [*_impact_ratios(share, of_items, weights), *_impact_ratios(share, of_merit, weights)]
            received.append([Received(*row) for row in np.stack(columns, axis=1).tolist()])
    counts = np.bincount(bins, minlength=n_bins)
    columns = [each.tolist() for each in (counts, _mean(of_items, weights), _mean(of_merit, weights))]
    return [Share(*row) for row in zip(names, *columns, *received, strict=True)]


def _impact_ratios(share: Floats, of_deserved: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Mean shares of exposure over mean shares of what is deserved, relative to the highest, with standard errors.

    The errors are those of the logarithm to the first order: each list moves both means of both groups.
    """
    given, deserved = _mean(share, weights), _mean(of_deserved, weights)
    rates = np.where(deserved > 0, given / deserved, np.nan)
    best = np.nanargmax(rates)
    ratios = rates / rates[best]
    moved = share / given[:, None] - of_deserved / deserved[:, None]
    return ratios, ratios * _errors(moved - moved[best], weights)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Over lists: (…, Q) to (…,)."""
    mean: Floats = values @ weights / weights.sum()
    return mean


def _errors(off: Floats, weights: Floats) -> Floats:
    """Standard errors of weighted means over lists, from the deviations (…, Q); NaN for one list."""
    n_lists, parts = len(weights), off * weights / weights.sum()
    factor = n_lists / (n_lists - 1) if n_lists > 1 else np.nan
    errors: Floats = np.sqrt(factor * (parts * parts).sum(axis=-1))
    return errors
