"""Every objective as a custom objective of LightGBM and XGBoost: gradient and hessian of each row."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.errors import DataError, OptionError
from luce.objectives import Objective, objective
from luce.randomness import Draw

MIN_HESSIAN = 1e-12
"""The least Hessian, so that a leaf whose items all have a Hessian of 0 has a value."""


class CustomObjective:
    """A custom objective for boosted trees; each call is a round, and a random objective draws anew in each."""

    def __init__(self, objective: Objective, seed: int):
        if objective.one_output_per_grade or objective.nuisance:
            raise OptionError(
                f"{objective.name} has one output per grade or nuisance parameters, and cannot be a custom objective."
            )
        self.objective, self.seed, self.round = objective, seed, 0
        self.__name__ = f"luce {objective}"

    def gradient_and_hessian(self, scores: Any, labels: Any, offsets: Integers, weights: Any) -> tuple[Floats, Floats]:
        """Of each row, the hessian by its diagonal. Weights that are equal within every list are list weights."""
        item_weights, row_weights = None, np.ones(1)
        if weights is not None and len(weights):
            rows = np.asarray(weights, dtype=np.float64)
            if len(rows) != offsets[-1]:
                raise DataError(f"weights must have {offsets[-1]} entries, one per row. Got {len(rows)}.")
            if np.array_equal(rows[offsets[:-1]][list_of_row(offsets)], rows):
                row_weights = rows
            else:
                item_weights = rows
        evaluation = self.objective.value_and_gradient(
            scores,
            labels,
            offsets,
            item_weights=item_weights,
            draw=Draw(self.seed, self.round),
            hessian=self.objective.hessian,
        )
        self.round += 1
        hessian = np.ones(len(evaluation.gradient)) if evaluation.hessian is None else evaluation.hessian
        return evaluation.gradient * row_weights, np.maximum(hessian * row_weights, MIN_HESSIAN)


class LightGBMObjective(CustomObjective):
    """For `lgb.train` (scores, dataset) and for LGBMRanker (labels, scores, weights, groups)."""

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[Floats, Floats]:
        if hasattr(second, "get_label"):
            scores, labels, weight, group = first, second.get_label(), second.get_weight(), second.get_group()
        else:
            scores, labels = second, first
        if group is None:
            raise DataError("A ranking objective needs the sizes of the lists: pass group= to the LightGBM dataset.")
        return self.gradient_and_hessian(scores, labels, offsets_of_sizes(group), weight)


class XGBoostObjective(CustomObjective):
    """For `xgb.train`: (scores, DMatrix); its weights are one for each list."""

    def __call__(self, scores: Any, matrix: Any) -> tuple[Floats, Floats]:
        offsets = np.asarray(matrix.get_uint_info("group_ptr"), dtype=np.int64)
        if not len(offsets):
            raise DataError("A ranking objective needs the lists: pass qid= or group= to the DMatrix.")
        weights = np.asarray(matrix.get_weight(), dtype=np.float64)
        if len(weights) == len(offsets) - 1:
            weights = np.repeat(weights, np.diff(offsets))
        return self.gradient_and_hessian(np.asarray(scores).reshape(-1), matrix.get_label(), offsets, weights)


def lightgbm_objective(name: str | Objective, *, seed: int = 0, **options: Any) -> LightGBMObjective:
    """An objective of Luce as a custom objective for LightGBM.

    It goes into `lgb.train({"objective": …}, data)`, where `data` has groups, or into `LGBMRanker(objective=…)`. Row
    weights that are equal within each list weigh lists, others weigh items.

    Parameters
    ----------
    name : str or Objective
        A name of OBJECTIVES, or `luce.objective(name, **options)`.
    seed : int, default=0
        Seed of shuffled ties and samples, which are drawn anew in each round.
    **options
        Options of the objective, such as `depth=10` for listmle.

    Returns
    -------
    callable
        Returns the gradient and the Hessian of each row.

    Raises
    ------
    OptionError
        For an objective with an output for each grade or with learned parameters, which LightGBM does not support.

    Examples
    --------
    >>> import luce
    >>> gradient, hessian = luce.lightgbm_objective("listnet")(np.array([1.0, 0.0]), np.zeros(2), None, [2])
    >>> gradient.round(4)
    array([-0.2311,  0.2311])
    """
    return LightGBMObjective(objective(name, **options), seed)


def xgboost_objective(name: str | Objective, *, seed: int = 0, **options: Any) -> XGBoostObjective:
    """An objective of Luce as a custom objective for XGBoost.

    It goes into `xgb.train(params, data, obj=…)`, where `data` is a DMatrix with `qid` or `group`.

    Parameters
    ----------
    name : str or Objective
        A name of OBJECTIVES, or `luce.objective(name, **options)`.
    seed : int, default=0
        Seed of shuffled ties and samples, which are drawn anew in each round.
    **options
        Options of the objective, such as `depth=10` for listmle.

    Returns
    -------
    callable
        Returns the gradient and the Hessian of each row.

    Raises
    ------
    OptionError
        For an objective with an output for each grade or with learned parameters, which XGBoost does not support.

    Examples
    --------
    >>> import luce
    >>> luce.xgboost_objective("listmle", depth=10).__name__
    'luce listmle(depth=10)'
    """
    return XGBoostObjective(objective(name, **options), seed)
