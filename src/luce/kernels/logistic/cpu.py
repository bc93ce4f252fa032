"""The logistic loss of ragged lists in vector loops."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp, log1p_and_inverse
from luce.kernels.label_order import longest_list


@compiled
def logistic(first, last, offsets, scores, labels, weights, loss, gradient, second):
    terms = np.empty(longest_list(first, last, offsets))
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        mine = weights[rows] if weights.size else weights
        curved = second[rows] if second.size else second
        _fill(scores[rows], labels[rows], mine, terms, gradient[rows], curved)
        loss[q] = _total(terms[: offsets[q + 1] - offsets[q]])


@compiled
def _fill(scores, labels, weights, terms, gradient, second):
    """What each item adds. With m = −|s|: log(1 + e^s) − t s = log(1 + e^m) + [s has the wrong sign] |s|."""
    for j in range(scores.size):
        size = abs(scores[j])
        u = exp(-size)
        soft, inverse = log1p_and_inverse(u)
        far = u * inverse  # the probability of the less likely outcome; 1 − far is `inverse`
        right = (scores[j] >= 0.0) == (labels[j] > 0.0)
        w = (1.0 if labels[j] == labels[j] else 0.0) * (weights[j] if weights.size else 1.0)
        derivative = far if right else inverse
        terms[j] = w * (soft if right else soft + size)
        gradient[j] = -w * derivative if labels[j] > 0.0 else w * derivative
        if second.size:
            second[j] = w * far * inverse


@summing
def _total(terms):
    total = 0.0
    for j in range(terms.size):
        total += terms[j]
    return total
