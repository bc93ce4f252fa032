"""Squared and cosine distances of ragged lists."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.label_order import longest_list
from luce.kernels.label_targets.cpu import LEAST, MOST, list_targets, target_scratch


@compiled
def squared(first, last, offsets, scores, labels, weights, value, norm, discounts, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    scratch, targets = target_scratch(longest), np.empty(longest)
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        if list_targets(labels[a:b], value, norm, discounts, scratch, targets):
            loss[q] = _square(scores[a:b], labels[a:b], weights[a:b], targets, gradient[a:b], second[a:b])
        else:
            loss[q], gradient[a:b], second[a:b] = 0.0, 0.0, 0.0


@summing
def _square(scores, labels, weights, targets, gradient, second):
    total = 0.0
    for j in range(scores.size):
        weight = weights[j] if weights.size else 1.0
        gap = scores[j] - targets[j] if labels[j] == labels[j] else 0.0
        total += weight * gap * gap
    for j in range(scores.size):
        weight = weights[j] if weights.size else 1.0
        gap = scores[j] - targets[j] if labels[j] == labels[j] else 0.0
        gradient[j] = 2.0 * weight * gap
    for j in range(second.size):
        weight = weights[j] if weights.size else 1.0
        second[j] = 2.0 * weight if labels[j] == labels[j] else 0.0
    return total


@compiled
def cosine(first, last, offsets, scores, labels, value, norm, discounts, loss, gradient):
    longest = longest_list(first, last, offsets)
    scratch, targets = target_scratch(longest), np.empty(longest)
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        if list_targets(labels[a:b], value, norm, discounts, scratch, targets) > 1:
            loss[q] = _angle(scores[a:b], labels[a:b], targets, gradient[a:b])
        else:
            loss[q], gradient[a:b] = 0.0, 0.0


@compiled
def _angle(scores, labels, targets, gradient):
    for j in range(scores.size):
        gradient[j] = scores[j] if labels[j] == labels[j] else 0.0
    scale = 1.0
    inner, square = _products(gradient, targets)
    if not LEAST < square < MOST:
        scale, inner, square = _scaled_products(gradient, targets)
    length, along = np.sqrt(square), inner / square
    rate = 0.5 / length
    for j in range(scores.size):
        gradient[j] = rate * (along * gradient[j] - targets[j])
    if scale != 1.0:
        for j in range(scores.size):
            gradient[j] /= scale
    return 0.5 - 0.5 * inner / length


@summing
def _products(scores, targets):
    """⟨t, s⟩ and ⟨s, s⟩."""
    inner, square = 0.0, 0.0
    for j in range(scores.size):
        inner += targets[j] * scores[j]
        square += scores[j] * scores[j]
    return inner, square


@compiled
def _scaled_products(scores, targets):
    """Divide the scores by the largest; that one, ⟨t, s⟩ and ⟨s, s⟩. Scores of 0 stay, with a length of 1."""
    largest = 0.0
    for s in scores:
        largest = max(largest, abs(s))
    if largest == 0.0:
        return 1.0, 0.0, 1.0
    for j in range(scores.size):
        scores[j] /= largest
    inner, square = _products(scores, targets)
    return largest, inner, square
