"""Every objective as a PyTorch loss on [rows, labels]: a row is a list of all labels, few of them relevant."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.arrays import Floats, check_offsets, list_of_row
from luce.errors import DataError, OptionError
from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.objectives.label_rows import row_loss, row_value_and_gradient
from luce.objectives.relevant import Relevant, factor_of, one_device, reduced
from luce.objectives.torch_device import list_value_and_gradient
from luce.randomness import Draw


class _LabelLoss(torch.autograd.Function):
    """Per-row losses (B,); the forward pass has already computed the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, relevant: Relevant, objective: Objective, given: dict[str, Any]) -> Tensor:
        rows, n_labels = scores.shape
        offsets = check_offsets(relevant.offsets.numpy(), len(relevant.labels))
        evaluation = objective.value_and_gradient(
            scores.detach().to(torch.float64).numpy().ravel(),
            _grades(relevant, offsets, rows, n_labels),
            np.arange(rows + 1) * n_labels,
            **given,
        )
        has_relevant = torch.from_numpy(np.diff(offsets) > 0)
        gradient = torch.from_numpy(evaluation.gradient).view(rows, n_labels).to(scores.dtype)
        ctx.save_for_backward(gradient, has_relevant)
        return torch.from_numpy(evaluation.loss).to(scores.dtype) * has_relevant

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradient, has_relevant = ctx.saved_tensors
        return gradient * (upstream * has_relevant)[:, None], None, None, None


def dense_value_and_gradient(
    objective: Objective, scores: Tensor, relevant: Relevant, reduction: str, draw: Draw | None = None
) -> tuple[Tensor, Tensor]:
    """The loss of rows and its gradient on their device, as lists of all labels; values are not checked there."""
    rows, n_labels = scores.shape
    sizes, bounds = relevant.offsets.diff(), torch.arange(rows + 1, device=scores.device) * n_labels
    places = bounds[:-1].repeat_interleave(sizes, output_size=len(relevant.labels)) + relevant.labels
    given = torch.ones_like(places, dtype=torch.float32) if relevant.grades is None else relevant.grades.float()
    grades = torch.zeros(rows * n_labels, device=scores.device).scatter_(0, places, given)
    flat = scores.detach().reshape(-1)
    losses, gradient = list_value_and_gradient(objective, flat, grades, bounds, "none", draw=draw, longest=n_labels)
    has_relevant = (sizes > 0).to(losses.dtype)
    gradient = gradient.view(rows, n_labels) * (has_relevant * factor_of(reduction, rows))[:, None]
    return reduced(losses * has_relevant, reduction), gradient


