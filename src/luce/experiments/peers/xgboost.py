"""XGBoost as it is, with its objective for NDCG."""

from typing import Any

import numpy as np

from luce.data import Dataset
from luce.experiments.peers.base import PeerRanker, ValidationCurve, categorical_columns, dense
from luce.threads import thread_count


class XGBoostNdcg(PeerRanker):
    """XGBoost's rank:ndcg with trees that grow leaf by leaf, as LightGBM's do."""

    packages = ("xgboost",)
    objective = "rank:ndcg"

    def _grow(self, dataset: Dataset, curve: ValidationCurve | None) -> None:
        package, settings = self._package(), dict[str, Any](verbose_eval=False)
        if curve is not None:
            settings["evals"] = [(self._matrix(curve.lists), "validation")]
            settings["custom_metric"] = lambda scores, _: (curve.metric, curve.update(scores))
            settings["callbacks"] = [_stopping(package, curve)]
        self._booster = package.train(self._parameters(), self._matrix(dataset), self.n_estimators, **settings)

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": self.objective,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": self.num_leaves,
            "max_depth": 0,
            "eta": self.learning_rate,
            "nthread": thread_count(self.n_jobs),
            "seed": self.random_state % 2**31,
            "disable_default_eval_metric": True,
        }

    def _matrix(self, dataset: Dataset) -> Any:
        filled = dataset.sizes > 0
        weights = None if dataset.list_weights is None else dataset.list_weights[filled]
        lists: dict[str, Any] = {
            "group": dataset.sizes[filled],
            "weight": weights,
            "nthread": thread_count(self.n_jobs),
        }
        if coded := categorical_columns(dataset):
            kinds = ["c" if column in coded else "q" for column in range(dataset.n_features)]
            lists |= {"feature_types": kinds, "enable_categorical": True}
        return self._package().DMatrix(dense(dataset), np.nan_to_num(dataset.labels), **lists)

    def _scores(self, dataset: Dataset) -> Any:
        return self._booster.predict(self._matrix(dataset), iteration_range=(0, self.best_iteration_))

    def _worths(self) -> Any:
        gains = self._booster[: self.best_iteration_].get_score(importance_type="total_gain")
        return [gains.get(f"f{column}", 0.0) for column in range(len(self._names))]


def _stopping(package: Any, curve: ValidationCurve) -> Any:
    """XGBoost's own way to stop looks at six digits of the value."""

    class Stopping(package.callback.TrainingCallback):
        def after_iteration(self, *_: Any) -> bool:
            return curve.exhausted

    return Stopping()
