"""Work on the entries of parsed rows: sorted by index, copied, written into a table."""

from typing import Any

import numpy as np

from luce.arrays import Integers
from luce.compiled import compiled


def sort_rows(ends: Integers, index: Any, value: Any) -> tuple[int, int]:
    """Sort the entries of each row by index; (row, index) of the first index that a row has twice, or (−1, −1)."""
    rows = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    order = np.lexsort((index[: len(rows)], rows))
    index[: len(rows)], value[: len(rows)] = index[order], value[order]
    twice = np.flatnonzero((np.diff(index[: len(rows)]) == 0) & (np.diff(rows) == 0))
    return (int(rows[twice[0]]), int(index[twice[0]])) if len(twice) else (-1, -1)


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
