"""The objectives in plain PyTorch with autograd, as people write them: padded lists, a mask, broadcasting, float32."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_forms import listwise, ordered, pairwise, partition
from torch_forms.batch import Batch


@dataclass(frozen=True)
class Form:
    """One way to write an objective: losses (Q,) of a batch.

    numbers: how many the largest tensor holds for a list of this length; long batches are cut by it.
    """

    objective: str
    losses: Callable[[Batch], Tensor]
    numbers: Callable[[int], int]
    name: str = ""

    def value_and_gradient(self, batch: Batch, room: int) -> tuple[Tensor, Tensor]:
        """Losses (Q,) and the gradient of their sum in the shape of the scores; tensors of at most `room` numbers."""
        n_lists, longest = batch.mask.shape
        step = max(1, room // self.numbers(longest))
        loss, gradient = batch.scores.new_empty(n_lists), torch.empty_like(batch.scores)
        for first in range(0, n_lists, step):
            part = batch.part(first, first + step)
            losses = self.losses(part)
            losses.sum().backward()
            loss[first : first + step], gradient[first : first + step] = losses.detach(), part.scores.grad
        return loss, gradient


def _items(length: int) -> int:
    return length


def _pairs(length: int) -> int:
    return length * length


def _nodes(length: int) -> int:
    return length * partition.NODES


FORMS = (
    Form("listmle", ordered.by_logcumsumexp, _items, "logcumsumexp"),
    Form("listmle", ordered.by_shifted_sum, _items, "max-shifted"),
    Form("p-listmle", ordered.halving, _items),
    Form("pl-topk", ordered.above_the_lowest, _items),
    Form("pl-partition", partition.pl_partition, _nodes, f"{partition.NODES} nodes"),
    Form("pl-lb", partition.pl_lb, _items),
    Form("pmop-fd", partition.pmop_fd, _items),
    *(Form(name, losses, _items) for name, losses in listwise.FORMS.items()),
    *(Form(name, losses, _pairs) for name, losses in pairwise.FORMS.items()),
)
