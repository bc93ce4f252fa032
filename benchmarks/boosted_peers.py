"""Boosted trees of other libraries for ranking, fitted as ours are: the rounds best on the validation lists are kept.

XGBoost stops by our figure while it trains. CatBoost stops by its own NDCG@10, after twice the patience, and the rounds
are then chosen from what they scored, by our figure and rule.
"""

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from luce.data import Dataset
from luce.data.splits import Fold
from luce.metrics import measure


class Limits(NamedTuple):
    """What all have alike."""

    trees: int
    leaves: int
    learning_rate: float
    patience: int


class Peer(NamedTuple):
    package: str
    scores: Callable[[Fold, Limits], np.ndarray]


def dense(data: Dataset) -> np.ndarray:
    features: Any = data.features
    return np.asarray(features.toarray() if hasattr(features, "toarray") else features, dtype=np.float32)


def figure(scores: np.ndarray, data: Dataset) -> float:
    return float(np.nanmean(measure(scores, data.labels, data.offsets, "ndcg@10", n_jobs=1)["ndcg@10"]))


def best_round(figures: Iterable[float], patience: int) -> int:
    """How many rounds to keep: up to the best before the first stretch of `patience` that brings nothing better."""
    best, kept = -np.inf, 0
    for rounds, value in enumerate(figures, 1):
        if value > best:
            best, kept = value, rounds
        elif rounds - kept >= patience:
            break
    return kept


def xgboost_scores(fold: Fold, limits: Limits) -> np.ndarray:
    import xgboost

    train, validation, test = (
        xgboost.DMatrix(dense(part), part.labels, group=part.sizes, nthread=1) for part in _parts(fold)
    )
    parameters = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": limits.leaves,
        "max_depth": 0,
        "eta": limits.learning_rate,
        "nthread": 1,
        "seed": 0,
        "disable_default_eval_metric": True,
    }
    model = xgboost.train(
        parameters,
        train,
        limits.trees,
        evals=[(validation, "validation")],
        custom_metric=lambda scores, _: ("ndcg@10", figure(scores, fold.validation)),
        maximize=True,
        early_stopping_rounds=limits.patience,
        verbose_eval=False,
    )
    return model.predict(test, iteration_range=(0, model.best_iteration + 1))


def catboost_scores(loss: str) -> Callable[[Fold, Limits], np.ndarray]:
    """Symmetric trees, as CatBoost grows them by default, of the depth nearest to the leaves wanted."""

    def scores(fold: Fold, limits: Limits) -> np.ndarray:
        import catboost

        train, validation, test = (
            catboost.Pool(dense(part), part.labels, group_id=np.repeat(np.arange(part.n_lists), part.sizes))
            for part in _parts(fold)
        )
        model = catboost.CatBoost(
            {
                "loss_function": loss,
                "iterations": limits.trees,
                "learning_rate": limits.learning_rate,
                "depth": round(np.log2(limits.leaves)),
                "thread_count": 1,
                "random_seed": 0,
                "eval_metric": "NDCG:top=10;type=Exp",
                "od_type": "Iter",
                "od_wait": 2 * limits.patience,
                "use_best_model": False,
                "allow_writing_files": False,
                "verbose": False,
            }
        ).fit(train, eval_set=validation)
        staged = model.staged_predict(validation, thread_count=1)
        kept = best_round((figure(found, fold.validation) for found in staged), limits.patience)
        return model.predict(test, ntree_end=kept, thread_count=1)

    return scores


def _parts(fold: Fold) -> tuple[Dataset, Dataset, Dataset]:
    return fold.train, fold.validation, fold.test  # type: ignore[return-value]


PEERS = {
    "xgboost rank:ndcg": Peer("xgboost", xgboost_scores),
    "catboost YetiRank": Peer("catboost", catboost_scores("YetiRank")),
    "catboost QuerySoftMax": Peer("catboost", catboost_scores("QuerySoftMax")),
}


def installed() -> dict[str, Peer]:
    """The peers that are here; a word on those that are not."""
    here = {}
    for name, peer in PEERS.items():
        try:
            version(peer.package)
        except PackageNotFoundError:
            print(f"{name} is left out: {peer.package} is not installed.")
        else:
            here[name] = peer
    return here
