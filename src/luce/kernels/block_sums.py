"""Sums over lists on several threads: each thread adds to its own arrays, which are summed at the end."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.threads import SMALL, in_parallel, thread_count


def sum_over_lists(
    kernel: Callable[..., None],
    offsets: Integers,
    shapes: Sequence[int | tuple[int, ...]],
    *arguments: Any,
    n_jobs: int | None = None,
) -> list[Floats]:
    """What `kernel(first, last, offsets, *arguments, *sums)` adds to arrays of these shapes, over all lists.

    One block of lists a thread, of about equal rows. The split changes the results by rounding alone.
    """
    n_lists, n_rows = len(offsets) - 1, int(offsets[-1])
    threads = 1 if n_rows < SMALL else thread_count(n_jobs)
    if threads == 1:
        sums = [np.zeros(shape) for shape in shapes]
        kernel(0, n_lists, offsets, *arguments, *sums)
        return sums
    cuts = np.searchsorted(offsets, np.linspace(0, n_rows, threads + 1))
    cuts[0], cuts[-1] = 0, n_lists
    each = [[np.zeros(shape) for shape in shapes] for _ in range(threads)]
    blocks = zip(pairwise(cuts.tolist()), each, strict=True)
    in_parallel([partial(kernel, a, b, offsets, *arguments, *own) for (a, b), own in blocks], threads)
    return [sum(parts[1:], parts[0]) for parts in zip(*each, strict=True)]