class _DenseLoss(torch.autograd.Function):
    """The loss of rows that have no kernels; the forward pass has already computed the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, given: tuple[Any, ...]) -> Tensor:
        value, gradient = dense_value_and_gradient(given[0], scores, *given[1:])
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return gradient * (upstream[:, None] if upstream.ndim else upstream), None


def dense_label_loss(
    objective: Objective, scores: Tensor, relevant: Relevant, reduction: str, draw: Draw | None = None
) -> Tensor:
    """The value of `dense_value_and_gradient`, differentiable."""
    found: Tensor = _DenseLoss.apply(scores, (objective, relevant, reduction, draw))
    return found


def _has_kernels(objective: Objective, relevant: Relevant) -> bool:
    """Whether the row kernels compute it; they take no grades."""
    return objective.label_rows is not None and relevant.grades is None


def _grades(relevant: Relevant, offsets: np.ndarray, rows: int, n_labels: int) -> Floats:
    """The grade of every label of every row, (B·N,)."""
    labels = relevant.labels.numpy()
    if len(offsets) != rows + 1:
        raise DataError(f"relevant.offsets must have {rows} rows, like the scores. Got {len(offsets) - 1}.")
    if labels.size and not (labels.min() >= 0 and labels.max() < n_labels):
        raise DataError(f"relevant.labels must be from 0 to {n_labels - 1}. Got {labels.min()} to {labels.max()}.")
    grades = np.zeros(rows * n_labels)
    places = list_of_row(offsets) * n_labels + labels
    grades[places] = 1.0 if relevant.grades is None else relevant.grades.numpy()
    return grades


def label_loss(
    name: str | Objective,
    scores: Tensor,
    relevant: Relevant,
    *,
    draw: Draw | None = None,
    reduction: str = "mean",
    n_jobs: int | None = None,
    **options: Any,
) -> Tensor:
    """The loss of an objective for scores of N labels in B rows, differentiable in the scores.

    Each row is a list whose relevant labels have the grades of `relevant` and whose others have grade 0; a row without
    relevant labels gives loss 0.

    Parameters
    ----------
    name : str or Objective
    scores : Tensor of shape (B, N)
    relevant : Relevant
    draw : Draw, optional
        Pass a new one in each step of a random objective.
    reduction : {"mean", "sum", "none"}, default="mean"
        Over rows; "none" gives (B,).
    n_jobs : int, optional
        Threads on a CPU.
    **options
        Options of the objective.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> scores = torch.zeros(2, 4, requires_grad=True)
    >>> relevant = Relevant(torch.tensor([0, 1]), torch.tensor([0, 2, 2]))
    >>> value = label_loss("pl-partition", scores, relevant, reduction="sum")
    >>> value.backward()
    >>> value.neg().exp(), scores.grad[0]  # two of four equal labels: 1 in 6
    (tensor(0.1667, grad_fn=<ExpBackward0>), tensor([-0.5833, -0.5833,  0.5833,  0.5833]))
    """
    objective = objective_of(name, **options)
    check_one_score_per_label(objective)
    if scores.ndim != 2:
        raise DataError(f"scores must be two-dimensional, rows by labels. Got shape {tuple(scores.shape)}.")
    if one_device(scores, relevant.labels, relevant.offsets, relevant.grades) != "cpu":
        if _has_kernels(objective, relevant):
            return row_loss(objective, scores, relevant, reduction)
        return dense_label_loss(objective, scores, relevant, reduction, draw)
    return reduced(_LabelLoss.apply(scores, relevant, objective, {"draw": draw, "n_jobs": n_jobs}), reduction)


def label_value_and_gradient(
    name: str | Objective,
    scores: Tensor,
    relevant: Relevant,
    *,
    draw: Draw | None = None,
    reduction: str = "mean",
    n_jobs: int | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """What `label_loss` gives, and its gradient in the scores, without autograd.

    Continue with `scores.backward(gradient)`; on a GPU this saves the overhead of an autograd function in Python.

    Parameters
    ----------
    name, scores, relevant, draw, reduction, n_jobs, **options
        As in `label_loss`.

    Returns
    -------
    value : Tensor
    gradient : Tensor of shape (B, N)

    Examples
    --------
    >>> relevant = Relevant(torch.tensor([0, 1]), torch.tensor([0, 2]))
    >>> label_value_and_gradient("pl-partition", torch.zeros(1, 4), relevant)[1]
    tensor([[-0.5833, -0.5833,  0.5833,  0.5833]])
    """
    if one_device(scores, relevant.labels, relevant.offsets, relevant.grades) != "cpu":
        objective = objective_of(name, **options)
        check_one_score_per_label(objective)
        if _has_kernels(objective, relevant):
            return row_value_and_gradient(objective, scores, relevant, reduction)
        return dense_value_and_gradient(objective, scores, relevant, reduction, draw)
    leaf = scores.detach().requires_grad_()
    value = label_loss(name, leaf, relevant, draw=draw, reduction=reduction, n_jobs=n_jobs, **options)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach(), gradient


def check_one_score_per_label(objective: Objective) -> None:
    """An error for an objective that cannot train one score for each label."""
    if objective.one_output_per_grade or objective.nuisance:
        why = "has one output per grade" if objective.one_output_per_grade else "has nuisance parameters"
        raise OptionError(f"{objective.name} {why}, and cannot train one score per label. Use pl-partition or bce.")
