"""The columns of a table as a float32 matrix: numbers as they are, dates as days, text as categories."""

import warnings
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.arrays import Integers
from luce.data.allocation import Zeros
from luce.data.categories import Categories, encode, is_text
from luce.data.columns import Table
from luce.data.grouping import Grouping
from luce.errors import DataError, LuceWarning, OptionError

FREE_TEXT = 100
"""Text with more different values than this, and than half of the rows, is not a category but free text or ids.

So is text that is the same in all rows of a list, with more values than half of the lists: it names the query.
"""

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""By the name of a unit of time: how many make a second."""


class Matrix(NamedTuple):
    """Features with their names, if they have any, and the values of those that are categories."""

    features: Any
    names: tuple[str, ...] | None = None
    categories: Categories | None = None


def matrix_of(
    table: Table,
    names: list[str],
    *,
    categorical: Collection[str] = (),
    named: bool = True,
    grouping: Grouping | None = None,
    zeros: Zeros = np.zeros,
) -> Matrix:
    """The columns of a table, in memory from `zeros`, its rows where `grouping` puts them; a null is NaN.

    Columns of text and those in `categorical` become categories. Free text and ids are left out with a warning unless
    the columns were `named`.
    """
    position = None if grouping is None else grouping.position
    codes, values = {}, {}
    for name in [each for each in names if each in categorical or is_text(table.schema.field(each).type)]:
        codes[name], values[name] = encode(column_of(table, name))
    free = (
        [] if named else [name for name in values if name not in categorical and _is_free_text(codes[name], grouping)]
    )
    if free:
        shown = ", ".join(map(repr, free[:10])) + (", …" if len(free) > 10 else "")
        warnings.warn(
            f"{table.name}: not used as features, because nearly every row or every list has a different value, as in "
            f"free text and ids: {shown}. If such a column names the items: document={free[0]!r}, on the command line "
            f"--read document={free[0]}. To use it as a category: categorical=[{free[0]!r}], --read "
            f"categorical={free[0]}.",
            LuceWarning,
            stacklevel=6,
        )
    names = [name for name in names if name not in free]
    matrix = zeros((table.n_rows, len(names)), np.float32)
    numbers = [column for column, name in enumerate(names) if name not in codes]
    _fill_numbers(matrix, table, [names[column] for column in numbers], numbers, position)
    for column, name in enumerate(names):
        if name in codes:
            matrix[slice(None) if position is None else position, column] = codes[name]
    categories = tuple(values.get(name) for name in names) if any(name in codes for name in names) else None
    return Matrix(matrix, tuple(names), categories)


def _is_free_text(codes: NDArray[np.float32], grouping: Grouping | None) -> bool:
    present = codes[~np.isnan(codes)]
    n_values = len(np.unique(present))
    if n_values > max(FREE_TEXT, len(present) / 2):
        return True
    if grouping is None or n_values <= max(FREE_TEXT, len(grouping.query_ids) / 2):
        return False
    ordered = codes if grouping.order is None else codes[grouping.order]
    of_list = np.repeat(ordered[grouping.offsets[:-1]], np.diff(grouping.offsets))
    return np.array_equal(ordered, of_list, equal_nan=True)


def check_categorical(categorical: Any, features: Collection[str]) -> tuple[str, ...]:
    """The names of the columns to read as categories; an error where one of them is no feature."""
    if isinstance(categorical, str):
        raise OptionError(f"categorical must be a list of column names. Got the one string {categorical!r}.")
    for name in categorical:
        if name not in features:
            raise OptionError(f"categorical contains {name!r}, which is not a feature column.")
    return tuple(categorical)


def _fill_numbers(
    matrix: NDArray[np.float32], table: Table, names: list[str], columns: list[int], position: Integers | None
) -> None:
    """Write columns of numbers into the matrix, block by block; an infinite number is an error."""
    first = 0
    for batch in table.batches(names) if names else ():
        block = np.empty((batch.num_rows, len(names)), dtype=np.float32)
        with np.errstate(over="ignore"):  # beyond float32 becomes infinite, refused below
            for column, values in enumerate(batch.columns):
                block[:, column] = floats(values)
        infinite = np.argwhere(np.isinf(block))
        if infinite.size:
            row, column = infinite[0].tolist()
            raise infinite_value(table, names[column], first + row)
        last = first + batch.num_rows
        rows = slice(first, last) if position is None else position[first:last]
        if len(columns) == matrix.shape[1]:
            matrix[rows] = block
        else:
            for place, column in enumerate(columns):
                matrix[rows, column] = block[:, place]
        first = last


def floats(values: pa.Array) -> NDArray[Any]:
    """Numbers as they are, dates and timestamps in days since 1970, durations in seconds, times of day in hours.

    >>> floats(pa.array([43_200, None], pa.timestamp("s"))), floats(pa.array([5_400], pa.time32("s")))
    (array([0.5, nan]), array([1.5]))
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.uint8())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_date(kind):
        values = values.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        unit = 86_400 if pa.types.is_timestamp(kind) else 3_600 if pa.types.is_time(kind) else 1
        numbers = values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.float64(), safe=False)
        return numbers.to_numpy(zero_copy_only=False) / (UNITS[kind.unit] * unit)
    return values.to_numpy(zero_copy_only=False)


def column_of(table: Table, name: str) -> pa.ChunkedArray:
    """One column of a table."""
    batches = [batch.column(0) for batch in table.batches([name])]
    return pa.chunked_array(batches, type=table.schema.field(name).type)


def infinite_value(table: Table, column: str, row: int) -> DataError:
    """The error for a number that is infinite in float32."""
    return DataError(f"{table.name}: column {column!r} must be finite. It is infinite at row {row + 1}.")
