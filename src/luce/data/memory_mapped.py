"""The stored form of a dataset, one `.luce-data` file mapped into memory: it opens at once, whatever its size."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers, check_offsets
from luce.compiled import compiled
from luce.data.ragged import Dataset
from luce.data.tensor_file import Tensors, cannot_open, map_tensors, write_tensors
from luce.errors import DataError
from luce.threads import over_lists

FORMAT = {"format": "luce-data", "version": "1"}


def write_mapped(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset, everything in it, block by block: it may be larger than memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mapped(Dataset([[0.5], [0.1], [0.3]], [2, 0, 1], [0, 2, 3]), f"{folder}/train.luce-data")
    ...     read_mapped(f"{folder}/train.luce-data")
    Dataset(3 rows, 2 lists, 1 feature, labels 0 to 2)
    """
    arrays = {"labels": dataset.labels, "offsets": dataset.offsets, **_stored_ids("query_ids", dataset.query_ids)}
    if dataset.is_sparse:
        csr = dataset.features
        arrays |= {"features.values": csr.data, "features.columns": csr.indices, "features.starts": csr.indptr}
    else:
        arrays["features"] = dataset.features
    for name in ("document_ids", "groups"):
        if getattr(dataset, name) is not None:
            arrays |= _stored_ids(name, getattr(dataset, name))
    for name in ("item_weights", "list_weights"):
        if getattr(dataset, name) is not None:
            arrays[name] = getattr(dataset, name)
    metadata = FORMAT | {"n_features": str(dataset.n_features)}
    if dataset.feature_names is not None:
        metadata["feature_names"] = json.dumps(dataset.feature_names, ensure_ascii=False)
    write_tensors(Tensors(arrays, metadata), path)


def _stored_ids(name: str, ids: pa.Array) -> dict[str, NDArray[Any]]:
    if ids.null_count:
        raise DataError(f"{name} must all be there to be stored. {ids.null_count} are missing.")
    if pa.types.is_integer(ids.type):
        return {name: ids.cast(pa.int64()).to_numpy()}
    _, offsets, text = (ids := ids.cast(pa.large_string())).buffers()
    ends = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1] if len(ids) else np.zeros(1, int)
    letters = np.frombuffer(text or b"", np.uint8)[ends[0] : ends[-1]]
    return {f"{name}.offsets": ends - ends[0] if ends[0] else ends, f"{name}.text": letters}


def read_mapped(path: str | os.PathLike[str]) -> Dataset:
    """The dataset of a `.luce-data` file. No array is read before it is used, and none can be changed.

    A file comes from outside. That its arrays fit together is checked here. What is inside them is checked on first use
    where it could lead a computation out of its arrays: offsets, positions of entries, text. Numbers are trusted.
    """
    arrays, metadata = map_tensors(path)
    dataset = object.__new__(MappedDataset)
    try:
        if FORMAT.items() - metadata.items():
            found = f"{metadata.get('format')!r}, version {metadata.get('version')}"
            raise ValueError(f"expected {FORMAT['format']!r}, version {FORMAT['version']}; it is {found}")
        n_features = int(metadata["n_features"])
        names = json.loads(metadata["feature_names"]) if "feature_names" in metadata else None
        _check_shapes(arrays, n_features, names)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise cannot_open(path, error) from error
    dataset._set(
        labels=arrays["labels"],
        item_weights=arrays.get("item_weights"),
        list_weights=arrays.get("list_weights"),
        feature_names=None if names is None else tuple(names),
        _stored=Stored(os.fspath(path), arrays, n_features),
    )
    return dataset


