"""Huge lists in parts: a part takes every so manieth item against its partners, and the parts are added up in order."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.compiled import compiled
from luce.threads import in_parallel, over_lists

HUGE = 20_000
"""Rows beyond which a list is worth dividing."""

PARTS = 8
"""Always so many: the number of threads then changes no digit."""

WHOLE = -1
"""Instead of the number of a part: all of every list that is not huge."""


def over_lists_and_parts(
    kernel: Callable[..., None],
    offsets: Integers,
    inputs: Sequence[Floats],
    settings: Sequence[Any],
    by_list: Sequence[Floats],
    by_row: Sequence[Floats],
    n_jobs: int | None = None,
) -> None:
    """Call `kernel(first, last, offsets, *inputs, part, *settings, *by_list, *by_row)` for every list and part.

    Inputs and `by_row` have an entry a row or none at all; the kernel writes to `by_list` and `by_row`.
    """
    inputs = [frozen(array) for array in inputs]
    over_lists(kernel, frozen(offsets), *inputs, WHOLE, *settings, *by_list, *by_row, n_jobs=n_jobs)
    for q in np.flatnonzero(np.diff(offsets) > HUGE):
        rows = slice(offsets[q], offsets[q + 1])
        alone = frozen(np.array([0, rows.stop - rows.start])), *[array[rows] for array in inputs]
        found = [
            [np.zeros(1) for _ in by_list] + [np.zeros(len(array[rows])) for array in by_row] for _ in range(PARTS)
        ]
        in_parallel([partial(kernel, 0, 1, *alone, part, *settings, *found[part]) for part in range(PARTS)], n_jobs)
        wholes = [array[q : q + 1] for array in by_list] + [array[rows] for array in by_row]
        for results in found:
            for whole, result in zip(wholes, results, strict=True):
                whole += result


@compiled
def left_out(part, size):
    """Whether a list of this size is not for this call: it is huge, and comes in parts later."""
    return part == WHOLE and size > HUGE


@compiled
def belongs(part, number):
    """Whether the item or block of this number is in the part."""
    return part == WHOLE or number % PARTS == part
