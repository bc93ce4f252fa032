"""Contexts that permutations share, counted against sets of Python."""

import numpy as np

from luce.data.synthetic import web_search
from luce.kernels.label_order import sort_into_sets, sorting_space
from luce.kernels.shuffles import shuffle_ties, shuffling_space
from papers.listmle_trees_2019.contexts import context_compression


def test_contexts_that_orders_share_are_counted_once():
    """Against sets of Python, order by order; the more orders, the more they share."""
    train = web_search(60, 1, 20, seed=1).dataset
    rows, depth, count = 30, 10, 4
    seen, total = set(), 0
    for q in range(rows):
        labels = train.labels[train.rows(q)]
        n = len(labels)
        if len(set(labels)) < 2:
            continue
        for sample in range(count):
            order = shuffled(labels, q, sample, depth)
            for j in range(min(depth, n - 1)):
                seen.add((q, frozenset(order[:j])))
                total += 1
    found = context_compression(train.take(np.arange(rows)), count, depth=depth, n_jobs=1)
    assert (found.different, found.total) == (len(seen), total)
    assert found.ratio == len(seen) / total
    ratios = [context_compression(train, orders).ratio for orders in (1, 3, 6, 9)]
    assert ratios[0] == 1.0
    assert (np.diff(ratios) < 0).all()


def shuffled(labels, q, sample, depth):
    """The order of a list as the kernels shuffle it."""
    order, ends = np.empty(len(labels), np.uint32), np.empty(len(labels), np.uint32)
    sets = sort_into_sets(labels, 0, len(labels), order, ends, sorting_space(len(labels)))
    for again in range(sample + 1):
        shuffle_ties(order, ends, sets, depth, 0, 0, q, again, shuffling_space(len(labels)))
    return order.tolist()
