"""Second derivatives of the partition likelihood by finite differences of its gradient, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.kernels.partition_likelihood.reference import partition_likelihood

STEP = 1e-4


def partition_hessian(scores: ArrayLike, places: ArrayLike) -> Floats:
    """The second derivative of −log P of one ranking in the scores of its rows, to about 1e-8."""
    s, labels = np.asarray(scores, float), -np.asarray(places, float)
    columns = []
    for unit in np.eye(len(s)) * STEP:
        near, far = (
            (partition_likelihood(s + k * unit, labels)[1] - partition_likelihood(s - k * unit, labels)[1]) / k
            for k in (1, 2)
        )
        columns.append((4 * near - far) / (6 * STEP))
    return np.stack(columns, axis=1)
