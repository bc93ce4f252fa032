"""The scores of boosted trees, bit for bit those of LightGBM, which sums the values of leaves in the order of trees."""

from functools import partial
from typing import Any

import numpy as np

from luce.arrays import Floats, is_sparse, read_only
from luce.kernels.tree_scores import cpu
from luce.kernels.tree_scores.layout import Layout as Layout
from luce.kernels.tree_scores.layout import layout_of as layout_of
from luce.threads import SMALL, in_parallel

BLOCK = 1_024
"""Rows of a block for a thread; a multiple of those that are scored side by side."""
SINGLE = np.dtype(np.float32)
CELLS = 2**22
"""Values of sparse rows made dense together."""


def scores_of(layout: Layout, features: Any, *, n_jobs: int | None = None) -> Floats:
    """The sums of the values of leaves, (N,) or (N, outputs), of float32 or float64 features."""
    result = np.zeros((features.shape[0], layout.outputs))
    if is_sparse(features):
        _add_sparse(layout, features, result, n_jobs)
    else:
        _add(layout, features, result, n_jobs)
    return result[:, 0] if layout.outputs == 1 else result


def _add(layout: Layout, features: Any, result: Floats, n_jobs: int | None) -> None:
    single = features.dtype == SINGLE
    rows = read_only(np.ascontiguousarray(features, dtype=SINGLE if single else np.float64))
    forest, n_rows = layout.single if single else layout.exact, len(rows)
    if n_rows < SMALL:
        cpu.add_scores(0, n_rows, rows, tuple(forest), result)
        return
    starts = range(0, n_rows, BLOCK)
    in_parallel(
        [partial(cpu.add_scores, a, min(a + BLOCK, n_rows), rows, tuple(forest), result) for a in starts], n_jobs
    )


def _add_sparse(layout: Layout, features: Any, result: Floats, n_jobs: int | None) -> None:
    """Only the columns that trees use become dense, block by block."""
    used, own = features[:, layout.columns], layout.of_used_columns()
    step = max(1, CELLS // max(1, used.shape[1]))
    for start in range(0, used.shape[0], step):
        rows = slice(start, start + step)
        _add(own, used[rows].toarray(), result[rows], n_jobs)
