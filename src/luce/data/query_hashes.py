"""Hashes of query ids: whether a query was seen before, in 8 bytes a list, and whether two parts have rows of it."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.distributed import Group
from luce.errors import DataError

Hashes = NDArray[np.uint64]


def query_hashes(ids: pa.Array) -> Hashes:
    """The hash of each id as text: 7 and '7' are the same, as one part may have numbers and another one text.

    >>> bool((query_hashes(pa.array([7, 8])) == query_hashes(pa.array(["7", "8"]))).all())
    True
    """
    texts = ids.cast(pa.large_string()).to_pylist()
    digests = (blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


class SeenQueries:
    """The queries of a stream so far.

    >>> seen = SeenQueries()
    >>> seen.add(pa.array(["a", "b"])), seen.add(pa.array(["c", "a"]))
    (None, 'a')
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []  # sorted, each longer than the next

    def add(self, ids: pa.Array) -> Any:
        """The first of these ids that was there before, or is there twice; None where all are new."""
        hashes = query_hashes(ids)
        added, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(hashes), bool)
        repeated[first] = False
        for run in self._runs:
            repeated |= run[np.searchsorted(run[:-1], hashes)] == hashes
        while self._runs and len(self._runs[-1]) <= len(added):
            added = np.sort(np.concatenate([self._runs.pop(), added]))
        if len(added):
            self._runs.append(added)
        return ids[int(np.argmax(repeated))].as_py() if repeated.any() else None


def refuse_split_lists(parts: Sequence[tuple[str, pa.Array]], group: Group | None = None) -> None:
    """An error, the same on all ranks of a group, that names a query with rows in two parts; each is (name, ids)."""
    hashes = [np.unique(query_hashes(ids)) for _, ids in parts]
    own = np.concatenate([np.empty(0, np.uint64), *hashes])
    repeated = _repeated(own) if group is None else _repeated_on_ranks(own, group)
    if not len(repeated):
        return
    places = [
        [name, str(ids[int(np.argmax(query_hashes(ids) == repeated[0]))])]
        for (name, ids), found in zip(parts, hashes, strict=True)
        if repeated[0] in found
    ]
    if group is not None:
        places = [place for each in group.gather_json(places) for place in each]
    names = " and ".join(name for name, _ in places)
    raise DataError(
        f"Query {places[0][1]} has rows in {names}; a list must lie in one part. Write all rows of a query to the same "
        "part; where each part numbers its queries by itself, give them different ids."
    )


def _repeated(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return ordered[1:][ordered[1:] == ordered[:-1]]


def _repeated_on_ranks(own: Hashes, group: Group) -> Hashes:
    """Each rank looks at the hashes with its remainder, so that none holds those of all."""
    outgoing = [own[own % np.uint64(group.size) == rank] for rank in range(group.size)]
    sizes = group.gather_rows(np.array([len(part) for part in outgoing]))[:, group.rank]
    received = group.exchange(outgoing, sizes.tolist())
    return np.sort(np.concatenate(group.gather(_repeated(np.concatenate(received)))))
