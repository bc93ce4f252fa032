"""Expectations over the rankings of each list: exact where few sets of items have to be enumerated, else estimates."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.kernels.label_order import longest_list
from luce.kernels.place_sums import PAIRS, SUM
from luce.kernels.placements.pairs import falls_evenly, pair_sum
from luce.kernels.placements.prefixes import fill_left
from luce.kernels.placements.sampled import absorb, fill_chances, fill_far_chances, mark_places, place_sum
from luce.kernels.placements.subsets import steps, walk
from luce.kernels.sampled_rankings.cpu import fill_chunk, make_chunk, open_urn
from luce.kernels.sampled_rankings.numbers import Stream
from luce.kernels.sampled_rankings.urn import CHEAPEST, count_live, make_urn

PLACEMENTS, ENTROPY, SUMS = range(3)
"""What is expected: of each item, its places (K numbers); of each list, one number."""


class Quantity(NamedTuple):
    """What is expected; where that is a sum over places, its kind, worths (N,), scales (Q,), discounts (at least K)."""

    what: int
    kind: int
    worths: Floats
    scales: Floats
    discounts: Floats


class SampleWorkspace(NamedTuple):
    """Where samples of lists of up to n items are looked at: places, waiting (n,), left (K + 1,), observed (K, n)."""

    places: Integers
    waiting: Floats
    left: Floats
    observed: Floats


@compiled
def expectations(
    first, last, offsets, scores, numbers, seed, step, samples, most_steps, depth, quantity, values, errors
):
    """values, errors: K places by N items, or 1 by Q lists; 0 at first."""
    longest = longest_list(first, last, offsets)
    places = min(depth, longest)
    urns, chunk = make_urn(longest), make_chunk(longest, places, CHEAPEST)
    observed = np.empty((len(values), longest if quantity.what == PLACEMENTS else 1))
    workspace = SampleWorkspace(np.empty(longest, np.int64), np.empty(longest), np.empty(places + 1), observed)
    for q in range(first, last):
        own = scores[offsets[q] : offsets[q + 1]]
        live = count_live(own)
        here = slice(offsets[q], offsets[q + 1]) if quantity.what == PLACEMENTS else slice(q, q + 1)
        deep, worths = min(depth, live), quantity.worths[offsets[q] : offsets[q + 1]] if quantity.what == SUMS else own
        mine = Quantity(quantity.what, quantity.kind, worths, quantity.scales, quantity.discounts)
        if deep == 0 or (quantity.what == SUMS and quantity.scales[q] == 0.0):
            continue
        if quantity.what == SUMS and (
            quantity.kind == PAIRS or (quantity.kind == SUM and falls_evenly(quantity.discounts, live))
        ):
            values[0, q] = pair_sum(own, quantity.kind, worths, quantity.discounts)
        elif steps(live, deep) <= most_steps:
            _exact(own, live, deep, mine, values[:, here])
        else:
            stream, which = Stream(seed, step, numbers[q], 0), (urns, chunk, workspace)
            _estimate(own, deep, stream, samples, mine, which, values[:, here], errors[:, here])


@compiled
def _exact(scores, live, depth, quantity, values):
    order = np.argsort(-scores, kind="mergesort")[:live]
    worths = quantity.worths[order] if quantity.what == SUMS else np.zeros(live)
    discounts = quantity.discounts if quantity.what == SUMS else np.zeros(depth)
    chances = np.empty((depth, live))
    entropy, expected = walk(scores[order], depth, quantity.kind, worths, discounts, chances)
    if quantity.what != PLACEMENTS:
        values[0, 0] = entropy if quantity.what == ENTROPY else expected
        return
    for k in range(depth):
        for i in range(live):
            values[k, order[i]] = chances[k, i]


@compiled
def _estimate(scores, depth, stream, samples, quantity, which, values, errors):
    urns, chunk, workspace = which
    urn, n_racers, tail = open_urn(urns, scores, depth, CHEAPEST)
    width, found = len(chunk.near), workspace.observed[:, : values.shape[1]]
    found[:] = 0.0
    for done in range(0, samples, width):
        now = min(width, samples - done)
        own = Stream(stream.seed, stream.step, stream.list_number, done)
        fill_chunk(urn, n_racers, tail, depth, own, now, chunk)
        for i in range(now):
            _observe(urn, chunk.rankings[i, :depth], chunk.masses[i], chunk.near[i], quantity, workspace, found)
            absorb(found, done + i + 1, values, errors)
    for k in range(values.shape[0]):
        for j in range(values.shape[1]):
            errors[k, j] = np.sqrt(errors[k, j] / (samples - 1) / samples) if samples > 1 else np.nan


@compiled
def _observe(urn, ranking, masses, near, quantity, workspace, found):
    """What one ranking shows."""
    n, depth = len(urn.scores), len(ranking)
    places, waiting, left = workspace.places[:n], workspace.waiting[:n], workspace.left[: depth + 1]
    if quantity.what == SUMS:
        found[0, 0] = place_sum(ranking, quantity.kind, quantity.worths, quantity.discounts)
        return
    mark_places(ranking, places)
    if quantity.what == ENTROPY:
        found[0, 0] = fill_left(urn.scores, ranking, places, left)
        return
    if near:
        fill_chances(ranking, masses, urn.weights, places, waiting, found)
    else:
        fill_left(urn.scores, ranking, places, left)
        fill_far_chances(ranking, left, urn.scores, places, waiting, found)


@compiled
def order_sums(first, last, offsets, scores, kind, worths, discounts, depth, values):
    """The sum over places, or the number of PAIRS, of the order of the scores; values: (Q,)."""
    for q in range(first, last):
        own, worth = scores[offsets[q] : offsets[q + 1]], worths[offsets[q] : offsets[q + 1]]
        order = np.argsort(-own, kind="mergesort")[: count_live(own)]
        if kind != PAIRS:
            values[q] = place_sum(order[:depth], kind, worth, discounts)
            continue
        for i in range(len(order)):
            for j in range(i):
                values[q] += worth[order[j]] > worth[order[i]]
