"""Pairs as games: the loss is −log of the probability of the outcome, without draws, or by Rao-Kupper or Davidson.

Rao-Kupper: a win costs ℓ(δ) = log(1 + θ e^{−δ}), a draw ℓ(δ) + ℓ(−δ) − log(θ² − 1): a draw is a win either way, and
every item meets all items of its own grade and below, with log θ off its score. Davidson: every pair costs
log(1 + ν e^{−δ/2} + e^{−δ}), and a draw δ/2 − log ν more, which needs no loop over pairs.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.pairs import loops
from luce.kernels.pairs.draws import DAVIDSON, NO_DRAWS, RAO_KUPPER, constants_of_draws, own_share
from luce.kernels.pairs.layout import PAD, ends_of_grades, lay_out, padded

RANGE = 690.0
"""The logarithm of the largest product that may wait for its logarithm."""

SMALL = 1e-6
"""Mean derivative below which a product of 1 + e^{−δ} is too inaccurate, and pairs are taken one by one."""

FEW = 1_000
"""Pairs an item up to which going through them is quicker than `blocks`, all of whose blocks have fewer."""


@compiled
def pair_outcomes(
    first, last, offsets, scores, labels, weights, draws, parameter, loss, nuisance, gradient, second, left
):
    """Go through the pairs of every list, but only note in `left` which lists have too many."""
    longest = longest_list(first, last, offsets)
    order, ends, starts = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    work = np.empty((7, longest + PAD))
    for q in range(first, last):
        n = sort_by_label(labels, offsets[q], offsets[q + 1], order)
        if n < 2 or (draws == NO_DRAWS and labels[order[0]] == labels[order[n - 1]]):
            continue  # no pair, or none that says anything
        ends_of_grades(labels, order, n, ends)
        pairs = _first_partners(n, ends, draws, starts)
        if pairs > FEW * n:
            left[q] = True
            continue
        loss[q], nuisance[q] = _one_list(
            n, pairs, order, ends, starts, scores, weights, draws, parameter, work, second.size > 0
        )
        for k in range(n):
            gradient[order[k]] = work[2, k]
        if second.size:
            for k in range(n):
                second[order[k]] = max(work[3, k], 0.0)  # games with oneself were added and taken off


@compiled
def _first_partners(n, ends, draws, starts):
    """Where the partners of each item start; they go on to the end of the list. Returns how many pairs that makes.

    Without draws: the grades below. Rao-Kupper: the own grade too. Davidson: every pair once, items in twos.
    """
    begin, pairs = 0, 0
    for k in range(n):
        if k > 0 and ends[k] != ends[k - 1]:
            begin = k
        if draws == NO_DRAWS:
            starts[k] = ends[k]
        elif draws == RAO_KUPPER:
            starts[k] = begin
        else:
            starts[k] = k | 1
        pairs += max(n - starts[k], 0)
    return pairs


@compiled
def _one_list(n, pairs, order, ends, starts, scores, weights, draws, parameter, work, curved):
    """Loss and derivative of the tie parameter of one list; leaves the gradient in work[2], the hessians in work[3]."""
    ordered, weight, derivative, hessian = (
        work[0][: n + PAD],
        work[1][: n + PAD],
        work[2][: n + PAD],
        work[3][: n + PAD],
    )
    highest, lowest = lay_out(scores, weights, order, n, ordered, weight)
    margin = np.log1p(np.exp(parameter)) if draws == RAO_KUPPER else 0.0
    tie = np.exp(parameter) if draws == DAVIDSON else 0.0
    middle = 0.5 * (highest + lowest)
    rounds = int(0.5 * RANGE / (highest - lowest + margin + np.log(2.0 + tie)))
    quick = weights.size == 0 and rounds > 0
    sums = 0.0, 0.0, 0.0
    if quick:
        wanted = hessian if curved else hessian[:0]
        sums = _two_by_two(n, starts, middle, margin, tie, rounds, ordered, derivative, wanted, work[4:7])
    if not quick or sums[1] < SMALL * pairs:
        quick = False
        sums = _one_by_one(n, starts, margin, tie, ordered, weight, derivative, hessian, work[4:6])
    if draws == NO_DRAWS:
        fixed, fixed_derivative = 0.0, 0.0
    else:
        met = starts if quick else starts[:0]
        fixed, fixed_derivative = constants_of_draws(
            n, ends, met, draws, parameter, middle, ordered, weight, derivative, hessian
        )
    return sums[0] + fixed, own_share(draws, parameter) * sums[1] + sums[2] + fixed_derivative


@compiled
def _two_by_two(n, starts, middle, margin, tie, rounds, ordered, derivative, hessian, work):
    """All pairs by e^s of each item, two items with the same partners at a time; returns Σ loss, Σ wrong, Σ drawn."""
    a, b, product = work[0][: n + PAD], work[1][: n + PAD], work[2][: n + PAD]
    _powers(ordered, 1.0 if tie == 0.0 else 0.5, middle, margin, a, b)
    product[:] = 1.0
    derivative[:] = 0.0
    hessian[:] = 0.0
    loss, wrong, drawn = 0.0, 0.0, 0.0
    i, waiting = 0, 0
    while i < n and starts[i] < n:
        two = i + 1 < n and starts[i + 1] == starts[i]
        begin, stop = starts[i], padded(starts[i], n)
        partners = a[begin:stop], product[begin:stop], derivative[begin:stop], hessian[begin:stop]
        second = b[i + 1] if two else 0.0
        if tie == 0.0:
            wrong0, wrong1, hessian_sum0, hessian_sum1 = loops.two_logistic(b[i], second, *partners)
        else:
            wrong0, wrong1, hessian_sum0, hessian_sum1, draw = loops.two_davidson(b[i], second, tie, *partners)
            drawn += draw
        derivative[i] -= wrong0
        wrong += wrong0 + wrong1
        if two:
            derivative[i + 1] -= wrong1
        if len(hessian):
            hessian[i] += hessian_sum0
            if two:
                hessian[i + 1] += hessian_sum1
        waiting += 1
        if waiting == rounds:
            loss += loops.logarithms(product)
            waiting = 0
        i += 2 if two else 1
    return loss + loops.logarithms(product), wrong, drawn


@summing
def _powers(ordered, rate, middle, margin, a, b):
    """e^{rate (s − middle)} of each item as a lower partner, and the inverse, with the margin, as an upper one."""
    for k in range(len(ordered)):
        a[k] = exp(rate * (ordered[k] - middle))
        b[k] = exp(rate * (middle - ordered[k] + margin))


@compiled
def _one_by_one(n, starts, margin, tie, ordered, weight, derivative, hessian, work):
    """The same for any scores and weights, an exponential and a logarithm a pair."""
    close, pair = work[0], work[1]
    derivative[:] = 0.0
    hessian[:] = 0.0
    loss, wrong, drawn = 0.0, 0.0, 0.0
    for i in range(n):
        if starts[i] >= n:
            break
        begin, stop = starts[i], padded(starts[i], n)
        here, s = slice(begin, stop), ordered[i] - margin
        loops.product_weights(weight[i], weight[here], pair[here])
        if begin <= i:
            pair[i] = 0.0  # no game with itself
        loops.closeness(s, 1.0 if tie == 0.0 else 0.5, ordered[here], close[here])
        partners = ordered[here], close[here], pair[here], derivative[here], hessian[here]
        if tie == 0.0:
            value, mine, hessian_sum = loops.logistic(s, *partners)
        else:
            value, mine, hessian_sum, draw = loops.davidson(s, tie, *partners)
            drawn += draw
        loss += value
        wrong += mine
        derivative[i] -= mine
        hessian[i] += hessian_sum
    return loss, wrong, drawn
