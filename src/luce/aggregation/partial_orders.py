"""Preferences between pairs of items, cut into levels of which every item is above every item of the next."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from luce.aggregation.names import encode_items, listed, python_value
from luce.arrays import Integers
from luce.data.partial_orders import SHOWN, cycle_in_words, find_cycle, graph, level_starts, topological_order
from luce.errors import DataError


def ordered_partition(edges: Any, items: Iterable[Hashable] | None = None) -> list[list[Any]]:
    """The most levels S₁ > S₂ > … such that every item of a level is preferred to every item of the next.

    An edge (a, b) means that a is preferred to b, and preference is transitive. The levels are the ordinal sum of the
    partial order: a cut is made wherever all of those above are preferred, directly or by a chain, to all of those
    below. They are unique. Inside a level nothing is claimed; edges there are set aside, as generalized rank-breaking
    does (2020, section 3.3). The result is an ordering: `Rankings.from_orderings([levels])`.

    It takes O(items + edges) time.

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
    cuts = np.flatnonzero(level_starts(preferred, order, np.array([0, len(order)])))[1:]
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


def _cycle_error(preferred: Any, names: Any) -> DataError:
    """The error that names the items of one cycle, and all that are in cycles where there are more."""
    cycle, in_cycle = find_cycle(preferred)
    others = f" Items in cycles: {listed([names[code] for code in in_cycle], SHOWN)}."
    return DataError(
        f"Preferences must not contain a cycle. These do: {cycle_in_words([names[code] for code in cycle])}."
        + (others if len(in_cycle) > len(cycle) else "")
    )
