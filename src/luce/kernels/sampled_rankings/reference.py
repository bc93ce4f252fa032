"""Rankings sampled place by place, and their exact probabilities, as a reference for `cpu`."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from luce.kernels.enumeration import log_probability


def sample_ranking(scores: ArrayLike, depth: int, rng: np.random.Generator) -> list[int]:
    """The first `depth` places: each is a draw from the softmax of the scores that are left."""
    s = np.array(scores, dtype=np.float64)
    ranking: list[int] = []
    for _ in range(min(depth, int(np.sum(s > -np.inf)))):
        ranking.append(int(rng.choice(len(s), p=softmax(s))))
        s[ranking[-1]] = -np.inf
    return ranking


def prefix_probabilities(scores: ArrayLike, depth: int) -> dict[tuple[int, ...], float]:
    """The probability of every way to fill the first `depth` places.

    >>> prefix_probabilities([0.0, 0.0, 0.0], 1)
    {(0,): 0.333..., (1,): 0.333..., (2,): 0.333...}
    """
    items = range(len(np.asarray(scores)))
    return {
        prefix: float(np.exp(log_probability(scores, prefix + tuple(set(items) - set(prefix)), depth)))
        for prefix in permutations(items, depth)
    }
