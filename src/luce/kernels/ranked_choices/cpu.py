"""The sums over rankings in two passes: backward for the worth that was left, forward for the sums."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list

SMALL_REST = 0.03
"""The rest of a pool below this part of the pool is summed anew, item by item: the difference has lost digits."""

BLOCK = 8
"""So many sums of worths of e^−NARROW and more may be multiplied: they stay well inside the numbers."""


@compiled
def sums(first, last, offsets, choices, worth, totals, ends, hazards, log_z):
    """Add the hazard of each row, Σ w/z over its choices, to `hazards`; Σ w log z and how many choices to `log_z`.

    What reaches the rest of its pool is written for each ranking to `ends`.
    """
    items, _, depth, weights, pool, pool_items, pool_offsets, _ = choices
    left = np.empty(longest_list(first, last, offsets))
    stamp = np.full(len(worth) if len(pool_items) else 0, -1)
    # One logarithm serves many choices: rankings of one weight go on multiplying until the product leaves its bounds.
    total, weight, product, n_choices = 0.0, 1.0, 1.0, 0.0
    for q in range(first, last):
        start, stop, deep, w = offsets[q], offsets[q + 1], depth[q], weights[q]
        z = 0.0
        if pool[q] >= 0:
            z = _rest(q, items[start:stop], pool, pool_items, pool_offsets, worth, totals, stamp)
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
def seconds(first, last, offsets, choices, worth, totals, ends, squares):
    """Add Σ w/z² of the choices each row took part in."""
    items, _, depth, weights, pool, pool_items, pool_offsets, _ = choices
    left = np.empty(longest_list(first, last, offsets))
    stamp = np.full(len(worth) if len(pool_items) else 0, -1)
    for q in range(first, last):
        own = items[offsets[q] : offsets[q + 1]]
        z, square = 0.0, 0.0
        if pool[q] >= 0:
            z = _rest(q, own, pool, pool_items, pool_offsets, worth, totals, stamp)
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
def product(first, last, offsets, choices, both, totals, ends, hazard_changes):
    """Add Σ w y/z² of the choices each row took part in, y = Σ v d over what was left; `both` holds v and v d."""
    items, _, depth, weights, pool, pool_items, pool_offsets, _ = choices
    longest = longest_list(first, last, offsets)
    left, turned = np.empty(longest), np.empty(longest)
    stamp = np.full(len(both) if len(pool_items) else 0, -1)
    for q in range(first, last):
        start, stop, deep, w = offsets[q], offsets[q + 1], depth[q], weights[q]
        z = y = 0.0
        if pool[q] >= 0:
            z, y = _both_rests(q, items[start:stop], pool, pool_items, pool_offsets, both, totals, stamp)
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
def squares(first, last, offsets, choices, worth, totals, groups, matrix):
    """Add half of Σ w p pᵀ, p the probabilities at each choice: over items, and pools as coordinates behind them.

    Without pools, over groups of items.
    """
    items, _, depth, weights, pool, pool_items, pool_offsets, _ = choices
    left = np.empty(longest_list(first, last, offsets))
    stamp = np.full(len(worth) if len(pool_items) else 0, -1)
    for q in range(first, last):
        own = items[offsets[q] : offsets[q + 1]]
        z = 0.0
        if pool[q] >= 0:
            z = _rest(q, own, pool, pool_items, pool_offsets, worth, totals, stamp)
        for j in range(len(own) - 1, -1, -1):
            z += worth[own[j]]
            left[j] = z
        if pool[q] < 0:
            _rows_left(own, depth[q], weights[q], worth, left, groups, matrix)
        else:
            _pool_less_rows(own, depth[q], weights[q], worth, left, matrix, len(worth) + pool[q])


@compiled
def _rows_left(own, deep, w, worth, left, groups, matrix):
    """The rows i and j of a ranking without pool were together in the choices up to the earlier of them."""
    square = 0.0
    for j in range(len(own)):
        if j < deep:
            square += w / (left[j] * left[j])
        row, factor = matrix[groups[own[j]]], square * worth[own[j]]
        row[groups[own[j]]] += 0.5 * factor * worth[own[j]]
        for i in range(j + 1, len(own)):
            row[groups[own[i]]] += factor * worth[own[i]]


@compiled
def _pool_less_rows(own, deep, w, worth, left, matrix, place):
    """What was left at choice j is the pool less the rows before j: p = (pool − Σ_{i<j} v_i e_i) / z_j."""
    square = 0.0
    for j in range(deep - 1, 0, -1):
        square += w / (left[j] * left[j])
        row, factor = matrix[own[j - 1]], square * worth[own[j - 1]]
        row[place] -= factor
        row[own[j - 1]] += 0.5 * factor * worth[own[j - 1]]
        for i in range(j - 1):
            row[own[i]] += factor * worth[own[i]]
    matrix[place, place] += 0.5 * (square + w / (left[0] * left[0]))


@compiled
def rests(first, last, offsets, choices, both, totals, result):
    """Σ of v and of v d over what the pool of each ranking holds beside its rows (Q, 2); 0 without a pool."""
    items, _, _, _, pool, pool_items, pool_offsets, _ = choices
    stamp = np.full(len(both), -1)
    for q in range(first, last):
        if pool[q] >= 0:
            own = items[offsets[q] : offsets[q + 1]]
            result[q, 0], result[q, 1] = _both_rests(q, own, pool, pool_items, pool_offsets, both, totals, stamp)


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


@compiled
def _rest(q, own, pool, pool_items, pool_offsets, worth, totals, stamp):
    """The worth of what the pool of ranking q holds beside its rows; stamps the rows if it is summed anew."""
    rest = _less(totals[pool[q]], own, worth)
    if rest >= SMALL_REST * totals[pool[q]]:
        return rest
    for item in own:
        stamp[item] = q
    return _summed(q, pool, pool_items, pool_offsets, worth, stamp)


@compiled
def _both_rests(q, own, pool, pool_items, pool_offsets, both, totals, stamp):
    z = _rest(q, own, pool, pool_items, pool_offsets, both[:, 0], totals[:, 0], stamp)
    if stamp[own[0]] == q:  # it was summed anew
        return z, _summed(q, pool, pool_items, pool_offsets, both[:, 1], stamp)
    return z, _less(totals[pool[q], 1], own, both[:, 1])


@compiled
def _less(total, own, values):
    for item in own:
        total -= values[item]
    return total


@compiled
def _summed(q, pool, pool_items, pool_offsets, values, stamp):
    """Σ of some values over the items of the pool that are not stamped with q."""
    total = 0.0
    for place in range(pool_offsets[pool[q]], pool_offsets[pool[q] + 1]):
        if stamp[pool_items[place]] != q:
            total += values[pool_items[place]]
    return total
