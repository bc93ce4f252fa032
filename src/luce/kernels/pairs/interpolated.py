"""Sums over the pairs between blocks of a list in O(n), by interpolation between cells of the scores.

The terms of a pair are f(δ) = log(1 + ν e^{−δ/2} + e^{−δ}), the logistic loss where ν = 0, and its derivatives, all of
them analytic within π of the real axis. The scores are cut into cells of width 2, and within each pair of cells f is
interpolated at 20 × 20 Chebyshev nodes. The error, relative to the greatest f of the pair of cells, is about ρ^−20 =
7e−17 with ρ = π + √(π² + 1), less than that of rounding. Within a pair of cells f varies by no more than e^4, so that
small sums are as exact, relative to their size, as large ones. Between cells far apart f equals its limits, a straight
line or exponentials, which are summed in one pass over the cells: a wide range of scores costs no more than O(n).
"""

import numpy as np

from luce.compiled import compiled, summing

NODES = 20
WIDTH = 2.0
"""Of a cell, so that a place within it is a number from −1 to 1."""

NEGLIGIBLE = 36.0
"""e^−36 is less than the rounding of 1."""

LOSS, DRAWN, WRONG, HESSIAN, TERMS = range(5)
"""The terms of a pair: loss, probability of a draw (the derivative in log ν), minus the derivative, the second one."""


@compiled
def _nodes_and_transform():
    """The Chebyshev nodes, and the matrix that turns values at them into coefficients."""
    nodes, transform = np.empty(NODES), np.empty((NODES, NODES))
    for a in range(NODES):
        angle = np.pi * (a + 0.5) / NODES
        nodes[a] = np.cos(angle)
        for k in range(NODES):
            transform[k, a] = (2.0 if k else 1.0) / NODES * np.cos(k * angle)
    return nodes, transform


@compiled
def table_of_terms(margin, tie):
    """The terms at δ − margin between node a of a cell and node b of one 2 · (i − reach) below it: [i, term, b, a].

    Beyond `reach` cells the limits of the terms are exact to rounding.
    """
    scale = 2.0 * (NEGLIGIBLE + max(np.log(tie), 0.0)) if tie > 0.0 else NEGLIGIBLE
    reach, nodes = int(np.ceil((scale + margin) / WIDTH)) + 1, _nodes_and_transform()[0]
    table = np.empty((2 * reach + 1, TERMS, NODES, NODES))
    for i in range(2 * reach + 1):
        for b in range(NODES):
            for a in range(NODES):
                difference = WIDTH * (i - reach) + nodes[a] - nodes[b] - margin
                x = np.exp(-0.5 * abs(difference))
                rest = x * (x + tie)
                inverse = 1.0 / (1.0 + rest)
                drawn, lost = tie * x * inverse, x * x
                table[i, LOSS, b, a] = np.log1p(rest) + max(-difference, 0.0)
                table[i, DRAWN, b, a] = drawn
                table[i, WRONG, b, a] = (lost if difference > 0.0 else 1.0) * inverse + 0.5 * drawn
                table[i, HESSIAN, b, a] = (lost * inverse + 0.25 * drawn * (1.0 + lost)) * inverse
    return table


def sums_over_later_blocks(cuts, share, scores, weight, margin, tie, table, first, last, sums):
    """Σ_j w_j f(s_i − s_j − margin) over the items j of all later blocks, and `share` of those of the own block.

    Block k is the items cuts[k] … cuts[k + 1] − 1. Of the terms first … last − 1, `sums` (2, n) gets WRONG and
    HESSIAN of every item; returned are LOSS and DRAWN, each times w_i and summed over i too.

    >>> sums = np.empty((2, 2))
    >>> given = np.array([0, 1, 2]), np.zeros(2), np.array([1.0, 0.0]), np.ones(2)
    >>> loss, _ = sums_over_later_blocks(*given, 0.0, 0.0, table_of_terms(0.0, 0.0), LOSS, HESSIAN, sums)
    >>> round(loss, 12)  # log(1 + 1/e)
    0.313261687518
    """
    number = np.floor(scores / WIDTH)  # exact, and so is what it leaves: no difference of scores is rounded
    numbers = np.unique(number)
    cell, place = np.searchsorted(numbers, number), scores - WIDTH * number - 1.0
    return _sums(cuts, share, numbers, cell, place, weight, margin, tie, table, first, last, sums)


