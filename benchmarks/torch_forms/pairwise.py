"""Sums over pairs by broadcasting (Q, n, n): δ_ij = s_i − s_j where label i is the higher one."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from torch_forms.batch import Batch

TRUNCATION_LEVEL = 30
"""The default of Luce and of LightGBM."""


def _differences(batch: Batch) -> tuple[Tensor, Tensor]:
    """δ (Q, n, n), and where item i has the higher label."""
    higher = batch.labels[:, :, None] > batch.labels[:, None, :]
    both = batch.mask[:, :, None] & batch.mask[:, None, :]
    return batch.scores[:, :, None] - batch.scores[:, None, :], higher & both


def _draws(batch: Batch) -> Tensor:
    """Where both labels are equal, each pair once."""
    equal = batch.labels[:, :, None] == batch.labels[:, None, :]
    return (equal & batch.mask[:, :, None] & batch.mask[:, None, :]).triu(diagonal=1)


def ranknet(batch: Batch) -> Tensor:
    difference, higher = _differences(batch)
    return (functional.softplus(-difference) * higher).sum(dim=(1, 2))


def ranksvm(batch: Batch) -> Tensor:
    difference, higher = _differences(batch)
    return (functional.relu(1 - difference) * higher).sum(dim=(1, 2))


def rankregress(batch: Batch) -> Tensor:
    difference, higher = _differences(batch)
    return ((1 - difference) ** 2 * higher).sum(dim=(1, 2))


def davidson(batch: Batch) -> Tensor:
    difference, higher = _differences(batch)
    draws = _draws(batch)
    even = batch.parameter - difference / 2
    all_three = torch.logaddexp(functional.softplus(-difference), even)
    return (all_three * (higher | draws) - even * draws).sum(dim=(1, 2))


def rao_kupper(batch: Batch) -> Tensor:
    difference, higher = _differences(batch)
    draws = _draws(batch)
    log_theta = functional.softplus(batch.parameter)
    log_draw = batch.parameter + torch.log(2 + torch.exp(batch.parameter))  # log(θ² − 1)
    won = functional.softplus(log_theta - difference)
    lost = functional.softplus(log_theta + difference)
    return (won * (higher | draws) + (lost - log_draw) * draws).sum(dim=(1, 2))


def lambdarank(batch: Batch) -> Tensor:
    ranks = _ranks(batch)
    discounts = 1 / torch.log2(1 + ranks)
    change = (discounts[:, :, None] - discounts[:, None, :]).abs()
    return _metric_weighted(batch, ranks, change)


def lambdaloss(batch: Batch) -> Tensor:
    ranks = _ranks(batch)
    gap = (ranks[:, :, None] - ranks[:, None, :]).abs().clamp(min=1)
    change = 1 / torch.log2(1 + gap) - 1 / torch.log2(2 + gap)
    return _metric_weighted(batch, ranks, change) / math.log(2)


def _ranks(batch: Batch) -> Tensor:
    """1, 2, … from the highest score down, padding last."""
    order = batch.scores.detach().masked_fill(~batch.mask, -torch.inf).argsort(dim=1, descending=True)
    return order.argsort(dim=1).to(batch.scores.dtype) + 1


def _metric_weighted(batch: Batch, ranks: Tensor, change: Tensor) -> Tensor:
    difference, higher = _differences(batch)
    gains = batch.gains / batch.ideal_dcg(TRUNCATION_LEVEL)
    counted = torch.minimum(ranks[:, :, None], ranks[:, None, :]) <= TRUNCATION_LEVEL
    weights = (gains[:, :, None] - gains[:, None, :]) * change * (higher & counted)
    return (functional.softplus(-difference) * weights).sum(dim=(1, 2))


FORMS = {
    "ranknet": ranknet,
    "ranksvm": ranksvm,
    "rankregress": rankregress,
    "pairties-davidson": davidson,
    "pairties-rao-kupper": rao_kupper,
    "lambdarank": lambdarank,
    "lambdaloss": lambdaloss,
}
