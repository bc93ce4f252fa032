"""The rows that a label network is trained on: on a GPU if they fit, else copied there batch by batch."""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from luce.arrays import Integers
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
        self._device, self.graded = device, not (data.labels.data == 1).all()
        self._labels, self._longest = _Ragged(data.labels, device), int(data.sizes.max(initial=0))
        self._features: Tensor | _Ragged = (
            _Ragged(features, device) if sparse.issparse(features) else torch.from_numpy(np.array(features)).to(device)
        )

    def features(self, rows: Integers) -> Tensor | Entries:
        """The features of some rows, as the network takes them."""
        return self.features_there(self._there(rows), self.counts(rows)[0])

    def relevant(self, rows: Integers) -> Relevant:
        """The labels of some rows."""
        return self.relevant_there(self._there(rows), self.counts(rows)[1])

    def counts(self, rows: Integers) -> tuple[int, int]:
        """How many entries the features of some rows have, and how many labels."""
        entries = 0 if isinstance(self._features, Tensor) else self._features.count(rows)
        return entries, self._labels.count(rows)

    def features_there(self, rows: Tensor, room: int) -> Tensor | Entries:
        """The features of rows that are numbered on the device, with room for so many entries."""
        if isinstance(self._features, Tensor):
            return self._features[rows]
        indices, offsets, values = self._features.take(rows, room)
        last = offsets.new_full((1,), len(indices))  # the last row gets the entries with value 0
        return Entries(indices.long(), torch.cat([offsets[:-1], last]), values)

    def relevant_there(self, rows: Tensor, room: int) -> Relevant:
        """Their labels, with room for so many."""
        labels, offsets, grades = self._labels.take(rows, room)
        return Relevant(labels, offsets, grades if self.graded else None, self._longest)

    def _there(self, rows: Integers) -> Tensor:
        return torch.from_numpy(rows).to(self._device, non_blocking=True)


class _Ragged:
    """A CSR array on a device; the host knows where its rows begin, and so how long they are."""

    def __init__(self, array: Any, device: torch.device):
        self._sizes = np.diff(array.indptr).astype(np.int64)
        self._starts = torch.from_numpy(array.indptr.astype(np.int64)).to(device)
        self._indices, self._values = (
            torch.from_numpy(np.array(each)).to(device) for each in (array.indices, array.data)
        )

    def count(self, rows: Integers) -> int:
        """The entries of some rows."""
        return int(self._sizes[rows].sum())

    def take(self, rows: Tensor, room: int) -> tuple[Tensor, Tensor, Tensor]:
        """The indices of some rows, row after row, their offsets, and their values; 0 where there is more room."""
        room = room if len(self._indices) else 0
        starts = self._starts[rows]
        sizes = self._starts[rows + 1] - starts
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        places = torch.arange(room, device=rows.device)
        owner = (torch.searchsorted(offsets, places, right=True) - 1).clamp(max=len(rows) - 1)
        inside = places < offsets[-1]
        found = torch.where(inside, (starts - offsets[:-1])[owner] + places, 0)
        return self._indices[found], offsets, torch.where(inside, self._values[found], 0)


def rows_on(device: torch.device, features: Any, data: TaggedData) -> HostRows | ResidentRows:
    """The rows for a network on a device: there if that is a GPU and half of its free memory holds them."""
    parts = [data.labels.indices, data.labels.data]
    parts += [features.indices, features.data] if sparse.issparse(features) else [features]
    fit = device.type == "cuda" and 2 * sum(part.nbytes for part in parts) < torch.cuda.mem_get_info(device)[0]
    return (ResidentRows if fit else HostRows)(features, data, device)
