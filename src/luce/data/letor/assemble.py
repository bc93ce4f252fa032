"""The pieces of a LETOR file put together: rows of a query brought together, features dense or sparse."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers, offsets_of_sizes, rows_of_lists
from luce.data.grouping import integer_ids
from luce.data.letor.entries import scatter
from luce.data.letor.piece import ParsedPiece, SparseRows
from luce.errors import DataError
from luce.threads import in_parallel


class RowLayout(NamedTuple):
    """Which rows belong together.

    Attributes:
        offsets: int64 (Q+1,).
        query_ids: Arrow array of the Q ids, or None where the text has none.
        position: for each row of the file its row in the dataset; None where the rows stay in their order.
        order: for each row of the dataset its row in the file; None too.
    """

    offsets: Integers
    query_ids: pa.Array | None
    position: Integers | None = None
    order: Integers | None = None


def row_layout(pieces: Sequence[ParsedPiece]) -> RowLayout:
    """The lists by query id, in order of first appearance; all rows in one list where the text has no ids."""
    encoded = pa.concat_arrays([piece.query_ids for piece in pieces]).dictionary_encode()
    lists, ids = encoded.indices.to_numpy(), encoded.dictionary
    sizes = np.concatenate([piece.run_sizes for piece in pieces])
    offsets = offsets_of_sizes(np.bincount(lists, weights=sizes))
    query_ids = None if len(ids) == 1 and ids[0].as_py() == "" else integer_ids(ids)
    if np.all(lists[1:] >= lists[:-1]):
        return RowLayout(offsets, query_ids)
    runs = np.argsort(lists, kind="stable")
    order = rows_of_lists(offsets_of_sizes(sizes), runs)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return RowLayout(offsets, query_ids, position, order)


def all_labels(pieces: Sequence[ParsedPiece], layout: RowLayout) -> Floats:
    """The labels of all rows."""
    labels = np.concatenate([piece.labels for piece in pieces])
    return labels if layout.order is None else labels[layout.order]


def all_document_ids(pieces: Sequence[ParsedPiece], layout: RowLayout) -> pa.Array | None:
    """The document ids of all rows, None where there are none at all."""
    if not any(piece.document_ids.buffers()[2].size for piece in pieces):
        return None
    ids = pa.concat_arrays([piece.document_ids for piece in pieces])
    return ids if layout.order is None else ids.take(pa.array(layout.order))


def dense_features(
    pieces: list[ParsedPiece], layout: RowLayout, shape: tuple[int, int], base: int, threads: int
) -> NDArray[np.float32]:
    """The features of all rows as a table whose first column has the index `base`; empties `pieces`.

    A piece is dropped as soon as it is copied, so that the table grows as the pieces shrink.
    """
    try:
        table = np.zeros(shape, np.float32)
    except MemoryError:
        size = f"{shape[0]:,} rows of {shape[1]:,} features"
        raise DataError(f"There is no memory for {size}: read with sparse=True, which keeps no zeros.") from None
    starts = offsets_of_sizes([len(piece.labels) for piece in pieces]).tolist()
    left = dict(enumerate(pieces))
    pieces.clear()

    def place(number: int) -> None:
        piece, rows = left.pop(number), slice(starts[number], starts[number + 1])
        shift = piece.base - base
        if isinstance(piece.features, SparseRows):
            position = np.arange(rows.start, rows.stop) if layout.position is None else layout.position[rows]
            scatter(*piece.features, position, shift, table)
        else:
            where = rows if layout.position is None else layout.position[rows]
            table[where, shift : shift + piece.features.shape[1]] = piece.features

    in_parallel([partial(place, number) for number in left], threads)
    return table


def sparse_features(pieces: list[ParsedPiece], layout: RowLayout, shape: tuple[int, int], base: int) -> Any:
    """The features of all rows as a CSR array without zeros; empties `pieces`."""
    sizes = np.concatenate([_entry_counts(piece) for piece in pieces])
    # SciPy wants one type for both: 32 bits as long as they can count the entries.
    kind = np.int32 if sizes.sum() < 2**31 else np.int64
    indptr = offsets_of_sizes(sizes).astype(kind)
    columns, values = np.empty(indptr[-1], kind), np.empty(indptr[-1], np.float32)
    first = 0
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        rows = _sparse(piece)
        last = first + len(rows.values)
        columns[first:last], values[first:last] = rows.columns + (piece.base - base), rows.values
        first = last
    matrix = sparse.csr_array((values, columns, indptr), shape=shape, copy=False)
    if layout.order is not None:
        matrix = matrix[layout.order]
    matrix.has_canonical_format = True
    return matrix


def _entry_counts(piece: ParsedPiece) -> Integers:
    if isinstance(piece.features, SparseRows):
        return np.diff(piece.features.ends, prepend=0)
    return np.count_nonzero(piece.features.view(np.uint32), axis=1)  # as bits, −0 is not zero, and stays


def _sparse(piece: ParsedPiece) -> SparseRows:
    if isinstance(piece.features, SparseRows):
        return piece.features
    stored = piece.features.view(np.uint32) != 0
    _, columns = np.nonzero(stored)
    return SparseRows(np.empty(0, np.int64), columns.astype(np.int32), piece.features[stored])
