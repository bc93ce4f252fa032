"""The cells of tables of rankings: items, numbers, ids, and the words that stand for a missing value."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.aggregation.names import Names
from luce.aggregation.tables import column_numbers
from luce.arrays import Floats, Integers
from luce.data.columns import is_number
from luce.data.table_files import NULLS, NUMBER
from luce.errors import DataError

SKIPPED = ("\\N", "skipped", "undervote", "overvote")
"""What a ballot or a database has for a missing value, in upper or lower case."""

UNPLACED = ("DNF", "DNS", "DSQ", "DNQ")
"""What a race has in the place of those who did not finish, start or qualify, in upper or lower case."""

EXACT = 2.0**53
"""From here on several integers are one float64."""

INTEGER = re.compile(r"-?(0|[1-9]\d*)(\.0+)?")


@dataclass(frozen=True)
class NullWords:
    """The words that stand for a missing value: some as written, some (by their lower case) in upper or lower case."""

    as_written: frozenset[str]
    any_case: Mapping[str, str]

    def __contains__(self, word: str) -> bool:
        return word in self.as_written or word.lower() in self.any_case


def null_words(nulls: Any, *, places: bool = False) -> NullWords:
    """The words that were given, as written, or the usual ones; an empty cell is always missing.

    >>> "Overvote" in null_words(None), "DNF" in null_words(None), "DNF" in null_words(None, places=True)
    (True, False, True)
    >>> "skipped" in null_words("none"), "" in null_words("none")
    (False, True)
    """
    if nulls is not None:
        given = nulls if isinstance(nulls, (list, tuple, set, frozenset)) else [nulls]
        return NullWords(frozenset(["", *map(cell_text, given)]), {})
    words = (*SKIPPED, *(UNPLACED if places else ()))
    return NullWords(frozenset(NULLS), {word.lower(): word for word in words})


class ItemCells(NamedTuple):
    """The item of each cell, −1 where it is missing; the names; and how many cells had each word for a missing one."""

    columns: list[Integers]
    names: Names
    missing: Counter[str]


def item_cells(columns: Sequence[pa.ChunkedArray], nulls: NullWords) -> ItemCells:
    """The items of several columns under common codes.

    Items are integers if some column has numbers and every item is written as an integer, and text otherwise.

    >>> cells = item_cells([pa.chunked_array([["b", "a"]]), pa.chunked_array([["overvote", "b"]])], null_words(None))
    >>> [column.tolist() for column in cells.columns], cells.names, dict(cells.missing)
    ([[0, 1], [-1, 0]], ('b', 'a'), {'overvote': 1})
    """
    codes: dict[str, int] = {}
    missing: Counter[str] = Counter()
    found = []
    for column in columns:
        rows, texts = encoded_texts(column)
        missing += _count_missing(rows, texts, nulls)
        of_text = [-1 if text in nulls else codes.setdefault(text, len(codes)) for text in texts]
        found.append(np.array([*of_text, -1])[rows])
    if not codes:
        raise DataError("There are no items: all cells are empty, or have words for a missing value.")
    if any(is_number(column.type) for column in columns) and all(map(INTEGER.fullmatch, codes)):
        integers = [int(text.partition(".")[0]) for text in codes]  # "7" and "7.0" are one item
        codes_of = {name: code for code, name in enumerate(dict.fromkeys(integers))}
        again = np.array([*(codes_of[name] for name in integers), -1])
        return ItemCells([again[column] for column in found], tuple(codes_of), missing)
    return ItemCells(found, tuple(codes), missing)


def number_cells(name: str, column: pa.ChunkedArray, nulls: NullWords, hint: str = "") -> tuple[Floats, Counter[str]]:
    """The numbers of a column, NaN where one is missing, and how many cells had each word for that.

    A word that is neither a number nor for a missing one is an error, which ends in the hint.
    """
    if is_number(column.type):
        values = column_numbers(name, column)
        marks = [float(word) for word in nulls.as_written if re.match(NUMBER, word)]
        missing = Counter(map(cell_text, values[np.isin(values, marks)].tolist()))
        return np.where(np.isin(values, marks), np.nan, values), missing
    rows, texts = encoded_texts(column)
    numeric = [re.match(NUMBER, text) is not None for text in texts]
    strange = [code for code, text in enumerate(texts) if not numeric[code] and text not in nulls]
    if strange:
        row = int(np.argmax(np.isin(rows, strange)))
        if any(numeric) and len(strange) <= SHOWN_WORDS:
            hint = _nulls_hint([texts[code] for code in strange], [text for text in texts if text in nulls])
        raise DataError(f"Column {name!r} must be numbers. Row {row + 1} has {texts[rows[row]]!r}.{hint}")
    of_text = [float(text) if is_one else np.nan for text, is_one in zip(texts, numeric, strict=True)]
    return np.array([*of_text, np.nan])[rows], _count_missing(rows, texts, nulls)


SHOWN_WORDS = 5
"""Words that are no numbers, up to which a column of numbers has words for a missing one, and is not one of text."""


def _nulls_hint(strange: list[str], known: list[str]) -> str:
    words = [*filter(None, known), *strange]
    return (
        f" If that stands for a missing value, give nulls={words!r}, on the command line "
        f"--read 'nulls={','.join(words)}'."
    )


def id_cells(column: pa.ChunkedArray, nulls: NullWords) -> pa.Array:
    """The ids of a column, null where one is missing: numbers as they are, all else as text."""
    if is_number(column.type):
        return column.combine_chunks()
    rows, texts = encoded_texts(column)
    kept = pa.array([None if text in nulls else text for text in [*texts, ""]], pa.large_string())
    return kept.take(pa.array(rows % len(kept)))


def encoded_texts(column: pa.ChunkedArray) -> tuple[Integers, list[str]]:
    """The code of each cell, −1 where it is null, and the text of each code."""
    values = column.combine_chunks()
    try:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()  # a category without rows is no item
        if pa.types.is_floating(values.type):
            _refuse_inexact(values)
        encoded = values.dictionary_encode()
    except pa.ArrowException as error:
        raise DataError(f"Cells must be text or numbers. Got {values.type}: {error}") from error
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, [cell_text(value) for value in encoded.dictionary.to_pylist()]


def _refuse_inexact(values: pa.Array) -> None:
    """An error for whole numbers beyond 2^53: as decimal numbers, different ids may be equal."""
    largest = pc.max(pc.abs(values)).as_py()
    if largest is not None and EXACT <= largest < np.inf:
        raise DataError(
            f"Numbers beyond 2^53 are not exact, so that different ids may be equal. Got {largest:.17g}. Give them as "
            "text, for example with a letter in front."
        )


def cell_text(value: Any) -> str:
    """What a cell says, without blanks around it; an integer that a column with gaps made a float is an integer.

    >>> cell_text(" ann "), cell_text(7.0), cell_text(0.5), cell_text(float("nan"))
    ('ann', '7', '0.5', '')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _count_missing(rows: Integers, texts: list[str], nulls: NullWords) -> Counter[str]:
    """How many cells have each word for a missing value; empty ones are not counted."""
    counts = np.bincount(rows[rows >= 0], minlength=len(texts))
    missing: Counter[str] = Counter()
    for text, count in zip(texts, counts.tolist(), strict=True):
        if text and text in nulls:
            missing[nulls.any_case.get(text.lower(), text)] += count
    return missing
