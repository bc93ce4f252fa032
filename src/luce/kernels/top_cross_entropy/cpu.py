"""The cross-entropy of the first places of ragged lists; probabilities are relative to the highest score or label."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list


@compiled
def top_cross_entropy(first, last, offsets, scores, labels, item_weights, depth, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    every, rest = np.empty(longest, np.int64), np.empty(longest, np.int64)
    p, q, r, t = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    chance, targets = np.empty(longest), np.empty(longest)
    scratch = p, q, r, t, targets
    for number in range(first, last):
        rows = slice(offsets[number], offsets[number + 1])
        s, y, w = scores[rows], labels[rows], item_weights[rows]
        derivative, hessian, n = gradient[rows], second[rows], 0
        for i in range(len(s)):
            if y[i] == y[i]:
                every[n] = i
                n += 1
        if n < 2:
            continue
        items = every[:n]
        loss[number] = first_place(s, y, w, items, 1.0, p, q, derivative, hessian)
        if depth == 2:
            loss[number] += second_place(s, y, w, items, 1.0, scratch, derivative, hessian)
        elif depth == 3:
            chance[:n] = p[:n]
            for out in range(n):
                if chance[out] > 0.0:
                    rest[:out], rest[out : n - 1] = items[:out], items[out + 1 :]
                    left = rest[: n - 1]
                    loss[number] += first_place(s, y, w, left, chance[out], p, q, derivative, hessian)
                    loss[number] += second_place(s, y, w, left, chance[out], scratch, derivative, hessian)


@compiled
def shares(values, items, without, share):
    """The softmax over all items but one, which gets 0; returns the highest value and the log of their sum above it."""
    top, total = -np.inf, 0.0
    for j in range(len(items)):
        if j != without:
            top = max(top, values[items[j]])
    for j in range(len(items)):
        share[j] = np.exp(values[items[j]] - top) if j != without else 0.0
        total += share[j]
    for j in range(len(items)):
        share[j] /= total
    return top, np.log(total)


@compiled
def highest(values, items):
    place = 0
    for j in range(1, len(items)):
        if values[items[j]] > values[items[place]]:
            place = j
    return place


@compiled
def first_place(s, y, w, items, factor, p, q, derivative, hessian):
    """Add the cross-entropy of the first place times a factor; p and q become the shares of labels and scores."""
    shares(y, items, -1, p)
    top, log_sum = shares(s, items, -1, q)
    loss, total = 0.0, 0.0
    for j in range(len(items)):
        target = p[j] * (w[items[j]] if w.size else 1.0)
        loss += target * (top - s[items[j]] + log_sum)
        total += target
        derivative[items[j]] -= factor * target
    for j in range(len(items)):
        derivative[items[j]] += factor * total * q[j]
        if hessian.size:
            hessian[items[j]] += factor * total * q[j] * (1.0 - q[j])
    return factor * loss


@compiled
def second_place(s, y, w, items, factor, scratch, derivative, hessian):
    """Add the cross-entropy of the second place times a factor, after `first_place` of the same items."""
    p, q, r, t, targets = scratch
    n = len(items)
    if n < 3:
        return 0.0
    best, liked = highest(s, items), highest(y, items)
    top, log_sum = s[items[best]], -np.log(q[best])
    below, log_below = shares(s, items, best, r)
    shares(y, items, liked, t)
    once, weighted, odds = 0.0, 0.0, 0.0
    for j in range(n):
        weight = w[items[j]] if w.size else 1.0
        weighted += weight * p[j]
        once += weight * t[j]
        if j != liked:
            odds += p[j] / (1.0 - p[j])
    loss = total = twice = lone = 0.0
    for j in range(n):
        weight = w[items[j]] if w.size else 1.0
        if j == liked:
            mass, targets[j] = p[j] * once, weight * p[j] * odds
        else:
            mass = p[j] / (1.0 - p[j]) * (weighted - weight * p[j])
            targets[j] = weight * (p[j] * (odds - p[j] / (1.0 - p[j])) + p[liked] * t[j])
        loss += targets[j] * (top - s[items[j]])
        if j == best:
            lone = mass
            loss += mass * (below - top + log_below)
        else:
            loss += mass * (log_sum + np.log1p(-q[j]))
            total += mass / (1.0 - q[j])
            twice += mass / (1.0 - q[j]) ** 2
        t[j] = mass  # its share of the labels is not needed any more
    for j in range(n):
        own = 0.0 if j == best else 1.0 / (1.0 - q[j])
        derivative[items[j]] += factor * (q[j] * (total - t[j] * own) + lone * r[j] - targets[j])
        if hessian.size:
            hessian[items[j]] += factor * (
                q[j] * (total - t[j] * own) - q[j] ** 2 * (twice - t[j] * own**2) + lone * r[j] * (1.0 - r[j])
            )
    return factor * loss
