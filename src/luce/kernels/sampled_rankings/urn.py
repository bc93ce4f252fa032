"""A list as an urn from which items are drawn by weight e^s without replacement, and the cheapest way to draw."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled, summing
from luce.kernels.elementary import exp

TABLE, RACE, KEYS = range(3)
CHEAPEST = -1
"""Ways to draw: an alias table; a race of the heaviest items against a stream of the others; a race of all."""


class Urn(NamedTuple):
    """The items of one list, and its workspace.

    scores, weights: (n,), the weights as shares of their total. placed: (n,), the number of the sample that placed an
    item last. table: (2n,), an alias table. racers: the items that race by themselves; the others are the tail.
    drawn: [how many samples so far].
    """

    scores: Floats
    weights: Floats
    placed: Integers
    table: Floats
    racers: Integers
    drawn: Integers


@compiled
def make_urn(longest):
    """Workspace for lists of up to `longest` items."""
    return Urn(
        np.empty(0),
        np.empty(longest),
        np.zeros(longest, np.int64),
        np.empty(2 * longest),
        np.empty(longest, np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def fill_urn(workspace, scores):
    """The urn of a list that has an item to place, no racers chosen yet."""
    n = len(scores)
    _weigh(scores, workspace.weights[:n])
    return Urn(
        scores,
        workspace.weights[:n],
        workspace.placed[:n],
        workspace.table[: 2 * n],
        workspace.racers[:n],
        workspace.drawn,
    )


@summing
def _weigh(scores, weights):
    """Write e^s as shares of their total."""
    highest, total = -np.inf, 0.0
    for j in range(len(scores)):
        highest = max(highest, scores[j])
    for j in range(len(scores)):
        weights[j] = exp(scores[j] - highest)
    for j in range(len(scores)):
        total += weights[j]
    share = 1.0 / total
    for j in range(len(scores)):
        weights[j] *= share


@summing
def cheapest(weights, depth):
    """The way to draw `depth` of the items.

    K items weigh at most √(K Σ w²) together. Where that is below √½, a draw from the table is new with a probability
    of 0.29 at least. Where most of the items get a place, all may as well race.
    """
    squares = 0.0
    for j in range(len(weights)):
        squares += weights[j] * weights[j]
    if depth * squares <= 0.5:
        return TABLE
    return RACE if 4 * depth <= len(weights) else KEYS


@compiled
def count_live(scores):
    """Items that can be placed: those with a score above −∞."""
    live = 0
    for score in scores:
        live += score > -np.inf
    return live
