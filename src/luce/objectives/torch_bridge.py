"""Every objective as a PyTorch loss: one autograd function, flat lists or a padded batch with a mask."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.compiled import compiled
from luce.errors import DataError, OptionError
from luce.objectives import Evaluation, Objective
from luce.objectives import objective as objective_of
from luce.objectives.relevant import factor_of, one_device, reduced
from luce.objectives.torch_device import device_lists, evaluate_on_device, list_loss, list_value_and_gradient
from luce.randomness import Draw

NO_NUISANCE = torch.empty(0)
"""The parameters of an objective that has none."""


def _once_differentiable(backward: Callable[..., Any]) -> Any:
    """As PyTorch's, which takes as long as a small loss even where no graph of the gradient is wanted."""
    once = once_differentiable(backward)
    return staticmethod(lambda ctx, upstream: (once if torch.is_grad_enabled() else backward)(ctx, upstream))


class _ListLoss(torch.autograd.Function):
    """Per-list losses (Q,); the forward pass has already computed the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, nuisance: Tensor, bounds: Tensor, *given: Any) -> Tensor:
        losses, gradient, extra = evaluate_lists(scores, nuisance, bounds, *given)
        ctx.save_for_backward(gradient, extra, offsets_to_keep(bounds))
        ctx.dtypes = scores.dtype, nuisance.dtype
        return losses

    @_once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return *chain_rule(upstream, *ctx.saved_tensors, dtypes=ctx.dtypes), *[None] * 6


class _TotalLoss(torch.autograd.Function):
    """The sum of the losses times a factor: for small batches the operations of a reduction cost as much as a loss."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, nuisance: Tensor, factor: float, given: Any) -> Tensor:
        found, gradient = _evaluated(scores, nuisance, factor, *given)
        extra = found.nuisance_gradient
        ctx.save_for_backward(gradient, None if extra is None else torch.from_numpy(extra.sum(axis=0) * factor))
        ctx.dtypes = scores.dtype, nuisance.dtype
        return torch.scalar_tensor(found.loss.sum() * factor, dtype=gradient.dtype)

    @_once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradient, extra = ctx.saved_tensors
        extra = None if extra is None else (upstream * extra).to(ctx.dtypes[1])
        return (upstream * gradient).to(ctx.dtypes[0]), extra, None, None


