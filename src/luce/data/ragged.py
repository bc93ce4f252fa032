"""The dataset: judged lists of different lengths in flat arrays, checked once and then frozen."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from luce.arrays import (
    Floats,
    Integers,
    as_floats,
    check_offsets,
    check_rows,
    list_of_row,
    offsets_of_sizes,
    read_only,
    real,
    rows_of_lists,
)
from luce.data.categories import Categories, check_codes, checked_categories
from luce.errors import DataError, LuceWarning

BLOCK = 65_536
"""Rows looked at together where a check would otherwise make a copy of all features."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Q lists of N items in all; list q owns the rows `offsets[q]:offsets[q + 1]`.

    Everything is checked when a dataset is created, and no field and no array can be changed after that.

    Parameters
    ----------
    features : array-like or SciPy sparse array of shape (N, F)
        Stored as float32, dense or CSR; NaN = missing, infinity is refused.
    labels : array-like of shape (N,)
        Any finite grade, higher is better; NaN = not observed. Stored as float64.
    offsets : array-like of shape (Q + 1,)
        Where each list begins; the last entry is N. Stored as int64.
    query_ids : array-like of shape (Q,), optional
        Integers or strings, stored as an Arrow array; 1 to Q where not given.
    document_ids : array-like of shape (N,), optional
        Strings, stored as an Arrow array.
    item_weights : array-like of shape (N,), optional
        Not negative, stored as float64.
    list_weights : array-like of shape (Q,), optional
        Not negative, stored as float64.
    feature_names : sequence of str of length F, optional
        None where the features are numbered from 1.
    item_groups : array-like of shape (N,), optional
        Integers or strings that say whose each item is, such as its seller, for fairness. Stored as an Arrow array.
    categories : sequence of length F, optional
        For each feature that is a category its values, strings; None for a number. The features hold the number of
        the value, from 0.

    Attributes
    ----------
    n_rows, n_lists, n_features : int
        N, Q and F.
    sizes : ndarray of shape (Q,)
        The number of items of each list.
    is_sparse : bool
        Whether the features are a CSR array.

    Examples
    --------
    >>> data = Dataset([[0.5], [0.1], [0.3]], [2, 0, 1], [0, 2, 3])
    >>> data
    Dataset(3 rows, 2 lists, 1 feature, labels 0 to 2)
    >>> data.query_ids.to_pylist(), data.rows(1)
    ([1, 2], slice(2, 3, None))
    """

    features: Any
    labels: Any
    offsets: Any
    query_ids: Any = None
    document_ids: Any = None
    item_weights: Any = None
    list_weights: Any = None
    feature_names: tuple[str, ...] | None = None
    item_groups: Any = None
    categories: Categories | None = None

    def __post_init__(self) -> None:
        self._set(features=checked_features(self.features))
        self._check_lists()
        check_codes(self.features, self.categories)

    def _check_lists(self) -> None:
        """Check and convert everything but the features."""
        labels = as_floats("labels", self.labels, self.features.shape[0])
        _refuse_infinite("labels", labels)
        offsets = check_offsets(self.offsets, len(labels))
        n_lists = len(offsets) - 1
        self._set(
            labels=read_only(labels),
            offsets=read_only(offsets),
            query_ids=_ids("query_ids", self.query_ids, n_lists) or pa.array(np.arange(1, n_lists + 1)),
            document_ids=_ids("document_ids", self.document_ids, len(labels)),
            item_weights=_weights("item_weights", self.item_weights, len(labels)),
            list_weights=_weights("list_weights", self.list_weights, n_lists),
            feature_names=_names(self.feature_names, self.features.shape[1]),
            item_groups=_ids("item_groups", self.item_groups, len(labels)),
            categories=checked_categories(self.categories, self.features.shape[1]),
        )
        if _look_like_ranks(labels, offsets):
            warnings.warn(
                "The labels of every list are 1…n, as ranks are. Labels are grades: higher is better. "
                "If 1 means best, give negated ranks instead.",
                LuceWarning,
                stacklevel=4,
            )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def unchecked(cls, **values: Any) -> "Dataset":
        """A dataset of arrays that come from another one, or were checked when they were stored."""
        dataset = object.__new__(cls)
        dataset._set(**{field.name: values.get(field.name) for field in fields(cls)})
        return dataset

    @classmethod
    def of_finite_features(cls, features: Any, **values: Any) -> "Dataset":
        """A dataset of float32 features whose reader has refused infinite ones; everything else is checked."""
        dataset = cls.unchecked(features=features if sparse.issparse(features) else read_only(features), **values)
        dataset._check_lists()
        return dataset

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_lists(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def sizes(self) -> Integers:
        """The number of items of each list (LightGBM's `group`)."""
        return np.diff(self.offsets)

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.features)

    def item_group_numbers(self) -> Integers | None:
        """The group of each row as a number, from 0 in order of first appearance; None where there are no groups."""
        return (
            None
            if self.item_groups is None
            else self.item_groups.dictionary_encode().indices.to_numpy().astype(np.int64)
        )

    def rows(self, list_number: int) -> slice:
        """The rows of one list."""
        return slice(int(self.offsets[list_number]), int(self.offsets[list_number + 1]))

    def feature_name(self, column: int) -> str:
        """The name of a feature, its number from 1 where it has none."""
        return self.feature_names[column] if self.feature_names else str(column + 1)

    def feature_value(self, row: int, column: int) -> float | str:
        """The value of a feature: a number, or of a category its text; NaN where it is missing."""
        return self.category_value(column, float(self.features[row, column]))

    def category_value(self, column: int, value: float) -> float | str:
        """The text that a number stands for where the feature is a category, else the number."""
        values = None if self.categories is None else self.categories[column]
        return value if values is None or np.isnan(value) else values[int(value)]

    def take(self, lists: ArrayLike) -> "Dataset":
        """The dataset of these lists, in this order; of lists that follow each other without a copy of their arrays.

        Parameters
        ----------
        lists : array-like of int
            Numbers of lists, from 0.

        Returns
        -------
        Dataset
        """
        chosen = consecutive(lists)
        if isinstance(chosen, slice):
            offsets = self.offsets[chosen.start : chosen.stop + 1]
            return self._rows(slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0], chosen)
        return self._rows(rows_of_lists(self.offsets, chosen), offsets_of_sizes(self.sizes[chosen]), chosen)

    def observed(self) -> "Dataset":
        """The dataset of the items that have a label, in the lists that have such items.

        Returns
        -------
        Dataset

        Examples
        --------
        >>> Dataset([[1], [2], [3]], labels=[1, np.nan, np.nan], offsets=[0, 2, 3]).observed()
        Dataset(1 row, 1 list, 1 feature, labels 1 to 1)
        """
        rows = np.flatnonzero(~np.isnan(self.labels))
        if len(rows) == self.n_rows:
            return self
        sizes = np.bincount(list_of_row(self.offsets)[rows], minlength=self.n_lists)
        lists = np.flatnonzero(sizes)
        return self._rows(rows, offsets_of_sizes(sizes[lists]), lists)

    def _rows(self, rows: Integers | slice, offsets: Integers, lists: Integers | slice) -> "Dataset":
        def of(values: Any, wanted: Integers | slice) -> Any:
            if isinstance(values, pa.Array):
                return values[wanted] if isinstance(wanted, slice) else values.take(pa.array(wanted))
            return None if values is None else read_only(values[wanted])

        return Dataset.unchecked(
            features=rows_of_csr(self.features, rows) if self.is_sparse else read_only(self.features[rows]),
            labels=of(self.labels, rows),
            offsets=read_only(offsets),
            query_ids=of(self.query_ids, lists),
            document_ids=of(self.document_ids, rows),
            item_weights=of(self.item_weights, rows),
            list_weights=of(self.list_weights, lists),
            feature_names=self.feature_names,
            item_groups=of(self.item_groups, rows),
            categories=self.categories,
        )

    def with_features(
        self, features: Any, feature_names: Sequence[str] | None = None, categories: Categories | None = None
    ) -> "Dataset":
        """The same lists described by other features.

        Parameters
        ----------
        features : array-like or SciPy sparse array of shape (N, F')
            The other features, one row an item.
        feature_names : sequence of str, optional
            Their names.
        categories : sequence, optional
            The values of those that are categories, as in `Dataset`.

        Returns
        -------
        Dataset
        """
        checked = checked_features(features)
        if checked.shape[0] != self.n_rows:
            raise DataError(f"features must have {self.n_rows} rows. Got {checked.shape[0]}.")
        values = checked_categories(categories, checked.shape[1])
        check_codes(checked, values)
        others = {each.name for each in fields(Dataset)} - {"features", "feature_names", "categories"}
        return Dataset.unchecked(
            features=checked,
            feature_names=_names(feature_names, checked.shape[1]),
            categories=values,
            **{name: getattr(self, name) for name in others},
        )

    def __repr__(self) -> str:
        def count(n: int, word: str) -> str:
            return f"{n:,} {word}{'' if n == 1 else 's'}"

        observed = self.labels[~np.isnan(self.labels)]
        grades = f"labels {observed.min():g} to {observed.max():g}" if observed.size else "no labels"
        parts = [count(self.n_rows, "row"), count(self.n_lists, "list"), count(self.n_features, "feature"), grades]
        return f"Dataset({', '.join(parts)}{', sparse' if self.is_sparse else ''})"


