"""The stored form of a dataset, an Arrow IPC file mapped into memory: it opens at once, whatever its size.

One record batch has a row for each list: `query_id`, `list_weight`, and `items`, a list of structs of `label`,
`features`, `document_id`, `item_weight` and `item_group`. Dense features are lists of fixed size, so that they are one
contiguous array; sparse ones are lists of (`column`, `value`).
"""

import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property, partial
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import check_offsets
from luce.compiled import compiled
from luce.data.categories import check_codes, checked_categories
from luce.data.ragged import Dataset
from luce.data.streams import open_to_read
from luce.errors import DataError
from luce.files import atomic_write
from luce.threads import over_lists

METADATA = b"luce-data"
VERSION = 1
LIST_COLUMNS = ("query_id", "list_weight", "items")
ITEM_COLUMNS = ("label", "features", "document_id", "item_weight", "item_group")
NUMBERS = {"label": "labels", "item_weight": "item_weights", "list_weight": "list_weights"}


def write_mapped(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset, everything in it, without a copy of its arrays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mapped(Dataset([[0.5], [0.1], [0.3]], [2, 0, 1], [0, 2, 3]), f"{folder}/train.luce-data")
    ...     read_mapped(f"{folder}/train.luce-data")
    Dataset(3 rows, 2 lists, 1 feature, labels 0 to 2)
    """
    items = {"label": pa.array(dataset.labels)}
    if dataset.is_sparse or dataset.n_features:
        items["features"] = _feature_lists(dataset)
    for column in ITEM_COLUMNS[2:]:
        if (values := getattr(dataset, f"{column}s")) is not None:
            items[column] = pa.array(values)
            if items[column].null_count:
                raise DataError(
                    f"{column}s must not be missing in a .luce-data file. {items[column].null_count} are missing."
                )
    structs = pa.StructArray.from_arrays(list(items.values()), list(items))
    lists = {"query_id": dataset.query_ids, "items": pa.LargeListArray.from_arrays(dataset.offsets, structs)}
    if dataset.list_weights is not None:
        lists["list_weight"] = pa.array(dataset.list_weights)
    about: dict[str, Any] = {"version": VERSION, "n_features": dataset.n_features}
    about["feature_names"] = dataset.feature_names
    if dataset.categories is not None:
        about["categories"] = dataset.categories
    batch = pa.record_batch(lists).replace_schema_metadata({METADATA: json.dumps(about, ensure_ascii=False)})
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)  # for more than 2³¹ values
    with (
        atomic_write(path) as partial_file,
        pa.OSFile(str(partial_file), "wb") as file,
        pa.ipc.new_file(file, batch.schema, options=options) as writer,
    ):
        writer.write_batch(batch)


def _feature_lists(dataset: Dataset) -> pa.Array:
    features = dataset.features
    if not dataset.is_sparse:
        return pa.FixedSizeListArray.from_arrays(pa.array(features.reshape(-1)), dataset.n_features)
    entries = pa.StructArray.from_arrays([pa.array(features.indices), pa.array(features.data)], ["column", "value"])
    kind = pa.ListArray if features.indptr.dtype == np.int32 else pa.LargeListArray
    return kind.from_arrays(pa.array(features.indptr), entries)


def read_mapped(path: str | os.PathLike[str]) -> Dataset:
    """The dataset of a `.luce-data` file. No array is read before it is used, and none can be changed.

    A file comes from outside. That its arrays have the right types and lengths is checked here. What is inside them is
    checked on first use where it could lead a computation out of its arrays: offsets, columns of entries, text.
    Numbers are trusted.
    """
    dataset = object.__new__(MappedDataset)
    with open_to_read(path) as file:
        try:
            batch, about = _record_batch(file)
            columns, n_features = _columns(batch), about["n_features"]
            names = _checked_names(n_features, about["feature_names"])
            categories = checked_categories(about.get("categories"), n_features)
            _check_columns(columns, n_features)
            numbers = {name: _values(columns[name]) if name in columns else None for name in NUMBERS}
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{os.fspath(path)} cannot be opened as .luce-data: {what}.") from error
    dataset._set(
        feature_names=names, categories=categories, **{NUMBERS[name]: values for name, values in numbers.items()}
    )
    dataset._set(_path=os.fspath(path), _columns=columns, _n_features=n_features)
    return dataset


def is_mapped(features: Any) -> bool:
    """Whether features lie in a `.luce-data` file, or are a part of those that do."""
    while isinstance(features, np.ndarray):
        features = features.base
    return isinstance(features, pa.Buffer)


def _record_batch(file: IO[bytes]) -> tuple[pa.RecordBatch, dict[str, Any]]:
    """The record batch of a file, mapped into memory, and what its metadata say."""
    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # pa.memory_map would read ahead
    reader = pa.ipc.open_file(pa.py_buffer(memory))
    about = json.loads((reader.schema.metadata or {})[METADATA])
    if about["version"] != VERSION:
        raise ValueError(f"expected version {VERSION} of the format; it is {about['version']}")
    if reader.num_record_batches != 1:
        raise ValueError(f"expected one record batch; it has {reader.num_record_batches}")
    batch = reader.get_batch(0)
    batch.validate()
    return batch, about


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns of the lists and of their items by name; others are not looked at."""
    items = batch.column("items")
    if not (pa.types.is_large_list(items.type) and pa.types.is_struct(items.type.value_type)):
        raise ValueError(f"items must be lists of structs, and are {items.type}")
    of_lists = {name: batch.column(name) for name in LIST_COLUMNS if name in batch.schema.names}
    fields_there = [field.name for field in items.values.type.fields]
    return of_lists | {name: items.values.field(name) for name in ITEM_COLUMNS if name in fields_there}


def _checked_names(n_features: Any, names: Any) -> tuple[str, ...] | None:
    if type(n_features) is not int or not 0 <= n_features < 2**31:
        raise ValueError(f"it cannot have {n_features!r} features")
    if names is not None and not (len(names) == n_features and all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names must be {n_features} strings")
    return None if names is None else tuple(names)


def _check_columns(columns: dict[str, pa.Array], n_features: int) -> None:
    """An error where a column is missing, of another type than it must have, or has nulls."""
    ids, number = (pa.int64(), pa.large_string()), (pa.float64(),)
    dense = (pa.list_(pa.float32(), n_features),) if n_features else ()
    kinds = ((pa.list_, pa.int32()), (pa.large_list, pa.int64()))
    entries = (kind(pa.struct([("column", index), ("value", pa.float32())])) for kind, index in kinds)
    allowed = {
        "query_id": ids,
        "label": number,
        "features": (*dense, *entries),
        "document_id": ids[1:],
        "item_group": ids,
    }
    allowed |= {"item_weight": number, "list_weight": number, "items": (columns["items"].type,)}
    for name, types in allowed.items():
        if name not in columns and (name in ("query_id", "label") or (name == "features" and n_features)):
            raise KeyError(name)
        if name in columns and columns[name].type not in types:
            raise ValueError(f"{name} must be {' or '.join(map(str, types))}, and is {columns[name].type}")
        if name in columns and columns[name].null_count:
            raise ValueError(f"{name} must not be null")
    if columns["items"].values.null_count:
        raise ValueError("items must not be null")


class MappedDataset(Dataset):
    """A dataset in a file; its offsets, features and ids are checked on first use."""

    _path: str
    _columns: dict[str, pa.Array]
    _n_features: int

    def __reduce__(self) -> Any:
        return partial(Dataset.unchecked, **{field.name: getattr(self, field.name) for field in fields(Dataset)}), ()

    @cached_property
    def features(self) -> Any:
        column, shape = self._columns.get("features"), (self.n_rows, self._n_features)
        with self._checking("features"):
            if column is None:
                return np.empty(shape, np.float32)
            dense = hasattr(column.type, "list_size")
            features = _values(column.values).reshape(shape) if dense else _csr(column, shape)
            check_codes(features, self.categories)
            return features

    @cached_property
    def offsets(self) -> Any:
        with self._checking("offsets"):
            return check_offsets(_values(self._columns["items"].offsets), self.n_rows)

    @cached_property
    def query_ids(self) -> Any:
        return self._ids("query_ids", "query_id")

    @cached_property
    def document_ids(self) -> Any:
        return self._ids("document_ids", "document_id")

    @cached_property
    def item_groups(self) -> Any:
        return self._ids("item_groups", "item_group")

    def _ids(self, name: str, column: str) -> pa.Array | None:
        ids = self._columns.get(column)
        with self._checking(name):
            if ids is not None:
                ids.validate(full=True)
        return ids

    @contextmanager
    def _checking(self, name: str) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise DataError(f"{self._path} is damaged: its {name} are wrong. {error}") from error


def _values(column: pa.Array) -> NDArray[Any]:
    """The numbers of a column, which stay where they are in the file."""
    values = np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype(), len(column))  # to_numpy loads pandas
    if not values.flags.aligned:
        raise ValueError("its arrays are not aligned")
    return values


def _csr(rows: pa.Array, shape: tuple[int, int]) -> Any:
    columns, values = (_values(rows.values.field(name)) for name in ("column", "value"))
    indptr = _values(rows.offsets)
    offsets = check_offsets(indptr, len(columns))
    wrong = np.zeros(1, np.int64)
    over_lists(_check_entries, offsets, columns, shape[1], results=[wrong])
    if wrong[0]:
        raise ValueError("columns must increase within a row, and be less than the number of features")
    matrix = sparse.csr_array((values, columns, indptr), shape=shape, copy=False)
    matrix.has_canonical_format = True
    return matrix


@compiled
def _check_entries(first, last, starts, columns, n_columns, wrong):
    for row in range(first, last):
        previous = -1
        for entry in range(starts[row], starts[row + 1]):
            if columns[entry] <= previous or columns[entry] >= n_columns:
                wrong[0] = 1
            previous = columns[entry]
