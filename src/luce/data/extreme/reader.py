"""Reading extreme-classification text: a header, then a row a line, pieces of lines parsed on several threads."""

import os
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
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
    Found,
    Scratch,
    parse,
    scratch_for,
)
from luce.data.extreme.tagged import MOST, TaggedData
from luce.data.letor import parser as letor
from luce.data.letor.parts import Problem, token_at
from luce.data.letor.placing import sort_rows
from luce.data.streams import Source, text_pieces
from luce.errors import DataError, OptionError
from luce.threads import in_parallel, thread_count

FilePath = str | os.PathLike[str]
Bytes = NDArray[np.uint8]


class Header(NamedTuple):
    """What the first line of a file claims."""

    rows: int
    features: int
    labels: int


class Part(NamedTuple):
    """The rows of one piece of text; ends are counted from the first row of the piece."""

    label_ends: Integers
    labels: NDArray[np.int32]
    ends: Integers
    indices: NDArray[np.int32]
    values: NDArray[np.float32]


def read_tagged(
    path: FilePath, *, split: FilePath | None = None, column: int = 0, n_jobs: int | None = None
) -> TaggedData:
    """The tagged rows of an extreme-classification text, plain or compressed (.gz, .bz2, .zst).

    The first line is `rows features labels`; each further one is a row, `l1,l2,… index:value …`, its relevant labels
    and its features, both numbered from 0. A row may lack labels or features, or be an empty line.

    Args:
        path: the file.
        split: a file of row numbers, counted from 1: only these rows, in that order. It may have several columns, one a
            split, as the public collections have them.
        column: which of them, from 0.
        n_jobs: the number of threads; None = all cores.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.txt"
    ...     _ = file.write_text("3 4 9\\n8,2 0:0.5 3:1\\n 1:2\\n5\\n")
    ...     data = read_tagged(file)
    >>> data
    TaggedData(3 rows, 4 features, 9 labels, 1 a row, 1 row without, sparse)
    >>> data.labels.indices, data.features.toarray()[0]
    (array([2, 8, 5], dtype=int32), array([0.5, 0. , 0. , 1. ], dtype=float32))
    """
    with Source(path) as source:
        pieces = text_pieces(source, [])
        header, pieces = _header(Path(path), pieces)
        parts = _parts(Path(path), pieces, header, thread_count(n_jobs))
    data = _together(parts, header)
    return data if split is None else data.take(_split_rows(split, column, header.rows))


def _header(path: Path, pieces: Iterator[Bytes]) -> tuple[Header, Iterator[Bytes]]:
    """The header, and the pieces without it."""
    first = next(pieces, None)
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
    return header, _chain(first[len(line) + 1 :], pieces)


def _chain(first: Bytes, others: Iterator[Bytes]) -> Iterator[Bytes]:
    if len(first):
        yield first
    yield from others


def _parts(path: Path, pieces: Iterator[Bytes], header: Header, threads: int) -> list[Part]:
    """All rows, a few pieces at a time; an error for the first line that is wrong, or more or fewer rows than told."""
    parts: list[Part] = []
    rows = 0
    while batch := list(islice(pieces, 4 * threads)):
        for text, (part, problem) in zip(
            batch, in_parallel([partial(_part, text, header) for text in batch], threads), strict=True
        ):
            if problem is not None:
                line = 2 + rows + int(np.count_nonzero(text[: problem.place] == letor.NEWLINE))
                raise DataError(f"{path}, line {line:,}: {problem.text}")
            rows += len(part.ends)
            parts.append(part)
    blank = _blank_rows_at_the_end(parts)
    if not rows - blank <= header.rows <= rows:
        raise DataError(f"{path} has {rows:,} rows, but its first line says {header.rows:,}: one of them is wrong.")
    return parts


