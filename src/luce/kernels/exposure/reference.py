"""Exact exposures by enumeration of all rankings, and estimates by counting, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.kernels.sampled_rankings.reference import prefix_probabilities


def exact(scores: ArrayLike, discounts: ArrayLike) -> Floats:
    """The exposure of each item of one list.

    >>> exact([0.0, 0.0, -np.inf], [1.0, 0.5])
    array([0.75, 0.75, 0.  ])
    """
    s, theta = np.asarray(scores, dtype=np.float64), np.asarray(discounts, dtype=np.float64)
    live = np.flatnonzero(s > -np.inf)
    exposures = np.zeros(len(s))
    for prefix, probability in prefix_probabilities(s[live], min(len(theta), len(live))).items():
        exposures[live[list(prefix)]] += probability * theta[: len(prefix)]
    return exposures


def counted(rankings: ArrayLike, discounts: ArrayLike, n_items: int) -> Floats:
    """The mean over rankings (samples, K) of what each item was seen.

    >>> counted([[0, 1], [1, 0]], [1.0, 0.0], 3)
    array([0.5, 0.5, 0. ])
    """
    y, theta = np.asarray(rankings), np.asarray(discounts, dtype=np.float64)
    return np.bincount(y.ravel(), np.broadcast_to(theta, y.shape).ravel(), n_items) / len(y)
