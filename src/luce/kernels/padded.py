"""Ragged lists on a device as padded batches and back, without waiting for the device."""

from collections.abc import Iterator

import torch
from torch import Tensor

CELLS = 1 << 22
"""Numbers in a block of columns at most, where one column alone has not more."""


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


def list_of_row(offsets: Tensor, n_rows: int) -> Tensor:
    """The number of the list of each row, (n_rows,), that of lists where a row comes after the last."""
    return torch.searchsorted(offsets, torch.arange(n_rows, device=offsets.device), right=True) - 1


def best_first(values: Tensor, offsets: Tensor) -> Tensor:
    """The rows of each list from the highest value down, NaN last and equal values as they stand.

    >>> best_first(torch.tensor([1.0, torch.nan, 0.0, 3.0, 5.0]), torch.tensor([0, 4, 5]))
    tensor([3, 0, 2, 1, 4])
    """
    order = values.nan_to_num(nan=-torch.inf).argsort(descending=True, stable=True)
    return order[list_of_row(offsets, len(values))[order].to(torch.int32).argsort(stable=True)]


def column_blocks(n_lists: int, longest: int) -> Iterator[slice]:
    """The items of padded lists, some at a time, so that the pairs of these with all items fit into memory.

    >>> list(column_blocks(3, 5))
    [slice(0, 5, None)]
    """
    size = max(1, CELLS // max(1, n_lists * longest))
    return (slice(begin, min(begin + size, longest)) for begin in range(0, longest, size))
