"""The network as gradient descent sees it: a step from some lists, its state for a checkpoint, its scores."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes, rows_of_lists
from luce.data import Dataset
from luce.errors import DataError, LuceError
from luce.objectives import Draw, Objective
from luce.optimisers.gradient_descent import Arrays, like

OPTIMISERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
    "sgd": torch.optim.SGD,
}
CHUNK = 65_536
"""Rows scored together, unless a list is longer."""


class NetworkLearner:
    """Trains a network on lists of a dataset; the mean over the lists of a batch is what a step goes down."""

    def __init__(
        self,
        network: nn.Module,
        goal: Objective,
        features: Any,
        dataset: Dataset,
        *,
        optimiser: str,
        learning_rate: float,
        l2: float,
        seed: int,
        n_jobs: int | None,
        figure: Callable[["NetworkLearner"], float | None],
    ):
        self.network, self.goal, self.features, self.dataset = network, goal, features, dataset
        self.seed, self.n_jobs, self.learning_rate, self._figure = seed, n_jobs, learning_rate, figure
        self.device, self.sizes = next(network.parameters()).device, dataset.sizes
        self.nuisance = nn.Parameter(torch.tensor([*goal.nuisance.values()], dtype=torch.float64))
        groups: list[dict[str, Any]] = [
            {"params": list(network.parameters())},
            {"params": [self.nuisance], "weight_decay": 0.0},
        ]
        self.optimiser = OPTIMISERS[optimiser](groups, lr=learning_rate, weight_decay=l2)  # type: ignore[call-arg]

    def step(self, lists: Integers, epoch: int, step: int) -> float:
        data = self.dataset
        rows = rows_of_lists(data.offsets, lists)
        offsets = offsets_of_sizes(self.sizes[lists])
        # Dropout depends on the seed and the step alone, so nothing of it needs keeping in a checkpoint.
        self._seed_dropout(np.random.SeedSequence((self.seed, step)).generate_state(1, np.uint64)[0].item())
        self.network.train()
        scores = call(self.network, self._rows(lists), torch.from_numpy(offsets))
        values = scores.detach().to("cpu", torch.float64).numpy()
        try:
            evaluation = self.goal.value_and_gradient(
                values,
                data.labels[rows],
                offsets,
                item_weights=None if data.item_weights is None else data.item_weights[rows],
                nuisance=self.nuisance.detach().numpy(),
                draw=Draw(self.seed, epoch, lists),
                n_jobs=self.n_jobs,
            )
        except DataError as error:
            if np.isfinite(values).all():
                raise
            raise LuceError(
                f"The scores are no longer finite at epoch {epoch + 1}, step {step + 1}: the training diverges. "
                f"Try a lower learning_rate than {self.learning_rate:g}, standardised features, or normalisation."
            ) from error
        slope, weights = evaluation.gradient, np.full(len(lists), 1 / len(lists))
        if data.list_weights is not None:
            weights *= data.list_weights[lists]
            slope *= weights[list_of_row(offsets)].reshape(-1, *[1] * (slope.ndim - 1))
        else:
            slope /= len(lists)
        self.optimiser.zero_grad()
        scores.backward(torch.from_numpy(slope).to(scores))
        if evaluation.nuisance_gradient is not None:
            self.nuisance.grad = torch.from_numpy(weights @ evaluation.nuisance_gradient)
        self.optimiser.step()
        return float(weights @ evaluation.loss)

    def _seed_dropout(self, seed: int) -> None:
        # torch.manual_seed would format a traceback for devices that are not there, half a millisecond each time.
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _rows(self, lists: Integers) -> Tensor:
        """The features of some lists, copied list by list: rows of a list lie together."""
        bounds = self.dataset.offsets
        if sparse.issparse(self.features):
            return torch.from_numpy(self.features[rows_of_lists(bounds, lists)].toarray()).to(self.device)
        parts = [self.features[bounds[q] : bounds[q + 1]] for q in lists]
        return torch.from_numpy(np.concatenate(parts)).to(self.device)

    def figure(self) -> float | None:
        return self._figure(self)

    def parameters(self) -> Arrays:
        learned = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        return {
            name: t.detach().to("cpu", copy=True).numpy() for name, t in (learned | {"nuisance": self.nuisance}).items()
        }

    def state(self) -> Arrays:
        memory = {
            f"optimiser.{number}.{name}": value.detach().to("cpu", copy=True).numpy()
            for number, entries in self.optimiser.state_dict()["state"].items()
            for name, value in entries.items()
            if isinstance(value, Tensor)
        }
        return self.parameters() | memory

    def restore(self, state: Arrays) -> None:
        learned = {name: array for name, array in state.items() if not name.startswith("optimiser.")}
        memory: dict[int, dict[str, Tensor]] = {}
        for name in state.keys() - learned.keys():
            number, key = name.removeprefix("optimiser.").split(".", 1)
            memory.setdefault(int(number), {})[key] = torch.from_numpy(state[name])
        self._check_memory(memory)
        load_network(self.network, like(self.parameters(), learned))
        with torch.no_grad():
            self.nuisance.copy_(torch.from_numpy(state["nuisance"]))
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": memory})

    def _check_memory(self, memory: dict[int, dict[str, Tensor]]) -> None:
        """A ValueError unless it is what the optimiser remembers of these parameters: it would not check itself."""
        probe = nn.Parameter(torch.zeros(1))
        probe.grad = torch.zeros(1)
        model = type(self.optimiser)([probe], lr=1.0)  # type: ignore[call-arg]
        model.step()
        wanted = model.state_dict()["state"].get(0, {})
        parameters = [*self.network.parameters(), self.nuisance]
        for number, entries in memory.items():
            one = parameters[number] if 0 <= number < len(parameters) else None
            forms = {name: (t.shape if t.ndim == 0 or one is None else one.shape) for name, t in wanted.items()}
            if one is None or {name: t.shape for name, t in entries.items()} != forms:
                raise ValueError(f"optimiser.{number} is not what {type(self.optimiser).__name__} remembers")


def load_network(network: nn.Module, arrays: Arrays) -> None:
    """Put stored arrays into a network; a ValueError tells what does not fit."""
    stored = {k.removeprefix("network."): torch.from_numpy(v) for k, v in arrays.items() if k.startswith("network.")}
    wanted, given = (
        {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}
        for tensors in (network.state_dict(), stored)
    )
    if wanted != given:
        name = next(n for n in [*wanted, *given] if wanted.get(n) != given.get(n))
        raise ValueError(f"{name} must be {wanted.get(name)}. Got {given.get(name)}")
    network.load_state_dict(stored, assign=any(t.is_meta for t in network.state_dict().values()))


def call(network: nn.Module, rows: Tensor, offsets: Tensor) -> Tensor:
    """The scores of a network, which may want to know the lists or not."""
    return network(rows, offsets) if wants_lists(network) else network(rows)


def wants_lists(network: nn.Module) -> bool:
    """Whether `forward` takes the offsets of the lists beside the rows."""
    return _takes_offsets(type(network))  # type: ignore[arg-type]


@cache
def _takes_offsets(kind: type[nn.Module]) -> bool:
    return "offsets" in inspect.signature(kind.forward).parameters


def scores_of(network: nn.Module, features: Any, offsets: Integers) -> Floats:
    """The scores (N,) or (N, outputs) of all rows, in chunks of whole lists."""
    device = next(network.parameters()).device
    network.eval()
    cuts = [0]
    for q, end in enumerate(offsets[1:].tolist()):
        if end - offsets[cuts[-1]] > CHUNK and q > cuts[-1]:
            cuts.append(q)
    parts = []
    with torch.inference_mode():
        for first, last in zip(cuts, [*cuts[1:], len(offsets) - 1], strict=True):
            some = features[offsets[first] : offsets[last]]
            rows = torch.from_numpy(some.toarray() if sparse.issparse(some) else np.array(some)).to(device)
            bounds = torch.from_numpy(offsets[first : last + 1] - offsets[first])
            parts.append(call(network, rows, bounds).to("cpu", torch.float64).numpy())
    return np.concatenate(parts)


@contextmanager
def settings(n_jobs: int | None, device: torch.device) -> Iterator[None]:
    """PyTorch with so many threads, and with the random state of others untouched."""
    before = torch.get_num_threads()
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        try:
            if n_jobs is not None:
                from luce.threads import thread_count

                torch.set_num_threads(min(thread_count(n_jobs), thread_count(-1)))
            yield
        finally:
            torch.set_num_threads(before)
