"""A network that is trained on lists: one step on a batch, and its scores."""

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
        **training: Any,
    ):
        super().__init__(network, list(objective.nuisance.values()), **training)
        self.objective, self.features, self.dataset, self.n_jobs = objective, features, dataset, n_jobs
        self.first_list, _ = numbered(dataset.n_lists)
        self.sizes, self.item_groups = dataset.sizes, dataset.item_group_numbers()

    def step(self, lists: Integers, epoch: float, step: int) -> float:
        own = in_share(lists, self.first_list, self.dataset.n_lists)
        self.seed_dropout(step)
        self.network.train()

        def work() -> float:
            return self._propagate(own, epoch, step, len(lists)) if len(own) else 0.0

        return self.update(work)

    def _propagate(self, lists: Integers, epoch: float, step: int, of: int) -> float:
        """The loss of these lists, which are all or some `of` so many, and the gradients of its mean over all."""
        data = self.dataset
        rows = rows_of_lists(data.offsets, lists)
        offsets = offsets_of_sizes(self.sizes[lists])
        scores = call(self.network, self._rows(lists), torch.from_numpy(offsets))
        if scores.shape[:1] != rows.shape or scores.ndim != 1 + self.objective.one_output_per_grade:
            expected = "(rows, grades)" if self.objective.one_output_per_grade else "(rows,)"
            raise DataError(
                f"For {self.objective.name} a module must return scores of shape {expected}. Got {tuple(scores.shape)} "
                f"for {len(rows)} rows; squeeze(-1) removes a last dimension of 1."
            )
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
            self.nuisance.grad = torch.from_numpy(weights @ evaluation.nuisance_gradient)
        return float(weights @ evaluation.loss)

    def _rows(self, lists: Integers) -> Tensor:
        """The features of some lists, copied list by list: rows of a list lie together."""
        bounds = self.dataset.offsets
        if sparse.issparse(self.features):
            return torch.from_numpy(self.features[rows_of_lists(bounds, lists)].toarray()).to(self.device)
        parts = [self.features[bounds[q] : bounds[q + 1]] for q in lists]
        return torch.from_numpy(np.concatenate(parts)).to(self.device)


def scores_of(network: nn.Module, features: Any, offsets: Integers) -> Floats:
    """The scores (N,) or (N, outputs) of all rows, in blocks of complete lists."""
    device = next(network.parameters()).device
    network.eval()
    parts = []
    with torch.inference_mode():
        for _, some, bounds in blocks(features, offsets, (), complete_lists=True):
            rows = torch.from_numpy(some.toarray() if sparse.issparse(some) else np.array(some)).to(device)
            parts.append(call(network, rows, torch.from_numpy(bounds)).to("cpu", torch.float64).numpy())
        if not parts:  # a rank may have no lists: the shape of their scores
            none = torch.empty(0, features.shape[1], device=device)
            parts.append(call(network, none, torch.zeros(1, dtype=torch.int64)).to("cpu", torch.float64).numpy())
    return np.concatenate(parts)
