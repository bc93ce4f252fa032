"""The win graph: who was placed above whom, in about as many edges as there are rows."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import frozen
from luce.compiled import compiled
from luce.data.rankings.checks import flat_pools
from luce.data.rankings.graphs import graph
from luce.data.rankings.pool_edges import pool_edges

if TYPE_CHECKING:
    from luce.data.rankings.rankings import Rankings


class WinGraph(NamedTuple):
    """A CSR graph of the items, then helper nodes; an item reaches another in it just if a chain of wins leads there.

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
    counted = frozen(rankings.weights > 0)
    given = (rankings.offsets, rankings.items, rankings.places, rankings.open_end, counted, ties)
    nothing = np.empty(0, np.int32)
    n_edges, n_nodes = _level_edges(*given, nothing, nothing, wins, losses)
    ends = np.empty((2, n_edges), np.int32)
    _level_edges(*given, ends[0], ends[1], wins, losses)
    in_pools = np.flatnonzero(counted & (rankings.pool >= 0))
    if in_pools.size:
        in_pools = in_pools[np.argsort(rankings.pool[in_pools], kind="stable")]
        rows = (rankings.offsets, rankings.items, rankings.places, rankings.pool)
        sources, targets, n_nodes = pool_edges(
            frozen(in_pools), *rows, *flat_pools(rankings.pools), n_nodes, wins, losses
        )
        ends = np.concatenate([ends, [sources, targets]], axis=1)
    return WinGraph(graph(ends[0], ends[1], n_nodes), wins, losses)


@compiled
def _level_edges(offsets, items, places, open_end, counted, ties, sources, targets, wins, losses):
    """Write the edges between consecutive levels, or with no room for them count them and the nodes."""
    writing = len(sources) > 0
    at, n_nodes = 0, len(wins)
    for q in range(len(offsets) - 1):
        above, start, end = offsets[q], offsets[q], offsets[q + 1]
        while counted[q] and start < end:
            stop = start + 1
            while stop < end and places[stop] == places[start]:
                stop += 1
            for row in range(above, start):
                wins[items[row]] = True
            for row in range(start, stop):
                losses[items[row]] |= start > above
            helper = -1
            if start - above > 1 and stop - start > 1:
                helper = n_nodes
                n_nodes += 1
            at = _join(items, above, start, start, stop, helper, at, sources, targets, writing)
            if ties and stop - start > 1 and not (open_end[q] and stop == end):
                at = _round(items, start, stop, at, sources, targets, writing)
                for row in range(start, stop):
                    wins[items[row]] = losses[items[row]] = True
            above, start = start, stop
    return at, n_nodes


@compiled
def _join(items, above, above_end, start, stop, helper, at, sources, targets, writing):
    """Edges from each item of the level above to each of the level below, through the helper where there is one."""
    if helper < 0:
        for i in range(above, above_end):
            for j in range(start, stop):
                if writing:
                    sources[at], targets[at] = items[i], items[j]
                at += 1
        return at
    for i in range(above, above_end):
        if writing:
            sources[at], targets[at] = items[i], helper
        at += 1
    for j in range(start, stop):
        if writing:
            sources[at], targets[at] = helper, items[j]
        at += 1
    return at


@compiled
def _round(items, start, stop, at, sources, targets, writing):
    """Edges round the items of a level, so that each reaches each."""
    for row in range(start, stop):
        if writing:
            sources[at], targets[at] = items[row], items[row + 1 if row + 1 < stop else start]
        at += 1
    return at
