"""Comparisons of two items, one row each, as rankings of two."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.data.grouping import arrow_values
from luce.data.rankings.coding import code_items, end_to_end
from luce.data.rankings.parts import Parts
from luce.errors import DataError, OptionError

RESULTS = (1, 0.5, 0)
"""The result of the first item: won, tied, lost."""


def parts_of_pairs(
    first: Any, second: Any, outcome: Any, results: Sequence[Any], names: Iterable[Hashable] | None, n_items: int | None
) -> Parts:
    """The rankings of pairs.

    >>> parts_of_pairs(["a", "b"], ["b", "c"], [0, 0.5], RESULTS, None, None)[:2]
    (array([1, 0, 1, 2]), array([0, 1, 0, 0]))
    """
    n_pairs = len(first)
    if len(second) != n_pairs:
        raise DataError(f"Both columns of pairs must have as many rows. Got {n_pairs} and {len(second)}.")
    codes, known = code_items(end_to_end(first, second), names, n_items, lambda row: f"Pair {row % n_pairs}")
    items = np.empty(2 * n_pairs, dtype=np.int64)
    items[::2], items[1::2] = codes[:n_pairs], codes[n_pairs:]
    places = np.tile(np.array([0, 1]), n_pairs)
    if outcome is not None:
        sign = _signs(outcome, results, n_pairs)
        lost = sign < 0
        items[::2][lost], items[1::2][lost] = codes[n_pairs:][lost], codes[:n_pairs][lost]
        places[1::2][sign == 0] = 0
    return Parts(items, places, np.arange(n_pairs + 1) * 2, known)


def _signs(outcome: Any, results: Sequence[Any], n_pairs: int) -> NDArray[np.int8]:
    """1 where the first item won, 0 where they tied, −1 where it lost."""
    meaning = _meanings(results)
    given = arrow_values("outcome", outcome)
    if len(given) != n_pairs:
        raise DataError(f"outcome must have one entry a pair, {n_pairs}. Got {len(given)}.")
    given = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
    encoded = (given.dictionary_decode() if pa.types.is_dictionary(given.type) else given).dictionary_encode("encode")
    found = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    strange = [code for code, value in enumerate(found) if value not in meaning]
    if strange:
        pair, known = int(np.argmax(codes == strange[0])), ", ".join(map(repr, meaning))
        raise DataError(f"outcome must be one of {known} (results=…). Pair {pair} has {found[strange[0]]!r}.")
    return np.array([meaning[value] for value in found], dtype=np.int8)[codes]


def _meanings(results: Sequence[Any]) -> dict[Any, int]:
    """The sign of each value that an outcome can have."""
    if isinstance(results, str) or len(results) != 3:
        raise OptionError(f"results must be three: won, tied, lost, each a value or several. Got {results!r}.")
    meanings: dict[Any, int] = {}
    for sign, given in zip((1, 0, -1), results, strict=True):
        for value in given if isinstance(given, (list, tuple, set, frozenset)) else (given,):
            if meanings.setdefault(value, sign) != sign:
                raise OptionError(f"results must differ: won, tied, lost. Got {value!r} twice.")
    return meanings
