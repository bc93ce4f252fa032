"""The rows that a label network is trained on: on a GPU if they fit, else copied there batch by batch."""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from luce.arrays import Integers, offsets_of_sizes
from luce.data.extreme import TaggedData
from luce.objectives.relevant import Relevant
from luce.rankers.labels.network import Entries, rows_to


class HostRows:
    """Rows on the host."""

    def __init__(self, features: Any, data: TaggedData, device: torch.device):
        self._features, self._data, self._device = features, data, device
        self._graded = not (data.labels.data == 1).all()

    def features(self, rows: Integers) -> Tensor | Entries:
        """The features of some rows, as the network takes them."""
        return rows_to(self._features, rows, self._device)

    def relevant(self, rows: Integers) -> Relevant:
        """The labels of some rows."""
        labels, offsets, grades = self._data.relevant(rows)
        given = [torch.from_numpy(each).to(self._device, non_blocking=True) for each in (labels, offsets, grades)]
        longest = int(np.diff(offsets).max(initial=0))
        return Relevant(given[0], given[1], given[2] if self._graded else None, longest)


class ResidentRows:
    """Rows on a device; a batch is made there from row numbers, and the host never waits for it."""

    def __init__(self, features: Any, data: TaggedData, device: torch.device):
        self._device = device
        self._labels = _Ragged(data.labels, device)
        self._graded = not (data.labels.data == 1).all()
        self._features: Tensor | _Ragged = (
            _Ragged(features, device) if sparse.issparse(features) else torch.from_numpy(np.array(features)).to(device)
        )

    def features(self, rows: Integers) -> Tensor | Entries:
        """The features of some rows, as the network takes them."""
        if isinstance(self._features, Tensor):
            return self._features[torch.from_numpy(rows).to(self._device, non_blocking=True)]
        indices, offsets, values, _ = self._features.take(rows)
        return Entries(indices.long(), offsets, values)

    def relevant(self, rows: Integers) -> Relevant:
        """The labels of some rows."""
        labels, offsets, grades, longest = self._labels.take(rows)
        return Relevant(labels, offsets, grades if self._graded else None, longest)


class _Ragged:
    """A CSR array on a device; the host knows where its rows begin, and so how long they are."""

    def __init__(self, array: Any, device: torch.device):
        self._device, self._starts = device, array.indptr.astype(np.int64)
        self._indices, self._values = (
            torch.from_numpy(np.array(each)).to(device) for each in (array.indices, array.data)
        )

    def take(self, rows: Integers) -> tuple[Tensor, Tensor, Tensor, int]:
        """The indices of some rows, row after row, their offsets, their values, and the size of the longest."""
        starts = self._starts[rows]
        sizes = self._starts[rows + 1] - starts
        ends = offsets_of_sizes(sizes)
        both = torch.from_numpy(np.concatenate([ends, starts - ends[:-1]])).to(self._device, non_blocking=True)
        offsets, moves = both[: len(ends)], both[len(ends) :]
        total = int(ends[-1])
        places = torch.arange(total, device=self._device)
        places += moves.repeat_interleave(offsets.diff(), output_size=total)
        return self._indices[places], offsets, self._values[places], int(sizes.max(initial=0))


def rows_on(device: torch.device, features: Any, data: TaggedData) -> HostRows | ResidentRows:
    """The rows for a network on a device: there if that is a GPU and half of its free memory holds them."""
    parts = [data.labels.indices, data.labels.data]
    parts += [features.indices, features.data] if sparse.issparse(features) else [features]
    fit = device.type == "cuda" and 2 * sum(part.nbytes for part in parts) < torch.cuda.mem_get_info(device)[0]
    return (ResidentRows if fit else HostRows)(features, data, device)
