"""The rankings that a fit uses: of positive weight, without the items that cannot be estimated."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.aggregation.ranking_arrays import flat_pools
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes, rows_of_lists
from luce.errors import OptionError
from luce.kernels.ranked_choices import Choices

MOST_ROWS = 200_000_000
"""Rows up to which pools are expanded."""


@dataclass(frozen=True, eq=False)
class ObservedRankings:
    """Rankings in the arrays of `Rankings`; pools one after another; indices (Q,): which of the rankings each was."""

    items: Integers
    places: Integers
    offsets: Integers
    open_end: NDArray[np.bool_]
    pool: Integers
    weights: Floats
    pool_items: Integers
    pool_offsets: Integers
    indices: Integers
    n_items: int

    @property
    def n_rankings(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Integers:
        return np.diff(self.offsets)

    @property
    def pool_sizes(self) -> Integers:
        """How many items the pool of each ranking has; 0 without one."""
        return np.append(np.diff(self.pool_offsets), 0)[self.pool]  # −1 reads the last

    @cached_property
    def n_levels(self) -> Integers:
        """How many levels each ranking has."""
        return self.places[self.offsets[1:] - 1] + 1

    @cached_property
    def n_chosen(self) -> Integers:
        """How many rows of each ranking stand above its open end; all, where it has none."""
        count = self.sizes
        if self.open_end.any():
            q = list_of_row(self.offsets)
            last = self.places == (self.n_levels - 1)[q]
            count = count - np.where(self.open_end, np.bincount(q[last], minlength=self.n_rankings), 0)
        return count

    @cached_property
    def tied(self) -> NDArray[np.bool_]:
        """Whether each ranking has a tie."""
        return self.n_chosen > self.n_levels - self.open_end

    @property
    def ordered(self) -> NDArray[np.bool_]:
        """Whether each ranking sets an item above another: one level in unknown order does not."""
        return (self.n_levels > 1) | (self.pool >= 0)

    @property
    def pairs(self) -> NDArray[np.bool_]:
        """Whether each ranking is a comparison of two items."""
        return (self.sizes == 2) & (self.pool < 0)

    @cached_property
    def n_choices(self) -> Integers:
        """How many choices each ranking makes: one per level, except for a last item that was the only one left."""
        alone = ~self.open_end & (self.pool < 0) & (self.last_size == 1)
        return self.n_levels - (self.open_end | alone)

    @cached_property
    def last_size(self) -> Integers:
        """How many rows the last level of each ranking has."""
        return self.level_sizes[np.cumsum(self.n_levels) - 1]

    @cached_property
    def level_starts(self) -> Integers:
        """The first row of each level, over all rankings."""
        q = list_of_row(self.offsets)
        is_start = (q[1:] != q[:-1]) | (self.places[1:] != self.places[:-1])
        return np.flatnonzero(np.concatenate([[True], is_start]))

    @cached_property
    def level_sizes(self) -> Integers:
        """The number of rows of each level, over all rankings."""
        return np.diff(np.append(self.level_starts, len(self.items)))

    def replace(self, **changes: Any) -> "ObservedRankings":
        """The same with some fields changed."""
        return replace(self, **changes)

    def take(self, rankings: Integers) -> "ObservedRankings":
        """Some of the rankings, possibly repeated."""
        if len(rankings) == self.n_rankings and (np.diff(rankings) > 0).all():
            return self
        rows = rows_of_lists(self.offsets, rankings)
        return self.replace(
            items=self.items[rows],
            places=self.places[rows],
            offsets=offsets_of_sizes(self.sizes[rankings]),
            open_end=self.open_end[rankings],
            pool=self.pool[rankings],
            weights=self.weights[rankings],
            indices=self.indices[rankings],
        )

    def by_size(self) -> Iterator[tuple[Integers, Integers]]:
        """The rankings of each size, and their rows (rankings, size)."""
        for size in np.unique(self.sizes):
            rankings = np.flatnonzero(self.sizes == size)
            yield rankings, self.offsets[rankings][:, None] + np.arange(size)

    def choices(self) -> Choices:
        """The rankings as chains of choices of single items; they must have no ties."""
        return self._choices(np.where(self.open_end | (self.pool >= 0), self.n_chosen, self.sizes - 1))

    def choices_of_rows(self) -> Choices:
        """The rows and pools alone, for sums over what is left of the pools."""
        return self._choices(np.zeros(self.n_rankings, np.int64))

    def _choices(self, depth: Integers) -> Choices:
        pools = self.pool, self.pool_items, self.pool_offsets
        return Choices(self.items, self.offsets, depth, self.weights, *pools, self.n_items)

    def expand_pools(self) -> "ObservedRankings":
        """The same with what is left of a pool as an open end, row by row."""
        if not (self.pool >= 0).any():
            return self
        rows = int(self.pool_sizes.sum())
        if rows > MOST_ROWS:
            raise OptionError(
                f"The items below the rankings would fill {rows:,} rows; at most {MOST_ROWS:,} are supported. Use "
                "ties='exact' (--ties exact) with standard errors of the kind 'observed', which need the worth of a "
                "pool alone."
            )
        q = list_of_row(self.offsets)
        blocks = [np.stack([q, self.items, self.places])]
        for number in np.unique(self.pool[self.pool >= 0]):
            blocks.append(self._rest_rows(int(number)))
        flat = np.concatenate(blocks, axis=1)
        order = np.argsort(flat[0], kind="stable")
        ranking, items, places = (row[order] for row in flat)  # contiguous: for others kernels are compiled again
        return self.replace(
            items=items,
            places=places,
            offsets=offsets_of_sizes(np.bincount(ranking, minlength=self.n_rankings)),
            open_end=self.open_end | (self.pool >= 0),
            pool=np.full(self.n_rankings, -1),
        )

    def _rest_rows(self, number: int) -> Integers:
        """Ranking, item and place of what the rankings of one pool leave of it (3, rows)."""
        members = self.pool_items[self.pool_offsets[number] : self.pool_offsets[number + 1]]
        rankings = np.flatnonzero(self.pool == number)
        left = np.ones((len(rankings), self.n_items), bool)
        rows = rows_of_lists(self.offsets, rankings)
        left[np.repeat(np.arange(len(rankings)), self.sizes[rankings]), self.items[rows]] = False
        which, item = np.nonzero(left[:, members])
        return np.stack([rankings[which], members[item], self.n_levels[rankings[which]]])


def by_item(items: Integers, values: Floats, n_items: int) -> Floats:
    """The sum of the values of each item's rows."""
    return np.bincount(items, values, minlength=n_items).astype(np.float64, copy=False)


