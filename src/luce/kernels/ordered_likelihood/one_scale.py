"""The likelihood of one order with all scores shifted by the highest of the list, for scores near each other.

With u_j = e^{s_(j) − highest} and z_j = Σ_{i ≥ j} u_i the item at place j is chosen with probability u_j / z_j.
"""

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp, log, sum_of_logarithms

NARROW = 300.0
"""Scores this near each other: even the squares of u and z neither overflow nor vanish."""


@summing
def worths(scores, highest, worth):
    """u of every row, whatever the order."""
    for i in range(len(scores)):
        worth[i] = exp(scores[i] - highest)


@compiled
def add_order(worth, order, weight, weighted, share, mass, chance, gradient, second):
    """Add the gradient of one order, the first len(weight) places counting; return its loss.

    Of each place `share` gets u, `mass` z and then 1 / z, and `chance` u / z.
    """
    deep = len(weight)
    for j in range(len(order)):
        share[j] = worth[order[j]]
    _sums_from_the_end(share[: len(order)], mass[:deep])
    _chances(share, mass[:deep], chance)
    loss = -_weighted_logarithms(chance, weight) if weighted else -sum_of_logarithms(chance[:deep])
    _add_gradient(order, share, mass, weight, gradient)
    if second.size:
        _add_second(order, share, mass, weight, second)
    return loss


@summing
def _sums_from_the_end(share, mass):
    """z of each place that counts; in fours, so that only one addition in four waits for the one before."""
    j, z = len(mass), 0.0
    for i in range(j, len(share)):
        z += share[i]
    while j >= 4:
        j -= 4
        two = share[j + 2] + share[j + 3]
        three = share[j + 1] + two
        mass[j + 3] = z + share[j + 3]
        mass[j + 2] = z + two
        mass[j + 1] = z + three
        z += share[j] + three
        mass[j] = z
    while j > 0:
        j -= 1
        z += share[j]
        mass[j] = z


@compiled
def _chances(share, mass, chance):
    for j in range(len(mass)):
        mass[j] = 1.0 / mass[j]
        chance[j] = share[j] * mass[j]


@summing
def _weighted_logarithms(chance, weight):
    total = 0.0
    for j in range(len(weight)):
        total += weight[j] * log(chance[j])
    return total


@compiled
def _add_gradient(order, share, mass, weight, gradient):
    """The item at place j loses w_j and gains u_j Σ_{i ≤ j} w_i / z_i."""
    pushed = 0.0
    for j in range(len(weight)):
        pushed += weight[j] * mass[j]
        gradient[order[j]] += share[j] * pushed - weight[j]
    for j in range(len(weight), len(order)):
        gradient[order[j]] += share[j] * pushed


@compiled
def _add_second(order, share, mass, weight, second):
    """Σ_{i ≤ j} w_i p (1 − p) with p = u_j / z_i."""
    pushed, squares = 0.0, 0.0
    for j in range(len(order)):
        if j < len(weight):
            pushed += weight[j] * mass[j]
            squares += weight[j] * mass[j] * mass[j]
        second[order[j]] += share[j] * pushed - share[j] * share[j] * squares
