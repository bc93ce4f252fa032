"""Walker's alias table: one draw of an item by its weight in constant time.

Place j of n has two numbers in the table: a height, and the item above it; below it is item j. Numbers of one kind side
by side let a compiler choose between the two without a jump, whose wrong guesses would cost more than all the rest.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.sampled_rankings.numbers import later_uniform


@compiled
def fill_table(weights, total, table, waiting):
    """The table, (2n,), of n weights with this total.

    Items short of total / n wait at the front of `waiting`, the others at its back; a long one tops up a short one.
    """
    n = len(weights)
    short, long, scale = 0, n, n / total
    for j in range(n):
        height = weights[j] * scale
        table[2 * j], table[2 * j + 1] = height, j
        waiting[short], waiting[long - 1] = j, j  # at both ends: only one of them will count
        short += height < 1.0
        long -= height >= 1.0
    while short > 0 and long < n:
        small, large = waiting[short - 1], waiting[long]
        height = table[2 * large] - (1.0 - table[2 * small])
        table[2 * large], table[2 * small + 1] = height, large
        waiting[short - 1] = large
        short -= height >= 1.0
        long += height < 1.0
    for place in range(short):  # of 1 but for rounding
        table[2 * waiting[place]] = 1.0


@compiled
def look_up(table, uniform):
    """The item of a number between 0 and 1."""
    height = uniform * (len(table) // 2)
    place = np.int64(height)
    cut, other = table[2 * place], table[2 * place + 1]
    return np.int64(np.float64(place) if height - place < cut else other)


@compiled
def look_up_all(table, samples, uniforms, items):
    """The items of the first `samples` columns of numbers."""
    for t in range(len(uniforms)):
        numbers, found = uniforms[t], items[t]
        for i in range(samples):
            found[i] = look_up(table, numbers[i])


@compiled
def draw_from_table(urn, depth, stream, samples, items, rankings, masses):
    """Fill `depth` places of the first `samples` rankings from columns of items with repeats, which are rejected.

    masses: (rows, places + 1) gets the mass left before each place, and after the last.
    """
    placed, weights = urn.placed, urn.weights
    for i in range(samples):
        ranking, mass = rankings[i], masses[i]
        urn.drawn[0] += 1
        number, left, draw, place = urn.drawn[0], 1.0, 0, 0
        while place < depth:
            item = items[draw, i] if draw < len(items) else look_up(urn.table, later_uniform(stream, i, draw))
            draw += 1
            if placed[item] != number:
                placed[item] = number
                ranking[place], mass[place] = item, left
                left -= weights[item]
                place += 1
        mass[depth] = max(left, 0.0)
