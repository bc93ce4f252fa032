"""Expected NDCG@10 of rankings sampled with Gumbel noise and topk, losses of noisy scores, and smooth ranks."""

import torch
from torch import Tensor

from torch_forms.batch import NOTHING, Batch
from torch_forms.pairwise import lambdaloss

SAMPLES, DEPTH, EXPOSURE_SAMPLES, NOISY_COPIES, TEMPERATURE = 100, 10, 200, 10, 0.1
"""The defaults of Luce."""

LEAST = 1e-12
"""What is divided by is at least this: a list may have fewer items than places."""


def policy_gradient(batch: Batch) -> Tensor:
    """REINFORCE: the reward of a ranking times its log-probability, whose value itself means nothing."""
    log_p, rewards = _placements(batch)
    return -(rewards.sum(2) * log_p.sum(2)).mean(1)


def pl_rank_1(batch: Batch) -> Tensor:
    """The placement policy gradient: a placement gets what is earned from it on."""
    log_p, rewards = _placements(batch)
    return -(rewards.flip(2).cumsum(2).flip(2) * log_p).sum(2).mean(1)


def pl_rank_2(batch: Batch) -> Tensor:
    """PL-Rank-3, whose gradient is that of pl-rank-2, as the derivative of a product."""
    gains, discounts = _normalized_gains(batch), _discounts(batch)
    gradient = pl_rank_padded(batch.scores, gains, batch.mask, discounts, SAMPLES)
    return -(gradient * batch.scores).sum(1)


def fair_policy(batch: Batch) -> Tensor:
    """NDCG@10 less the disparity of exposures: PL-Rank with the derivative in the exposures added to the gains."""
    discounts, merits = _discounts(batch), batch.gains
    exposures = torch.zeros_like(batch.labels)
    rankings, there = _rankings(batch, EXPOSURE_SAMPLES)
    given = (discounts * there / EXPOSURE_SAMPLES).flatten(1)
    exposures.scatter_add_(1, rankings.flatten(1), given)
    n = batch.mask.sum(1, keepdim=True)
    off = exposures * (merits**2).sum(1, keepdim=True) - merits * (merits * exposures).sum(1, keepdim=True)
    gains = _normalized_gains(batch) - 4 * off / (n * (n - 1))
    gradient = pl_rank_padded(batch.scores, gains, batch.mask, discounts, SAMPLES)
    return -(gradient * batch.scores).sum(1)


def stochastic(batch: Batch) -> Tensor:
    """LambdaLoss of copies of the lists with Gumbel noise, averaged."""
    scores, labels, mask = (each.repeat(NOISY_COPIES, 1) for each in (batch.scores, batch.labels, batch.mask))
    noisy = Batch(scores + _gumbel(scores.shape, scores), labels, mask, batch.parameter)
    return lambdaloss(noisy).view(NOISY_COPIES, -1).mean(0)


def approx_ndcg(batch: Batch) -> Tensor:
    """The sigmoid of an item with itself, one half, makes the ranks begin at 1 with another half."""
    higher = torch.sigmoid((batch.scores[:, None, :] - batch.scores[:, :, None]) / TEMPERATURE)
    ranks = 0.5 + (higher * batch.mask[:, None, :]).sum(2)
    return -(batch.gains / batch.ideal_dcg() / torch.log2(1 + ranks)).sum(1)


@torch.no_grad()
def pl_rank_padded(scores: Tensor, gains: Tensor, mask: Tensor, discounts: Tensor, samples: int) -> Tensor:
    """PL-Rank-3 for padded lists: Gumbel noise, topk and running sums; gives the gradient."""
    worth = scores.masked_fill(~mask, -torch.inf)
    keys = worth[:, None, :] + _gumbel((len(scores), samples, scores.shape[1]), scores)
    top = keys.topk(len(discounts), dim=2).indices
    weights = (worth - worth.amax(1, keepdim=True)).exp()
    placed = weights[:, None, :].expand_as(keys).gather(2, top)
    own = gains[:, None, :].expand_as(keys).gather(2, top)
    discounts = discounts * (placed > 0)
    left = (weights.sum(1)[:, None, None] - placed.cumsum(2) + placed).clamp(min=LEAST)
    rewards = discounts * own
    following = rewards.flip(2).cumsum(2).flip(2)
    direct, risk = (discounts / left).cumsum(2), (following / left).cumsum(2)
    common = weights * (gains * direct[:, :, -1].sum(1)[:, None] - risk[:, :, -1].sum(1)[:, None])
    extra = following - rewards + placed * (own * (direct - direct[:, :, -1:]) - (risk - risk[:, :, -1:]))
    return common.scatter_add(1, top.flatten(1), extra.flatten(1)) / samples


def _placements(batch: Batch) -> tuple[Tensor, Tensor]:
    """The log-probability (Q, samples, places) of each placement given those before it, and its reward."""
    rankings, there = _rankings(batch, SAMPLES)
    scores = batch.scores.masked_fill(~batch.mask, NOTHING)
    scores = scores - scores.detach().amax(1, keepdim=True)
    placed = _at(scores, rankings)
    worth = placed.exp()
    left = (scores.exp().sum(1)[:, None, None] - worth.cumsum(2) + worth).clamp(min=LEAST)
    rewards = _discounts(batch) * _at(_normalized_gains(batch), rankings)
    return (placed - left.log()) * there, rewards


@torch.no_grad()
def _rankings(batch: Batch, samples: int) -> tuple[Tensor, Tensor]:
    """The first items (Q, samples, places) of sampled rankings, and where there are so many."""
    scores = batch.scores.masked_fill(~batch.mask, -torch.inf)[:, None, :]
    keys = scores + _gumbel((len(scores), samples, scores.shape[2]), scores)
    top = keys.topk(min(DEPTH, scores.shape[2]), dim=2)
    return top.indices, top.values > -torch.inf


def _gumbel(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return -torch.log(-torch.log(torch.rand(shape, dtype=like.dtype, device=like.device)))


def _at(values: Tensor, rankings: Tensor) -> Tensor:
    return values.gather(1, rankings.flatten(1)).view_as(rankings)


def _normalized_gains(batch: Batch) -> Tensor:
    return batch.gains / batch.ideal_dcg(DEPTH).clamp(min=LEAST)


def _discounts(batch: Batch) -> Tensor:
    places = torch.arange(min(DEPTH, batch.mask.shape[1]), dtype=batch.labels.dtype, device=batch.labels.device)
    return 1 / torch.log2(places + 2)


SAMPLED = {
    "policy-gradient": (policy_gradient, SAMPLES),
    "pl-rank-1": (pl_rank_1, SAMPLES),
    "pl-rank-2": (pl_rank_2, SAMPLES),
    "fair-policy": (fair_policy, EXPOSURE_SAMPLES),
}
"""And how many rankings of a list they hold at once."""
