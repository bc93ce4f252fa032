"""One piece of LETOR text as arrays, with the first thing that is wrong with it."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, offsets_of_sizes
from luce.data.allocation import BlockAllocator
from luce.data.letor import parser
from luce.data.letor.parser import ParseSummary, RowBuffers, buffers_for, copy_tokens, parse, scatter
from luce.data.streams import Bytes


class IndexBounds(NamedTuple):
    """The feature indices that are allowed, and where the upper bound comes from."""

    lowest: int
    highest: int
    reason: str


class LineError(NamedTuple):
    """What is wrong, and at which byte of the piece."""

    place: int
    text: str


class SparseRows(NamedTuple):
    """Values that are not zero: row i has those up to ends[i]."""

    ends: Integers
    columns: NDArray[np.int32]
    values: NDArray[np.float32]


class ParsedPiece(NamedTuple):
    """The rows of one piece of text."""

    labels: Floats
    features: NDArray[np.float32] | SparseRows  # whichever takes less memory; column 0 has the index `base`
    base: int  # 0 where the piece has the index 0, else 1
    highest: int  # the highest feature index
    highest_place: int  # of the line where it first occurs
    n_entries: int  # index:value pairs in the text, those with the value 0 too
    run_sizes: Integers  # how many rows that follow each other have the same query id
    run_places: Integers  # of the first line of each run
    query_ids: pa.Array  # of each run, '' where there is none
    document_ids: pa.Array  # of each row, '' where there is none
    lines: int


def parse_piece(text: Bytes, bounds: IndexBounds, allocator: BlockAllocator) -> tuple[ParsedPiece, LineError | None]:
    """What a piece of complete lines holds, up to the first error where there is one."""
    out = buffers_for(text)
    summary = parse(text, bounds.lowest, bounds.highest, out)
    wrong = [(summary.error, summary.place)] if summary.error else []
    wrong += read_doubts(text, out.doubts[: summary.doubts], out.values, out.labels)
    errors = [_line_error(text, error, place, bounds) for error, place in wrong]
    if summary.unsorted:
        errors += sort_rows(out.starts, out.ends[: summary.rows], out.indices, out.values)
    runs, documents = out.runs[: summary.runs], out.documents[: summary.rows]
    query_ids, wrong_query = _strings("query", text, np.ascontiguousarray(runs[:, 1:]), allocator)
    document_ids, wrong_document = _strings("document", text, documents, allocator)
    piece = ParsedPiece(
        labels=allocator.copy(out.labels[: summary.rows]),
        features=_features(summary, out, allocator),
        base=summary.lowest,
        highest=summary.highest,
        highest_place=int(out.starts[summary.highest_row]),
        n_entries=summary.entries,
        run_sizes=np.diff(runs[:, 0], append=summary.rows),
        run_places=out.starts[runs[:, 0]],
        query_ids=query_ids,
        document_ids=document_ids,
        lines=summary.lines,
    )
    return piece, min([*errors, *wrong_query, *wrong_document], default=None)


def token_at(text: Bytes, place: int, limit: int = 40) -> str:
    """The word at a place, as an error shows it."""
    word = bytes(text[place : place + limit + 1]).split(b"\n", 1)[0].split(maxsplit=1)[:1] or [b""]
    shown = word[0].decode(errors="replace")
    return repr(shown[:limit] + "…" if len(shown) > limit else shown)


def _line_error(text: Bytes, error: int, place: int, bounds: IndexBounds) -> LineError:
    expected = {
        parser.LABEL: "expected a label: a number, or nan if it is not observed",
        parser.INFINITE_LABEL: "a label must be finite, or nan if it is not observed",
        parser.QUERY: "expected a query id right after qid:",
        parser.FEATURE: "expected index:value, such as 3:0.25",
        parser.VALUE: "expected a number after the colon, or nan or NULL for a missing value",
        parser.INFINITE_VALUE: "a feature must be finite and at most 3.4e38, the limit of float32",
        parser.TOO_LOW: f"feature indices must be at least {bounds.lowest}, because first_index={bounds.lowest}",
        parser.TOO_HIGH: f"feature indices must be at most {bounds.highest:,}: {bounds.reason}",
    }
    return LineError(place, f"{expected[error]}. Got {token_at(text, place)}.")


def read_doubts(text: Bytes, doubts: Integers, values: Any, labels: Any = None) -> list[tuple[int, int]]:
    """Have Python, which is always right, read the numbers that compiled code was not sure of; (error, place) of each
    that is infinite."""
    errors = []
    for number, first, end in doubts.tolist():
        is_label = number < 0
        target, at = (labels, -1 - number) if is_label else (values, number)
        with np.errstate(over="ignore"):
            target[at] = float(bytes(text[first:end]))
        if np.isinf(target[at]):
            errors.append((parser.INFINITE_LABEL if is_label else parser.INFINITE_VALUE, first))
    return errors


def sort_rows(starts: Integers, ends: Integers, index: Any, value: Any) -> list[LineError]:
    """Sort the entries of each row by index; an error for the first index that is repeated in a row."""
    rows = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    order = np.lexsort((index[: len(rows)], rows))
    index[: len(rows)], value[: len(rows)] = index[order], value[order]
    repeated = np.flatnonzero((np.diff(index[: len(rows)]) == 0) & (np.diff(rows) == 0))[:1]
    return [LineError(int(starts[rows[at]]), f"feature index {index[at]} is repeated.") for at in repeated]


def _strings(kind: str, text: Bytes, places: Integers, allocator: BlockAllocator) -> tuple[pa.Array, list[LineError]]:
    """The words from places[i, 0] to places[i, 1] of the text, and an error for the first that is not UTF-8."""
    offsets = allocator.copy(offsets_of_sizes(places[:, 1] - places[:, 0]))
    packed = allocator.zeros((int(offsets[-1]),), np.uint8)
    copy_tokens(text, places, packed)
    strings = pa.LargeStringArray.from_buffers(len(places), pa.py_buffer(offsets), pa.py_buffer(packed))
    if not len(packed) or (packed.min() > 0 and _is_utf8(strings)):
        return strings, []
    for first, end in places.tolist():
        token = bytes(text[first:end])
        if b"\0" in token or token.decode(errors="replace").encode() != token:
            return strings, [
                LineError(first, f"the {kind} id {token[:40]!r} is not UTF-8 text. Save the file as UTF-8.")
            ]
    return strings, []


def _is_utf8(strings: pa.Array) -> bool:
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _features(summary: ParseSummary, out: RowBuffers, allocator: BlockAllocator) -> NDArray[np.float32] | SparseRows:
    rows, entries = summary.rows, summary.entries
    ends, indices, values = out.ends[:rows], out.indices[:entries], out.values[:entries]
    width = max(0, summary.highest + 1 - summary.lowest)
    if 4 * rows * width <= 8 * (rows + entries):
        table = allocator.zeros((rows, width), np.float32)
        scatter(ends, indices, values, np.arange(rows), -summary.lowest, table)
        return table
    stored = values.view(np.uint32) != 0  # as bits, −0 is not zero, and stays
    ends = np.concatenate([[0], np.cumsum(stored)])[ends]
    columns = indices[stored] - np.int32(summary.lowest)
    return SparseRows(allocator.copy(ends), allocator.copy(columns), allocator.copy(values[stored]))
