"""The choice of a grade in SciPy, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from luce.arrays import Floats


def grade_choice(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, Floats]:
    """Loss and gradient of one list; NaN labels are left out."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights)
    observed = np.flatnonzero(~np.isnan(y))
    loss, gradient = 0.0, np.zeros(s.shape)
    for i in observed:
        log_p = log_softmax(s[i])
        loss -= w[i] * log_p[int(y[i])]
        gradient[i] = w[i] * (np.exp(log_p) - np.eye(s.shape[1])[int(y[i])])
    return float(loss), gradient
