"""The ordered likelihood of ragged lists: sort, shuffle ties, then a common scale for all scores where possible."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.elementary import span
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.ordered_likelihood import moving_scale, one_scale
from luce.kernels.ordered_likelihood.place_weights import of_list, weights_of_places
from luce.kernels.ordered_likelihood.several_orders import add_orders, tied_places
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
    place_starts,
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
        places, w, alpha = order[: ends[sets - 1]], weight[:deep], of_list(place_weights, place_starts, q)
        lowest, highest = span(s)
        near = highest - lowest < one_scale.NARROW
        if near:
            one_scale.worths(s, highest, worth)
        tied = tied_places(ends, sets, deep, permutations)
        orders = permutations if tied[2] else 1  # without ties all are the same
        if near and orders > 1:
            loss[q] = add_orders(
                worth,
                places,
                ends,
                sets,
                tied,
                w,
                weighted,
                halving,
                alpha,
                item_weights[rows],
                (seed, step, numbers[q]),
                orders,
                words,
                share,
                mass,
                chance,
                derivative,
                hessian,
            )
            continue
        for sample in range(orders):
            shuffle_ties(order, ends, sets, deep, seed, step, numbers[q], sample, words)
            if weighted:
                weights_of_places(places, halving, alpha, item_weights[rows], w)
            if near:
                loss[q] = one_scale.add_order(worth, places, w, weighted, share, mass, chance, derivative, hessian)
            else:
                loss[q] += moving_scale.add_order(s, places, w, share, mass, derivative, hessian) / orders
        if orders > 1:
            derivative /= orders
            hessian /= orders


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
