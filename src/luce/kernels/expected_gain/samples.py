"""The contribution of one sampled ranking to the gradient estimate, in O(K) where the remaining masses are accurate.

With D_k the mass left before place k, as a share of the list's Σ e^s, w the share of an item and ω_k what is earned
from place k on, an item placed at r gets   ω_{r+1} D_{r+1}/D_r + w (ρ Σ_{k<r} θ_k/D_k − Σ_{k<r} ω_k/D_k)   by a
sample, and one not placed   w (ρ A − B),   A = Σ_k θ_k/D_k, B = Σ_k ω_k/D_k: that is PL-Rank-2, nothing in it being a
difference of large numbers. The second form holds for nearly all items, so A and B are summed over samples, and
subtracted for the items placed. Without direct rewards, A = 0 and ω_r for ω_{r+1}, it is PL-Rank-1; with ω_1 for every
ω besides, the policy gradient.
"""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled, summing

POLICY, PLACEMENT, DIRECT = range(3)

EXPOSURE = 3
"""On a device, in place of an estimator: instead of the gradient the exposures, of gains of 0; see `exposure.cpu`."""

TIERS, TIER = 120, 2.0**-8
"""A and B are large where little mass is left, and taking off would cost digits. So samples are kept in tiers:
in tier t, D_K is at most TIER^t. Items of twice that share have been placed in all its samples, and are left alone."""


class LinearGain(NamedTuple):
    """What is to be made large: Σ_k θ_k ρ(y_k). gains: (n,) ρ. discounts: (K,) θ. estimator: one of the three."""

    gains: Floats
    discounts: Floats
    estimator: int


class SampleSums(NamedTuple):
    """What the samples of a list add up to.

    given, squares: (n,), what the items are given beyond `common`, and the squares; squares may be empty.
    common: (TIERS, 5), A, B, A², AB and B², where A and B are in units of 1 / TIER^t. earned: (2,), the value and its
    square. deepest: [the last tier in use].
    """

    given: Floats
    squares: Floats
    common: Floats
    earned: Floats
    deepest: Integers


@compiled
def add_quickly(linear_gain, samples, rankings, masses, near, weights, sums):
    """The samples of the first tier, where squares are not wanted: one pass from the last place up."""
    gains, discounts, given, depth = linear_gain.gains, linear_gain.discounts, sums.given, len(linear_gain.discounts)
    direct, whole = 1.0 if linear_gain.estimator == DIRECT else 0.0, linear_gain.estimator == POLICY
    total_a, total_b, earned, squares = 0.0, 0.0, 0.0, 0.0
    for i in range(samples):
        if not near[i] or masses[i, depth - 1] < TIER:
            continue
        following, a, b, everything = 0.0, 0.0, 0.0, 0.0
        if whole:
            for k in range(depth):
                everything += discounts[k] * gains[rankings[i, k]]
        for k in range(depth - 1, -1, -1):
            item = rankings[i, k]
            gain, inverse = gains[item], 1.0 / masses[i, k]
            later, following = following, following + discounts[k] * gain
            risk = everything if whole else following
            a += direct * discounts[k] * inverse
            b += risk * inverse
            reward = direct * later + (1.0 - direct) * risk
            given[item] += reward * masses[i, k + 1] * inverse - weights[item] * (gain * a - b)
        total_a += a
        total_b += b
        earned += following
        squares += following * following
    sums.common[0, 0] += total_a
    sums.common[0, 1] += total_b
    sums.earned[0] += earned
    sums.earned[1] += squares


