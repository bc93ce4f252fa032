"""Expectations by enumeration of all rankings of a few items, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.kernels.sampled_rankings.reference import prefix_probabilities


def placement_probabilities(scores: ArrayLike, depth: int) -> Floats:
    """P(item d is at place k): (n, K), of one list.

    >>> placement_probabilities([0.0, 0.0], 1)
    array([[0.5],
           [0.5]])
    """
    chances = np.zeros((len(np.asarray(scores)), depth))
    for prefix, probability in prefix_probabilities(scores, depth).items():
        chances[list(prefix), range(depth)] += probability
    return chances


def entropy(scores: ArrayLike, depth: int) -> float:
    """−Σ P log P over all ways to fill the places.

    >>> entropy([0.0, 0.0, 0.0], 3)
    1.79...
    """
    chances = np.array(list(prefix_probabilities(scores, depth).values()))
    return float(-np.sum(chances[chances > 0] * np.log(chances[chances > 0])))
