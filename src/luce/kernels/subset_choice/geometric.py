"""Successive choices of subsets whose worth is the geometric mean worth of their items, with the exact normalizer."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.subset_choice.product import BLOCK
from luce.kernels.subset_choice.symmetric import make_nest, make_sums, sum_subsets


@compiled
def geometric_choice(first, last, offsets, scores, labels, longest, loss, gradient):
    """`longest`: observed items of the longest list. A gradient without rows is not asked for."""
    rows = longest_list(first, last, offsets)
    order, ends, space = np.empty(rows, np.int64), np.empty(rows, np.int64), sorting_space(rows)
    nest, sums = make_nest(longest), make_sums(longest)
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        if sets and ends[sets - 1] > 1:
            means = fill_nest(scores, order, ends, sets, nest)
            sum_subsets(nest, sets, sums, gradient.size > 0)
            loss[q] = np.sum(sums.log_sum[:sets]) - means
            if gradient.size:
                _scatter(order, ends, sets, nest, sums.share, gradient)


@compiled
def fill_nest(scores, order, ends, sets, nest):
    """Lay out the sets R_M ⊂ … ⊂ R_1, scores below the highest of the list; return Σ_m mean of s over S_m."""
    n = ends[sets - 1]
    highest = scores[order[0]]
    for j in range(n):
        highest = max(highest, scores[order[j]])
    means, total, place, count = 0.0, 0.0, 0, 0
    for k in range(sets):
        m = sets - 1 - k
        begin, own = ends[m - 1] if m else 0, 0.0
        filled = place + -(-(ends[m] - begin) // BLOCK) * BLOCK
        for j in range(begin, ends[m]):
            nest.scores[place] = scores[order[j]] - highest
            own += nest.scores[place]
            place, count = place + 1, count + 1
            nest.seen[(place + BLOCK - 1) // BLOCK] = count
        nest.scores[place:filled] = -np.inf
        place, total = filled, total + own
        means += own / (ends[m] - begin)
        nest.blocks[k], nest.items[k], nest.centre[k] = place // BLOCK, count, total / count
    return means


@compiled
def _scatter(order, ends, sets, nest, share, gradient):
    """The gradient of each item: its expected share of the subsets minus its share of its own."""
    for k in range(sets):
        m = sets - 1 - k
        begin, place = ends[m - 1] if m else 0, BLOCK * nest.blocks[k - 1] if k else 0
        for j in range(begin, ends[m]):
            gradient[order[j]] = share[place + j - begin] - 1.0 / (ends[m] - begin)
