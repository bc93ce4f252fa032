"""Datasets written as CSV, Parquet and Arrow files, block by block."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from luce.arrays import list_of_row
from luce.data.categories import Values
from luce.data.columns import DOCUMENT, ITEM_GROUP, LABEL, LIST_WEIGHT, QUERY, WEIGHT
from luce.data.ragged import Dataset
from luce.data.streams import open_to_write
from luce.data.table_files import USUAL, FilePath, usual_delimiter
from luce.data.tables import BLOCK
from luce.errors import DataError, LuceWarning
from luce.files import atomic_write

COLUMNS_LIMIT = 16_384
CELLS_LIMIT = 2**30
"""Tables hold every value: a sparse dataset is written as one up to this many columns, and rows times columns."""


def write_csv(dataset: Dataset, path: FilePath) -> None:
    """Write a CSV file with a header, compressed where the name ends in .gz, .bz2 or .zst."""
    from pyarrow import csv

    options = csv.WriteOptions(delimiter=usual_delimiter(path))
    with _replacing(dataset, path) as partial, open_to_write(partial, path) as stream:
        _write(dataset, lambda schema: csv.CSVWriter(stream, schema, write_options=options), decode=True)


def write_parquet(dataset: Dataset, path: FilePath) -> None:
    """Write a Parquet file."""
    from pyarrow import parquet

    with _replacing(dataset, path) as partial:
        _write(dataset, lambda schema: parquet.ParquetWriter(partial, schema))


def write_arrow(dataset: Dataset, path: FilePath) -> None:
    """Write an Arrow IPC file, which is also a Feather file."""
    with _replacing(dataset, path) as partial:
        _write(dataset, lambda schema: pa.ipc.new_file(str(partial), schema))


def _write(dataset: Dataset, open_writer: Callable[[pa.Schema], Any], *, decode: bool = False) -> None:
    batches = map(_decoded, _batches(dataset)) if decode else _batches(dataset)
    first = next(batches)
    with open_writer(first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with text where it has dictionaries, which Arrow does not write as CSV."""
    kinds = (
        (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type) for each in batch.schema
    )
    return batch.cast(pa.schema(kinds))


@contextmanager
def _replacing(dataset: Dataset, path: FilePath) -> Iterator[Path]:
    """A path to write a table to; an error or a warning for what it cannot hold."""
    _check_table(dataset)
    if not dataset.n_rows:
        raise DataError(f"{path} was not written: a table needs at least one row.")
    if len(dataset.query_ids.unique()) < dataset.n_lists:
        raise DataError(f"{path}: lists with the same query id would be read back as one. Give them different ids.")
    empty = int(np.count_nonzero(dataset.sizes == 0))
    if empty:
        warnings.warn(f"{path}: {empty} empty list(s) left out; a table cannot store them.", LuceWarning, stacklevel=5)
    with atomic_write(path) as partial:
        yield partial


def _check_table(dataset: Dataset) -> None:
    """An error for a dataset that a table cannot hold."""
    clash = next((name for name in dataset.feature_names or () if name in USUAL), None)
    if clash is not None:
        raise DataError(f"A feature is named {clash!r}, which a table keeps for something else. Give it another name.")
    if dataset.is_sparse and (dataset.n_features > COLUMNS_LIMIT or dataset.n_features * dataset.n_rows > CELLS_LIMIT):
        raise DataError(
            f"A sparse dataset is written as a table up to {COLUMNS_LIMIT:,} features and {CELLS_LIMIT:,} values. "
            f"Got {dataset!r}. Write it as .luce-data or LETOR text (.txt), which stay sparse."
        )


def _batches(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """The dataset as a table, one row an item, block after block."""
    names = [dataset.feature_name(column) for column in range(dataset.n_features)]
    step = max(1, min(8 * BLOCK, 2**23 // max(1, dataset.n_features)))
    all_lists = list_of_row(dataset.offsets)
    for first in range(0, dataset.n_rows, step):
        rows = slice(first, min(first + step, dataset.n_rows))
        lists, weights = all_lists[rows], dataset.list_weights
        columns = {
            QUERY[0]: dataset.query_ids.take(pa.array(lists)),
            LABEL[0]: _nullable(dataset.labels[rows]),
            DOCUMENT[0]: None if dataset.document_ids is None else dataset.document_ids[rows],
            WEIGHT[0]: None if dataset.item_weights is None else pa.array(dataset.item_weights[rows]),
            LIST_WEIGHT[0]: None if weights is None else pa.array(weights[lists]),
            ITEM_GROUP[0]: None if dataset.item_groups is None else dataset.item_groups[rows],
        }
        block = dataset.features[rows].toarray() if dataset.is_sparse else dataset.features[rows]
        categories = dataset.categories or (None,) * dataset.n_features
        columns |= dict(zip(names, map(_nullable, np.ascontiguousarray(block.T), categories), strict=True))
        yield pa.record_batch({name: values for name, values in columns.items() if values is not None})


def _nullable(values: Any, categories: Values | None = None) -> pa.Array:
    numbers = pa.array(values, from_pandas=True)  # NaN is a null there
    if categories is None:
        return numbers
    ordered = list(categories) != sorted(categories)  # else the order would be lost
    return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), list(categories), ordered=ordered)
