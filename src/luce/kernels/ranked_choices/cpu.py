"""The sums over rankings in two passes: backward for the worth that was left, forward for the sums.

`rests` (Q,) is the worth of what the pool of each ranking holds beside its rows, 0 without a pool, and `left` is
workspace for the longest ranking. What reaches the rest of its pool is written for each ranking to `ends`, unless that
is empty. Pools are left to another module, and no kernel calls a function: rankings without pools compile in half the
time so.
"""

import numpy as np

from luce.compiled import compiled

BLOCK = 8
"""So many sums of worths of e^−NARROW and more may be multiplied: they stay well inside the numbers."""


@compiled
def sums(first, last, offsets, items, depth, weights, rests, worth, ends, left, hazards, log_z):
    """Add the hazard of each row, Σ w/z over its choices, to `hazards`; Σ w log z and how many choices to `log_z`."""
    # One logarithm serves many choices: rankings of one weight go on multiplying until the product leaves its bounds.
    total, weight, product, n_choices = 0.0, 1.0, 1.0, 0.0
    for q in range(first, last):
        start, stop, deep, w = offsets[q], offsets[q + 1], depth[q], weights[q]
        z = rests[q]
        for row in range(stop - 1, start + deep - 1, -1):
            z += worth[items[row]]
        for j in range(deep - 1, -1, -1):
            z += worth[items[start + j]]
            left[j] = z
        if w != weight:
            total += weight * np.log(product)
            weight, product = w, 1.0
        hazard, block = 0.0, 1.0
        for j in range(deep):
            hazard += w / left[j]
            hazards[items[start + j]] += hazard
            block *= left[j]
            if j % BLOCK == BLOCK - 1 or j == deep - 1:
                product *= block
                block = 1.0
                if not 1e-20 < product < 1e20:
                    total += w * np.log(product)
                    product = 1.0
        for row in range(start + deep, stop):
            hazards[items[row]] += hazard
        n_choices += w * deep
        if ends.size:
            ends[q] = hazard
    log_z[0] += total + weight * np.log(product)
    log_z[1] += n_choices


@compiled
def seconds(first, last, offsets, items, depth, weights, rests, worth, ends, left, squares):
    """Add Σ w/z² of the choices each row took part in."""
    for q in range(first, last):
        own = items[offsets[q] : offsets[q + 1]]
        z, square = rests[q], 0.0
        for j in range(len(own) - 1, -1, -1):
            z += worth[own[j]]
            left[j] = z
        for j in range(len(own)):
            if j < depth[q]:
                square += weights[q] / (left[j] * left[j])
            squares[own[j]] += square
        if ends.size:
            ends[q] = square


@compiled
def product(first, last, offsets, items, depth, weights, rests, both, ends, left, turned, hazard_changes):
    """Add Σ w y/z² of the choices each row took part in, y = Σ v d over what was left; `both` holds v and v d.

    So does `rests` (Q, 2).
    """
    for q in range(first, last):
        start, stop, deep, w = offsets[q], offsets[q + 1], depth[q], weights[q]
        z, y = rests[q, 0], rests[q, 1]
        for row in range(stop - 1, start + deep - 1, -1):
            z += both[items[row], 0]
            y += both[items[row], 1]
        for j in range(deep - 1, -1, -1):
            z += both[items[start + j], 0]
            y += both[items[start + j], 1]
            left[j], turned[j] = z, y
        hazard_change = 0.0
        for j in range(deep):
            hazard_change += w * turned[j] / (left[j] * left[j])
            hazard_changes[items[start + j]] += hazard_change
        for row in range(start + deep, stop):
            hazard_changes[items[row]] += hazard_change
        if ends.size:
            ends[q] = hazard_change


@compiled
def squares(first, last, offsets, items, depth, weights, pool, worth, groups, left, matrix):
    """Add half of Σ w p pᵀ, p the probabilities of groups of items at each choice, over the rankings without a pool.

    The rows i and j of a ranking were together in the choices up to the earlier of them.
    """
    for q in range(first, last):
        own = items[offsets[q] : offsets[q + 1] if pool[q] < 0 else offsets[q]]
        z, square = 0.0, 0.0
        for j in range(len(own) - 1, -1, -1):
            z += worth[own[j]]
            left[j] = z
        for j in range(len(own)):
            if j < depth[q]:
                square += weights[q] / (left[j] * left[j])
            row, factor = matrix[groups[own[j]]], square * worth[own[j]]
            row[groups[own[j]]] += 0.5 * factor * worth[own[j]]
            for i in range(j + 1, len(own)):
                row[groups[own[i]]] += factor * worth[own[i]]
