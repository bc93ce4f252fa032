"""Directed graphs in compressed rows: an order in which every edge leads onward."""

from typing import Any

import numpy as np
from scipy import sparse

from luce.arrays import Integers
from luce.compiled import compiled


def graph(sources: Any, targets: Any, n_nodes: int) -> Any:
    """The graph of these edges as a CSR array; an edge that comes several times stays so."""
    starts, sorted_targets = _rows(np.asarray(sources, np.int32), np.asarray(targets, np.int32), n_nodes)
    return sparse.csr_array((np.ones(len(sorted_targets), bool), sorted_targets, starts), shape=(n_nodes, n_nodes))


@compiled
def _rows(sources, targets, n_nodes):
    starts = np.zeros(n_nodes + 1, np.int32)
    for source in sources:
        starts[source + 1] += 1
    for node in range(n_nodes):
        starts[node + 1] += starts[node]
    free, placed = starts[:-1].copy(), np.empty(len(sources), np.int32)
    for edge in range(len(sources)):
        placed[free[sources[edge]]] = targets[edge]
        free[sources[edge]] += 1
    return starts, placed


def onward_order(edges: Any) -> Integers:
    """The nodes in an order in which every edge leads onward (Kahn, 1962), but for those on a circle or after one.

    >>> onward_order(graph([2, 0], [0, 1], 3))
    array([2, 0, 1])
    """
    return _onward_order(edges.indptr, edges.indices)


@compiled
def _onward_order(starts, targets):
    n_nodes = len(starts) - 1
    waiting = np.zeros(n_nodes, np.int64)
    for target in targets:
        waiting[target] += 1
    order = np.empty(n_nodes, np.int64)
    filled = 0
    for node in range(n_nodes):
        if waiting[node] == 0:
            order[filled] = node
            filled += 1
    done = 0
    while done < filled:
        node = order[done]
        done += 1
        for edge in range(starts[node], starts[node + 1]):
            target = targets[edge]
            waiting[target] -= 1
            if waiting[target] == 0:
                order[filled] = target
                filled += 1
    return order[:filled]
