"""Rankings from tables: a matrix of ranks, columns of paired comparisons, or a long table."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.aggregation.conventions import check_conventions, place_unlisted
from luce.aggregation.names import (
    Names,
    Where,
    check_names,
    concatenated,
    encode_items,
    encode_values,
    nth_row,
    python_value,
)
from luce.aggregation.ranking_arrays import RankingArrays
from luce.arrays import Floats, Integers, as_floats
from luce.compiled import compiled
from luce.data.columns import is_number
from luce.data.grouping import arrow_ids, arrow_values, group_rows
from luce.data.tables import arrow_table, is_pandas
from luce.errors import DataError, OptionError, unknown_name
from luce.threads import over_lists

RESULTS = (1, 0.5, 0)
"""The result of the first item: won, tied, lost."""


def arrays_from_ranks(ranks: Any, names: Iterable[Hashable] | None, unlisted: str = "absent") -> RankingArrays:
    """The rankings of a matrix, one row a ranking, one column an item; 0 or NaN = not ranked.

    >>> arrays_from_ranks([[2, 1, 0], [1, 1, 2]], None)[:3]
    (array([1, 0, 0, 1, 2]), array([0, 1, 0, 0, 1]), array([0, 2, 5]))
    """
    check_conventions(unlisted=unlisted)
    matrix, known = _rank_matrix(ranks, names)
    bad = np.flatnonzero(~(matrix.data > 0) | np.isinf(matrix.data))
    if bad.size:
        q = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        item = known[matrix.indices[bad[0]]]
        raise DataError(
            f"Ranks must be positive and finite, 0 or NaN if not ranked. Ranking {q + 1} has {matrix.data[bad[0]]:g} "
            f"for {item!r}."
        )
    offsets = matrix.indptr.astype(np.int64)
    items, places = in_order(matrix.indices.astype(np.int64), matrix.data, offsets)
    return place_unlisted(RankingArrays(items, places, offsets, known), unlisted)


def in_order(items: Integers, values: Floats, offsets: Integers) -> tuple[Integers, Integers]:
    """The items of each list by rising value, and their places; equal values are tied.

    >>> in_order(np.array([7, 8, 9]), np.array([3.0, 1.0, 3.0]), np.array([0, 3]))
    (array([8, 7, 9]), array([0, 1, 1]))
    """
    ordered, places = np.empty_like(items), np.empty_like(items)
    over_lists(_in_order, offsets, *map(np.ascontiguousarray, (items, values)), results=[ordered, places])
    return ordered, places


@compiled
def _in_order(first, last, offsets, items, values, ordered, places):
    for q in range(first, last):
        start, end = offsets[q], offsets[q + 1]
        order = np.argsort(values[start:end], kind="mergesort")
        place = 0
        for n in range(end - start):
            row = start + order[n]
            if n > 0 and values[row] > values[start + order[n - 1]]:
                place += 1
            ordered[start + n] = items[row]
            places[start + n] = place


def _rank_matrix(ranks: Any, names: Iterable[Hashable] | None) -> tuple[Any, Names]:
    columns: Any = None
    if is_pandas(ranks) or isinstance(ranks, (pa.Table, pa.RecordBatch)) or hasattr(ranks, "__arrow_c_stream__"):
        columns = list(ranks.columns) if is_pandas(ranks) else None
        held = arrow_table(ranks)
        columns = held.column_names if columns is None else columns
        ranks = np.column_stack([np.empty((held.num_rows, 0)), *map(column_numbers, held.column_names, held.columns)])
    if not sparse.issparse(ranks):
        try:
            ranks = np.array(ranks, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Ranks must be a table of numbers, one row per ranking and one column per item. {error}"
            ) from error
        if ranks.ndim != 2:
            raise DataError(f"Ranks must have one row per ranking and one column per item. Got shape {ranks.shape}.")
        ranks[np.isnan(ranks)] = 0
    matrix = sparse.csr_array(ranks, dtype=np.float64)
    known = names if names is not None else columns if columns is not None else range(matrix.shape[1])
    result = check_names("items", map(python_value, known))
    if len(result) != matrix.shape[1]:
        raise DataError(f"names must have one entry per column of the ranks, {matrix.shape[1]}. Got {len(result)}.")
    return matrix, result


def column_numbers(name: str, column: pa.ChunkedArray) -> Floats:
    """The numbers of a column as float64, a null as NaN."""
    if not is_number(column.type):
        raise DataError(f"Column {name!r} must be numbers. It is {column.type}.")
    try:
        values = as_floats(name, column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid as error:  # integers that float64 does not hold
        raise DataError(f"Column {name!r} must be numbers up to 2⁵³ in size. {error}") from error
    if np.isinf(values).any():
        raise DataError(
            f"Column {name!r} must be finite. It is infinite at row {int(np.argmax(np.isinf(values))) + 1}."
        )
    return values


def arrays_from_pairs(
    first: Any, second: Any, outcome: Any, results: Sequence[Any], names: Iterable[Hashable] | None, n_items: int | None
) -> RankingArrays:
    """The rankings of pairs.

    >>> arrays_from_pairs(["a", "b"], ["b", "c"], [0, 0.5], RESULTS, None, None)[:2]
    (array([1, 0, 1, 2]), array([0, 1, 0, 0]))
    """
    n_pairs = len(first)
    if len(second) != n_pairs:
        raise DataError(f"The two columns of pairs must have the same number of rows. Got {n_pairs} and {len(second)}.")
    codes, known = encode_items(concatenated(first, second), names, n_items, lambda row: f"Pair {row % n_pairs + 1}")
    items = np.empty(2 * n_pairs, dtype=np.int64)
    items[::2], items[1::2] = codes[:n_pairs], codes[n_pairs:]
    places = np.tile(np.array([0, 1]), n_pairs)
    if outcome is not None:
        sign = _signs(outcome, results, n_pairs)
        lost = sign < 0
        items[::2][lost], items[1::2][lost] = codes[n_pairs:][lost], codes[:n_pairs][lost]
        places[1::2][sign == 0] = 0
    return RankingArrays(items, places, np.arange(n_pairs + 1) * 2, known)


def _signs(outcome: Any, results: Sequence[Any], n_pairs: int) -> NDArray[np.int8]:
    """1 where the first item won, 0 where they tied, −1 where it lost."""
    meaning = _meanings(results)
    given = arrow_values("outcome", outcome)
    if len(given) != n_pairs:
        raise DataError(f"outcome must have one entry per pair, {n_pairs}. Got {len(given)}.")
    given = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
    encoded = (given.dictionary_decode() if pa.types.is_dictionary(given.type) else given).dictionary_encode("encode")
    found = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    strange = [code for code, value in enumerate(found) if value not in meaning]
    if strange:
        pair, known = int(np.argmax(codes == strange[0])), ", ".join(map(repr, meaning))
        raise DataError(
            f"outcome must be one of {known}. Pair {pair + 1} has {found[strange[0]]!r}. Other values are named by "
            "results, in this order: the first item won, a tie, the second won."
        )
    return np.array([meaning[value] for value in found], dtype=np.int8)[codes]


def _meanings(results: Sequence[Any]) -> dict[Any, int]:
    """The sign of each value that an outcome can have."""
    if isinstance(results, str) or len(results) != 3:
        raise OptionError(
            f"results must have three entries (won, tied, lost), each one value or several. Got {results!r}."
        )
    meanings: dict[Any, int] = {}
    for sign, given in zip((1, 0, -1), results, strict=True):
        for value in given if isinstance(given, (list, tuple, set, frozenset)) else (given,):
            if meanings.setdefault(value, sign) != sign:
                raise OptionError(f"The values of results (won, tied, lost) must be different. Got {value!r} twice.")
    return meanings


def arrays_from_table(
    table: Any, ranking: str, item: str, place: str, weight: str | None, ranker: str | None
) -> tuple[RankingArrays, Floats | None, Any, Where]:
    """The rankings of a table, weights and rankers, one a ranking or None, and what an error calls a ranking.

    A row without a place was not ranked.

    >>> table = pa.table({"race": [1, 2, 1, 2], "who": ["a", "b", "b", "a"], "rank": [2, 1, 1, None]})
    >>> arrays_from_table(table, "race", "who", "rank", None, None)[0][:3]
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
    codes, known = encode_items(ids(item), None, None, lambda row: nth_row(ranked[row]))
    items, levels = in_order(codes[order], places[ranked][order], grouping.offsets)

    def one(name: str, values: Any) -> Any:
        return _one_a_ranking(name, values[order], grouping.offsets, grouping.query_ids)

    rankers = None
    if ranker is not None:
        ranker_codes, ranker_names = encode_values(f"Column {ranker!r}", ids(ranker))
        rankers = [ranker_names[code] for code in one(ranker, ranker_codes)]
    weights = None if weight is None else one(weight, column_numbers(weight, held[weight])[ranked])
    arrays = RankingArrays(items, levels, grouping.offsets, known)
    return arrays, weights, rankers, lambda q: f"Ranking {grouping.query_ids[q]}"


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
