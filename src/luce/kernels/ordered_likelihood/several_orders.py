"""The likelihood of several orders of equal labels, for scores near each other: what they share is worked on once.

Orders differ from the first tied grade to the end of the last one that counts. The contexts above and below are the
same in all orders, and so is what the contexts in between give to the items below.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import log
from luce.kernels.ordered_likelihood.one_scale import add_order
from luce.kernels.ordered_likelihood.place_weights import weights_of_places
from luce.kernels.shuffles import shuffle_ties

TINY = 1e-150
"""A product this small times a chance, at least e^−300, is a number still."""


@compiled
def tied_places(ends, sets, deep, permutations):
    """Where orders differ: the first such place, the end of those that count, and the end of their grades.

    0, 0, 0 if they are all the same.
    """
    first, last, begin, m = np.int64(0), np.int64(0), np.int64(0), 0
    while permutations > 1 and m < sets and begin < deep:
        end = np.int64(ends[m])
        if end - begin > 1:
            first, last = first if last else begin, end
        begin, m = end, m + 1
    return first, min(last, deep), last


@compiled
def add_orders(
    worth,
    order,
    ends,
    sets,
    tied,
    weight,
    weighted,
    halving,
    place_weights,
    item_weights,
    draw,
    permutations,
    words,
    share,
    mass,
    chance,
    gradient,
    second,
):
    """Add the mean gradient of all orders, the first len(weight) places counting; return their mean loss."""
    first, stop, end = tied
    below = _worth(worth, order, end)
    loss, product, once, twice = 0.0, 1.0, 0.0, 0.0
    for sample in range(permutations):
        shuffle_ties(order, ends, sets, len(weight), draw[0], draw[1], draw[2], sample, words)
        if weighted:
            weights_of_places(order, halving, place_weights, item_weights, weight)
        z, pushed = below, 0.0
        for j in range(stop, end):
            z += worth[order[j]]
        for j in range(stop - 1, first - 1, -1):
            share[j] = worth[order[j]]
            z += share[j]
            mass[j] = z
        for j in range(first, stop):
            mass[j] = 1.0 / mass[j]
            chance[j] = share[j] * mass[j]
        for j in range(first, stop):
            pushed += weight[j] * mass[j]
            gradient[order[j]] += share[j] * pushed - weight[j]
            if weighted:
                loss -= weight[j] * log(chance[j])
            else:
                product *= chance[j]
                if product < TINY:
                    loss -= np.log(product)
                    product = 1.0
        for j in range(stop, end):
            gradient[order[j]] += worth[order[j]] * pushed
        once += pushed
        if second.size:
            twice += _add_second(worth, order, first, stop, end, weight, mass, second)
    loss = (loss - np.log(product)) / permutations
    _push(worth, order, end, once, twice, gradient, second)
    gradient /= permutations
    second /= permutations
    if first > 0:
        loss += add_order(worth, order, weight[:first], weighted, share, mass, chance, gradient, second)
    if end < len(weight):
        loss += add_order(worth, order[end:], weight[end:], weighted, share, mass, chance, gradient, second)
    return loss


@summing
def _worth(worth, order, begin):
    """Of the items from a place on."""
    total = 0.0
    for j in range(begin, len(order)):
        total += worth[order[j]]
    return total


@compiled
def _add_second(worth, order, first, stop, end, weight, mass, second):
    """Add the second derivatives of one order where orders differ; returns Σ w / z²."""
    once = twice = 0.0
    for j in range(first, end):
        if j < stop:
            once += weight[j] * mass[j]
            twice += weight[j] * mass[j] * mass[j]
        u = worth[order[j]]
        second[order[j]] += u * once - u * u * twice
    return twice


@compiled
def _push(worth, order, end, once, twice, gradient, second):
    """What the items below get from the contexts where orders differ: Σ w / z and Σ w / z² of all of these."""
    for j in range(end, len(order)):
        u = worth[order[j]]
        gradient[order[j]] += u * once
        if second.size:
            second[order[j]] += u * once - u * u * twice
