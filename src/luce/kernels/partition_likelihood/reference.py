"""The partition likelihood by its integral on a very fine grid, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, softmax

from luce.arrays import Floats

STEP = 2.0**-6
GRID = np.arange(-100 * 64, 10 * 64 + 1) * STEP
"""Logarithms of time; the integrand is nothing outside for items up to e^100 less likely than the rest."""


def choice(chosen: ArrayLike, rest: ArrayLike) -> tuple[float, Floats]:
    """log P(every chosen item before any of the rest), and E[q_i] = ∂ log P / ∂ s_i of each chosen item."""
    log_a = np.asarray(chosen, dtype=np.float64) - logsumexp(rest)
    log_x = log_a[:, None] + GRID
    x = np.exp(log_x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_w = np.where(x < 1e-8, log_x - x / 2, np.log(-np.expm1(-x)))
        q = np.where(x < 1e-8, 1 - x / 2, x / np.expm1(x))
    terms = GRID - np.exp(GRID) + log_w.sum(axis=0)
    return float(logsumexp(terms) + np.log(STEP)), np.nan_to_num(q) @ softmax(terms)


def partition_likelihood(scores: ArrayLike, labels: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list: −Σ_m log P(S_m > R_{m+1}), S_m the items of the m-th highest label."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    loss, gradient = 0.0, np.zeros(len(s))
    for label in np.unique(y[~np.isnan(y)])[:0:-1]:
        log_p, q = choice(s[y == label], s[y < label])
        loss -= log_p
        gradient[y == label] -= q
        gradient[y < label] += q.sum() * softmax(s[y < label])
    return loss, gradient


def lower_bound(scores: ArrayLike, labels: ArrayLike, item_weights: ArrayLike | None = None) -> tuple[float, Floats]:
    """Loss and gradient of one list for the bound n_m! Π_{i∈S_m} e^{s_i − lse(R_m)}."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones(len(s)) if item_weights is None else np.asarray(item_weights)
    loss, gradient = 0.0, np.zeros(len(s))
    for label in np.unique(y[~np.isnan(y)])[:0:-1]:
        total = w[y == label].sum()
        loss += total * logsumexp(s[y <= label]) - w[y == label] @ s[y == label] - gammaln(total + 1)
        gradient[y == label] -= w[y == label]
        gradient[y <= label] += total * softmax(s[y <= label])
    return loss, gradient
