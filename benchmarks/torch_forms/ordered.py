"""Likelihoods of the order that labels give: sort by label, then a cumulative sum from the last place up."""

import torch
from torch import Tensor

from torch_forms.batch import NOTHING, Batch


def _shuffled(batch: Batch) -> Tensor:
    """Scores from the highest label down, equal labels in random order, padding last.

    One permutation shuffles all lists, as is usual: it costs less than one for each.
    """
    shuffle = torch.randperm(batch.labels.shape[1], device=batch.labels.device)
    labels = batch.labels.masked_fill(~batch.mask, -torch.inf)[:, shuffle]
    return _in_order(batch, shuffle[labels.sort(dim=1, descending=True).indices])


def _in_order(batch: Batch, order: Tensor) -> Tensor:
    return batch.scores.gather(1, order).masked_fill(~batch.mask, NOTHING)


def _terms(scores: Tensor) -> Tensor:
    """lse(C_j) − s_(j) of every place, shifted by the highest score of the list."""
    shifted = scores - scores.max(dim=1, keepdim=True).values
    sums = shifted.exp().flip(1).cumsum(dim=1).flip(1)
    return torch.log(sums + 1e-30) - shifted  # padding has no sum


def by_logcumsumexp(batch: Batch) -> Tensor:
    scores = _shuffled(batch)
    return ((scores.flip(1).logcumsumexp(dim=1).flip(1) - scores) * batch.mask).sum(dim=1)


def by_shifted_sum(batch: Batch) -> Tensor:
    return (_terms(_shuffled(batch)) * batch.mask).sum(dim=1)


def halving(batch: Batch) -> Tensor:
    """α_j = (2^(n−j) − 1) / (2^(n−1) − 1)."""
    n = batch.mask.sum(dim=1, keepdim=True)
    place = torch.arange(1, batch.mask.shape[1] + 1, dtype=batch.scores.dtype, device=n.device)
    weights = (torch.exp2(1 - place) - torch.exp2(1.0 - n)) / (1 - torch.exp2(1.0 - n))
    return (_terms(_shuffled(batch)) * (weights * batch.mask)).sum(dim=1)


def above_the_lowest(batch: Batch) -> Tensor:
    """The labels have no ties above the lowest: no shuffle."""
    labels, order = batch.labels.masked_fill(~batch.mask, -torch.inf).sort(dim=1, descending=True)
    lowest = batch.labels.masked_fill(~batch.mask, torch.inf).amin(dim=1, keepdim=True)
    return (_terms(_in_order(batch, order)) * (labels > lowest)).sum(dim=1)
