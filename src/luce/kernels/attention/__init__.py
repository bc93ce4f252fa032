"""Scaled dot-product attention between the rows of each of several lists: softmax(q·kᵀ / √d) v, head by head."""

import torch
from torch import Tensor

from luce.kernels.device import device_kernels

WIDEST_ON_GPU = 128
"""Columns of a head that a program holds."""


def attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """The values that each row attends to in its own list, differentiable in q, k and v.

    Parameters
    ----------
    q, k, v : Tensor of shape (N, heads, d)
        Queries, keys and values; views of one projection are not copied on a GPU.
    offsets : int64 Tensor of shape (Q + 1,)
        List q owns the rows offsets[q]:offsets[q + 1]. Rows after the last list get 0, and gradients of 0.
    longest : int
        At least the size of the longest list.

    Returns
    -------
    Tensor of shape (N, heads, d)

    Examples
    --------
    >>> rows = torch.tensor([[[1.0]], [[1.0]], [[5.0]]])
    >>> attend(rows, rows, torch.tensor([[[1.0]], [[2.0]], [[7.0]]]), torch.tensor([0, 2, 3]), 2).flatten()
    tensor([1.5000, 1.5000, 7.0000])
    """
    fits = q.shape[-1] <= WIDEST_ON_GPU and q.dtype != torch.float64
    attended: Tensor = device_kernels("attention", q.device.type, fits).attend(q, k, v, offsets, longest)
    return attended
