"""Rankings from orderings, best item first: complete ones, top places and choices."""

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from luce.aggregation.conventions import check_conventions, drop_repeated, place_unlisted
from luce.aggregation.names import Where, concatenated, encode_items, nth_ranking, python_value
from luce.aggregation.ranking_arrays import RankingArrays
from luce.arrays import Integers, offsets_of_sizes, read_only
from luce.compiled import compiled
from luce.errors import DataError

TIES = (list, tuple, set, frozenset, np.ndarray)
"""What holds the items of a tie."""


class FlatOrderings(NamedTuple):
    """The items of all orderings one after another, the place of each, and the offsets."""

    values: Any
    places: Integers
    offsets: Integers


def arrays_from_orderings(
    orderings: Iterable[Any],
    names: Iterable[Hashable] | None,
    n_items: int | None,
    unlisted: str = "absent",
    repeated: str = "error",
) -> RankingArrays:
    """The rankings of orderings.

    >>> arrays_from_orderings([["a", ["c", "b"]], ["b", "a"]], None, None)[:3]
    (array([0, 1, 2, 2, 0]), array([0, 1, 1, 0, 1]), array([0, 3, 5]))
    """
    check_conventions(unlisted=unlisted, repeated=repeated)
    values, places, offsets = flatten_orderings(orderings)
    codes, known = encode_items(values, names, n_items, ranking_of(offsets))
    arrays = RankingArrays(codes, places, offsets, known)
    if repeated == "best":
        arrays, _ = drop_repeated(arrays)
    return place_unlisted(arrays, unlisted)


def flatten_orderings(orderings: Iterable[Any]) -> FlatOrderings:
    """The orderings flattened, ties opened up."""
    if isinstance(orderings, np.ndarray) and orderings.ndim == 2:
        n_rankings, width = orderings.shape
        places = np.tile(np.arange(width), n_rankings)
        return FlatOrderings(orderings.reshape(-1), places, np.arange(n_rankings + 1) * width)
    each = [_listed(q, ordering) for q, ordering in enumerate(orderings)]
    offsets = offsets_of_sizes([len(ordering) for ordering in each])
    levels = list(chain.from_iterable(each))
    places = np.arange(len(levels)) - np.repeat(offsets[:-1], np.diff(offsets))
    ties = _ties(levels)
    return _open_ties(levels, ties, places, offsets) if ties.size else FlatOrderings(levels, places, offsets)


def ranking_of(offsets: Integers) -> Where:
    """What an error calls the ranking that a row is in."""
    return lambda row: nth_ranking(int(np.searchsorted(offsets, row, side="right")) - 1)


def _listed(q: int, ordering: Any) -> Any:
    if isinstance(ordering, (list, tuple)):
        return ordering
    if isinstance(ordering, (str, bytes, set, frozenset, dict)) or not hasattr(ordering, "__iter__"):
        raise DataError(f"A ranking must be a list of items, best first. {nth_ranking(q)} is {ordering!r}.")
    return list(ordering)


def _ties(levels: list[Any]) -> Integers:
    """Where the ties are among the levels."""
    kinds = {kind for kind in set(map(type, levels)) if issubclass(kind, TIES)}
    if not kinds:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.fromiter(map(kinds.__contains__, map(type, levels)), bool, len(levels)))


def _open_ties(levels: list[Any], ties: Integers, places: Integers, offsets: Integers) -> FlatOrderings:
    """The same with the ties opened up, one row per item."""
    items: list[Any] = []
    sizes = np.ones(len(levels), np.int64)
    done = 0
    for at in ties.tolist():
        tied = levels[at]
        # The order of a set of strings changes from run to run; sorted, the codes of the items do not.
        members = sorted(tied, key=repr) if isinstance(tied, (set, frozenset)) else tied
        if not len(members):
            raise DataError(f"A tie must not be empty. {ranking_of(offsets)(at)} has an empty one.")
        items += levels[done:at]
        items.extend(members)
        sizes[at], done = len(members), at + 1
    items += levels[done:]
    opened = offsets_of_sizes(sizes)[offsets]
    deeper = _ties(items)
    if deeper.size:
        place = ranking_of(opened)(int(deeper[0]))
        raise DataError(f"A tie must contain items, not ties. {place} has {items[deeper[0]]!r} inside a tie.")
    return FlatOrderings(items, np.repeat(places, sizes), opened)


