"""Preferences between pairs of items, cut into levels of which every item is above every item of the next."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from luce.aggregation.names import encode_items, listed, python_value
from luce.aggregation.win_graph import graph, topological_order
from luce.arrays import Integers
from luce.errors import DataError

SHOWN = 12
"""Items of a cycle that an error names."""


def ordered_partition(edges: Any, items: Iterable[Hashable] | None = None) -> list[list[Any]]:
    """The most levels S₁ > S₂ > … such that every item of a level is preferred to every item of the next.

    An edge (a, b) means that a is preferred to b, and preference is transitive. The levels are the ordinal sum of the
    partial order: a cut is made wherever all of those above are preferred, directly or by a chain, to all of those
    below. They are unique. Inside a level nothing is claimed; edges there are set aside, as generalized rank-breaking
    does (2020, section 3.3). The result is an ordering: `Rankings.from_orderings([levels])`.

    O(items + edges): with the items in topological order, a cut after the first k is right if and only if each of the
    first k without an edge to another of them has an edge to each of the rest without an edge from another of those;
    counting these three for all k takes one pass.

    Parameters
    ----------
    edges : iterable of pairs (better, worse), or array of two columns
        A pair may occur several times.
    items : iterable of hashable, optional
        All items, if some are in no pair: such an item cannot be placed, so all fall into one level.

    Returns
    -------
    list of lists
        The levels, best first.

    Raises
    ------
    DataError
        When the preferences contain a cycle; it names the items of one.

    Examples
    --------
    >>> ordered_partition([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    [['a'], ['b', 'c'], ['d']]
    >>> ordered_partition([("a", "b"), ("b", "a")])
    Traceback (most recent call last):
    luce.errors.DataError: Preferences must not contain a cycle. These do: a > b > a.
    """
    codes, names = _coded(edges, items)
    preferred = graph(codes[::2], codes[1::2], len(names))
    preferred.sum_duplicates()
    order = topological_order(preferred)
    if len(order) < len(names):
        raise _cycle_error(preferred, names)
    cuts = np.flatnonzero(_is_cut(preferred, order))
    return [[names[code] for code in np.sort(level)] for level in np.split(order, cuts)]


def _coded(edges: Any, items: Iterable[Hashable] | None) -> tuple[Integers, Any]:
    """The ends of the edges one after another as codes."""
    if isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] == 2:
        values: Any = edges.reshape(-1)
    else:
        pairs = [tuple(edge) for edge in edges]
        wrong = next((pair for pair in pairs if len(pair) != 2), None)
        if wrong is not None:
            raise DataError(f"An edge must be a pair (better, worse). Got {wrong!r}.")
        values = [end for pair in pairs for end in pair]
    known = None if items is None else list(map(python_value, items))
    if not len(values) and not known:
        raise DataError("At least one edge or one item is needed. Got none.")
    return encode_items(values, known, None, lambda row: f"Edge {row // 2 + 1}")


def _is_cut(preferred: Any, order: Integers) -> Any:
    """Whether to cut before each place of the order."""
    n_items = len(order)
    place = np.empty(n_items, np.int64)
    place[order] = np.arange(n_items)
    above, below = (place[ends] for ends in preferred.nonzero())
    next_below, last_above = np.full(n_items, n_items), np.full(n_items, -1)  # by place
    np.minimum.at(next_below, above, below)
    np.maximum.at(last_above, below, above)

    def covered(after: Integers, until: Integers) -> Integers:
        """How many of the intervals after < k ≤ until hold each k."""
        changes = np.bincount(after + 1, minlength=n_items + 2) - np.bincount(until + 1, minlength=n_items + 2)
        return np.cumsum(changes)[:n_items]

    places = np.arange(n_items)
    bottoms, tops = covered(places, next_below), covered(last_above, places)
    links = last_above[below] < next_below[above]
    joined = covered(last_above[below][links], next_below[above][links])
    return (joined == bottoms * tops) & (places > 0)


def _cycle_error(preferred: Any, names: Any) -> DataError:
    """The error that names the items of one cycle, and all that are in cycles where there are more."""
    n_components, component = csgraph.connected_components(preferred, directed=True, connection="strong")
    sizes = np.bincount(component, minlength=n_components)
    in_cycle = np.flatnonzero((sizes[component] > 1) | preferred.diagonal())
    cycle = _cycle(preferred, component, int(in_cycle[np.argmin(sizes[component[in_cycle]])]))
    shown = " > ".join(str(names[code]) for code in cycle[:SHOWN])
    end = f" > {names[cycle[0]]}" if len(cycle) <= SHOWN else f" > … ({len(cycle):,} items)"
    others = f" Items in cycles: {listed([names[code] for code in in_cycle], SHOWN)}."
    return DataError(
        f"Preferences must not contain a cycle. These do: {shown}{end}."
        + (others if len(in_cycle) > len(cycle) else "")
    )


def _cycle(preferred: Any, component: Any, node: int) -> list[int]:
    """A cycle inside the component of a node: along edges from there until a node comes again."""
    step: dict[int, int] = {}
    while node not in step:
        step[node] = len(step)
        targets = preferred.indices[preferred.indptr[node] : preferred.indptr[node + 1]]
        node = int(targets[component[targets] == component[node]][0])
    return list(step)[step[node] :]
