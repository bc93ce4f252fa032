"""Sparse rows as tensors: what a network takes beside dense rows, and how a batch of them is made on a device."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from luce.arrays import Integers


class Entries(NamedTuple):
    """Sparse rows: row b has the features indices[offsets[b]:offsets[b+1]] with these values."""

    indices: Tensor
    offsets: Tensor
    values: Tensor
    n_features: int

    @property
    def device(self) -> torch.device:
        return self.values.device

    def each(self, change: Callable[[Tensor], Tensor]) -> "Entries":
        """The same rows with other tensors."""
        return Entries(change(self.indices), change(self.offsets), change(self.values), self.n_features)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Entries":
        return self.each(lambda one: one.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Entries":
        return self.each(Tensor.pin_memory)

    def record_stream(self, stream: Any) -> None:
        for one in (self.indices, self.offsets, self.values):
            one.record_stream(stream)

    def __matmul__(self, matrix: Tensor) -> Tensor:
        """The product with a matrix (F, width), of which only the rows of the entries are read."""
        return nn.functional.embedding_bag(
            self.indices,
            matrix,
            self.offsets,
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )


def dense(rows: Tensor | Entries) -> Tensor:
    """Rows as a matrix (N, F)."""
    if isinstance(rows, Tensor):
        return rows
    sizes = rows.offsets.diff()
    numbers = torch.arange(len(sizes), device=sizes.device)
    places = numbers.repeat_interleave(sizes, output_size=len(rows.indices)), rows.indices
    zeros = rows.values.new_zeros(len(sizes), rows.n_features)
    return zeros.index_put(places, rows.values, accumulate=True)  # an entry may only fill room, where another one is


def masked(rows: Tensor | Entries, mask: Tensor) -> Tensor | Entries:
    """Rows with 0 in the features outside a mask (F,)."""
    if isinstance(rows, Tensor):
        return torch.where(mask, rows, 0)
    return rows._replace(values=torch.where(mask[rows.indices], rows.values, 0))


def as_rows(features: Any) -> Tensor | Entries:
    """Features on the host as a network takes them, copied only where they may not be written to."""
    if not sparse.issparse(features):
        return torch.from_numpy(np.require(features, requirements="W"))
    indices, offsets = (torch.from_numpy(each.astype(np.int64)) for each in (features.indices, features.indptr))
    return Entries(indices, offsets, torch.from_numpy(np.require(features.data, requirements="W")), features.shape[1])


def rows_to(features: Any, rows: Any, device: torch.device) -> Tensor | Entries:
    """Some rows of the features on a device."""
    return as_rows(features[rows]).to(device, non_blocking=True)


def on_device(features: Any, device: torch.device) -> "Tensor | Ragged":
    """Features that lie on a device."""
    return Ragged(features, device) if sparse.issparse(features) else torch.tensor(features, device=device)


class Ragged:
    """A CSR array on a device; the host knows where its rows begin, and so how long they are."""

    def __init__(self, array: Any, device: torch.device):
        self.bounds, self.n_columns = array.indptr.astype(np.int64), array.shape[1]
        self._starts = torch.from_numpy(self.bounds).to(device)
        self._indices, self._values = (torch.tensor(each, device=device) for each in (array.indices, array.data))

    def count(self, rows: Integers) -> int:
        """The entries of some rows."""
        return int((self.bounds[rows + 1] - self.bounds[rows]).sum())

    def take(
        self, rows: Tensor, room: int, inside: Tensor | None = None, *, spread: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The indices of some rows, row after row, their offsets, and their values; 0 where there is more room.

        Rows that are not `inside` are empty. With `spread` the room that is left belongs to the rows in equal parts:
        one long row would hold up a product.
        """
        room = room if len(self._indices) else 0
        starts = self._starts[rows]
        sizes = self._starts[rows + 1] - starts
        if inside is not None:
            sizes = torch.where(inside, sizes, 0)
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        if spread:
            offsets = offsets + (room - offsets[-1]) * torch.arange(len(offsets), device=rows.device) // max(
                len(rows), 1
            )
        places = torch.arange(room, device=rows.device)
        owner = (torch.searchsorted(offsets, places, right=True) - 1).clamp(max=len(rows) - 1)
        within = places - offsets[owner]
        taken = within < sizes[owner]
        found = torch.where(taken, starts[owner] + within, 0)
        return self._indices[found], offsets, torch.where(taken, self._values[found], 0)

    def entries(self, rows: Tensor, room: int, inside: Tensor | None = None) -> Entries:
        """Some rows as a network takes them, with room for so many entries; those that are not `inside` are empty."""
        indices, offsets, values = self.take(rows, room, inside, spread=True)
        return Entries(indices.long(), offsets, values, self.n_columns)
