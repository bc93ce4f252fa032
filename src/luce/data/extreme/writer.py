"""Writing extreme-classification text: blocks of rows turned to text by Arrow, every number as short as is exact."""

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from luce.data.extreme.tagged import TaggedData
from luce.data.letor.writer import joined, joint, strings
from luce.data.streams import open_to_write
from luce.errors import DataError
from luce.files import atomic_write

BLOCK = 1 << 14
"""Rows turned to text together."""


def write_tagged(data: TaggedData, path: str | os.PathLike[str]) -> None:
    """Write extreme-classification text: `rows features labels`, then one line per row; zeros are left out.

    Reading the file restores the same values to the last bit. The format cannot store grades other than 1.

    Parameters
    ----------
    data : TaggedData
        What to write.
    path : str or path-like
        The file to write, compressed if it ends in .gz, .bz2 or .zst.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tagged(TaggedData([[0.5, 0], [0, 2]], [[0, 1, 1], [0, 0, 0]]), Path(folder) / "train.txt")
    ...     print((Path(folder) / "train.txt").read_text())
    2 2 3
    1,2 0:0.5
     1:2
    """
    if (data.labels.data != 1).any():
        raise DataError(
            f"{os.fspath(path)} was not written: the format stores only which labels are relevant, and these have "
            "grades. Set the grades to 1, or store the matrices with scipy.sparse.save_npz."
        )
    with atomic_write(path) as unfinished, open_to_write(unfinished, path) as stream:
        stream.write(f"{data.n_rows} {data.n_features} {data.n_labels}\n".encode())
        for start in range(0, data.n_rows, BLOCK):
            stream.write(_text(data, slice(start, min(start + BLOCK, data.n_rows))))


def _text(data: TaggedData, rows: slice) -> pa.Buffer:
    labels, features = data.labels[rows], sparse.csr_array(data.features[rows])
    pairs = joined(strings(features.indices), ":", strings(features.data))
    lines = joined(_lists(labels.indptr, strings(labels.indices), ","), " ", _lists(features.indptr, pairs, " "), "\n")
    return lines.buffers()[2]


def _lists(ends: Any, words: pa.Array, between: str) -> pa.Array:
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(ends.astype(np.int64)), words), joint(between))
