"""What a model file says of the data that a ranker was trained on: sizes, labels, gaps, and a fingerprint."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.data.extreme import TaggedData
from luce.data.fingerprint import fingerprint
from luce.data.ragged import BLOCK, Dataset
from luce.options import is_integer, is_number

GRADES = 20
"""Up to so many different labels are counted one by one."""

NAMED = 50
"""Up to so many constant features are named."""

_COUNTS = "lists", "rows", "rows_without_label", "missing_values"


def summarize(data: Dataset | TaggedData) -> dict[str, Any]:
    """The facts, ready for JSON; the same data give the same.

    >>> found = summarize(Dataset([[0.5, 7], [0.1, 7], [np.nan, 7]], [2, 0, 0], [0, 2, 3]))
    >>> found["lists"], found["labels"], found["missing_values"], found["constant_feature_names"]
    (2, {'0': 2, '2': 1}, 1, ['2'])
    """
    if isinstance(data, TaggedData):
        sizes = {"rows": data.n_rows, "features": data.n_features, "n_labels": data.n_labels}
        return {**sizes, "labels_per_row": spread(data.sizes), "fingerprint": fingerprint(data)}
    observed = data.labels[~np.isnan(data.labels)]
    missing, constant = _columns(data)
    return {
        "lists": data.n_lists,
        "rows": data.n_rows,
        "features": data.n_features,
        "list_lengths": spread(data.sizes),
        "labels": _labels(observed),
        "rows_without_label": data.n_rows - int(observed.size),
        "missing_values": missing,
        "constant_features": None if constant is None else len(constant),
        "constant_feature_names": [data.feature_name(column) for column in (constant or [])[:NAMED]],
        "fingerprint": fingerprint(data),
    }


def spread(values: Floats | Integers) -> dict[str, float]:
    """The least, the median and the most; nothing of nothing."""
    if not len(values):
        return {}
    return {"least": values.min().item(), "median": float(np.median(values)), "most": values.max().item()}


def _labels(observed: Floats) -> dict[str, float]:
    """The number of rows of each label, or the spread of many different ones."""
    grades, counts = np.unique(observed, return_counts=True)
    if len(grades) > GRADES:
        return spread(observed)
    names = (str(int(grade)) if grade == int(grade) else repr(grade) for grade in grades.tolist())
    return dict(zip(names, counts.tolist(), strict=True))


def _columns(data: Dataset) -> tuple[int, list[int] | None]:
    """The number of values that are missing, and the columns that are constant, None for sparse ones; by blocks."""
    if data.is_sparse:
        return int(np.isnan(data.features.data).sum()), None
    first, varies, missing = data.features[:1], np.zeros(data.n_features, dtype=bool), 0
    for start in range(0, data.n_rows, BLOCK):
        block = data.features[start : start + BLOCK]
        gaps = np.isnan(block)
        missing += int(gaps.sum())
        left = np.flatnonzero(~varies)
        same = (block[:, left] == first[:, left]) | (gaps[:, left] & np.isnan(first[:, left]))
        varies[left] = ~same.all(axis=0)
    return missing, np.flatnonzero(~varies).tolist() if data.n_rows else []


def joined(shards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The facts of one dataset whose lists lie on several machines, without the constant features and medians.

    >>> parts = [summarize(Dataset([[x], [x]], [1, 0], [0, 2])) for x in (3.0, 4.0)]
    >>> found = joined(parts)
    >>> found["lists"], found["labels"], found["list_lengths"], joined(parts[:1]) == parts[0]
    (2, {'0': 2, '1': 2}, {'least': 2, 'most': 2}, True)
    """
    if len(shards) == 1:
        return shards[0]
    mark = hashlib.sha256("".join(shard["fingerprint"] for shard in shards).encode()).hexdigest()[:24]
    if "n_labels" in shards[0]:
        per_row = _ends([shard["labels_per_row"] for shard in shards if shard["labels_per_row"]])
        rows = sum(shard["rows"] for shard in shards)
        return {**shards[0], "rows": rows, "labels_per_row": per_row, "fingerprint": mark}
    lengths, labels = ([shard[name] for shard in shards if shard[name]] for name in ("list_lengths", "labels"))
    return {
        **{name: sum(shard[name] for shard in shards) for name in _COUNTS},
        "features": shards[0]["features"],
        "list_lengths": _ends(lengths),
        "labels": _ends(labels) if any("least" in each for each in labels) else _added(labels),
        "constant_features": None,
        "constant_feature_names": [],
        "fingerprint": mark,
    }


def _ends(spreads: Sequence[dict[str, float]]) -> dict[str, float]:
    ends = [([each["least"], each["most"]] if "least" in each else list(map(float, each))) for each in spreads]
    return {"least": min(map(min, ends)), "most": max(map(max, ends))} if ends else {}


def _added(counts: Sequence[dict[str, float]]) -> dict[str, float]:
    grades = sorted({grade for each in counts for grade in each}, key=float)
    return {grade: sum(each.get(grade, 0) for each in counts) for grade in grades}


def checked_summary(given: Any) -> dict[str, Any] | None:
    """The facts in a model file, of which `None` has none; a ValueError where they cannot be what `summarize` gives."""
    if given is None:
        return None
    tagged = "n_labels" in given
    counts = ("rows", "features", "n_labels") if tagged else (*_COUNTS, "features")
    spreads = ("labels_per_row",) if tagged else ("list_lengths", "labels")
    found = {name: given[name] for name in (*counts, *spreads, "fingerprint")}
    fits = all(_is_count(found[name]) for name in counts) and all(_are_numbers(found[name]) for name in spreads)
    fits &= isinstance(found["fingerprint"], str)
    if not tagged:
        constant, names = (given[name] for name in ("constant_features", "constant_feature_names"))
        fits &= (constant is None or _is_count(constant)) and isinstance(names, list) and len(names) <= NAMED
        fits = fits and all(isinstance(name, str) for name in names)
        found |= {"constant_features": constant, "constant_feature_names": names}
    if not fits:
        raise ValueError("the facts about the data are not those that a fit records")
    return {name: given[name] for name in given if name in found}


def _is_count(value: Any) -> bool:
    return is_integer(value) and value >= 0


def _are_numbers(given: Any) -> bool:
    """Whether these are numbers by the name of a label, or by `least`, `median` and `most`."""
    if not isinstance(given, dict) or len(given) > GRADES:
        return False
    if not given.keys() <= {"least", "median", "most"}:
        for name in given:
            float(name)
    return all(is_number(value) for value in given.values())
