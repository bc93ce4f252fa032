"""Objectives on a GPU: loss and gradient of lists and of rows of labels where the scores are, nothing copied."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import LuceError, OptionError
from luce.kernels.device import device_kernels
from luce.kernels.expected_gain import AUTO, ESTIMATORS
from luce.kernels.place_sums import CONSTANT, LENGTH
from luce.objectives.expected import samples_at
from luce.objectives.linear_metrics import linear_form
from luce.objectives.objective import Objective
from luce.objectives.relevant import reduced
from luce.randomness import Draw

LISTS = ("listmle", "p-listmle", "pl-partition", *ESTIMATORS)
LONGEST = {"partition_likelihood": 16_384, "ordered_likelihood": 8_192, "expected_gain": 16_384}
"""Items of a list that a program holds; longer ones go the plain way."""


class _Sloped(torch.autograd.Function):
    """The losses (Q,) of lists, or their sum times a factor that the slopes (N,) have in them already."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, losses: Tensor, slopes: Tensor, offsets: Tensor, total: float) -> Tensor:
        ctx.save_for_backward(slopes, offsets)
        ctx.dtype = scores.dtype
        return (losses.sum() * total if total else losses).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        slopes, offsets = ctx.saved_tensors
        if upstream.ndim:
            upstream = upstream.to(slopes.dtype).repeat_interleave(offsets.diff(), output_size=len(slopes))
        return (upstream * slopes).to(ctx.dtype), None, None, None, None


def list_loss(
    goal: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    item_weights: Tensor | None,
    draw: Draw | None,
    reduction: str,
    longest: int | None,
) -> Tensor:
    """The loss of lists, differentiable, by kernels of the device; values are not checked there."""
    losses, slopes, factor = _losses_and_slopes(goal, scores, labels, offsets, item_weights, draw, reduction, longest)
    found: Tensor = _Sloped.apply(scores, losses, slopes, offsets, 0.0 if reduction == "none" else factor)
    return found


def list_value_and_gradient(
    goal: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    draw: Draw | None,
    reduction: str,
    longest: int | None,
) -> tuple[Tensor, Tensor]:
    """The loss of lists and its gradient without autograd: `scores.backward(gradient)` goes on from there."""
    losses, slopes, _ = _losses_and_slopes(goal, scores, labels, offsets, None, draw, reduction, longest)
    return reduced(losses, reduction).to(scores.dtype), slopes.to(scores.dtype)


def _losses_and_slopes(
    goal: Objective,
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    item_weights: Tensor | None,
    draw: Draw | None,
    reduction: str,
    longest: int | None,
) -> tuple[Tensor, Tensor, float]:
    if goal.name not in LISTS:
        raise LuceError(f"On a GPU there are {', '.join(LISTS)}, not {goal.name}: move its tensors with .cpu().")
    if item_weights is not None:
        raise OptionError(f"On a GPU {goal.name} takes no item weights. Move its tensors with .cpu().")
    if longest is None:
        longest = int(offsets.diff().max()) if len(offsets) > 1 else 0
    factor = 1.0 / max(len(offsets) - 1, 1) if reduction == "mean" else 1.0
    work = _partition if goal.name == "pl-partition" else _expected if goal.name in ESTIMATORS else _ordered
    values = scores.detach().contiguous()
    return *work(goal, values, labels, offsets, longest, draw or Draw(), factor), factor


def _partition(
    goal: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, longest: int, draw: Draw, factor: float
) -> tuple[Tensor, Tensor]:
    kernels = _kernels("partition_likelihood", scores, longest)
    found: tuple[Tensor, Tensor] = kernels.partition_lists(scores, labels, offsets, longest, factor)
    return found


def _kernels(room: str, scores: Tensor, longest: int) -> Any:
    return device_kernels(room, scores.device.type, longest <= LONGEST[room])


def _numbers(draw: Draw, device: torch.device) -> Tensor | None:
    """The numbers of the lists, on the device; None = 0, 1, 2 …"""
    return None if draw.lists is None else torch.as_tensor(draw.lists, device=device)


def _ordered(
    goal: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, longest: int, draw: Draw, factor: float
) -> tuple[Tensor, Tensor]:
    if goal.options.get("whole_grades"):
        raise OptionError(f"On a GPU {goal.name} knows no 'whole_grades'. Move its tensors with .cpu().")
    alpha = goal.options.get("alpha")
    weights = None
    if alpha is not None and not (isinstance(alpha, str) and alpha == "halving"):
        places = torch.arange(1, longest + 1, device=scores.device)
        named = {"dcg": lambda: 1 / torch.log2(1.0 + places), "reciprocal": lambda: 1.0 / places}
        weights = named[alpha]() if isinstance(alpha, str) else torch.as_tensor(alpha, device=scores.device)
    settings: dict[str, Any] = {"seed": draw.seed, "step": draw.step, "place_weights": weights, "factor": factor}
    settings |= {"halving": alpha is not None and weights is None, "depth": goal.options.get("depth") or longest}
    kernels, numbers, count = (
        _kernels("ordered_likelihood", scores, longest),
        _numbers(draw, offsets.device),
        goal.options["permutations"],
    )
    found = [
        kernels.ordered_lists(scores, labels, offsets, numbers, longest, sample=sample, **settings)
        for sample in range(count)
    ]
    if count == 1:
        return found[0]
    losses, slopes = (torch.stack(parts).mean(0) for parts in zip(*found, strict=True))
    return losses, slopes


def _expected(
    goal: Objective, scores: Tensor, labels: Tensor, offsets: Tensor, longest: int, draw: Draw, factor: float
) -> tuple[Tensor, Tensor]:
    samples = samples_at(goal.options["samples"], draw.step)
    if samples == AUTO:
        raise OptionError(f"On a GPU the 'samples' option of {goal.name} must be a number or a schedule. Got 'auto'.")
    metric, linear = goal.options["metric"], goal.options["gain"] == "linear"
    named = metric if isinstance(metric, str) else tuple(np.asarray(metric).tolist())
    discounts, *settings = _parts(named, linear, longest, scores.device)
    kernels = _kernels("expected_gain", scores, longest)
    values, slopes = kernels.expected_gain_lists(
        scores,
        kernels.list_gains(labels, offsets, discounts, longest, *settings),
        offsets,
        discounts,
        _numbers(draw, offsets.device),
        longest,
        samples=samples,
        estimator=ESTIMATORS[goal.name],
        seed=draw.seed,
        step=draw.step,
        factor=-factor,
    )
    return -values, slopes


@lru_cache(64)
def _parts(metric: Any, linear: bool, longest: int, device: torch.device) -> tuple[Tensor, int, int | None, float]:
    """The discounts of a metric on a device, and which gains they go with: worth, divisor and its constant."""
    form, weights = linear_form(metric, longest, "linear" if linear else "exponential")
    discounts = torch.as_tensor(weights, dtype=torch.float32, device=device)
    if form.divisor == LENGTH and "@" in metric:
        return discounts, form.worth, CONSTANT, float(len(weights))
    return discounts, form.worth, form.divisor, 1.0
