"""Discounted gains at smooth ranks: the loop over the items with a gain, and the loops over their partners."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp
from luce.kernels.label_order import longest_list


@compiled
def discounted_gains(first, last, offsets, scores, gains, temperature, loss, gradient):
    """Minus the discounted sum of gains of each list, and its gradient."""
    near = np.empty(longest_list(first, last, offsets))
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        for row in range(a, b):
            if gains[row] > 0.0:
                _closeness(scores[row], scores[a:b], temperature, near)
                rank = _rank(scores[row], scores[a:b], near)
                logarithm = np.log1p(rank)
                loss[q] -= gains[row] * np.log(2.0) / logarithm
                pull = gains[row] * np.log(2.0) / ((1.0 + rank) * logarithm**2 * temperature)
                gradient[row] -= pull * _slopes(near[: b - a])
                for j in range(b - a):
                    gradient[a + j] += pull * near[j]


@summing
def _closeness(score, scores, temperature, close):
    """e^{−|s_j − s| / τ} of every item."""
    for j in range(len(scores)):
        close[j] = exp(-abs(scores[j] - score) / temperature)


@summing
def _rank(score, scores, close):
    """1 + Σ σ over the others: the item itself has σ(0) = ½."""
    rank = 0.5
    for j in range(len(scores)):
        rank += (1.0 if scores[j] > score else close[j]) / (1.0 + close[j])
    return rank


@summing
def _slopes(close):
    """Turn closeness into σ', that of the item itself included; returns the sum."""
    for j in range(len(close)):
        close[j] /= (1.0 + close[j]) ** 2
    total = 0.0
    for j in range(len(close)):
        total += close[j]
    return total
