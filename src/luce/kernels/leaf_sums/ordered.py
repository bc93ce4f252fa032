"""Leaf sums of the ordered likelihood in one pass up the list: each place changes the mass of one leaf only.

A leaf whose mass E stays the same over the contexts a … b − 1 gets E Σ w/z from them, and less E² Σ w/z²: differences
of prefix sums, which lose no digits because 1/z never falls going down the list.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.elementary import span
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.leaf_sums.far import add_far, log_add
from luce.kernels.leaf_sums.near import add_orders, note_order
from luce.kernels.ordered_likelihood import one_scale
from luce.kernels.ordered_likelihood.cpu import places_that_count, weights_of_places
from luce.kernels.shuffles import shuffle_ties, shuffling_space


@compiled
def leaf_sums(
    first,
    last,
    offsets,
    scores,
    labels,
    leaves,
    item_weights,
    place_weights,
    list_weights,
    numbers,
    seed,
    step,
    permutations,
    depth,
    whole_grades,
    halving,
    sums,
):
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    slots, words = sorting_space(longest), shuffling_space(longest)
    weight, worth = np.ones(longest), np.empty(longest)
    prefix = np.empty(longest), np.empty(longest + 1), np.empty(longest + 1)
    base, mass, log_mass = np.zeros(sums.shape[1]), np.zeros(sums.shape[1]), np.full(sums.shape[1], -np.inf)
    known = np.zeros(sums.shape[1], np.int64)  # how many contexts, from the last on, have been added to a leaf's sums
    orders, movers = np.empty((permutations, longest), np.uint32), np.empty(longest, np.uint32)
    role = np.zeros(longest, np.uint8)
    weighted = halving or item_weights.size > 0 or place_weights.size > 0
    for q in range(first, last):
        scale = (list_weights[q] if list_weights.size else 1.0) / permutations
        if scale == 0.0:
            continue
        rows = slice(offsets[q], offsets[q + 1])
        s, leaf = scores[rows], leaves[rows]
        sets = sort_into_sets(labels[rows], 0, len(s), order, ends, slots)
        if sets < 2:
            continue
        deep = places_that_count(ends, sets, depth, whole_grades, halving)
        places, w, n_movers = order[: ends[sets - 1]], weight[:deep], 0
        weights = halving, place_weights, item_weights[rows]
        lowest, highest = span(s)
        near = highest - lowest < one_scale.NARROW
        for sample in range(permutations):
            shuffle_ties(order, ends, sets, deep, seed, step, numbers[q], sample, words)
            if near:
                n_movers = note_order(order, deep, orders[sample], movers, n_movers, role)
                continue
            if weighted:
                weights_of_places(places, weights[0], weights[1], weights[2], w)
            _prefix_logs(s, places, w, *prefix)
            _add_far(s, places, leaf, deep, scale, prefix[1], prefix[2], log_mass, known, sums)
        if near:
            one_scale.worths(s, highest, worth)
            moving = movers[:n_movers]
            add_orders(
                worth,
                places,
                leaf,
                orders,
                deep,
                moving,
                role,
                weights,
                weighted,
                w,
                scale,
                prefix,
                base,
                mass,
                known,
                sums,
            )


@compiled
def _prefix_logs(scores, order, weight, total, once, twice):
    """The logarithms of the prefix sums, where scores are too far apart for one scale."""
    deep, z = len(weight), -np.inf
    for j in range(deep, len(order)):
        z = log_add(z, scores[order[j]])
    for j in range(deep - 1, -1, -1):
        z = log_add(z, scores[order[j]])
        total[j] = z
    once[0] = twice[0] = -np.inf
    for j in range(deep):
        each = np.log(weight[j]) - total[j]
        once[j + 1] = log_add(once[j], each)
        twice[j + 1] = log_add(twice[j], each - total[j])


@compiled
def _add_far(scores, order, leaf, deep, scale, once, twice, log_mass, known, sums):
    for j in range(deep, len(order)):
        row = order[j]
        log_mass[leaf[row]] = log_add(log_mass[leaf[row]], scores[row])
    for j in range(deep - 1, -1, -1):
        row = order[j]
        u = leaf[row]
        add_far(u, j + 1, deep - known[u], scale, log_mass[u], once, twice, sums)
        log_mass[u] = log_add(log_mass[u], scores[row])
        known[u] = deep - j - 1
    for j in range(len(order)):
        u = leaf[order[j]]
        add_far(u, 0, deep - known[u], scale, log_mass[u], once, twice, sums)
        log_mass[u] = -np.inf
        known[u] = 0
