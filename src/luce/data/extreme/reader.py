"""Reading extreme-classification text: a header, then a row a line, pieces of lines parsed on several threads."""

import os
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers
from luce.data.extreme.parser import (
    BAD_LABEL,
    COMMENTED,
    LABEL_TOO_HIGH,
    TaggedBuffers,
    TaggedSummary,
    buffers_for,
    parse,
)
from luce.data.extreme.tagged import MOST, TaggedData
from luce.data.letor import parser as letor
from luce.data.letor.piece import LineError, read_doubts, sort_rows, token_at
from luce.data.streams import Bytes, InputStream, parse_pieces, text_pieces
from luce.errors import DataError, OptionError
from luce.threads import thread_count

FilePath = str | os.PathLike[str]


class Header(NamedTuple):
    """What the first line of a file claims."""

    rows: int
    features: int
    labels: int


class TaggedPiece(NamedTuple):
    """The rows of one piece of text; ends are counted from the first row of the piece."""

    label_ends: Integers
    labels: NDArray[np.int32]
    ends: Integers
    indices: NDArray[np.int32]
    values: NDArray[np.float32]


def read_tagged(
    path: FilePath, *, split: FilePath | None = None, column: int = 0, n_jobs: int | None = None
) -> TaggedData:
    """Read extreme-classification text, plain or compressed (.gz, .bz2, .zst).

    The first line is `rows features labels`; each further one is a row, `l1,l2,… index:value …`, its relevant labels
    and its features, both numbered from 0. A row may have no labels or no features, or be an empty line.

    Parameters
    ----------
    path : str or path-like
        The file.
    split : str or path-like, optional
        A file of row numbers, counted from 1: only these rows, in that order. It may have one column per split,
        as in the public collections.
    column : int
        Index of the column, from 0.
    n_jobs : int, optional
        The number of threads; by default all cores.

    Returns
    -------
    TaggedData

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.txt"
    ...     _ = file.write_text("3 4 9\\n8,2 0:0.5 3:1\\n 1:2\\n5\\n")
    ...     data = read_tagged(file)
    >>> data
    TaggedData(3 rows, 4 features, 9 labels, 1 per row, 1 row without labels, sparse)
    >>> data.labels.indices, data.features.toarray()[0]
    (array([2, 8, 5], dtype=int32), array([0.5, 0. , 0. , 1. ], dtype=float32))
    """
    with InputStream(path) as stream:
        header, texts = _header(Path(path), text_pieces(stream))
        pieces = _pieces(Path(path), texts, header, thread_count(n_jobs))
    data = _together(pieces, header)
    return data if split is None else data.take(_split_rows(split, column, header.rows))


def _header(path: Path, texts: Iterator[Bytes]) -> tuple[Header, Iterator[Bytes]]:
    """The header, and the text without it."""
    first = next(texts, None)
    if first is None:
        raise DataError(f"{path} is empty; expected a first line `rows features labels`.")
    line, _, _ = bytes(first[:200]).partition(b"\n")
    if not re.fullmatch(rb"\s*\d{1,18}\s+\d{1,18}\s+\d{1,18}\s*", line):
        shown = line[:60].decode(errors="replace")
        raise DataError(f"{path}, line 1: expected three numbers, `rows features labels`. Got {shown!r}.")
    header = Header(*map(int, line.split()))
    for name, count in (("labels", header.labels), ("features", header.features)):
        if count > MOST:
            raise DataError(f"{path}, line 1: there can be at most {MOST:,} {name}. Got {count:,}.")
    rest = first[len(line) + 1 :]
    return header, chain([rest] if len(rest) else [], texts)


def _pieces(path: Path, texts: Iterator[Bytes], header: Header, threads: int) -> list[TaggedPiece]:
    """All rows; an error for the first line that is wrong, or a number of rows that the header does not say."""
    pieces: list[TaggedPiece] = []
    rows = 0
    for text, (piece, error) in parse_pieces(texts, partial(_piece, header=header), threads):
        if error is not None:
            line = 2 + rows + int(np.count_nonzero(text[: error.place] == letor.NEWLINE))
            raise DataError(f"{path}, line {line:,}: {error.text}")
        rows += len(piece.ends)
        pieces.append(piece)
    blank = _blank_rows_at_the_end(pieces)
    if not rows - blank <= header.rows <= rows:
        raise DataError(
            f"{path} has {rows:,} rows, but its first line says {header.rows:,}. Correct the first line, or "
            "the file is incomplete."
        )
    return pieces


