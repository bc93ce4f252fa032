"""Features that are categories: numbered from 0 in the matrix of features, their values kept beside it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import is_sparse
from luce.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[str, ...]
Categories = tuple[Values | None, ...]
"""For each feature the values of its categories, or None where it is a number."""

LIMIT = 2**24
"""Values of one feature: float32 has a number for each."""


def checked_categories(given: Sequence[Sequence[str] | None] | None, n_features: int) -> Categories | None:
    """The values of each feature as tuples; None where no feature has any.

    >>> checked_categories([None, ["red", "blue"]], 2)
    (None, ('red', 'blue'))
    """
    if given is None:
        return None
    if len(given) != n_features:
        raise DataError(f"categories must have {n_features} entries, one per feature. Got {len(given)}.")
    for values in given:
        if values is None:
            continue
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise DataError(f"The categories of a feature must be strings. Got {values!r}.")
        if len(set(values)) < len(values) or len(values) > LIMIT:
            raise DataError(
                f"The categories of a feature must be distinct, at most {LIMIT:,}. Got {len(values):,} values."
            )
    found = tuple(None if values is None else tuple(values) for values in given)
    return found if any(values is not None for values in found) else None


def check_codes(features: Any, categories: Categories | None) -> None:
    """A DataError unless the features with categories hold whole numbers from 0 to below their number, or NaN."""
    if categories is None:
        return
    if is_sparse(features):
        raise DataError("Categories need dense features: in sparse ones a missing value and code 0 look the same.")
    for column, values in enumerate(categories):
        if values is None:
            continue
        codes = features[:, column]
        wrong = np.flatnonzero((codes < 0) | (codes >= len(values)) | (codes != np.floor(codes)) & ~np.isnan(codes))
        if wrong.size:
            raise DataError(
                f"Feature {column + 1} must have category codes from 0 to {len(values) - 1:,}, or NaN where missing. "
                f"Got {codes[wrong[0]]:g} at row {wrong[0] + 1}."
            )


def encode(column: "pa.ChunkedArray") -> tuple[NDArray[np.float32], Values]:
    """The code of each row, NaN where it is null or empty, and the values: sorted, or in the order that they declare.

    >>> import pyarrow as pa
    >>> encode(pa.chunked_array([["red", None, "blue", "red"]]))
    (array([ 1., nan,  0.,  1.], dtype=float32), ('blue', 'red'))
    """
    import pyarrow as pa

    ordered = pa.types.is_dictionary(column.type) and column.type.ordered
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    texts = whole.dictionary.cast(pa.large_string()).to_pylist()
    numbers = whole.indices.cast(pa.int64()).fill_null(len(texts)).to_numpy()
    used = texts if ordered else [texts[number] for number in np.unique(numbers[numbers < len(texts)]).tolist()]
    values = [value for value in dict.fromkeys(used) if value]
    values = values if ordered else sorted(values)
    return _lookup(texts, values)[numbers], tuple(values)


def recode(codes: NDArray[Any], old: Sequence[str], new: Sequence[str]) -> NDArray[np.float32]:
    """Codes of the old values as codes of the new ones; NaN where a value is not among these."""
    return _lookup(old, new)[np.where(np.isnan(codes), len(old), codes).astype(np.int64)]


def _lookup(texts: Sequence[str | None], values: Sequence[str]) -> NDArray[np.float32]:
    """The code of each text among the values, NaN where it has none; the last entry is for missing ones."""
    codes = {value: code for code, value in enumerate(values)}
    return np.array([*(codes.get(text, np.nan) if text else np.nan for text in texts), np.nan], dtype=np.float32)


def is_text(kind: "pa.DataType") -> bool:
    """Whether a column of this Arrow type holds categories: text, or values with a dictionary."""
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary)
    return any(test(kind) for test in tests)
