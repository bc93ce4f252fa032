"""Exposures from sampled rankings, by conditional probabilities of the places instead of counts.

Given the places before k, an item has the chance w/D_k of place k, D_k being the mass left as a share of the list's
Σ e^s and w its own share. So for any numbers c_k,   Σ_k θ_k 1(y_k = d) − Σ_{k≤r} c_k (1(y_k = d) − w/D_k)   has the
mean that is wanted, r being the rank of the item or K. Here c_k = θ_k − v_k, v_k = Σ_{j>k} θ_j / (n − k): the chance of
a place, less what the item can expect behind it if all that are left are alike. An item placed at r is given
v_r + w Σ_{k≤r} c_k/D_k, one not placed w A, A = Σ_k c_k/D_k. Where all are alike, that does not vary.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.expected_gain.cpu import cleared, make_sums, variance_of_mean
from luce.kernels.expected_gain.samples import TIER, LinearGain, add_common, far_masses, give
from luce.kernels.label_order import longest_list
from luce.kernels.sampled_rankings.cpu import fill_chunk, make_chunk, open_urn
from luce.kernels.sampled_rankings.numbers import Stream
from luce.kernels.sampled_rankings.urn import CHEAPEST, count_live, make_urn


@compiled
def exposure(first, last, offsets, scores, discounts, numbers, seed, step, first_sample, samples, value, variance):
    longest = longest_list(first, last, offsets)
    depth = min(len(discounts), longest)
    workspace, chunk = make_urn(longest), make_chunk(longest, depth, CHEAPEST)
    all_sums, ones, behind = make_sums(longest), np.ones(longest), np.empty(depth)
    width = len(chunk.near)
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        own, live = scores[rows], count_live(scores[rows])
        places = min(depth, live)
        if places == 0:
            continue
        sums = cleared(all_sums, len(own), variance.size > 0)
        _expect(discounts[:places], live, behind)
        urn, n_racers, tail = open_urn(workspace, own, places, CHEAPEST)
        for done in range(0, samples, width):
            stream, now = Stream(seed, step, numbers[q], first_sample + done), min(width, samples - done)
            fill_chunk(urn, n_racers, tail, places, stream, now, chunk)
            for i in range(now):
                ranking, masses = chunk.rankings[i, :places], chunk.masses[i]
                if chunk.near[i]:
                    _add(discounts, behind, ranking, masses, urn.weights, sums)
                else:
                    _add_far(discounts, behind, ranking, urn.scores, sums)
        add_common(LinearGain(ones[: len(own)], discounts[:places], 0), urn.weights, sums)
        for j in range(len(own)):
            mean = sums.given[j] / samples
            value[rows.start + j] = mean
            if len(sums.squares):
                variance[rows.start + j] = variance_of_mean(sums.squares[j], mean, samples)


@compiled
def _expect(discounts, live, behind):
    """Write v: the mean of the discounts behind each place, over the items left behind it."""
    total, places = 0.0, len(discounts)
    for k in range(places - 1, -1, -1):
        behind[k] = total / (live - k - 1) if live > k + 1 else 0.0
        total += discounts[k]


@compiled
def _add(discounts, behind, ranking, masses, weights, sums):
    """A sample whose masses can be relied on. A is taken off for the items placed as `expected_gain` does it."""
    depth, a = len(ranking), 0.0
    for k in range(depth):
        a += (discounts[k] - behind[k]) / masses[k]
    least = masses[depth - 1]
    tier = 0 if least >= TIER else int(np.log2(least) / np.log2(TIER))
    unit, so_far = TIER**tier, 0.0
    a *= unit
    for k in range(depth):
        item = ranking[k]
        share = weights[item] / unit
        so_far += (discounts[k] - behind[k]) / masses[k]
        given = behind[k] + weights[item] * so_far
        usual = share * a if share <= 2.0 else 0.0
        sums.given[item] += given - usual
        if sums.squares.size:
            sums.squares[item] += given * given - usual * usual
    sums.common[tier, 0] += a
    sums.common[tier, 2] += a * a
    sums.deepest[0] = max(sums.deepest[0], tier)


@compiled
def _add_far(discounts, behind, ranking, scores, sums):
    """A sample whose scores are too far apart for shares of one total: O(n), on a scale that falls with the ranking."""
    depth, waiting, a = len(ranking), np.ones(len(scores), np.bool_), 0.0
    waiting[ranking] = False
    scale, mass = far_masses(ranking, scores, waiting)
    for k in range(depth):
        a = a * np.exp(scale[k] - scale[max(k - 1, 0)]) + (discounts[k] - behind[k]) / mass[k]
        give(ranking[k], behind[k] + np.exp(scores[ranking[k]] - scale[k]) * a, sums)
    for j in range(len(scores)):
        if waiting[j]:
            give(j, np.exp(scores[j] - scale[depth - 1]) * a, sums)
