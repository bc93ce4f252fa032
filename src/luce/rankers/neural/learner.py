"""A network that is trained on lists: one step on a batch, and its scores."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes, rows_of_lists
from luce.data import Dataset
from luce.data.transforms import blocks
from luce.distributed import in_share, numbered
from luce.errors import DataError, NumericalError
from luce.objectives import Draw, Objective
from luce.rankers.neural.entries import Entries, as_rows
from luce.rankers.neural.network import call
from luce.rankers.neural.training import TorchLearner


class NetworkLearner(TorchLearner):
    """Trains a network on the lists of a dataset; a step minimizes the mean loss over the lists of a batch.

    In a process group the lists of all ranks are numbered in the order of ranks, and each rank takes its own of a
    batch.
    """

    def __init__(
        self,
        network: nn.Module,
        objective: Objective,
        features: Any,
        dataset: Dataset,
        *,
        n_jobs: int | None,
        accumulation_steps: int = 1,
        **training: Any,
    ):
        super().__init__(network, list(objective.nuisance.values()), **training)
        self.objective, self.features, self.dataset, self.n_jobs = objective, features, dataset, n_jobs
        self.first_list, _ = numbered(dataset.n_lists)
        self.sizes, self.item_groups = dataset.sizes, dataset.item_group_numbers()
        self.parts = accumulation_steps

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        own = in_share(lists, self.first_list, self.dataset.n_lists)
        self.begin_step(step)

        def work() -> Any:
            parts = [part for part in np.array_split(own, self.parts) if len(part)]
            return sum((self.propagate(part, epoch, step, len(lists)) for part in parts), 0.0)

        return self.watch(self.update(work), step)

    def propagate(self, lists: Integers, epoch: float, step: int, of: int) -> Any:
        """The loss of these lists, which are all or some `of` so many, and the gradients of its mean over all."""
        data = self.dataset
        rows = rows_of_lists(data.offsets, lists)
        offsets = offsets_of_sizes(self.sizes[lists])
        features = as_rows(rows_of(self.features, data.offsets, lists)).to(self.device)
        with self.autocast():
            scores = call(self.network, features, torch.from_numpy(offsets)).float()
        self.check_shape(scores, len(rows))
        values = scores.detach().to("cpu", torch.float64).numpy()
        try:
            evaluation = self.objective.value_and_gradient(
                values,
                data.labels[rows],
                offsets,
                item_weights=None if data.item_weights is None else data.item_weights[rows],
                nuisance=self.nuisance.detach().numpy(),
                draw=Draw(self.seed, int(epoch), lists + self.first_list, epoch),
                n_jobs=self.n_jobs,
                item_groups=None if self.item_groups is None else self.item_groups[rows],
            )
        except NumericalError as error:
            if step == 0 and np.isfinite(values).all():
                raise
            raise self.diverged(step) from error
        gradient, weights = evaluation.gradient, np.full(len(lists), 1 / of)
        if data.list_weights is not None:
            weights *= data.list_weights[lists]
            gradient *= weights[list_of_row(offsets)].reshape(-1, *[1] * (gradient.ndim - 1))
        else:
            gradient /= of
        scores.backward(torch.from_numpy(gradient).to(scores))
        if evaluation.nuisance_gradient is not None:
            by_nuisance = torch.from_numpy(weights @ evaluation.nuisance_gradient)
            self.nuisance.grad = by_nuisance if self.nuisance.grad is None else self.nuisance.grad + by_nuisance
        return float(weights @ evaluation.loss)

    def check_shape(self, scores: Tensor, n_rows: int) -> None:
        """A DataError where a module of the user gives scores of another shape."""
        if scores.shape[:1] != (n_rows,) or scores.ndim != 1 + self.objective.one_output_per_grade:
            expected = "(rows, grades)" if self.objective.one_output_per_grade else "(rows,)"
            raise DataError(
                f"For {self.objective.name} a module must return scores of shape {expected}. Got {tuple(scores.shape)} "
                f"for {n_rows} rows; squeeze(-1) removes a last dimension of 1."
            )


def rows_of(features: Any, offsets: Integers, lists: Integers) -> Any:
    """The features of some lists; dense ones are copied list by list: rows of a list lie together."""
    if sparse.issparse(features):
        return features[rows_of_lists(offsets, lists)]
    return np.concatenate([features[offsets[q] : offsets[q + 1]] for q in lists])


def row_blocks(features: Any, offsets: Integers, device: torch.device) -> Iterator[tuple[Tensor | Entries, Tensor]]:
    """Features in blocks of complete lists on a device, with the offsets of the lists of each."""
    for _, some, bounds in blocks(features, offsets, (), complete_lists=True):
        yield as_rows(some).to(device), torch.from_numpy(bounds)


def scores_of(network: nn.Module, rows: Iterable[tuple[Tensor | Entries, Tensor]], n_features: int) -> Floats:
    """The scores (N,) or (N, outputs) of blocks of rows."""
    network.eval()
    with torch.inference_mode():
        parts = [call(network, some, bounds).to("cpu", torch.float64).numpy() for some, bounds in rows]
        if not parts:  # a rank may have no lists: the shape of their scores
            none = torch.empty(0, n_features, device=next(network.parameters()).device)
            parts.append(call(network, none, torch.zeros(1, dtype=torch.int64)).to("cpu", torch.float64).numpy())
    return np.concatenate(parts)
