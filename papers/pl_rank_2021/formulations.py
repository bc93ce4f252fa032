"""The gradients as the 2021 paper computes them, for Table 1: NumPy over all items of every sampled ranking (PL-Rank,
LambdaLoss), and automatic differentiation in PyTorch (policy gradients; the paper uses TensorFlow).

Our kernels give the same numbers for the same rankings, in O(n + samples · K) instead of O(samples · K · n).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.lists import Evaluation, Lists
from luce.objectives import Objective, record


def noisy_scores(scores: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """Scores with Gumbel noise (samples, n), whose orders are rankings drawn from the policy."""
    noisy: Floats = scores + rng.gumbel(size=(samples, len(scores)))
    return noisy


def first_places(noisy: Floats, cutoff: int) -> Integers:
    """The first `cutoff` items of each ranking (samples, K)."""
    top = np.argpartition(-noisy, min(cutoff, noisy.shape[1]) - 1, axis=1)[:, :cutoff]
    order: Integers = np.argsort(-np.take_along_axis(noisy, top, axis=1), axis=1)
    return np.take_along_axis(top, order, axis=1)


def following_rewards(gains: Floats, discounts: Floats, rankings: Integers) -> Floats:
    """ω_k = Σ_{x ≥ k} θ_x ρ(y_x) of each ranking, and a column of zeros after the last place (samples, K + 1)."""
    rewards = discounts[: rankings.shape[1]] * gains[rankings]
    following = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
    return np.hstack([following, np.zeros((len(rankings), 1))])


def pl_rank(scores: Floats, gains: Floats, discounts: Floats, rankings: Integers, *, second: bool) -> Floats:
    """PL-Rank-1 (Eq. 20), or the `second` (Eq. 23, Algorithm 1)."""
    worth, rows = np.exp(scores - scores.max()), np.arange(len(rankings))
    left, following = np.tile(worth, (len(rankings), 1)), following_rewards(gains, discounts, rankings)
    gradient = np.zeros(len(scores))
    for k in range(rankings.shape[1]):
        chances = left / left.sum(axis=1, keepdims=True)
        own = discounts[k] * gains if second else 0.0
        gradient += (chances * (own - following[:, k, None])).sum(axis=0)
        np.add.at(gradient, rankings[:, k], following[:, k + second])
        left[rows, rankings[:, k]] = 0.0
    return gradient / len(rankings)


def policy_gradient(
    scores: Floats, gains: Floats, discounts: Floats, rankings: Integers, *, by_placement: bool
) -> Floats:
    """The derivative of Σ_k R log π(y_k | …) (Eq. 10), or `by_placement` of Σ_k ω_k log π(y_k | …) (Eq. 14)."""
    import torch

    leaf = torch.tensor(scores, requires_grad=True)
    chosen, following = torch.from_numpy(rankings), torch.from_numpy(following_rewards(gains, discounts, rankings))
    left, total = leaf.expand(len(rankings), -1), torch.zeros((), dtype=torch.float64)
    for k in range(rankings.shape[1]):
        place = chosen[:, k : k + 1]
        log_chances = left.gather(1, place)[:, 0] - left.logsumexp(1)
        total = total + (following[:, k if by_placement else 0] * log_chances).mean()
        left = left.scatter(1, place, -torch.inf)
    total.backward()
    assert leaf.grad is not None
    gradient: Floats = leaf.grad.numpy()
    return gradient


def lambdaloss(scores: Floats, gains: Floats, discounts: Floats, noisy: Floats) -> Floats:
    """Minus the gradient of LambdaLoss over all pairs of every ranking: (θ_d − θ_{d+1}) (ρ_i − ρ_j) σ(s_j − s_i)."""
    n = len(scores)
    ranks = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    theta = np.zeros(max(n, len(discounts)) + 1)
    theta[: len(discounts)] = discounts
    above, below = np.nonzero(gains[:, None] > gains)
    distance = np.abs(ranks[:, above] - ranks[:, below])
    weights = (theta[distance - 1] - theta[distance]) * (gains[above] - gains[below])
    pulls = (weights / (1 + np.exp(noisy[:, above] - noisy[:, below])) / np.log(2)).mean(axis=0)
    gradient = np.zeros(n)
    np.add.at(gradient, above, pulls)
    np.add.at(gradient, below, -pulls)
    return gradient


def _from_rankings(estimate: Callable[..., Floats], **options: Any) -> Callable[..., Floats]:
    def call(scores: Floats, gains: Floats, discounts: Floats, noisy: Floats) -> Floats:
        return estimate(scores, gains, discounts, first_places(noisy, len(discounts)), **options)

    return call


FORMULATIONS = {
    "LambdaLoss": lambdaloss,
    "policy gradient": _from_rankings(policy_gradient, by_placement=False),
    "placement policy gradient": _from_rankings(policy_gradient, by_placement=True),
    "PL-Rank-1": _from_rankings(pl_rank, second=False),
    "PL-Rank-2": _from_rankings(pl_rank, second=True),
}
"""By the paper's names of the methods."""


def as_published(method: str, samples: int, discounts: Floats) -> Objective:
    """The formulation of a method as an objective, which trains the same network as ours."""

    def compute(lists: Lists) -> Evaluation:
        gradient = np.zeros(len(lists.scores))
        for q, (a, b) in enumerate(pairwise(lists.offsets)):
            rng = np.random.default_rng((lists.draw.seed, lists.draw.step, q))
            gains, noisy = 2 ** lists.labels[a:b] - 1, noisy_scores(lists.scores[a:b], samples, rng)
            gradient[a:b] = -FORMULATIONS[method](lists.scores[a:b], gains, discounts[: b - a], noisy)
        return Evaluation(np.zeros(len(lists.offsets) - 1), gradient)

    words: dict[str, Any] = {
        "family": "as published",
        "formula": method,
        "paper": "Oosterhuis 2021",
        "cost": "samples · K · n",
    }
    made: Objective = record(f"{method} as published", **words, random=True, gradient_only=True)(compute)
    return made
