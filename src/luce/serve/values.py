"""Values of JSON as numbers: nothing is converted that was not a number before."""

from collections.abc import Iterable, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import orjson
from numpy.typing import DTypeLike, NDArray

from luce.errors import DataError, OptionError, unknown_name

NUMBERS: set[type] = {int, float, bool, NoneType}
"""The types of a feature; null is missing."""


def parse_object(text: bytes | memoryview) -> dict[str, Any]:
    """The JSON object of a request.

    >>> parse_object(b'{"top": NaN}')
    Traceback (most recent call last):
    luce.errors.DataError: The request is not valid JSON: unexpected character, ... (char 8).
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(f"The request is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise DataError(f"The request must be a JSON object. Got {kind_of(value)}.")
    return value


def kind_of(value: Any) -> str:
    """What JSON calls a value.

    >>> kind_of([1]), kind_of(None), kind_of(True)
    ('an array', 'null', 'a boolean')
    """
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", NoneType: "null"}
    return names.get(type(value), "a number")


def expect(value: Any, kind: type, name: str) -> Any:
    """The value if it is of this type; a boolean is no integer.

    >>> expect("all", int, "top")
    Traceback (most recent call last):
    luce.errors.DataError: 'top' must be an integer. Got a string.
    """
    if type(value) is not kind:
        wanted = {dict: "an object", list: "an array", str: "a string", bool: "true or false", int: "an integer"}[kind]
        raise DataError(f"'{name}' must be {wanted}. Got {kind_of(value)}.")
    return value


def check_fields(given: Iterable[str], known: Sequence[str]) -> None:
    """An error for a field of a request that is not known, with the nearest ones that are."""
    for name in given:
        if name not in known:
            raise unknown_name("field", name[:100], known)


def numbers(values: Sequence[Any], dtype: DTypeLike, name: str, allowed: set[type]) -> NDArray[Any]:
    """The values as a flat array; they may be in nested arrays of one length.

    >>> numbers([[1, 2.5], [None, 4]], np.float32, "features", NUMBERS)
    array([1. , 2.5, nan, 4. ], dtype=float32)
    """
    while set(map(type, values)) == {list}:
        if len(set(map(len, values))) > 1:
            raise DataError(f"The rows of '{name}' must have the same length.")
        values = list(chain.from_iterable(values))
    wrong = set(map(type, values)) - allowed
    if wrong:
        at = next(place for place, value in enumerate(values) if type(value) in wrong)
        raise DataError(f"The data of '{name}' must be numbers. Got {kind_of(values[at])} as value {at + 1}.")
    try:
        with np.errstate(over="ignore"):  # beyond float32 becomes infinite and is refused
            return np.array(values, dtype=dtype)
    except OverflowError:
        raise OptionError(f"The data of '{name}' must fit in {np.dtype(dtype).name}.") from None
