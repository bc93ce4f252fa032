"""The cross-entropy term by term, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from luce.arrays import Floats


def cross_entropy(scores: ArrayLike, targets: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list; NaN targets are left out."""
    s, t = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    kept = ~np.isnan(t)
    gradient = np.zeros(len(s))
    if not kept.any():
        return 0.0, gradient
    log_p = log_softmax(s[kept])
    gradient[kept] = t[kept].sum() * np.exp(log_p) - t[kept]
    return -float(np.sum(t[kept] * log_p)), gradient
