"""Leaf sums of one list whose scores share a scale; terms common to several orders are added once.

Movers are the items that stand among the first places of any order. All others are in every context of every order.
"""

from luce.compiled import compiled
from luce.kernels.ordered_likelihood.cpu import weights_of_places

ELSEWHERE, MOVER, PLACED = 0, 1, 2
"""Roles of an item: in every context; among the first places of some order; of the order at hand."""


@compiled
def note_order(order, deep, stored, movers, n_movers, role):
    """Keep the first places of an order; returns how many movers there are by now."""
    for j in range(deep):
        stored[j] = order[j]
        if role[order[j]] == ELSEWHERE:
            role[order[j]] = MOVER
            movers[n_movers] = order[j]
            n_movers += 1
    return n_movers


@compiled
def add_orders(
    worth, order, leaf, orders, deep, movers, role, weights, weighted, weight, scale, prefix, base, mass, known, sums
):
    """Add all orders of a list; weights: (halving, place weights, item weights); prefix: 1/z, Σ w/z and Σ w/z²."""
    total, once, twice = prefix
    outside = _add_up(worth, order, leaf, role, base)
    all_once = all_twice = 0.0
    for sample in range(len(orders)):
        head = orders[sample, :deep]
        if weighted:
            weights_of_places(orders[sample, : len(order)], weights[0], weights[1], weights[2], weight)
        z = outside + _begin(worth, leaf, head, movers, role, base, mass)
        _prefix_sums(worth, head, weight, z, total, once, twice)
        _climb(worth, leaf, head, scale, once, twice, mass, known, sums)
        _finish(leaf, head, movers, role, scale, once, twice, mass, known, sums)
        all_once, all_twice = all_once + once[deep], all_twice + twice[deep]
    for k in range(len(movers)):
        role[movers[k]] = ELSEWHERE
        base[leaf[movers[k]]] = 0.0
    for j in range(len(order)):  # leaves without a mover, each once: its base is 0 afterwards
        u = leaf[order[j]]
        sums[0, u] += scale * base[u] * all_once
        sums[1, u] += scale * base[u] * (all_once - base[u] * all_twice)
        base[u] = 0.0


@compiled
def _add_up(worth, order, leaf, role, base):
    """The worth of the items in every context, by leaf; returns that of all of them."""
    outside = 0.0
    for j in range(len(order)):
        row = order[j]
        if role[row] == ELSEWHERE:
            outside += worth[row]
            base[leaf[row]] += worth[row]
    return outside


@compiled
def _begin(worth, leaf, head, movers, role, base, mass):
    """The masses below the first places of an order; returns the worth of the movers there."""
    for j in range(len(head)):
        role[head[j]] = PLACED
    for k in range(len(movers)):
        mass[leaf[movers[k]]] = base[leaf[movers[k]]]
    below = 0.0
    for k in range(len(movers)):
        row = movers[k]
        if role[row] == MOVER:
            below += worth[row]
            mass[leaf[row]] += worth[row]
    return below


@compiled
def _prefix_sums(worth, head, weight, z, total, once, twice):
    for j in range(len(head) - 1, -1, -1):
        z += worth[head[j]]
        total[j] = 1.0 / z
    once[0] = twice[0] = 0.0
    for j in range(len(head)):
        each = weight[j] * total[j]
        once[j + 1] = once[j] + each
        twice[j + 1] = twice[j] + each * total[j]


@compiled
def _climb(worth, leaf, head, scale, once, twice, mass, known, sums):
    """Up the first places: what a leaf gets with the mass it had, then its new mass."""
    deep = len(head)
    for j in range(deep - 1, -1, -1):
        u = leaf[head[j]]
        _add(u, j + 1, deep - known[u], scale, mass[u], once, twice, sums)
        mass[u] += worth[head[j]]
        known[u] = deep - j - 1


@compiled
def _finish(leaf, head, movers, role, scale, once, twice, mass, known, sums):
    """What leaves with movers get from the contexts above; each once: its mass is 0 afterwards."""
    for k in range(len(movers)):
        u = leaf[movers[k]]
        _add(u, 0, len(head) - known[u], scale, mass[u], once, twice, sums)
        mass[u] = 0.0
        known[u] = 0
    for j in range(len(head)):
        role[head[j]] = MOVER


@compiled
def _add(u, begin, end, scale, mass, once, twice, sums):
    """What the contexts begin … end − 1 give to a leaf of this mass."""
    chosen = mass * (once[end] - once[begin])
    sums[0, u] += scale * chosen
    sums[1, u] += scale * (chosen - mass * mass * (twice[end] - twice[begin]))
