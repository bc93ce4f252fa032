"""What is left of pools beside the rows of rankings, and sums over it."""

import numpy as np

from luce.compiled import compiled

SMALL_REST = 0.03
"""The rest of a pool below this part of the pool is summed anew, item by item: the difference has lost digits."""


@compiled
def squares(first, last, offsets, items, depth, weights, pool, rests, worth, left, matrix):
    """Add half of Σ w p pᵀ over the rankings with a pool; pools are coordinates behind the items.

    What was left at choice j is the pool less the rows before j: p = (pool − Σ_{i<j} v_i e_i) / z_j.
    """
    for q in range(first, last):
        if pool[q] < 0:
            continue
        own, place = items[offsets[q] : offsets[q + 1]], len(worth) + pool[q]
        z = rests[q]
        for j in range(len(own) - 1, -1, -1):
            z += worth[own[j]]
            left[j] = z
        square = 0.0
        for j in range(depth[q] - 1, 0, -1):
            square += weights[q] / (left[j] * left[j])
            row, factor = matrix[own[j - 1]], square * worth[own[j - 1]]
            row[place] -= factor
            row[own[j - 1]] += 0.5 * factor * worth[own[j - 1]]
            for i in range(j - 1):
                row[own[i]] += factor * worth[own[i]]
        matrix[place, place] += 0.5 * (square + weights[q] / (left[0] * left[0]))


@compiled
def rests(first, last, offsets, choices, values, totals, result):
    """Sum each column of `values`, the first of them v, over what the pool of each ranking holds beside its rows."""
    items, _, _, _, pool, pool_items, pool_offsets, _ = choices
    stamp = np.full(len(values), -1)
    for q in range(first, last):
        if pool[q] < 0:
            continue
        own, whole = items[offsets[q] : offsets[q + 1]], totals[pool[q]]
        for column in range(values.shape[1]):
            result[q, column] = whole[column]
            for item in own:
                result[q, column] -= values[item, column]
        if result[q, 0] < SMALL_REST * whole[0]:
            for item in own:
                stamp[item] = q
            result[q] = 0.0
            for item in pool_items[pool_offsets[pool[q]] : pool_offsets[pool[q] + 1]]:
                if stamp[item] != q:
                    for column in range(values.shape[1]):
                        result[q, column] += values[item, column]


@compiled
def to_pools(choices, ends):
    """For each item, Σ ends[q] over the rankings whose pool holds it and that do not name it (n_items,).

    That is the sum over all rankings of a pool less those that name the item: both are carried with what rounding
    took from them, for they may be far larger than their difference.
    """
    items, offsets, _, _, pool, pool_items, pool_offsets, n_items = choices
    of_pool = np.zeros((len(pool_offsets) - 1, 2))
    of_item = np.zeros((n_items, 2))
    for q in range(len(offsets) - 1):
        if pool[q] >= 0:
            _add(of_pool[pool[q]], ends[q])
            for row in range(offsets[q], offsets[q + 1]):
                _add(of_item[items[row]], -ends[q])
    for p in range(len(of_pool)):
        for place in range(pool_offsets[p], pool_offsets[p + 1]):
            _add(of_item[pool_items[place]], of_pool[p, 0])
            of_item[pool_items[place], 1] += of_pool[p, 1]
    return of_item[:, 0] + of_item[:, 1]


@compiled
def _add(total, value):
    """Add to total[0], and what rounding took away to total[1]."""
    before = total[0]
    after = before + value
    part = after - before
    total[0] = after
    total[1] += (before - (after - part)) + (value - part)
