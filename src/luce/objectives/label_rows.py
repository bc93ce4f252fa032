"""Rows of labels on a device: losses that read the scores twice, and the last layer fused with the loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import DataError, LuceError
from luce.kernels.device import device_kernels
from luce.kernels.partition_likelihood import ALL_RANKS, BOUND
from luce.kernels.partition_likelihood.plain import WIDTH, RowWorkspace
from luce.objectives import OBJECTIVES, Objective
from luce.objectives import objective as objective_of
from luce.objectives.relevant import Relevant, factor_of, one_device, reduced

LARGEST_SET = 8_192
"""Relevant labels of a row that a program holds; more go the plain way."""

BUFFER = 2**25
"""Scores that the fused loss holds at a time."""


class _RowLoss(torch.autograd.Function):
    """The loss of rows; the backward pass reads the scores once more and writes the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, problem: "Problem") -> Tensor:
        values = scores.detach().contiguous()
        workspace = problem.workspace(values)
        ctx.save_for_backward(values)
        ctx.problem, ctx.workspace = problem, workspace
        return problem.reduced(workspace.losses).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (values,) = ctx.saved_tensors
        problem, out = ctx.problem, torch.empty_like(values)
        work = problem.labels, problem.starts, problem.kind, ctx.workspace, upstream, problem.factor(values)
        problem.kernels(values).write_gradient(values, *work, out)
        return out, None


