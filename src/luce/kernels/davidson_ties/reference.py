"""Choices of sets by enumeration of all subsets, as a reference for `cpu`."""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from luce.arrays import Floats


def davidson_ties(
    scores: ArrayLike, places: ArrayLike, open_end: bool, orders: ArrayLike, log_delta: ArrayLike
) -> tuple[float, Floats, Floats]:
    """log P of one ranking, its gradient in the scores and then log δ (n + T,), and minus its second derivative."""
    s, level, sizes = np.asarray(scores, float), np.asarray(places), np.asarray(orders).tolist()
    tie = np.asarray(log_delta, float)
    n = len(s)
    value, gradient, hessian = 0.0, np.zeros(n + len(sizes)), np.zeros((n + len(sizes), n + len(sizes)))
    for place in range(level.max() + 1 - open_end):
        left = np.flatnonzero(level >= place)
        if len(left) == 1:
            continue
        sets = [chosen for size in sizes for chosen in combinations(left.tolist(), size)]
        features = np.zeros((len(sets), n + len(sizes)))
        for row, chosen in enumerate(sets):
            features[row, list(chosen)] = 1 / len(chosen)
            features[row, n + sizes.index(len(chosen))] = 1
        worths = features @ np.concatenate([s, tie])
        observed = sets.index(tuple(np.flatnonzero(level == place).tolist()))
        chances = softmax(worths)
        value += worths[observed] - logsumexp(worths)
        mean = chances @ features
        gradient += features[observed] - mean
        hessian += features.T @ (chances[:, None] * features) - np.outer(mean, mean)
    return value, gradient, hessian
