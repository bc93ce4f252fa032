"""Leaf sums of the ordered likelihood in one pass up the list: each place changes the mass of one leaf only.

A leaf whose mass E stays the same over the contexts a … b − 1 gets E Σ w/z from them, and less E² Σ w/z²: differences
of prefix sums, which lose no digits because 1/z never falls going down the list.
"""

import numpy as np

from luce.compiled import compiled
from luce.kernels.elementary import span
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.leaf_sums.far import add_far, log_add
from luce.kernels.leaf_sums.near import add_draws, add_order
from luce.kernels.ordered_likelihood import one_scale
from luce.kernels.ordered_likelihood.cpu import places_that_count
from luce.kernels.ordered_likelihood.place_weights import of_list, weights_of_places
from luce.kernels.ordered_likelihood.several_orders import tied_places
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
    place_starts,
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
    base, mass, spare = np.zeros(sums.shape[1]), np.zeros(sums.shape[1]), np.zeros(sums.shape[1])
    log_mass = np.full(sums.shape[1], -np.inf)
    known = np.zeros(sums.shape[1], np.int64)  # how many contexts, from the last on, have been added to a leaf's sums
    weighted = halving or item_weights.size > 0 or place_weights.size > 0
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        s, leaf = scores[rows], leaves[rows]
        scale = list_weights[q] if list_weights.size else 1.0
        sets = sort_into_sets(labels[rows], 0, len(s), order, ends, slots) if scale else 0
        if sets < 2:
            continue
        deep = places_that_count(ends, sets, depth, whole_grades, halving)
        places, w, alpha = order[: ends[sets - 1]], weight[:deep], of_list(place_weights, place_starts, q)
        lowest, highest = span(s)
        near = highest - lowest < one_scale.NARROW
        tied, stop, end = tied_places(ends, sets, deep, permutations)
        count = permutations if end else 1
        draw = seed, step, numbers[q]
        if not near:
            for sample in range(count):
                shuffle_ties(order, ends, sets, deep, *draw, sample, words)
                if weighted:
                    weights_of_places(places, halving, alpha, item_weights[rows], w)
                _prefix_logs(s, places, w, *prefix)
                _add_far(s, places, leaf, deep, scale / count, prefix[1], prefix[2], log_mass, known, sums)
            continue
        one_scale.worths(s, highest, worth)
        if end:
            add_draws(
                worth,
                places,
                ends,
                sets,
                tied,
                stop,
                leaf,
                draw,
                count,
                words,
                weighted,
                halving,
                alpha,
                item_weights[rows],
                w,
                scale / count,
                *prefix,
                base,
                mass,
                spare,
                known,
                sums,
            )
        else:
            shuffle_ties(order, ends, sets, deep, *draw, 0, words)
            if weighted:
                weights_of_places(places, halving, alpha, item_weights[rows], w)
        if tied:
            add_order(worth, places, 0, tied, leaf, w, scale, *prefix, mass, known, sums)
        if end < deep:
            add_order(worth, places, end, deep, leaf, w, scale, *prefix, mass, known, sums)


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
