"""Steps on some of the labels: which ones, and how the last layer is updated in their rows alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from luce.arrays import Integers
from luce.distributed import current_group, summed

POOL = 8
"""Labels that are scored for each that is kept as hard."""


class Negatives:
    """Draws labels beside the relevant ones: `counts` says how often each is relevant."""

    def __init__(self, number: int, sampling: str, counts: Integers, seed: int):
        self.number, self.sampling, self.seed, self._n_labels = number, sampling, seed, len(counts)
        self._ends = np.cumsum(summed(counts)) if sampling == "frequency" else None
        self._places = np.empty(len(counts), np.int64)  # of each label the last place where it was drawn

    def draw(self, known: Integers, step: int, multiple: int = 1) -> Integers:
        """Labels that are not among the known ones; of a pool where they are to be hard.

        With a `multiple` a few more may be drawn, so that there are, with the known ones, a multiple of it.

        >>> negatives = Negatives(4, "frequency", np.array([3, 0, 5, 2]), seed=0)
        >>> set(negatives.draw(np.array([2]), step=0).tolist()) <= {0, 3}
        True
        """
        random, size = np.random.default_rng((self.seed, step)), self.number + 2 * (multiple - 1)
        if self._ends is not None:  # in order, which is quicker to look up, and then in any
            numbers = np.sort(random.random(size)) * self._ends[-1]
            drawn = random.permutation(np.searchsorted(self._ends, numbers, side="right"))
        else:
            drawn = random.integers(self._n_labels, size=size * (POOL if self.sampling == "hard" else 1))
        places = np.arange(len(drawn))
        self._places[drawn], self._places[known] = places, -1
        others = drawn[self._places[drawn] == places]
        whole = len(known) + len(others)
        if multiple > 1 and whole > multiple:
            wanted = -(-(len(known) + self.number) // multiple) * multiple
            others = others[: max(min(wanted, whole // multiple * multiple) - len(known), 0)]
        return others

    def hardest(self, pool: Tensor, hidden: Tensor, layer: nn.Linear) -> Tensor:
        """Of a pool of labels those with the highest scores for a row of the batch, of any rank."""
        scores = nn.functional.linear(hidden, layer.weight[pool], layer.bias[pool])
        highest = torch.cat([scores, scores.new_full((1, len(pool)), -torch.inf)]).amax(0)  # a rank may have no rows
        group = current_group()
        if group is not None:
            highest = torch.from_numpy(group.gather_rows(highest.cpu().numpy()).max(0)).to(pool.device)
        return pool[highest.topk(min(self.number, len(pool))).indices]


@contextmanager
def only_rows(layer: nn.Linear, rows: Tensor, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """For a while the layer, and its state in an optimizer, have these rows alone; a step then changes no others.

    Other rows keep their weights and their moments, without the decay of those; steps count for all rows. State of the
    optimizer begins at 0.
    """
    whole: dict[nn.Parameter, tuple[Tensor, dict[str, Any]]] = {}
    for parameter in layer.parameters():
        memory = optimizer.state.get(parameter, {})
        whole[parameter] = parameter.data, dict(memory)
        memory.update({name: value[rows] for name, value in memory.items() if _by_row(value, parameter)})
        parameter.data = parameter.data[rows]
    try:
        yield
    finally:
        for parameter, (values, before) in whole.items():
            memory = optimizer.state.get(parameter, {})
            for name, value in memory.items():
                if _by_row(value, parameter):
                    all_rows = before[name] if name in before else torch.zeros_like(values)
                    memory[name] = all_rows.index_copy_(0, rows, value)
            parameter.data, parameter.grad = values.index_copy_(0, rows, parameter.data), None


def _by_row(value: Any, parameter: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == parameter.shape