def evaluate_lists(scores: Tensor, nuisance: Tensor, bounds: Tensor, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The losses (Q,), their gradient in the shape of the scores, and that in the nuisance parameters (Q, P).

    `bounds` are the offsets of flat lists, or the mask of a padded batch.
    """
    found, gradient = _evaluated(scores, nuisance, 1.0, bounds, *given)
    losses, extra = torch.from_numpy(found.loss).to(gradient.dtype), found.nuisance_gradient
    return losses, gradient, nuisance.new_empty(len(losses), 0) if extra is None else nuisance.new_tensor(extra)


def _evaluated(
    scores: Tensor,
    nuisance: Tensor,
    factor: float,
    bounds: Tensor,
    labels: Tensor,
    item_weights: Tensor | None,
    objective: Objective,
    draw: Draw,
    n_jobs: int | None,
) -> tuple[Evaluation, Tensor]:
    """What the objective gives for the items, and the gradient times the factor in the shape of the scores.

    That of half precision is float32, so that a gradient which is still to be scaled does not underflow.
    """
    given = bounds.numpy()
    inside, offsets = (slice(None), given) if given.ndim == 1 else (given, _offsets_of(given))
    found = objective.value_and_gradient(
        _as_array(scores)[inside],
        _as_array(labels)[inside],
        offsets,
        item_weights=None if item_weights is None else _as_array(item_weights)[inside],
        nuisance=_as_array(nuisance) if objective.nuisance or nuisance.numel() else None,
        draw=draw,
        n_jobs=n_jobs,
    )
    gradient = np.zeros(scores.shape, np.float64 if scores.dtype == torch.float64 else np.float32)
    gradient[inside] = found.gradient * factor
    return found, torch.from_numpy(gradient)


def evaluate_lists_there(
    scores: Tensor,
    nuisance: Tensor,
    bounds: Tensor,
    labels: Tensor,
    item_weights: Tensor | None,
    objective: Objective,
    seed: Tensor,
    longest: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `evaluate_lists`, where the tensors are: nothing waits for a GPU, if `longest` is known or the mask."""
    shape, dtype = scores.shape, dtype_of_losses(scores)
    if bounds.ndim == 2:
        longest = bounds.shape[1]
        scores, labels, bounds, item_weights = _with_unobserved(scores, labels, bounds, item_weights)
    given = nuisance if objective.nuisance else None
    lists = device_lists(objective, scores, labels, bounds, "sum", item_weights, given, longest=longest)
    found = evaluate_on_device(objective, lists._replace(stream=torch.stack([seed, seed.new_zeros(())])))
    extra = nuisance.new_empty(len(bounds) - 1, 0) if found.nuisance_gradient is None else found.nuisance_gradient
    return found.losses.to(dtype), found.gradient.to(dtype).reshape(shape), extra.to(nuisance.dtype)


def dtype_of_losses(scores: Tensor) -> torch.dtype:
    """That of the scores, or float32 for half precision."""
    return torch.promote_types(scores.dtype, torch.float32)


def offsets_to_keep(bounds: Tensor) -> Tensor | None:
    """What `chain_rule` needs of the bounds: nothing of a mask, which its owner may change before the backward pass."""
    return bounds if bounds.ndim == 1 else None


def chain_rule(
    upstream: Tensor,
    gradient: Tensor,
    extra: Tensor,
    offsets: Tensor | None,
    *,
    dtypes: tuple[torch.dtype, torch.dtype],
) -> tuple[Tensor, Tensor | None]:
    """The derivatives in the scores and the nuisance parameters, for those in the losses of the lists."""
    by_list = upstream.to(gradient.dtype)
    factors = by_list if offsets is None else by_list.repeat_interleave(offsets.diff(), output_size=len(gradient))
    factors = factors.reshape(-1, *[1] * (gradient.ndim - 1))
    return (factors * gradient).to(dtypes[0]), by_list.to(dtypes[1]) @ extra if extra.shape[1] else None


def _as_array(values: Tensor) -> Any:
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy(force=True)  # NumPy has no bfloat16


def _offsets_of(mask: Any) -> Any:
    offsets = np.empty(len(mask) + 1, dtype=np.int64)
    empty = _write_offsets(np.ascontiguousarray(mask), offsets)
    if empty:
        raise DataError(f"The mask has no item in row {empty}: a list needs at least one.")
    return offsets


@compiled
def _write_offsets(mask, offsets):
    """Return the first row without items, counted from 1, or 0 where there is none."""
    empty = offsets[0] = 0
    for q in range(len(mask)):
        offsets[q + 1] = offsets[q] + mask[q].sum()
        if not empty and offsets[q + 1] == offsets[q]:
            empty = q + 1
    return empty


def loss(
    name: str | Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    lengths: Tensor | None = None,
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

    `RankingLoss` is the same as a module.

    Tensors on a GPU stay there if the objective has kernels in Triton or PyTorch (see `luce objectives NAME`), which
    return float32 and do not check values; otherwise the CPU computes their loss.

    Parameters
    ----------
    name : str or Objective
    scores, labels : Tensor of shape (Q, longest) with a mask or lengths, or (N,) with offsets
        With one output per grade scores have one more dimension.
    offsets : Tensor of shape (Q + 1,), optional
        List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
    mask : bool, int or float Tensor of shape (Q, longest), optional
        True, or not 0, at the items of a padded batch; padding changes nothing.
    lengths : int Tensor of shape (Q,), optional
        In place of a mask: the number of items of each list, which come before the padding.
    item_weights : Tensor in the shape of the labels, optional
    list_weights : Tensor of shape (Q,), optional
    nuisance : Tensor of shape (P,), optional
        Values of the nuisance parameters of the objective.
    draw : Draw, optional
        The random numbers of a random objective; by default new ones in each call, from PyTorch's generator.
    reduction : {"mean", "sum", "none"}, default="mean"
        "mean" is over lists, weighted by `list_weights`; "none" gives (Q,).
    longest : int, optional
        For flat lists: the size of the longest list, which avoids a synchronization with the GPU.
    n_jobs : int, optional
        Threads on a CPU.
    **options
        Options of the objective.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> scores = torch.tensor([[20.0, 0.0, -1.0], [1.0, 1.0, 99.0]], requires_grad=True)
    >>> labels = torch.tensor([[2.0, 1.0, 0.0], [1.0, 0.0, -1.0]])
    >>> loss("listmle", scores, labels, mask=labels >= 0).backward()
    >>> scores.grad.numpy().round(4).tolist()
    [[-0.0, -0.1344..., 0.1344...], [-0.25, 0.25, 0.0]]
    """
    objective = objective_of(name, **options)
    _check_tensors(scores=scores, labels=labels, offsets=offsets, mask=mask, lengths=lengths, item_weights=item_weights,
                   list_weights=list_weights, nuisance=nuisance)  # fmt: skip
    bounds = bounds_of(objective, scores, labels, offsets, mask, lengths)
    draw = new_draw(objective) if draw is None else draw
    if one_device(scores, labels, bounds, item_weights, list_weights, nuisance) == "cpu":
        if nuisance is None:
            nuisance = scores.new_tensor([*objective.nuisance.values()]) if objective.nuisance else NO_NUISANCE
        given = bounds, labels, item_weights, objective, draw, n_jobs
        if reduction == "none" or list_weights is not None:
            return reduced(_ListLoss.apply(scores, nuisance, *given), reduction, list_weights)
        factor = factor_of(reduction, len(bounds) - (bounds.ndim == 1))
        total: Tensor = _TotalLoss.apply(scores, nuisance, factor, given)
        return total
    if bounds.ndim == 2:
        longest = bounds.shape[1]
        scores, labels, bounds, item_weights = _with_unobserved(scores, labels, bounds, item_weights)
    lists: dict[str, Any] = {"item_weights": item_weights, "nuisance": nuisance, "draw": draw, "longest": longest}
    if list_weights is None:
        return list_loss(objective, scores, labels, bounds, reduction, **lists)
    return reduced(list_loss(objective, scores, labels, bounds, "none", **lists), reduction, list_weights)


def new_draw(objective: Objective) -> Draw:
    """New random numbers from PyTorch's generator, where the objective needs any."""
    return Draw(int(new_seed())) if objective.random else Draw()


def new_seed(device: torch.device | str = "cpu") -> Tensor:
    """A seed from PyTorch's generator, which `torch.manual_seed` sets."""
    return torch.randint(2**62, (), device=device)


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
        draw = new_draw(objective) if draw is None else draw
        return list_value_and_gradient(objective, scores, labels, offsets, reduction, draw=draw, longest=longest)
    leaf = scores.detach().requires_grad_()
    value = loss(name, leaf, labels, offsets, draw=draw, reduction=reduction, **options)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach(), gradient


def _check_tensors(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and not isinstance(value, Tensor):
            raise DataError(f"{name} must be a tensor. Got {type(value).__name__}: use torch.as_tensor({name}).")


def bounds_of(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor | None = None,
    mask: Tensor | None = None,
    lengths: Tensor | None = None,
) -> Tensor:
    """The offsets of flat lists, or the boolean mask of a padded batch."""
    if sum(given is not None for given in (offsets, mask, lengths)) > 1:
        raise OptionError("Give offsets for flat lists, or a mask or lengths for a padded batch, not both.")
    if offsets is not None:
        _check_flat(labels)
        return offsets.to(torch.int64)
    if mask is not None:
        mask = mask if mask.dtype == torch.bool else mask != 0
    elif lengths is not None and labels.ndim == 2 and lengths.shape == labels.shape[:1]:
        mask = torch.arange(labels.shape[1], device=labels.device) < lengths[:, None]
    elif lengths is not None:
        raise DataError(
            f"lengths must have one entry per list of the padded labels. Got lengths of shape {tuple(lengths.shape)} "
            f"and labels of shape {tuple(labels.shape)}."
        )
    else:
        _check_flat(labels)
        return torch.tensor([0, len(scores)], device=scores.device)
    of_items = scores.shape[:2] if objective.one_output_per_grade else scores.shape
    if mask.ndim != 2 or not of_items == labels.shape == mask.shape:
        hint = "; scores.squeeze(-1) has the right one" if scores.shape == (*mask.shape, 1) else ""
        raise DataError(
            "Scores and labels of a padded batch must have the shape of its mask, (lists, longest). Got mask "
            f"{tuple(mask.shape)}, scores {tuple(scores.shape)}, labels {tuple(labels.shape)}{hint}."
        )
    return mask


def _check_flat(labels: Tensor) -> None:
    if labels.ndim == 2:
        raise DataError(
            f"Labels of shape {tuple(labels.shape)} are a padded batch, which needs mask=, a tensor of the same shape "
            "that is True at the items, or lengths=, the number of items of each list. If nothing is padded, the mask "
            "is torch.ones_like(labels, dtype=torch.bool)."
        )


def _with_unobserved(
    scores: Tensor, labels: Tensor, mask: Tensor, item_weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """A padded batch as lists of one length, in which padding is not observed: their number of rows is known."""
    by_score = mask.reshape(*mask.shape, *[1] * (scores.ndim - 2))
    weights = None if item_weights is None else torch.where(mask, item_weights, 0).flatten()
    offsets = torch.arange(len(mask) + 1, device=mask.device) * mask.shape[1]
    labels = torch.where(mask, labels, torch.nan).flatten()
    return torch.where(by_score, scores, 0).flatten(0, 1), labels, offsets, weights
