"""The values of leaves: Newton's step over all items of a leaf at once, or as if each stood for itself."""

import numpy as np

from luce.arrays import Floats
from luce.data import Dataset
from luce.kernels.leaf_sums import Leaves
from luce.lists import Lists
from luce.objectives import Draw, Objective
from luce.scoring.forest import Tree

FLAT = 1e-10
"""A hessian below this part of its terms is rounding: each list lies wholly inside the leaf, or outside."""


def exact_leaf_sums(
    objective: Objective,
    scores: Floats,
    dataset: Dataset,
    leaves: Leaves,
    n_leaves: int,
    list_weights: Floats | None,
    draw: Draw,
    n_jobs: int,
) -> Floats:
    """The size of its terms, and the hessian of the loss along each leaf, (2, leaves), over the lists of a dataset."""
    assert objective.leaf_sums is not None
    lists = Lists(scores, dataset.labels, dataset.offsets, dataset.item_weights, draw=draw, n_jobs=n_jobs)
    return objective.leaf_sums(lists, leaves, n_leaves, list_weights, **objective.options)


def exact_hessian(sums: Floats) -> Floats:
    """The hessian along each leaf; 0 where it is nothing but rounding."""
    size, hessian = sums
    return np.where(hessian > FLAT * size, hessian, 0.0)


def newton_steps(gradient: Floats, hessian: Floats, reg_lambda: float) -> Floats:
    """−g / (h + reg_lambda) of each leaf; 0 where the hessian is 0.

    >>> newton_steps(np.array([1.0, 1.0]), np.array([0.5, 0.0]), 0.0)
    array([-2.,  0.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(hessian > 0, -gradient / (hessian + reg_lambda), 0.0)


def monotone_values(tree: Tree, values: Floats, hessian: Floats, constraints: Floats) -> Floats:
    """The values moved as little as it takes for the score to rise (1) or fall (−1) with a feature.

    Going down, a split by such a feature keeps its two sides apart at the middle of their means.
    """
    left, right = tree.left_child.tolist(), tree.right_child.tolist()
    direction = constraints[tree.split_feature].tolist()
    weight = np.maximum(hessian, np.finfo(float).tiny)
    means = tree.sums_below(values * weight) / tree.sums_below(weight)
    low, high = np.full(len(left), -np.inf), np.full(len(left), np.inf)
    result = values.copy()
    for node in range(len(left)):
        sides = [left[node], right[node]] if direction[node] >= 0 else [right[node], left[node]]
        below = [values[~side] if side < 0 else means[side] for side in sides]
        middle = 0.5 * np.clip(below, low[node], high[node]).sum()
        for side, is_upper in zip(sides, (False, True), strict=True):
            bounds = [low[node], high[node]]
            if direction[node]:
                bounds[0 if is_upper else 1] = middle
            if side < 0:
                result[~side] = np.clip(values[~side], *bounds)
            else:
                low[side], high[side] = bounds
    return result
