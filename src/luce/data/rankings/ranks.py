"""Rankings given by a matrix of ranks, the lowest best."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import Floats, Integers, frozen, numbers
from luce.compiled import compiled
from luce.data.columns import is_number
from luce.data.rankings.checks import Names, check_names
from luce.data.rankings.coding import plain
from luce.data.rankings.parts import Parts
from luce.data.tables import arrow_table, is_pandas
from luce.errors import DataError
from luce.threads import over_lists


def parts_of_ranks(ranks: Any, names: Iterable[Hashable] | None) -> Parts:
    """The rankings of a matrix, one row a ranking, one column an item; 0 or NaN = not ranked.

    >>> parts_of_ranks([[2, 1, 0], [1, 1, 2]], None)[:3]
    (array([1, 0, 0, 1, 2]), array([0, 1, 0, 0, 1]), array([0, 2, 5]))
    """
    matrix, known = _rank_matrix(ranks, names)
    bad = np.flatnonzero(~(matrix.data > 0) | np.isinf(matrix.data))
    if bad.size:
        q = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        item = known[matrix.indices[bad[0]]]
        raise DataError(
            f"Ranks must be positive and finite, 0 or NaN where not ranked. Ranking {q} has {matrix.data[bad[0]]:g} "
            f"for {item!r}."
        )
    offsets = matrix.indptr.astype(np.int64)
    return Parts(*in_order(matrix.indices.astype(np.int64), matrix.data, offsets), offsets, known)


def in_order(items: Integers, values: Floats, offsets: Integers) -> tuple[Integers, Integers]:
    """The items of each list by rising value, and their places; equal values are tied.

    >>> in_order(np.array([7, 8, 9]), np.array([3.0, 1.0, 3.0]), np.array([0, 3]))
    (array([8, 7, 9]), array([0, 1, 1]))
    """
    ordered, places = np.empty_like(items), np.empty_like(items)
    given = (frozen(np.ascontiguousarray(array)) for array in (items, values))
    over_lists(_in_order, frozen(offsets), *given, ordered, places)
    return ordered, places


@compiled
def _in_order(first, last, offsets, items, values, ordered, places):
    for q in range(first, last):
        start, end = offsets[q], offsets[q + 1]
        order = np.argsort(values[start:end], kind="mergesort")
        place = 0
        for n in range(end - start):
            row = start + order[n]
            if n > 0 and values[row] > values[start + order[n - 1]]:
                place += 1
            ordered[start + n] = items[row]
            places[start + n] = place


def _rank_matrix(ranks: Any, names: Iterable[Hashable] | None) -> tuple[Any, Names]:
    columns: Any = None
    if is_pandas(ranks) or isinstance(ranks, (pa.Table, pa.RecordBatch)) or hasattr(ranks, "__arrow_c_stream__"):
        columns = list(ranks.columns) if is_pandas(ranks) else None
        held = arrow_table(ranks)
        columns = held.column_names if columns is None else columns
        ranks = np.column_stack([np.empty((held.num_rows, 0)), *map(column_numbers, held.column_names, held.columns)])
    if not sparse.issparse(ranks):
        try:
            ranks = np.array(ranks, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Ranks must be a table of numbers, one row a ranking, one column an item. {error}"
            ) from error
        if ranks.ndim != 2:
            raise DataError(f"Ranks must have one row a ranking and one column an item. Got shape {ranks.shape}.")
        ranks[np.isnan(ranks)] = 0
    matrix = sparse.csr_array(ranks, dtype=np.float64)
    known = names if names is not None else columns if columns is not None else range(matrix.shape[1])
    result = check_names("items", map(plain, known))
    if len(result) != matrix.shape[1]:
        raise DataError(f"names must have one entry a column of the ranks, {matrix.shape[1]}. Got {len(result)}.")
    return matrix, result


def column_numbers(name: str, column: pa.ChunkedArray) -> Floats:
    """The numbers of a column as float64, a null as NaN."""
    if not is_number(column.type):
        raise DataError(f"Column {name!r} must be numbers. It is {column.type}.")
    try:
        values = numbers(name, column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid as error:  # integers that float64 does not hold
        raise DataError(f"Column {name!r} must be numbers up to 2⁵³ in size. {error}") from error
    if np.isinf(values).any():
        raise DataError(f"Column {name!r} must be finite. It is infinite at row {int(np.argmax(np.isinf(values)))}.")
    return values