def check_dataset(value: Any, wanted_by: str) -> None:
    """An error for what is no Dataset, such as a data frame."""
    if not isinstance(value, Dataset):
        raise DataError(
            f"{wanted_by} needs a Dataset. Got {type(value).__name__}. To make one: luce.from_table(frame, query=…, "
            "label=…) or luce.from_arrays(X, y, qid); without features X is np.empty((len(y), 0))."
        )


def checked_features(given: Any) -> Any:
    """Features as float32, dense and read-only or CSR in canonical form; infinite ones are refused."""
    if sparse.issparse(given):
        matrix = sparse.csr_array(given)
        if matrix.dtype.kind == "c":
            raise DataError("features must be numbers. Complex data not supported.")
        matrix = matrix.astype(np.float32, copy=False)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the given arrays stay as they are
            matrix.sum_duplicates()
        _refuse_infinite("features", matrix.data)
        return matrix
    try:
        dense = real(given)
        with np.errstate(over="ignore"):  # beyond float32 becomes infinite and is refused below
            dense = np.ascontiguousarray(dense, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers in a table of one shape. {error}") from error
    if dense.ndim != 2:
        raise DataError(f"features must be two-dimensional, rows by features. Got shape {dense.shape}.")
    for start in range(0, len(dense), BLOCK):
        _refuse_infinite("features", dense[start : start + BLOCK], start)
    return read_only(dense)


def consecutive(numbers: ArrayLike) -> Integers | slice:
    """Numbers that follow each other as a slice, which selects without a copy; else the numbers."""
    chosen = np.asarray(numbers, dtype=np.int64)
    first, last = (int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else (0, 0)
    follow = len(chosen) == last - first and bool(np.all(np.diff(chosen) == 1)) and first >= 0
    return slice(first, last) if follow else chosen


def rows_of_csr(matrix: Any, rows: Integers | slice) -> Any:
    """Rows of a CSR array in canonical form; of a slice without a copy of its entries."""
    if not isinstance(rows, slice):
        return matrix[rows]
    indptr = matrix.indptr[rows.start : rows.stop + 1]
    entries, shape = slice(indptr[0], indptr[-1]), (len(indptr) - 1, matrix.shape[1])
    part = sparse.csr_array(
        (matrix.data[entries], matrix.indices[entries], indptr - indptr[0]), shape=shape, copy=False
    )
    part.has_canonical_format = True
    return part


def _refuse_infinite(name: str, values: NDArray[Any], first_row: int = 0) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = first_row + int(np.argwhere(infinite)[0, 0])
        missing = "not observed" if name == "labels" else "missing"
        raise DataError(f"{name} must be finite, or NaN where {missing}. Got an infinite value at row {row + 1}.")


def _ids(name: str, given: Any, length: int) -> pa.Array | None:
    if given is None:
        return None
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
    try:
        ids = given if isinstance(given, pa.Array) else pa.array(given)
        ids = ids.cast(pa.int64() if pa.types.is_integer(ids.type) else pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{name} must be all integers or all strings. {error}") from error
    if len(ids) != length:
        raise DataError(f"{name} must have {length} entries. Got {len(ids)}.")
    if name == "query_ids" and ids.null_count:
        raise DataError(f"{name} must not be missing. Got {ids.null_count} null.")
    if name == "item_groups" and ids.null_count:
        first = ids.is_null().index(True).as_py()
        raise DataError(
            f"item_groups must be given for every row. Missing at row {first + 1} ({ids.null_count} in total): "
            "give those items a group of their own, such as 'unknown'."
        )
    return ids


def _weights(name: str, given: Any, length: int) -> Floats | None:
    if given is None:
        return None
    weights = check_rows(name, given, length)
    bad = np.flatnonzero((weights < 0) | np.isinf(weights))
    if bad.size:
        raise DataError(f"{name} must be finite and not negative. Got {weights[bad[0]]} at position {bad[0] + 1}.")
    return read_only(weights)


def _names(given: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise DataError(f"feature_names must have {n_features} entries. Got {len(names)}.")
    if len(set(names)) < n_features:
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"feature_names must differ from each other. Got {twice!r} twice.")
    return names


def _look_like_ranks(labels: Floats, offsets: Integers) -> bool:
    sizes = np.diff(offsets)
    filled = offsets[:-1][sizes > 0]
    sizes = sizes[sizes > 0]
    if not sizes.size or sizes.max() < 3:
        return False
    if np.any(np.minimum.reduceat(labels, filled) != 1) or np.any(np.maximum.reduceat(labels, filled) != sizes):
        return False
    order = np.lexsort((labels, np.repeat(np.arange(len(sizes)), sizes)))
    return bool(np.array_equal(labels[order], np.arange(len(labels)) - np.repeat(filled, sizes) + 1))