def arrays_from_top(orderings: Iterable[Any], among: Any, names: Iterable[Hashable] | None) -> RankingArrays:
    """The rankings of top places, among one set or each among its own.

    >>> arrays = arrays_from_top([["b"], ["c", "a"]], ["a", "b", "c", "d"], None)
    >>> arrays.items, arrays.pool, arrays.pools
    (array([1, 2, 0]), array([0, 0]), (array([0, 1, 2, 3]),))
    """
    return _with_rest_of_set(flatten_orderings(orderings), among, names)


def arrays_from_choices(chosen: Any, among: Any, names: Iterable[Hashable] | None) -> RankingArrays:
    """The rankings of choices: the first place alone is known.

    >>> arrays = arrays_from_choices(["b", "c"], [["a", "b"], ["a", "c", "d"]], None)
    >>> arrays.items, arrays.places, arrays.open_end
    (array([1, 0, 2, 0, 3]), array([0, 1, 0, 1, 1]), array([False,  True]))
    """
    n_choices = len(chosen)
    return _with_rest_of_set(
        FlatOrderings(chosen, np.zeros(n_choices, np.int64), np.arange(n_choices + 1)), among, names
    )


def _with_rest_of_set(named: FlatOrderings, among: Any, names: Iterable[Hashable] | None) -> RankingArrays:
    n_rankings = len(named.offsets) - 1
    if isinstance(among, (str, bytes)) or not hasattr(among, "__len__"):
        raise DataError(f"among must be a list of items, or one such list for each ranking. Got {among!r}.")
    if not isinstance(next(iter(among), None), TIES):
        return _pooled(named, [among], np.zeros(n_rankings, np.int64), names)
    if len(among) != n_rankings:
        raise DataError(
            f"among must have one list of items for each of the {n_rankings} rankings. Got {len(among)} lists."
        )
    if isinstance(among, np.ndarray) and among.ndim == 2:
        return _in_rows(named, among.reshape(-1), np.arange(n_rankings + 1) * among.shape[1], names)
    sets = list(among)
    number: dict[int, int] = {}
    of_ranking = np.array([number.setdefault(id(items), len(number)) for items in sets])
    if 2 * len(number) <= n_rankings:  # the same few lists again and again: stored once
        return _pooled(named, [sets[q] for q in np.unique(of_ranking, return_index=True)[1]], of_ranking, names)
    return _in_rows(named, list(chain.from_iterable(sets)), offsets_of_sizes([len(items) for items in sets]), names)


def _pooled(
    named: FlatOrderings, sets: list[Any], of_ranking: Integers, names: Iterable[Hashable] | None
) -> RankingArrays:
    """Rankings that share sets: a ranking costs what it names."""
    if names is None:
        names = dict.fromkeys(map(python_value, chain.from_iterable(sets)))
    codes, known = encode_items(named.values, names, None, ranking_of(named.offsets))
    number = {name: code for code, name in enumerate(known)}
    pools = []
    for items in sets:
        strange = [item for item in map(python_value, items) if item not in number]
        if strange:
            raise DataError(f"The items of among must be in names. {strange[0]!r} is not.")
        pool = np.unique(np.array([number[item] for item in map(python_value, items)], dtype=np.int64))
        if len(pool) < len(items):
            raise DataError(
                f"A set must contain each item once. Got {len(items)} items, {len(pool)} of them different."
            )
        pools.append(pool)
    return RankingArrays(codes, named.places, named.offsets, known, None, of_ranking, tuple(pools))


def _in_rows(
    named: FlatOrderings, set_values: Any, set_offsets: Integers, names: Iterable[Hashable] | None
) -> RankingArrays:
    """Rankings each with a set of its own: the rest of the set is its last level, an open end."""
    n_set_rows = len(set_values)
    in_set, in_top = ranking_of(set_offsets), ranking_of(named.offsets)
    codes, known = encode_items(
        concatenated(set_values, named.values),
        names,
        None,
        lambda row: in_set(row) if row < n_set_rows else in_top(row - n_set_rows),
    )
    items, places = np.empty(n_set_rows, np.int64), np.empty(n_set_rows, np.int64)
    top, rest = codes[n_set_rows:], codes[:n_set_rows]
    top_places, top_offsets, set_offsets = map(read_only, (named.places, named.offsets, set_offsets))
    q, code, twice = _fill(
        read_only(top), top_places, top_offsets, read_only(rest), set_offsets, items, places, len(known)
    )
    if q >= 0:
        fault = "has {!r} twice" if twice else "contains {!r}, which is not in its set"
        raise DataError(
            f"A ranking must contain items of its set, each once. {nth_ranking(q)} {fault.format(known[code])}."
        )
    n_below = np.diff(set_offsets) - np.diff(named.offsets)
    return RankingArrays(items, places, set_offsets, known, open_end=n_below > 1)  # the order of one item is known


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
