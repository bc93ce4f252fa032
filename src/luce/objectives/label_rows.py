"""Rows of labels on a device: losses that read the scores twice, and the last layer fused with the loss."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from luce.errors import DataError, LuceError
from luce.kernels.device import device_kernels
from luce.kernels.partition_likelihood.plain import ATTENTION, BOUND, PARTITION, WIDTH, RowWorkspace
from luce.objectives import Objective, objective
from luce.objectives.relevant import Relevant, one_device, reduced

ROWS = {"pl-partition": PARTITION, "pl-lb": BOUND, "attrank": ATTENTION}
LARGEST_SET = 8_192
"""Relevant labels of a row that a program holds; more go the plain way."""

ROOM = 2**25
"""Scores that the fused loss holds at a time."""


class _RowLoss(torch.autograd.Function):
    """The loss of rows; the backward pass reads the scores once more and writes the gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, problem: "Problem") -> Tensor:
        values = scores.detach().contiguous()
        room = problem.room(values)
        ctx.save_for_backward(values)
        ctx.problem, ctx.room = problem, room
        return problem.reduced(room.losses).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (values,) = ctx.saved_tensors
        problem, out = ctx.problem, torch.empty_like(values)
        work = problem.labels, problem.starts, ctx.room, upstream, problem.factor(values)
        problem.kernels(values).write_gradient(values, *work, out)
        return out, None


class _FusedLoss(torch.autograd.Function):
    """The loss of the scores hidden · weightᵀ + bias, of which a chunk of labels is made at a time, twice."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, problem: "Problem") -> Tensor:
        room, kernels = RowWorkspace.make(hidden, len(weight), len(problem.labels)), problem.kernels(hidden)
        for first, scores in _chunks(hidden, weight, bias):
            kernels.sum_rest(scores, problem.labels, problem.starts, problem.kind, room, first)
        kernels.finish_rows(*problem.settings(len(weight)), room)
        ctx.save_for_backward(hidden, weight, bias)
        ctx.problem, ctx.room = problem, room
        return problem.reduced(room.losses).to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        problem, kernels = ctx.problem, ctx.problem.kernels(hidden)
        by_hidden, by_weight = torch.zeros_like(hidden), torch.empty_like(weight)
        by_bias = None if bias is None else torch.empty_like(bias)
        work = problem.labels, problem.starts, ctx.room, upstream, problem.factor(hidden)
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
    constant: Tensor | None
    reduction: str

    def kernels(self, on: Tensor) -> Any:
        return device_kernels("partition_likelihood", on.device.type, self.longest <= LARGEST_SET)

    def room(self, scores: Tensor) -> RowWorkspace:
        """The numbers of the rows, from one reading of the scores."""
        kernels, room = self.kernels(scores), RowWorkspace.make(scores, scores.shape[1], len(self.labels))
        kernels.sum_rest(scores, self.labels, self.starts, self.kind, room)
        kernels.finish_rows(*self.settings(scores.shape[1]), room)
        return room

    def settings(self, n_labels: int) -> tuple[Any, ...]:
        return self.starts, n_labels, self.longest, self.kind

    def reduced(self, losses: Tensor) -> Tensor:
        return reduced(losses if self.constant is None else losses - self.constant, self.reduction)

    def factor(self, rows: Tensor) -> float:
        """What the mean makes of every row's slope."""
        return 1.0 / max(len(rows), 1) if self.reduction == "mean" else 1.0