def _check_shapes(arrays: dict[str, NDArray[Any]], n_features: int, names: Any) -> None:
    """That every array is there, and of the type and length that the others ask for."""
    for name, (shape, kind) in _shapes(arrays, n_features).items():
        array = arrays[name]
        if array.shape != shape or array.dtype != kind:
            raise ValueError(f"{name} must be {kind} of shape {shape}, and is {array.dtype} of shape {array.shape}")
    if not 0 <= n_features < 2**31:
        raise ValueError(f"it cannot have {n_features} features")
    if names is not None and not (len(names) == n_features and all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names must be {n_features} strings")


def _shapes(arrays: dict[str, NDArray[Any]], n_features: int) -> dict[str, tuple[tuple[int, ...], str]]:
    n_rows, n_lists = len(arrays["labels"]), len(arrays["offsets"]) - 1
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "labels": ((n_rows,), "float64"),
        "offsets": ((n_lists + 1,), "int64"),
    }
    if "features" in arrays:
        shapes["features"] = (n_rows, n_features), "float32"
    else:
        entries = (len(arrays["features.values"]),)
        counted = "int32" if arrays["features.starts"].dtype == np.int32 else "int64"
        shapes["features.values"] = entries, "float32"
        shapes["features.columns"] = entries, counted
        shapes["features.starts"] = (n_rows + 1,), counted
    for name, length in (("query_ids", n_lists), ("document_ids", n_rows), ("groups", n_rows)):
        if f"{name}.text" in arrays:
            shapes[f"{name}.text"] = (len(arrays[f"{name}.text"]),), "uint8"
            shapes[f"{name}.offsets"] = (length + 1,), "int64"
        elif name in arrays or name == "query_ids":
            shapes[name] = (length,), "int64"
    for name, length in (("item_weights", n_rows), ("list_weights", n_lists)):
        if name in arrays:
            shapes[name] = (length,), "float64"
    return shapes


class Stored(NamedTuple):
    """The arrays of a file, with what it takes to check them."""

    path: str
    arrays: dict[str, NDArray[Any]]
    n_features: int

    def features(self) -> Any:
        if "features" in self.arrays:
            return self.arrays["features"]
        values, columns, starts = (self.arrays[f"features.{name}"] for name in ("values", "columns", "starts"))
        with self._checking("features"):
            rows = check_offsets(starts, len(columns))
            wrong = np.zeros(1, np.int64)
            over_lists(_check_columns, rows, columns, self.n_features, wrong)
            if wrong[0]:
                raise ValueError("columns must rise within a row, and be less than the number of features")
            matrix = sparse.csr_array((values, columns, starts), shape=(len(rows) - 1, self.n_features), copy=False)
        matrix.has_canonical_format = True
        return matrix

    def offsets(self) -> Integers:
        with self._checking("offsets"):
            return check_offsets(self.arrays["offsets"], len(self.arrays["labels"]))

    def ids(self, name: str) -> pa.Array | None:
        if name in self.arrays:
            return pa.array(self.arrays[name])
        if f"{name}.text" not in self.arrays:
            return None
        offsets, text = self.arrays[f"{name}.offsets"], self.arrays[f"{name}.text"]
        with self._checking(name):
            ids = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
            ids.validate(full=True)
        return ids

    @contextmanager
    def _checking(self, name: str) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise DataError(f"{self.path} is damaged: its {name} are wrong. {error}") from error


class MappedDataset(Dataset):
    """A dataset in a file, whose parts are checked on first use."""

    _stored: Stored

    @cached_property
    def features(self) -> Any:
        return self._stored.features()

    @cached_property
    def offsets(self) -> Any:
        return self._stored.offsets()

    @cached_property
    def query_ids(self) -> Any:
        return self._stored.ids("query_ids")

    @cached_property
    def document_ids(self) -> Any:
        return self._stored.ids("document_ids")

    @cached_property
    def groups(self) -> Any:
        return self._stored.ids("groups")


@compiled
def _check_columns(first, last, starts, columns, n_columns, wrong):
    for row in range(first, last):
        previous = -1
        for entry in range(starts[row], starts[row + 1]):
            if columns[entry] <= previous or columns[entry] >= n_columns:
                wrong[0] = 1
            previous = columns[entry]