def _part(text: Bytes, header: Header) -> tuple[Part, Problem | None]:
    """What a piece of whole lines holds, up to the first problem where there is one."""
    out = scratch_for(text)
    found = parse(text, header.features, header.labels, out)
    problems = [_wrong(text, found, header)] if found.problem else []
    for entry, first, end in out.doubts[: found.doubts].tolist():
        with np.errstate(over="ignore"):
            out.values[entry] = float(bytes(text[first:end]))
        if np.isinf(out.values[entry]):
            problems.append(_wrong(text, found._replace(problem=letor.INFINITE_VALUE, place=first), header))
    problems += _missing(text, found, out)
    ends = out.ends[: found.rows]
    if found.unsorted:
        row, index = sort_rows(ends, out.indices, out.values)
        problems += [Problem(int(out.starts[row]), f"feature index {index} is there twice.")] if row >= 0 else []
    entries = int(ends[-1]) if len(ends) else 0
    labels = out.labels[: found.labels]
    part = Part(out.label_ends[: found.rows], labels, ends, out.indices[:entries], out.values[:entries])
    return part, min(problems, default=None)


def _wrong(text: Bytes, found: Found, header: Header) -> Problem:
    expected = {
        BAD_LABEL: "expected labels with commas between them, such as 3,17, or a blank where there are none",
        LABEL_TOO_HIGH: f"labels must be below {header.labels:,}, as the first line says",
        COMMENTED: "expected index:value, such as 3:0.25; there are no comments",
        letor.FEATURE: "expected index:value, such as 3:0.25",
        letor.VALUE: "expected a number after the colon",
        letor.INFINITE_VALUE: "a feature must be finite and at most 3.4e38, the limit of float32",
        letor.TOO_HIGH: f"feature indices must be below {header.features:,}, as the first line says",
    }
    return Problem(found.place, f"{expected[found.problem]}. Got {token_at(text, found.place)}.")


def _missing(text: Bytes, found: Found, out: Scratch) -> list[Problem]:
    """A problem for the first value that is NaN: a feature that is left out is 0, so nothing can be missing."""
    missing = np.flatnonzero(np.isnan(out.values[: found.entries]))
    if not missing.size:
        return []
    row = int(np.searchsorted(out.ends[: found.rows], missing[0], side="right"))
    return [Problem(int(out.starts[min(row, len(out.starts) - 1)]), "a feature must be a number. Got nan.")]


def _blank_rows_at_the_end(parts: list[Part]) -> int:
    count = 0
    for part in reversed(parts):
        filled = np.flatnonzero((np.diff(part.ends, prepend=0) > 0) | (np.diff(part.label_ends, prepend=0) > 0))
        if filled.size:
            return count + len(part.ends) - 1 - int(filled[-1])
        count += len(part.ends)
    return count


def _together(parts: list[Part], header: Header) -> TaggedData:
    def csr(ends: list[Integers], columns: list[NDArray[np.int32]], values: NDArray[np.float32], width: int) -> object:
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(each, prepend=0) for each in ends)])[: header.rows + 1]
        indptr = np.cumsum(sizes)
        kind = np.int32 if indptr[-1] <= MOST else np.int64
        index = np.concatenate([np.empty(0, np.int32), *columns]).astype(kind, copy=False)
        return sparse.csr_array((values, index, indptr.astype(kind)), shape=(header.rows, width))

    values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
    features = csr([part.ends for part in parts], [part.indices for part in parts], values, header.features)
    features.eliminate_zeros()  # type: ignore[attr-defined]
    grades = np.ones(sum(len(part.labels) for part in parts), np.float32)
    labels = csr([part.label_ends for part in parts], [part.labels for part in parts], grades, header.labels)
    return TaggedData(features, labels)


def _split_rows(path: FilePath, column: int, n_rows: int) -> Integers:
    """The rows that a split file names."""
    with Source(path) as source:
        text = source.readall()
    lines = [line.split() for line in text.splitlines() if line.strip()]
    widths = {len(line) for line in lines}
    if len(widths) != 1 or not all(word.isdigit() and len(word) < 19 for line in lines for word in line):
        raise DataError(f"{os.fspath(path)} must have row numbers, as many a line as there are splits.")
    if not 0 <= column < min(widths):
        raise OptionError(f"column must be from 0 to {min(widths) - 1}, the splits in {os.fspath(path)}. Got {column}.")
    rows = np.array([int(line[column]) for line in lines], dtype=np.int64)
    if rows.min() < 1 or rows.max() > n_rows or len(np.unique(rows)) < len(rows):
        raise DataError(
            f"{os.fspath(path)} must name rows from 1 to {n_rows:,}, each once. Got {rows.min():,} to {rows.max():,}."
        )
    return rows - 1
