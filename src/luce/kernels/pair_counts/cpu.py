"""Sums of the likelihood and its derivatives over pairs, one item at a time: a kernel for each model of outcomes.

Each writes the curvature of each pair; adds to the gradient, to the diagonal of the second derivative and to its
border, and to `totals` the value, the derivative in the parameter and its curvature. `workspace` has N_BUFFERS rows.
"""

import numpy as np

from luce.compiled import compiled, inlined
from luce.kernels.pair_counts.outcomes import bradley_terry, davidson, rao_kupper

BRADLEY_TERRY, DAVIDSON, RAO_KUPPER = range(3)
N_BUFFERS = 10
DELTA, GRADIENT, MIXED = 7, 8, 9
"""The rows of `workspace` behind those of the models."""


@compiled
def add_to_table(items, places, weights, table):
    """Add the weight of each comparison to ties 0, wins 1 or losses 2 of its lower item against the higher one."""
    for q in range(len(weights)):
        one, other = items[2 * q], items[2 * q + 1]
        if one < other:
            table[places[2 * q + 1], one, other] += weights[q]
        else:
            table[2 * places[2 * q + 1], other, one] += weights[q]


@compiled
def bradley_terry_sums(first, last, starts, counts, scores, parameter, curvature, workspace, gradient, degree, totals):
    for i in range(first, last):
        if starts[i] == starts[i + 1]:
            continue
        own = slice(starts[i], starts[i + 1])
        others, by_delta = counts.second[own], workspace[GRADIENT]
        delta = _differences(i, others, scores, workspace)
        totals[0] += bradley_terry(delta, counts.wins[own], counts.losses[own], by_delta, curvature[own], workspace)
        _add(i, others, by_delta, -1.0, gradient)
        _add(i, others, curvature[own], 1.0, degree)


@compiled
def davidson_sums(
    first, last, starts, counts, scores, parameter, curvature, workspace, gradient, degree, totals, border
):
    inputs = starts, counts, scores, parameter
    _sums(davidson, first, last, inputs, curvature, workspace, gradient, degree, totals, border)


@compiled
def rao_kupper_sums(
    first, last, starts, counts, scores, parameter, curvature, workspace, gradient, degree, totals, border
):
    inputs = starts, counts, scores, parameter
    _sums(rao_kupper, first, last, inputs, curvature, workspace, gradient, degree, totals, border)


@inlined
def _sums(model, first, last, inputs, curvature, workspace, gradient, degree, totals, border):
    """The sums of a model with a tie parameter."""
    starts, counts, scores, parameter = inputs
    for i in range(first, last):
        if starts[i] == starts[i + 1]:
            continue
        own = slice(starts[i], starts[i + 1])
        others, by_delta, mixed = counts.second[own], workspace[GRADIENT], workspace[MIXED]
        delta = _differences(i, others, scores, workspace)
        given = counts.wins[own], counts.losses[own], counts.ties[own], parameter
        value, derivative, hessian = model(delta, *given, by_delta, curvature[own], mixed, workspace)
        totals[0], totals[1], totals[2] = totals[0] + value, totals[1] + derivative, totals[2] + hessian
        _add(i, others, by_delta, -1.0, gradient)
        _add(i, others, curvature[own], 1.0, degree)
        _add(i, others, mixed, -1.0, border)


@compiled
def _differences(i, others, scores, workspace):
    delta = workspace[DELTA, : len(others)]
    for k in range(len(others)):
        delta[k] = scores[i] - scores[others[k]]
    return delta


@compiled
def _add(i, others, values, sign, result):
    """Add the values of pairs to their first item, and times the sign to the other."""
    own = 0.0
    for k in range(len(others)):
        own += values[k]
        result[others[k]] += sign * values[k]
    result[i] += own


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
