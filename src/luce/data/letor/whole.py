"""The parts of a LETOR file put together: rows of a query that are apart brought together, features dense or sparse."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import Integers, offsets_of_sizes
from luce.data.grouping import whole_number_ids
from luce.data.letor import placing
from luce.data.letor.parts import Entries, Part, Tokens
from luce.data.slabs import Slabs
from luce.threads import in_parallel


class Lists(NamedTuple):
    """Which rows belong together.

    Attributes:
        run_starts: for each part, the row of the whole where each of its runs begins.
        offsets: int64 (Q+1,).
        query_ids: Arrow array of the Q ids, or None where the text has none.
    """

    run_starts: list[Integers]
    offsets: Integers
    query_ids: pa.Array | None


def lists_of(parts: Sequence[Part]) -> Lists:
    """The lists by query id, in order of first appearance; all rows in one list where the text has no ids."""
    lengths = np.concatenate([np.diff(part.queries.ends, prepend=0) for part in parts])
    text = np.concatenate([part.queries.text for part in parts])
    encoded = Tokens(np.cumsum(lengths), text).strings().dictionary_encode()
    list_numbers = encoded.indices.to_numpy()
    run_sizes = np.concatenate([part.run_sizes for part in parts])
    order = np.argsort(list_numbers, kind="stable")
    run_starts = np.empty_like(run_sizes)
    run_starts[order] = offsets_of_sizes(run_sizes[order])[:-1]
    return Lists(
        run_starts=np.split(run_starts, np.cumsum([len(part.run_sizes) for part in parts])[:-1]),
        offsets=offsets_of_sizes(np.bincount(list_numbers, weights=run_sizes)),
        query_ids=whole_number_ids(encoded.dictionary) if len(text) else None,
    )


class Gatherer:
    """Takes something from every part to its place in the whole, on any thread: all are measured, then all placed."""

    def measure(self, part: Part, rows: Integers) -> None:
        """Learn how much room the rows of a part need; `rows` are their numbers in the whole."""

    def make_room(self) -> None:
        """Called between the last part measured and the first placed."""

    def place(self, part: Part, rows: Integers) -> None:
        raise NotImplementedError


class Labels(Gatherer):
    """The labels of all rows."""

    def __init__(self, n_rows: int, slabs: Slabs) -> None:
        self.result = slabs.zeros(n_rows, np.float64)

    def place(self, part: Part, rows: Integers) -> None:
        self.result[rows] = part.labels


class DenseFeatures(Gatherer):
    """The features of all rows as a table whose first column has the index `base`."""

    def __init__(self, shape: tuple[int, int], base: int, slabs: Slabs) -> None:
        self.result = slabs.zeros(shape, np.float32)
        self._base = base

    def place(self, part: Part, rows: Integers) -> None:
        shift = part.base - self._base
        if isinstance(part.features, Entries):
            placing.place_sparse_in_dense(*part.features, rows, shift, self.result)
        else:
            placing.place_dense_in_dense(part.features, rows, shift, self.result)


class SparseFeatures(Gatherer):
    """The features of all rows as a CSR array without zeros."""

    def __init__(self, shape: tuple[int, int], base: int, written: int, slabs: Slabs) -> None:
        # SciPy wants one type for both: 32 bits as long as they can count the entries.
        self._kind = np.int32 if written < 2**31 else np.int64
        self._starts = slabs.zeros(shape[0] + 1, self._kind)
        self._shape, self._base, self._slabs = shape, base, slabs

    def measure(self, part: Part, rows: Integers) -> None:
        if isinstance(part.features, Entries):
            self._starts[rows + 1] = np.diff(part.features.ends, prepend=0)
        else:
            self._starts[rows + 1] = np.count_nonzero(part.features.view(np.uint32), axis=1)

    def make_room(self) -> None:
        np.cumsum(self._starts, out=self._starts)
        self._index = self._slabs.zeros(int(self._starts[-1]), self._kind)
        self._value = self._slabs.zeros(int(self._starts[-1]), np.float32)

    def place(self, part: Part, rows: Integers) -> None:
        to = rows, part.base - self._base, self._starts, self._index
        if isinstance(part.features, Entries):
            placing.place_sparse_in_sparse(*part.features, *to, self._value)
        else:
            placing.place_dense_in_sparse(part.features.view(np.uint32), *to, self._value.view(np.uint32))

    @property
    def result(self) -> Any:
        return sparse.csr_array((self._value, self._index, self._starts), shape=self._shape, copy=False)


class DocumentIds(Gatherer):
    """The document ids of all rows, None where there are none at all."""

    def __init__(self, n_rows: int, slabs: Slabs) -> None:
        self._starts = slabs.zeros(n_rows + 1, np.int64)
        self._slabs = slabs

    def measure(self, part: Part, rows: Integers) -> None:
        if part.documents is not None:
            self._starts[rows + 1] = np.diff(part.documents.ends, prepend=0)

    def make_room(self) -> None:
        np.cumsum(self._starts, out=self._starts)
        self._text = self._slabs.zeros(int(self._starts[-1]), np.uint8)

    def place(self, part: Part, rows: Integers) -> None:
        if part.documents is not None:
            placing.place_tokens(*part.documents, rows, self._starts, self._text)

    @property
    def result(self) -> pa.Array | None:
        if not len(self._text):
            return None
        buffers = pa.py_buffer(self._starts), pa.py_buffer(self._text)
        return pa.LargeStringArray.from_buffers(len(self._starts) - 1, *buffers)


def put_together(parts: list[Part], lists: Lists, gatherers: Sequence[Gatherer], n_jobs: int | None) -> None:
    """Take every part to its place and drop it, so that the whole grows as the parts shrink; empties `parts`."""
    left: dict[int, Part] = dict(enumerate(parts))
    parts.clear()

    def rows(number: int, part: Part) -> Integers:
        firsts = np.cumsum(part.run_sizes) - part.run_sizes
        return np.repeat(lists.run_starts[number] - firsts, part.run_sizes) + np.arange(len(part.labels))

    def measure(number: int) -> None:
        places = rows(number, left[number])
        for gatherer in gatherers:
            gatherer.measure(left[number], places)

    def place(number: int) -> None:
        part = left.pop(number)
        places = rows(number, part)
        for gatherer in gatherers:
            gatherer.place(part, places)

    in_parallel([partial(measure, number) for number in left], n_jobs)
    for gatherer in gatherers:
        gatherer.make_room()
    in_parallel([partial(place, number) for number in left], n_jobs)
