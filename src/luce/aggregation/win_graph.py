"""The win graph: an edge from i to j where i was placed above j, in about as many edges as there are rows."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.aggregation.ranking_arrays import flat_pools
from luce.arrays import Integers, list_of_row, read_only, rows_of_lists
from luce.compiled import compiled
from luce.data.partial_orders import graph

if TYPE_CHECKING:
    from luce.aggregation.rankings import Rankings


class WinGraph(NamedTuple):
    """A CSR graph of the items, then helper nodes; one item reaches another in it if and only if a chain of wins does.

    Attributes:
        edges: CSR array (n_nodes, n_nodes).
        wins: bool (n_items,), whether the item was placed above another; `losses`: below.
    """

    edges: Any
    wins: NDArray[np.bool_]
    losses: NDArray[np.bool_]


def win_graph(rankings: "Rankings", ties: bool) -> WinGraph:
    """The win graph of the rankings of positive weight; with `ties` a tie counts as a win and a loss of each.

    A level is joined to the next alone: the chain of levels gives the rest. Two levels of several items meet in a
    helper node, so that they cost as many edges as they have items. A pool is reached through a tree of helper nodes.
    """
    wins, losses = np.zeros(rankings.n_items, bool), np.zeros(rankings.n_items, bool)
    counted = rankings.weights > 0
    ends, n_nodes = _level_edges(rankings, counted, ties, wins, losses)
    in_pools = np.flatnonzero(counted & (rankings.pool >= 0))
    if in_pools.size:
        in_pools = in_pools[np.argsort(rankings.pool[in_pools], kind="stable")]
        rows = (rankings.offsets, rankings.items, rankings.places, rankings.pool)
        sources, targets, n_nodes = pool_edges(
            read_only(in_pools), *rows, *flat_pools(rankings.pools), n_nodes, wins, losses
        )
        ends = np.concatenate([ends, [sources, targets]], axis=1)
    return WinGraph(graph(ends[0], ends[1], n_nodes), wins, losses)


def _level_edges(
    rankings: "Rankings", counted: NDArray[np.bool_], ties: bool, wins: NDArray[np.bool_], losses: NDArray[np.bool_]
) -> tuple[Integers, int]:
    """The edges between consecutive levels (2, edges), and the number of nodes; marks who wins and who loses."""
    rows = rows_of_lists(rankings.offsets, np.flatnonzero(counted)) if not counted.all() else slice(None)
    items, places, q = rankings.items[rows], rankings.places[rows], list_of_row(rankings.offsets)[rows]
    if not len(items):
        return np.empty((2, 0), np.int64), len(wins)
    begins = np.append(True, (q[1:] != q[:-1]) | (places[1:] != places[:-1]))  # a level, row by row
    starts = np.flatnonzero(begins)
    sizes, level = np.diff(np.append(starts, len(items))), np.cumsum(begins) - 1
    joined = q[starts[1:]] == q[starts[1:] - 1]  # each level with the next
    above, below = np.append(False, joined)[level], np.append(joined, False)[level]
    wins[items[below]], losses[items[above]] = True, True
    joint = joined & (sizes[1:] > 1) & (sizes[:-1] > 1)
    helper = len(wins) - 1 + np.cumsum(joint)
    to = np.append(np.where(joint, helper, items[starts[1:]]), -1)  # from every item of a level, and then on
    start = np.append(-1, np.where(joint, helper, items[starts[:-1]]))
    down = below & np.append(joint | (sizes[1:] == 1), False)[level]
    up = above & (sizes > 1)[level]
    edges = [[items[down], to[level[down]]], [start[level[up]], items[up]]]
    if ties:
        last = np.append(~joined, True)
        tied = ((sizes > 1) & ~(last & rankings.open_end[q[starts]]))[level]
        wins[items[tied]], losses[items[tied]] = True, True
        following = np.append(np.where(begins[1:], starts[level[:-1]], np.arange(1, len(items))), starts[-1])
        edges.append([items[tied], items[following[tied]]])  # in a ring, so that each reaches each
    return np.concatenate(edges, axis=1), len(wins) + int(joint.sum())


@compiled
def pool_edges(in_pools, offsets, items, places, pool, pool_items, pool_offsets, n_nodes, wins, losses):
    """Edges from each ranking to all items of its pool that it does not name, in few edges however large the pool.

    The items of a pool are the leaves of a binary tree of helper nodes, whose edges lead down. What a ranking of k
    items does not name are k + 1 intervals of the pool, each the leaves below O(log n) nodes. Rankings of the same pool
    that end with the same item reach together all but what every one of them names, so they are merged first.

    in_pools: indices of the rankings with a pool, those of a pool together. Returns sources and targets of the edges,
    and the number of nodes.
    """
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
        sources, targets = _enlarged(sources, targets, at + 2 * len(own))
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
                least = at + 2 * (end - start + 1) * _height(len(own)) + end - start
                sources, targets = _enlarged(sources, targets, least)
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
                sources, targets = _enlarged(sources, targets, at + 2 * (len(named) + 1) * _height(len(own)))
                at = _all_but(item, named, own, base, sources, targets, at)
        begin = stop
    return sources[:at], targets[:at], n_nodes


@compiled
def _height(n_leaves):
    return np.int64(np.ceil(np.log2(n_leaves))) + 1


@compiled
def _enlarged(sources, targets, least):
    if least <= len(sources):
        return sources, targets
    size = max(least, 2 * len(sources))
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
