"""The ordered likelihood in one backward and one forward pass, one exponential an item, nothing to overflow."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import shuffle_ties, sort_by_label


@compiled
def ordered_likelihood(  # type: ignore[no-untyped-def]
    first, last, offsets, scores, labels, weights, numbers, seed, step, permutations, depth, loss, gradient
):
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    order = np.empty(longest, np.int64)
    scratch = np.empty((3, longest))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = sort_by_label(labels, start, stop, order)
        if n == 0 or labels[order[0]] == labels[order[n - 1]]:
            continue  # no item stands above another: nothing was observed
        for sample in range(permutations):
            shuffle_ties(labels, order, n, depth, seed, step, numbers[q], sample)
            loss[q] += _one_order(scores, weights, order, n, min(depth, n), scratch, gradient)
        loss[q] /= permutations
        for row in range(start, stop):
            gradient[row] /= permutations


@compiled
def _one_order(scores, weights, order, n, depth, scratch, gradient):  # type: ignore[no-untyped-def]
    """Add the gradient of one order; return its loss.

    With m_j the highest score in C_j and z_j = Σ_{C_j} e^{s − m_j} ≥ 1: lse(C_j) = m_j + log z_j. Going down the list
    m_j never rises, so Σ_{i ≤ j} e^{−lse(C_i)} is kept as a_j e^{−m_j} and only ever shrinks when the scale changes.
    """
    share, mass, shrink = scratch[0], scratch[1], scratch[2]  # e^{s_j − m_j}, z_j, e^{m_{j+1} − m_j}
    highest, z = -np.inf, 0.0
    for j in range(depth, n):
        highest = max(highest, scores[order[j]])
    for j in range(depth, n):
        share[j] = np.exp(scores[order[j]] - highest)
        z += share[j]
    loss, product = 0.0, 1.0
    for j in range(depth - 1, -1, -1):
        s = scores[order[j]]
        if s <= highest:
            share[j], shrink[j] = np.exp(s - highest), 1.0
            z += share[j]
        else:
            share[j], shrink[j] = 1.0, np.exp(highest - s)
            z = z * shrink[j] + 1.0
            highest = s
        mass[j] = z
        if weights.size:
            loss += weights[order[j]] * (highest - s + np.log(z))
        else:  # one logarithm for many items
            loss += highest - s
            product *= z
            if product > 1e250:
                loss += np.log(product)
                product = 1.0
    loss += np.log(product)
    a, w = 0.0, 1.0
    for j in range(depth):
        row = order[j]
        if weights.size:
            w = weights[row]
        a += w / mass[j]
        gradient[row] += share[j] * a - w
        a *= shrink[j]
    for j in range(depth, n):
        gradient[order[j]] += share[j] * a
    return loss
