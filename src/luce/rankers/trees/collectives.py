"""What LightGBM asks of a network while it grows a tree over several machines, answered by our own connections.

LightGBM's own sockets wait for ever for a machine that died, or end the process. Ours raise an error: not inside
LightGBM, which would not survive it, but as soon as it returns. Until then it gets answers as if it were alone.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.errors import load_package
from luce.rankers.trees.machines import Machines

_SIZE = ctypes.c_int32
_SIZES = ctypes.POINTER(_SIZE)
_REDUCER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, _SIZE)
_REDUCE_SCATTER = ctypes.CFUNCTYPE(
    None,
    *(ctypes.c_void_p, _SIZE, ctypes.c_int, _SIZES, _SIZES, ctypes.c_int, ctypes.c_void_p, _SIZE),
    ctypes.POINTER(_REDUCER),
)
_ALL_GATHER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _SIZE, _SIZES, _SIZES, ctypes.c_int, ctypes.c_void_p, _SIZE)


class Collectives:
    """LightGBM's network in this thread, once it is open; a `with` block closes it."""

    def __init__(self, machines: Machines):
        self.machines = machines
        self.failure: BaseException | None = None
        self._functions = _REDUCE_SCATTER(self._reduce_scatter), _ALL_GATHER(self._all_gather)
        self._is_open = False

    def open(self) -> None:
        """From here on trees are grown together."""
        if self.machines.size > 1 and not self._is_open:
            pointers = [ctypes.cast(function, ctypes.c_void_p) for function in self._functions]
            _call("LGBM_NetworkInitWithFunctions", self.machines.size, self.machines.rank, *pointers)
            self._is_open = True

    def __enter__(self) -> "Collectives":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_open:
            _call("LGBM_NetworkFree")
            self._is_open = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Calls to LightGBM; what failed meanwhile between the machines is raised after them."""
        try:
            yield
        finally:
            if self.failure is not None:
                raise self.failure

    def _reduce_scatter(
        self, source: int, _size: int, unit: int, starts: Any, lengths: Any, _: int, into: int, __: int, reducer: Any
    ) -> None:
        """Each rank gets its own block of the sum over all ranks."""
        blocks, own = self._blocks(source, starts, lengths), self.machines.rank
        parts = np.empty((self.machines.size, len(blocks[own])), dtype=np.uint8)
        parts[own] = blocks[own]
        alone = not self._attempt(lambda: self.machines.all_to_all(blocks, [part.data for part in parts]))
        result = _memory(into, parts.shape[1])  # it may be where the blocks are, which have been sent by now
        result[:] = parts[own if alone else 0]
        for part in parts[1 : 1 if alone else None]:  # in the order of ranks: the same sums, however fast each was
            reducer[0](part.ctypes.data, into, unit, len(result))

    def _all_gather(self, source: int, size: int, starts: Any, lengths: Any, _: int, into: int, __: int) -> None:
        """Every rank gets the blocks of all."""
        own = _memory(source, size).copy()  # LightGBM may give one memory for both
        blocks = self._blocks(into, starts, lengths)
        blocks[self.machines.rank][:] = own
        outgoing, incoming = [own] * self.machines.size, [block.data for block in blocks]
        if not self._attempt(lambda: self.machines.all_to_all(outgoing, incoming)):
            for block in blocks:
                common = min(len(block), len(own))
                block[:common] = own[:common]

    def _blocks(self, start: int, starts: Any, lengths: Any) -> list[NDArray[np.uint8]]:
        return [_memory(start + starts[rank], lengths[rank]) for rank in range(self.machines.size)]

    def _attempt(self, work: Callable[[], None]) -> bool:
        if self.failure is None:
            try:
                work()
            except BaseException as error:  # an interrupt too: nothing may be raised through LightGBM
                self.failure = error
        return self.failure is None


def _memory(start: int, size: int) -> NDArray[np.uint8]:
    """So many bytes of LightGBM's memory."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))


def _call(name: str, *arguments: Any) -> None:
    basic = load_package("lightgbm", "trees").basic
    basic._safe_call(getattr(basic._LIB, name)(*arguments))
