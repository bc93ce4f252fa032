"""One piece of LETOR text as arrays, kept until the whole is there, with the first thing that is wrong with it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.data.letor import parser
from luce.data.letor.parser import Found, Scratch, parse
from luce.data.letor.placing import copy_tokens, drop_zeros, place_sparse_in_dense, sort_rows
from luce.data.slabs import Slabs

Bytes = NDArray[np.uint8]


class Bounds(NamedTuple):
    """The feature indices that are allowed, and where the upper bound comes from."""

    lowest: int
    highest: int
    reason: str


class Problem(NamedTuple):
    """What is wrong, and at which byte of the piece."""

    place: int
    text: str


class Tokens(NamedTuple):
    """Words one after the other: token i is the bytes from ends[i-1] to ends[i]."""

    ends: Integers
    text: Bytes

    def strings(self) -> pa.Array:
        """The tokens as an Arrow array that shares their bytes."""
        offsets = np.concatenate([[0], self.ends])
        return pa.LargeStringArray.from_buffers(len(self.ends), pa.py_buffer(offsets), pa.py_buffer(self.text))


class Entries(NamedTuple):
    """Values that are not zero: row i has those up to ends[i]."""

    ends: Integers
    columns: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass
class Part:
    """The rows of one piece of text.

    Attributes:
        labels: float64, one a row.
        features: a table of float32, or entries, whichever takes less memory; column 0 has the index `base`.
        base: 0 where the piece has the index 0, else 1.
        highest, highest_place: the highest feature index, and the place of the line where it stands first.
        written: the number of index:value pairs in the text, those with the value 0 too.
        run_sizes, run_places: how many rows in a row have the same query id, and the place of the first.
        queries: the query id of each run, '' where there is none.
        documents: the document id of each row, '' where there is none; None where no row has one.
        lines: the number of lines.
    """

    labels: Floats
    features: NDArray[np.float32] | Entries
    base: int
    highest: int
    highest_place: int
    written: int
    run_sizes: Integers
    run_places: Integers
    queries: Tokens
    documents: Tokens | None
    lines: int


def parse_piece(text: Bytes, bounds: Bounds, slabs: Slabs, out: Scratch) -> tuple[Part, Problem | None]:
    """What a piece of whole lines holds, up to the first problem where there is one."""
    found = parse(text, bounds.lowest, bounds.highest, out)
    problems = [_wrong_line(text, found, bounds)] if found.problem else []
    problems += _read_doubts(text, found, out)
    problems += _sort(found, out)
    runs = out.runs[: found.runs]
    queries = _tokens(text, np.ascontiguousarray(runs[:, 1:]))
    documents = _tokens(text, out.documents[: found.rows])
    problems += _wrong_ids("query", queries, runs[:, 1])
    problems += _wrong_ids("document", documents, out.documents[: found.rows, 0])
    part = Part(
        labels=slabs.copy(out.labels[: found.rows]),
        features=_features(found, out, slabs),
        base=found.lowest,
        highest=found.highest,
        highest_place=int(out.starts[found.highest_row]),
        written=found.entries,
        run_sizes=np.diff(runs[:, 0], append=found.rows),
        run_places=out.starts[runs[:, 0]],
        queries=queries,
        documents=Tokens(slabs.copy(documents.ends), slabs.copy(documents.text)) if len(documents.text) else None,
        lines=found.lines,
    )
    return part, min(problems, default=None)


def token_at(text: Bytes, place: int, limit: int = 40) -> str:
    """The word at a place, as an error shows it."""
    word = bytes(text[place : place + limit + 1]).split(b"\n", 1)[0].split(maxsplit=1)[:1] or [b""]
    shown = word[0].decode(errors="replace")
    return repr(shown[:limit] + "…" if len(shown) > limit else shown)


def _wrong_line(text: Bytes, found: Found, bounds: Bounds) -> Problem:
    expected = {
        parser.LABEL: "expected a label: a number, or nan where it is not observed",
        parser.INFINITE_LABEL: "a label must be finite, or nan where it is not observed",
        parser.QUERY: "expected a query id right after qid:",
        parser.FEATURE: "expected index:value, such as 3:0.25",
        parser.VALUE: "expected a number after the colon, or nan or NULL where it is missing",
        parser.INFINITE_VALUE: "a feature must be finite and at most 3.4e38, the limit of float32",
        parser.TOO_LOW: f"feature indices must be at least {bounds.lowest}, as first_index={bounds.lowest} says",
        parser.TOO_HIGH: f"feature indices must be at most {bounds.highest:,}: {bounds.reason}",
    }
    return Problem(found.place, f"{expected[found.problem]}. Got {token_at(text, found.place)}.")


def _read_doubts(text: Bytes, found: Found, out: Scratch) -> list[Problem]:
    """Numbers that the compiled code was not sure of, each read by Python, which is always right."""
    problems = []
    for number, first, end in out.doubts[: found.doubts].tolist():
        target, kind = (out.values, parser.INFINITE_VALUE) if number >= 0 else (out.labels, parser.INFINITE_LABEL)
        at = number if number >= 0 else -1 - number
        with np.errstate(over="ignore"):
            target[at] = float(bytes(text[first:end]))
        if np.isinf(target[at]):
            problems.append(_wrong_line(text, found._replace(problem=kind, place=first), Bounds(0, 0, "")))
    return problems


def _sort(found: Found, out: Scratch) -> list[Problem]:
    if not found.unsorted:
        return []
    row, index = sort_rows(out.ends[: found.rows], out.indices, out.values)
    return [Problem(int(out.starts[row]), f"feature index {index} is there twice.")] if row >= 0 else []


def _tokens(text: Bytes, places: Integers) -> Tokens:
    ends = np.cumsum(places[:, 1] - places[:, 0])
    packed = np.empty(ends[-1] if len(ends) else 0, np.uint8)
    copy_tokens(text, places, packed)
    return Tokens(ends, packed)


def _wrong_ids(kind: str, tokens: Tokens, places: Integers) -> list[Problem]:
    if not len(tokens.text) or (tokens.text.min() > 0 and _is_utf8(tokens)):
        return []
    start = 0
    for end, place in zip(tokens.ends.tolist(), places.tolist(), strict=True):
        token = bytes(tokens.text[start:end])
        if b"\0" in token or token.decode(errors="replace").encode() != token:
            return [Problem(place, f"the {kind} id {token[:40]!r} is not UTF-8 text. Save the file as UTF-8.")]
        start = end
    return []


def _is_utf8(tokens: Tokens) -> bool:
    try:
        tokens.strings().validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _features(found: Found, out: Scratch, slabs: Slabs) -> NDArray[np.float32] | Entries:
    ends, indices, values = out.ends[: found.rows], out.indices[: found.entries], out.values[: found.entries]
    width = max(0, found.highest + 1 - found.lowest)
    if 4 * found.rows * width <= 8 * (found.rows + found.entries):
        table = slabs.zeros((found.rows, width), np.float32)
        place_sparse_in_dense(ends, indices, values, np.arange(found.rows), -found.lowest, table)
        return table
    drop_zeros(ends, indices, values.view(np.uint32))
    kept = int(ends[-1])
    return Entries(slabs.copy(ends), slabs.copy(indices[:kept] - np.int32(found.lowest)), slabs.copy(values[:kept]))
