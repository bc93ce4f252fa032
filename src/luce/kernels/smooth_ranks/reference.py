"""Discounted gains at smooth ranks over all pairs, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from luce.arrays import Floats


def discounted_gains(scores: ArrayLike, gains: ArrayLike, temperature: float) -> tuple[float, Floats]:
    """Minus the discounted sum of gains of one list, and its gradient."""
    s, gain = np.asarray(scores, dtype=np.float64), np.asarray(gains, dtype=np.float64)
    above = expit((s[None, :] - s[:, None]) / temperature)  # by how much j (column) is above i (row)
    ranks = 0.5 + above.sum(axis=1)
    slopes = above * above.T / temperature
    pull = gain * np.log(2) / ((1 + ranks) * np.log1p(ranks) ** 2)
    return -float(gain @ (1 / np.log2(1 + ranks))), pull @ slopes - pull * slopes.sum(axis=1)
