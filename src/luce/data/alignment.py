"""A dataset with the features that another one had: picked by name, their categories numbered as there."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import read_only
from luce.data.categories import Categories, Values, recode
from luce.data.ragged import Dataset
from luce.errors import DataError, LuceWarning, did_you_mean, nearest_names, words_of


def aligned(dataset: Dataset, names: Sequence[str] | None, categories: Categories | None) -> Dataset:
    """The dataset with the features of these names, in this order and with these categories; others are left out.

    Where either side has no names, the features stay as they are. A value that is not among the categories becomes
    missing, with a warning. A missing feature is an error that names it.

    >>> data = Dataset([[0, 7], [1, 8]], [0, 1], [0, 2], feature_names=["b", "a"], categories=[("x", "y"), None])
    >>> aligned(data, ["b"], (("w", "x", "y"),)).features.ravel()
    array([1., 2.], dtype=float32)
    """
    if names is not None and dataset.feature_names is not None and tuple(names) != dataset.feature_names:
        dataset = picked(dataset, names)
    if dataset.categories == categories:
        return dataset
    none = (None,) * dataset.n_features
    given, wanted = dataset.categories or none, categories or none
    features = np.array(dataset.features.toarray() if dataset.is_sparse else dataset.features)
    known = [dataset.feature_name(column) for column in range(dataset.n_features)] if names is None else names
    unknown: list[str] = []
    for column, (old, new) in enumerate(zip(given, wanted, strict=True)):
        if old != new:
            features[:, column] = _converted(features[:, column], old, new, known[column], unknown)
    if unknown:
        warnings.warn(
            f"Values that were not in the training data are treated as missing: {'; '.join(unknown)}.",
            LuceWarning,
            stacklevel=5,  # the call of predict
        )
    return _with(dataset, read_only(features), dataset.feature_names, categories)


def picked(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset with the features of these names alone, in this order."""
    places = {name: column for column, name in enumerate(dataset.feature_names or ())}
    missing = [name for name in names if name not in places]
    if missing:
        raise missing_features(missing, places)
    columns = [places[name] for name in names]
    features = dataset.features[:, columns]
    given = dataset.categories
    kept = None if given is None else tuple(given[column] for column in columns)
    if kept is not None and not any(values is not None for values in kept):
        kept = None
    return _with(dataset, features if dataset.is_sparse else read_only(features), tuple(names), kept)


def missing_features(missing: Sequence[str], given: Iterable[str], data: str = "The data") -> DataError:
    """The error for features of the training data that are not among the columns given."""
    shown = ", ".join(map(repr, missing[:5])) + (", …" if len(missing) > 5 else "")
    near = [name for name in nearest_names(missing[0], given) if words_of(name) == words_of(missing[0])]
    return DataError(
        f"{data} lack{'s' if data != 'The data' else ''} features that the model was trained on: {shown}."
        f"{did_you_mean(near)} Add them, or train a model without them."
    )


def _with(dataset: Dataset, features: Any, names: tuple[str, ...] | None, categories: Categories | None) -> Dataset:
    kept = {each.name: getattr(dataset, each.name) for each in fields(Dataset) if each.name != "features"}
    return Dataset.unchecked(**kept | {"features": features, "feature_names": names, "categories": categories})


def _converted(
    column: NDArray[Any], old: Values | None, new: Values | None, name: str, unknown: list[str]
) -> NDArray[np.float32]:
    """A feature of the old categories with the new ones, None being a number; says in `unknown` what has no code."""
    if old is None:
        numbers, codes = np.unique(column[~np.isnan(column)], return_inverse=True)
        whole = column.astype(np.float32)
        whole[~np.isnan(column)] = codes
        column, old = whole, tuple(f"{number:.0f}" if number == np.floor(number) else str(number) for number in numbers)
    if new is None:
        return _numbers(column, old, name)
    result = recode(column, old, new)
    new_values = np.isnan(result) & ~np.isnan(column)
    if new_values.any():
        found = [repr(old[int(code)]) for code in np.unique(column[new_values])]
        n_rows = int(new_values.sum())
        shown = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
        unknown.append(f"{shown} in feature {name!r} ({n_rows:,} row{'s' if n_rows > 1 else ''})")
    return result


def _numbers(column: NDArray[Any], values: Values, name: str) -> NDArray[np.float32]:
    """The numbers that categories are written as, for a feature that was a number in the training data."""
    try:
        numbers = np.array([*map(float, values), np.nan], dtype=np.float32)
    except ValueError:
        shown = ", ".join(map(repr, values[:3])) + (", …" if len(values) > 3 else "")
        raise DataError(
            f"Feature {name!r} was numeric in the training data, but is text here: {shown}. Convert it to numbers."
        ) from None
    return numbers[np.where(np.isnan(column), len(values), column).astype(np.int64)]
