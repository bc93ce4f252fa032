"""The estimators of the 2021 paper term by term, and the exact gradient, as a reference for `cpu`.

All are of one list; rankings are (samples, K). The paper's rank(d, y) is at most K in every sum, ω_{K+1} is 0, and the
mean over the samples is of both terms.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from luce.arrays import Floats
from luce.kernels.sampled_rankings.reference import prefix_probabilities


def algorithm_1(
    scores: ArrayLike, gains: ArrayLike, discounts: ArrayLike, rankings: ArrayLike, *, direct: bool = True
) -> Floats:
    """Algorithm 1, PL-Rank-2 (Eq. 23), line by line; without direct rewards in lines 11 and 15, PL-Rank-1 (Eq. 20).

    The placement probabilities P = e^m / M' are a softmax of the items left, as which they have all their digits.
    """
    m, rho, theta = (np.asarray(values, dtype=np.float64) for values in (scores, gains, discounts))
    weights = np.zeros(len(m))
    for y in np.asarray(rankings):
        omega = np.zeros(len(y) + 1)
        for k in reversed(range(len(y))):
            omega[k] = omega[k + 1] + theta[k] * rho[y[k]]
        for k in range(len(y)):
            weights[y[k]] += omega[k + 1] if direct else omega[k]
            left = _left(m, y[:k])
            for d, probability in zip(left, softmax(m[left]), strict=True):
                weights[d] += probability * ((theta[k] * rho[d] if direct else 0.0) - omega[k])
    return weights / len(np.asarray(rankings))


def policy_gradient(scores: ArrayLike, gains: ArrayLike, discounts: ArrayLike, rankings: ArrayLike) -> Floats:
    """Eq. 10: the mean of the derivative of log π(y) times the whole reward."""
    m, rho, theta = (np.asarray(values, dtype=np.float64) for values in (scores, gains, discounts))
    return np.mean([placement_gradients(m, y).sum(axis=0) * (theta @ rho[y]) for y in np.asarray(rankings)], axis=0)


def placement_policy_gradient(scores: ArrayLike, gains: ArrayLike, discounts: ArrayLike, rankings: ArrayLike) -> Floats:
    """Eq. 14: the derivative of the log-probability of each placement times the reward from it on."""
    m, rho, theta = (np.asarray(values, dtype=np.float64) for values in (scores, gains, discounts))
    following = [np.cumsum((theta * rho[y])[::-1])[::-1] for y in np.asarray(rankings)]
    return np.mean(
        [f @ placement_gradients(m, y) for f, y in zip(following, np.asarray(rankings), strict=True)], axis=0
    )


def placement_gradients(scores: Floats, ranking: ArrayLike) -> Floats:
    """∂ log π(y_k | y_1 … y_{k−1}) / ∂ m: (K, n)."""
    y = np.asarray(ranking)
    gradients = np.zeros((len(y), len(scores)))
    for k in range(len(y)):
        left = _left(scores, y[:k])
        gradients[k, left] -= softmax(scores[left])
        gradients[k, y[k]] += 1.0
    return gradients


def exact(scores: ArrayLike, gains: ArrayLike, discounts: ArrayLike) -> tuple[float, Floats]:
    """The expected gain and its gradient, summed over all ways to fill the places.

    >>> exact([0.0, 0.0], [1.0, 0.0], [1.0])
    (0.5, array([ 0.25, -0.25]))
    """
    m, rho, theta = (np.asarray(values, dtype=np.float64) for values in (scores, gains, discounts))
    value, gradient = 0.0, np.zeros(len(m))
    for prefix, probability in prefix_probabilities(m, min(len(theta), len(m))).items():
        y = np.array(prefix)
        reward = float(theta[: len(y)] @ rho[y])
        value += probability * reward
        gradient += probability * reward * placement_gradients(m, y).sum(axis=0)
    return value, gradient


def _left(scores: Floats, placed: ArrayLike) -> np.ndarray:
    return np.setdiff1d(np.arange(len(scores)), placed)