def _piece(text: Bytes, header: Header) -> tuple[TaggedPiece, LineError | None]:
    """What a piece of complete lines holds, up to the first error where there is one."""
    out = buffers_for(text)
    summary = parse(text, header.features, header.labels, out)
    wrong = [(summary.error, summary.place)] if summary.error else []
    wrong += read_doubts(text, out.doubts[: summary.doubts], out.values)
    errors = [_line_error(text, error, place, header) for error, place in wrong]
    errors += _missing(summary, out)
    ends = out.ends[: summary.rows]
    if summary.unsorted:
        errors += sort_rows(out.starts, ends, out.indices, out.values)
    entries = int(ends[-1]) if len(ends) else 0
    labels = out.labels[: summary.labels]
    piece = TaggedPiece(out.label_ends[: summary.rows], labels, ends, out.indices[:entries], out.values[:entries])
    return piece, min(errors, default=None)


def _line_error(text: Bytes, error: int, place: int, header: Header) -> LineError:
    expected = {
        BAD_LABEL: "expected labels separated by commas, such as 3,17, or a space if there are none",
        LABEL_TOO_HIGH: f"labels must be below {header.labels:,}, as the first line says",
        COMMENTED: "expected index:value, such as 3:0.25; there are no comments",
        letor.FEATURE: "expected index:value, such as 3:0.25",
        letor.VALUE: "expected a number after the colon",
        letor.INFINITE_VALUE: "a feature must be finite and at most 3.4e38, the limit of float32",
        letor.TOO_HIGH: f"feature indices must be below {header.features:,}, as the first line says",
    }
    return LineError(place, f"{expected[error]}. Got {token_at(text, place)}.")


def _missing(summary: TaggedSummary, out: TaggedBuffers) -> list[LineError]:
    """An error for the first value that is NaN: a feature that is left out is 0, so nothing can be missing."""
    missing = np.flatnonzero(np.isnan(out.values[: summary.entries]))
    if not missing.size:
        return []
    row = int(np.searchsorted(out.ends[: summary.rows], missing[0], side="right"))
    return [LineError(int(out.starts[min(row, len(out.starts) - 1)]), "a feature must be a number. Got nan.")]


def _blank_rows_at_the_end(pieces: list[TaggedPiece]) -> int:
    count = 0
    for piece in reversed(pieces):
        filled = np.flatnonzero((np.diff(piece.ends, prepend=0) > 0) | (np.diff(piece.label_ends, prepend=0) > 0))
        if filled.size:
            return count + len(piece.ends) - 1 - int(filled[-1])
        count += len(piece.ends)
    return count


def _together(pieces: list[TaggedPiece], header: Header) -> TaggedData:
    def csr(ends: list[Integers], columns: list[NDArray[np.int32]], values: NDArray[np.float32], width: int) -> object:
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(each, prepend=0) for each in ends)])[: header.rows + 1]
        indptr = np.cumsum(sizes)
        kind = np.int32 if indptr[-1] <= MOST else np.int64
        index = np.concatenate([np.empty(0, np.int32), *columns]).astype(kind, copy=False)
        return sparse.csr_array((values, index, indptr.astype(kind)), shape=(header.rows, width))

    values = np.concatenate([np.empty(0, np.float32), *(piece.values for piece in pieces)])
    features = csr([piece.ends for piece in pieces], [piece.indices for piece in pieces], values, header.features)
    features.eliminate_zeros()  # type: ignore[attr-defined]
    grades = np.ones(sum(len(piece.labels) for piece in pieces), np.float32)
    labels = csr([piece.label_ends for piece in pieces], [piece.labels for piece in pieces], grades, header.labels)
    return TaggedData(features, labels)


def _split_rows(path: FilePath, column: int, n_rows: int) -> Integers:
    """The rows that a split file names."""
    with InputStream(path) as stream:
        text = stream.readall()
    lines = [line.split() for line in text.splitlines() if line.strip()]
    widths = {len(line) for line in lines}
    if len(widths) != 1 or not all(word.isdigit() and len(word) < 19 for line in lines for word in line):
        raise DataError(f"{os.fspath(path)} must have row numbers, with the same number of columns in each line.")
    if not 0 <= column < min(widths):
        raise OptionError(f"column must be from 0 to {min(widths) - 1}, the splits in {os.fspath(path)}. Got {column}.")
    rows = np.array([int(line[column]) for line in lines], dtype=np.int64)
    if rows.min() < 1 or rows.max() > n_rows or len(np.unique(rows)) < len(rows):
        raise DataError(
            f"{os.fspath(path)} must name rows from 1 to {n_rows:,}, each once. Got {rows.min():,} to {rows.max():,}."
        )
    return rows - 1
