"""The ordered likelihood in one backward and one forward pass over the list, one exponential an item."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.exponential import exp
from luce.kernels.label_order import shuffle_ties, sort_by_label

NARROW = 600.0
"""Scores this near each other may be shifted by the highest of the list and then neither overflow nor vanish."""


@compiled
def ordered_likelihood(
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
            loss[q] += _one_order(scores, weights, order[:n], min(depth, n), scratch, gradient)
        if permutations > 1:
            loss[q] /= permutations
            for row in range(start, stop):
                gradient[row] /= permutations


@compiled
def _one_order(scores, weights, order, depth, scratch, gradient):
    """Add the gradient of one order; return its loss.

    With m_j ≥ every score in C_j and z_j = Σ_{C_j} e^{s − m_j}: lse(C_j) = m_j + log z_j. Going down the list m_j never
    rises, so Σ_{i ≤ j} w_i e^{−lse(C_i)} is kept as a_j e^{−m_j} and only ever shrinks when the scale changes.
    """
    share, mass, shrink = scratch[0], scratch[1], scratch[2]  # e^{s_j − m_j}, z_j, e^{m_{j+1} − m_j}
    highest, lowest = _gather(scores, order, share)
    if highest - lowest < NARROW:
        loss = _one_scale(order, depth, highest, share, mass, shrink, weights)
    else:
        loss = _moving_scale(order, depth, share, mass, shrink, weights)
    a, w = 0.0, 1.0
    for j in range(depth):
        row = order[j]
        if weights.size:
            w = weights[row]
        a += w * mass[j]
        gradient[row] += share[j] * a - w
        a *= shrink[j]
    for j in range(depth, len(order)):
        gradient[order[j]] += share[j] * a
    return loss


@summing
def _gather(scores, order, ordered):
    highest, lowest = -np.inf, np.inf
    for j in range(len(order)):
        s = scores[order[j]]
        ordered[j] = s
        highest, lowest = max(highest, s), min(lowest, s)
    return highest, lowest


@summing
def _one_scale(order, depth, highest, share, mass, shrink, weights):
    """m_j = the highest score of the list for every j; `share` holds the scores and then the shares."""
    loss = 0.0
    if weights.size == 0:
        for j in range(depth):
            loss += highest - share[j]
    else:
        for j in range(depth):
            loss += weights[order[j]] * (highest - share[j])
    for j in range(len(order)):
        share[j] = exp(share[j] - highest)
    z = 0.0
    for j in range(depth, len(order)):
        z += share[j]
    for j in range(depth - 1, -1, -1):
        z += share[j]
        mass[j] = z
        shrink[j] = 1.0
    return loss + _logarithms(order, depth, mass, weights)


@compiled
def _moving_scale(order, depth, share, mass, shrink, weights):
    """m_j = the highest score in C_j, for scores so far apart that one scale would lose some."""
    highest, z, loss = -np.inf, 0.0, 0.0
    for j in range(depth, len(order)):
        highest = max(highest, share[j])
    for j in range(depth, len(order)):
        share[j] = np.exp(share[j] - highest)
        z += share[j]
    for j in range(depth - 1, -1, -1):
        s = share[j]
        if s <= highest:
            share[j], shrink[j] = np.exp(s - highest), 1.0
            z += share[j]
        else:
            share[j], shrink[j] = 1.0, np.exp(highest - s)
            z = z * shrink[j] + 1.0
            highest = s
        mass[j] = z
        loss += (highest - s) * (weights[order[j]] if weights.size else 1.0)
    return loss + _logarithms(order, depth, mass, weights)


@compiled
def _logarithms(order, depth, mass, weights):
    """Σ_j w_j log z_j, one logarithm for many items where the weights are 1; leaves 1/z_j in `mass`."""
    total = 0.0
    if weights.size:
        for j in range(depth):
            total += weights[order[j]] * np.log(mass[j])
    else:
        product = 1.0
        for j in range(depth):
            if not 1e-40 < product < 1e280:  # a mass lies between e^−600 and the number of items
                total += np.log(product)
                product = 1.0
            product *= mass[j]
        total += np.log(product)
    for j in range(depth):
        mass[j] = 1.0 / mass[j]
    return total
