"""Every objective as a PyTorch loss: one autograd function, flat lists or a padded batch with a mask."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import DataError, OptionError
from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.objectives.relevant import one_device, reduced
from luce.objectives.torch_device import list_loss, list_value_and_gradient
from luce.randomness import Draw


class _ListLoss(torch.autograd.Function):
    """Per-list losses (Q,); the forward pass has already computed the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, nuisance: Tensor, objective: Objective, given: dict[str, Any]) -> Tensor:
        values = scores.detach().to(torch.float64).numpy()
        extra = nuisance.detach().to(torch.float64).numpy()
        evaluation = objective.value_and_gradient(values, **given, nuisance=extra)
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
        by_score = gradient * (by_row[:, None] if gradient.ndim == 2 else by_row)
        extra = None if ctx.nuisance is None else (by_list @ torch.from_numpy(ctx.nuisance)).to(ctx.dtypes[1])
        return by_score.to(ctx.dtypes[0]), extra, None, None


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

    Tensors on a GPU stay there, where the objective has kernels for it (see `luce objectives NAME`); these return
    float32 and do not check for NaN.

    Parameters
    ----------
    name : str or Objective
    scores, labels : Tensor of shape (N,) with offsets, or (Q, longest) with a mask
        With one output per grade scores have one more dimension.
    offsets : Tensor of shape (Q + 1,), optional
        List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
    mask : bool Tensor of shape (Q, longest), optional
        True at items of a padded batch; padding changes nothing.
    item_weights : Tensor in the shape of the labels, optional
    list_weights : Tensor of shape (Q,), optional
    nuisance : Tensor of shape (P,), optional
        Values of the nuisance parameters of the objective.
    draw : Draw, optional
        Pass a new one in each step of a random objective.
    reduction : {"mean", "sum", "none"}, default="mean"
        "mean" is over lists, weighted by `list_weights`; "none" gives (Q,).
    longest : int, optional
        The size of the longest list, which avoids a synchronization with the GPU.
    n_jobs : int, optional
        Threads on a CPU.
    **options
        Options of the objective.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> scores = torch.tensor([20.0, 0.0, -1.0], requires_grad=True)
    >>> loss("listmle", scores, torch.tensor([2.0, 1.0, 0.0])).backward()
    >>> scores.grad.numpy().round(4).tolist()
    [-0.0, -0.2689..., 0.2689...]
    """
    objective = objective_of(name, **options)
    _check_tensors(scores=scores, labels=labels, offsets=offsets, mask=mask, item_weights=item_weights,
                   list_weights=list_weights, nuisance=nuisance)  # fmt: skip
    if mask is not None:
        dims = 2 if objective.one_output_per_grade else None
        scores, labels, offsets, item_weights = _unpadded(scores, labels, offsets, mask, item_weights, dims)
    elif labels.ndim == 2:
        raise DataError(
            f"Labels of shape {tuple(labels.shape)} are a padded batch, which needs mask=, a boolean tensor that is "
            "True at the items. If nothing is padded, it is torch.ones_like(labels, dtype=torch.bool)."
        )
    elif offsets is None:
        offsets = torch.tensor([0, len(scores)], device=scores.device)
    if one_device(scores, labels, offsets, item_weights, list_weights, nuisance) == "cpu":
        losses = _on_cpu(objective, scores, labels, offsets, item_weights, nuisance, draw, n_jobs)
        return reduced(losses, reduction, list_weights)
    given: dict[str, Any] = {"item_weights": item_weights, "draw": draw, "longest": longest}
    if list_weights is None:
        return list_loss(objective, scores, labels, offsets, reduction, **given)
    return reduced(list_loss(objective, scores, labels, offsets, "none", **given), reduction, list_weights)


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
    """What `loss` gives for flat lists, and its gradient in the scores, without autograd.

    Continue with `scores.backward(gradient)`; on a GPU this saves the overhead of an autograd function in Python.

    Parameters
    ----------
    name, scores, labels, offsets, draw, reduction, longest, **options
        As in `loss`.

    Returns
    -------
    value : Tensor
    gradient : Tensor of shape (N,)

    Examples
    --------
    >>> scores, labels = torch.tensor([20.0, 0.0, -1.0]), torch.tensor([2.0, 1.0, 0.0])
    >>> value_and_gradient("listmle", scores, labels, torch.tensor([0, 3]))[1]
    tensor([-2...e-09, -2.6894e-01,  2.6894e-01])
    """
    if one_device(scores, labels, offsets) != "cpu":
        objective = objective_of(name, **options)
        return list_value_and_gradient(objective, scores, labels, offsets, reduction, draw=draw, longest=longest)
    leaf = scores.detach().requires_grad_()
    value = loss(name, leaf, labels, offsets, draw=draw, reduction=reduction, **options)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach(), gradient


def _on_cpu(
    objective: Objective,
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
    extra = scores.new_tensor(list(objective.nuisance.values())) if nuisance is None else nuisance
    return _ListLoss.apply(scores, extra, objective, given)


def _check_tensors(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and not isinstance(value, Tensor):
            raise DataError(f"{name} must be a tensor. Got {type(value).__name__}: use torch.as_tensor({name}).")


def _unpadded(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor | None,
    mask: Tensor,
    item_weights: Tensor | None,
    dims: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The items of a padded batch, list after list; the first `dims` dimensions of the scores are those of the mask."""
    if offsets is not None:
        raise OptionError("Give offsets for flat lists or a mask for a padded batch, not both.")
    if mask.dtype != torch.bool or mask.ndim != 2 or not scores.shape[:dims] == labels.shape == mask.shape:
        shapes = f"mask {tuple(mask.shape)} {mask.dtype}, scores {tuple(scores.shape)}, labels {tuple(labels.shape)}"
        raise DataError(f"A padded batch needs scores and labels of the same shape as its boolean mask. Got {shapes}.")
    sizes = mask.sum(dim=1)
    if bool((sizes == 0).any()):
        raise DataError(f"The mask has no item in row {int((sizes == 0).nonzero()[0]) + 1}: a list needs at least one.")
    offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return scores[mask], labels[mask], offsets, None if item_weights is None else item_weights[mask]
