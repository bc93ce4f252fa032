"""Rankings from a long table, one row per item of a ranking."""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from luce.aggregation.conventions import ROWS_WITHOUT_PLACE, check_conventions, drop_repeated, place_unlisted
from luce.aggregation.names import Where, encode_items, encode_values, nth_row
from luce.aggregation.ranking_arrays import RankingArrays
from luce.aggregation.tables import column_numbers, in_order
from luce.arrays import Floats, Integers, offsets_of_sizes, selected_offsets
from luce.data.grouping import arrow_ids, group_rows
from luce.data.tables import arrow_table
from luce.errors import DataError, unknown_name, warn

WITHOUT_PLACE = "rankings without a place"
"""What `left_out` calls the rankings of which every place is missing."""


class LongColumns(NamedTuple):
    """Names of the columns of a long table."""

    ranking: str
    item: str
    place: str
    weight: str | None
    ranker: str | None


class UsedRows(NamedTuple):
    """The rows of a table that are in rankings, ranking after ranking; the id of each ranking; and what is not used.

    That are rankings without a place, and the rows of other rankings that have none.
    """

    rows: Integers
    offsets: Integers
    ids: pa.Array
    n_without: int
    n_rows_without: int


def arrays_from_table(
    table: Any,
    columns: LongColumns,
    names: Iterable[Hashable] | None = None,
    unlisted: str = "absent",
    missing: str = "absent",
    repeated: str = "error",
) -> tuple[RankingArrays, Floats | None, Any, Where]:
    """The rankings of a table, weights and rankers, one per ranking or None, and what an error calls a ranking.

    >>> table = pa.table({"race": [1, 2, 1, 2], "who": ["a", "b", "b", "a"], "rank": [2, 1, 1, None]})
    >>> arrays_from_table(table, LongColumns("race", "who", "rank", None, None))[0][:3]
    (array([1, 0, 1]), array([0, 1, 0]), array([0, 2, 3]))
    """
    check_conventions(unlisted=unlisted, missing=missing, repeated=repeated)
    held = arrow_table(table)
    for name in columns:
        if name is not None and name not in held.column_names:
            raise unknown_name("column", name, held.column_names)
        if held.column_names.count(name) > 1:
            raise DataError(f"The table has more than one column named {name!r}; names must differ.")
    places = column_numbers(columns.place, held[columns.place])
    last = missing == "last" and unlisted == "absent"  # in a pool the missing are among the others
    used = _used_rows(held, columns, places, last)
    ordered, levels = in_order(used.rows, np.nan_to_num(places[used.rows], nan=np.inf), used.offsets)
    _warn_of_zeros(columns.place, places[ordered], used.offsets)
    values = arrow_ids(f"Column {columns.item!r}", held[columns.item])
    if unlisted == "below" or len(used.rows) == len(places):
        codes, known = encode_items(values, names)
    else:
        rows, codes = np.sort(used.rows), np.empty(len(places), np.int64)
        codes[rows], known = encode_items(values.take(pa.array(rows)), names, None, lambda row: nth_row(rows[row]))
    arrays = RankingArrays(codes[ordered], levels, used.offsets, known, left_out=_left_out(used, unlisted))
    if repeated == "best":
        arrays, kept = drop_repeated(arrays)
        ordered = ordered[kept]
    if last:
        without_place = np.diff(selected_offsets(np.isnan(places[ordered]), arrays.offsets))
        arrays = arrays._replace(open_end=without_place > 1)  # the place of one item alone is known
    weights, rankers = _weights(held, columns.weight, used), _rankers(held, columns.ranker, used)
    return place_unlisted(arrays, unlisted), weights, rankers, lambda q: f"Ranking {used.ids[q]}"


def _used_rows(held: pa.Table, columns: LongColumns, places: Floats, last: bool) -> UsedRows:
    """The rows with a place; with `last` all rows of the rankings that have a place."""
    grouping = group_rows(held[columns.ranking], f"Column {columns.ranking!r}")
    rows = np.arange(len(places)) if grouping.order is None else grouping.order
    if not np.isnan(places).any():
        return UsedRows(rows, grouping.offsets, grouping.query_ids, 0, 0)
    placed = ~np.isnan(places[rows])
    if not placed.any():
        raise DataError(f"Column {columns.place!r} must have places. All its {len(rows):,} rows are null or NaN.")
    with_place = np.diff(selected_offsets(placed, grouping.offsets)) > 0
    compared = np.repeat(with_place, np.diff(grouping.offsets))
    used = compared if last else placed
    sizes = np.diff(selected_offsets(used, grouping.offsets))[with_place]
    ids = grouping.query_ids.filter(pa.array(with_place))
    n_unused = int(np.count_nonzero(~with_place)), int(np.count_nonzero(compared & ~used))
    return UsedRows(rows[used], offsets_of_sizes(sizes), ids, *n_unused)


def _left_out(used: UsedRows, unlisted: str) -> dict[str, int]:
    """What is not used, by reason; with "below" the items of rows without a place are below the ranking."""
    n_rows = used.n_rows_without if unlisted == "absent" else 0
    return {reason: n for reason, n in ((WITHOUT_PLACE, used.n_without), (ROWS_WITHOUT_PLACE, n_rows)) if n}


def _warn_of_zeros(name: str, ordered: Floats, offsets: Integers) -> None:
    """Warn of a best place 0 where the rankings without one start at 1: it may stand for a missing place."""
    best = ordered[offsets[:-1]]
    if (best == 0).any() and (best == 1).any() and np.isin(best, [0, 1]).all():
        warn(
            f"Column {name!r} is 0 in {np.count_nonzero(best == 0):,} of {len(best):,} rankings, and the others start "
            "at 1: 0 counts as the best place. If it stands for a missing one, give nulls=0 (--read nulls=0)."
        )


def _weights(held: pa.Table, name: str | None, used: UsedRows) -> Floats | None:
    if name is None:
        return None
    values = column_numbers(name, held[name])[used.rows]
    if np.isnan(values).any():
        raise DataError(f"Column {name!r} must not be missing. {nth_row(used.rows[np.argmax(np.isnan(values))])} is.")
    return _one_per_ranking(name, values, used)


def _rankers(held: pa.Table, name: str | None, used: UsedRows) -> list[Any] | None:
    if name is None:
        return None
    values = arrow_ids(f"Column {name!r}", held[name]).take(pa.array(used.rows))
    codes, names = encode_values(f"Column {name!r}", values, lambda row: nth_row(used.rows[row]))
    return [names[code] for code in _one_per_ranking(name, codes, used)]


def _one_per_ranking(name: str, values: Any, used: UsedRows) -> Any:
    """The value that all rows of each ranking share."""
    each = values[used.offsets[:-1]]
    differs = values != np.repeat(each, np.diff(used.offsets))
    if differs.any():
        q = int(np.searchsorted(used.offsets, np.argmax(differs), side="right")) - 1
        fault = f"Ranking {used.ids[q]} has several values."
        raise DataError(f"Column {name!r} must be the same in all rows of a ranking. {fault}")
    return each
