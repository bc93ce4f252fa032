"""Rankings from tables of four forms: long, pairs, orders and ranks."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from luce.aggregation.cells import NullWords, id_cells, item_cells, null_words, number_cells
from luce.aggregation.choice_columns import (
    named_columns,
    refuse_other_than_choices,
    refuse_other_than_ranks,
    refuse_text_among_ranks,
)
from luce.aggregation.outcomes import Sides, outcome_values
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats, offsets_of_sizes
from luce.errors import DataError, OptionError, unknown_name

RANKING, ITEM, PLACE = ("ranking",), ("item",), ("place", "rank", "position")
WINNER, LOSER = ("winner",), ("loser",)
SIDES = (("left", "right"), ("model_a", "model_b"), ("model_x", "model_y"), ("item_a", "item_b"))
"""The usual names of columns, in upper or lower case."""


def from_long(
    table: pa.Table,
    *,
    ranking: str | None = None,
    item: str | None = None,
    place: str | None = None,
    weight: str | None = None,
    ranker: str | None = None,
    nulls: Any = None,
    missing: str = "absent",
    unlisted: str = "absent",
    repeated: str = "error",
) -> Rankings:
    """One row per item of a ranking."""
    ranking, item = find_column(table, "ranking", ranking, RANKING), find_column(table, "item", item, ITEM)
    place = find_column(table, "place", place, PLACE)
    words = null_words(nulls)
    cells = {name: id_cells(_column(table, name), words) for name in (ranking, item, ranker) if name is not None}
    hint = " Name the column of the places by place=."
    cells[place], _ = number_cells(place, table.column(place), null_words(nulls, places=True), hint)
    if weight is not None:
        cells[weight] = _weights(table, weight, words)
    return Rankings.from_table(
        pa.table({name: pa.array(values) for name, values in cells.items()}),
        ranking=ranking,
        item=item,
        place=place,
        weight=weight,
        ranker=ranker,
        missing=missing,
        unlisted=unlisted,
        repeated=repeated,
    )


def from_pairs(
    table: pa.Table,
    *,
    winner: str | None = None,
    loser: str | None = None,
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    results: Sequence[Any] | None = None,
    weight: str | None = None,
    ranker: str | None = None,
    nulls: Any = None,
    missing: str = "error",
) -> Rankings:
    """One row per comparison."""
    if missing not in ("error", "absent"):
        raise unknown_name("value of missing", missing, ["error", "absent"])
    words = null_words(nulls)
    first, second, outcome = _pair_columns(table, winner, loser, left, right, outcome)
    cells = item_cells([_column(table, first), _column(table, second)], words)
    for name, codes in zip((first, second), cells.columns, strict=True):
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            found = table.column(name)[row].as_py()
            raise DataError(
                f"Column {name!r} has no item in row {row + 1}{f' but {found!r}' if found else ''}. Fill it in, or "
                "remove the row. The words for a missing value are set by nulls=."
            )
    values = np.ones(table.num_rows)
    if outcome is not None:
        sides = Sides((first, second), cells.columns[0], cells.columns[1], cells.names)
        values = outcome_values(outcome, _column(table, outcome), sides, words, results)
    elif results is not None:
        raise OptionError("results= is for a column of outcomes, which outcome= names.")
    kept = ~np.isnan(values)
    if missing == "error" and not kept.all():
        raise DataError(
            f"Column {outcome!r} has no outcome in row {int(np.argmin(kept)) + 1} ({np.sum(~kept):,} in total). Fill "
            "it in, or leave out such rows with missing='absent', on the command line --read missing=absent."
        )
    extras: dict[str, Any] = {
        "weights": None if weight is None else _weights(table, weight, words)[kept],
        "rankers": None if ranker is None else _rankers(table, ranker, words).filter(pa.array(kept)),
    }
    left_codes, right_codes = (codes[kept] for codes in cells.columns)
    rankings = Rankings.from_pairs(
        left_codes, right_codes, values[kept], names=cells.names, n_items=len(cells.names), **extras
    )
    return _with_left_out(rankings, Counter({"comparisons without an outcome": int(np.sum(~kept))}))


def from_orders(
    table: pa.Table,
    *,
    columns: str | Sequence[str] | None = None,
    weight: str | None = None,
    ranker: str | None = None,
    nulls: Any = None,
    unlisted: str = "absent",
    repeated: str = "error",
) -> Rankings:
    """One row per ranking, its items from best to worst."""
    words = null_words(nulls)
    extras = _extras(table, weight, ranker, words)
    names = named_columns(table, columns, [weight, ranker])
    cells = item_cells([table.column(name) for name in names], words)
    if columns is None:
        refuse_other_than_choices(names, cells)
    codes = np.column_stack(cells.columns)
    listed = codes >= 0
    items, offsets = codes[listed].tolist(), offsets_of_sizes(listed.sum(axis=1)).tolist()
    rankings = Rankings.from_orderings(
        [items[start:end] for start, end in pairwise(offsets)],
        names=cells.names,
        n_items=len(cells.names),
        unlisted=unlisted,
        repeated=repeated,
        **extras,
    )
    return _with_missing(rankings, cells.missing)


def from_ranks(
    table: pa.Table,
    *,
    columns: str | Sequence[str] | None = None,
    weight: str | None = None,
    ranker: str | None = None,
    nulls: Any = None,
    unlisted: str = "absent",
) -> Rankings:
    """One row per ranking and one column per item."""
    words = null_words(nulls, places=True)
    extras = _extras(table, weight, ranker, words)
    names = named_columns(table, columns, [weight, ranker])
    if columns is None:
        refuse_text_among_ranks(table, names, words)
    missing: Counter[str] = Counter()
    ranks = np.empty((table.num_rows, len(names)))
    for place, name in enumerate(names):
        hint = " It must be the ranks of an item; if rows list the items themselves, the format is orders."
        ranks[:, place], found = number_cells(name, table.column(name), words, hint)
        missing += found
    if columns is None:
        refuse_other_than_ranks(names, ranks)
    rankings = Rankings.from_ranks(ranks, names=names, unlisted=unlisted, **extras)
    return _with_missing(rankings, missing if unlisted == "absent" else Counter())


def find_column(table: pa.Table, option: str, given: str | None, usual: Sequence[str]) -> str:
    """The column that was named, or the one that has a usual name."""
    if given is not None:
        _column(table, given)
        return given
    found = [name for name in table.column_names if name.lower() in usual]
    if len(found) == 1:
        return found[0]
    fault = f"There are columns {' and '.join(map(repr, found))}" if found else f"There is no column {usual[0]!r}"
    example = found[0] if found else "NAME"
    raise DataError(
        f"{fault}: name the one to use by {option}={example!r}, on the command line --read {option}={example}. "
        f"Columns: {', '.join(table.column_names)}."
    )


def _pair_columns(
    table: pa.Table, winner: str | None, loser: str | None, left: str | None, right: str | None, outcome: str | None
) -> tuple[str, str, str | None]:
    """The columns of the two items and of the outcome; without one, the first is the winner."""
    by_side = [name for name in (left, right, outcome) if name is not None]
    if (winner is not None or loser is not None) and by_side:
        raise OptionError(
            "winner= and loser= name columns of items, left=, right= and outcome= those of two items and of who won. "
            "Give one group or the other."
        )
    names = {name.lower(): name for name in table.column_names}
    if not by_side and (winner is not None or loser is not None or {"winner", "loser"} <= names.keys()):
        return find_column(table, "winner", winner, WINNER), find_column(table, "loser", loser, LOSER), None
    usual = next((each for each in SIDES if names.keys() >= set(each)), SIDES[0])
    first = find_column(table, "left", left, usual[:1])
    second = find_column(table, "right", right, usual[1:])
    if outcome is None and "winner" not in names:
        raise DataError(
            f"Which of {first!r} and {second!r} won is in a column that outcome= names, on the command line "
            f"--read outcome=NAME. If all in {first!r} won, give winner={first!r} and loser={second!r} instead."
        )
    return first, second, find_column(table, "outcome", outcome, WINNER)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise unknown_name("column", name, table.column_names)
    return table.column(name)


def _extras(table: pa.Table, weight: str | None, ranker: str | None, nulls: NullWords) -> dict[str, Any]:
    return {
        "weights": None if weight is None else _weights(table, weight, nulls),
        "rankers": None if ranker is None else _rankers(table, ranker, nulls),
    }


def _weights(table: pa.Table, name: str, nulls: NullWords) -> Floats:
    values = number_cells(name, _column(table, name), nulls, " Name the column of the weights by weight=.")[0]
    if np.isnan(values).any():
        raise DataError(
            f"Column {name!r} must have a weight in every row. Row {int(np.argmax(np.isnan(values))) + 1} has none."
        )
    return values


def _rankers(table: pa.Table, name: str, nulls: NullWords) -> pa.Array:
    ids = id_cells(_column(table, name), nulls)
    if ids.null_count:
        row = ids.is_null().index(True).as_py() + 1
        raise DataError(
            f"Column {name!r} must have a ranker in every row. Row {row} has none ({ids.null_count:,} in total)."
        )
    return ids


def _with_missing(rankings: Rankings, words: Counter[str]) -> Rankings:
    return _with_left_out(rankings, Counter({f"{word} cells": count for word, count in words.items()}))


def _with_left_out(rankings: Rankings, more: Counter[str]) -> Rankings:
    """The rankings with more that was left out; reasons without a case are not listed."""
    return rankings._with(left_out=MappingProxyType({**rankings.left_out, **+more}))
