"""Rankings from a matrix of ranks, or from columns of paired comparisons."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.aggregation.conventions import check_conventions, place_unlisted
from luce.aggregation.names import (
    Names,
    check_names,
    concatenated,
    encode_items,
    python_value,
)
from luce.aggregation.ranking_arrays import RankingArrays
from luce.arrays import Floats, Integers, as_floats
from luce.compiled import compiled
from luce.data.columns import is_number
from luce.data.grouping import arrow_values
from luce.data.tables import arrow_table, is_pandas
from luce.errors import DataError, OptionError
from luce.threads import over_lists

RESULTS = (1, 0.5, 0)
"""The result of the first item: won, tied, lost."""


def arrays_from_ranks(ranks: Any, names: Iterable[Hashable] | None, unlisted: str = "absent") -> RankingArrays:
    """The rankings of a matrix, one row per ranking, one column per item; 0 or NaN = not ranked.

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
            ranks = np.asarray(ranks, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Ranks must be a table of numbers, one row per ranking and one column per item. {error}"
            ) from error
        if ranks.ndim != 2:
            raise DataError(f"Ranks must have one row per ranking and one column per item. Got shape {ranks.shape}.")
    matrix = sparse.csr_array(ranks, dtype=np.float64)
    if np.any(unranked := (matrix.data == 0) | np.isnan(matrix.data)):
        matrix = matrix.copy()
        matrix.data[unranked] = 0
        matrix.eliminate_zeros()
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
    pairs = codes.reshape(2, n_pairs).T.copy()
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if same.size:
        item = known[pairs[same[0], 0]]
        raise DataError(f"The items of a pair must differ. Pair {same[0] + 1} compares {item!r} with itself.")
    places = np.tile(np.array([0, 1]), n_pairs)
    if outcome is not None:
        sign = _signs(outcome, results, pairs, known if n_items is None else range(n_items))
        pairs[sign < 0] = pairs[sign < 0, ::-1]
        places[1::2][sign == 0] = 0
    return RankingArrays(pairs.reshape(-1), places, np.arange(n_pairs + 1) * 2, known)


def _signs(outcome: Any, results: Sequence[Any], pairs: Integers, items: Sequence[Any]) -> NDArray[np.int8]:
    """1 where the first item won, 0 where they tied, −1 where it lost."""
    n_pairs, meaning = len(pairs), result_signs(results)
    given = arrow_values("outcome", outcome)
    if len(given) != n_pairs:
        raise DataError(f"outcome must have one entry per pair, {n_pairs}. Got {len(given)}.")
    given = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
    encoded = (given.dictionary_decode() if pa.types.is_dictionary(given.type) else given).dictionary_encode("encode")
    found = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    known = np.array([value in meaning for value in found], dtype=bool)
    if known.all():
        return np.array([meaning[value] for value in found], dtype=np.int8)[codes]
    number = {item: code for code, item in enumerate(items)}
    winner = np.array([number.get(value, -1) for value in found])[codes]
    tied = np.array([meaning.get(value) == 0 for value in found])[codes]
    first, second = winner == pairs[:, 0], winner == pairs[:, 1]
    strange = ~(first | second | tied)
    if strange.any():
        pair = int(np.argmax(2 * strange - known[codes]))  # preferably one that is no result either
        one, other = (items[code] for code in pairs[pair])
        values, value = ", ".join(map(repr, meaning)), found[codes[pair]]
        raise DataError(
            f"outcome must be one of {values} in all pairs, or in all the item that won (here {one!r} or {other!r}) or "
            f"a tie. Pair {pair + 1} has {value!r}. Other values are named by results, in this order: the first item "
            "won, a tie, the second won."
        )
    return first.astype(np.int8) - second


def result_signs(results: Sequence[Any], key: Callable[[Any], Any] = python_value) -> dict[Any, int]:
    """The sign of each value that an outcome can have, by its key: 1 if the first item won, 0 for a tie, −1."""
    if isinstance(results, str) or len(results) != 3:
        raise OptionError(
            "results must have three entries, each one value or several: the first item won, a tie, the second won. "
            f"Got {results!r}."
        )
    signs: dict[Any, int] = {}
    for sign, given in zip((1, 0, -1), results, strict=True):
        for value in given if isinstance(given, (list, tuple, set, frozenset)) else (given,):
            if signs.setdefault(key(value), sign) != sign:
                raise OptionError(f"The values of results (won, tied, lost) must differ. Got {value!r} twice.")
    return signs
