"""Features of items in the order of the rankings' names, however they were given."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError

ITEM = "item"
"""The column of a table of features that names the item of each row."""


def features_of_items(given: Any, names: Sequence[Hashable]) -> tuple[Floats, list[str]]:
    """The features (n_items, F) and their names.

    Given as a mapping from item to its row of numbers; as a table (pandas, Polars, Arrow) with a column "item", its
    other columns being features; or as an array with one row an item, in the order of `names`.

    >>> features_of_items({"a": [1, 2], "b": [3, 4]}, ["b", "a"])
    (array([[3., 4.],
           [1., 2.]]), ['feature 1', 'feature 2'])
    """
    if isinstance(given, Mapping):
        rows, columns = _in_order(list(given), list(given.values()), names), None
    elif hasattr(given, "__arrow_c_stream__") or hasattr(given, "to_pydict"):
        rows, columns = _of_table(given, names)
    else:
        rows, columns = given, None
    try:
        features = np.ascontiguousarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The features of items must be numbers. {error}") from error
    if features.ndim != 2 or len(features) != len(names):
        raise DataError(f"There must be one row of features for each of {len(names)} items. Got {features.shape}.")
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        raise DataError(f"The features must be finite. Item {names[bad[0][0]]!r} has {features[tuple(bad[0])]}.")
    return features, columns or [f"feature {number + 1}" for number in range(features.shape[1])]


def _of_table(given: Any, names: Sequence[Hashable]) -> tuple[Any, list[str]]:
    import pyarrow as pa

    table = given if isinstance(given, pa.Table) else pa.table(given)
    if ITEM not in table.column_names:
        raise DataError(f"A table of features needs a column {ITEM!r}. It has: {', '.join(table.column_names)}.")
    columns = [name for name in table.column_names if name != ITEM]
    rows = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    return _in_order(table[ITEM].to_pylist(), rows, names), columns


def _in_order(items: list[Any], rows: list[Any], names: Sequence[Hashable]) -> list[Any]:
    number = {name: row for row, name in enumerate(items)}
    missing = [name for name in names if name not in number]
    if missing:
        raise DataError(f"There are no features for {missing[0]!r} ({len(missing)} items without features in all).")
    return [rows[number[name]] for name in names]