@compiled
def add_carefully(linear_gain, ranking, masses, weights, scratch, sums):
    """A sample of any tier; scratch: (2, K + 1)."""
    gains, following, given, depth = linear_gain.gains, scratch[0], scratch[1], len(ranking)
    later, direct = _earn(linear_gain, ranking, following, sums)
    a, b = 0.0, 0.0
    for k in range(depth):
        item, inverse = ranking[k], 1.0 / masses[k]
        given[k] = following[k + later] * masses[k + 1] * inverse + weights[item] * (gains[item] * a - b)
        a += direct * linear_gain.discounts[k] * inverse
        b += following[k] * inverse
    tier = int(np.log2(masses[depth - 1]) / np.log2(TIER))
    unit = TIER**tier
    a, b = unit * a, unit * b
    for k in range(depth):
        item, share = ranking[k], weights[ranking[k]] / unit
        usual = share * (gains[item] * a - b) if share <= 2.0 else 0.0
        sums.given[item] += given[k] - usual
        if sums.squares.size:
            sums.squares[item] += given[k] * given[k] - usual * usual
    common = sums.common[tier]
    common[0] += a
    common[1] += b
    common[2] += a * a
    common[3] += a * b
    common[4] += b * b
    sums.deepest[0] = max(sums.deepest[0], tier)


@compiled
def _earn(linear_gain, ranking, following, sums):
    """Write what is earned from each place on, as the estimator counts it; return whether it does so a place later."""
    depth, total = len(ranking), 0.0
    following[depth] = 0.0
    for k in range(depth - 1, -1, -1):
        total += linear_gain.discounts[k] * linear_gain.gains[ranking[k]]
        following[k] = total
    if linear_gain.estimator == POLICY:
        following[:depth] = total
    sums.earned[0] += total
    sums.earned[1] += total * total
    return (1, 1.0) if linear_gain.estimator == DIRECT else (0, 0.0)


@compiled
def add_far(linear_gain, ranking, scores, scratch, sums):
    """A sample whose scores are too far apart for shares of one total: O(n), on a scale that falls with the ranking."""
    gains, following, depth, n = linear_gain.gains, scratch[0], len(ranking), len(scores)
    later, direct = _earn(linear_gain, ranking, following, sums)
    waiting = np.ones(n, np.bool_)
    waiting[ranking] = False
    scale, mass = far_masses(ranking, scores, waiting)
    a, b = 0.0, 0.0  # times e^scale
    for k in range(depth):
        item = ranking[k]
        shrink = np.exp(scale[k] - scale[max(k - 1, 0)])
        a, b = a * shrink, b * shrink
        left = mass[k + 1] * np.exp(scale[k + 1] - scale[k]) / mass[k]
        give(item, following[k + later] * left + np.exp(scores[item] - scale[k]) * (gains[item] * a - b), sums)
        a += direct * linear_gain.discounts[k] / mass[k]
        b += following[k] / mass[k]
    for j in range(n):
        if waiting[j]:
            give(j, np.exp(scores[j] - scale[depth - 1]) * (gains[j] * a - b), sums)


@compiled
def far_masses(ranking, scores, waiting):
    """The mass left before each place, and after the last, as mass · e^scale."""
    depth = len(ranking)
    scale, mass = np.full(depth + 1, -np.inf), np.zeros(depth + 1)
    for j in range(len(scores)):
        if waiting[j]:
            scale[depth] = max(scale[depth], scores[j])
    for j in range(len(scores)):
        if waiting[j] and scores[j] > -np.inf:
            mass[depth] += np.exp(scores[j] - scale[depth])
    for k in range(depth - 1, -1, -1):
        score = scores[ranking[k]]
        scale[k] = max(scale[k + 1], score)
        mass[k] = mass[k + 1] * np.exp(scale[k + 1] - scale[k]) + np.exp(score - scale[k])
    return scale, mass


@compiled
def give(item, amount, sums):
    sums.given[item] += amount
    if sums.squares.size:
        sums.squares[item] += amount * amount


@compiled
def add_common(linear_gain, weights, sums):
    """Give the items what is common to all samples."""
    for tier in range(sums.deepest[0] + 1):
        a, b, aa, ab, bb = sums.common[tier]
        _give_all(1.0 / TIER**tier, a, b, weights, linear_gain.gains, sums.given)
        if sums.squares.size:
            for j in range(len(weights)):
                share, gain = weights[j] / TIER**tier, linear_gain.gains[j]
                if share <= 2.0:
                    sums.squares[j] += share * share * (gain * (gain * aa - 2.0 * ab) + bb)


@summing
def _give_all(scale, a, b, weights, gains, given):
    for j in range(len(weights)):
        share = weights[j] * scale
        given[j] += share * (gains[j] * a - b) if share <= 2.0 else 0.0
