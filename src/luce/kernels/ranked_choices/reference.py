"""Successive choices one by one, with a softmax each, as a reference for `cpu`."""

import numpy as np
from scipy.special import logsumexp

from luce.arrays import Floats
from luce.kernels.ranked_choices import Choices


def choice_sums(choices: Choices, scores: Floats) -> tuple[float, Floats, Floats]:
    """Σ w log z, the expected wins (n_items,) and the second derivative (n_items, n_items)."""
    value, expected, hessian = 0.0, np.zeros(choices.n_items), np.zeros((choices.n_items, choices.n_items))
    for q, weight in enumerate(choices.weights):
        rows = choices.items[choices.offsets[q] : choices.offsets[q + 1]].tolist()
        p = choices.pool[q]
        pool = choices.pool_items[choices.pool_offsets[p] : choices.pool_offsets[p + 1]].tolist() if p >= 0 else []
        left = rows + [item for item in pool if item not in rows]
        for j in range(choices.depth[q]):
            log_z = logsumexp(scores[left[j:]])
            share = np.zeros(choices.n_items)
            share[left[j:]] = np.exp(scores[left[j:]] - log_z)
            value += weight * log_z
            expected += weight * share
            hessian += weight * (np.diag(share) - np.outer(share, share))
    return value, expected, hessian
