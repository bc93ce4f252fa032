"""The rules that every set of rankings keeps, looked at once; a fault is told by the ranking and the item."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, check_offsets, check_rows, frozen, offsets_of_sizes
from luce.compiled import compiled
from luce.data.rankings.parts import Parts
from luce.errors import DataError

Names = tuple[Hashable, ...]

Where = Callable[[int], str]
"""What an error calls a ranking, or the place of a row: `Ranking 3`."""

RANGE, TWICE, PLACES, FEW, ONE_LEVEL, TWO_ENDS, STRANGE = range(1, 8)


def check_parts(parts: Parts, *, singles: bool = False, where: Where = "Ranking {}".format) -> Parts:
    """The parts as frozen arrays of the right types that keep the rules; `singles` allows rankings that say nothing."""
    items = check_codes("items", parts.items)
    offsets = frozen(check_offsets(parts.offsets, len(items)))
    n_rankings = len(offsets) - 1
    numbered = range(int(items.max(initial=-1)) + 1)
    names = check_names("items", numbered if parts.names is None else parts.names)
    pools = tuple(_check_pool(number, pool, len(names)) for number, pool in enumerate(parts.pools))
    open_end = np.array(np.zeros(n_rankings) if parts.open_end is None else parts.open_end, dtype=bool)
    if open_end.shape != (n_rankings,):
        raise DataError(f"open_end must have {n_rankings} entries. Got shape {open_end.shape}.")
    result = Parts(
        items=items,
        places=check_codes("places", parts.places, len(items)),
        offsets=offsets,
        names=names,
        open_end=frozen(open_end),
        pool=_check_pool_numbers(parts.pool, pools, np.diff(offsets)),
        pools=pools,
    )
    _refuse_faults(result, singles, where)
    return result


def check_codes(name: str, given: ArrayLike, length: int | None = None) -> Integers:
    """One row of int64 of the wanted length, read-only."""
    values = np.asarray(given)
    if values.ndim != 1 or not (np.issubdtype(values.dtype, np.integer) or values.size == 0):
        raise DataError(f"{name} must be one row of integers. Got {values.dtype} of shape {values.shape}.")
    if length is not None and len(values) != length:
        raise DataError(f"{name} must have {length} entries. Got {len(values)}.")
    return frozen(np.ascontiguousarray(values, dtype=np.int64))


def check_names(what: str, names: Iterable[Hashable]) -> Names:
    """Names as a tuple, no two alike."""
    result = tuple(names)
    if len(set(result)) < len(result):
        seen: set[Hashable] = set()
        twice = next(name for name in result if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"The names of the {what} must differ from each other. Got {twice!r} twice.")
    return result


def check_weights(given: ArrayLike | None, n_rankings: int) -> Floats:
    """One finite weight ≥ 0 a ranking; ones where none were given."""
    if given is None:
        return frozen(np.ones(n_rankings))
    weights = check_rows("weights", given, n_rankings)
    bad = np.flatnonzero((weights < 0) | np.isinf(weights))
    if bad.size:
        raise DataError(f"weights must be finite and not negative. Got {weights[bad[0]]} for ranking {bad[0]}.")
    return frozen(weights)


def flat_pools(pools: Sequence[Integers]) -> tuple[Integers, Integers]:
    """The pools one after another, and their offsets."""
    flat = np.concatenate([np.empty(0, np.int64), *pools])
    return frozen(flat), frozen(offsets_of_sizes([len(pool) for pool in pools]))


def _check_pool(number: int, given: ArrayLike, n_items: int) -> Integers:
    pool = check_codes(f"pool {number}", given)
    if not len(pool) or np.any(pool[1:] <= pool[:-1]) or pool[0] < 0 or pool[-1] >= n_items:
        raise DataError(
            f"A pool must hold some of the items 0 … {n_items - 1}, each once, sorted. Pool {number} does not."
        )
    return pool


def _check_pool_numbers(given: ArrayLike | None, pools: Sequence[Integers], sizes: Integers) -> Integers:
    """The pool of each ranking, −1 where the ranking names the whole pool: nothing is left to lie below it."""
    pool = check_codes("pool", np.full(len(sizes), -1) if given is None else given, len(sizes))
    if pool.size and (pool.min() < -1 or pool.max() >= len(pools)):
        raise DataError(
            f"pool must be −1 or the number of one of {len(pools)} pools. Got {pool.min()} to {pool.max()}."
        )
    pool_sizes = np.array([*map(len, pools), -1])  # the last is what −1 finds
    return frozen(np.where(sizes == pool_sizes[pool], -1, pool))


def _refuse_faults(parts: Parts, singles: bool, where: Where) -> None:
    pools = flat_pools(parts.pools)
    fault, q, row = _first_fault(*parts[:3], parts.open_end, parts.pool, *pools, len(parts.names), singles)
    if not fault:
        return
    rows, who = slice(parts.offsets[q], parts.offsets[q + 1]), where(q)
    code = int(parts.items[row]) if rows.start <= row < rows.stop else -1
    item = repr(parts.names[code]) if 0 <= code < len(parts.names) else f"item {code}"
    texts = {
        RANGE: f"Items must be numbers of the {len(parts.names)} names. {who} has {code}.",
        TWICE: f"An item must be in a ranking once. {who} has {item} twice.",
        PLACES: f"The places of a ranking must start at 0 and rise by 0 (tied) or 1. "
        f"{who} has {parts.places[rows][:20].tolist()}, wrong at {item}.",
        FEW: f"A ranking must have two items or more. {who} has {f'{item} alone' if code >= 0 else 'none'}.",
        ONE_LEVEL: f"An open end must have a level above it. {who} has none.",
        TWO_ENDS: f"A ranking can have an open end or a pool below it. {who} has both.",
        STRANGE: f"A ranking must name items of its set only. {who} names {item}, which is not in the set.",
    }
    raise DataError(texts[fault])


@compiled
def _first_fault(items, places, offsets, open_end, pool, pool_items, pool_offsets, n_items, singles):
    seen = np.full(n_items, -1, np.int64)
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        for row in range(start, end):
            item = items[row]
            if item < 0 or item >= n_items:
                return RANGE, q, row
            if seen[item] == q:
                return TWICE, q, row
            seen[item] = q
            step = places[row] - (places[row - 1] if row > start else -1)
            if step != 1 and (step != 0 or row == start):
                return PLACES, q, row
        if pool[q] >= 0:
            own = pool_items[pool_offsets[pool[q]] : pool_offsets[pool[q] + 1]]
            for row in range(start, end):
                at = np.searchsorted(own, items[row])
                if at == len(own) or own[at] != items[row]:
                    return STRANGE, q, row
        if open_end[q] and pool[q] >= 0:
            return TWO_ENDS, q, start
        if not singles:
            if end - start < (1 if pool[q] >= 0 else 2):
                return FEW, q, start
            if open_end[q] and places[end - 1] == 0:
                return ONE_LEVEL, q, start
    return 0, 0, 0
