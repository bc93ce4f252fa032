"""Outcomes of paired comparisons: words for the sides and for a tie, or the name of the winning item."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from luce.aggregation.cells import NullWords, cell_text, encoded_texts
from luce.aggregation.names import Names
from luce.aggregation.tables import result_signs
from luce.arrays import Floats, Integers
from luce.errors import DataError, words_of

LEFT = ("left", "a", "model_a", "item_a", "1")
RIGHT = ("right", "b", "model_b", "item_b", "0")
TIES = ("tie", "draw", "both_bad", "tie (bothbad)", "0.5")


class Sides(NamedTuple):
    """The columns of the two items that are compared, the codes in them and the names of the items."""

    names: tuple[str, str]
    left: Integers
    right: Integers
    items: Names


def outcome_values(
    name: str, column: pa.ChunkedArray, sides: Sides, nulls: NullWords, results: Sequence[Any] | None
) -> Floats:
    """1 where the left item won, 0.5 where they tied, 0 where the right item won, NaN where the outcome is missing.

    A value is a word for a side or a tie, in any case and with any marks between its words, or the name of an item of
    its row. One that can be both is the name if all its rows have the item, and the word if not.
    """
    rows, texts = encoded_texts(column)
    texts.append("")  # what −1, a null, finds
    meanings = _meanings(sides.names, results)
    codes = {} if results is not None else {str(item): code for code, item in enumerate(sides.items)}
    by_word = np.array([np.nan if text in nulls else meanings.get(_folded(text), np.nan) for text in texts])[rows]
    winner = np.array([-1 if text in nulls else codes.get(text, -1) for text in texts])[rows]
    by_name = np.where(winner == sides.left, 1.0, np.where(winner == sides.right, 0.0, np.nan))
    is_word = ~np.isnan(by_word) & np.isin(rows, np.unique(rows[np.isnan(by_name)]))
    row = _first(~is_word & ~np.isnan(by_word) & (by_word != by_name))
    if row is not None and len(sides.items) == 2:  # with more items, a side would soon be in a row without its item
        raise DataError(
            f"Column {name!r} has {texts[rows[row]]!r} in row {row + 1}: is it a side or the name of an item? Rename "
            "the items, or give columns of the winner and the loser."
        )
    values = np.where(is_word, by_word, by_name)
    row = _first(np.isnan(values) & ~np.array([text in nulls for text in texts])[rows])
    if row is not None:
        raise _unknown(name, row, texts[rows[row]], sides, results)
    return values


def _meanings(columns: tuple[str, str], results: Sequence[Any] | None) -> dict[str, float]:
    """1 for a word that says that the left item won, 0.5 for a tie, 0 for the right one."""
    if results is None:
        left, right = map(_folded, columns)
        swapped = left in map(_folded, RIGHT) or right in map(_folded, LEFT)  # left=model_b: "b" would be unclear
        results = ([left], TIES, [right]) if swapped else ([*LEFT, left], TIES, [*RIGHT, right])
    signs = result_signs(results, key=lambda word: _folded(cell_text(word)))
    return {word: (1 + sign) / 2 for word, sign in signs.items()}


def _folded(word: str) -> str:
    """The letters and digits of a word; a number as it is.

    >>> _folded("Tie (both_bad)"), _folded("Model-A"), _folded("0.5"), _folded("-1")
    ('tiebothbad', 'modela', '0.5', '-1')
    """
    letters = "".join(words_of(word))
    return word if letters.isdigit() or not letters else letters


def _first(rows: Any) -> int | None:
    return int(np.argmax(rows)) if rows.any() else None


def _unknown(name: str, row: int, text: str, sides: Sides, results: Sequence[Any] | None) -> DataError:
    pair = " or ".join(str(sides.items[codes[row]]) for codes in (sides.left, sides.right))
    expected = f"{pair}, or a side ({', '.join(sides.names)}), or tie" if results is None else f"one of {results}"
    return DataError(
        f"Column {name!r} must say who won. Row {row + 1} has {text!r}, expected {expected}. Other words are named by "
        "results=, in this order: the left item won, a tie, the right one won."
    )
