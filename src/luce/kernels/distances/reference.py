"""The distances in NumPy, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats


def squared(scores: ArrayLike, targets: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, Floats]:
    """Loss and gradient of one list."""
    s, t = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    w = np.ones(len(s)) if weights is None else np.asarray(weights)
    return float(np.nansum(w * (s - t) ** 2)), np.nan_to_num(2 * w * (s - t))


def cosine(scores: ArrayLike, targets: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list."""
    s, t = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    observed = ~np.isnan(t)
    gradient = np.zeros(len(s))
    if observed.sum() < 2:
        return 0.0, gradient
    s, t = s[observed], t[observed]
    length = np.linalg.norm(s)
    if length == 0:
        gradient[observed] = -t / 2
        return 0.5, gradient
    gradient[observed] = -0.5 * (t / length - (t @ s) * s / length**3)
    return float(0.5 * (1 - t @ s / length)), gradient
