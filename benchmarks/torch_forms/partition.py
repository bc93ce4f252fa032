"""Ordered partitions: a loop over the grades, S those of a grade and R those below; the 2020 paper's uniform grid."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from torch_forms.batch import NOTHING, Batch

NODES = 100


def _grades(batch: Batch) -> list[int]:
    return list(range(int(batch.labels.max()) + 1))


def _lse(batch: Batch, members: Tensor) -> Tensor:
    """(Q,); NOTHING and a little more where there is no member."""
    return batch.scores.masked_fill(~(members & batch.mask), NOTHING).logsumexp(dim=1)


def pmop_fd(batch: Batch) -> Tensor:
    total = batch.scores.new_zeros(len(batch.scores))
    for grade in _grades(batch):
        chosen = batch.labels == grade
        some = (chosen & batch.mask).any(dim=1)
        total = total + torch.where(some, _lse(batch, batch.labels <= grade) - _lse(batch, chosen), 0.0)
    return total


def pl_lb(batch: Batch) -> Tensor:
    total = batch.scores.new_zeros(len(batch.scores))
    lowest = batch.labels.masked_fill(~batch.mask, torch.inf).amin(dim=1)
    for grade in _grades(batch):
        chosen = (batch.labels == grade) & batch.mask & (grade > lowest[:, None])
        n = chosen.sum(dim=1).to(batch.scores.dtype)
        terms = n * _lse(batch, batch.labels <= grade) - (batch.scores * chosen).sum(dim=1) - torch.lgamma(n + 1)
        total = total + torch.where(n > 0, terms, 0.0)
    return total


def pl_partition(batch: Batch, nodes: int = NODES, substituted: bool = True) -> Tensor:
    """−Σ log ∫_0^1 Π_{i∈S} (1 − u^{a_i}) du with a_i = e^{s_i − lse(R)}, on a uniform grid, in logarithms.

    The paper's substitution u = v^b makes it ∫ b v^{b−1} Π (1 − v^{b a_i}) dv. It leaves b open; b = |S| + 1 puts the
    peak in the middle, and of the choices tried it needs the fewest nodes by far. Without it b = 1.
    Only items above the last partition meet the nodes, and a set of one item has its closed form.
    """
    lists, items = ((batch.labels > _lowest(batch)) & batch.mask).nonzero(as_tuple=True)
    grades = _grades(batch)
    rest = torch.stack([_lse(batch, batch.labels < grade) for grade in grades], dim=1)
    grade = batch.labels[lists, items].long()
    sets = lists * len(grades) + grade
    log_a = batch.scores[lists, items] - rest[lists, grade]
    sizes = torch.bincount(sets, minlength=rest.numel())
    alone = sizes[sets] == 1
    losses = batch.scores.new_zeros(len(batch.scores))
    losses = losses.index_add(0, lists[alone], functional.softplus(-log_a[alone]))
    several = (sizes > 1).nonzero().squeeze(1)
    place = torch.zeros_like(sizes)
    place[several] = torch.arange(len(several), device=several.device)
    log_p = _by_grid(log_a[~alone], place[sets[~alone]], sizes[several], nodes, substituted)
    return losses.index_add(0, several // len(grades), -log_p)


def _lowest(batch: Batch) -> Tensor:
    return batch.labels.masked_fill(~batch.mask, torch.inf).amin(dim=1, keepdim=True)


def _by_grid(log_a: Tensor, sets: Tensor, sizes: Tensor, nodes: int, substituted: bool) -> Tensor:
    """log P of each set; the integrand is 0 at both ends of the grid."""
    log_v = torch.log(torch.arange(1, nodes, dtype=log_a.dtype, device=log_a.device) / nodes)
    b = (sizes + 1).to(log_a.dtype) if substituted else torch.ones_like(sizes, dtype=log_a.dtype)
    x = torch.exp(log_a + torch.log(b[sets]))[:, None] * -log_v
    factors = torch.log(-torch.expm1(-x))
    terms = factors.new_zeros(len(sizes), nodes - 1).index_add(0, sets, factors)
    return torch.logsumexp(terms + (b[:, None] - 1) * log_v, dim=1) + torch.log(b) - math.log(nodes)
