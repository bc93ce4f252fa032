"""Successive choices of subsets whose worth is the mean worth of their items: one sort and one exponential per item."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space


@compiled
def arithmetic_choice(first, last, offsets, scores, labels, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    order, ends, space = np.empty(longest, np.int64), np.empty(longest, np.int64), sorting_space(longest)
    share, own, below = np.empty(longest), np.empty(longest), np.empty(longest + 1)
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        if sets > 1:
            _log_sums(scores, order, ends, sets, share, own, below)
            loss[q] = _write_gradient(order, ends, sets, share, own, below, gradient, second)


@compiled
def _log_sums(scores, order, ends, sets, share, own, below):
    """lse(S_m), lse(R_m) of every set from the last to the first, and each item's share e^{s − lse(S_m)} of its set."""
    for j in range(ends[sets - 1]):
        share[j] = scores[order[j]] - scores[order[0]]  # near 0, where differences keep their digits
    below[sets] = -np.inf
    for m in range(sets - 1, -1, -1):
        own[m] = _log_sum(share[ends[m - 1] if m else 0 : ends[m]])
        low, high = min(own[m], below[m + 1]), max(own[m], below[m + 1])
        below[m] = high + np.log1p(np.exp(low - high))


@summing
def _log_sum(values):
    """lse of the values, in place of which it leaves their softmax."""
    highest, total = -np.inf, 0.0
    for i in range(len(values)):
        highest = max(highest, values[i])
    for i in range(len(values)):
        values[i] = exp(values[i] - highest)
        total += values[i]
    for i in range(len(values)):
        values[i] /= total
    return highest + np.log(total)


@compiled
def _write_gradient(order, ends, sets, share, own, below, gradient, second):
    """Write gradient and second derivative, from the first set to the last; return the loss.

    hazard = Σ_{k<m} e^{lse(R_m) − lse(R_k)}: what the choices above add to the derivative of everything in R_m.
    """
    loss, hazard, hazard_square, begin = 0.0, 0.0, 0.0, 0
    for m in range(sets):
        gap = below[m + 1] - own[m]
        loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
        chosen, left = np.exp(own[m] - below[m]), np.exp(below[m + 1] - below[m])
        derivative, hessian = chosen * hazard - left, chosen * chosen * (1.0 + hazard_square) - 1.0
        for j in range(begin, ends[m]):
            gradient[order[j]] = share[j] * derivative
            if second.size:
                second[order[j]] = share[j] * derivative - share[j] * share[j] * hessian
        hazard, hazard_square = left * (hazard + 1.0), left * left * (hazard_square + 1.0)
        begin = ends[m]
    return loss


@compiled
def log_choices(first, last, offsets, labels, result):
    """Σ_k log(C_k n_k), C_k = (2^{N_k} − 1)/N_k: what normalizes the arithmetic choice of n_k out of N_k items."""
    longest = longest_list(first, last, offsets)
    order, ends, space = np.empty(longest, np.int64), np.empty(longest, np.int64), sorting_space(longest)
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        begin = 0
        for m in range(sets):
            left, chosen = np.float64(ends[sets - 1] - begin), np.float64(ends[m] - begin)
            result[q] += left * np.log(2.0) + np.log1p(-(2.0**-left)) + np.log(chosen / left)
            begin = ends[m]
