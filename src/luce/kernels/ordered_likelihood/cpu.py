"""The ordered likelihood of ragged lists: sort, shuffle ties, then a common scale for all scores where possible."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.elementary import span
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.ordered_likelihood import moving_scale, one_scale
from luce.kernels.shuffles import shuffle_ties, shuffling_space

HALVINGS = 1_075
"""How often 1 can be halved in float64 until it is 0."""


@compiled
def ordered_likelihood(
    first,
    last,
    offsets,
    scores,
    labels,
    item_weights,
    place_weights,
    numbers,
    seed,
    step,
    permutations,
    depth,
    whole_grades,
    halving,
    loss,
    gradient,
    second,
):
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.uint32), np.empty(longest, np.uint32)  # rows counted from the start of a list
    slots, words = sorting_space(longest), shuffling_space(longest)
    weight, worth, share = np.ones(longest), np.empty(longest), np.empty(longest)
    mass, chance = np.empty(longest), np.empty(longest)
    weighted = halving or item_weights.size > 0 or place_weights.size > 0
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        s, derivative, hessian = scores[rows], gradient[rows], second[rows]
        sets = sort_into_sets(labels[rows], 0, len(s), order, ends, slots)
        if sets < 2:
            continue  # no item stands above another: nothing was observed
        deep = places_that_count(ends, sets, depth, whole_grades, halving)
        if deep == 0:
            loss[q] = np.nan
            continue
        places, w = order[: ends[sets - 1]], weight[:deep]
        lowest, highest = span(s)
        near = highest - lowest < one_scale.NARROW
        if near:
            one_scale.worths(s, highest, worth)
        for sample in range(permutations):
            shuffle_ties(order, ends, sets, deep, seed, step, numbers[q], sample, words)
            if weighted:
                weights_of_places(places, halving, place_weights, item_weights[rows], w)
            if near:
                loss[q] += one_scale.add_order(worth, places, w, weighted, share, mass, chance, derivative, hessian)
            else:
                loss[q] += moving_scale.add_order(s, places, w, share, mass, derivative, hessian)
        if permutations > 1:
            loss[q] /= permutations
            derivative /= permutations
            hessian /= permutations


@compiled
def places_that_count(ends, sets, depth, whole_grades, halving):
    """How many places count; 0 if those above the lowest label are asked for and some of them are tied."""
    if depth < 0:
        return sets - 1 if ends[sets - 2] == sets - 1 else 0
    deep = min(np.int64(ends[sets - 1]), depth)
    if whole_grades:
        m = 0
        while ends[m] < deep:
            m += 1
        deep = np.int64(ends[m])
    return min(deep, HALVINGS) if halving else deep


@compiled
def weights_of_places(order, halving, place_weights, item_weights, weight):
    """The weight of each place: its own times that of the item there."""
    if halving:
        power, last = 1.0, 2.0 ** (1.0 - len(order))
        for j in range(len(weight)):
            weight[j] = (power - last) / (1.0 - last)
            power *= 0.5
    elif place_weights.size:
        for j in range(len(weight)):
            weight[j] = place_weights[j] if j < place_weights.size else 0.0
    else:
        weight[:] = 1.0
    if item_weights.size:
        for j in range(len(weight)):
            weight[j] *= item_weights[order[j]]
