"""The LightGBM package: its version, the parameters that Luce cannot hand on, and predictions of its boosters."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from luce.arrays import Floats
from luce.errors import MissingPackageError, OptionError, load_package
from luce.scoring.forest import Forest
from luce.threads import check_threads, one_thread_after_fork

VERSIONS = ((4, 4), (5, 0))
"""From this version of LightGBM on, and before that one."""

UNSUPPORTED = {
    "boosting": "earlier trees must not change: dart rescales them, and rf averages them",
    "data_sample_strategy": "lists are sampled as a whole: use subsample",
    "bagging_fraction": "lists are sampled as a whole: use subsample",
    "linear_tree": "a leaf has one value",
    "objective": "it is a parameter of the ranker: objective, or lightgbm_objective",
    "learning_rate": "it is a parameter of the ranker",
    "num_leaves": "it is a parameter of the ranker",
    "num_threads": "it is a parameter of the ranker: n_jobs",
    "machines": "to train on several machines start the training with torchrun",
    "num_machines": "to train on several machines start the training with torchrun",
    "tree_learner": "each of several ranks finds splits in its own rows",
}
"""Parameters of LightGBM that `lightgbm_params` cannot hold, and why."""


def lightgbm() -> Any:
    """The package, if it is there in a version that this was tested with."""
    package = load_package("lightgbm", "trees")
    found = tuple(int(number) for number in re.findall(r"\d+", package.__version__)[:2])
    if not VERSIONS[0] <= found < VERSIONS[1]:
        low, high = (".".join(map(str, version)) for version in VERSIONS)
        raise MissingPackageError(
            f"Trees need lightgbm ≥ {low} and < {high}. Found {package.__version__}; to install it: "
            "pip install 'luce[trees]'"
        )
    one_thread_after_fork("LightGBM", getattr(package.basic._LIB, "LGBM_SetMaxThreads", None))
    return package


def aliases(name: str) -> set[str]:
    """The names of a parameter of LightGBM; this one alone where a version of LightGBM does not list them."""
    table = getattr(lightgbm().basic, "_ConfigAliases", None)
    return {name} if table is None else table.get(name)


def check_lightgbm_params(given: Mapping[str, Any]) -> None:
    """An error for a parameter of LightGBM that Luce sets itself or cannot train with."""
    for name, reason in UNSUPPORTED.items():
        for alias in sorted(aliases(name) & given.keys()):
            if not (name == "boosting" and given[alias] in ("gbdt", "gbrt")):
                raise OptionError(f"LightGBM's {alias}={given[alias]!r} cannot be used: {reason}.")


def lightgbm_features(features: Any) -> Any:
    """Features in a form that LightGBM takes, without a copy of the numbers."""
    if not sparse.issparse(features):
        return features
    arrays = features.data, features.indices.astype(np.int32, copy=False), features.indptr.astype(np.int32, copy=False)
    return sparse.csr_matrix(arrays, shape=features.shape)


def forest_booster(forest: Forest, feature_names: Sequence[str] | None = None) -> Any:
    """The trees as a Booster of LightGBM; with names, also one that other readers of its models accept."""
    return lightgbm().Booster(model_str=forest.text(feature_names))


def predict_contributions(booster: Any, features: Any, n_jobs: int) -> tuple[Floats, float]:
    """What each feature adds to the score of each row, (N, F), and the score to add it to, for trees of one output."""
    check_threads("LightGBM", n_jobs)
    rows = lightgbm_features(features)
    if not rows.shape[0]:
        return np.zeros(rows.shape), 0.0
    if sparse.issparse(rows):  # of float32 numbers LightGBM would give back float32 contributions
        found = booster.predict(rows.astype(np.float64), pred_contrib=True, num_threads=n_jobs).toarray()
    else:
        found = booster.predict(rows, pred_contrib=True, num_threads=n_jobs)
    return np.ascontiguousarray(found[:, :-1]), float(found[0, -1])
