"""The scores of trees, walked split by split in Python, as a reference for `cpu`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats

ZERO_THRESHOLD = float(np.float32(1e-35))


def scores_of(trees: Sequence[Any], outputs: int, features: Any) -> Floats:
    """(N, outputs): in each, the sum over its trees, in their order, of the value of the leaf of a row."""
    rows = np.asarray(features, dtype=np.float64)
    result = np.zeros((len(rows), outputs))
    for number, tree in enumerate(trees):
        for row, values in enumerate(rows.tolist()):
            result[row, number % outputs] += tree.leaf_value[leaf_of(tree, values)]
    return result


def leaf_of(tree: Any, values: list[float]) -> int:
    """The number of the leaf that a row falls into."""
    node = 0 if len(tree.left_child) else -1
    while node >= 0:
        left = goes_left(tree, node, values[tree.split_feature[node]])
        node = int(tree.left_child[node] if left else tree.right_child[node])
    return ~node


def goes_left(tree: Any, node: int, value: float) -> bool:
    """LightGBM's rule: what is missing goes to the default side, what is never missing is a zero."""
    kind, threshold = int(tree.decision_type[node]), float(tree.threshold[node])
    value = 0.0 if abs(value) <= ZERO_THRESHOLD else value
    missing = ("none", "zero", "nan")[kind >> 2]
    if kind & 1:
        first, last = tree.cat_boundaries[int(threshold) : int(threshold) + 2].tolist()
        known = -1 < value < 32 * (last - first)
        return known and bool(int(tree.cat_threshold[first + int(value) // 32]) >> int(value) % 32 & 1)
    if missing == "none" and np.isnan(value):
        value = 0.0
    if np.isnan(value) or (missing == "zero" and value == 0):
        return bool(kind & 2)
    return value <= threshold
