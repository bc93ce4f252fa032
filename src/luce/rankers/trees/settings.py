"""What the parameters of a tree ranker may be, and what they are called in LightGBM."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce.data.transforms import transformed_names
from luce.errors import OptionError, unknown_name
from luce.options import Choice, Option, Range, boolean, integer, is_integer, number, one_of, or_none
from luce.rankers.resampling import BAGGING, VALIDATION_FRACTION
from luce.rankers.settings import COMMON
from luce.rankers.trees.learner import BoostingParams

VALUES_PER_THREAD = 100_000
"""Feature values from which on another thread gains time: with fewer, threads wait for each other, on a busy machine
for many times as long as one thread needs."""

BUILTIN_OBJECTIVES = ("lambdarank", "rank_xendcg")
"""LightGBM's own objectives for ranking."""


def _all(value: Any, accepts: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(accepts, value))


PARAM_SPECS = COMMON | {
    "n_estimators": integer(1),  # tuning takes as many as the validation lists want
    "num_leaves": integer(2, 131_072, search_space=Range(3, 64, log=True)),
    "max_depth": or_none(integer(1)),
    "min_child_samples": integer(1, search_space=Range(1, 200, log=True)),
    "learning_rate": number(above=0, search_space=Range(0.02, 0.3, log=True)),
    "leaf_hessian": or_none(one_of("exact", "diagonal")),
    "split_hessian": one_of("constant", "diagonal"),
    "reg_lambda": number(0, search_space=Choice((0.0, 0.1, 1.0, 10.0))),
    "resample_each_round": boolean(),
    "subsample": number(above=0, high=1, search_space=Range(0.3, 1.0)),
    "colsample_bytree": number(above=0, high=1, search_space=Range(0.3, 1.0)),
    **BAGGING,
    "validation_fraction": VALIDATION_FRACTION,
    "categorical_feature": Option(
        "columns, by index from 0 or by name",
        lambda value: _all(value, lambda one: is_integer(one) or isinstance(one, str)),
    ),
    "monotone_constraints": or_none(
        Option(
            "−1, 0 or 1 for each feature", lambda value: _all(value, lambda one: is_integer(one) and one in (-1, 0, 1))
        )
    ),
    "lightgbm_objective": or_none(one_of(*BUILTIN_OBJECTIVES)),
    "lightgbm_params": or_none(
        Option(
            "parameters of LightGBM by name",
            lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
        )
    ),
}


def threads_for(n_values: int, n_jobs: int) -> int:
    """How many of the threads to use for so many feature values.

    >>> threads_for(20_000, 8), threads_for(10**6, 8)
    (1, 8)
    """
    return min(n_jobs, 1 + n_values // VALUES_PER_THREAD)


def lightgbm_parameters(ranker: Any, n_features: int, outputs: int, seed: int, n_jobs: int) -> dict[str, Any]:
    """The parameters of LightGBM for a tree ranker."""
    parameters = {
        "objective": ranker.lightgbm_objective or "none",
        "num_leaves": ranker.num_leaves,
        "learning_rate": ranker.learning_rate,
        "max_depth": -1 if ranker.max_depth is None else ranker.max_depth,
        "min_data_in_leaf": ranker.min_child_samples,
        "min_data_in_bin": min(3, ranker.min_child_samples),  # LightGBM's 3, where leaves may not be smaller
        "feature_fraction": ranker.colsample_bytree,
        "num_threads": n_jobs,
        "seed": seed % 2**31,
        "force_row_wise": True,  # LightGBM would time both ways, and sum as the faster does
    }
    if ranker.split_hessian == "diagonal" or ranker.lightgbm_objective is not None:
        parameters["lambda_l2"] = ranker.reg_lambda
    if outputs > 1:
        parameters["num_class"] = outputs
    if ranker.monotone_constraints is not None:
        if len(ranker.monotone_constraints) != n_features:
            raise OptionError(
                f"monotone_constraints must have −1, 0 or 1 for each of the {n_features} features. "
                f"Got {ranker.monotone_constraints!r}."
            )
        parameters["monotone_constraints"] = [int(sign) for sign in ranker.monotone_constraints]
    return {**parameters, **(ranker.lightgbm_params or {})}


def boosting_params(ranker: Any, exact_leaves: bool, parameters: Mapping[str, Any], seed: int) -> BoostingParams:
    """The parameters of gradients and leaf values, which LightGBM has no part in."""
    constraints = ranker.monotone_constraints
    return BoostingParams(
        learning_rate=ranker.learning_rate,
        exact_leaves=exact_leaves,
        split_by_hessian=ranker.split_hessian == "diagonal",
        reg_lambda=ranker.reg_lambda,
        subsample=ranker.subsample,
        resample_each_round=ranker.resample_each_round,
        builtin_objective=ranker.lightgbm_objective is not None,
        monotone_constraints=None if constraints is None else np.asarray(constraints, dtype=np.float64),
        seed_names=_seed_names(parameters),
        seed=seed,
        n_jobs=parameters["num_threads"],
    )


def _seed_names(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The seeds that LightGBM draws with under these parameters, while it grows a tree."""
    drawing = {
        "feature_fraction_seed": parameters["feature_fraction"] < 1 or parameters.get("feature_fraction_bynode", 1) < 1,
        "extra_seed": bool(parameters.get("extra_trees", False)),
    }
    return tuple(name for name, draws in drawing.items() if draws)


def categorical_columns(ranker: Any, n_features: int) -> list[int]:
    """The columns that LightGBM splits by category: those that the data have as categories or the ranker names."""
    columns = {column for column, values in enumerate(ranker.categories_ or ()) if values is not None}
    if ranker.transforms_:  # these put numbers before categories
        columns = {*range(n_features - len(columns), n_features)}
    names = getattr(ranker, "feature_names_in_", None)
    known: Any = () if names is None else transformed_names(ranker.transforms_, names, ranker.n_features_in_)
    for column in ranker.categorical_feature:
        if isinstance(column, str):
            if column not in known:
                raise unknown_name("feature", column, known)
            column = known.index(column)
        if not 0 <= column < n_features:
            raise OptionError(f"categorical_feature must name columns from 0 to {n_features - 1}. Got {column}.")
        columns.add(int(column))
    return sorted(columns)
