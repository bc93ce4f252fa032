"""Objectives on a GPU: loss and gradient of lists where the scores are; nothing is copied where there is a kernel."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.lists import DeviceEvaluation, DeviceLists
from luce.objectives import Objective
from luce.objectives.relevant import factor_of, reduced
from luce.randomness import Draw


class _WithGradient(torch.autograd.Function):
    """The losses (Q,) of lists, or their sum times a factor that the gradient has in it already."""

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, nuisance: Tensor | None, found: DeviceEvaluation, offsets: Tensor, total: float
    ) -> Tensor:
        ctx.save_for_backward(found.gradient, found.nuisance_gradient, offsets)
        ctx.dtypes, ctx.total = (scores.dtype, None if nuisance is None else nuisance.dtype), total
        return (found.losses.sum() * total if total else found.losses).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradient, extra, offsets = ctx.saved_tensors
        by_row = upstream
        if upstream.ndim:
            by_row = upstream.to(gradient.dtype).repeat_interleave(offsets.diff(), output_size=len(gradient))
            by_row = by_row.reshape(-1, *[1] * (gradient.ndim - 1))  # one output per grade
        nuisance = None
        if extra is not None and ctx.needs_input_grad[1]:
            by_list = upstream if upstream.ndim else (upstream * ctx.total).expand(len(extra))
            nuisance = (by_list.to(extra.dtype) @ extra).to(ctx.dtypes[1])
        return (by_row * gradient).to(ctx.dtypes[0]), nuisance, None, None, None


def list_loss(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    reduction: str,
    nuisance: Tensor | None = None,
    **given: Any,
) -> Tensor:
    """The loss of lists, differentiable, by kernels of the device; values are not checked there."""
    lists = device_lists(objective, scores, labels, offsets, reduction, nuisance=nuisance, **given)
    total = 0.0 if reduction == "none" else lists.factor
    result: Tensor = _WithGradient.apply(scores, nuisance, evaluate_on_device(objective, lists), offsets, total)
    return result


def list_value_and_gradient(
    objective: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, reduction: str, **given: Any
) -> tuple[Tensor, Tensor]:
    """The loss of lists and its gradient without autograd; continue with `scores.backward(gradient)`."""
    found = evaluate_on_device(objective, device_lists(objective, scores, labels, offsets, reduction, **given))
    return reduced(found.losses, reduction).to(scores.dtype), found.gradient.to(scores.dtype)


def evaluate_on_device(objective: Objective, lists: DeviceLists, n_jobs: int | None = None) -> DeviceEvaluation:
    """Losses and gradient of lists on a device; what has no form there is computed on the CPU, on so many threads."""
    found: Any = NotImplemented
    if objective.device_lists is not None:
        found = objective.device_lists(lists, **objective.options)
    return _on_host(objective, lists, n_jobs) if found is NotImplemented else found


def _on_host(objective: Objective, lists: DeviceLists, n_jobs: int | None) -> DeviceEvaluation:
    n_rows = int(lists.offsets[-1])  # what comes after the last list gets gradient 0

    def array(values: Tensor | None, as_type: torch.dtype = torch.float64) -> Any:
        return None if values is None else values.detach().to("cpu", as_type).numpy()

    def items(values: Tensor | None, as_type: torch.dtype = torch.float64) -> Any:
        return None if values is None else array(values[:n_rows], as_type)

    seed, step = lists.stream.tolist()
    found = objective.value_and_gradient(
        items(lists.scores),
        items(lists.labels),
        array(lists.offsets, torch.int64),
        item_weights=items(lists.item_weights),
        nuisance=array(lists.nuisance),
        draw=Draw(seed, step, array(lists.numbers, torch.int64), lists.draw.epoch),
        item_groups=items(lists.item_groups, torch.int64),
        n_jobs=n_jobs,
    )
    gradient = np.zeros(lists.scores.shape)
    gradient[:n_rows] = found.gradient * lists.factor
    back: list[Any] = [
        None if values is None else torch.from_numpy(values).to(lists.scores.device, torch.float32)
        for values in (found.loss, gradient, found.nuisance_gradient)
    ]
    return DeviceEvaluation(*back)


def device_lists(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    reduction: str,
    item_weights: Tensor | None = None,
    nuisance: Tensor | None = None,
    draw: Draw | None = None,
    longest: int | None = None,
) -> DeviceLists:
    """Lists of tensors as an objective takes them on their device."""
    if longest is None:
        longest = int(offsets.diff().max()) if len(offsets) > 1 else 0
    draw, device = draw or Draw(), scores.device
    if nuisance is None and objective.nuisance:
        nuisance = torch.tensor([*objective.nuisance.values()], device=device)
    return DeviceLists(
        scores.detach().contiguous(),
        labels,
        offsets,
        longest,
        draw,
        factor_of(reduction, len(offsets) - 1),
        torch.tensor([draw.seed, draw.step]).to(device, non_blocking=True),
        None
        if draw.lists is None
        else torch.from_numpy(np.asarray(draw.lists, np.int64)).to(device, non_blocking=True),
        item_weights,
        None if nuisance is None else nuisance.detach(),
    )
