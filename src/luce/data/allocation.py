"""Memory for arrays of a dataset: of this process, or mapped from temporary files that may be larger than memory."""

import math
import mmap
import os
import tempfile
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from luce.errors import DataError

Zeros = Callable[[tuple[int, ...], Any], NDArray[Any]]
"""Allocates an array of zeros of a shape and a type."""


class BlockAllocator:
    """Memory for many small arrays, in blocks that go back to the system when the last array in them is dropped.

    `malloc` would keep it, and reading would need twice the memory of the data. With a `temp_folder` the blocks are
    mapped from files without a name there, which the system can write out when memory is short.
    """

    def __init__(self, temp_folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = temp_folder
        self._size = 1 << 24
        self._free = memoryview(b"")
        self._lock = Lock()

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array of zeros; any thread may call this."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            if size > len(self._free):
                self._free = memoryview(self._block(size))
            memory, self._free = self._free[:size], self._free[-(-size // 64) * 64 :]
        return np.frombuffer(memory, dtype).reshape(shape)  # not a view of a larger array: SciPy would copy it

    def _block(self, size: int) -> mmap.mmap:
        if self._folder is None:
            block = mmap.mmap(-1, max(size, self._size), access=mmap.ACCESS_COPY)  # of this process alone
            if hasattr(mmap, "MADV_HUGEPAGE"):  # memory is then touched many times faster
                block.madvise(mmap.MADV_HUGEPAGE)
            return block
        size = max(size, self._size)
        self._size = min(2 * self._size, 1 << 30)  # a file stays open as long as it is used: few large ones
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                if hasattr(os, "posix_fallocate"):  # else a full disk would end the process when the memory is used
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return mmap.mmap(file.fileno(), size)
        except OSError as error:
            folder = os.fspath(self._folder)
            raise DataError(f"There is not enough space for {size:,} bytes in {folder}: {error}.") from error

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of an array."""
        result = self.zeros(array.shape, array.dtype)
        result[...] = array
        return result


def zeros_in(temp_folder: str | os.PathLike[str] | None) -> Zeros:
    """What allocates arrays in memory, or in mapped files where there is a folder for them."""
    return np.zeros if temp_folder is None else BlockAllocator(temp_folder).zeros
