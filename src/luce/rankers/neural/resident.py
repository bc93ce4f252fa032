"""The lists of a dataset on a GPU, and batches made there: no row goes through the host in a step."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
from scipy import sparse
from torch import Tensor

from luce.arrays import Integers
from luce.data import Dataset
from luce.rankers.neural.entries import Entries, as_rows
from luce.rankers.neural.learner import rows_of

FREE = 0.5
"""The share of the free memory of a GPU that features may take; larger ones are loaded batch by batch."""


class Batch(NamedTuple):
    """The rows of some lists. Where there is room for more, the rows after the last offset belong to no list.

    `inside` is whether a row belongs to a list and `owner` the place of its list in the batch; rows outside are copies
    of the first row of the dataset. A list that is not `real` has no rows.
    """

    lists: Tensor
    real: Tensor
    offsets: Tensor
    owner: Tensor
    inside: Tensor
    rows: Tensor


class ResidentLists:
    """What training reads of a dataset, as tensors of a device; lists are chosen by tensors there."""

    def __init__(self, dataset: Dataset, device: torch.device):
        def on_device(values: Any) -> Tensor | None:
            return None if values is None else torch.tensor(values, device=device)

        bounds = torch.tensor(dataset.offsets, device=device)
        self.starts, self.sizes = bounds[:-1], bounds.diff()
        self.labels = torch.tensor(dataset.labels, dtype=torch.float64, device=device)
        self.item_weights, self.list_weights = on_device(dataset.item_weights), on_device(dataset.list_weights)
        self.item_groups = on_device(dataset.item_group_numbers())
        self.longest = int(dataset.sizes.max(initial=0))

    def batch(self, lists: Tensor, capacity: int) -> Batch:
        """These lists, those numbered −1 being empty, with room for so many rows."""
        real = lists >= 0
        chosen = lists.clamp(min=0)
        sizes = torch.where(real, self.sizes[chosen], 0)
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        places = torch.arange(capacity, device=lists.device)
        owner = (torch.searchsorted(offsets, places, right=True) - 1).clamp(max=len(lists) - 1)
        inside = places < offsets[-1]
        rows = torch.where(inside, self.starts[chosen][owner] + places - offsets[owner], 0)
        return Batch(lists, real, offsets, owner, inside, rows)


def fits(device: torch.device, *given: Any) -> bool:
    """Whether a device has room for arrays, dense or CSR, during the whole training."""
    parts = [part for one in given for part in ([one.indices, one.data] if sparse.issparse(one) else [one])]
    return device.type != "cuda" or sum(part.nbytes for part in parts) <= FREE * torch.cuda.mem_get_info(device)[0]


class LoadedRows:
    """Features on the host whose rows are copied to a GPU while it works on the batch before."""

    def __init__(self, features: Any, dataset: Dataset, device: torch.device):
        self.features, self.offsets, self.device = features, dataset.offsets, device
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="rows")
        self.copies = torch.cuda.Stream(device)
        self.coming: dict[bytes, Future[Any]] = {}

    def expect(self, lists: Integers, most: int) -> None:
        """Begin to load the rows of these lists, unless so many batches are waiting."""
        if len(lists) and len(self.coming) < most:
            self.coming[lists.tobytes()] = self.worker.submit(self._load, lists)

    def take(self, lists: Integers) -> Tensor | Entries:
        """The rows of these lists."""
        coming = self.coming.pop(lists.tobytes(), None)
        rows, copied = self._load(lists) if coming is None else coming.result()
        torch.cuda.current_stream(self.device).wait_event(copied)
        rows.record_stream(torch.cuda.current_stream(self.device))
        return rows

    def _load(self, lists: Integers) -> tuple[Tensor | Entries, Any]:
        with torch.cuda.stream(self.copies):
            rows = as_rows(rows_of(self.features, self.offsets, lists)).pin_memory()
            found = rows.to(self.device, non_blocking=True)
            return found, self.copies.record_event()
