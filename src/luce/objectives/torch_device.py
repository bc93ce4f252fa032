"""Objectives on a GPU: loss and gradient of lists and of rows of labels where the scores are, nothing copied."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import LuceError, OptionError
from luce.lists import DeviceLists
from luce.objectives import OBJECTIVES, Objective
from luce.objectives.relevant import factor_of, reduced
from luce.randomness import Draw


class _WithGradient(torch.autograd.Function):
    """The losses (Q,) of lists, or their sum times a factor that the gradient (N,) has in it already."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, losses: Tensor, gradient: Tensor, offsets: Tensor, total: float) -> Tensor:
        ctx.save_for_backward(gradient, offsets)
        ctx.dtype = scores.dtype
        return (losses.sum() * total if total else losses).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradient, offsets = ctx.saved_tensors
        if upstream.ndim:
            upstream = upstream.to(gradient.dtype).repeat_interleave(offsets.diff(), output_size=len(gradient))
        return (upstream * gradient).to(ctx.dtype), None, None, None, None


def list_loss(
    objective: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, reduction: str, **given: Any
) -> Tensor:
    """The loss of lists, differentiable, by kernels of the device; values are not checked there."""
    lists = _device_lists(objective, scores, labels, offsets, reduction, **given)
    losses, gradient = objective.device_lists(lists, **objective.options)  # type: ignore[misc]
    found: Tensor = _WithGradient.apply(scores, losses, gradient, offsets, 0.0 if reduction == "none" else lists.factor)
    return found


def list_value_and_gradient(
    objective: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, reduction: str, **given: Any
) -> tuple[Tensor, Tensor]:
    """The loss of lists and its gradient without autograd; continue with `scores.backward(gradient)`."""
    lists = _device_lists(objective, scores, labels, offsets, reduction, **given)
    losses, gradient = objective.device_lists(lists, **objective.options)  # type: ignore[misc]
    return reduced(losses, reduction).to(scores.dtype), gradient.to(scores.dtype)


def _device_lists(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    reduction: str,
    item_weights: Tensor | None = None,
    draw: Draw | None = None,
    longest: int | None = None,
) -> DeviceLists:
    if objective.device_lists is None:
        known = ", ".join(name for name, each in OBJECTIVES.items() if each.device_lists is not None)
        raise LuceError(f"{objective.name} has no GPU kernels; {known} have. Move its tensors with .cpu().")
    if item_weights is not None:
        raise OptionError(f"On a GPU {objective.name} does not support item weights. Move its tensors with .cpu().")
    if longest is None:
        longest = int(offsets.diff().max()) if len(offsets) > 1 else 0
    factor = factor_of(reduction, len(offsets) - 1)
    return DeviceLists(scores.detach().contiguous(), labels, offsets, longest, draw or Draw(), factor)
