"""Attention within ragged lists in plain PyTorch: lists of nearly one length are padded to it and attend together."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from luce.arrays import Integers, offsets_of_sizes

WASTE = 1.05
"""Work with padding, n² summed over the lists, as a multiple of that without."""

SHORT = 16
"""Lists up to this length cost about the same."""


def attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """See `luce.kernels.attention.attend`."""
    bounds = offsets.cpu().numpy()
    sizes = np.diff(bounds)
    groups = buckets(sizes.tolist())
    if not groups:
        return v.masked_fill(torch.ones((), dtype=torch.bool, device=v.device), 0.0)
    lengths = [int(sizes[group[0]]) for group in groups]
    rows, inside = _padded_rows(bounds[:-1], sizes, groups, lengths)
    places = np.full(len(q), len(rows))  # those of no list take the row of zeros after the others
    places[rows[inside]] = np.flatnonzero(inside)
    padded = torch.from_numpy(rows).to(q.device)
    counts = [len(group) * length for group, length in zip(groups, lengths, strict=True)]
    parts = [
        x.split(counts)
        for x in (torch.from_numpy(inside).to(q.device), *(x.index_select(0, padded) for x in (q, k, v)))
    ]
    attended = [_attend(length, *each) for length, *each in zip(lengths, *parts, strict=True)]
    together = torch.cat([*attended, q.new_zeros(1, *q.shape[1:])])
    return together.index_select(0, torch.from_numpy(places).to(q.device))


def _attend(length: int, inside: Tensor, *parts: Tensor) -> Tensor:
    """Attention within lists that are padded to one length, (lists · length, heads, d)."""
    q, k, v = (x.unflatten(0, (-1, length)).transpose(1, 2) for x in parts)
    mask = None if len(inside) == length else inside.view(-1, 1, 1, length)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(0, 1)


def buckets(sizes: Sequence[int]) -> list[list[int]]:
    """The numbers of the lists that have rows, from the longest down, in groups that are padded to one length.

    >>> buckets([98, 0, 100, 1, 9])
    [[2, 0], [4, 3]]
    """
    groups: list[list[int]] = []
    work, padded = 0, 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        own = max(sizes[number], SHORT) ** 2
        if not sizes[number]:
            break
        if groups and (len(groups[-1]) + 1) * padded <= WASTE * (work + own):
            groups[-1].append(number)
            work += own
        else:
            groups.append([number])
            work = padded = own
    return groups


def _padded_rows(
    starts: Integers, sizes: Integers, groups: list[list[int]], lengths: list[int]
) -> tuple[Integers, Integers]:
    """The rows of the padded lists, one after the other, and which are not padding, for which any row stands."""
    lists = np.concatenate(groups)
    padded = np.repeat(lengths, [len(group) for group in groups])
    place = np.arange(padded.sum()) - np.repeat(offsets_of_sizes(padded)[:-1], padded)
    lists = np.repeat(lists, padded)
    inside = place < sizes[lists]
    return starts[lists] + np.where(inside, place, 0), inside
