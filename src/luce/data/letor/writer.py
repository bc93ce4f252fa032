"""Writing LETOR text: blocks of rows turned to text by Arrow on several threads, every number as short as is exact."""

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.data.ragged import Dataset
from luce.data.streams import open_to_write
from luce.errors import DataError, LuceWarning
from luce.files import atomic_write
from luce.threads import in_parallel, thread_count

BLOCK = 1 << 19
"""Values turned to text together, about."""


def write_letor(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write LETOR text, `label qid:query index:value … #docid = document`, compressed if it ends in .gz, .bz2 or .zst.

    What is read back has the same values to the last bit. A sparse dataset is written without its zeros. Weights,
    groups and names of features have no place in the format; a warning says that they are left out.

    >>> import tempfile
    >>> from pathlib import Path
    >>> data = Dataset([[0.5, 0], [np.nan, 2]], [1, np.nan], [0, 2], query_ids=["q7"], document_ids=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_letor(data, Path(folder) / "train.txt")
    ...     print((Path(folder) / "train.txt").read_text())
    1 qid:q7 1:0.5 2:0 #docid = a
    nan qid:q7 1:nan 2:2 #docid = b
    """
    _check(dataset, path)
    base = 0 if _is_numbered_from(dataset, 0) else 1
    entries = dataset.features.nnz if dataset.is_sparse else dataset.features.size
    step = max(1, BLOCK * dataset.n_rows // max(BLOCK, entries))
    starts = range(0, dataset.n_rows, step)
    blocks: list[Callable[[], pa.Buffer]] = [
        partial(_text, dataset, slice(start, min(start + step, dataset.n_rows)), base) for start in starts
    ]
    together = 2 * thread_count()
    with atomic_write(path) as unfinished, open_to_write(unfinished, path) as stream:
        for first in range(0, len(blocks), together):
            for text in in_parallel(blocks[first : first + together]):
                stream.write(text)


def _check(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    if not dataset.n_rows:
        raise DataError(f"{os.fspath(path)} was not written: LETOR text needs at least one row.")
    _check_ids("query_ids", dataset.query_ids, r"^$|[ \t\r\n\x00#]")
    if dataset.document_ids is not None:
        _check_ids("document_ids", dataset.document_ids, r"[ \t\r\n\x00]")
    if len(dataset.query_ids.unique()) < dataset.n_lists:
        raise DataError("Lists with the same query id would be read back as one list. Give them different ids.")
    names = dataset.feature_names is not None and not (_is_numbered_from(dataset, 0) or _is_numbered_from(dataset, 1))
    lost = {
        "item weights": dataset.item_weights is not None,
        "list weights": dataset.list_weights is not None,
        "groups of items": dataset.item_groups is not None,
        "feature names": names,
        "lists without rows": bool(np.any(dataset.sizes == 0)),
    }
    if any(lost.values()):
        what = ", ".join(name for name, is_lost in lost.items() if is_lost)
        warnings.warn(
            f"LETOR text cannot store {what}: left out of {os.fspath(path)}. A .luce-data file stores everything.",
            LuceWarning,
            stacklevel=3,
        )


def _check_ids(name: str, ids: pa.Array, forbidden: str) -> None:
    if ids.null_count:
        raise DataError(f"{name} must not have missing values in LETOR text. {ids.null_count} are missing.")
    if pa.types.is_integer(ids.type):
        return
    at = pc.index(pc.match_substring_regex(ids, forbidden), True).as_py()
    if at >= 0:
        allowed = "no blanks, line ends or NUL" + (", no #, and not empty" if name == "query_ids" else "")
        raise DataError(f"{name} in LETOR text must have {allowed}. Got {ids[at].as_py()!r} at {at + 1}.")


def _is_numbered_from(dataset: Dataset, first: int) -> bool:
    return dataset.feature_names == tuple(map(str, range(first, first + dataset.n_features)))


def _text(dataset: Dataset, rows: slice, base: int) -> pa.Buffer:
    """The lines of some rows, one after the other."""
    lists = np.searchsorted(dataset.offsets, np.arange(rows.start, rows.stop), side="right") - 1
    queries = dataset.query_ids.take(pa.array(lists))
    parts = [strings(dataset.labels[rows]), " qid:", strings(queries), " ", _features(dataset, rows, base)]
    if dataset.document_ids is not None:
        documents = strings(dataset.document_ids[rows])
        parts.append(pc.if_else(pc.equal(documents, ""), "", joined(" #docid = ", documents)))
    return joined(*parts, "\n").buffers()[2]


def _features(dataset: Dataset, rows: slice, base: int) -> pa.Array:
    """index:value pairs of each row, a space between."""
    features = dataset.features[rows]
    if dataset.is_sparse:
        ends, columns, values = features.indptr, features.indices, features.data
        if rows.start == 0:
            # A zero in the first row shows what entries may not: how many features there are, that they count from 0.
            edges = {0} if base == 0 else set()
            edges |= {dataset.n_features - 1} if dataset.n_features else set()
            edges -= set(columns[: ends[1]].tolist())
            columns, values = np.insert(columns, ends[1], sorted(edges)), np.insert(values, ends[1], [0] * len(edges))
            ends = ends + len(edges) * (np.arange(len(ends)) > 0)
    else:
        ends = np.arange(len(features) + 1) * dataset.n_features
        columns, values = np.tile(np.arange(dataset.n_features), len(features)), features.ravel()
    pairs = joined(strings(columns + base), ":", strings(values))
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pairs), joint(" "))


def strings(values: Any) -> pa.Array:
    return pc.cast(values if isinstance(values, pa.Array) else pa.array(values), pa.large_string())


def joined(*parts: Any) -> pa.Array:
    pieces = [joint(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*pieces, joint(""))


def joint(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