@compiled
def _sums(cuts, share, numbers, cell, place, weight, margin, tie, table, first, last, sums):
    n_cells, nodes_and_transform = len(numbers), _nodes_and_transform()
    nodes, transform = nodes_and_transform
    own, later = np.zeros((n_cells, NODES)), np.zeros((n_cells, NODES))  # weights, moved to the nodes
    received, here = np.zeros((n_cells, TERMS, NODES)), np.zeros(n_cells, np.bool_)
    basis, loss, drawn = np.empty(NODES), 0.0, 0.0
    for k in range(len(cuts) - 2, -1, -1):
        for i in range(cuts[k], cuts[k + 1]):
            _chebyshev(place[i], basis)
            _add(weight[i], basis, own[cell[i]])
            here[cell[i]] = True
        for c in range(n_cells):
            if here[c]:
                _to_nodes(transform, own[c])
                _add(share[k], own[c], later[c])
        _receive_near(numbers, later, here, table, first, last, received)
        if 2.0 * (numbers[-1] - numbers[0]) > len(table):
            _receive_far(1, numbers, later, here, nodes, margin, tie, len(table) // 2, received)
            _receive_far(-1, numbers, later, here, nodes, margin, tie, len(table) // 2, received)
        for c in range(n_cells):
            if here[c]:
                loss += _dot(own[c], received[c, LOSS])
                drawn += _dot(own[c], received[c, DRAWN])
                _to_coefficients(transform, received[c, WRONG])
                _to_coefficients(transform, received[c, HESSIAN])
                _add(1.0 - share[k], own[c], later[c])
        for i in range(cuts[k], cuts[k + 1]):
            _chebyshev(place[i], basis)
            for term in range(WRONG, last):
                sums[term - WRONG, i] = _dot(received[cell[i], term], basis)
        for c in range(n_cells):
            if here[c]:
                here[c] = False
                for a in range(NODES):
                    own[c, a] = 0.0
                    for term in range(TERMS):
                        received[c, term, a] = 0.0
    return loss, drawn


@compiled
def _receive_near(numbers, weight, here, table, first, last, received):
    """What the nodes of the cells `here` receive from those of cells within reach, by the table."""
    reach, low = len(table) // 2, 0
    for c in range(len(numbers)):
        while numbers[c] - numbers[low] > reach:
            low += 1
        j = low
        while here[c] and j < len(numbers) and numbers[j] - numbers[c] <= reach:
            i = int(numbers[c] - numbers[j]) + reach
            for term in range(first, last):
                for b in range(NODES):
                    _add(weight[j, b], table[i, term, b], received[c, term])
            j += 1


@compiled
def _receive_far(sign, numbers, weight, here, nodes, margin, tie, reach, received):
    """What they receive from the cells beyond, below (sign = 1) or above them (−1).

    Far below, the loss is ν e^{−δ/2} + e^{−δ}; far above, −δ. All sums are of numbers ≥ 0, moved along with the cells.
    """
    slow, fast, total, moment = 0.0, 0.0, 0.0, 0.0  # Σ w of ν e^{−|δ|/2}, e^{−|δ|}, 1 and |δ|
    c = far = 0 if sign > 0 else len(numbers) - 1
    before, log_tie = numbers[c], np.log(tie) if tie > 0.0 else -np.inf
    while 0 <= c < len(numbers):
        step, before = WIDTH * abs(numbers[c] - before), numbers[c]
        slow, fast, moment = slow * np.exp(-0.5 * step), fast * np.exp(-step), moment + total * step
        while abs(numbers[c] - numbers[far]) > reach:
            distance = WIDTH * abs(numbers[c] - numbers[far])
            tied, lost = np.exp(log_tie - 0.5 * distance), np.exp(sign * margin - distance)
            for b in range(NODES):
                half, w = np.exp(0.5 * sign * nodes[b]), weight[far, b]
                slow += w * tied * half
                fast += w * lost * half * half
                total += w
                moment += w * (distance - sign * nodes[b])
            far += sign
        if here[c] and far != (0 if sign > 0 else len(numbers) - 1):
            for a in range(NODES):
                half = np.exp(-0.5 * sign * nodes[a])
                tied, lost = slow * half, fast * half * half
                received[c, LOSS, a] += tied + lost if sign > 0 else moment + total * (margin - nodes[a])
                received[c, DRAWN, a] += tied
                received[c, WRONG, a] += 0.5 * tied + lost if sign > 0 else total
                received[c, HESSIAN, a] += 0.25 * tied + lost
        c += sign


@compiled
def _chebyshev(x, basis):
    """T_0 … T_19 at x."""
    basis[0], basis[1] = 1.0, x
    for k in range(2, NODES):
        basis[k] = 2.0 * x * basis[k - 1] - basis[k - 2]


@compiled
def _to_nodes(transform, vector):
    """From Σ w T_k to the weights of the nodes, in place."""
    result = np.zeros(NODES)
    for k in range(NODES):
        _add(vector[k], transform[k], result)
    vector[:] = result


@compiled
def _to_coefficients(transform, vector):
    """From values at the nodes to coefficients of T_k, in place."""
    result = np.empty(NODES)
    for k in range(NODES):
        result[k] = _dot(transform[k], vector)
    vector[:] = result


@compiled
def _add(factor, vector, result):
    for k in range(NODES):
        result[k] += factor * vector[k]


@summing
def _dot(a, b):
    total = 0.0
    for k in range(NODES):
        total += a[k] * b[k]
    return total
