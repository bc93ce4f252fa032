"""CatBoost as it is, with its objectives for ranking.

It is given the codes of categories as numbers. It stops by its own NDCG@10, after twice early_stopping_rounds; the
rounds are then chosen by our own metric.
"""

from typing import Any

import numpy as np

from luce.arrays import list_of_row
from luce.data import Dataset
from luce.experiments.peers.base import PeerRanker, ValidationCurve, dense
from luce.threads import thread_count


class CatBoostYetiRank(PeerRanker):
    """CatBoost's YetiRank with symmetric trees, as it grows them by default, of the depth nearest to the leaves."""

    packages = ("catboost",)
    objective = "YetiRank"
    any_label = True
    _measure = "prediction change"

    def _grow(self, dataset: Dataset, curve: ValidationCurve | None) -> None:
        self._booster = self._package().CatBoost(self._parameters(curve is not None))
        held_out = None if curve is None else self._pool(curve.lists, labelled=True)
        self._booster.fit(self._pool(dataset, labelled=True), eval_set=held_out)
        if curve is None:
            return
        for scores in self._booster.staged_predict(held_out, thread_count=thread_count(self.n_jobs)):
            curve.update(scores)
            if curve.exhausted:
                break

    def _parameters(self, stops: bool) -> dict[str, Any]:
        stopping = {"od_type": "Iter", "od_wait": 2 * self.early_stopping_rounds} if stops else {}
        return {
            "loss_function": self.objective,
            "iterations": self.n_estimators,
            "learning_rate": self.learning_rate,
            "depth": max(1, round(np.log2(self.num_leaves))),
            "thread_count": thread_count(self.n_jobs),
            "random_seed": self.random_state % 2**31,
            "eval_metric": "NDCG:top=10;type=Exp",
            "use_best_model": False,
            "allow_writing_files": False,
            "verbose": False,
            **stopping,
        }

    def _pool(self, dataset: Dataset, labelled: bool = False) -> Any:
        weights = None if dataset.list_weights is None else np.repeat(dataset.list_weights, dataset.sizes)
        lists: dict[str, Any] = {"group_id": list_of_row(dataset.offsets), "group_weight": weights}
        labels = np.nan_to_num(dataset.labels) if labelled else None
        return self._package().Pool(dense(dataset), labels, thread_count=thread_count(self.n_jobs), **lists)

    def _scores(self, dataset: Dataset) -> Any:
        settings = {"ntree_end": self.best_iteration_, "thread_count": thread_count(self.n_jobs)}
        return self._booster.predict(self._pool(dataset), **settings)

    def _worths(self) -> Any:
        best = self._booster.copy()
        best.shrink(self.best_iteration_)
        return best.get_feature_importance(type="PredictionValuesChange")


class CatBoostSoftMax(CatBoostYetiRank):
    """CatBoost's QuerySoftMax, the cross-entropy of labels and scores in a list."""

    objective = "QuerySoftMax"
