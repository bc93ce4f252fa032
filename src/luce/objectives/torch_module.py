"""Every objective as a loss module of PyTorch, and as an operator that `torch.compile` does not break its graph at."""

from typing import Any
from uuid import uuid4

import torch
from torch import Tensor, nn

from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.objectives.relevant import factor_of, reduced
from luce.objectives.torch_bridge import (
    bounds_of,
    chain_rule,
    dtype_of_losses,
    evaluate_lists,
    evaluate_lists_there,
    loss,
    new_seed,
    offsets_to_keep,
)
from luce.randomness import Draw

_OBJECTIVES: dict[str, Objective] = {}
"""Those of the modules of this process, by the key under which a compiled graph knows them."""


class RankingLoss(nn.Module):
    """The loss of an objective as a module, for padded batches and for flat lists.

    Parameters that the objective learns beside the scores, as those of ties, are parameters of the module. A random
    objective uses new random numbers in each call, from PyTorch's generator: `torch.manual_seed` repeats them.

    Parameters
    ----------
    objective : str or Objective
        A name of OBJECTIVES, or `luce.objective(name, **options)`.
    reduction : {"mean", "sum", "none"}, default="mean"
        "mean" is over lists, weighted by `list_weights`; "none" gives one loss per list.
    n_jobs : int, optional
        Threads on a CPU; None for all cores.
    **options
        Options of the objective.

    Attributes
    ----------
    nuisance : Parameter or None
        The parameters that the objective learns beside the scores.

    Examples
    --------
    >>> criterion = RankingLoss("pl-partition")
    >>> scores = torch.tensor([[2.0, 0.5, 1.0], [0.0, 3.0, 99.0]], requires_grad=True)
    >>> labels = torch.tensor([[2.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    >>> criterion(scores, labels, labels >= 0).backward()
    >>> scores.grad[1]
    tensor([-0.4763,  0.4763,  0.0000])
    >>> RankingLoss("listmle", depth=10, reduction="sum")
    RankingLoss(listmle(depth=10), reduction='sum')
    """

    def __init__(
        self, objective: str | Objective, *, reduction: str = "mean", n_jobs: int | None = None, **options: Any
    ) -> None:
        super().__init__()
        factor_of(reduction, 1)
        self.objective = objective_of(objective, **options)
        self.reduction = reduction
        self.n_jobs = n_jobs
        start = list(self.objective.nuisance.values())
        self.nuisance = nn.Parameter(torch.tensor(start)) if start else None
        self._key = _register(self.objective)

    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        offsets: Tensor | None = None,
        item_weights: Tensor | None = None,
        list_weights: Tensor | None = None,
        longest: int | None = None,
    ) -> Tensor:
        """The loss.

        Parameters
        ----------
        scores, labels : Tensor of shape (Q, longest) with a mask or lengths, or (N,) with offsets
            A label of NaN means not observed.
        mask : bool, int or float Tensor of shape (Q, longest), optional
            True, or not 0, at the items of a padded batch; padding changes nothing.
        lengths : int Tensor of shape (Q,), optional
            In place of a mask: the number of items of each list, which come before the padding.
        offsets : Tensor of shape (Q + 1,), optional
            For flat lists: list q owns the rows offsets[q]:offsets[q + 1].
        item_weights : Tensor in the shape of the labels, optional
        list_weights : Tensor of shape (Q,), optional
        longest : int, optional
            For flat lists: the size of the longest list, which avoids a synchronization with the GPU.

        Returns
        -------
        Tensor
            A number, or of shape (Q,) with reduction="none".
        """
        if not torch.compiler.is_compiling():
            return loss(
                self.objective,
                scores,
                labels,
                offsets,
                mask=mask,
                lengths=lengths,
                item_weights=item_weights,
                list_weights=list_weights,
                nuisance=self.nuisance,
                reduction=self.reduction,
                longest=longest,
                n_jobs=self.n_jobs,
            )
        bounds = bounds_of(self.objective, scores, labels, offsets, mask, lengths)
        nuisance = scores.new_empty(0) if self.nuisance is None else self.nuisance
        given = bounds, labels, item_weights, new_seed(scores.device), self._key, self.n_jobs, longest
        return reduced(list_losses(scores, nuisance, *given)[0], self.reduction, list_weights)

    def extra_repr(self) -> str:
        return f"{self.objective}, reduction={self.reduction!r}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._key = _register(self.objective)


def _register(objective: Objective) -> str:
    """A key that no other process uses, so that a stored graph does not find another objective by it."""
    key = f"{objective.name} {uuid4().hex}"
    _OBJECTIVES[key] = objective
    return key


@torch.library.custom_op("luce::list_losses", mutates_args=())
def list_losses(
    scores: Tensor,
    nuisance: Tensor,
    bounds: Tensor,
    labels: Tensor,
    item_weights: Tensor | None,
    seed: Tensor,
    key: str,
    n_jobs: int | None,
    longest: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `evaluate_lists` returns, as one node of a graph."""
    given = labels, item_weights, _OBJECTIVES[key]
    if scores.device.type != "cpu":
        return evaluate_lists_there(scores, nuisance, bounds, *given, seed, longest)
    return evaluate_lists(scores, nuisance, bounds, *given, Draw(int(seed)), n_jobs)


@list_losses.register_fake
def _(scores: Tensor, nuisance: Tensor, bounds: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    n_lists, dtype = bounds.shape[0] - (bounds.ndim == 1), dtype_of_losses(scores)
    sizes = (n_lists,), scores.shape, (n_lists, nuisance.shape[0])
    losses, gradient, extra = (scores.new_empty(size, dtype=dtype) for size in sizes)
    return losses, gradient, extra.to(nuisance.dtype)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    scores, nuisance, bounds, *_ = inputs
    ctx.save_for_backward(*output[1:], offsets_to_keep(bounds))
    ctx.dtypes = scores.dtype, nuisance.dtype


def _backward(ctx: Any, upstream: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    return *chain_rule(upstream, *ctx.saved_tensors, dtypes=ctx.dtypes), *[None] * 7


list_losses.register_autograd(_backward, setup_context=_keep)