class _FusedLoss(torch.autograd.Function):
    """The loss of the scores hidden · weightᵀ + bias, computed twice, a chunk of labels at a time."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, problem: "Problem") -> Tensor:
        workspace, kernels = RowWorkspace.make(hidden, len(weight), len(problem.labels)), problem.kernels(hidden)
        for first, scores in _chunks(hidden, weight, bias):
            kernels.sum_rest(scores, problem.labels, problem.starts, problem.kind, workspace, first)
        problem.finish(len(weight), workspace)
        ctx.save_for_backward(hidden, weight, bias)
        ctx.problem, ctx.workspace = problem, workspace
        return problem.reduced(workspace.losses).to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        problem, kernels = ctx.problem, ctx.problem.kernels(hidden)
        by_hidden, by_weight = torch.zeros_like(hidden), torch.empty_like(weight)
        by_bias = None if bias is None else torch.empty_like(bias)
        work = problem.labels, problem.starts, problem.kind, ctx.workspace, upstream, problem.factor(hidden)
        for first, scores in _chunks(hidden, weight, bias):
            kernels.write_gradient(scores, *work, scores, first)
            some = slice(first, first + scores.shape[1])
            by_hidden.addmm_(scores, weight[some])
            torch.mm(scores.t(), hidden, out=by_weight[some])
            if by_bias is not None:
                torch.sum(scores, 0, out=by_bias[some])
        return by_hidden, by_weight, by_bias, None


class Problem(NamedTuple):
    """What is asked of rows of labels, ready for the kernels; `constant`: (B,), what a loss is less than they say."""

    labels: Tensor
    starts: Tensor
    longest: int
    kind: int
    depth: int
    constant: Tensor | None
    reduction: str

    def kernels(self, on: Tensor) -> Any:
        return device_kernels("partition_likelihood", on.device.type, self.longest <= LARGEST_SET)

    def workspace(self, scores: Tensor) -> RowWorkspace:
        """The numbers of the rows, from one reading of the scores."""
        kernels, workspace = self.kernels(scores), RowWorkspace.make(scores, scores.shape[1], len(self.labels))
        kernels.sum_rest(scores, self.labels, self.starts, self.kind, workspace)
        self.finish(scores.shape[1], workspace)
        return workspace

    def finish(self, n_labels: int, workspace: RowWorkspace) -> None:
        """Losses and gradient of the relevant labels, from what `sum_rest` found."""
        kernels = self.kernels(workspace.numbers)
        kernels.finish_rows(self.starts, n_labels, self.longest, self.kind, workspace, self.depth)

    def reduced(self, losses: Tensor) -> Tensor:
        return reduced(losses if self.constant is None else losses - self.constant, self.reduction)

    def factor(self, rows: Tensor) -> float:
        """What the reduction multiplies the gradient of a row by."""
        return factor_of(self.reduction, len(rows))


def _chunks(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """The scores of some labels after the other, and which is the first; each overwrites the last."""
    width = max(BUFFER // max(len(hidden), 1) // WIDTH, 1) * WIDTH
    buffer = hidden.new_empty(len(hidden) * min(width, len(weight)))
    for first in range(0, len(weight), width):
        some = weight[first : first + width]
        scores = buffer[: len(hidden) * len(some)].view(len(hidden), len(some))
        if bias is None:
            torch.mm(hidden, some.t(), out=scores)
        else:
            torch.addmm(bias[first : first + width], hidden, some.t(), out=scores)
        yield first, scores


def slice_value_and_gradients(
    objective: Objective,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    relevant: Relevant,
    n_labels: int,
    gather: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The mean loss of rows, of whose labels this process has a slice, and what it gives the gradients.

    Parameters
    ----------
    objective : Objective
    hidden : Tensor of shape (B, H)
        The same on all processes.
    weight, bias : Tensor
        Of the slice.
    relevant : Relevant
        All labels that are relevant, numbered from the first of the slice: others are below 0 or too large.
    n_labels : int
        The labels of all slices.
    gather : callable
        What each process gives it, a row for each.

    Returns
    -------
    value : Tensor
        The same on all processes.
    by_hidden : Tensor of shape (B, H)
        To be summed over the processes.
    by_weight, by_bias : Tensor
        Of the slice.
    """
    problem = _problem(objective, relevant, n_labels, "mean")
    kernels, n_rows, n_picked = problem.kernels(hidden), len(hidden), len(problem.labels)
    own = RowWorkspace.make(hidden, len(weight), n_picked)
    own.numbers.zero_()  # the scores of labels that another process has
    for first, scores in _chunks(hidden, weight, bias):
        kernels.sum_rest(scores, problem.labels, problem.starts, problem.kind, own, first)
    *_, tops, sums, picked, _ = own.parts()
    top = tops.amax(1)
    total = (sums * (tops - top.nan_to_num(neginf=0.0)[:, None]).exp()).sum(1)
    every = gather(torch.cat([top, total, picked]))
    size = 4 * n_rows + 2 * n_rows * len(every) + 2 * n_picked
    whole = RowWorkspace(own.numbers.new_empty(size), n_rows, len(every), n_picked)
    *_, tops, sums, picked, _ = whole.parts()
    tops.copy_(every[:, :n_rows].t())
    sums.copy_(every[:, n_rows : 2 * n_rows].t())
    picked.copy_(every[:, 2 * n_rows :].sum(0))
    problem.finish(n_labels, whole)
    by_hidden, by_weight, by_bias = torch.zeros_like(hidden), torch.empty_like(weight), torch.empty_like(bias)
    work = problem.labels, problem.starts, problem.kind, whole, None, problem.factor(hidden)
    for first, scores in _chunks(hidden, weight, bias):
        kernels.write_gradient(scores, *work, scores, first)
        some = slice(first, first + scores.shape[1])
        by_hidden.addmm_(scores, weight[some])
        torch.mm(scores.t(), hidden, out=by_weight[some])
        torch.sum(scores, 0, out=by_bias[some])
    return problem.reduced(whole.losses), by_hidden, by_weight, by_bias


def row_loss(objective: Objective, scores: Tensor, relevant: Relevant, reduction: str) -> Tensor:
    """The loss of rows of scores (B, N) by the row kernels, differentiable; values are not checked."""
    found: Tensor = _RowLoss.apply(scores, _problem(objective, relevant, scores.shape[1], reduction))
    return found