def _chunks(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """The scores of some labels after the other, and which is the first; each takes the room of the last."""
    width = max(ROOM // max(len(hidden), 1) // WIDTH, 1) * WIDTH
    room = hidden.new_empty(len(hidden) * min(width, len(weight)))
    for first in range(0, len(weight), width):
        some = weight[first : first + width]
        scores = room[: len(hidden) * len(some)].view(len(hidden), len(some))
        if bias is None:
            torch.mm(hidden, some.t(), out=scores)
        else:
            torch.addmm(bias[first : first + width], hidden, some.t(), out=scores)
        yield first, scores


def has_row_kernel(goal: Objective, graded: bool) -> bool:
    """Whether rows of labels can be worked on where they are, on a GPU.

    >>> has_row_kernel(objective("pl-partition"), False), has_row_kernel(objective("ranknet"), False)
    (True, False)
    """
    return goal.name in ROWS and not graded


def row_loss(goal: Objective, scores: Tensor, relevant: Relevant, reduction: str) -> Tensor:
    """The loss of rows of scores (B, N), differentiable, on their device; values are not checked there."""
    found: Tensor = _RowLoss.apply(scores, _problem(goal, relevant, scores.shape[1], reduction))
    return found


def row_value_and_gradient(
    goal: Objective, scores: Tensor, relevant: Relevant, reduction: str
) -> tuple[Tensor, Tensor]:
    """The loss of rows and its gradient without autograd: `scores.backward(gradient)` goes on from there."""
    problem, values = _problem(goal, relevant, scores.shape[1], reduction), scores.detach().contiguous()
    room, gradient = RowWorkspace.make(values, values.shape[1], len(problem.labels)), torch.empty_like(values)
    work = problem.labels, problem.starts, problem.longest, problem.kind, room, problem.factor(values)
    problem.kernels(values).losses_and_gradient(values, *work, gradient)
    return problem.reduced(room.losses).to(scores.dtype), gradient


def _problem(goal: Objective, relevant: Relevant, n_labels: int, reduction: str) -> Problem:
    if goal.name not in ROWS:
        known = ", ".join(ROWS)
        raise LuceError(f"On a GPU rows of labels have {known}, not {goal.name}: move its tensors with .cpu().")
    if relevant.grades is not None:
        raise LuceError("On a GPU relevant labels have no grades. Move the tensors with .cpu().")
    longest, constant = relevant.longest, None
    if longest is None:
        longest = int(relevant.offsets.diff().max()) if len(relevant.offsets) > 1 else 0
    if goal.name == "pl-lb":
        counts = relevant.offsets.diff()
        constant = torch.where(counts < n_labels, torch.lgamma(counts + 1.0), 0.0)
    return Problem(relevant.labels.int(), relevant.offsets, longest, ROWS[goal.name], constant, reduction)


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
    """The loss of scores hidden · weightᵀ + bias, which never exist all at once: last layer and loss together.

    hidden: (B, H). weight: (N, H). bias: (N,) or None. Differentiable in all three. The scores are made twice, some
    labels at a time, so that millions of labels take the room of the weights and their gradient.

    >>> hidden, weight = torch.zeros(1, 2, requires_grad=True), torch.zeros(4, 2)
    >>> value = fused_linear_loss(hidden, weight, None, Relevant(torch.tensor([0, 1]), torch.tensor([0, 2])))
    >>> value.neg().exp()  # two of four equal labels: 1 in 6
    tensor(0.1667, grad_fn=<ExpBackward0>)
    """
    goal = objective(name, **options)
    shapes = hidden.ndim == weight.ndim == 2 and hidden.shape[1] == weight.shape[1]
    if not shapes or (bias is not None and bias.shape != weight.shape[:1]):
        given = f"{tuple(hidden.shape)}, {tuple(weight.shape)}, {None if bias is None else tuple(bias.shape)}"
        raise DataError(f"hidden, weight and bias must be (B, H), (N, H) and (N,). Got {given}.")
    if len(relevant.offsets) != len(hidden) + 1:
        raise DataError(f"relevant.offsets must bound {len(hidden)} rows. Got {len(relevant.offsets) - 1}.")
    one_device(hidden, weight, bias, relevant.labels, relevant.offsets)
    found: Tensor = _FusedLoss.apply(hidden, weight, bias, _problem(goal, relevant, len(weight), reduction))
    return found
