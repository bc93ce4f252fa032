"""Conventions of data: what it means that a ranking leaves out an item, or names it twice."""

import numpy as np
from numpy.typing import NDArray

from luce.aggregation.ranking_arrays import RankingArrays
from luce.arrays import selected_offsets
from luce.compiled import compiled
from luce.errors import OptionError

CONVENTIONS = {"unlisted": ("absent", "below"), "missing": ("absent", "last"), "repeated": ("error", "best")}
"""The values of each option."""

REPEATED_ITEMS = "repeated items"
"""What `left_out` calls the places of an item after its best."""

ROWS_WITHOUT_PLACE = "rows without a place"
"""What `left_out` calls the rows whose place is missing, in rankings where others have one."""

HINTS = {ROWS_WITHOUT_PLACE: " If they belong below those with a place, give missing='last' (--read missing=last)."}
"""What a warning of what is left out adds, by reason: how to use it."""


def check_conventions(**given: str) -> None:
    """Each option must have one of its values."""
    for option, value in given.items():
        known = CONVENTIONS[option]
        if value not in known:
            raise OptionError(f"{option} must be {' or '.join(map(repr, known))}. Got {value!r}.")


def place_unlisted(arrays: RankingArrays, unlisted: str) -> RankingArrays:
    """With "below", the items that a ranking does not list are below it: all items are one pool that rankings share.

    >>> arrays = RankingArrays(np.array([1, 0]), np.array([0, 1]), np.array([0, 2]), ("a", "b", "c"))
    >>> place_unlisted(arrays, "below").pools
    (array([0, 1, 2]),)
    """
    if unlisted == "absent" or not arrays.names:
        return arrays
    return arrays._replace(pool=np.zeros(len(arrays.offsets) - 1, np.int64), pools=(np.arange(len(arrays.names)),))


def drop_repeated(arrays: RankingArrays) -> tuple[RankingArrays, NDArray[np.bool_]]:
    """The rankings with the first place of each item, its best, alone; and which rows these are.

    >>> arrays = RankingArrays(np.array([1, 0, 1, 2]), np.arange(4), np.array([0, 4]), ("a", "b", "c"))
    >>> drop_repeated(arrays)[0][:2]
    (array([1, 0, 2]), array([0, 1, 2]))
    """
    kept, places = np.empty(len(arrays.items), bool), np.empty(len(arrays.items), np.int64)
    _find_first(arrays.items, arrays.places, arrays.offsets, len(arrays.names), kept, places)
    n_repeated = int(np.count_nonzero(~kept))
    if not n_repeated:
        return arrays, kept
    return arrays._replace(
        items=arrays.items[kept],
        places=places[kept],
        offsets=selected_offsets(kept, arrays.offsets),
        left_out={**arrays.left_out, REPEATED_ITEMS: n_repeated},
    ), kept


@compiled
def _find_first(items, places, offsets, n_items, kept, dense):
    """Mark the first row of each item in a ranking; `dense` are the places of these without gaps."""
    seen = np.full(n_items, -1, np.int64)
    for q in range(len(offsets) - 1):
        level, last = -1, -1
        for row in range(offsets[q], offsets[q + 1]):
            kept[row] = seen[items[row]] != q
            if kept[row]:
                seen[items[row]] = q
                level += places[row] != last
                last = places[row]
                dense[row] = level
