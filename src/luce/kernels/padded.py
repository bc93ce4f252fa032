"""Ragged lists on a device as padded batches and back, without waiting for the device."""

import torch
from torch import Tensor


def inside_of(offsets: Tensor, longest: int) -> Tensor:
    """Where a padded batch (Q, longest) holds items."""
    return torch.arange(max(longest, 1), device=offsets.device) < offsets.diff()[:, None]


def padded(values: Tensor, offsets: Tensor, longest: int, fill: float) -> Tensor:
    """Values (N,) or (N, K) of lists as (Q, longest) or (Q, longest, K).

    >>> padded(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 1, 3]), 2, 0.0)
    tensor([[1., 0.],
            [2., 3.]])
    """
    places = torch.arange(max(longest, 1), device=offsets.device)
    rows = (offsets[:-1, None] + places).clamp(max=max(len(values) - 1, 0))
    inside = (places < offsets.diff()[:, None]).reshape(*rows.shape, *[1] * (values.ndim - 1))
    if not len(values):
        return values.new_full((*rows.shape, *values.shape[1:]), fill)
    return torch.where(inside, values[rows], fill)


def flat(values: Tensor, offsets: Tensor, n_rows: int) -> Tensor:
    """The items of a padded batch, list after list, (n_rows,) or (n_rows, K); the inverse of `padded`.

    Rows after the last list get any of the values.

    >>> flat(torch.tensor([[1.0, 0.0], [2.0, 3.0]]), torch.tensor([0, 1, 3]), 3)
    tensor([1., 2., 3.])
    """
    rows = torch.arange(n_rows, device=offsets.device)
    if not len(values):
        return values.new_zeros(n_rows, *values.shape[2:])
    lists = (torch.searchsorted(offsets, rows, right=True) - 1).clamp(max=len(values) - 1)
    return values[lists, (rows - offsets[lists]).clamp(max=values.shape[1] - 1)]
