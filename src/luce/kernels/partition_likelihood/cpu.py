"""The partition likelihood of ragged lists: one sort, and one integral for each set but the last."""

import math

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import exp, span
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.partition_likelihood.integral import ROWS, VECTOR, integrate

FAR = 1_000.0
"""Beyond e^±1000 times the rest, an item is certain to come later or earlier: log P is linear in its score."""


@compiled
def partition_likelihood(first, last, offsets, scores, labels, tol, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    order, ends, space = np.empty(longest, np.int64), np.empty(longest, np.int64), sorting_space(longest)
    ordered, share = np.empty(longest), np.empty(longest)  # in order: scores; e^{s − lse(R_m)}, m the item's own set
    below, rate = np.empty(longest + 1), np.empty((3, longest))  # lse(R_m); the three results of each integral
    scratch = np.empty((ROWS, longest + VECTOR))
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        if sets > 1:
            sums_from_below(scores, order, ends, sets, ordered, share, below)
            loss[q] = _integrals(ends, sets, ordered, below, tol, rate, scratch, second.size > 0)
            _spread(order, ends, sets, share, below, rate, gradient, second)


@compiled
def level_likelihood(first, last, offsets, scores, places, tol, loss, gradient):
    """The same for rows that are sorted, with places 0, 0, 1, 2 …: no sort is compiled for them, and no hessian."""
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.int64), np.empty(longest, np.int64)
    ordered, share, below = np.empty(longest), np.empty(longest), np.empty(longest + 1)
    rate, scratch, second = np.empty((3, longest)), np.empty((ROWS, longest + VECTOR)), np.empty(0)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        sets = start - start  # of the type that it keeps: a literal 0 would compile what it is passed to twice
        for row in range(start, stop):
            order[row - start] = row
            if row + 1 == stop or places[row + 1] != places[row]:
                ends[sets] = row + 1 - start
                sets += 1
        if sets > 1:
            sums_from_below(scores, order, ends, sets, ordered, share, below)
            loss[q] = _integrals(ends, sets, ordered, below, tol, rate, scratch, second.size > 0)
            _spread(order, ends, sets, share, below, rate, gradient, second)


@inlined
def sums_from_below(scores, order, ends, sets, ordered, share, below):
    """lse(R_m) of every set, from the last to the first, and each item's share of its own R_m.

    The scores in `ordered` and `below` are less the list's highest: a constant added to all costs no digits.
    """
    highest, rest = -np.inf, -np.inf
    for j in range(ends[sets - 1]):
        highest = max(highest, scores[order[j]])
    for m in range(sets - 1, -1, -1):
        part = slice(ends[m - 1] if m else 0, ends[m])
        rest = _sum(scores, order[part], highest, rest, ordered[part], share[part])
        below[m] = rest


@summing
def _sum(scores, order, zero, rest, ordered, share):
    """The log-sum-exp of these scores less `zero` and of `rest`, that of all below."""
    for j in range(len(order)):
        ordered[j] = scores[order[j]] - zero
    highest = max(rest, span(ordered)[1])
    total = exp(rest - highest)
    for j in range(len(order)):
        share[j] = exp(ordered[j] - highest)
    for j in range(len(order)):
        total += share[j]
    for j in range(len(order)):
        share[j] /= total
    return highest + np.log(total)


@inlined
def _integrals(ends, sets, ordered, below, tol, rate, scratch, hessian):
    """The integral of every set but the last; `rate` gets E[q], ∂²log P/∂s² and, first of its set, Σ_ij H_ij."""
    loss, begin = 0.0, 0
    for m in range(sets - 1):
        end = ends[m]
        if end == begin + 1:
            gap = below[m + 1] - ordered[begin]  # −log P = log(1 + e^gap)
            loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
            q = 1.0 / (1.0 + np.exp(-gap)) if gap > -700.0 else 0.0
            rate[0, begin], rate[1, begin], rate[2, begin] = q, -q * (1.0 - q), -q * (1.0 - q)
        else:
            for j in range(begin, end):
                gap = ordered[j] - below[m + 1]
                scratch[0, j - begin] = max(min(gap, FAR), -FAR)
                loss -= min(gap + FAR, 0.0)
            loss -= integrate(end - begin, tol, rate[:, begin:end], scratch, hessian)
        begin = end
    return loss


@inlined
def _spread(order, ends, sets, share, below, rate, gradient, second):
    """Gradient and second derivative of every item, from the rate of its set and the hazard: Σ of the rates above it.

    With π_k = e^{s_k − lse(R)}: Σ_m c_m π_k is kept as a·e^{s_k − lse(R_own)}, a shrinking as R does; so is Σ c_m π_k².
    """
    hazard, hazard_square, begin = 0.0, 0.0, 0
    for m in range(sets):
        for j in range(begin, ends[m]):
            row = order[j]
            gradient[row] = share[j] * hazard
            if second.size:
                second[row] = share[j] * hazard - share[j] * share[j] * hazard_square
        if m == sets - 1:
            break
        total = 0.0
        for j in range(begin, ends[m]):
            gradient[order[j]] -= rate[0, j]
            total += rate[0, j]
            if second.size:
                second[order[j]] -= rate[1, j]
        # Shares are kept relative to lse of the item's own R; going down one set rescales the hazard.
        shrink = exp(below[m + 1] - below[m])
        hazard = hazard * shrink + total
        hazard_square = hazard_square * shrink * shrink + total + (rate[2, begin] if second.size else 0.0)
        begin = ends[m]


@compiled
def partition_lower_bound(first, last, offsets, scores, labels, weights, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    order, ends, space = np.empty(longest, np.int64), np.empty(longest, np.int64), sorting_space(longest)
    ordered, share, below = np.empty(longest), np.empty(longest), np.empty(longest + 1)
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        if sets > 1:
            sums_from_below(scores, order, ends, sets, ordered, share, below)
            loss[q] = _bound(order, ends, sets, ordered, share, below, weights, gradient, second)


@compiled
def _bound(order, ends, sets, ordered, share, below, weights, gradient, second):
    """Every item of R_m is pushed down by the weight of S_m times its share of R_m; those of S_m are pulled up."""
    loss, hazard, hazard_square, begin = 0.0, 0.0, 0.0, 0
    for m in range(sets):
        total = 0.0
        if m < sets - 1:
            for j in range(begin, ends[m]):
                w = weights[order[j]] if weights.size else 1.0
                loss += w * (below[m] - ordered[j])
                gradient[order[j]] -= w
                total += w
            loss -= math.lgamma(total + 1.0)
        hazard += total
        hazard_square += total
        for j in range(begin, ends[m]):
            gradient[order[j]] += share[j] * hazard
            if second.size:
                second[order[j]] = share[j] * hazard - share[j] * share[j] * hazard_square
        if m < sets - 1:
            shrink = exp(below[m + 1] - below[m])
            hazard *= shrink
            hazard_square *= shrink * shrink
            begin = ends[m]
    return loss
