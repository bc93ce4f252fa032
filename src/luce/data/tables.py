"""Datasets from tables: anything with Arrow's C stream interface, one row an item."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from luce.arrays import Floats, as_floats
from luce.data.allocation import zeros_in
from luce.data.columns import (
    DOCUMENT,
    ITEM_GROUP,
    LABEL,
    LIST_WEIGHT,
    QUERY,
    WEIGHT,
    ColumnName,
    Columns,
    Table,
    choose_columns,
    is_number,
)
from luce.data.feature_matrix import check_categorical, column_of, floats, infinite_value, matrix_of
from luce.data.grouping import Grouping, arrow_ids, group_rows
from luce.data.ragged import Dataset
from luce.errors import DataError

FilePath = str | os.PathLike[str]

BLOCK = 8_192
"""Rows of a table turned into a block of features together."""


def from_table(
    table: Any,
    *,
    query: ColumnName = QUERY,
    label: ColumnName = LABEL,
    features: Sequence[str] | None = None,
    document: ColumnName = DOCUMENT,
    weight: ColumnName = WEIGHT,
    list_weight: ColumnName = LIST_WEIGHT,
    item_group: ColumnName = ITEM_GROUP,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> Dataset:
    """Make a dataset of a table with one row per item.

    A column is found under one of its usual names where it is not named here. A null is a missing value. Rows of one
    query need not be together: they are brought together, queries in order of first appearance.

    Parameters
    ----------
    table : pandas, Polars, DuckDB or Arrow table
        Or anything else with Arrow's C stream interface.
    query : str
        The column that says which rows belong together.
    label : str or None
        The column of the labels; None says that there are no labels yet.
    features : sequence of str, optional
        The feature columns, as names or shell patterns such as "bm25*"; by default all others. Text and categories
        become categories, booleans 0 and 1, dates and timestamps days since 1970-01-01, durations seconds, times of day
        hours. Text that differs in nearly every row, or in nearly every list, is left out unless it is named here.
        Columns named 1, 2, … F give numbered features.
    document, weight, list_weight : str, optional
        The columns of document ids, item weights and list weights.
    item_group : str, optional
        The column that says whose an item is, such as its seller, for fairness. It is a feature only if `features`
        names it.
    exclude : sequence of str, optional
        Columns that are not features, as names or shell patterns such as "click*".
    categorical : sequence of str
        Feature columns of numbers that are codes of categories, and not amounts.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> table = pa.table({"query": ["b", "a", "b"], "label": [1, 0, 2], "length": [3.5, None, 2.0]})
    >>> data = from_table(table)
    >>> data, data.labels.tolist(), data.feature_names
    (Dataset(3 rows, 2 lists, 1 feature, labels 0 to 2), [1.0, 2.0, 0.0], ('length',))
    >>> from_table(table.append_column("color", [["red", "blue", "red"]])).categories
    (None, ('blue', 'red'))
    """
    named = table_of("The table", arrow_table(table))
    columns = choose_columns(named, query, label, features, document, weight, list_weight, item_group, exclude)
    return dataset_of(named, columns, categorical=categorical, named=features is not None)


def arrow_table(table: Any) -> pa.Table:
    """The validated Arrow table of any table; the index of a pandas frame is no column."""
    try:
        if isinstance(table, pa.Table):
            return validated(table)
        if is_pandas(table):
            return pa.Table.from_pandas(table, preserve_index=False)
        if isinstance(table, pa.RecordBatchReader):
            return validated(table.read_all())
        if isinstance(table, pa.RecordBatch) or hasattr(table, "__arrow_c_stream__"):
            return validated(pa.table(table))
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"The table cannot be read: {error}") from error
    hint = " Call its collect() first." if hasattr(table, "collect") else ""
    raise DataError(
        f"A table must be of pandas, Polars, DuckDB or Arrow, or have its C stream interface. Got {type(table)}.{hint}"
    )


def validated(table: Any) -> Any:
    """The table or record batch itself; an error where an offset, an index or text in it is invalid.

    Arrow does not check these when it reads a file, and computing with them would crash the process. Columns of numbers
    cost nothing, text is checked to be UTF-8.
    """
    table.validate(full=True)
    table.schema.names  # noqa: B018 (UnicodeDecodeError where a name is not UTF-8)
    return table


def table_of(name: str, table: pa.Table) -> Table:
    """A table in memory, to be walked through in batches."""
    return Table(name, table.schema, table.num_rows, lambda names: table.select(names).to_batches(BLOCK))


def dataset_of(
    table: Table, columns: Columns, *, categorical: Sequence[str], named: bool, temp_folder: FilePath | None = None
) -> Dataset:
    """The dataset of a table; its features are filled block by block, each row at its place in the dataset.

    In a `temp_folder` they are in memory-mapped files, and may then be larger than memory.
    """
    categorical = check_categorical(categorical, columns.features)
    grouping = group_rows(column_of(table, columns.query), f"{table.name}: query column {columns.query!r}")

    def values(name: str | None) -> Floats | None:
        return None if name is None else _in_order(_float_column(table, name), grouping)

    documents = None
    if columns.document is not None:
        ids = arrow_ids(f"document column {columns.document!r}", column_of(table, columns.document))
        ids = ids.cast(pa.large_string()).fill_null("")
        documents = ids if grouping.order is None else ids.take(pa.array(grouping.order))
    labels = values(columns.label)
    placed: dict[str, Any] = {"grouping": grouping, "zeros": zeros_in(temp_folder)}
    matrix = matrix_of(table, columns.features, categorical=categorical, named=named, **placed)
    numbered = matrix.names == tuple(str(number) for number in range(1, len(matrix.names or ()) + 1))
    return Dataset.of_finite_features(
        features=matrix.features,
        labels=np.full(table.n_rows, np.nan) if labels is None else labels,
        offsets=grouping.offsets,
        query_ids=grouping.query_ids,
        document_ids=documents,
        item_weights=values(columns.weight),
        list_weights=_one_a_list(columns.list_weight, values(columns.list_weight), grouping),
        feature_names=None if numbered else matrix.names,
        categories=matrix.categories,
        item_groups=None if columns.item_group is None else _groups(table, columns.item_group, grouping),
    )


def _groups(table: Table, name: str, grouping: Grouping) -> pa.Array:
    """The group of each item; unlike a document id it must not be missing."""
    groups = arrow_ids(f"item group column {name!r}", column_of(table, name))
    if groups.null_count:
        raise missing_group(table.name, name, f"row {groups.is_null().index(True).as_py() + 1}")
    return groups if grouping.order is None else groups.take(pa.array(grouping.order))


def missing_group(table: str, column: str, where: str) -> DataError:
    """The error for an item without a group."""
    return DataError(
        f"{table}: column {column!r} must name the group of every row. It is missing at {where}. Give items without a "
        "group one of their own, such as 'unknown'."
    )


def _float_column(table: Table, name: str) -> Floats:
    column = column_of(table, name)
    if not is_number(column.type):
        raise DataError(f"{table.name}: column {name!r} must be numbers. It is {column.type}.")
    values = as_floats(name, np.concatenate([np.empty(0), *(floats(chunk) for chunk in column.chunks)]))
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise infinite_value(table, name, int(infinite[0]))
    return values


def _in_order(values: Floats, grouping: Grouping) -> Floats:
    return values if grouping.order is None else values[grouping.order]


def _one_a_list(name: str | None, values: Floats | None, grouping: Grouping) -> Floats | None:
    if values is None:
        return None
    starts = grouping.offsets[:-1]
    weights = values[starts]
    differs = np.flatnonzero(values != np.repeat(weights, np.diff(grouping.offsets)))
    if differs.size:
        at = int(np.searchsorted(grouping.offsets, differs[0], side="right")) - 1
        query = grouping.query_ids[at]
        raise DataError(f"Column {name!r} must be the same in all rows of a list. Query {query} has several values.")
    return weights


def is_pandas(table: Any) -> bool:
    """Whether this is a pandas frame; pandas is not loaded for it."""
    return type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns")
