"""Every objective as a PyTorch loss: one autograd function, flat lists or a padded batch with a mask."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import DataError, OptionError
from luce.objectives import Objective, objective
from luce.objectives.relevant import one_device
from luce.objectives.torch_device import list_loss, list_value_and_gradient
from luce.randomness import Draw


class _ListLoss(torch.autograd.Function):
    """Per-list losses (Q,); the forward pass has already computed the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, nuisance: Tensor, goal: Objective, given: dict[str, Any]) -> Tensor:
        values = scores.detach().to(torch.float64).numpy()
        extra = nuisance.detach().to(torch.float64).numpy()
        evaluation = goal.value_and_gradient(values, **given, nuisance=extra)
        ctx.save_for_backward(torch.from_numpy(evaluation.gradient))
        ctx.sizes = torch.from_numpy(given["offsets"]).diff()
        ctx.nuisance = evaluation.nuisance_gradient
        ctx.dtypes = scores.dtype, nuisance.dtype
        return torch.from_numpy(evaluation.loss).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        by_list = upstream.to(torch.float64)
        by_row = by_list.repeat_interleave(ctx.sizes)
        slope = gradient * (by_row[:, None] if gradient.ndim == 2 else by_row)
        extra = None if ctx.nuisance is None else (by_list @ torch.from_numpy(ctx.nuisance)).to(ctx.dtypes[1])
        return slope.to(ctx.dtypes[0]), extra, None, None


def loss(
    name: str | Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    item_weights: Tensor | None = None,
    list_weights: Tensor | None = None,
    nuisance: Tensor | None = None,
    draw: Draw | None = None,
    reduction: str = "mean",
    longest: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Tensor:
    """The loss of an objective, differentiable in the scores and in the nuisance parameters.

    Scores are flat, (N,) with `offsets` (Q+1,), or a padded batch (Q, longest) with a `mask` that is True at items;
    padding changes nothing. With one output a grade they have one more dimension. `reduction` "mean" is over lists,
    weighted by `list_weights`; "none" gives (Q,). For a random objective give a new `draw` each step.

    Tensors on a GPU stay there: listmle, p-listmle, pl-partition and the expected metrics have kernels for it, which
    give float32 and do not look for NaN. There `longest`, the size of the longest list, saves a wait for the GPU.

    >>> scores = torch.tensor([20.0, 0.0, -1.0], requires_grad=True)
    >>> loss("listmle", scores, torch.tensor([2.0, 1.0, 0.0])).backward()
    >>> scores.grad.numpy().round(4).tolist()
    [-0.0, -0.2689..., 0.2689...]
    """
    goal = objective(name, **options)
    if reduction not in ("mean", "sum", "none"):
        raise OptionError(f"reduction must be 'mean', 'sum' or 'none'. Got {reduction!r}.")
    if mask is not None:
        scores, labels, offsets, item_weights = _unpadded(scores, labels, offsets, mask, item_weights)
    elif offsets is None:
        offsets = torch.tensor([0, len(scores)], device=scores.device)
    if one_device(scores, labels, offsets, item_weights, list_weights, nuisance) == "cpu":
        losses = _on_cpu(goal, scores, labels, offsets, item_weights, nuisance, draw, n_jobs)
    else:
        whole = reduction if list_weights is None else "none"
        losses = list_loss(goal, scores, labels, offsets, item_weights, draw, whole, longest)
        if list_weights is None:
            return losses
    weights = torch.ones_like(losses) if list_weights is None else list_weights.to(losses.dtype)
    if weights.shape != losses.shape or bool((weights < 0).any()):
        raise DataError(f"list_weights must be {len(losses)} numbers ≥ 0. Got {list_weights}.")
    losses = losses * weights
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def value_and_gradient(
    name: str | Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    *,
    draw: Draw | None = None,
    reduction: str = "mean",
    longest: int | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """What `loss` gives for flat lists, and its gradient (N,) in the scores, without a word to autograd.

    Training goes on with `scores.backward(gradient)`, which on a GPU spares the way back through Python.

    >>> scores, labels = torch.tensor([20.0, 0.0, -1.0]), torch.tensor([2.0, 1.0, 0.0])
    >>> value_and_gradient("listmle", scores, labels, torch.tensor([0, 3]))[1]
    tensor([-2...e-09, -2.6894e-01,  2.6894e-01])
    """
    if one_device(scores, labels, offsets) != "cpu":
        goal = objective(name, **options)
        return list_value_and_gradient(goal, scores, labels, offsets, draw, reduction, longest)
    leaf = scores.detach().requires_grad_()
    value = loss(name, leaf, labels, offsets, draw=draw, reduction=reduction, **options)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach(), gradient


def _on_cpu(
    goal: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    item_weights: Tensor | None,
    nuisance: Tensor | None,
    draw: Draw | None,
    n_jobs: int | None,
) -> Tensor:
    """The loss of each list (Q,) by the objective itself."""
    given: dict[str, Any] = {"labels": labels.detach().numpy(), "offsets": offsets.to(torch.int64).numpy()}
    given |= {"draw": draw, "n_jobs": n_jobs}
    if item_weights is not None:
        given["item_weights"] = item_weights.detach().numpy()
    extra = scores.new_tensor(list(goal.nuisance.values())) if nuisance is None else nuisance
    return _ListLoss.apply(scores, extra, goal, given)


def _unpadded(
    scores: Tensor, labels: Tensor, offsets: Tensor | None, mask: Tensor, item_weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The items of a padded batch, list after list."""
    if offsets is not None:
        raise OptionError("Give offsets for flat lists or a mask for a padded batch, not both.")
    if mask.dtype != torch.bool or mask.ndim != 2 or scores.shape[:2] != mask.shape or labels.shape != mask.shape:
        shapes = f"mask {tuple(mask.shape)} {mask.dtype}, scores {tuple(scores.shape)}, labels {tuple(labels.shape)}"
        raise DataError(f"A padded batch needs scores and labels of the shape of a boolean mask. Got {shapes}.")
    sizes = mask.sum(dim=1)
    if bool((sizes == 0).any()):
        raise DataError(f"The mask has no item in row {int((sizes == 0).nonzero()[0])}: a list needs at least one.")
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return scores[mask], labels[mask], offsets, None if item_weights is None else item_weights[mask]
