"""Extreme-classification text to arrays in compiled code: `l1,l2,… index:value …`, every error with its place."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.compiled import compiled
from luce.data.letor.parser import NEWLINE, NO_ERROR, RETURN, SPACE, TAB, features, skip_blanks

BAD_LABEL, LABEL_TOO_HIGH, COMMENTED = 101, 102, 103
"""What is wrong with a line, beside the errors of features."""


class TaggedBuffers(NamedTuple):
    """Buffers for the content of a piece of text."""

    label_ends: Any  # number of labels up to and with each row
    labels: Any
    starts: Any  # place of the line of each row
    ends: Any  # number of feature entries up to and with each row
    indices: Any
    values: Any
    doubts: Any  # (entry, first byte, byte after it) of numbers to be read again by Python


class TaggedSummary(NamedTuple):
    """How much of the buffers was filled, and the first error with its place."""

    rows: int
    labels: int
    entries: int
    doubts: int
    unsorted: bool
    error: int
    place: int


def buffers_for(text: NDArray[np.uint8]) -> TaggedBuffers:
    """Buffers for what a text can hold: a row a line end, an entry a colon, and a label before each comma or entry."""
    rows, entries, commas = (int(np.count_nonzero(text == byte)) for byte in (NEWLINE, ord(":"), ord(",")))
    return TaggedBuffers(
        label_ends=np.empty(rows, np.int64),
        labels=np.empty(rows + commas, np.int32),
        starts=np.empty(rows, np.int64),
        ends=np.empty(rows, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries, np.float32),
        doubts=np.empty((entries, 3), np.int64),
    )


@compiled
def parse(text, n_features, n_labels, out):
    """Fill `out` from the text, which must end with a line end; every line is a row. Stops at the first error."""
    at = row = label = entry = doubt = 0
    unsorted, error = False, NO_ERROR
    while at < len(text):
        out.starts[row] = at
        error, at, label = _labels(text, at, label, n_labels, out.labels)
        if error == NO_ERROR:
            error, at, entry, doubt, _, _, in_order = features(text, at, entry, doubt, 0, n_features - 1, out)
            unsorted |= not in_order
        if error == NO_ERROR and text[at] != NEWLINE:
            error = COMMENTED
        if error != NO_ERROR:
            break
        out.label_ends[row], out.ends[row] = label, entry
        at += 1
        row += 1
    return TaggedSummary(row, label, entry, doubt, unsorted, error, at)


@compiled
def _labels(text, at, label, n_labels, out):
    """Read labels with commas between them, up to the first blank; a line may begin with features at once."""
    at = skip_blanks(text, at)
    first_label, line = label, at
    while True:
        first, number = at, 0
        while 48 <= text[at] <= 57:
            number = min(number * 10 + text[at] - 48, 1 << 40)
            at += 1
        if text[at] == ord(":") and label == first_label and at > first:
            return NO_ERROR, line, label
        ended = text[at] in (SPACE, TAB, RETURN, NEWLINE)
        if at == first:  # nothing: a row without labels
            return (NO_ERROR if ended and label == first_label else BAD_LABEL), at, label
        if number >= n_labels:
            return LABEL_TOO_HIGH, first, label
        if not ended and text[at] != ord(","):
            return BAD_LABEL, first, label
        out[label] = number
        label += 1
        if ended:
            return NO_ERROR, at, label
        at += 1
