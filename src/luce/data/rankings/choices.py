"""The best of a set: the top places are known, and all else in the set lies somewhere below."""

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Integers, frozen, offsets_of_sizes
from luce.compiled import compiled
from luce.data.rankings.coding import code_items, end_to_end, plain
from luce.data.rankings.orderings import TIES, flattened, ranking_of
from luce.data.rankings.parts import Parts
from luce.errors import DataError


class Named(NamedTuple):
    """What the rankings name: the items one after another, their places, and the offsets."""

    values: Any
    places: Integers
    offsets: Integers


def parts_of_top(orderings: Iterable[Any], among: Any, names: Iterable[Hashable] | None) -> Parts:
    """The rankings of top places, among one set or each among its own.

    >>> parts = parts_of_top([["b"], ["c", "a"]], ["a", "b", "c", "d"], None)
    >>> parts.items, parts.pool, parts.pools
    (array([1, 2, 0]), array([0, 0]), (array([0, 1, 2, 3]),))
    """
    return _with_the_rest(Named(*flattened(orderings)), among, names)


def parts_of_choices(chosen: Any, among: Any, names: Iterable[Hashable] | None) -> Parts:
    """The rankings of choices: the first place alone is known.

    >>> parts = parts_of_choices(["b", "c"], [["a", "b"], ["a", "c", "d"]], None)
    >>> parts.items, parts.places, parts.open_end
    (array([1, 0, 2, 0, 3]), array([0, 1, 0, 1, 1]), array([False,  True]))
    """
    n_choices = len(chosen)
    return _with_the_rest(Named(chosen, np.zeros(n_choices, np.int64), np.arange(n_choices + 1)), among, names)


def _with_the_rest(named: Named, among: Any, names: Iterable[Hashable] | None) -> Parts:
    n_rankings = len(named.offsets) - 1
    if isinstance(among, (str, bytes)) or not hasattr(among, "__len__"):
        raise DataError(f"among must be a list of items, or one such list for each ranking. Got {among!r}.")
    if not isinstance(next(iter(among), None), TIES):
        return _pooled(named, [among], np.zeros(n_rankings, np.int64), names)
    if len(among) != n_rankings:
        raise DataError(f"among must hold one list of items for each of {n_rankings} rankings. Got {len(among)} lists.")
    if isinstance(among, np.ndarray) and among.ndim == 2:
        return _in_rows(named, among.reshape(-1), np.arange(n_rankings + 1) * among.shape[1], names)
    sets = list(among)
    number: dict[int, int] = {}
    of_ranking = np.array([number.setdefault(id(items), len(number)) for items in sets])
    if 2 * len(number) <= n_rankings:  # the same few lists again and again: stored once
        return _pooled(named, [sets[q] for q in np.unique(of_ranking, return_index=True)[1]], of_ranking, names)
    return _in_rows(named, list(chain.from_iterable(sets)), offsets_of_sizes([len(items) for items in sets]), names)


def _pooled(named: Named, sets: list[Any], of_ranking: Integers, names: Iterable[Hashable] | None) -> Parts:
    """Rankings that share sets: a ranking costs what it names."""
    if names is None:
        names = dict.fromkeys(map(plain, chain.from_iterable(sets)))
    codes, known = code_items(named.values, names, None, ranking_of(named.offsets))
    number = {name: code for code, name in enumerate(known)}
    pools = []
    for items in sets:
        strange = [item for item in map(plain, items) if item not in number]
        if strange:
            raise DataError(f"The items to choose among must be among the names. {strange[0]!r} is not.")
        pool = np.unique(np.array([number[item] for item in map(plain, items)], dtype=np.int64))
        if len(pool) < len(items):
            raise DataError(f"A set must hold an item once. Got {len(items)} items, {len(pool)} of them different.")
        pools.append(pool)
    return Parts(codes, named.places, named.offsets, known, None, of_ranking, tuple(pools))


def _in_rows(named: Named, set_values: Any, set_offsets: Integers, names: Iterable[Hashable] | None) -> Parts:
    """Rankings each with a set of its own: the rest of the set is its last level, an open end."""
    n_set_rows = len(set_values)
    in_set, in_top = ranking_of(set_offsets), ranking_of(named.offsets)
    codes, known = code_items(
        end_to_end(set_values, named.values),
        names,
        None,
        lambda row: in_set(row) if row < n_set_rows else in_top(row - n_set_rows),
    )
    items, places = np.empty(n_set_rows, np.int64), np.empty(n_set_rows, np.int64)
    top, rest = codes[n_set_rows:], codes[:n_set_rows]
    top_places, top_offsets, set_offsets = map(frozen, (named.places, named.offsets, set_offsets))
    q, code, twice = _fill(frozen(top), top_places, top_offsets, frozen(rest), set_offsets, items, places, len(known))
    if q >= 0:
        fault = "has {!r} twice" if twice else "names {!r}, which is not in its set"
        raise DataError(f"A ranking must name items of its set, each once. Ranking {q} {fault.format(known[code])}.")
    n_below = np.diff(set_offsets) - np.diff(named.offsets)
    return Parts(items, places, set_offsets, known, open_end=n_below > 1)  # the order of one item is known


@compiled
def _fill(named, named_places, named_offsets, members, set_offsets, items, places, n_items):
    """Write each ranking: what it names, then the rest of its set. Returns the ranking and item at fault, or −1."""
    in_set = np.full(n_items, -1, np.int64)
    is_named = np.full(n_items, -1, np.int64)
    for q in range(len(set_offsets) - 1):
        for row in range(set_offsets[q], set_offsets[q + 1]):
            if in_set[members[row]] == q:
                return q, members[row], True
            in_set[members[row]] = q
        at, place = set_offsets[q], np.int64(-1)
        for row in range(named_offsets[q], named_offsets[q + 1]):
            item, place = named[row], named_places[row]
            if in_set[item] != q or is_named[item] == q:
                return q, item, in_set[item] == q
            is_named[item] = q
            items[at], places[at] = item, place
            at += 1
        for row in range(set_offsets[q], set_offsets[q + 1]):
            if is_named[members[row]] != q:
                items[at], places[at] = members[row], place + 1
                at += 1
    return -1, 0, False
