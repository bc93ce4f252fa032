"""The rows that a label network is trained on: on a GPU if they fit, else copied there batch by batch."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers
from luce.data.extreme import TaggedData
from luce.objectives.relevant import Relevant
from luce.rankers.neural.entries import Entries, Ragged, on_device, rows_to
from luce.rankers.neural.resident import fits


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
        self._labels, self._longest = Ragged(data.labels, device), int(data.sizes.max(initial=0))
        self._features = on_device(features, device)

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
        return self._features.entries(rows, room)

    def relevant_there(self, rows: Tensor, room: int) -> Relevant:
        """Their labels, with room for so many."""
        labels, offsets, grades = self._labels.take(rows, room)
        return Relevant(labels, offsets, grades if self.graded else None, self._longest)

    def _there(self, rows: Integers) -> Tensor:
        return torch.from_numpy(rows).to(self._device, non_blocking=True)


def rows_on(device: torch.device, features: Any, data: TaggedData) -> HostRows | ResidentRows:
    """The rows for a network on a device: there if that is a GPU and half of its free memory holds them."""
    stay = device.type == "cuda" and fits(device, features, data.labels)
    return (ResidentRows if stay else HostRows)(features, data, device)
