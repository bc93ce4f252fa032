"""Sums over the subsets of a given size, weighted by products of odds, and inclusion probabilities of items."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp

NEAR = 1e-5
"""Log odds this near count as equal where the difference of two chances would lose its digits."""


@compiled
def log_sum_of_subsets(scores, size, share, chances):
    """log e_t(e^{s/t}), t = size ≤ n; writes to `share` the chance that each item is in the subset."""
    n = len(scores)
    if size == n:
        share[:n] = 1.0
        return np.mean(scores)
    if size == 1:
        return _softmax(scores, share)
    inside, outside, shift, log_scale = _odds(scores, size)
    _forward(inside, outside, size, chances)
    total = chances[n, size]
    _backward(inside, outside, size, chances, total, share)
    return log_scale + np.log(total) - size * shift


@compiled
def chances_of_subsets(scores, size, chances):
    """The chance of each item, drawn alone, to be in; chances[a, k]: that k of the first a items are. size < n."""
    inside, outside, _, _ = _odds(scores, size)
    _forward(inside, outside, size, chances)
    return inside


@compiled
def _odds(scores, size):
    """The chances of each item, alone, to be in and out when about t are in; the shift of s/t, and Σ log(1 + odds)."""
    n = len(scores)
    shift = _balanced(scores, size)
    inside, outside = np.empty(n), np.empty(n)
    log_scale = 0.0
    for i in range(n):
        x = scores[i] / size + shift
        below = np.exp(-abs(x))
        likely, rare = 1.0 / (1.0 + below), below / (1.0 + below)
        inside[i], outside[i] = (likely, rare) if x > 0.0 else (rare, likely)
        log_scale += max(x, 0.0) + np.log1p(below)
    return inside, outside, shift, log_scale


@compiled
def _softmax(scores, share):
    highest, total = scores.max(), 0.0
    for i in range(len(scores)):
        share[i] = np.exp(scores[i] - highest)
        total += share[i]
    for i in range(len(scores)):
        share[i] /= total
    return highest + np.log(total)


@summing
def _balanced(scores, size):
    """A shift of s/t with which about t of the items are expected in the subset."""
    n = len(scores)
    low, high = np.inf, -np.inf
    for s in scores:
        low, high = min(low, s), max(high, s)
    even = np.log(size / (n - size))
    low, high = even - high / size, even - low / size
    shift = 0.5 * (low + high)
    for _ in range(200):
        expected = spread = 0.0
        for s in scores:
            x = s / size + shift
            e = exp(-abs(x))
            p = (1.0 if x > 0.0 else e) / (1.0 + e)
            expected += p
            spread += p * (1.0 - p)
        if abs(expected - size) < 0.25:
            break
        if expected > size:
            high = shift
        else:
            low = shift
        step = (size - expected) / spread if spread > 0.0 else np.inf
        shift = shift + step if low < shift + step < high else 0.5 * (low + high)
    return shift


@compiled
def _forward(inside, outside, size, chances):
    """chances[a, k]: that k of the first a items are in, k ≤ size."""
    chances[0, : size + 1] = 0.0
    chances[0, 0] = 1.0
    for a in range(len(inside)):
        p, q, before, after = inside[a], outside[a], chances[a], chances[a + 1]
        after[0] = before[0] * q
        for k in range(1, size + 1):
            after[k] = before[k] * q + before[k - 1] * p


@compiled
def _backward(inside, outside, size, chances, total, share):
    """The chance of each item given that `size` are in: it is, and size − 1 of the others."""
    after = np.zeros(size)  # that k of the items behind are in
    after[0] = 1.0
    for a in range(len(inside) - 1, -1, -1):
        p, q, before = inside[a], outside[a], chances[a]
        others = 0.0
        for k in range(size):
            others += before[k] * after[size - 1 - k]
        share[a] = p * others / total
        for k in range(size - 1, 0, -1):
            after[k] = after[k] * q + after[k - 1] * p
        after[0] *= q


@compiled
def together(scores, size, share, factor, block):
    """Add factor · the chance that both i and k are in the subset; both chances apart give it, x being their odds:

    π_ik = (π_i x_k − π_k x_i) / (x_k − x_i). Items of about equal odds share what is left of Σ_k π_ik = (t − 1) π_i.
    """
    n = len(scores)
    for i in range(n):
        block[i, i] += factor * share[i]
    if size == 1:
        return
    left, near = np.empty(n), np.zeros(n, np.int64)
    for i in range(n):
        left[i] = (size - 1) * share[i]
    for i in range(n):
        for k in range(i):
            gap = abs(scores[i] - scores[k]) / size
            if gap <= NEAR:
                near[i] += 1
                near[k] += 1
                continue
            ratio = exp(-gap)
            a, b = (share[i], share[k]) if scores[i] < scores[k] else (share[k], share[i])
            both = (a - b * ratio) / (1.0 - ratio)
            left[i] -= both
            left[k] -= both
            block[i, k] += factor * both
            block[k, i] += factor * both
    for i in range(n):
        for k in range(n if near[i] else 0):
            if k != i and abs(scores[i] - scores[k]) / size <= NEAR:
                block[i, k] += factor * left[i] / near[i]
