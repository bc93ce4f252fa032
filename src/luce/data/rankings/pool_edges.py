"""Edges from a ranking to all items of a pool that it does not name, in few edges however large the pool.

The items of a pool are the leaves of a binary tree of helper nodes, whose edges lead down. What a ranking of k items
does not name are k + 1 stretches of the pool, each the leaves below O(log n) nodes. Rankings of the same pool that end
with the same item reach together all but what every one of them names, so they are first put into one.
"""

import numpy as np

from luce.compiled import compiled


@compiled
def pool_edges(in_pools, offsets, items, places, pool, pool_items, pool_offsets, n_nodes, wins, losses):
    """Sources and targets of the edges, and the number of nodes; `in_pools` are rankings, those of a pool together."""
    n_items = len(wins)
    sources, targets, at = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    position = np.empty(n_items, np.int64)  # of an item in the pool at hand
    times_named = np.zeros(n_items, np.int64)
    stamp = np.full(n_items, -1, np.int64)  # the last ranking that names the item
    ending = np.full(n_items, -1, np.int64)  # the first ranking of the pool that ends with the item
    in_all = np.zeros(len(items), np.bool_)  # of the rows of that ranking: named by all that end with the item
    begin = 0
    while begin < len(in_pools):
        number = pool[in_pools[begin]]
        own = pool_items[pool_offsets[number] : pool_offsets[number + 1]]
        base = n_nodes - 1  # node i of the tree, from 1, has the number base + i
        n_nodes += len(own) - 1
        sources, targets = _roomier(sources, targets, at + 2 * len(own))
        at = _tree(own, base, sources, targets, at)
        position[own] = np.arange(len(own))
        ending[own] = -1
        times_named[own] = 0
        stop = begin
        while stop < len(in_pools) and pool[in_pools[stop]] == number:
            q = in_pools[stop]
            start, end = offsets[q], offsets[q + 1]
            for row in range(start, end):
                stamp[items[row]] = q
                times_named[items[row]] += 1
                wins[items[row]] = True
            last = items[end - 1]
            if end - start > 1 and places[end - 2] == places[end - 1]:
                room = at + 2 * (end - start + 1) * _height(len(own)) + end - start
                sources, targets = _roomier(sources, targets, room)
                for row in range(start, end):
                    if places[row] == places[end - 1]:
                        sources[at], targets[at] = items[row], n_nodes
                        at += 1
                at = _all_but(n_nodes, position[items[start:end]], own, base, sources, targets, at)
                n_nodes += 1
            elif ending[last] < 0:
                ending[last] = q
                in_all[start:end] = True
            else:
                for row in range(offsets[ending[last]], offsets[ending[last] + 1]):
                    in_all[row] &= stamp[items[row]] == q
            stop += 1
        for item in own:
            losses[item] |= times_named[item] < stop - begin
            if ending[item] >= 0:
                start, end = offsets[ending[item]], offsets[ending[item] + 1]
                named = position[items[start:end][in_all[start:end]]]
                sources, targets = _roomier(sources, targets, at + 2 * (len(named) + 1) * _height(len(own)))
                at = _all_but(item, named, own, base, sources, targets, at)
        begin = stop
    return sources[:at], targets[:at], n_nodes


@compiled
def _height(n_leaves):
    return np.int64(np.ceil(np.log2(n_leaves))) + 1


@compiled
def _roomier(sources, targets, room):
    if room <= len(sources):
        return sources, targets
    size = max(room, 2 * len(sources))
    more_sources, more_targets = np.empty(size, np.int32), np.empty(size, np.int32)
    more_sources[: len(sources)], more_targets[: len(targets)] = sources, targets
    return more_sources, more_targets


@compiled
def _tree(own, base, sources, targets, at):
    for node in range(1, len(own)):
        for child in (2 * node, 2 * node + 1):
            sources[at] = base + node
            targets[at] = base + child if child < len(own) else own[child - len(own)]
            at += 1
    return at


@compiled
def _all_but(source, named, own, base, sources, targets, at):
    """Edges from the source to nodes that cover the pool but for the named positions."""
    named = np.sort(named)
    n = len(own)
    for gap in range(len(named) + 1):
        low = n + (named[gap - 1] + 1 if gap else 0)
        high = n + (named[gap] if gap < len(named) else n)
        while low < high:
            if low & 1:
                sources[at], targets[at] = source, base + low if low < n else own[low - n]
                at += 1
                low += 1
            if high & 1:
                high -= 1
                sources[at], targets[at] = source, base + high if high < n else own[high - n]
                at += 1
            low //= 2
            high //= 2
    return at
