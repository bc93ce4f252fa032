"""What a constructor of rankings puts together, before weights and rankers are added."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Integers, frozen, offsets_of_sizes, rows_of_lists
from luce.errors import DataError, LuceWarning


class Parts(NamedTuple):
    """The fields of `Rankings` that say what was ranked, in the same words."""

    items: Integers
    places: Integers
    offsets: Integers
    names: Any
    open_end: Any = None
    pool: Any = None
    pools: tuple[Integers, ...] = ()


def without_singles(parts: Parts) -> tuple[Parts, Integers]:
    """Checked parts without the rankings of fewer than two items, which say nothing, and the numbers of those kept.

    So does a top of no items, all of its set being the open end.
    """
    sizes = np.diff(parts.offsets)
    few = (sizes == 0) | ((sizes == 1) & (parts.pool < 0))
    ends = np.flatnonzero(parts.open_end & (sizes > 0))
    few[ends] |= parts.places[parts.offsets[ends + 1] - 1] == 0
    kept = np.flatnonzero(~few)
    if not kept.size:
        what = f"All {len(sizes):,} have fewer." if len(sizes) else "Got no ranking at all."
        raise DataError(f"There must be a ranking of two items or more. {what}")
    if len(kept) == len(sizes):
        return parts, kept
    warnings.warn(
        f"Rankings of fewer than two items say nothing and are left out: {few.sum():,} of {len(sizes):,}.",
        LuceWarning,
        stacklevel=4,  # the caller of the constructor
    )
    rows = rows_of_lists(parts.offsets, kept)
    return parts._replace(
        items=frozen(parts.items[rows]),
        places=frozen(parts.places[rows]),
        offsets=frozen(offsets_of_sizes(sizes[kept])),
        open_end=frozen(parts.open_end[kept]),
        pool=frozen(parts.pool[kept]),
    ), kept
