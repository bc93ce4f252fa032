"""Datasets from arrays in memory, as scikit-learn users hold them: NumPy, SciPy sparse, data frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import as_floats, offsets_of_sizes
from luce.data.columns import feature_columns
from luce.data.grouping import Grouping, arrow_ids, group_rows
from luce.data.ragged import Dataset
from luce.data.tables import arrow_table, filled, is_pandas, table_of
from luce.errors import DataError, OptionError


def from_arrays(
    X: Any,
    y: Any,
    qid: Any = None,
    *,
    group: Any = None,
    document_ids: Any = None,
    item_weights: Any = None,
    list_weights: Any = None,
    feature_names: Sequence[str] | None = None,
    item_groups: Any = None,
) -> Dataset:
    """Make a dataset of arrays with one entry per row.

    The lists are given by `qid` or by `group`: exactly one of them.

    Parameters
    ----------
    X : array-like, SciPy sparse array or data frame of shape (N, F)
        The features. The column names of a data frame become the names of the features.
    y : array-like of shape (N,) or None
        The labels; None where they are not known yet.
    qid : array-like of shape (N,), optional
        The query of each row. Rows of one query need not be together: lists are in order of first appearance, and
        `group_rows(qid).position` leads back to the given order.
    group : array-like of shape (Q,), optional
        The sizes of the lists, as LightGBM has them: positive integers whose sum is N.
    document_ids, item_weights, item_groups : array-like of shape (N,), optional
        As in `Dataset`, in the order of the rows of `X`.
    list_weights : array-like of shape (Q,), optional
        The weight of each list.
    feature_names : sequence of str, optional
        The names of the features.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = from_arrays([[0.1], [0.2], [0.3]], [1, 0, 2], ["b", "a", "b"])
    >>> data.labels.tolist(), data.query_ids.to_pylist()
    ([1.0, 2.0, 0.0], ['b', 'a'])
    >>> from_arrays([[0.1], [0.2], [0.3]], [1, 0, 2], group=[1, 2]).offsets
    array([0, 1, 3])
    """
    features, names = _matrix(X)
    n_rows = int(features.shape[0])
    grouping = _grouping(qid, group, n_rows)

    def by_list(values: Any) -> Any:
        if values is None or grouping.order is None:
            return values
        return values[grouping.order] if not isinstance(values, pa.Array) else values.take(pa.array(grouping.order))

    documents = None if document_ids is None else arrow_ids("document_ids", document_ids).cast(pa.large_string())
    groups = None if item_groups is None else arrow_ids("item_groups", item_groups)
    labels = np.full(n_rows, np.nan) if y is None else as_floats("y", _column(y))
    weights = None if item_weights is None else as_floats("item_weights", item_weights)
    given = {"y": labels, "document_ids": documents, "item_weights": weights, "item_groups": groups}
    _same_length(n_rows, **{name: len(values) for name, values in given.items() if values is not None})
    return Dataset(
        features=by_list(features),
        labels=by_list(labels),
        offsets=grouping.offsets,
        query_ids=grouping.query_ids,
        document_ids=by_list(documents),
        item_weights=by_list(weights),
        list_weights=list_weights,
        feature_names=names if feature_names is None else tuple(feature_names),
        item_groups=by_list(groups),
    )


def _grouping(qid: Any, group: Any, n_rows: int) -> Grouping:
    """The lists that the query of each row or the sizes of the lists describe."""
    if (qid is None) == (group is None):
        both = "both" if group is not None else "neither"
        raise OptionError(f"Give either qid, the query of each row, or group, the sizes of the lists. Got {both}.")
    if group is None:
        grouping = group_rows(qid)
        _same_length(n_rows, qid=int(grouping.offsets[-1]))
        return grouping
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise DataError(f"group must be a one-dimensional array of integers. Got {sizes.dtype} of shape {sizes.shape}.")
    if np.any(sizes < 1):
        at = int(np.argmax(sizes < 1))
        raise DataError(f"group must be positive, the size of each list. Got {sizes[at]} for list {at + 1}.")
    if (total := sum(sizes.tolist())) != n_rows:
        raise DataError(f"group must sum to the {n_rows} rows of X. Its sum is {total}.")
    return Grouping(None, offsets_of_sizes(sizes), pa.array(np.arange(1, len(sizes) + 1)))


def _matrix(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Features as an array or a CSR matrix, and the names of a data frame's columns, if they are strings."""
    if sparse.issparse(X):
        return sparse.csr_array(X), None
    if not (is_pandas(X) or isinstance(X, (pa.Table, pa.RecordBatch)) or hasattr(X, "__arrow_c_stream__")):
        try:
            features = np.asarray(X)
        except ValueError as error:
            raise DataError(f"X must have the same number of features in every row. {error}") from error
        if features.ndim != 2:
            hint = " Reshape your data: X.reshape(1, -1) is one row." if features.ndim == 1 else ""
            raise DataError(f"X must be two-dimensional, rows by features. Got shape {features.shape}.{hint}")
        return features, None
    table = table_of("X", arrow_table(X))
    names = feature_columns(table, [], None)
    named = not is_pandas(X) or all(isinstance(name, str) for name in X.columns)
    return filled(table, names), tuple(names) if named else None


def _column(values: Any) -> Any:
    """Labels as scikit-learn users give them: a null is NaN, a frame or matrix of one column counts as that column."""
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "columns"):
        try:
            return pa.chunked_array(values).cast(pa.float64()).to_numpy()
        except pa.ArrowException as error:
            raise DataError(f"y must be numbers. {error}") from error
    values = np.asarray(values)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _same_length(n_rows: int, **lengths: int) -> None:
    for name, length in lengths.items():
        if length != n_rows:
            raise DataError(f"X and {name} must have the same number of rows. Got {n_rows} and {length}.")
