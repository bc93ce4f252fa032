"""Datasets from arrays in memory, as scikit-learn users hold them: NumPy, SciPy sparse, data frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import Integers, as_floats, offsets_of_sizes, read_only
from luce.data.alignment import missing_features
from luce.data.categories import Categories
from luce.data.columns import feature_columns
from luce.data.feature_matrix import Matrix, matrix_of
from luce.data.grouping import Grouping, arrow_ids, group_rows
from luce.data.ragged import Dataset, checked_features
from luce.data.tables import arrow_table, is_pandas, table_of
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
    matrix = as_matrix(X)
    features = matrix.features
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
        feature_names=matrix.names if feature_names is None else tuple(feature_names),
        item_groups=by_list(groups),
        categories=matrix.categories,
    )


def to_score(
    X: Any, qid: Any, group: Any, names: Sequence[str] | None, categories: Categories | None
) -> tuple[Dataset, Integers | None]:
    """Rows without labels as a dataset, one list without `qid` and `group`, and the row there of each row of X.

    Of a data frame the columns of these names are taken, and read as categories where they have values.
    """
    coded = [name for name, values in zip(names or (), categories or (), strict=False) if values is not None]
    matrix = as_matrix(X, names, coded)
    if qid is not None or group is not None:
        dataset = from_arrays(matrix, None, qid, group=group)
        return dataset, None if qid is None else group_rows(qid).position
    features = checked_features(matrix.features)
    labels = read_only(np.full(features.shape[0], np.nan))
    lists = {"labels": labels, "offsets": np.array([0, len(labels)]), "query_ids": pa.array([0])}
    return Dataset.unchecked(features=features, feature_names=matrix.names, categories=matrix.categories, **lists), None


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


def as_matrix(X: Any, names: Sequence[str] | None = None, categorical: Sequence[str] = ()) -> Matrix:
    """Features as an array or a CSR matrix; of a data frame all columns, or those of these names."""
    if isinstance(X, Matrix):
        return X
    if sparse.issparse(X):
        return Matrix(sparse.csr_array(X))
    if type(X).__name__ in ("Series", "LazyFrame"):
        raise DataError(
            f"X must be two-dimensional, rows by features. Got a {type(X).__name__}. One row of a frame is "
            "frame.iloc[[0]]; a LazyFrame becomes a frame with collect()."
        )
    if not (is_pandas(X) or isinstance(X, (pa.Table, pa.RecordBatch)) or hasattr(X, "__arrow_c_stream__")):
        try:
            features = np.asarray(X)
        except ValueError as error:
            raise DataError(f"X must have the same number of features in every row. {error}") from error
        if features.ndim != 2:
            hint = " Reshape your data: X.reshape(1, -1) is one row." if features.ndim == 1 else ""
            raise DataError(f"X must be two-dimensional, rows by features. Got shape {features.shape}.{hint}")
        return Matrix(features)
    return _pandas_matrix(X, names, categorical) if is_pandas(X) else _table_matrix(arrow_table(X), names, categorical)


def _table_matrix(given: pa.Table, names: Sequence[str] | None, categorical: Sequence[str]) -> Matrix:
    _check_columns(given.schema.names, names)
    table = table_of("X", given if names is None else given.select(list(names)))
    return matrix_of(table, feature_columns(table, [], None), categorical=categorical, named=names is not None)


def _pandas_matrix(frame: Any, names: Sequence[str] | None, categorical: Sequence[str]) -> Matrix:
    """Columns of NumPy's numbers straight from the frame, which is far quicker for few rows; others through Arrow."""
    columns = frame.columns.tolist()
    if not all(isinstance(name, str) for name in columns):
        return _pandas_matrix(frame.set_axis([str(name) for name in columns], axis=1), None, ())._replace(names=None)
    _check_columns(columns, names)
    is_number = [isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes.tolist()]
    places = {name: place for place, name in enumerate(columns)}
    wanted = [places[name] for name in (columns if names is None else names)]
    others = [columns[place] for place in wanted if not is_number[place] or columns[place] in categorical]
    rest = Matrix(np.empty((len(frame), 0), np.float32), ())
    if others:
        table = pa.table({name: _arrow_column(frame.iloc[:, places[name]]) for name in others})
        rest = _table_matrix(table, None if names is None else others, categorical)
    numbers = [place for place in wanted if columns[place] not in others]
    with np.errstate(over="ignore"):  # beyond float32 becomes infinite, which is refused
        if all(is_number):  # pandas is slow to pick columns
            features = frame.to_numpy(np.float32)
            features = features if numbers == [*range(len(columns))] else features[:, numbers]
        else:
            features = frame.take(numbers, axis=1).to_numpy(np.float32)
    if not others:
        return Matrix(features, tuple(columns[place] for place in wanted))
    found = {name: at for at, name in enumerate([*(columns[place] for place in numbers), *(rest.names or ())])}
    kept = tuple(columns[place] for place in wanted if columns[place] in found)
    values = dict(zip(rest.names or (), rest.categories or (), strict=False))
    categories = tuple(values.get(name) for name in kept) if rest.categories else None
    return Matrix(np.hstack([features, rest.features])[:, [found[name] for name in kept]], kept, categories)


def _arrow_column(column: Any) -> Any:
    try:
        return pa.array(column)
    except pa.ArrowException as error:
        raise DataError(f"Column {column.name!r} cannot be read, as with values of several types: {error}") from error


def _check_columns(given: Sequence[str], names: Sequence[str] | None) -> None:
    """An error where a column that is wanted is missing or there twice."""
    there = set(given)
    missing = [name for name in names or () if name not in there]
    if missing:
        raise missing_features(missing, given)
    if len(there) < len(given):
        twice = next((name for name in given if list(given).count(name) > 1 and (names is None or name in names)), None)
        if twice is not None:
            raise DataError(f"X has more than one column named {twice!r}; names must differ.")


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
