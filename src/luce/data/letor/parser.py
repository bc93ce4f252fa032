"""LETOR text to arrays in compiled code: one pass over a piece of complete lines, every error with its place."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.compiled import compiled, inlined
from luce.data.letor.decimals import INFINITE, NEAR, NO_NUMBER, decimal, single, spells

NO_ERROR, LABEL, INFINITE_LABEL, QUERY, FEATURE, VALUE, INFINITE_VALUE, TOO_LOW, TOO_HIGH = range(9)
"""What is wrong with a line."""

SPACE, TAB, RETURN, NEWLINE, COMMENT, COLON, EQUALS = b" \t\r\n#:="
LETTER_Q, LETTER_I, LETTER_D = b"qid"


class RowBuffers(NamedTuple):
    """Buffers for the content of a piece of text."""

    labels: Any
    starts: Any  # place of the line of each row
    ends: Any  # number of entries up to and with each row
    documents: Any  # places of the first byte of each row's document id and of the byte after it
    indices: Any  # of each entry, as the text has them
    values: Any
    runs: Any  # (row, first byte, byte after it) of the query id of rows that follow each other with the same one
    doubts: Any  # (entry, or −1 − row for a label; first byte; byte after it) of numbers to be read again by Python


class ParseSummary(NamedTuple):
    """How much of the buffers was filled, what was seen in the text, and the first error with its place."""

    rows: int
    entries: int
    runs: int
    doubts: int
    lines: int
    lowest: int
    highest: int
    highest_row: int
    unsorted: bool
    error: int
    place: int


def buffers_for(text: NDArray[np.uint8]) -> RowBuffers:
    """Buffers for what a text can hold: as many rows as it has line ends, as many entries as it has colons."""
    rows, entries = int(np.count_nonzero(text == NEWLINE)), int(np.count_nonzero(text == COLON))
    return RowBuffers(
        labels=np.empty(rows),
        starts=np.empty(rows, np.int64),
        ends=np.empty(rows, np.int64),
        documents=np.empty((rows, 2), np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries, np.float32),
        runs=np.empty((rows, 3), np.int64),
        doubts=np.empty((rows + entries, 3), np.int64),
    )


@compiled
def parse(text, lowest_allowed, highest_allowed, out):
    """Fill `out` from the text, which must end with a line end; stops at the first error."""
    # int64 from the start: what is called in the loop would be compiled once for the literal 0 and once for integers.
    zero: Any = np.int64(0)
    at = row = entry = run = doubt = lines = highest_row = query = zero
    lowest, highest, query_end = 1, 0, zero - 1
    unsorted = False
    error = NO_ERROR
    while at < len(text):
        out.starts[row] = at
        at = skip_blanks(text, at)
        if text[at] == NEWLINE or text[at] == COMMENT:
            at = _line_end(text, at) + 1
            lines += 1
            continue
        error, at, doubt = _label(text, at, row, doubt, out)
        if error != NO_ERROR:
            break
        at = skip_blanks(text, at)
        error, first, last = _query(text, at)
        if error != NO_ERROR:
            break
        if not _same(text, first, last, query, query_end):
            run = _note(out.runs, run, row, first, last)
        query, query_end = first, last
        at = max(at, last)
        error, at, end, doubt, low, high, in_order = features(
            text, at, entry, doubt, lowest_allowed, highest_allowed, out
        )
        if error != NO_ERROR:
            break
        first, last = _document(text, at)
        out.documents[row, 0] = first
        out.documents[row, 1] = last
        at = _line_end(text, at) + 1
        lines += 1
        unsorted |= not in_order
        lowest = min(lowest, low)
        if high > highest:
            highest, highest_row = high, row
        entry = end
        out.ends[row] = entry
        row += 1
    return ParseSummary(row, entry, run, doubt, lines, lowest, highest, highest_row, unsorted, error, at)


@inlined
def _label(text, at, row, doubt, out):
    kind, value, end = decimal(text, at)
    if kind == NO_NUMBER or not _ends_token(text[end]):
        return LABEL, at, doubt
    if kind == INFINITE:
        return INFINITE_LABEL, at, doubt
    out.labels[row] = value
    if kind == NEAR:
        doubt = _note(out.doubts, doubt, -1 - row, at, end)
    return NO_ERROR, end, doubt


@inlined
def _query(text, at):
    """(error, first byte, byte after it) of the query id at a place; both are that place where there is none."""
    if text[at] != LETTER_Q or text[at + 1] != LETTER_I or text[at + 2] != LETTER_D or text[at + 3] != COLON:
        return NO_ERROR, at, at
    first = end = at + 4
    while not _ends_token(text[end]):
        end += 1
    return (NO_ERROR if end > first else QUERY), first, end


@compiled
def features(text, at, entry, doubt, lowest_allowed, highest_allowed, out):
    """Read index:value pairs up to the comment or the line end."""
    lowest, highest, previous = 1 << 40, 0, -1
    in_order = True
    error = NO_ERROR
    while True:
        at = skip_blanks(text, at)
        first = at
        index = 0
        digit = text[at] - 48
        while 0 <= digit <= 9:
            index = min(index * 10 + digit, 1 << 40)
            at += 1
            digit = text[at] - 48
        if at == first or text[at] != COLON:
            if at > first or not (text[at] == NEWLINE or text[at] == COMMENT):
                error = FEATURE
            break
        kind, value, end = decimal(text, at + 1)
        certain, as_single = single(kind, value)
        if kind == NO_NUMBER or not _ends_token(text[end]):
            error = VALUE
        elif np.isinf(as_single) and certain:
            error = INFINITE_VALUE
        elif index < lowest_allowed:
            error = TOO_LOW
        elif index > highest_allowed:
            error = TOO_HIGH
        if error != NO_ERROR:
            break
        out.indices[entry] = index
        out.values[entry] = as_single
        if not certain:
            doubt = _note(out.doubts, doubt, entry, at + 1, end)
        entry += 1
        in_order &= index > previous
        previous = index
        lowest, highest = min(lowest, index), max(highest, index)
        at = end
    return error, at if error == NO_ERROR else first, entry, doubt, lowest, highest, in_order


@inlined
def _document(text, at):
    """Places of the document id in the comment: what follows `docid =`, else the first word."""
    if text[at] != COMMENT:
        return at, at
    first = skip_blanks(text, at + 1)
    if spells(text, first, b"docid"):
        sign = skip_blanks(text, first + 5)
        if text[sign] == EQUALS:
            first = skip_blanks(text, sign + 1)
    end = first
    while not (text[end] == SPACE or text[end] == NEWLINE or text[end] == TAB or text[end] == RETURN):
        end += 1
    return first, end


@inlined
def _note(table, number, what, first, end):
    # One by one: a row assigned at once compiles for seconds.
    table[number, 0] = what
    table[number, 1] = first
    table[number, 2] = end
    return number + 1


@compiled
def skip_blanks(text, at):
    while text[at] == SPACE or text[at] == TAB or text[at] == RETURN:
        at += 1
    return at


@inlined
def _line_end(text, at):
    while text[at] != NEWLINE:
        at += 1
    return at


@inlined
def _ends_token(byte):
    return byte in (SPACE, NEWLINE, TAB, RETURN, COMMENT)


@inlined
def _same(text, first, last, other, other_end):
    if last - first != other_end - other:
        return False
    for i in range(last - first):  # noqa: SIM110
        if text[first + i] != text[other + i]:
            return False
    return True


@compiled
def copy_tokens(text, places, out):
    """Copy the bytes from places[i, 0] to places[i, 1] of the text, one token after the other."""
    filled = 0
    for number in range(len(places)):
        for at in range(places[number, 0], places[number, 1]):
            out[filled] = text[at]
            filled += 1


@compiled
def scatter(ends, index, value, rows, shift, table):
    """Write the entries of row i, up to ends[i], into row rows[i] of a table, which must be zero there."""
    entry = 0
    for row in range(len(ends)):
        target = table[rows[row]]
        while entry < ends[row]:
            target[index[entry] + shift] = value[entry]
            entry += 1
