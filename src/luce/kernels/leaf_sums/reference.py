"""Leaf sums term by term, and from the full Hessian, as a reference for the compiled ones."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from luce.arrays import Floats
from luce.kernels.partition_likelihood.reference import GRID


def ordered_leaf_sums(
    scores: ArrayLike,
    order: ArrayLike,
    leaves: ArrayLike,
    n_leaves: int,
    depth: int | None = None,
    item_weights: ArrayLike | None = None,
    place_weights: ArrayLike | None = None,
) -> Floats:
    """Σ_C w p and Σ_C w p (1 − p) of each leaf for one order of (some of) the items, best first."""
    s, places, leaf = np.asarray(scores, dtype=np.float64), np.asarray(order), np.asarray(leaves)
    w = np.ones(len(s)) if item_weights is None else np.asarray(item_weights)
    alpha = np.ones(len(s)) if place_weights is None else np.asarray(place_weights)
    sums = np.zeros((2, n_leaves))
    for j in range(len(places))[:depth]:
        context = places[j:]
        p = softmax(s[context])
        within = np.bincount(leaf[context], p, n_leaves)
        without = np.array([p[leaf[context] != u].sum() for u in range(n_leaves)])
        sums += w[places[j]] * alpha[j] * np.stack([within, within * without])
    return sums


def partition_hessian(scores: ArrayLike, labels: ArrayLike) -> Floats:
    """The matrix of second derivatives of −Σ log P(S_m > R_{m+1}) of one list, block by block, on a fine grid."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    matrix = np.zeros((len(s), len(s)))
    for label in np.unique(y[~np.isnan(y)])[:0:-1]:
        chosen, rest = np.flatnonzero(y == label), np.flatnonzero(y < label)
        f, within = _moments(s[chosen] - logsumexp(s[rest]))
        share = softmax(s[rest])
        matrix[np.ix_(chosen, chosen)] -= within
        matrix[np.ix_(chosen, rest)] += np.outer(within.sum(axis=1), share)
        matrix[np.ix_(rest, chosen)] += np.outer(share, within.sum(axis=0))
        matrix[np.ix_(rest, rest)] += f * np.diag(share) - (f + within.sum()) * np.outer(share, share)
    return matrix


def _moments(log_a: Floats) -> tuple[float, Floats]:
    """Σ E[q], and Cov(q_i, q_j) + δ_ij E[q_i (1 − x_i − q_i)]."""
    log_x = log_a[:, None] + GRID
    x = np.exp(log_x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_w = np.where(x < 1e-8, log_x - x / 2, np.log(-np.expm1(-x)))
        q = np.nan_to_num(np.where(x < 1e-8, 1 - x / 2, x / np.expm1(x)))
        own = np.where(q > 0, q * (1 - x - q), 0.0)
    weight = softmax(GRID - np.exp(GRID) + log_w.sum(axis=0))
    away = q - (q @ weight)[:, None]
    return float((q @ weight).sum()), (away * weight) @ away.T + np.diag(own @ weight)
