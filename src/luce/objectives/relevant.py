"""Which labels are relevant to each row, as tensors; and how the losses of rows become one number."""

from typing import NamedTuple

from torch import Tensor

from luce.errors import LuceError, OptionError

REDUCTIONS = ("mean", "sum", "none")


class Relevant(NamedTuple):
    """The labels that are relevant to each row; all others have grade 0.

    labels: (E,), row after row, rising within a row, each once. offsets: int64 (B+1,). grades: (E,) > 0; None = all 1.
    longest: the most labels of a row, where it is known, which saves a wait for the GPU.
    """

    labels: Tensor
    offsets: Tensor
    grades: Tensor | None = None
    longest: int | None = None


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or each of the losses (B,).

    >>> import torch
    >>> reduced(torch.tensor([1.0, 3.0]), "mean")
    tensor(2.)
    """
    if reduction not in REDUCTIONS:
        raise OptionError(f"reduction must be 'mean', 'sum' or 'none'. Got {reduction!r}.")
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def one_device(*tensors: Tensor | None) -> str:
    """The kind of device that all tensors are on; nothing is copied between devices unasked."""
    devices = {tensor.device for tensor in tensors if tensor is not None}
    if len(devices) > 1:
        raise LuceError(f"All tensors must be on one device. They are on {' and '.join(sorted(map(str, devices)))}.")
    return str(devices.pop().type)
