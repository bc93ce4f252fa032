"""Rankings given by a long table: one row an item of a ranking."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from luce.arrays import Floats, Integers
from luce.data.grouping import arrow_ids, group_rows
from luce.data.rankings.checks import Where
from luce.data.rankings.coding import code_items, code_values
from luce.data.rankings.parts import Parts
from luce.data.rankings.ranks import column_numbers, in_order
from luce.data.tables import arrow_table
from luce.errors import DataError, unknown_name


class Long(NamedTuple):
    """A long table taken apart: weights and rankers one a ranking, or None; `where` calls a ranking by its id."""

    parts: Parts
    weights: Floats | None
    rankers: Any
    where: Where


def parts_of_table(table: Any, ranking: str, item: str, place: str, weight: str | None, ranker: str | None) -> Long:
    """The rankings of a table; a row without a place was not ranked.

    >>> table = pa.table({"race": [1, 2, 1, 2], "who": ["a", "b", "b", "a"], "rank": [2, 1, 1, None]})
    >>> parts_of_table(table, "race", "who", "rank", None, None).parts[:3]
    (array([1, 0, 1]), array([0, 1, 0]), array([0, 2, 3]))
    """
    held = arrow_table(table)
    for name in (ranking, item, place, weight, ranker):
        if name is not None and held.column_names.count(name) != 1:
            raise _no_such_column(name, held.column_names)
    places = column_numbers(place, held[place])
    ranked = np.flatnonzero(~np.isnan(places))

    def ids(name: str) -> pa.Array:
        values = arrow_ids(f"Column {name!r}", held[name])
        return values if len(ranked) == len(places) else values.take(pa.array(ranked))

    grouping = group_rows(ids(ranking), f"Column {ranking!r}")
    order = slice(None) if grouping.order is None else grouping.order
    codes, known = code_items(ids(item), None, None, lambda row: f"Row {ranked[row]}")
    items, levels = in_order(codes[order], places[ranked][order], grouping.offsets)

    def one(name: str, values: Any) -> Any:
        return _one_a_ranking(name, values[order], grouping.offsets, grouping.query_ids)

    rankers = None
    if ranker is not None:
        ranker_codes, ranker_names = code_values(f"Column {ranker!r}", ids(ranker))
        rankers = [ranker_names[code] for code in one(ranker, ranker_codes)]
    weights = None if weight is None else one(weight, column_numbers(weight, held[weight])[ranked])
    parts = Parts(items, levels, grouping.offsets, known)
    return Long(parts, weights, rankers, lambda q: f"Ranking {grouping.query_ids[q]}")


def _no_such_column(name: str, there: list[str]) -> Exception:
    if name in there:
        return DataError(f"The table has more than one column named {name!r}; names must differ.")
    return unknown_name("column", name, there)


def _one_a_ranking(name: str, values: Any, offsets: Integers, ids: pa.Array) -> Any:
    """The value that all rows of each ranking share."""
    each = values[offsets[:-1]]
    differs = values != np.repeat(each, np.diff(offsets))
    if differs.any():
        q = int(np.searchsorted(offsets, np.argmax(differs), side="right")) - 1
        fault = f"Ranking {ids[q]} has several values."
        raise DataError(f"Column {name!r} must be the same in all rows of a ranking. {fault}")
    return each
