"""Likelihoods of the order that labels give. From the lowest label up, the rivals of an item are those before it."""

import torch
from torch import Tensor

from torch_forms.batch import Batch


def _sorted(batch: Batch) -> Tensor:
    """Scores from the lowest label up, equal labels in a random order of each list's own, padding last."""
    keys = batch.labels + 0.5 * torch.rand(batch.labels.shape)
    order = keys.masked_fill(~batch.mask, torch.inf).argsort(dim=1)
    return batch.scores.gather(1, order)


def by_logcumsumexp(batch: Batch) -> Tensor:
    scores = _sorted(batch)
    return ((torch.logcumsumexp(scores, dim=1) - scores) * batch.mask).sum(dim=1)


def by_shifted_sum(batch: Batch) -> Tensor:
    return (_terms(_sorted(batch)) * batch.mask).sum(dim=1)


def halving(batch: Batch) -> Tensor:
    """α = (2^(n−j) − 1) / (2^(n−1) − 1) for place j from the top, which is n − j from the bottom."""
    n = batch.mask.sum(dim=1, keepdim=True)
    from_bottom = torch.arange(batch.mask.shape[1])
    weights = (torch.exp2(from_bottom + 1.0 - n) - torch.exp2(1.0 - n)) / (1 - torch.exp2(1.0 - n))
    return (_terms(_sorted(batch)) * (weights * batch.mask)).sum(dim=1)


def above_the_lowest(batch: Batch) -> Tensor:
    """Labels without ties above the lowest: no shuffle."""
    labels, order = batch.labels.masked_fill(~batch.mask, torch.inf).sort(dim=1)
    counts = (labels > labels[:, :1]) & batch.mask
    return (_terms(batch.scores.gather(1, order)) * counts).sum(dim=1)


def _terms(scores: Tensor) -> Tensor:
    shifted = scores - scores.max(dim=1, keepdim=True).values
    return torch.log(torch.cumsum(torch.exp(shifted), dim=1)) - shifted
