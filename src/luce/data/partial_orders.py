"""Preferences as directed graphs: an edge leads from the better node to the worse one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers
from luce.compiled import compiled

SHOWN = 12
"""Nodes of a cycle that an error names."""


def graph(sources: Any, targets: Any, n_nodes: int) -> Any:
    """The graph of these edges as a CSR array."""
    return sparse.csr_array((np.ones(len(sources), bool), (sources, targets)), shape=(n_nodes, n_nodes))


def topological_order(edges: Any) -> Integers:
    """The nodes in topological order (Kahn, 1962), without those on a cycle or after one.

    >>> topological_order(graph([2, 0], [0, 1], 3))
    array([2, 0, 1])
    """
    return _topological_order(edges.indptr, edges.indices)


@compiled
def _topological_order(starts, targets):
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


def level_starts(preferred: Any, order: Integers, bounds: Integers) -> NDArray[np.bool_]:
    """Whether a level begins at each place of the order: every node of a level is preferred to every node of the next.

    order: the nodes in topological order, part by part where no edge joins two parts; bounds: where the parts begin,
    and the end. The levels of a part are its ordinal sum, the most that there are, and unique.

    O(nodes + edges): a cut after the first k of a part is right if and only if each of these without an edge to another
    of them has an edge to each of the rest without an edge from another of those; counting these three for all k takes
    one pass.

    >>> level_starts(graph([0, 0, 1, 2], [1, 2, 3, 3], 4), np.arange(4), np.array([0, 4]))
    array([ True,  True, False,  True])
    """
    n_nodes, sizes = len(order), np.diff(bounds)
    place = np.empty(n_nodes, np.int64)
    place[order] = np.arange(n_nodes)
    above, below = (place[ends] for ends in preferred.nonzero())
    next_below, last_above = np.repeat(bounds[1:], sizes), np.repeat(bounds[:-1] - 1, sizes)  # by place
    np.minimum.at(next_below, above, below)
    np.maximum.at(last_above, below, above)

    def covered(after: Integers, until: Integers) -> Integers:
        """How many of the intervals after < k ≤ until hold each k."""
        changes = np.bincount(after + 1, minlength=n_nodes + 2) - np.bincount(until + 1, minlength=n_nodes + 2)
        return np.cumsum(changes)[:n_nodes]

    places = np.arange(n_nodes)
    bottoms, tops = covered(places, next_below), covered(last_above, places)
    links = last_above[below] < next_below[above]
    joined = covered(last_above[below][links], next_below[above][links])
    starts = joined == bottoms * tops
    starts[bounds[:-1][sizes > 0]] = True
    return starts


def find_cycle(preferred: Any) -> tuple[list[int], Integers]:
    """The nodes of one cycle in their order, and all that are in cycles."""
    from scipy.sparse.csgraph import connected_components

    n_components, component = connected_components(preferred, directed=True, connection="strong")
    sizes = np.bincount(component, minlength=n_components)
    in_cycle = np.flatnonzero((sizes[component] > 1) | preferred.diagonal())
    return _cycle(preferred, component, int(in_cycle[np.argmin(sizes[component[in_cycle]])])), in_cycle


def cycle_in_words(names: Sequence[Any]) -> str:
    """The nodes of a cycle as an error shows them.

    >>> cycle_in_words(["a", "b"])
    'a > b > a'
    """
    shown = " > ".join(map(str, names[:SHOWN]))
    return f"{shown} > {names[0]}" if len(names) <= SHOWN else f"{shown} > … ({len(names):,} items)"


def _cycle(preferred: Any, component: Any, node: int) -> list[int]:
    """A cycle inside the component of a node: along edges from there until a node comes again."""
    step: dict[int, int] = {}
    while node not in step:
        step[node] = len(step)
        targets = preferred.indices[preferred.indptr[node] : preferred.indptr[node + 1]]
        node = int(targets[component[targets] == component[node]][0])
    return list(step)[step[node] :]
