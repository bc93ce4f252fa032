"""The training of a network on a GPU: data, batches and losses stay there, and steps are repeated as CUDA graphs."""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from luce.arrays import Integers
from luce.distributed import current_group, in_share
from luce.errors import NumericalError
from luce.lists import DeviceLists
from luce.objectives import Draw
from luce.objectives.torch_device import evaluate_on_device
from luce.rankers.neural.entries import Entries, on_device
from luce.rankers.neural.learner import NetworkLearner
from luce.rankers.neural.network import Network, call
from luce.rankers.neural.recorded import RecordedSteps, capacity_for
from luce.rankers.neural.resident import Batch, LoadedRows, ResidentLists, fits
from luce.rankers.neural.training import ON_GPU


class ResidentLearner(NetworkLearner):
    """Trains a network where it is; a loss is a tensor there, which is read once in a while.

    The steps of our own networks are recorded, unless they need the host: for the loss, for other ranks, for features
    that do not fit, or for a number of samples that changes.
    """

    def __init__(self, *given: Any, optimizer: str, **settings: Any):
        super().__init__(*given, optimizer=optimizer, **settings)
        self.resident = ResidentLists(self.dataset, self.device)
        self.loss = torch.zeros((), dtype=torch.float64, device=self.device)
        self.loaded, self.recorded = None, None
        self.entries = np.zeros_like(self.sizes)
        if sparse.issparse(self.features):
            self.entries = np.diff(self.features.indptr[self.dataset.offsets])
        if fits(self.device, self.features):
            self.features = on_device(self.features, self.device)
        else:
            self.loaded = LoadedRows(self.features, self.dataset, self.device)
        alone = self.loaded is None and current_group() is None and self.parts == 1
        if alone and optimizer in ON_GPU and self.device.type == "cuda" and self._has_fixed_steps():
            self.recorded = RecordedSteps(self._recorded_step, self.device)

    def _has_fixed_steps(self) -> bool:
        by_batch = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in self.network.modules())
        samples, there = self.objective.options.get("samples", 1), self.objective.device_lists is not None
        return there and isinstance(self.network, Network) and not by_batch and isinstance(samples, int)

    def expect(self, lists: Integers) -> None:
        if self.loaded is not None:
            own = in_share(lists, self.first_list, self.dataset.n_lists)
            for part in np.array_split(own, self.parts):
                self.loaded.expect(part, 2 * self.parts)

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        if self.recorded is not None:
            self.begin_step(step)
            numbers = np.array([self.seed, int(epoch), step, len(lists), *lists])
            rows, entries = (capacity_for(int(counts[lists].sum())) for counts in (self.sizes, self.entries))
            if self.recorded.run(numbers, (len(lists), rows, entries)):
                return self.loss
            self.recorded = None
        return super().step(lists, epoch, step)

    def propagate(self, lists: Integers, epoch: float, step: int, of: int) -> Any:
        stream = torch.tensor([self.seed, int(epoch)]).to(self.device, non_blocking=True)
        chosen, sizes = torch.from_numpy(lists).to(self.device, non_blocking=True), self.sizes[lists]
        batch = self.resident.batch(chosen, int(sizes.sum()))
        features = self.rows(batch, int(self.entries[lists].sum())) if self.loaded is None else self.loaded.take(lists)
        try:
            return self._propagate(batch, features, stream, Draw(epoch=epoch), 1 / of, int(sizes.max()))
        except NumericalError as error:  # from an objective that is computed on the CPU
            if step == 0:
                raise
            raise self.diverged(step) from error

    def rows(self, batch: Batch, n_entries: int) -> Tensor | Entries:
        """The features of a batch, with room for so many entries where they are sparse."""
        if isinstance(self.features, Tensor):
            return self.features[batch.rows]
        found: Entries = self.features.entries(batch.rows, n_entries, batch.inside)
        return found

    def _recorded_step(self, inbox: Tensor, capacity: tuple[int, int, int]) -> None:
        """A step whose seed, pass, number, count of lists and lists are in the inbox."""
        n_lists, n_rows, n_entries = capacity
        batch = self.resident.batch(inbox[4 : 4 + n_lists], n_rows)
        features, scale = self.rows(batch, n_entries), 1 / inbox[3].double()

        def work() -> Tensor:
            return self._propagate(batch, features, inbox[:2], Draw(), scale, self.resident.longest)

        self.loss.copy_(self.watch(self.update(work), inbox[2]))

    def _propagate(
        self, batch: Batch, features: Tensor | Entries, stream: Tensor, draw: Draw, scale: Any, longest: int
    ) -> Tensor:
        """The sum of the losses of the batch times `scale`, and its gradients."""
        data, rows, offsets, real = self.resident, batch.rows, batch.offsets, batch.real
        with self.autocast():
            scores = call(self.network, features, offsets, longest).float()
        self.check_shape(scores, len(rows))
        lists = DeviceLists(
            scores.detach().float().contiguous(),
            data.labels[rows],
            offsets,
            longest,
            draw,
            1.0,
            stream,
            batch.lists + self.first_list,
            None if data.item_weights is None else data.item_weights[rows],
            self.nuisance.detach() if self.objective.nuisance else None,
            None if data.item_groups is None else data.item_groups[rows],
        )
        found = evaluate_on_device(self.objective, lists, self.n_jobs)
        weights = real.double() * scale
        if data.list_weights is not None:
            weights = weights * data.list_weights[batch.lists.clamp(0)]
        by_row = weights[batch.owner].reshape(-1, *[1] * (found.gradient.ndim - 1))
        inside = batch.inside.reshape(by_row.shape)  # the others hold anything
        scores.backward(torch.where(inside, found.gradient * by_row, 0.0).to(scores.dtype))
        if found.nuisance_gradient is not None:
            by_nuisance = weights @ torch.where(real[:, None], found.nuisance_gradient, 0.0).double()
            self.nuisance.grad = by_nuisance if self.nuisance.grad is None else self.nuisance.grad + by_nuisance
        return (weights * torch.where(real, found.losses, 0.0)).sum()
