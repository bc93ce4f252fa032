"""LightGBM's network over the ranks of a group: what it asks of the others while it grows a tree, and common bins.

LightGBM's own sockets wait for ever for a machine that died, or end the process. Here an error is raised: not inside
LightGBM, which would not survive it, but as soon as it returns. Until then it gets answers as if it were alone.
"""

import contextlib
import ctypes
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.distributed import Group
from luce.errors import DataError, load_package
from luce.rankers.trees.lightgbm_package import aliases, lightgbm
from luce.scoring.forest import Forest

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
    """LightGBM's network in this thread, from the first tree on; a `with` block closes it."""

    def __init__(self, group: Group):
        self.group = group
        self.failure: BaseException | None = None
        self._functions = _REDUCE_SCATTER(self._reduce_scatter), _ALL_GATHER(self._all_gather)
        self._is_open = False

    def __enter__(self) -> "Collectives":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_open:
            _call("LGBM_NetworkFree")
            self._is_open = False

    def check_ranks(self, n_rows: int, init_forest: Forest | None) -> None:
        """An error on all ranks unless each has rows, and all begin with the same trees."""
        mark = None if init_forest is None else zlib.crc32(init_forest.text().encode())
        rows = self.group.agree({"init_model": mark}, n_rows)
        if not all(rows):
            raise DataError(f"Every rank needs lists. Rank {rows.index(0)} has none: start fewer ranks.")

    @contextlib.contextmanager
    def calls(self) -> Iterator[None]:
        """Calls to LightGBM in which trees are grown together; what failed meanwhile is raised after them."""
        if not self._is_open:
            pointers = [ctypes.cast(function, ctypes.c_void_p) for function in self._functions]
            _call("LGBM_NetworkInitWithFunctions", self.group.size, self.group.rank, *pointers)
            self._is_open = True
        try:
            yield
        finally:
            if self.failure is not None:
                raise self.failure

    def bins(self, features: Any, parameters: dict[str, Any], categorical: list[int]) -> Any:
        """A LightGBM dataset with the bins that one process would find in all rows; adds what they need to parameters.

        LightGBM must not know of the network yet: it would find the bins of some features on each rank.
        """
        names = aliases("bin_construct_sample_cnt")
        limit = next((int(parameters[name]) for name in names if name in parameters), 200_000)
        rows = sampled_rows(self.group, features, limit, parameters["seed"])
        parameters |= {"tree_learner": "data", "num_machines": self.group.size}
        parameters["feature_pre_filter"] = False  # a sample has too few rows for it
        return lightgbm().Dataset(rows, params=parameters, categorical_feature=categorical).construct()

    def _reduce_scatter(
        self, source: int, _size: int, unit: int, starts: Any, lengths: Any, _: int, into: int, __: int, reducer: Any
    ) -> None:
        """Each rank gets its own block of the sum over all ranks."""
        blocks, rank = self._blocks(source, starts, lengths), self.group.rank
        size = len(blocks[rank])
        parts = self._attempt(lambda: self.group.exchange(blocks, [size] * self.group.size), [blocks[rank].copy()])
        result = _memory(into, size)  # it may be where the blocks are, which have been sent by now
        result[:] = parts[0]
        for part in parts[1:]:  # in the order of ranks: the same sums, however fast each was
            reducer[0](part.ctypes.data, into, unit, size)

    def _all_gather(self, source: int, size: int, starts: Any, lengths: Any, _: int, into: int, __: int) -> None:
        """Every rank gets the blocks of all."""
        own = _memory(source, size).copy()  # LightGBM may give one memory for both
        blocks = self._blocks(into, starts, lengths)
        sizes = [len(block) for block in blocks]
        parts = self._attempt(lambda: self.group.exchange([own] * len(sizes), sizes), [own] * len(sizes))
        for block, part in zip(blocks, parts, strict=True):
            common = min(len(block), len(part))
            block[:common] = part[:common]

    def _blocks(self, start: int, starts: Any, lengths: Any) -> list[NDArray[np.uint8]]:
        return [_memory(start + starts[rank], lengths[rank]) for rank in range(self.group.size)]

    def _attempt(self, work: Callable[[], list[NDArray[Any]]], alone: list[NDArray[Any]]) -> list[NDArray[Any]]:
        if self.failure is None:
            try:
                return work()
            except BaseException as error:  # an interrupt too: nothing may be raised through LightGBM
                self.failure = error
        return alone


def sampled_rows(group: Group, rows: Any, limit: int, seed: int) -> Any:
    """At most about `limit` rows of all ranks, from each in proportion, the same everywhere and in one order."""
    total = int(group.sum(rows.shape[0]))
    if total > limit:
        wanted = max(1, int(limit * rows.shape[0] / total))
        rng = np.random.default_rng((seed, group.rank))
        rows = rows[np.sort(rng.choice(rows.shape[0], wanted, replace=False))]
    if not sparse.issparse(rows):
        return _joined(group, np.ascontiguousarray(rows)).reshape(-1, rows.shape[1])
    sizes = _joined(group, np.diff(rows.indptr).astype(np.int64))
    parts = _joined(group, rows.data), _joined(group, rows.indices.astype(np.int32)), np.r_[0, np.cumsum(sizes)]
    return sparse.csr_matrix(parts, shape=(len(sizes), rows.shape[1]))


def _joined(group: Group, own: NDArray[Any]) -> NDArray[Any]:
    """The numbers of all ranks, one after the other."""
    return np.concatenate(group.gather(own))


def _memory(start: int, size: int) -> NDArray[np.uint8]:
    """So many bytes of LightGBM's memory."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))


def _call(name: str, *arguments: Any) -> None:
    basic = load_package("lightgbm", "trees").basic
    basic._safe_call(getattr(basic._LIB, name)(*arguments))
