"""The ordered likelihood in one backward and one forward pass over the list, one exponential an item."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.exponential import exp
from luce.kernels.label_order import longest_list, shuffle_ties, sort_by_label

NARROW = 300.0
"""Scores this near each other may be shifted by the highest of the list: even squares neither overflow nor vanish."""


@compiled
def ordered_likelihood(
    first,
    last,
    offsets,
    scores,
    labels,
    item_weights,
    place_weights,
    numbers,
    seed,
    step,
    permutations,
    depth,
    halving,
    loss,
    gradient,
    second,
):
    longest = longest_list(first, last, offsets)
    order = np.empty(longest, np.int64)
    scratch = np.empty((4, longest))
    weighted = halving or item_weights.size > 0 or place_weights.size > 0
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = sort_by_label(labels, start, stop, order)
        if n == 0 or labels[order[0]] == labels[order[n - 1]]:
            continue  # no item stands above another: nothing was observed
        deep = min(depth, n) if depth > 0 else _above_the_lowest(labels, order, n)
        if deep == 0:
            loss[q] = np.nan
            continue
        for sample in range(permutations):
            shuffle_ties(labels, order, n, deep, seed, step, numbers[q], sample)
            if weighted:
                _weights(order, n, deep, item_weights, place_weights, halving, scratch[3])
            loss[q] += _one_order(scores, order[:n], deep, weighted, scratch, gradient, second)
        if permutations > 1:
            loss[q] /= permutations
            for row in range(start, stop):
                gradient[row] /= permutations
            for row in range(start, stop if second.size else start):
                second[row] /= permutations


@compiled
def _above_the_lowest(labels, order, n):
    """How many items stand above the lowest label; 0 if two of them have the same label."""
    deep = 0
    while labels[order[deep]] > labels[order[n - 1]]:
        if deep and labels[order[deep]] == labels[order[deep - 1]]:
            return 0
        deep += 1
    return deep


@compiled
def _weights(order, n, depth, item_weights, place_weights, halving, weight):
    """The weight of each place: its own times that of the item there."""
    for j in range(depth):
        weight[j] = 1.0
        if halving:
            weight[j] = 2.0**-j * (1.0 - 2.0 ** (j + 1.0 - n)) / (1.0 - 2.0 ** (1.0 - n))
        elif place_weights.size:
            weight[j] = place_weights[j] if j < place_weights.size else 0.0
        if item_weights.size:
            weight[j] *= item_weights[order[j]]


@compiled
def _one_order(scores, order, depth, weighted, scratch, gradient, second):
    """Add the gradient of one order; return its loss.

    With m_j ≥ every score in C_j and z_j = Σ_{C_j} e^{s − m_j}: lse(C_j) = m_j + log z_j. Going down the list m_j never
    rises, so Σ_{i ≤ j} w_i e^{−lse(C_i)} is kept as a_j e^{−m_j} and only ever shrinks when the scale changes.
    """
    share, mass, shrink, weight = scratch[0], scratch[1], scratch[2], scratch[3]
    highest, lowest = _gather(scores, order, share)  # share: the scores, then e^{s_j − m_j}; mass: z_j, then 1 / z_j
    if highest - lowest < NARROW:
        loss = _one_scale(order, depth, highest, share, mass, shrink, weight[: depth * weighted])
        if not weighted and second.size == 0:
            _unweighted_slopes(order, depth, share, mass, gradient)
            return loss
    else:
        loss = _moving_scale(order, depth, share, mass, shrink, weight[: depth * weighted])
    a, squares, w = 0.0, 0.0, 1.0
    for j in range(depth):
        row = order[j]
        if weighted:
            w = weight[j]
        a += w * mass[j]
        gradient[row] += share[j] * a - w
        if second.size:
            squares += w * mass[j] * mass[j]
            second[row] += share[j] * a - share[j] * share[j] * squares
            squares *= shrink[j] * shrink[j]
        a *= shrink[j]
    for j in range(depth, len(order)):
        gradient[order[j]] += share[j] * a
    if second.size:
        for j in range(depth, len(order)):
            second[order[j]] += share[j] * a - share[j] * share[j] * squares
    return loss


@compiled
def _unweighted_slopes(order, depth, share, mass, gradient):
    """The gradient of the commonest case, one scale and no weights, with nothing in the chain of sums but the sum."""
    a = 0.0
    for j in range(depth):
        a += mass[j]
        gradient[order[j]] += share[j] * a - 1.0
    for j in range(depth, len(order)):
        gradient[order[j]] += share[j] * a


@summing
def _gather(scores, order, ordered):
    highest, lowest = -np.inf, np.inf
    for j in range(len(order)):
        s = scores[order[j]]
        ordered[j] = s
        highest, lowest = max(highest, s), min(lowest, s)
    return highest, lowest


@summing
def _one_scale(order, depth, highest, share, mass, shrink, weight):
    """m_j = the highest score of the list for every j."""
    loss = 0.0
    if weight.size:
        for j in range(depth):
            loss += weight[j] * (highest - share[j])
    else:
        for j in range(depth):
            loss += highest - share[j]
    for j in range(len(order)):
        share[j] = exp(share[j] - highest)
    z = 0.0
    for j in range(depth, len(order)):
        z += share[j]
    for j in range(depth - 1, -1, -1):
        z += share[j]
        mass[j] = z
        shrink[j] = 1.0
    return loss + _logarithms(depth, mass, weight)


@compiled
def _moving_scale(order, depth, share, mass, shrink, weight):
    """m_j = the highest score in C_j, for scores too far apart for one scale; shrink = e^{m_{j+1} − m_j}."""
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
        loss += (highest - s) * (weight[j] if weight.size else 1.0)
    return loss + _logarithms(depth, mass, weight)


@compiled
def _logarithms(depth, mass, weight):
    """Σ_j w_j log z_j, one logarithm for many items where the weights are 1; leaves 1 / z_j in `mass`."""
    total = 0.0
    if weight.size:
        for j in range(depth):
            total += weight[j] * np.log(mass[j])
    else:
        total = _log_of_product(mass[:depth])
    for j in range(depth):
        mass[j] = 1.0 / mass[j]
    return total


@compiled
def _log_of_product(values):
    """Σ log v: in blocks of eight while their product cannot leave the numbers, else one by one."""
    total, product, j = 0.0, 1.0, 0
    while j + 8 <= len(values):
        v = values[j : j + 8]
        block = ((v[0] * v[1]) * (v[2] * v[3])) * ((v[4] * v[5]) * (v[6] * v[7]))
        if 1e-100 < block < 1e100:
            product *= block
            if not 1e-200 < product < 1e200:
                total += np.log(product)
                product = 1.0
        else:
            for i in range(8):
                total += np.log(v[i])
        j += 8
    for i in range(j, len(values)):
        total += np.log(values[i])
    return total + np.log(product)
