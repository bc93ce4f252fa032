"""Estimates from sampled rankings with their standard errors.

The place of an item d is not counted but expected, given the order of all the others, which a ranking tells. Of those,
let D be the mass left before place k; then d, if still waiting, takes the place with the probability w / (D + w), and
else the next of the others does. That has the mean of the count and never more variance.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.place_sums import CASCADE, COUNT
from luce.kernels.placements.prefixes import NOWHERE


@compiled
def fill_chances(ranking, masses, weights, places, waiting, chances):
    """chances: (K, n) gets the probability of each item at each place, given the order of the others.

    masses: (K + 1,), left before each place and after the last, in the unit of the weights. waiting: (n,), workspace.
    """
    waiting[:] = 1.0
    for k in range(len(ranking)):
        # The mass with d in it: before its place it was in the ranking's own, then one of the others moves up.
        left, after, row = masses[k], masses[k + 1], chances[k]
        for j in range(len(weights)):
            mass = after + weights[j] if places[j] < k else left
            share = weights[j] / mass if weights[j] > 0.0 else 0.0
            row[j] = waiting[j] * share
            waiting[j] *= 1.0 - share


@compiled
def fill_far_chances(ranking, left, scores, places, waiting, chances):
    """The same for scores however far apart; left: (K + 1,), logarithms of the masses."""
    waiting[:] = 1.0
    for k in range(len(ranking)):
        for j in range(len(scores)):
            share = 0.0
            if scores[j] > -np.inf:
                before = places[j] < k
                share = 1.0 / (1.0 + np.exp(left[k + 1] - scores[j])) if before else np.exp(scores[j] - left[k])
            chances[k, j] = waiting[j] * share
            waiting[j] *= 1.0 - share


@compiled
def place_sum(ranking, kind, worths, discounts):
    """The sum over places of `line_search` for one ranking: Σ_k discount_k · worth · what those above make of it."""
    total, standing = 0.0, 1.0
    for k in range(len(ranking)):
        worth = worths[ranking[k]]
        total += discounts[k] * worth * standing
        if kind == CASCADE:
            standing *= 1.0 - worth
        elif kind == COUNT:
            standing += worth
    return total


@compiled
def mark_places(ranking, places):
    places[:] = NOWHERE
    for k in range(len(ranking)):
        places[ranking[k]] = k


@compiled
def absorb(observed, count, mean, squares):
    """Take an observation, the `count`-th, into its mean and the sum of the squares around that."""
    for i in range(observed.shape[0]):
        for j in range(observed.shape[1]):
            change = observed[i, j] - mean[i, j]
            mean[i, j] += change / count
            squares[i, j] += change * (observed[i, j] - mean[i, j])
