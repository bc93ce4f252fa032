"""Sums of the likelihood and its derivatives over pairs, one item at a time."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list
from luce.kernels.pair_counts.outcomes import bradley_terry, davidson, rao_kupper

BRADLEY_TERRY, DAVIDSON, RAO_KUPPER = range(3)
N_BUFFERS = 7


@compiled
def sums(
    first,
    last,
    starts,
    second,
    wins,
    losses,
    ties,
    scores,
    outcome,
    parameter,
    curvature,
    gradient,
    degree,
    border,
    totals,
):
    """Write the curvature of each pair; add to the gradient, the diagonal of the second derivative and its border,

    and to `totals` the value, the derivative in the parameter and its curvature.
    """
    longest = longest_list(first, last, starts)
    delta_gradient, mixed, deltas = np.empty(longest), np.empty(longest), np.empty(longest)
    workspace = np.empty((N_BUFFERS, longest))
    value = derivative = hessian = 0.0
    for i in range(first, last):
        begin, end = starts[i], starts[i + 1]
        if begin == end:
            continue
        others, delta = second[begin:end], deltas[: end - begin]
        for k in range(len(others)):
            delta[k] = scores[i] - scores[others[k]]
        w, lost, t, curve = wins[begin:end], losses[begin:end], ties[begin:end], curvature[begin:end]
        found = 0.0, 0.0, 0.0
        if outcome == BRADLEY_TERRY:
            found = bradley_terry(delta, w, lost, delta_gradient, curve, workspace), 0.0, 0.0
        elif outcome == DAVIDSON:
            found = davidson(delta, w, lost, t, parameter, delta_gradient, curve, mixed, workspace)
        else:
            found = rao_kupper(delta, w, lost, t, parameter, delta_gradient, curve, mixed, workspace)
        value, derivative, hessian = value + found[0], derivative + found[1], hessian + found[2]
        own = own_degree = own_border = 0.0
        for k in range(len(others)):
            own += delta_gradient[k]
            own_degree += curve[k]
            gradient[others[k]] -= delta_gradient[k]
            degree[others[k]] += curve[k]
        gradient[i] += own
        degree[i] += own_degree
        if border.size:
            for k in range(len(others)):
                own_border += mixed[k]
                border[others[k]] -= mixed[k]
            border[i] += own_border
    totals[0] += value
    totals[1] += derivative
    totals[2] += hessian


@compiled
def product(first, last, starts, second, curvature, direction, result):
    for i in range(first, last):
        own, d = 0.0, direction[i]
        for pair in range(starts[i], starts[i + 1]):
            flow = curvature[pair] * (d - direction[second[pair]])
            own += flow
            result[second[pair]] -= flow
        result[i] += own


@compiled
def log_probabilities(first, last, starts, second, scores, outcome, parameter, results):
    """log P that the first wins, that it loses, and that they tie, of each pair."""
    for i in range(first, last):
        for pair in range(starts[i], starts[i + 1]):
            delta = scores[i] - scores[second[pair]]
            tie = -np.inf
            if outcome == DAVIDSON:
                highest = max(0.5 * abs(delta), parameter)
                log_d = highest + np.log(
                    np.exp(0.5 * delta - highest) + np.exp(-0.5 * delta - highest) + np.exp(parameter - highest)
                )
                win, loss, tie = 0.5 * delta - log_d, -0.5 * delta - log_d, parameter - log_d
            else:
                margin = parameter if outcome == RAO_KUPPER else 0.0
                win, loss = _log_sigmoid(delta - margin), _log_sigmoid(-delta - margin)
                if margin > 0.0:
                    tie = win + loss + 2.0 * margin + np.log(-np.expm1(-2.0 * margin))
            results[0, pair], results[1, pair], results[2, pair] = win, loss, tie


@compiled
def _log_sigmoid(x):
    return min(x, 0.0) - np.log1p(np.exp(-abs(x)))
