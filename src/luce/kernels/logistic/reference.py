"""The logistic loss in SciPy, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from luce.arrays import Floats


def logistic(scores: ArrayLike, labels: ArrayLike, item_weights: ArrayLike | None = None) -> tuple[float, Floats]:
    """Loss and gradient of one list."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = (np.ones(len(s)) if item_weights is None else np.asarray(item_weights)) * ~np.isnan(y)
    t = (y > 0).astype(np.float64)
    loss = float(w @ (t * np.logaddexp(0, -s) + (1 - t) * np.logaddexp(0, s)))
    return loss, w * np.where(y > 0, -expit(-s), expit(s))