def observe(rankings: Rankings, keep: NDArray[np.bool_] | None = None) -> ObservedRankings:
    """The rankings of positive weight, without the items that are not kept, the others being renumbered."""
    seen = ObservedRankings(
        rankings.items,
        rankings.places,
        rankings.offsets,
        rankings.open_end,
        rankings.pool,
        rankings.weights,
        *flat_pools(rankings.pools),
        np.arange(len(rankings)),
        rankings.n_items,
    )
    seen = seen.take(np.flatnonzero(seen.weights > 0)) if not (seen.weights > 0).all() else seen
    return seen if keep is None or keep.all() else _without(seen, keep)


def _without(seen: ObservedRankings, keep: NDArray[np.bool_]) -> ObservedRankings:
    """The same without some items, in rankings and pools; comparisons with these carry no information about others."""
    number = np.cumsum(keep) - 1
    rows = keep[seen.items]
    q = list_of_row(seen.offsets)[rows]
    ended = seen.places == (seen.n_levels - 1)[list_of_row(seen.offsets)]
    still_open = seen.open_end & (np.bincount(q[ended[rows]], minlength=seen.n_rankings) > 0)
    kept_pool = keep[seen.pool_items]
    pool_of = list_of_row(seen.pool_offsets)[kept_pool]
    pool_sizes = np.bincount(pool_of, minlength=len(seen.pool_offsets) - 1)
    sizes = np.bincount(q, minlength=seen.n_rankings)
    whole = sizes == np.append(pool_sizes, -1)[seen.pool]
    shorter = seen.replace(
        items=number[seen.items[rows]],
        places=_dense(seen.places[rows], q),
        offsets=offsets_of_sizes(sizes),
        open_end=still_open,
        pool=np.where(whole, -1, seen.pool),
        pool_items=number[seen.pool_items[kept_pool]],
        pool_offsets=offsets_of_sizes(pool_sizes),
        n_items=int(keep.sum()),
    )
    # A ranking of which the open end alone is left carries no information, nor does one of a single item.
    lowest = np.full(seen.n_rankings, -1)
    lowest[q] = seen.places[rows]  # the last row of each ranking is written last
    highest = np.full(seen.n_rankings, -1)
    highest[q[::-1]] = seen.places[rows][::-1]
    says = (sizes > 1) & ~(still_open & (lowest == highest)) | (shorter.pool >= 0) & (sizes > 0)
    return shorter.take(np.flatnonzero(says))


def _dense(places: Integers, q: Integers) -> Integers:
    """Places 0, 1, 2 … without gaps inside each ranking."""
    if not len(places):
        return places
    first = np.concatenate([[True], q[1:] != q[:-1]])
    steps = np.cumsum(first | np.concatenate([[True], places[1:] != places[:-1]]))
    return steps - np.maximum.accumulate(np.where(first, steps, 0))
