"""Leaf sums of one list whose scores share a scale; what several orders have in common is added once."""

from luce.compiled import compiled, inlined
from luce.kernels.ordered_likelihood.place_weights import weights_of_places
from luce.kernels.shuffles import shuffle_ties

LEFT = 1 / 32
"""The least share of the worth that draws may leave, for differences to keep their digits."""


@compiled
def add_order(worth, order, first, stop, leaf, weight, scale, total, once, twice, mass, known, sums):
    """Add the contexts first … stop − 1 of an order, going up the list; `mass` and `known` are 0 before and after.

    `total`, `once` and `twice` get 1/z, Σ w/z and Σ w/z²; `known` counts the contexts that a leaf has been given.
    """
    z, deep = 0.0, stop - first
    for j in range(stop, len(order)):
        z += worth[order[j]]
        mass[leaf[order[j]]] += worth[order[j]]
    for j in range(deep - 1, -1, -1):
        z += worth[order[first + j]]
        total[j] = 1.0 / z
    _prefix_sums(first, deep, weight, total, once, twice)
    for j in range(deep - 1, -1, -1):
        row = order[first + j]
        u = leaf[row]
        _add(u, j + 1, deep - known[u], scale, mass[u], once, twice, sums)
        mass[u] += worth[row]
        known[u] = deep - j - 1
    for j in range(first, len(order)):  # each leaf once: its mass is 0 afterwards
        u = leaf[order[j]]
        if mass[u]:
            _add(u, 0, deep - known[u], scale, mass[u], once, twice, sums)
            mass[u], known[u] = 0.0, 0


@compiled
def add_draws(
    worth,
    order,
    ends,
    sets,
    first,
    stop,
    leaf,
    draw,
    permutations,
    words,
    weighted,
    halving,
    place_weights,
    item_weights,
    weight,
    scale,
    total,
    once,
    twice,
    base,
    mass,
    spare,
    known,
    sums,
):
    """Add the contexts first … stop − 1 of all orders of a list; `base`, `mass`, `spare`, `known` start and end at 0.

    An order changes the leaves of the items that it draws: these get the difference from what they would get if nothing
    were drawn, which all leaves get in the end. Orders that leave too little for that are added as a whole.
    """
    all_worth = _begin_draws(worth, order, first, leaf, base, mass)
    all_once, all_twice, deep = 0.0, 0.0, stop - first
    for sample in range(permutations):
        shuffle_ties(order, ends, sets, len(weight), draw[0], draw[1], draw[2], sample, words)
        if weighted:
            weights_of_places(order, halving, place_weights, item_weights, weight)
        z = all_worth
        for j in range(deep):
            total[j] = z
            z -= worth[order[first + j]]
        if total[deep - 1] < LEFT * all_worth:
            add_order(worth, order, first, stop, leaf, weight, scale, total, once, twice, spare, known, sums)
            continue
        for j in range(deep):
            total[j] = 1.0 / total[j]
        _prefix_sums(first, deep, weight, total, once, twice)
        for j in range(deep):
            row = order[first + j]
            u = leaf[row]
            begin, end, sign = (known[u], j + 1, scale) if known[u] else (j + 1, deep, -scale)
            _add(u, begin, end, sign, mass[u], once, twice, sums)
            mass[u] -= worth[row]
            known[u] = j + 1
        for j in range(deep):
            u = leaf[order[first + j]]
            if known[u]:
                _add(u, known[u], deep, scale, mass[u], once, twice, sums)
                mass[u], known[u] = base[u], 0
        all_once, all_twice = all_once + once[deep], all_twice + twice[deep]
    for j in range(first, len(order)):  # each leaf once: its base is 0 afterwards
        u = leaf[order[j]]
        sums[0, u] += scale * base[u] * all_once
        sums[1, u] += scale * base[u] * (all_once - base[u] * all_twice)
        base[u] = mass[u] = 0.0


@compiled
def _begin_draws(worth, order, first, leaf, base, mass):
    """The worth of the items from a place on, by leaf; returns that of all of them."""
    z = 0.0
    for j in range(first, len(order)):
        u = leaf[order[j]]
        z += worth[order[j]]
        base[u] += worth[order[j]]
        mass[u] = base[u]
    return z


@inlined
def _prefix_sums(first, deep, weight, total, once, twice):
    once[0] = twice[0] = 0.0
    for j in range(deep):
        each = weight[first + j] * total[j]
        once[j + 1] = once[j] + each
        twice[j + 1] = twice[j] + each * total[j]


@inlined
def _add(u, begin, end, scale, mass, once, twice, sums):
    """What the contexts begin … end − 1 give to a leaf of this mass."""
    chosen = mass * (once[end] - once[begin])
    sums[0, u] += scale * chosen
    sums[1, u] += scale * (chosen - mass * mass * (twice[end] - twice[begin]))
