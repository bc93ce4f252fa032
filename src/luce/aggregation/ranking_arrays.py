"""The flat arrays of rankings: the rules they keep, checked once, and which of them are equal."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from luce.aggregation.names import Where, check_names, nth_ranking
from luce.arrays import (
    Floats,
    Integers,
    check_offsets,
    check_rows,
    list_of_row,
    offsets_of_sizes,
    read_only,
    rows_of_lists,
)
from luce.compiled import compiled
from luce.errors import DataError, warn
from luce.threads import over_lists

if TYPE_CHECKING:
    from luce.aggregation.rankings import Rankings


class RankingArrays(NamedTuple):
    """The fields of `Rankings` without weights and rankers: what a constructor puts together."""

    items: Integers
    places: Integers
    offsets: Integers
    names: Any
    open_end: Any = None
    pool: Any = None
    pools: tuple[Integers, ...] = ()
    left_out: Mapping[str, int] = MappingProxyType({})


FEW_ITEMS = "rankings of fewer than two items"
"""What `left_out` calls the rankings without information."""

BELOW = (
    " If the items that a ranking does not list are below it, unlisted='below' (--read unlisted=below) makes rankings "
    "of one item count."
)


def drop_singletons(arrays: RankingArrays) -> tuple[RankingArrays, Integers]:
    """Checked arrays without the rankings of fewer than two items, and the indices of the others.

    A top of no items, all of its set being the open end, carries no information either.
    """
    sizes = np.diff(arrays.offsets)
    few = (sizes == 0) | ((sizes == 1) & (arrays.pool < 0))
    ends = np.flatnonzero(arrays.open_end & (sizes > 0))
    few[ends] |= arrays.places[arrays.offsets[ends + 1] - 1] == 0
    kept = np.flatnonzero(~few)
    below = "" if arrays.pools or not (sizes == 1).any() else BELOW
    if not kept.size:
        what = f"All {len(sizes):,} have fewer.{below}" if len(sizes) else "Got no rankings."
        raise DataError(f"At least one ranking of two or more items is needed. {what}")
    if len(kept) == len(sizes):
        return arrays, kept
    warn(
        f"Rankings of fewer than two items carry no information and are left out: {few.sum():,} of {len(sizes):,}."
        f"{below}",
    )
    rows = rows_of_lists(arrays.offsets, kept)
    return arrays._replace(
        items=read_only(arrays.items[rows]),
        places=read_only(arrays.places[rows]),
        offsets=read_only(offsets_of_sizes(sizes[kept])),
        open_end=read_only(arrays.open_end[kept]),
        pool=read_only(arrays.pool[kept]),
        left_out=MappingProxyType({**arrays.left_out, FEW_ITEMS: int(few.sum())}),
    ), kept


RANGE, TWICE, PLACES, FEW, ONE_LEVEL, TWO_ENDS, STRANGE = range(1, 8)


def check_arrays(arrays: RankingArrays, *, allow_singletons: bool = False, where: Where = nth_ranking) -> RankingArrays:
    """The arrays, frozen, of the right types and by the rules; `allow_singletons` allows those without information."""
    items = check_codes("items", arrays.items)
    offsets = read_only(check_offsets(arrays.offsets, len(items)))
    n_rankings = len(offsets) - 1
    numbered = range(int(items.max(initial=-1)) + 1)
    names = check_names("items", numbered if arrays.names is None else arrays.names)
    pools = tuple(_check_pool(number, pool, len(names)) for number, pool in enumerate(arrays.pools))
    open_end = np.array(np.zeros(n_rankings) if arrays.open_end is None else arrays.open_end, dtype=bool)
    if open_end.shape != (n_rankings,):
        raise DataError(f"open_end must have {n_rankings} entries. Got shape {open_end.shape}.")
    result = RankingArrays(
        items=items,
        places=check_codes("places", arrays.places, len(items)),
        offsets=offsets,
        names=names,
        open_end=read_only(open_end),
        pool=_check_pool_numbers(arrays.pool, pools, np.diff(offsets)),
        pools=pools,
        left_out=MappingProxyType(dict(arrays.left_out or {})),
    )
    _refuse_faults(result, allow_singletons, where)
    return result


def check_codes(name: str, given: ArrayLike, length: int | None = None) -> Integers:
    """One row of int64 of the wanted length, read-only."""
    values = np.asarray(given)
    if values.ndim != 1 or not (np.issubdtype(values.dtype, np.integer) or values.size == 0):
        raise DataError(
            f"{name} must be a one-dimensional array of integers. Got {values.dtype} of shape {values.shape}."
        )
    if length is not None and len(values) != length:
        raise DataError(f"{name} must have {length} entries. Got {len(values)}.")
    return read_only(np.ascontiguousarray(values, dtype=np.int64))


def check_weights(given: ArrayLike | None, n_rankings: int) -> Floats:
    """One finite weight ≥ 0 a ranking; ones where none were given."""
    if given is None:
        return read_only(np.ones(n_rankings))
    weights = check_rows("weights", given, n_rankings)
    bad = np.flatnonzero((weights < 0) | np.isinf(weights))
    if bad.size:
        raise DataError(f"weights must be finite and not negative. Got {weights[bad[0]]} for ranking {bad[0] + 1}.")
    return read_only(weights)


def flat_pools(pools: Sequence[Integers]) -> tuple[Integers, Integers]:
    """The pools one after another, and their offsets."""
    flat = np.concatenate([np.empty(0, np.int64), *pools])
    return read_only(flat), read_only(offsets_of_sizes([len(pool) for pool in pools]))


def _check_pool(number: int, given: ArrayLike, n_items: int) -> Integers:
    pool = check_codes(f"pool {number}", given)
    if not len(pool) or np.any(pool[1:] <= pool[:-1]) or pool[0] < 0 or pool[-1] >= n_items:
        raise DataError(f"A pool must contain items 0 … {n_items - 1}, each once and sorted. Pool {number} does not.")
    return pool


def _check_pool_numbers(given: ArrayLike | None, pools: Sequence[Integers], sizes: Integers) -> Integers:
    """The pool of each ranking, −1 where the ranking names the whole pool: nothing is left to lie below it."""
    pool = check_codes("pool", np.full(len(sizes), -1) if given is None else given, len(sizes))
    if pool.size and (pool.min() < -1 or pool.max() >= len(pools)):
        raise DataError(
            f"pool must be −1 or the index of one of the {len(pools)} pools. Got {pool.min()} to {pool.max()}."
        )
    pool_sizes = np.array([*map(len, pools), -1])  # the last is what −1 finds
    return read_only(np.where(sizes == pool_sizes[pool], -1, pool))


def _refuse_faults(arrays: RankingArrays, allow_singletons: bool, where: Where) -> None:
    pools = flat_pools(arrays.pools)
    fault, q, row = _first_fault(*arrays[:3], arrays.open_end, arrays.pool, *pools, len(arrays.names), allow_singletons)
    if not fault:
        return
    rows, who = slice(arrays.offsets[q], arrays.offsets[q + 1]), where(q)
    code = int(arrays.items[row]) if rows.start <= row < rows.stop else -1
    item = repr(arrays.names[code]) if 0 <= code < len(arrays.names) else f"item {code}"
    texts = {
        RANGE: f"Items must be indices of the {len(arrays.names)} names. {who} has {code}.",
        TWICE: f"An item can occur only once in a ranking. {who} has {item} twice. If its best "
        "place counts, give repeated='best' (--read repeated=best).",
        PLACES: f"The places of a ranking must start at 0 and increase by 0 (tied) or 1. "
        f"{who} has {arrays.places[rows][:20].tolist()}, wrong at {item}.",
        FEW: f"A ranking must have two or more items. {who} has {f'{item} alone' if code >= 0 else 'none'}.",
        ONE_LEVEL: f"An open end must have a level above it. {who} has none.",
        TWO_ENDS: f"A ranking can have an open end or a pool below it. {who} has both.",
        STRANGE: f"A ranking must contain only items of its set. {who} contains {item}, which is not in the set.",
    }
    raise DataError(texts[fault])


def _first_fault(
    items: Integers,
    places: Integers,
    offsets: Integers,
    open_end: NDArray[np.bool_],
    pool: Integers,
    pool_items: Integers,
    pool_offsets: Integers,
    n_items: int,
    allow_singletons: bool,
) -> tuple[int, int, int]:
    """The first fault, its ranking and its row; 0 where there is none. Of a ranking, rows come before its ends."""
    sizes = np.diff(offsets)
    found: list[tuple[int, int, int, int]] = []
    wrong = _first_wrong_row(items, places, offsets, np.full(n_items, -1))
    if wrong >= 0:
        q = _ranking_of(offsets, wrong)
        item, outside = items[wrong], not 0 <= items[wrong] < n_items
        fault = RANGE if outside else TWICE if item in items[offsets[q] : wrong] else PLACES
        found.append((q, 0, wrong, fault))
    strange = -1
    if len(pool_items):
        in_pool = np.repeat(pool, sizes)
        members = list_of_row(pool_offsets) * n_items + pool_items
        strange = _first((in_pool >= 0) & ~np.isin(in_pool * n_items + items, members))
    of_rankings = [(TWO_ENDS, _first(open_end & (pool >= 0)))]
    if not allow_singletons:
        on_top = np.zeros(len(sizes), bool)
        on_top[sizes > 0] = places[offsets[1:][sizes > 0] - 1] == 0
        of_rankings += [(FEW, _first(sizes < np.where(pool >= 0, 1, 2))), (ONE_LEVEL, _first(open_end & on_top))]
    found += [(_ranking_of(offsets, row), 1, row, STRANGE) for row in [strange] if row >= 0]
    found += [(q, stage, int(offsets[q]), fault) for stage, (fault, q) in enumerate(of_rankings, 2) if q >= 0]
    ranking, _, row, fault = min(found, default=(0, 0, 0, 0))
    return fault, ranking, row


def _ranking_of(offsets: Integers, row: int) -> int:
    return int(np.searchsorted(offsets, row, side="right")) - 1


@compiled
def _first_wrong_row(items, places, offsets, seen):
    """The first row with no item, with one that its ranking has already, or with a wrong place; −1 if there is none.

    seen (n_items,): −1; the last ranking that has each item is written to it.
    """
    for q in range(len(offsets) - 1):
        place = -1
        for row in range(offsets[q], offsets[q + 1]):
            item, step = items[row], places[row] - place
            if item < 0 or item >= len(seen) or seen[item] == q or step < 0 or step > 1 or place + step < 0:
                return row
            seen[item], place = q, places[row]
    return -1


def _first(wrong: NDArray[np.bool_]) -> int:
    """The index of the first True; −1 if there is none."""
    at = int(np.argmax(wrong)) if len(wrong) else -1
    return at if at >= 0 and wrong[at] else -1


def first_equal(rankings: "Rankings") -> Integers:
    """For each ranking the index of the first that equals it: same levels, same end, same ranker. O(rows).

    Each ranking is written as bytes that equal rankings share, and Arrow finds the equal ones.
    """
    n_rankings = len(rankings)
    ends = 2 * (rankings.pool + 1) + rankings.open_end
    if rankings.rankers is not None:
        ends = ends * len(rankings.ranker_names) + rankings.rankers
    words = np.empty(rankings.n_rows + n_rankings, np.int64)
    over_lists(_write_words, rankings.offsets, rankings.items, rankings.places, ends, results=[words])
    starts = words.itemsize * (rankings.offsets + np.arange(n_rankings + 1))
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(words)]
    codes = pa.Array.from_buffers(pa.large_binary(), n_rankings, buffers).dictionary_encode().indices.to_numpy()
    first = np.empty(n_rankings, np.int64)
    first[codes[::-1]] = np.arange(n_rankings)[::-1]  # what is written last stays
    return first[codes]


@compiled
def _write_words(first, last, offsets, items, places, ends, words):
    """The end of each ranking, then a word for each row: its item, and whether it starts a level; levels sorted."""
    for q in range(first, last):
        start, end = offsets[q], offsets[q + 1]
        words[start + q] = ends[q]
        own = words[start + q + 1 : end + q + 1]
        level = 0
        for row in range(end - start):
            own[row] = 2 * items[start + row]
            if start + row + 1 == end or places[start + row + 1] != places[start + row]:
                if row > level:
                    own[level : row + 1].sort()
                own[level] += 1
                level = row + 1
