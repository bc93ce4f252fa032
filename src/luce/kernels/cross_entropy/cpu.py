"""Cross-entropy of ragged lists; scores are shifted by the highest so that nothing overflows."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp
from luce.kernels.label_order import longest_list
from luce.kernels.label_targets.cpu import highest, list_targets, target_scratch


@compiled
def cross_entropy(first, last, offsets, scores, labels, weights, value, norm, discounts, loss, gradient, second):
    longest = longest_list(first, last, offsets)
    scratch, targets = target_scratch(longest), np.empty(longest)
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        if list_targets(labels[a:b], value, norm, discounts, scratch, targets):
            loss[q] = _one_list(scores[a:b], labels[a:b], weights[a:b], targets, gradient[a:b], second[a:b])
        else:
            loss[q], gradient[a:b], second[a:b] = 0.0, 0.0, 0.0


@summing
def _one_list(scores, labels, weights, targets, gradient, second):
    total, z, below = 0.0, 0.0, 0.0
    for j in range(weights.size):
        targets[j] *= weights[j]
    for j in range(scores.size):
        gradient[j] = scores[j] if labels[j] == labels[j] else -np.inf
    for j in range(scores.size):
        total += targets[j]
    top = highest(gradient)
    for j in range(scores.size):
        gradient[j] = exp(gradient[j] - top)
    for j in range(scores.size):
        z += gradient[j]
        below += targets[j] * (top - scores[j])
    rate = 1.0 / z
    for j in range(second.size):
        p = gradient[j] * rate
        second[j] = total * p * (1.0 - p)
    rate *= total
    for j in range(scores.size):
        gradient[j] = rate * gradient[j] - targets[j]
    return below + total * np.log(z)
