"""The two products in NumPy, on a float64 copy, as a reference for `cpu`."""

from typing import Any

import numpy as np

from luce.arrays import Floats


def scores_of(features: Any, weights: Floats) -> Floats:
    return np.asarray(features, dtype=np.float64) @ weights


def weights_of(features: Any, row_gradient: Floats) -> Floats:
    return np.asarray(features, dtype=np.float64).T @ row_gradient
