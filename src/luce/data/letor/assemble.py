"""The pieces of a LETOR file put together: rows of a query brought together, features dense or sparse."""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers, offsets_of_sizes, rows_of_lists
from luce.data.allocation import Zeros
from luce.data.grouping import Grouping, integer_ids
from luce.data.letor.parser import scatter
from luce.data.letor.piece import ParsedPiece, SparseRows
from luce.data.streams import CODECS, InputStream
from luce.errors import DataError
from luce.threads import in_parallel

LIST_SIZE_SUFFIXES = (".query", ".group")
"""LightGBM keeps the sizes of lists, one a line, in a file of such a suffix beside rows without query ids."""


def group_pieces(pieces: Sequence[ParsedPiece], path: Path, sizes_path: str | os.PathLike[str] | None) -> Grouping:
    """The lists by query id, in order of first appearance; where the text has no ids, by a file of list sizes."""
    encoded = pa.concat_arrays([piece.query_ids for piece in pieces]).dictionary_encode()
    lists, ids = encoded.indices.to_numpy(), encoded.dictionary
    sizes = np.concatenate([piece.run_sizes for piece in pieces])
    if len(ids) == 1 and ids[0].as_py() == "":
        return Grouping(None, offsets_of_sizes(_read_list_sizes(path, sizes_path, int(sizes.sum()))), None)
    if sizes_path is not None:
        raise DataError(f"{path} has query ids; leave out lists={os.fspath(sizes_path)!r}.")
    offsets = offsets_of_sizes(np.bincount(lists, weights=sizes))
    if np.all(lists[1:] >= lists[:-1]):
        return Grouping(None, offsets, integer_ids(ids))
    order = rows_of_lists(offsets_of_sizes(sizes), np.argsort(lists, kind="stable"))
    return Grouping(order, offsets, integer_ids(ids))


def _read_list_sizes(path: Path, given: str | os.PathLike[str] | None, n_rows: int) -> Integers:
    """The list sizes for the rows of `path`: from the file `given`, else from PATH.query or PATH.group beside it."""
    place = _beside(path) if given is None else Path(given)
    with InputStream(place) as stream:
        lines = stream.readall().splitlines()
    for number, line in enumerate(lines, 1):
        if not re.fullmatch(rb"[0-9]{1,18}", line.strip()):
            shown = line[:40].decode(errors="replace")
            raise DataError(f"{place}, line {number:,}: expected the size of a list, at least 0. Got {shown!r}.")
    sizes = [int(line) for line in lines]
    if sum(sizes) != n_rows:
        raise DataError(
            f"The list sizes in {place} must add up to the {n_rows:,} rows of {path}. Their sum is {sum(sizes):,}."
        )
    return np.array(sizes, dtype=np.int64)


def _beside(path: Path) -> Path:
    stems = [path, path.with_suffix("")] if path.suffix.lower() in CODECS else [path]
    for candidate in (Path(f"{stem}{suffix}") for stem in stems for suffix in LIST_SIZE_SUFFIXES):
        if candidate.is_file():
            return candidate
    raise DataError(
        f"{path} does not say which rows belong together. Either every line has qid:… after the label, "
        f"or a file {path.name}.query beside it has the list sizes, one a line (lists=… where it is elsewhere)."
    )


def dense_features(
    pieces: list[ParsedPiece],
    position: Integers | None,
    shape: tuple[int, int],
    base: int,
    zeros: Zeros,
    threads: int,
) -> NDArray[np.float32]:
    """The features of all rows as a table whose first column has the index `base`; empties `pieces`.

    A piece is dropped as soon as it is copied, so that the table grows as the pieces shrink.
    """
    try:
        table = zeros(shape, np.float32)
    except MemoryError:
        size = f"{shape[0]:,} rows of {shape[1]:,} features"
        raise DataError(
            f"There is not enough memory for {size}: read with sparse=True, which stores no zeros."
        ) from None
    starts = offsets_of_sizes([len(piece.labels) for piece in pieces]).tolist()
    left = dict(enumerate(pieces))
    pieces.clear()

    def place(number: int) -> None:
        piece, rows = left.pop(number), slice(starts[number], starts[number + 1])
        shift = piece.base - base
        if isinstance(piece.features, SparseRows):
            where: Any = np.arange(rows.start, rows.stop) if position is None else position[rows]
            scatter(*piece.features, where, shift, table)
        else:
            where = rows if position is None else position[rows]
            table[where, shift : shift + piece.features.shape[1]] = piece.features

    in_parallel([partial(place, number) for number in left], threads)
    return table


def sparse_features(
    pieces: list[ParsedPiece], position: Integers | None, shape: tuple[int, int], base: int, zeros: Zeros
) -> Any:
    """The features of all rows as a CSR array without zeros; empties `pieces`."""
    sizes = np.concatenate([_entry_counts(piece) for piece in pieces])
    in_order = np.empty_like(sizes)
    in_order[slice(None) if position is None else position] = sizes
    # SciPy requires one type for both: 32 bits as long as they can count the entries.
    indptr = offsets_of_sizes(in_order)
    kind = np.int32 if indptr[-1] < 2**31 else np.int64
    n_entries = (int(indptr[-1]),)
    columns, values = zeros(n_entries, kind), zeros(n_entries, np.float32)
    row = entry = 0
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        rows = _sparse(piece)
        last_row, last_entry = row + len(piece.labels), entry + len(rows.values)
        where = slice(entry, last_entry) if position is None else rows_of_lists(indptr, position[row:last_row])
        columns[where], values[where] = rows.columns + (piece.base - base), rows.values
        row, entry = last_row, last_entry
    matrix = sparse.csr_array((values, columns, indptr.astype(kind)), shape=shape, copy=False)
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
    return SparseRows(np.empty(0, np.int64), np.nonzero(stored)[1].astype(np.int32), piece.features[stored])
