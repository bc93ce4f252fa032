"""Names of items and rankers: encoded as integers 0, 1, 2 …, and listed in messages."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from luce.arrays import Integers
from luce.data.grouping import arrow_ids
from luce.errors import DataError, OptionError

Names = tuple[Hashable, ...]

Where = Callable[[int], str]
"""What an error calls a ranking, or the place of a row: `Ranking 3`."""

SHOWN = 5
"""Names, or rankings, that a message shows."""


def nth_row(row: int) -> str:
    """A row as an error calls it, counted from 1."""
    return f"Row {row + 1}"


def nth_ranking(ranking: int) -> str:
    """A ranking as an error calls it, counted from 1."""
    return f"Ranking {ranking + 1}"


def encode_items(
    values: Any, names: Iterable[Hashable] | None, n_items: int | None = None, where: Where = nth_row
) -> tuple[Integers, Names]:
    """The code of each item and the name of each code.

    With `n_items` the values are codes already; with `names` alone they are among these names; with neither the names
    are the different values in the order in which they first appear.

    >>> encode_items(["b", "a", "b"], None)
    (array([0, 1, 0]), ('b', 'a'))
    >>> encode_items(["b", "a", "b"], ["a", "b", "c"])
    (array([1, 0, 1]), ('a', 'b', 'c'))
    >>> encode_items([1, 0], ["a", "b"], 2)
    (array([1, 0]), ('a', 'b'))
    """
    if n_items is not None:
        known = _names_of_codes(names, n_items)
        return _check_given_codes(values, n_items, where), known
    found_codes, found = encode_values("items", values, where)
    if names is None:
        return found_codes, found
    known = check_names("items", map(python_value, names))
    number = {name: code for code, name in enumerate(known)}
    codes = np.array([number.get(name, -1) for name in found], dtype=np.int64)[found_codes]
    if codes.size and codes.min() < 0:
        row = int(np.argmin(codes))
        strange = found[found_codes[row]]
        shown = ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "")
        raise DataError(f"{where(row)} has {strange!r}, which is not one of the {len(known)} names: {shown}.")
    return codes, known


def encode_values(what: str, values: Any, where: Where = nth_row) -> tuple[Integers, Names]:
    """The code of each value, numbered in the order in which they first appear, and the value of each code.

    >>> encode_values("rankers", ["eve", 7, "eve"])
    (array([0, 1, 0]), ('eve', 7))
    """
    if isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.dtype.kind == "O"):
        return _encode_objects(what, list(values), where)
    ids = arrow_ids(what, values)
    if ids.null_count:
        raise _missing(what, where(int(np.argmax(ids.is_null()))))
    encoded = ids.dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), tuple(encoded.dictionary.to_pylist())


def concatenated(first: Any, second: Any) -> Any:
    """The values of both, one after the other, so that they can be encoded together."""
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return [*first, *second]
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.dtype.kind == second.dtype.kind:
        return np.concatenate([first, second])
    try:
        return pa.concat_arrays([arrow_ids("items", first), arrow_ids("items", second)])
    except pa.ArrowException as error:
        raise DataError(f"The items must be all integers or all strings. {error}") from error


def python_value(name: Any) -> Any:
    """The name as Python has it: a NumPy or Arrow number or string becomes one of Python's."""
    if isinstance(name, np.generic):
        return name.item()
    return name.as_py() if isinstance(name, pa.Scalar) else name


def _encode_objects(what: str, values: list[Any], where: Where) -> tuple[Integers, Names]:
    try:
        found = dict.fromkeys(values)
    except TypeError as error:
        raise DataError(f"{what} must be hashable, such as strings or numbers. {error}.") from error
    number = {name: code for code, name in enumerate(found)}
    codes = np.fromiter(map(number.__getitem__, values), dtype=np.int64, count=len(values))
    names = tuple(map(python_value, found))
    missing = [code for code, name in enumerate(names) if name is None or name != name]
    if missing:
        raise _missing(what, where(int(np.argmax(codes == missing[0]))))
    return codes, names


def _missing(what: str, place: str) -> DataError:
    return DataError(f"{what} must not be missing. {place} has a missing value (None, null or NaN): leave it out.")


def _check_given_codes(values: Any, n_items: int, where: Where) -> Integers:
    codes = np.asarray(values)
    if codes.size and (codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer)):
        raise DataError(f"With n_items = {n_items} the items must be integers, 0 … {n_items - 1}. Got {codes.dtype}.")
    strange = np.flatnonzero((codes < 0) | (codes >= n_items))
    if strange.size:
        row = int(strange[0])
        raise DataError(f"With n_items = {n_items} the items must be 0 … {n_items - 1}. {where(row)} has {codes[row]}.")
    return codes.astype(np.int64)


def _names_of_codes(names: Iterable[Hashable] | None, n_items: int) -> Names:
    if not isinstance(n_items, (int, np.integer)) or n_items < 1:
        raise OptionError(f"n_items must be an integer ≥ 1. Got {n_items!r}.")
    known = tuple(range(n_items)) if names is None else check_names("items", map(python_value, names))
    if len(known) != n_items:
        raise OptionError(f"names must have n_items = {n_items} entries. Got {len(known)}.")
    return known


def check_names(what: str, names: Iterable[Hashable]) -> Names:
    """Names as a tuple, all different."""
    result = tuple(names)
    if len(set(result)) < len(result):
        seen: set[Hashable] = set()
        twice = next(name for name in result if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"The names of the {what} must differ from each other. Got {twice!r} twice.")
    return result


def count(number: int, word: str) -> str:
    """A number and its noun: `1 item`, `2,000 items`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Any, limit: int = SHOWN) -> str:
    """The first names, and how many there are when some are left out.

    >>> listed(["a", "b", "c"], 2)
    'a, b, … (3 in total)'
    """
    shown = ", ".join(map(str, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, … ({len(names):,} in total)"
