"""The ordered likelihood term by term, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from luce.arrays import Floats


def ordered_likelihood(
    scores: ArrayLike,
    order: ArrayLike,
    depth: int | None = None,
    item_weights: ArrayLike | None = None,
    place_weights: ArrayLike | None = None,
) -> tuple[float, Floats, Floats]:
    """Loss, gradient and diagonal second derivative of one list for one order of (some of) its items, best first."""
    s, places = np.asarray(scores, dtype=np.float64), np.asarray(order)
    w = np.ones(len(s)) if item_weights is None else np.asarray(item_weights)
    alpha = np.ones(len(s)) if place_weights is None else np.asarray(place_weights)
    loss, gradient, second = 0.0, np.zeros(len(s)), np.zeros(len(s))
    for j in range(len(places))[:depth]:
        chosen, context = places[j], places[j:]
        weight = w[chosen] * alpha[j]
        p = softmax(s[context])
        loss += weight * (logsumexp(s[context]) - s[chosen])
        gradient[context] += weight * p
        gradient[chosen] -= weight
        second[context] += weight * p * (1 - p)
    return loss, gradient, second


def halving(n: int) -> Floats:
    """The place weights of the 2014 paper, 2^(n−j) − 1 for j = 1 … n, as a ratio to the first; n = 1: 0."""
    alpha = np.array([2.0 ** (n - j) - 1 for j in range(1, n + 1)])
    return alpha / alpha[0] if n > 1 else alpha
