"""Named arrays in one file, in the layout of safetensors: written block by block, mapped into memory to be read.

Eight bytes hold the length of the header, then comes the header in JSON, then the arrays one after the other.
"""

import json
import math
import mmap
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.data.streams import open_to_read
from luce.errors import DataError
from luce.files import replacing

LONGEST_HEADER = 100_000_000  # that of safetensors
BLOCK = 1 << 24

KINDS = {"F64": np.float64, "I64": np.int64, "F32": np.float32, "I32": np.int32, "U8": np.uint8}
"""The types of arrays; in this order, longest items first, every array is aligned and there are no gaps."""


class Tensors(NamedTuple):
    """Arrays by name, read-only where they are mapped, and what is said of them."""

    arrays: dict[str, NDArray[Any]]
    metadata: dict[str, str]


def write_tensors(tensors: Tensors, path: str | os.PathLike[str]) -> None:
    """Write the arrays; they may be larger than memory, if they are themselves mapped."""
    names = {np.dtype(kind): name for name, kind in KINDS.items()}
    order = sorted(tensors.arrays, key=lambda name: list(KINDS).index(names[tensors.arrays[name].dtype]))
    header: dict[str, Any] = {"__metadata__": tensors.metadata}
    end = 0
    for name in order:
        array = tensors.arrays[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % 64)
    if len(text) > LONGEST_HEADER:
        raise DataError(
            f"{os.fspath(path)} was not written: the feature names take more than {LONGEST_HEADER:,} bytes."
        )
    with replacing(path) as partial, open(partial, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            flat = np.ascontiguousarray(tensors.arrays[name]).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), BLOCK):
                file.write(flat[start : start + BLOCK].data)


def map_tensors(path: str | os.PathLike[str]) -> Tensors:
    """The arrays of a file, none of which is read; an array that is not wholly inside the file is refused."""
    with open_to_read(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(LONGEST_HEADER, size - 8):
                raise ValueError("it is cut short or not of this format")
            header = json.loads(file.read(length))
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return _tensors(header, memory, 8 + length)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            raise cannot_open(path, error) from error


def cannot_open(path: str | os.PathLike[str], error: Exception) -> DataError:
    """The error for a file that is not what it should be."""
    what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return DataError(f"{os.fspath(path)} cannot be opened as .luce-data: {what}.")


def _tensors(header: Any, memory: mmap.mmap, first: int) -> Tensors:
    metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its header has no metadata")
    arrays = {name: _array(name, entry, memory, first) for name, entry in header.items()}
    if first + max((entry["data_offsets"][1] for entry in header.values()), default=0) != len(memory):
        raise ValueError("its length is not what its header says")
    return Tensors(arrays, metadata)


def _array(name: str, entry: dict[str, Any], memory: mmap.mmap, first: int) -> NDArray[Any]:
    if entry["dtype"] not in KINDS:
        raise ValueError(f"{name} is of type {entry['dtype']!r}, and only {', '.join(KINDS)} are known")
    kind, shape, (start, end) = np.dtype(KINDS[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, start, end)):
        raise ValueError(f"{name} has a shape or place that is not made of whole numbers")
    if end - start != math.prod(shape) * kind.itemsize or first + end > len(memory):
        raise ValueError(f"{name} is cut short")
    if (first + start) % kind.itemsize:
        raise ValueError(f"{name} is not aligned")
    return np.ndarray(tuple(shape), kind, memory, first + start)
