"""The values of leaves: Newton's step over all items of a leaf at once, or as if each stood for itself."""

import numpy as np

from luce.arrays import Floats
from luce.data import Dataset
from luce.kernels.leaf_sums import Leaves
from luce.lists import Lists
from luce.objectives import Draw, Objective
from luce.rankers.trees.forest import Tree
from luce.rankers.trees.machines import SINGLE_MACHINE, Machines

FLAT = 1e-10
"""A second derivative below this part of the pull is rounding: lists are wholly inside the leaf, or outside."""


def exact_curvature(
    goal: Objective,
    scores: Floats,
    dataset: Dataset,
    leaves: Leaves,
    n_leaves: int,
    list_weights: Floats | None,
    draw: Draw,
    n_jobs: int,
    machines: Machines = SINGLE_MACHINE,
) -> Floats:
    """The second derivative of the loss along each leaf; 0 where it is nothing but rounding."""
    assert goal.leaf_sums is not None
    lists = Lists(scores, dataset.labels, dataset.offsets, dataset.item_weights, draw=draw, n_jobs=n_jobs)
    own = goal.leaf_sums(lists, leaves, n_leaves, list_weights, **goal.options)
    pulled, second = machines.total(own)
    return np.where(second > FLAT * pulled, second, 0.0)


def newton_steps(slope: Floats, second: Floats, reg_lambda: float) -> Floats:
    """−g / (h + reg_lambda) of each leaf; 0 where the loss does not bend.

    >>> newton_steps(np.array([1.0, 1.0]), np.array([0.5, 0.0]), 0.0)
    array([-2.,  0.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(second > 0, -slope / (second + reg_lambda), 0.0)


def monotone(tree: Tree, values: Floats, second: Floats, constraints: Floats) -> Floats:
    """The values moved as little as it takes for the score to rise (1) or fall (−1) with a feature.

    Going down, a split by such a feature keeps its two sides apart at the middle of their means.
    """
    left, right = tree.integer("left_child").tolist(), tree.integer("right_child").tolist()
    direction = constraints[tree.integer("split_feature")].tolist()
    weight = np.maximum(second, np.finfo(float).tiny)
    below = _means(left, right, values, weight)
    low, high = np.full(len(left), -np.inf), np.full(len(left), np.inf)
    result = values.copy()
    for node in range(len(left)):
        sides = [left[node], right[node]] if direction[node] >= 0 else [right[node], left[node]]
        middle = 0.5 * sum(np.clip(below[side], low[node], high[node]) for side in sides)
        for side, is_upper in zip(sides, (False, True), strict=True):
            bounds = [low[node], high[node]]
            if direction[node]:
                bounds[0 if is_upper else 1] = middle
            if side < 0:
                result[~side] = np.clip(values[~side], *bounds)
            else:
                low[side], high[side] = bounds
    return result


def _means(left: list[int], right: list[int], values: Floats, weight: Floats) -> dict[int, float]:
    """The mean value below each node and leaf, leaves by ~number."""
    mean = {~leaf: float(value) for leaf, value in enumerate(values)}
    total = {~leaf: float(each) for leaf, each in enumerate(weight)}
    for node in range(len(left) - 1, -1, -1):
        a, b = left[node], right[node]
        total[node] = total[a] + total[b]
        mean[node] = (mean[a] * total[a] + mean[b] * total[b]) / total[node]
    return mean
