"""The last layer of a label network split over the ranks of a group: each has the weights of a slice of the labels."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from luce.arrays import Integers, offsets_of_sizes
from luce.data.extreme import TaggedData
from luce.distributed import Group, gathered, in_share, numbered, summed
from luce.objectives import Objective
from luce.objectives.label_rows import slice_value_and_gradients
from luce.objectives.relevant import Relevant
from luce.optimizers.gradient_descent import Arrays
from luce.rankers.checkpoint import SharedCheckpoint
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.labels.prediction import ROWS, best_labels
from luce.rankers.labels.rows import rows_on
from luce.rankers.neural.entries import rows_to
from luce.rankers.neural.training import TorchLearner


def own_slice(group: Group, n_labels: int) -> slice:
    """The labels of this rank.

    >>> from types import SimpleNamespace
    >>> [own_slice(SimpleNamespace(rank=rank, size=3), 10) for rank in range(3)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    return slice(group.rank * n_labels // group.size, (group.rank + 1) * n_labels // group.size)


class SplitLearner(TorchLearner):
    """Trains a network on tagged rows, of which each rank has some, and of whose labels each has a slice.

    In a step every rank gets the hidden values and the labels of the whole batch. It scores them for its labels; what
    its scores add up to, and the gradient of the hidden values, go to all others.
    """

    network: LabelNetwork

    def __init__(
        self,
        network: LabelNetwork,
        objective: Objective,
        features: Any,
        data: TaggedData,
        *,
        group: Group,
        **training: Any,
    ):
        self.out: nn.Linear = network.out
        network.out = nn.Identity()  # type: ignore[assignment]
        super().__init__(network, (), **training)
        self.first_of_out = len([*network.parameters(), self.nuisance])
        self.optimizer.add_param_group({"params": list(self.out.parameters())})
        self.objective, self.data, self.group = objective, data, group
        self.labels, self.rows = own_slice(group, data.n_labels), rows_on(self.device, features, data)
        self.first_row, _ = numbered(data.n_rows)

    def step(self, lists: Integers, epoch: float, step: int) -> float:
        own = in_share(lists, self.first_row, self.data.n_rows)
        self.begin_step(step)
        hidden = torch.zeros(0, self.out.in_features, device=self.device)
        if len(own):
            hidden = self.network.hidden(self.rows.features(own))
        everyone = gathered_rows(self.group, hidden.detach())
        relevant = self._relevant(own)
        with torch.no_grad():
            found, by_hidden, *slopes = slice_value_and_gradients(
                self.objective, everyone, self.out.weight, self.out.bias, relevant, self.data.n_labels, self._of_ranks
            )
        loss, first = found.item(), numbered(len(own))[0]
        by_own = summed(by_hidden.cpu().numpy())[first : first + len(own)]
        if not np.isfinite(loss):
            raise self.diverged(step)

        def work() -> float:
            self.out.weight.grad, self.out.bias.grad = slopes
            if hidden.requires_grad:
                hidden.backward(torch.from_numpy(by_own).to(hidden))
            return 0.0 if self.group.rank else loss

        return self.update(work)

    def _relevant(self, rows: Integers) -> Relevant:
        """The labels relevant to the rows of all ranks, numbered from the first of this one."""
        labels, offsets, _ = self.data.relevant(rows)
        sizes = gathered(np.diff(offsets))
        ours = torch.from_numpy(gathered(labels) - self.labels.start).to(self.device)
        return Relevant(ours, torch.from_numpy(offsets_of_sizes(sizes)).to(self.device), None, int(sizes.max()))

    def _of_ranks(self, values: Tensor) -> Tensor:
        return torch.from_numpy(self.group.gather_rows(values.cpu().numpy())).to(self.device)

    def top_labels(self, features: Any, k: int) -> Integers:
        """The k labels with the highest scores of rows of this rank, the best of all ranks."""
        n_rows, k = features.shape[0], min(k, self.data.n_labels)
        found = np.empty((n_rows, k), np.int64)
        self.network.eval()
        most = int(self.group.gather_rows(np.array([n_rows])).max())
        for start in range(0, most, ROWS):
            rows = slice(min(start, n_rows), min(start + ROWS, n_rows))
            with torch.inference_mode():
                hidden = torch.zeros(0, self.out.in_features, device=self.device)
                if rows.start < rows.stop:
                    hidden = self.network.hidden(rows_to(features, rows, self.device))
                best = best_labels(self._scores, self.out.out_features, gathered_rows(self.group, hidden), k)
            first, total = numbered(len(hidden))
            scores, labels = (
                np.concatenate([part.reshape(total, -1) for part in self.group.gather(each.cpu().numpy().ravel())], 1)
                for each in (best[0], best[1] + self.labels.start)
            )
            mine = slice(first, first + len(hidden))
            order = np.argsort(-scores[mine], axis=1, kind="stable")[:, :k]
            found[rows] = np.take_along_axis(labels[mine], order, 1)
        return found

    def _scores(self, hidden: Tensor, part: slice) -> Tensor:
        return nn.functional.linear(hidden, self.out.weight[part], self.out.bias[part])

    def parameters(self) -> Arrays:
        out = {f"out.{name}": one.detach().to("cpu", copy=True).numpy() for name, one in self.out.named_parameters()}
        return super().parameters() | out

    def state(self) -> Arrays:
        return {_renamed(name, *self._names): array for name, array in super().state().items()}

    def restore(self, state: Arrays) -> None:
        super().restore({_renamed(name, *self._names[::-1]): array for name, array in state.items()})
        with torch.no_grad():
            for name, parameter in self.out.named_parameters():
                parameter.copy_(torch.from_numpy(state[f"out.{name}"]))

    @property
    def _names(self) -> tuple[list[str], list[str]]:
        """How names of the optimizer's state of the last layer begin: here by number, in a checkpoint as a slice."""
        numbers = range(self.first_of_out, self.first_of_out + 2)
        return [f"optimizer.{number}." for number in numbers], ["optimizer.out.weight.", "optimizer.out.bias."]


def _renamed(name: str, old: list[str], new: list[str]) -> str:
    for before, after in zip(old, new, strict=True):
        if name.startswith(before):
            return after + name.removeprefix(before)
    return name


class SplitCheckpoint(SharedCheckpoint):
    """A checkpoint whose arrays of the last layer are slices on each rank and whole in the file of rank 0."""

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        found = super().load()
        if found is None:
            return None
        progress, arrays = found
        return progress, {
            name: array[own_slice(self.group, len(array))] if _is_slice(name, array) else array
            for name, array in arrays.items()
        }

    def due(self, step: int) -> bool:
        """Whether to save now: on all ranks if on the first."""
        return bool(self.group.gather_rows(np.array([super().due(step)]))[0, 0])

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        whole = dict(arrays)
        for name in sorted(arrays):  # in one order on all ranks
            if _is_slice(name, arrays[name]):
                whole[name] = to_first(self.group, arrays[name])
        super().save(progress, whole)


def _is_slice(name: str, array: NDArray[Any]) -> bool:
    return "out" in name.split(".") and array.ndim > 0


def to_first(group: Group, own: NDArray[Any]) -> NDArray[Any]:
    """The slices of all ranks, together, on rank 0; nothing on the others."""
    sizes = group.gather_rows(np.array([own.size]))[:, 0].tolist()
    found = group.exchange([own, *[own[:0]] * (group.size - 1)], sizes if group.rank == 0 else [0] * group.size)
    return np.concatenate(found).reshape(-1, *own.shape[1:])


def with_whole_layer(arrays: Arrays) -> Arrays:
    """The parameters of a `SplitLearner` as those of the network: the slices of all ranks together."""
    parts = {name: array for name, array in arrays.items() if name.startswith("out.")}
    whole = {f"network.{name}": gathered(array.ravel()).reshape(-1, *array.shape[1:]) for name, array in parts.items()}
    return {name: array for name, array in arrays.items() if name not in parts} | whole


def gathered_rows(group: Group, own: Tensor) -> Tensor:
    """The rows of all ranks, (B, H), in the order of ranks."""
    parts = group.gather(own.cpu().numpy().ravel())
    return torch.from_numpy(np.concatenate(parts).reshape(-1, own.shape[1])).to(own.device)
