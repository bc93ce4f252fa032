"""Features that may give the label away, or that are not known when items are ranked: by their names and values."""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, rows_of_lists
from luce.data.ragged import Dataset
from luce.errors import words_of

MOST_LISTS, MOST_ITEMS, MOST_VALUES = 200, 50, 2**24
"""Values are looked at in lists evenly spread over the dataset, up to so many lists and feature values; the order of
their items is compared with that of the labels for up to so many items of a list."""

LEAST_LISTS, LEAST_PAIRS, LEAST_ROWS = 10, 100, 100
"""With fewer lists, pairs of items with different labels, or rows, values may look like an id or a label by chance."""

AGREEMENT = 0.98
"""Kendall's tau with the labels, over pairs of different labels and averaged over lists, from which on a feature
orders items as they do: 99 of 100 pairs."""

COLLISIONS = 10
"""So many pairs of rows must be expected to share a value of integers between the least and the largest one, before
it means something that none does."""

NAMES = (
    (
        r"click(s|ed)?|ctr|cvr|impressions?|dwell|purchase[ds]?|bookings?|booked|conversions?|converted",
        "its name suggests that it was recorded after the items were shown",
    ),
    (r"pos(ition)?|(?<!page )(?<!site )(?<!domain )rank", "its name suggests a position in a ranking"),
    (
        r"timestamp|datetime|date|^time$|(event|created|updated|request|query|search|log|view) time",
        "its name suggests a date or time",
    ),
    (r"(u?u?ids?|guid|session)$", "its name suggests an id"),
    (r"labels?|grades?|target|judge?ments?|^relevance$", "its name suggests a label"),
)
"""Patterns of whole words of names, and what they mean."""


class SuspiciousFeature(NamedTuple):
    """A feature that may give the label away, or may not be known when items are ranked, and why."""

    name: str
    reason: str


def suspicious_features(dataset: Dataset) -> list[SuspiciousFeature]:
    """Features that may give the label away, or may not be known when items are ranked.

    A feature is suspicious by its name, such as `click_count` or `position`, or by its values: those that order the
    items of nearly every list as the labels do, that number the items of each list, or that differ in all rows as ids
    do. Values are looked at in at most 200 lists, evenly spread over the dataset.

    Parameters
    ----------
    dataset : Dataset
        The lists to train on.

    Returns
    -------
    list of SuspiciousFeature
        Name and reason of each, in the order of the features.

    Examples
    --------
    >>> suspicious_features(Dataset([[3.5, 1], [2.5, 0]], [1, 0], [0, 2], feature_names=("price", "click_count")))
    [SuspiciousFeature(name='click_count', reason='its name suggests that it was recorded after the items were shown')]
    """
    by_value = _reasons_by_value(dataset)
    found = []
    for column in range(dataset.n_features):
        name = dataset.feature_name(column)
        reason = by_value.get(column) or suspicious_name(name)
        if reason is not None:
            found.append(SuspiciousFeature(name, reason))
    return found


def suspicious_name(name: str) -> str | None:
    """Why the name of a column says that it should not be a feature, if it does.

    >>> suspicious_name("PageRank"), suspicious_name("doc_id")
    (None, 'its name suggests an id')
    """
    words = " ".join(words_of(name))
    return next((reason for pattern, reason in NAMES if re.search(rf"\b(?:{pattern})\b", words)), None)


def _reasons_by_value(dataset: Dataset) -> dict[int, str]:
    """The columns whose values are suspicious, and why."""
    lists = _some_lists(dataset)
    if len(lists) < LEAST_LISTS:
        return {}
    sizes = dataset.sizes[lists]
    rows = rows_of_lists(dataset.offsets, lists)
    block = dataset.features[rows]
    features = block.toarray() if dataset.is_sparse else block
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    labels = dataset.labels[rows]
    reasons = {
        "it orders the items of nearly every list as the labels do": _like_labels(features, labels, offsets),
        "it numbers the items of each list, as a position does": _like_positions(features, offsets),
        "it differs in all rows, as an id or a row number does": _like_ids(features),
    }
    return {int(column): reason for reason, found in reversed(reasons.items()) for column in np.flatnonzero(found)}


def _some_lists(dataset: Dataset) -> Integers:
    """Lists of two items or more, evenly spread over the dataset."""
    lists = np.flatnonzero(dataset.sizes > 1)
    most = MOST_VALUES // max(1, dataset.n_features)
    while len(lists) > MOST_LISTS or dataset.sizes[lists].sum() > most:
        wanted = MOST_LISTS if len(lists) > MOST_LISTS else len(lists) // 2
        if wanted < LEAST_LISTS:
            return lists[:0]
        lists = lists[np.linspace(0, len(lists) - 1, wanted).astype(np.int64)]
    return lists


def _like_labels(features: NDArray[np.float32], labels: Floats, offsets: Integers) -> NDArray[np.bool_]:
    """Which columns order items as the labels do, the highest first or last; a missing value agrees with nothing."""
    agreement, n_lists, n_pairs = np.zeros(features.shape[1]), 0, 0
    for start, end in pairwise(offsets):
        some = np.unique(np.linspace(start, end - 1, MOST_ITEMS).astype(np.int64))
        first, second = np.triu_indices(len(some), 1)
        difference = labels[some[first]] - labels[some[second]]
        differ = np.flatnonzero(np.abs(difference) > 0)
        if not len(differ):
            continue
        above, below = features[some[first[differ]]], features[some[second[differ]]]
        signs = (above > below).astype(np.int8) - (above < below)
        agreement += np.sign(difference[differ]) @ signs / len(differ)
        n_lists, n_pairs = n_lists + 1, n_pairs + len(differ)
    enough = n_lists >= LEAST_LISTS and n_pairs >= LEAST_PAIRS
    return np.abs(agreement) >= (AGREEMENT * n_lists if enough else np.inf)


def _like_positions(features: NDArray[np.float32], offsets: Integers) -> NDArray[np.bool_]:
    """Which columns are 1…n or 0…n − 1 in every list, in any order."""
    long = np.flatnonzero(np.diff(offsets) > 2)  # two items may well have the values 0 and 1
    alive = np.full(features.shape[1], len(long) >= LEAST_LISTS)
    for start, end in zip(offsets[long], offsets[long + 1], strict=True):
        columns = np.flatnonzero(alive)
        values = np.sort(features[start:end, columns], axis=0)
        alive[columns] = np.all(np.diff(values, axis=0) == 1, axis=0) & np.isin(values[0], (0, 1))
    return alive


def _like_ids(features: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which columns grow or shrink from row to row through all lists, or are integers that never repeat."""
    n_rows, n_columns = features.shape
    found = np.zeros(n_columns, dtype=bool)
    for column in range(n_columns if n_rows >= LEAST_ROWS else 0):
        values = features[:, column]
        steps = np.diff(values)
        in_order = np.all(steps >= 0) or np.all(steps <= 0)  # large numbers are rounded, so that some are equal
        if in_order and np.count_nonzero(steps) >= n_rows / 2:
            found[column] = True
        elif np.all(values == np.floor(values)):
            low, high = float(values.min()), float(values.max())
            expected = n_rows**2 / (2 * (high - low + 1))
            found[column] = expected >= COLLISIONS and len(np.unique(values)) == n_rows
    return found
