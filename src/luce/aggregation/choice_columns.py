"""Which columns of a table hold the choices of orders, or the ranks of items: those named, or all that can be."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa

from luce.aggregation.cells import ItemCells, NullWords, encoded_texts
from luce.aggregation.names import Names
from luce.arrays import Floats, Integers
from luce.data.columns import is_number, matching_columns
from luce.data.table_files import NUMBER
from luce.data.tables import table_of
from luce.errors import DataError

CHOICE = re.compile(r"(rank|place|choice)[ _.-]?\d+|\d+(st|nd|rd|th)([ _.-].*)?", re.IGNORECASE)
"""Names of columns that are the choices of orders: rank1, choice_2, 3rd choice."""

NUMBERED = re.compile(r"\D*[a-z]\D*?(\d+)|(\d+)(?:st|nd|rd|th)\b.*", re.IGNORECASE)

CLEAR = 10
"""Cells that a column must fill before its values alone show that it is no choice."""


def named_columns(table: pa.Table, columns: str | Sequence[str] | None, taken: Sequence[str | None] = ()) -> list[str]:
    """The columns that are named, or all, less those that are taken; numbered ones by their number.

    >>> named_columns(pa.table({"rank1": [1], "rank10": [3], "rank2": [2], "n": [5]}), "rank*")
    ['rank1', 'rank2', 'rank10']
    """
    patterns = [columns] if isinstance(columns, str) else columns
    named = table_of("The table", table)
    names = table.column_names if patterns is None else matching_columns(named, "columns", patterns)
    names = [each for each in names if each not in taken]
    if not names:
        raise DataError(f"No columns of rankings are left. The table has {', '.join(table.column_names) or 'none'}.")
    numbers = [_number(each) for each in names]
    if None in numbers or len(set(numbers)) < len(numbers):
        return names
    return [name for _, name in sorted(zip(numbers, names, strict=True))]


def refuse_other_than_choices(names: list[str], cells: ItemCells) -> None:
    """An error for columns that are clearly no choices, such as a ballot id, a precinct or a date.

    Where two columns or more are numbered (rank1, rank2), these are all that are not. Otherwise it is a column that has
    less than a tenth of its cells in common with the others, while at least two of these have half of theirs in common.
    It must fill ten cells or more and half of the rows, or have numbers where the others have text, or the reverse: in
    a few rankings the first choices may well be those that nobody has second. Columns of one numbered name are choices.
    """
    stems = [None if _number(name) is None else "" if CHOICE.fullmatch(name) else _stem(name) for name in names]
    numbered = [name for name, stem in zip(names, stems, strict=True) if stem is not None and stems.count(stem) > 1]
    if numbered:
        fault = f"{numbered[0]} and {numbered[1]} are numbered, they are not"
        _refuse([name for name in names if name not in numbered], names, "choices", fault)
        if len(set(stems)) == 1:
            return
    filled = np.array([np.count_nonzero(column >= 0) for column in cells.columns])
    common = _common_shares(cells)
    linked = common >= 0.5
    if np.count_nonzero(linked) < 2:
        return
    numeric = np.array([_is_numeric(column, cells.names) for column in cells.columns])
    other_kind = (numeric[linked] == numeric[linked][0]).all() & (numeric != numeric[linked][0])
    clear = (filled >= CLEAR) & (2 * filled >= len(cells.columns[0])) | (filled > 0) & other_kind
    strange = [name for name, each in zip(names, (common < 0.1) & clear, strict=True) if each]
    _refuse(strange, names, "choices", "hardly any of their values are in other columns")


def refuse_other_than_ranks(names: list[str], ranks: Floats) -> None:
    """An error for columns that are clearly no ranks, such as an id or a year.

    Over half of their values exceed the number of columns, and none of those of all others, two or more, do.
    """
    beyond = np.count_nonzero(ranks > len(names), axis=0)
    strange = 2 * beyond > np.count_nonzero(~np.isnan(ranks), axis=0)
    if np.count_nonzero(~strange) >= 2 and not beyond[~strange].any():
        fault = f"most of their values exceed {len(names)}, the number of columns, which the others never do"
        _refuse([name for name, each in zip(names, strange, strict=True) if each], names, "ranks", fault)


def refuse_text_among_ranks(table: pa.Table, names: list[str], nulls: NullWords) -> None:
    """An error for columns of text without any number, where most columns have numbers."""
    text = [name for name in names if _only_text(table.column(name), nulls)]
    if 2 * len(text) < len(names):
        _refuse(text, names, "ranks", "they are text, the others are numbers")


def columns_hint(wanted: list[str], names: Sequence[str]) -> str:
    """How to name these columns, and those of weights and rankers.

    >>> columns_hint(["rank1", "rank2"], ["id", "rank1", "rank2"])
    "columns='rank*', on the command line --read 'columns=rank*' (weights and rankers by weight= and ranker=)"
    """
    others = "(weights and rankers by weight= and ranker=)"
    pattern = f"{wanted[0].rstrip('0123456789')}*"
    if len(wanted) > 1 and [name for name in names if fnmatchcase(name, pattern)] == wanted:
        return f"columns={pattern!r}, on the command line --read 'columns={pattern}' {others}"
    return f"columns={wanted!r}, on the command line --read 'columns={','.join(wanted)}' {others}"


def _refuse(strange: list[str], names: list[str], role: str, fault: str) -> None:
    if strange:
        wanted = [name for name in names if name not in strange]
        raise DataError(
            f"Columns that are probably no {role}: {', '.join(map(repr, strange))} ({fault}). Name the columns to use: "
            f"{columns_hint(wanted, names)}; columns='*' uses all."
        )


def _number(name: str) -> int | None:
    """The number in the name of a column, such as rank2 or 2nd choice."""
    match = NUMBERED.fullmatch(name.strip())
    return int(match[1] or match[2]) if match else None


def _stem(name: str) -> str:
    """The letters of the name of a column."""
    return re.sub(r"[\W\d_]", "", name).lower()


def _common_shares(cells: ItemCells) -> Floats:
    """Of each column, the part of its cells whose item is also in another column."""
    counts = np.array([np.bincount(column[column >= 0], minlength=len(cells.names)) for column in cells.columns])
    common = (counts > 0).sum(axis=0) >= 2
    return counts[:, common].sum(axis=1) / np.maximum(counts.sum(axis=1), 1)


def _is_numeric(column: Integers, names: Names) -> bool:
    """Whether all items of a column are numbers, or written as numbers."""
    return all(re.match(NUMBER, str(names[code])) for code in np.unique(column[column >= 0]))


def _only_text(column: pa.ChunkedArray, nulls: NullWords) -> bool:
    words = [] if is_number(column.type) else [word for word in encoded_texts(column)[1] if word not in nulls]
    return bool(words) and not any(re.match(NUMBER, word) for word in words)
