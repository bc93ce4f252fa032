"""Orderings written out, best first, nested where tied, as flat rows with places."""

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any

import numpy as np

from luce.arrays import Integers, offsets_of_sizes
from luce.data.rankings.checks import Where
from luce.data.rankings.coding import code_items
from luce.data.rankings.parts import Parts
from luce.errors import DataError

TIES = (list, tuple, set, frozenset, np.ndarray)
"""What holds the items of a tie."""


def parts_of_orderings(orderings: Iterable[Any], names: Iterable[Hashable] | None, n_items: int | None) -> Parts:
    """The rankings of orderings.

    >>> parts_of_orderings([["a", ["c", "b"]], ["b", "a"]], None, None)[:3]
    (array([0, 1, 2, 2, 0]), array([0, 1, 1, 0, 1]), array([0, 3, 5]))
    """
    values, places, offsets = flattened(orderings)
    codes, known = code_items(values, names, n_items, ranking_of(offsets))
    return Parts(codes, places, offsets, known)


def flattened(orderings: Iterable[Any]) -> tuple[Any, Integers, Integers]:
    """The items of all orderings one after another, the place of each, and the offsets."""
    if isinstance(orderings, np.ndarray) and orderings.ndim == 2:
        n_rankings, width = orderings.shape
        return orderings.reshape(-1), np.tile(np.arange(width), n_rankings), np.arange(n_rankings + 1) * width
    each = [_listed(q, ordering) for q, ordering in enumerate(orderings)]
    offsets = offsets_of_sizes([len(ordering) for ordering in each])
    levels = list(chain.from_iterable(each))
    places = np.arange(len(levels)) - np.repeat(offsets[:-1], np.diff(offsets))
    ties = _ties(levels)
    return _untied(levels, ties, places, offsets) if ties.size else (levels, places, offsets)


def ranking_of(offsets: Integers) -> Where:
    """What an error calls the ranking that a row is in."""
    return lambda row: f"Ranking {np.searchsorted(offsets, row, side='right') - 1}"


def _listed(q: int, ordering: Any) -> Any:
    if isinstance(ordering, (list, tuple)):
        return ordering
    if isinstance(ordering, (str, bytes, set, frozenset, dict)) or not hasattr(ordering, "__iter__"):
        raise DataError(f"A ranking must be a list of items, the best first. Ranking {q} is {ordering!r}.")
    return list(ordering)


def _ties(levels: list[Any]) -> Integers:
    """Where the ties are among the levels."""
    kinds = {kind for kind in set(map(type, levels)) if issubclass(kind, TIES)}
    if not kinds:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.fromiter(map(kinds.__contains__, map(type, levels)), bool, len(levels)))


def _untied(levels: list[Any], ties: Integers, places: Integers, offsets: Integers) -> tuple[Any, Integers, Integers]:
    """The same with the ties opened up, one row an item."""
    items: list[Any] = []
    sizes = np.ones(len(levels), np.int64)
    done = 0
    for at in ties.tolist():
        tied = levels[at]
        # The order of a set of strings changes from run to run; sorted, the codes of the items do not.
        members = sorted(tied, key=repr) if isinstance(tied, (set, frozenset)) else tied
        if not len(members):
            raise DataError(f"A tie must hold items. {ranking_of(offsets)(at)} has an empty one.")
        items += levels[done:at]
        items.extend(members)
        sizes[at], done = len(members), at + 1
    items += levels[done:]
    opened = offsets_of_sizes(sizes)[offsets]
    deeper = _ties(items)
    if deeper.size:
        place = ranking_of(opened)(int(deeper[0]))
        raise DataError(f"A tie must hold items, not ties. {place} has {items[deeper[0]]!r} inside a tie.")
    return items, np.repeat(places, sizes), opened
