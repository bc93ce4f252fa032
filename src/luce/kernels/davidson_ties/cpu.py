"""Davidson-Luce rankings as successive choices of sets: log-probabilities, gradients and second derivatives."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.davidson_ties.subsets import log_sum_of_subsets, together
from luce.kernels.label_order import longest_list


@compiled
def evaluate(first, last, offsets, rankings, log_delta, scores, log_p, gradient, tie_gradient):
    places, open_end, orders = rankings.places, rankings.open_end, rankings.orders
    longest, n_orders = longest_list(first, last, offsets), len(orders)
    share, odds = np.empty((n_orders, longest)), np.empty(n_orders)
    chances, mean = _workspace(longest, orders), np.empty(longest)
    for q in range(first, last):
        begin, stop = offsets[q], offsets[q + 1]
        while begin < stop:
            end = _level_end(places, begin, stop)
            if _is_choice(begin, end, stop, open_end[q]):
                left = scores[begin:stop]
                log_total = _outcomes(left, orders, log_delta, odds, share, chances)
                _mean(orders, odds, share, mean[: stop - begin])
                order = np.searchsorted(orders, end - begin)
                if order < n_orders and orders[order] == end - begin:
                    log_p[q] += log_delta[order] + np.mean(scores[begin:end]) - log_total
                    tie_gradient[q, order] += 1.0
                else:
                    log_p[q] = -np.inf  # no tie of this order is possible
                for row in range(begin, stop):
                    gradient[row] -= mean[row - begin]
                for row in range(begin, end):
                    gradient[row] += 1.0 / (end - begin)
                for j in range(n_orders):
                    tie_gradient[q, j] -= odds[j]
            begin = end


@compiled
def hessian(first, last, offsets, rankings, log_delta, scores, items, weights, n_items, matrix):
    places, open_end, orders = rankings.places, rankings.open_end, rankings.orders
    longest, n_orders = longest_list(first, last, offsets), len(orders)
    share, odds = np.empty((n_orders, longest)), np.empty(n_orders)
    chances, mean = _workspace(longest, orders), np.empty(longest)
    block = np.empty((longest, longest))
    for q in range(first, last):
        begin, stop = offsets[q], offsets[q + 1]
        while begin < stop:
            end = _level_end(places, begin, stop)
            if _is_choice(begin, end, stop, open_end[q]):
                own, n, w = items[begin:stop], stop - begin, weights[q]
                _outcomes(scores[begin:stop], orders, log_delta, odds, share, chances)
                _mean(orders, odds, share, mean[:n])
                _block(scores[begin:stop], orders, odds, share, mean, block)
                for i in range(n):
                    row = matrix[own[i]]
                    for k in range(n):
                        row[own[k]] += w * block[i, k]
                    for j in range(n_orders):
                        mixed = w * odds[j] * (share[j, i] / orders[j] - mean[i])
                        row[n_items + j] += mixed
                        matrix[n_items + j, own[i]] += mixed
                for j in range(n_orders):
                    for k in range(n_orders):
                        matrix[n_items + j, n_items + k] += w * odds[j] * ((j == k) - odds[k])
            begin = end


@compiled
def product(
    first, last, offsets, rankings, log_delta, scores, weights, direction, delta_direction, result, tie_gradient
):
    places, open_end, orders = rankings.places, rankings.open_end, rankings.orders
    longest, n_orders = longest_list(first, last, offsets), len(orders)
    share, odds = np.empty((n_orders, longest)), np.empty(n_orders)
    chances, mean = _workspace(longest, orders), np.empty(longest)
    block = np.empty((longest, longest))
    for q in range(first, last):
        begin, stop = offsets[q], offsets[q + 1]
        while begin < stop:
            end = _level_end(places, begin, stop)
            if _is_choice(begin, end, stop, open_end[q]):
                n, w = stop - begin, weights[q]
                _outcomes(scores[begin:stop], orders, log_delta, odds, share, chances)
                _mean(orders, odds, share, mean[:n])
                _block(scores[begin:stop], orders, odds, share, mean, block)
                drift = 0.0
                for j in range(n_orders):
                    drift += odds[j] * delta_direction[j]
                for i in range(n):
                    total = 0.0
                    for k in range(n):
                        total += block[i, k] * direction[begin + k]
                    for j in range(n_orders):
                        mixed = odds[j] * (share[j, i] / orders[j] - mean[i])
                        total += mixed * delta_direction[j]
                        tie_gradient[j] += w * mixed * direction[begin + i]
                    result[begin + i] += w * total
                for j in range(n_orders):
                    tie_gradient[j] += w * odds[j] * (delta_direction[j] - drift)
            begin = end


@compiled
def _workspace(longest, orders):
    highest = min(longest, orders[-1]) if len(orders) else 0
    return np.empty((longest + 2, highest + 2))


@compiled
def _level_end(places, begin, stop):
    end = begin + 1
    while end < stop and places[end] == places[begin]:
        end += 1
    return end


@compiled
def _is_choice(begin, end, stop, open_end):
    """Whether something was chosen: not from a single item, and not the level that was left over."""
    return stop - begin > 1 and not (open_end and end == stop)


@compiled
def _outcomes(left, orders, log_delta, odds, share, chances):
    """The probability of each order to `odds`, that an item is in a set of this order to `share`; log of the total."""
    highest = -np.inf
    for j in range(len(orders)):
        odds[j] = -np.inf
        if orders[j] <= len(left) and log_delta[j] > -np.inf:
            odds[j] = log_delta[j] + log_sum_of_subsets(left, orders[j], share[j], chances)
        else:
            share[j, : len(left)] = 0.0
        highest = max(highest, odds[j])
    total = 0.0
    for j in range(len(orders)):
        odds[j] = np.exp(odds[j] - highest)
        total += odds[j]
    for j in range(len(orders)):
        odds[j] /= total
    return highest + np.log(total)


@compiled
def _mean(orders, odds, share, mean):
    """E[1(i ∈ S) / |S|] of each item: the derivative of the log of the total."""
    mean[:] = 0.0
    for j in range(len(orders)):
        factor = odds[j] / orders[j]
        for i in range(len(mean)):
            mean[i] += factor * share[j, i]


@compiled
def _block(left, orders, odds, share, mean, block):
    """The covariances of what an item gets of the chosen set, 1/|S| or nothing."""
    n = len(left)
    for i in range(n):
        for k in range(n):
            block[i, k] = -mean[i] * mean[k]
    for j in range(len(orders)):
        if odds[j] > 0.0:
            together(left, orders[j], share[j], odds[j] / orders[j] ** 2, block)
