"""The ordered likelihood term by term: what `cpu` must equal."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from luce.arrays import Floats


def ordered_likelihood(
    scores: ArrayLike, order: ArrayLike, depth: int | None = None, item_weights: ArrayLike | None = None
) -> tuple[float, Floats]:
    """Loss and gradient of one list for one order of (some of) its items, best first."""
    s, places = np.asarray(scores, dtype=np.float64), np.asarray(order)
    w = np.ones(len(s)) if item_weights is None else np.asarray(item_weights)
    loss, gradient = 0.0, np.zeros(len(s))
    for j in range(len(places))[:depth]:
        chosen, context = places[j], places[j:]
        loss += w[chosen] * (logsumexp(s[context]) - s[chosen])
        gradient[context] += w[chosen] * softmax(s[context])
        gradient[chosen] -= w[chosen]
    return loss, gradient
