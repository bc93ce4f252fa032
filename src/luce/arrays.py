"""Checks and helpers for ragged lists: N rows, Q lists, offsets (Q+1,); list q owns rows offsets[q]:offsets[q+1]."""

import sys
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from luce.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def check_offsets(offsets: ArrayLike, n_rows: int) -> Integers:
    """Offsets as int64, which must start at 0, never decrease and end at `n_rows`.

    >>> check_offsets([0, 2, 2, 5], 5)
    array([0, 2, 2, 5])
    """
    given = np.asarray(offsets)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise DataError(
            f"offsets must be a one-dimensional array of integers. Got {given.dtype} of shape {given.shape}."
        )
    result = np.ascontiguousarray(given, dtype=np.int64)
    if result[0] != 0 or result[-1] != n_rows:
        raise DataError(f"offsets must run from 0 to the number of rows, {n_rows}. Got {result[0]} to {result[-1]}.")
    decreases = result[1:] < result[:-1]
    if np.count_nonzero(decreases):
        at = int(decreases.argmax())
        raise DataError(f"offsets must not decrease. Got {result[at]} then {result[at + 1]} at list {at + 1}.")
    return result


def check_rows(name: str, values: ArrayLike, n_rows: int | None = None) -> Floats:
    """One float64 per row, without NaN; errors refer to it by `name`."""
    result = as_floats(name, values, n_rows)
    bad = np.flatnonzero(np.isnan(result))
    if bad.size:
        raise DataError(f"{name} must not be NaN. Got NaN at row {bad[0] + 1} ({bad.size} in total).")
    return result


def as_floats(name: str, values: ArrayLike, length: int | None = None) -> Floats:
    """A one-dimensional float64 array of the given length; NaN is allowed, and errors refer to it by `name`."""
    try:
        result = np.ascontiguousarray(real(values), dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # a RuntimeError is PyTorch's, of a tensor with a gradient
        raise DataError(f"{name} must be numbers. {error}") from error
    if result.ndim != 1:
        raise DataError(f"{name} must be one-dimensional. Got shape {result.shape}.")
    if length is not None and len(result) != length:
        raise DataError(f"{name} must have {length} entries. Got {len(result)}.")
    return result


def real(values: ArrayLike) -> NDArray[Any]:
    """The values as an array; a TypeError for complex numbers, whose imaginary part NumPy would drop."""
    result = np.asarray(values)
    if result.dtype.kind == "c":
        raise TypeError("Complex data not supported.")
    return result


def offsets_of_sizes(sizes: ArrayLike) -> Integers:
    """The offsets of lists of these sizes (LightGBM's `group`).

    >>> offsets_of_sizes([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64), dtype=np.int64)])


def selected_offsets(selected: NDArray[np.bool_], offsets: Integers) -> Integers:
    """The offsets of the lists when only the selected rows are left.

    >>> selected_offsets(np.array([True, False, True]), np.array([0, 2, 3]))
    array([0, 1, 2])
    """
    return np.concatenate([[0], np.cumsum(selected)])[offsets]


def list_of_row(offsets: Integers) -> Integers:
    """The index of the list of each row.

    >>> list_of_row(np.array([0, 2, 2, 5]))
    array([0, 0, 2, 2, 2])
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def list_blocks(offsets: Integers, n_rows: int = 2**17) -> list[slice]:
    """Consecutive lists in blocks of at most `n_rows` rows; a longer list is a block of its own.

    There is at least one block; without lists it is empty.

    >>> list_blocks(np.array([0, 2, 4, 9, 10]), 5)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    cuts, n_lists = [0], len(offsets) - 1
    while cuts[-1] < n_lists:
        fitting = int(np.searchsorted(offsets, offsets[cuts[-1]] + n_rows, side="right")) - 1
        cuts.append(max(cuts[-1] + 1, fitting))
    return [slice(first, last) for first, last in pairwise(cuts)] or [slice(0, 0)]


def rows_of_lists(offsets: Integers, lists: Integers) -> Integers:
    """The rows of some lists, list after list.

    >>> rows_of_lists(np.array([0, 2, 4, 5]), np.array([2, 0]))
    array([4, 0, 1])
    """
    sizes = np.diff(offsets)[lists]
    starts = offsets_of_sizes(sizes)
    return np.arange(starts[-1]) + np.repeat(offsets[lists] - starts[:-1], sizes)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of an array, which itself stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view


def is_sparse(features: Any) -> bool:
    """Whether features are a SciPy sparse array or matrix, found out without loading SciPy.

    >>> is_sparse(np.zeros((2, 2)))
    False
    """
    sparse = None if isinstance(features, np.ndarray) else sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(features))