def row_value_and_gradient(
    objective: Objective, scores: Tensor, relevant: Relevant, reduction: str
) -> tuple[Tensor, Tensor]:
    """The same and its gradient without autograd; continue with `scores.backward(gradient)`."""
    problem, values = _problem(objective, relevant, scores.shape[1], reduction), scores.detach().contiguous()
    workspace, gradient = RowWorkspace.make(values, values.shape[1], len(problem.labels)), torch.empty_like(values)
    work = problem.labels, problem.starts, problem.longest, problem.kind, workspace, problem.factor(values)
    problem.kernels(values).losses_and_gradient(values, *work, gradient, problem.depth)
    return problem.reduced(workspace.losses).to(scores.dtype), gradient


def _problem(objective: Objective, relevant: Relevant, n_labels: int, reduction: str) -> Problem:
    kind = objective.label_rows
    if kind is None:
        known = ", ".join(name for name, each in OBJECTIVES.items() if each.label_rows is not None)
        raise LuceError(f"{objective.name} has no kernels that compute scores and loss together; {known} have.")
    if relevant.grades is not None:
        raise LuceError("The last layer and the loss are computed together only for relevant labels without grades.")
    longest, constant = relevant.longest, None
    if longest is None:
        longest = int(relevant.offsets.diff().max()) if len(relevant.offsets) > 1 else 0
    if kind == BOUND:
        counts = relevant.offsets.diff()
        constant = torch.where(counts < n_labels, torch.lgamma(counts + 1.0), 0.0)
    depth = objective.options.get("depth") or ALL_RANKS
    return Problem(relevant.labels.int(), relevant.offsets, longest, kind, depth, constant, reduction)


def fused_linear_loss(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    relevant: Relevant,
    name: str | Objective = "pl-partition",
    *,
    reduction: str = "mean",
    **options: Any,
) -> Tensor:
    """The last layer and the loss together: the scores hidden · weightᵀ + bias never exist all at once.

    They are computed twice, some labels at a time, so that millions of labels take no more memory than the weights and
    their gradient.

    Parameters
    ----------
    hidden : Tensor of shape (B, H)
    weight : Tensor of shape (N, H)
    bias : Tensor of shape (N,) or None
    relevant : Relevant
        The labels that are relevant to each row, without grades.
    name : str or Objective, default="pl-partition"
        pl-partition, pl-lb, softmax, attrank, kl, c-kl, bce or squared-label.
    reduction : {"mean", "sum", "none"}, default="mean"
        Over rows.
    **options
        Options of the objective.

    Returns
    -------
    Tensor
        Differentiable in hidden, weight and bias; of shape (B,) where nothing is reduced.

    Examples
    --------
    >>> hidden, weight = torch.zeros(1, 2, requires_grad=True), torch.zeros(4, 2)
    >>> value = fused_linear_loss(hidden, weight, None, Relevant(torch.tensor([0, 1]), torch.tensor([0, 2])))
    >>> value.neg().exp()  # two of four equal labels: 1 in 6
    tensor(0.1667, grad_fn=<ExpBackward0>)
    """
    objective = objective_of(name, **options)
    shapes = hidden.ndim == weight.ndim == 2 and hidden.shape[1] == weight.shape[1]
    if not shapes or (bias is not None and bias.shape != weight.shape[:1]):
        given = f"{tuple(hidden.shape)}, {tuple(weight.shape)}, {None if bias is None else tuple(bias.shape)}"
        raise DataError(f"hidden, weight and bias must be (B, H), (N, H) and (N,). Got {given}.")
    if len(relevant.offsets) != len(hidden) + 1:
        raise DataError(f"relevant.offsets must have {len(hidden)} rows. Got {len(relevant.offsets) - 1}.")
    one_device(hidden, weight, bias, relevant.labels, relevant.offsets)
    found: Tensor = _FusedLoss.apply(hidden, weight, bias, _problem(objective, relevant, len(weight), reduction))
    return found
