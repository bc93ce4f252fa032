"""The cross-entropy term by term, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from luce.arrays import Floats


def cross_entropy(scores: ArrayLike, targets: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list; NaN targets are left out."""
    s, t = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    observed = ~np.isnan(t)
    gradient = np.zeros(len(s))
    if not observed.any():
        return 0.0, gradient
    log_p = log_softmax(s[observed])
    gradient[observed] = t[observed].sum() * np.exp(log_p) - t[observed]
    return -float(np.sum(t[observed] * log_p)), gradient
