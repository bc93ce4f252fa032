"""The objectives in plain PyTorch with autograd, as usually written: padded lists, a mask, broadcasting, float32."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from torch_forms import expected, listwise, ordered, pairwise, partition
from torch_forms.batch import Batch


@dataclass(frozen=True)
class TorchForm:
    """One way to write an objective: losses (Q,) of a batch.

    `elements` is the size of the largest tensor for a list of this length, by which batches are split.
    """

    objective: str
    losses: Callable[[Batch], Tensor]
    elements: Callable[[int], int]
    name: str = ""

    def value_and_gradient(self, batch: Batch, max_elements: int) -> tuple[Tensor, Tensor]:
        """Losses (Q,) and the gradient of their sum, computed in batches of at most `max_elements`."""
        n_lists, longest = batch.mask.shape
        step = max(1, max_elements // self.elements(longest))
        loss, gradient = batch.scores.new_empty(n_lists), torch.empty_like(batch.scores)
        for first in range(0, n_lists, step):
            part = batch.part(first, first + step)
            losses = self.losses(part)
            losses.sum().backward()
            loss[first : first + step], gradient[first : first + step] = losses.detach(), part.scores.grad
        return loss, gradient


def _items(length: int) -> int:
    return length


def _times(count: int, length: int) -> int:
    return count * length


def _pairs(length: int) -> int:
    return length * length


def _pairs_of_copies(length: int) -> int:
    return expected.NOISY_COPIES * length * length


FORMS = (
    TorchForm("listmle", ordered.by_logcumsumexp, _items, "logcumsumexp"),
    TorchForm("listmle", ordered.by_shifted_sum, _items, "max-shifted"),
    TorchForm("p-listmle", ordered.halving, _items),
    TorchForm("pl-topk", ordered.above_the_lowest, _items),
    TorchForm("pl-partition", partition.pl_partition, partial(_times, partition.NODES), f"{partition.NODES} nodes"),
    TorchForm("pl-lb", partition.pl_lb, _items),
    TorchForm("pmop-fd", partition.pmop_fd, _items),
    *(TorchForm(name, losses, _items) for name, losses in listwise.FORMS.items()),
    *(TorchForm(name, losses, _pairs) for name, losses in pairwise.FORMS.items()),
    *(TorchForm(name, losses, partial(_times, held)) for name, (losses, held) in expected.SAMPLED.items()),
    TorchForm("stochastic", expected.stochastic, _pairs_of_copies),
    TorchForm("approx-ndcg", expected.approx_ndcg, _pairs),
)
