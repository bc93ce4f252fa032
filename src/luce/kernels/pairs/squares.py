"""The squared loss (1 − δ)² over all pairs in O(n), from the weight, mean and scatter of the grades above."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.pairs.layout import PAD, ends_of_grades, lay_out


@compiled
def pair_squares(first, last, offsets, scores, labels, weights, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.int64), np.empty(longest, np.int64)
    work = np.empty((4, longest + PAD))
    for q in range(first, last):
        n = sort_by_label(labels, offsets[q], offsets[q + 1], order)
        if n == 0 or labels[order[0]] == labels[order[n - 1]]:
            continue
        ends_of_grades(labels, order, n, ends)
        ordered, weight, derivative, hessian = work[0], work[1], work[2], work[3]
        highest, _ = lay_out(scores, weights, order, n, ordered, weight)
        for k in range(n):
            ordered[k] -= highest  # a constant added to all scores costs no digits
        loss[q] = _above(n, ends, ordered, weight, derivative, hessian)
        _below(n, ends, ordered, weight, derivative, hessian)
        for k in range(n):
            gradient[order[k]] = derivative[k]
        if second.size:
            for k in range(n):
                second[order[k]] = hessian[k]


@summing
def _moments(scores, weights):
    """Weight, mean and scatter Σ w (s − mean)² of a grade, the scores taken from its first so that no digit is lost."""
    total, first = 0.0, 0.0
    for k in range(len(scores)):
        total += weights[k]
        first += weights[k] * (scores[k] - scores[0])
    mean = scores[0] + (first / total if total > 0.0 else 0.0)
    scatter = 0.0
    for k in range(len(scores)):
        scatter += weights[k] * (scores[k] - mean) ** 2
    return total, mean, scatter


@compiled
def _above(n, ends, ordered, weight, derivative, hessian):
    """The loss, and what the grades above do to each item: Σ_i w_i (1 − s_i + s)² = W (1 + s − mean)² + scatter."""
    loss, begin = 0.0, 0
    total, mean, scatter = 0.0, 0.0, 0.0
    while begin < n:
        end = ends[begin]
        mine, my_mean, my_scatter = _moments(ordered[begin:end], weight[begin:end])
        loss += total * (mine * (1.0 + my_mean - mean) ** 2 + my_scatter) + mine * scatter
        for k in range(begin, end):
            derivative[k] = 2.0 * weight[k] * total * (1.0 + ordered[k] - mean)
            hessian[k] = 2.0 * weight[k] * total
        total, mean, scatter = _joined(total, mean, scatter, mine, my_mean, my_scatter)
        begin = end
    return loss


@compiled
def _below(n, ends, ordered, weight, derivative, hessian):
    """What the grades below do to each item, from the last grade up."""
    total, mean, end = 0.0, 0.0, n
    while end > 0:
        begin = end - 1
        while begin > 0 and ends[begin - 1] == end:
            begin -= 1
        for k in range(begin, end):
            derivative[k] -= 2.0 * weight[k] * total * (1.0 - ordered[k] + mean)
            hessian[k] += 2.0 * weight[k] * total
        mine, my_mean, my_scatter = _moments(ordered[begin:end], weight[begin:end])
        total, mean, _ = _joined(total, mean, 0.0, mine, my_mean, my_scatter)
        end = begin


@compiled
def _joined(total, mean, scatter, more, more_mean, more_scatter):
    """Weight, mean and scatter of two groups together."""
    both = total + more
    if both == 0.0:
        return total, mean, scatter
    step = more_mean - mean
    return both, mean + step * (more / both), scatter + more_scatter + step * step * (total * more / both)
