"""The cross-entropy by enumeration of the first places, as a reference for `cpu`."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from luce.kernels.enumeration import log_probability


def top_cross_entropy(scores: ArrayLike, labels: ArrayLike, depth: int, item_weights: ArrayLike | None = None) -> float:
    """The loss of one list without unobserved items: each choice weighs as much as the item chosen.

    >>> round(top_cross_entropy([1.0, 0.0], [0.0, 0.0], 2), 4)  # the second place is certain
    0.8133
    """
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones(len(s)) if item_weights is None else np.asarray(item_weights)
    total = 0.0
    for places in permutations(range(len(s)), min(depth, len(s))):
        order = [*places, *(i for i in range(len(s)) if i not in places)]
        steps = [log_probability(s[order[j:]], range(len(s) - j), 1) for j in range(len(places))]
        total -= np.exp(log_probability(y, order, len(places))) * float(w[list(places)] @ steps)
    return float(total)
