"""Datasets from arrays in memory, as scikit-learn users hold them: NumPy, SciPy sparse, data frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import numbers
from luce.data.columns import feature_columns
from luce.data.grouping import arrow_ids, group_rows
from luce.data.ragged import Dataset
from luce.data.tables import arrow_table, filled, is_pandas, table_of
from luce.errors import DataError


def from_arrays(
    X: Any,
    y: Any,
    qid: Any,
    *,
    document_ids: Any = None,
    item_weights: Any = None,
    list_weights: Any = None,
    feature_names: Sequence[str] | None = None,
    groups: Any = None,
) -> Dataset:
    """The dataset of arrays with one entry a row: features, labels (None = not known yet) and the query of each row.

    X is a NumPy array, nested lists, a SciPy sparse matrix or a data frame, whose column names are then kept.
    Rows of one query need not be together; `group_rows(qid).position` leads back to the given order.
    `list_weights` has one entry a list, in order of first appearance. `groups` says whose each row is, for fairness.

    >>> data = from_arrays([[0.1], [0.2], [0.3]], [1, 0, 2], ["b", "a", "b"])
    >>> data.labels.tolist(), data.query_ids.to_pylist()
    ([1.0, 2.0, 0.0], ['b', 'a'])
    """
    features, names = _matrix(X)
    grouping = group_rows(qid)
    n_rows, order = int(features.shape[0]), grouping.order
    _same_length(n_rows, qid=int(grouping.offsets[-1]))
    documents = None if document_ids is None else arrow_ids("document_ids", document_ids).cast(pa.large_string())
    owners = None if groups is None else arrow_ids("groups", groups)
    labels = np.full(n_rows, np.nan) if y is None else numbers("y", _column(y))
    weights = None if item_weights is None else numbers("item_weights", item_weights)
    given = {"y": labels, "document_ids": documents, "item_weights": weights, "groups": owners}
    _same_length(n_rows, **{name: len(values) for name, values in given.items() if values is not None})
    return Dataset(
        features=features if order is None else features[order],
        labels=labels if order is None else labels[order],
        offsets=grouping.offsets,
        query_ids=grouping.query_ids,
        document_ids=documents if documents is None or order is None else documents.take(pa.array(order)),
        item_weights=weights if weights is None or order is None else weights[order],
        list_weights=list_weights,
        feature_names=names if feature_names is None else tuple(feature_names),
        groups=owners if owners is None or order is None else owners.take(pa.array(order)),
    )


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
