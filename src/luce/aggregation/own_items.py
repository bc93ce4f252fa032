"""Rankings in which every ranker has items of its own, and sums over the items of a ranker."""

from typing import NamedTuple

import numpy as np

from luce.aggregation.observed import ObservedRankings
from luce.arrays import Floats, Integers, offsets_of_sizes, read_only
from luce.compiled import compiled
from luce.threads import sum_over_lists


class OwnItems(NamedTuple):
    """The items of each ranker, ranker by ranker.

    items (N,), rankers (N,): the item and the ranker of each; offsets (G+1,): where those of each ranker begin;
    observed: the rankings in terms of these, without pools.
    """

    items: Integers
    rankers: Integers
    offsets: Integers
    observed: ObservedRankings


def own_items(observed: ObservedRankings, rankers: Integers, n_rankers: int) -> OwnItems:
    """Rankings in which every ranker has items of its own; rankers (Q,): who made each."""
    seen = observed.expand_pools()
    order = np.argsort(rankers, kind="stable")
    inputs = (read_only(values) for values in (seen.items, seen.offsets, rankers, order))
    numbers, items, owners = _number(*inputs, seen.n_items)
    offsets = offsets_of_sizes(np.bincount(owners, minlength=n_rankers))
    no_pools = {"pool_items": np.empty(0, np.int64), "pool_offsets": np.zeros(1, np.int64)}
    return OwnItems(items, owners, offsets, seen.replace(items=numbers, n_items=len(items), **no_pools))


def outer_sums(own: OwnItems, values: Floats, weights: Floats, n_items: int, n_jobs: int | None) -> Floats:
    """Σ over rankers of weight · x xᵀ, x the values (N,) of a ranker's items (n_items, n_items); weights (G,)."""
    shapes = [(n_items, n_items)]
    (half,) = sum_over_lists(_outer_sums, own.offsets, shapes, own.items, values, weights, n_jobs=n_jobs)
    return half + half.T


@compiled
def _number(items, offsets, rankers, order, n_items):
    """The number of each row's item among those of all rankers, and the item and the ranker of each number."""
    numbers = np.empty(len(items), np.int64)
    own, owners = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    number_of, last_ranker = np.empty(n_items, np.int64), np.full(n_items, -1)
    count = 0
    for q in order:
        for row in range(offsets[q], offsets[q + 1]):
            item = items[row]
            if last_ranker[item] != rankers[q]:
                last_ranker[item], number_of[item] = rankers[q], count
                own[count], owners[count] = item, rankers[q]
                count += 1
            numbers[row] = number_of[item]
    return numbers, own[:count].copy(), owners[:count].copy()


@compiled
def _outer_sums(first, last, offsets, items, values, weights, half):
    for g in range(first, last):
        for a in range(offsets[g], offsets[g + 1]):
            row, factor = half[items[a]], weights[g] * values[a]
            row[items[a]] += 0.5 * factor * values[a]
            for b in range(a + 1, offsets[g + 1]):
                row[items[b]] += factor * values[b]
