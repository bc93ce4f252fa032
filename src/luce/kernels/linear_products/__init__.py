"""The two products of a linear scorer with float32 features: X w and Xᵀ g, summed in float64 and never copied."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from luce.arrays import Floats, is_sparse, read_only
from luce.kernels.linear_products import cpu
from luce.threads import in_parallel, thread_count

BLOCK = 4_096
"""Rows summed together; fixed, so that the sums do not depend on the number of threads."""


def scores_of(features: Any, weights: Floats, *, n_jobs: int | None = None) -> Floats:
    """X w, (N,).

    >>> scores_of(np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    if is_sparse(features):
        return np.asarray(features @ weights, dtype=np.float64)
    result = np.empty(len(features))
    X, w = read_only(features), read_only(weights)
    cuts = np.linspace(0, len(features), thread_count(n_jobs) + 1 if len(features) > BLOCK else 2).astype(int)
    in_parallel([partial(cpu.scores_of, X[a:b], w, result[a:b]) for a, b in pairwise(cuts)], n_jobs)
    return result


def weights_of(features: Any, row_gradient: Floats, *, n_jobs: int | None = None) -> Floats:
    """Xᵀ g, (F,).

    >>> weights_of(np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([1.0, 10.0]))
    array([31., 42.])
    """
    if is_sparse(features):
        return np.asarray(features.T @ row_gradient, dtype=np.float64)
    X, g = read_only(features), read_only(row_gradient)
    cuts = np.append(np.arange(0, len(features), BLOCK), len(features))
    parts = in_parallel([partial(cpu.weights_of, X[a:b], g[a:b]) for a, b in pairwise(cuts)], n_jobs)
    return np.sum(parts, axis=0) if parts else np.zeros(features.shape[1])
