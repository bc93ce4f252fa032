"""Every objective as a custom objective of LightGBM and XGBoost: gradient and second derivative, group by group."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.errors import DataError, OptionError
from luce.objectives import Objective, objective
from luce.randomness import Draw

LEAST = 1e-12
"""Second derivatives are at least this, so that a leaf of nothing but flat items has a value."""


class TreeObjective:
    """A custom objective for boosted trees; each call is a round, and a random objective draws anew in each."""

    def __init__(self, goal: Objective, seed: int):
        if goal.one_output_per_grade or goal.nuisance:
            raise OptionError(f"{goal.name} needs more than a score for each row, which such an objective has not.")
        self.goal, self.seed, self.round = goal, seed, 0
        self.__name__ = f"luce {goal}"

    def slopes(self, scores: Any, labels: Any, offsets: Integers, weights: Any) -> tuple[Floats, Floats]:
        """Gradient and second derivative (N,). Weights that are equal within every list are list weights."""
        item_weights, row_weights = None, np.ones(1)
        if weights is not None and len(weights):
            rows = np.asarray(weights, dtype=np.float64)
            by_list = rows[offsets[:-1]][list_of_row(offsets)] if len(rows) == offsets[-1] else None
            if by_list is None:
                raise DataError(f"There must be a weight for each of the {offsets[-1]} rows. Got {len(rows)}.")
            if np.array_equal(by_list, rows):
                row_weights = rows
            else:
                item_weights = rows
        evaluation = self.goal.value_and_gradient(
            scores,
            labels,
            offsets,
            item_weights=item_weights,
            draw=Draw(self.seed, self.round),
            curvature=self.goal.curvature,
        )
        self.round += 1
        second = np.ones(len(evaluation.gradient)) if evaluation.curvature is None else evaluation.curvature
        return evaluation.gradient * row_weights, np.maximum(second * row_weights, LEAST)


class LightGBMObjective(TreeObjective):
    """For `lgb.train` (scores, dataset) and for LGBMRanker (labels, scores, weights, groups)."""

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[Floats, Floats]:
        if hasattr(second, "get_label"):
            scores, labels, weight, group = first, second.get_label(), second.get_weight(), second.get_group()
        else:
            scores, labels = second, first
        if group is None:
            raise DataError("A ranking objective needs the sizes of the lists: give group= to the LightGBM dataset.")
        return self.slopes(scores, labels, offsets_of_sizes(group), weight)


class XGBoostObjective(TreeObjective):
    """For `xgb.train`: (scores, DMatrix); its weights are one for each list."""

    def __call__(self, scores: Any, matrix: Any) -> tuple[Floats, Floats]:
        bounds = np.asarray(matrix.get_uint_info("group_ptr"), dtype=np.int64)
        if not len(bounds):
            raise DataError("A ranking objective needs the lists: give qid= or group= to the DMatrix.")
        weights = np.asarray(matrix.get_weight(), dtype=np.float64)
        if len(weights) == len(bounds) - 1:
            weights = np.repeat(weights, np.diff(bounds))
        return self.slopes(np.asarray(scores).reshape(-1), matrix.get_label(), bounds, weights)


def lightgbm_objective(name: str | Objective, *, seed: int = 0, **options: Any) -> LightGBMObjective:
    """An objective for anyone's LightGBM code: `lgb.train({"objective": lightgbm_objective("listmle", depth=10)}, …)`.

    Also `LGBMRanker(objective=…)`. Row weights that are equal within each list weigh lists, others weigh items.

    >>> import luce
    >>> gradient, second = luce.lightgbm_objective("listnet")(np.array([1.0, 0.0]), np.zeros(2), None, [2])
    >>> gradient.round(4)
    array([-0.2311,  0.2311])
    """
    return LightGBMObjective(objective(name, **options), seed)


def xgboost_objective(name: str | Objective, *, seed: int = 0, **options: Any) -> XGBoostObjective:
    """An objective for anyone's XGBoost code: `xgb.train(params, data, obj=xgboost_objective("pl-partition"))`."""
    return XGBoostObjective(objective(name, **options), seed)
