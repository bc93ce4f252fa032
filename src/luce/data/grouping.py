"""Rows that say which query they belong to, brought together into lists."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.arrays import Integers, offsets_of_sizes
from luce.errors import DataError


class Grouping(NamedTuple):
    """How rows become lists.

    Attributes
    ----------
    order : ndarray of shape (N,) or None
        Row of the caller at each row of the dataset; None where the rows stay where they are.
    offsets : ndarray of shape (Q + 1,)
        Where each list begins.
    query_ids : pyarrow.Array of length Q
        The different ids, in the order in which they first appear.
    position : ndarray of shape (N,) or None
        Row of the dataset at each row of the caller: `scores[position]` is in the caller's order.
    """

    order: Integers | None
    offsets: Integers
    query_ids: pa.Array

    @property
    def position(self) -> Integers | None:
        """Row of the dataset at each row of the caller: `scores[position]` is in the caller's order."""
        if self.order is None:
            return None
        position = np.empty_like(self.order)
        position[self.order] = np.arange(len(self.order))
        return position


def group_rows(qid: Any, name: str = "qid") -> Grouping:
    """Group rows with equal ids into lists: lists in order of first appearance, rows inside a list in their order.

    Parameters
    ----------
    qid : array-like of shape (N,)
        The query of each row, integers or strings.
    name : str
        What an error calls it.

    Returns
    -------
    Grouping

    Examples
    --------
    >>> grouping = group_rows(["b", "a", "b"])
    >>> grouping.order, grouping.offsets, grouping.query_ids.to_pylist()
    (array([0, 2, 1]), array([0, 2, 3]), ['b', 'a'])
    >>> group_rows([7, 7, 3]).order is None
    True
    """
    ids = arrow_ids(name, qid)
    if ids.null_count:
        missing = int(pc.index(ids.is_null(), True).as_py())
        raise DataError(
            f"{name} must be given for every row. It is missing at row {missing + 1} ({ids.null_count} in total)."
        )
    encoded = ids.dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = offsets_of_sizes(np.bincount(numbers, minlength=len(encoded.dictionary)))
    together = bool(np.all(numbers[1:] >= numbers[:-1]))
    order = None if together else np.argsort(numbers, kind="stable")
    return Grouping(order, offsets, encoded.dictionary)


def arrow_ids(name: str, given: Any) -> pa.Array:
    """Ids as an Arrow array of integers or strings, from anything that holds one value a row."""
    ids = arrow_values(name, given)
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    integers = pa.types.is_integer(ids.type) or pa.types.is_floating(ids.type)
    try:
        if pa.types.is_uint64(ids.type) and (pc.max(ids).as_py() or 0) >= 2**63:  # hashes: too large for int64
            integers = False
        return ids.cast(pa.int64() if integers else pa.large_string())
    except pa.ArrowException as error:
        raise DataError(f"{name} must be integers or strings. Got {ids.type}: {error}") from error


def integer_ids(ids: pa.Array) -> pa.Array:
    """Ids from text as integers where every one is written as an integer is ('7', not '07'), else the strings they are.

    >>> integer_ids(pa.array(["7", "12"])).type, integer_ids(pa.array(["07", "12"])).type
    (DataType(int64), DataType(large_string))
    """
    text = ids.cast(pa.large_string())
    try:
        integers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return text
    return integers if integers.cast(pa.large_string()).equals(text) else text


def arrow_values(name: str, given: Any) -> pa.Array | pa.ChunkedArray:
    """An Arrow array of anything that holds one value a row."""
    try:
        if isinstance(given, (pa.Array, pa.ChunkedArray)):
            return given
        if hasattr(given, "__arrow_c_stream__"):
            return pa.chunked_array(given)
        if isinstance(given, (list, tuple)):
            return pa.array(given)
        values = np.asarray(given)
        if values.ndim != 1:
            raise DataError(f"{name} must be one-dimensional, one id per row. Got shape {values.shape}.")
        return pa.array(values)
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"{name} must be all integers or all strings. {error}") from error
