"""Which grade an item has: the softmax of its scores, one for each grade (McRank); NaN labels are left out.

With π_i = softmax of the scores (N, grades) of item i: loss = −Σ_i w_i log π_i[y_i], gradient (N, grades)
w (π − one-hot y), second derivative w π (1 − π). A list with a label that is no grade has loss NaN.
"""

import numpy as np

from luce.arrays import Floats


def expected_grade(scores: Floats) -> Floats:
    """The score to rank by, (N,): Σ_g g · softmax(s)_g.

    >>> expected_grade(np.array([[0.0, 0.0, 0.0], [0.0, 1e4, 0.0]]))
    array([1., 1.])
    """
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ np.arange(scores.shape[1])
