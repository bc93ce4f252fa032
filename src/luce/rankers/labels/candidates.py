"""Steps on some of the labels: which ones, and how the last layer is updated in their rows alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from luce.arrays import Integers
from luce.distributed import current_group, gathered, in_share, numbered

POOL = 8
"""Labels that are scored for each that is kept as hard."""


class Negatives:
    """Draws labels beside the relevant ones; `relevant` has those of the rows of this rank, row after row.

    To draw one of `relevant`, of any rank, is to draw a label in proportion to its frequency.
    """

    def __init__(self, number: int, sampling: str, relevant: Integers, n_labels: int, seed: int):
        self.number, self.sampling, self.seed, self._relevant = number, sampling, seed, relevant
        self._first, self._choices = numbered(len(relevant)) if sampling == "frequency" else (0, n_labels)
        self._places = np.empty(n_labels, np.int32)  # of each label the last place where it was drawn

    def draw(self, known: Integers, step: int, multiple: int = 1) -> tuple[Integers, int]:
        """Labels, the known ones first, and how many of them a step takes: fewer where the hardest are to be found.

        With a `multiple` both numbers are multiples of it where there are enough labels, and may be somewhat larger.

        >>> negatives = Negatives(4, "frequency", np.array([0, 3, 0, 2, 3]), n_labels=5, seed=0)
        >>> labels, count = negatives.draw(np.array([2]), step=0)
        >>> labels[0].item(), set(labels[1:].tolist()) <= {0, 3}, count == len(labels)
        (2, True, True)
        """
        number = self.number * POOL if self.sampling == "hard" else self.number
        drawn = np.random.default_rng((self.seed, step)).integers(self._choices, size=number + 2 * (multiple - 1))
        if self.sampling == "frequency":
            drawn = gathered(self._relevant[in_share(drawn, self._first, len(self._relevant))])
        places = np.arange(len(drawn), dtype=np.int32)
        self._places[drawn], self._places[known] = places, -1
        labels = np.concatenate([known, drawn[self._places[drawn] == places]])
        most, count = (-(-(len(known) + each) // multiple) * multiple for each in (number, self.number))
        labels = labels[: max(min(most, len(labels) // multiple * multiple), len(known))]
        return labels, min(count, len(labels))


def hardest(labels: Tensor, n_known: int | Tensor, count: int, hidden: Tensor, layer: nn.Linear) -> Tensor:
    """So many of the labels: the known ones, which come first, and those with the highest scores of a row of any rank.

    Where the number of known ones is a tensor, nothing here waits for it.
    """
    scores = nn.functional.linear(hidden, layer.weight[labels], layer.bias[labels])
    highest = torch.cat([scores, scores.new_full((1, len(labels)), -torch.inf)]).amax(0)  # a rank may have no rows
    group = current_group()
    if group is not None:
        highest = torch.from_numpy(group.gather_rows(highest.cpu().numpy()).max(0)).to(labels.device)
    is_known = torch.arange(len(labels), device=labels.device) < n_known
    highest = torch.where(is_known, torch.inf, highest.nan_to_num())  # a NaN or +inf must not displace a known one
    return labels[highest.topk(count, sorted=False).indices]


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
