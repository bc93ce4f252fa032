"""LightGBM as it is, with its own objectives for ranking."""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from luce.data import Dataset
from luce.experiments.peers.base import PeerRanker, ValidationCurve, categorical_columns
from luce.rankers.trees.lightgbm_package import lightgbm
from luce.threads import thread_count


class LightGBMLambdaRank(PeerRanker):
    """LightGBM's lambdarank; what is not a setting here is as LightGBM has it."""

    packages = ("lightgbm",)
    extra = "trees"
    objective = "lambdarank"

    def _grow(self, dataset: Dataset, curve: ValidationCurve | None) -> None:
        package = lightgbm()
        rows = {"group": dataset.sizes[dataset.sizes > 0], "params": {"verbosity": -1}, "free_raw_data": False}
        if dataset.list_weights is not None:
            rows["weight"] = np.repeat(dataset.list_weights, dataset.sizes)
        rows["categorical_feature"] = categorical_columns(dataset)
        data = package.Dataset(_features(dataset), dataset.labels, **rows)
        settings: dict[str, Any] = {}
        if curve is not None:
            settings["valid_sets"] = [data.create_valid(_features(curve.lists), np.nan_to_num(curve.lists.labels))]
            settings["feval"] = lambda scores, _: (curve.metric, curve.update(scores), True)
            settings["callbacks"] = [partial(_stop, package, curve)]
        self._booster = package.train(self._parameters(), data, self.n_estimators, **settings)

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": self.objective,
            "num_leaves": self.num_leaves,
            "learning_rate": self.learning_rate,
            "num_threads": thread_count(self.n_jobs),
            "seed": self.random_state % 2**31,
            "metric": "None",
            "verbosity": -1,
            "force_row_wise": True,  # LightGBM would time both ways, and sum as the faster does
        }

    def _scores(self, dataset: Dataset) -> Any:
        threads = thread_count(self.n_jobs)
        return self._booster.predict(_features(dataset), num_iteration=self.best_iteration_, num_threads=threads)

    def _worths(self) -> Any:
        return self._booster.feature_importance("gain", iteration=self.best_iteration_)


class LightGBMXendcg(LightGBMLambdaRank):
    """LightGBM's rank_xendcg, the cross-entropy that stands in for NDCG."""

    objective = "rank_xendcg"


def _features(dataset: Dataset) -> Any:
    return sparse.csr_matrix(dataset.features) if dataset.is_sparse else dataset.features


def _stop(package: Any, curve: ValidationCurve, step: Any) -> None:
    """Called after each round."""
    if curve.exhausted:
        raise package.callback.EarlyStopException(curve.best_iteration - 1, [])
