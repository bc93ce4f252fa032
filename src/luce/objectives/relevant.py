"""The relevant labels of each row as tensors, and the reduction of losses."""

from typing import NamedTuple

import torch
from torch import Tensor

from luce.errors import DataError, LuceError, OptionError

REDUCTIONS = ("mean", "sum", "none")


class Relevant(NamedTuple):
    """The labels that are relevant to each row; all others have grade 0.

    Attributes
    ----------
    labels : Tensor of shape (E,)
        Row after row, in increasing order within a row, each once.
    offsets : int64 Tensor of shape (B + 1,)
        Row b owns labels[offsets[b]:offsets[b + 1]].
    grades : Tensor of shape (E,), optional
        Above 0; all 1 by default.
    longest : int, optional
        The largest number of labels of a row, if known, which avoids a synchronization with the GPU.
    """

    labels: Tensor
    offsets: Tensor
    grades: Tensor | None = None
    longest: int | None = None


def reduced(losses: Tensor, reduction: str, weights: Tensor | None = None) -> Tensor:
    """The mean, weighted by `weights`, the sum, or each of the losses (Q,).

    >>> import torch
    >>> losses = torch.tensor([1.0, 3.0])
    >>> reduced(losses, "mean"), reduced(losses, "mean", torch.tensor([3.0, 1.0]))
    (tensor(2.), tensor(1.5000))
    """
    _check_reduction(reduction)
    if weights is None:
        return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()
    looks = weights.device.type == "cpu" and not torch.compiler.is_compiling()
    if weights.shape != losses.shape or (looks and bool((weights < 0).any())):
        raise DataError(f"list_weights must be {len(losses)} numbers ≥ 0. Got {weights}.")
    weights = weights.to(losses.dtype)
    losses = losses * weights
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def factor_of(reduction: str, n_lists: int) -> float:
    """What the reduction multiplies the gradient of each list by.

    >>> factor_of("mean", 4), factor_of("sum", 4)
    (0.25, 1.0)
    """
    _check_reduction(reduction)
    return 1.0 / max(n_lists, 1) if reduction == "mean" else 1.0


def _check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise OptionError(f"reduction must be 'mean', 'sum' or 'none'. Got {reduction!r}.")


def one_device(*tensors: Tensor | None) -> str:
    """The kind of device that all tensors are on; nothing is copied between devices unasked."""
    devices = {tensor.device for tensor in tensors if tensor is not None}
    if len(devices) > 1:
        raise LuceError(f"All tensors must be on one device. They are on {' and '.join(sorted(map(str, devices)))}.")
    return str(devices.pop().type)
