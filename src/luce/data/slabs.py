"""Room for many arrays that goes back to the system when the last of them is dropped: memory, or files in a folder."""

import math
import mmap
import os
import tempfile
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from luce.errors import DataError

ALIGNMENT = 64


class Slabs:
    """Hands out arrays of zeros from large slabs of memory, or of files without a name in `spool`.

    The C library keeps small freed blocks for itself; a slab is unmapped as soon as no array in it is alive. So rows
    can be copied from many small arrays to one large one with little more memory than the large one takes.

    >>> Slabs().zeros((2, 3), np.float32)
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """

    def __init__(self, spool: str | os.PathLike[str] | None = None) -> None:
        self._spool = spool
        self._size = 1 << 24
        self._slab: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._used = 0
        self._lock = threading.Lock()

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array of zeros; any thread may call this."""
        cells = math.prod(shape) if isinstance(shape, tuple) else shape
        size = cells * np.dtype(dtype).itemsize
        if size > self._size // 4:
            room = self._mapped(size)
        else:
            with self._lock:
                if self._used + size > len(self._slab):
                    self._slab, self._used = self._mapped(self._size), 0
                    if self._spool is not None:  # a file stays open as long as it is used: large data in few files
                        self._size = min(2 * self._size, 1 << 30)
                room = self._slab[self._used : self._used + size]
                self._used += -(-size // ALIGNMENT) * ALIGNMENT
        return room.view(dtype).reshape(shape)

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of an array."""
        result = self.zeros(array.shape, array.dtype)
        result[...] = array
        return result

    def _mapped(self, size: int) -> NDArray[np.uint8]:
        try:
            if self._spool is None:
                room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                if hasattr(mmap, "MADV_HUGEPAGE"):  # large pages: memory is then touched many times faster
                    room.madvise(mmap.MADV_HUGEPAGE)
            else:
                with tempfile.TemporaryFile(dir=self._spool) as file:
                    # Reserved now: writing to a map of a file that finds the disk full would end the process.
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(file.fileno(), 0, size)
                    else:
                        file.truncate(size)
                    room = mmap.mmap(file.fileno(), size)
        except (OSError, OverflowError) as error:
            place = "of memory" if self._spool is None else f"in {os.fspath(self._spool)}"
            raise DataError(f"There is no room for {size:,} bytes {place}: {error}.") from error
        return np.frombuffer(room, np.uint8)
