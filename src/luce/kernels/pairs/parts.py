"""Very long lists in parts, each with every k-th item and all its partners, summed in order.

A part takes a fraction of a second, and Python handles signals between parts: Ctrl-C need not wait for a list to end.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, read_only
from luce.compiled import compiled
from luce.threads import in_parallel, over_lists

PAIRS = 100_000_000
"""Pairs in a part at most: some tenths of a second on one core."""

TOGETHER = 8
"""Parts computed between two additions. Always so many: the number of threads then changes no digit."""


def over_lists_and_parts(
    kernel: Callable[..., None],
    offsets: Integers,
    inputs: Sequence[Floats],
    settings: Sequence[Any],
    by_list: Sequence[Floats],
    by_row: Sequence[Floats],
    level: int,
    n_jobs: int | None = None,
) -> None:
    """Call `kernel(first, last, offsets, *inputs, part, parts, *settings, *by_list, *by_row)` for every list and part.

    Inputs and `by_row` have an entry a row or none at all; the kernel writes to `by_list` and `by_row`. At most
    `level` items of a list are taken against all others.
    """
    inputs = [read_only(array) for array in inputs]
    over_lists(kernel, offsets, *inputs, 0, 1, *settings, results=[*by_list, *by_row], n_jobs=n_jobs)
    for q, size in enumerate(np.diff(offsets).tolist()):
        parts = number_of_parts(size, level)
        if parts == 1:
            continue
        rows = slice(offsets[q], offsets[q + 1])
        single = read_only(np.array([0, size])), *[array[rows] for array in inputs]
        totals = [array[q : q + 1] for array in by_list] + [array[rows] for array in by_row]
        for begin in range(0, parts, TOGETHER):
            now = range(begin, min(begin + TOGETHER, parts))
            found = [[np.zeros(len(total)) for total in totals] for _ in now]
            tasks = zip(now, found, strict=True)
            in_parallel([partial(kernel, 0, 1, *single, part, parts, *settings, *own) for part, own in tasks], n_jobs)
            for results in found:
                for total, result in zip(totals, results, strict=True):
                    total += result


@compiled
def number_of_parts(size, level):
    """Into how many parts a list of this size is divided; a kernel called for fewer leaves the list out."""
    return max(1, -(-size * min(size, level) // PAIRS))
