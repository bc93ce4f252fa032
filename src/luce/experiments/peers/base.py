"""What the boosted trees of other libraries have in common: parameters, and early stopping by a metric of Luce."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats
from luce.data import Dataset
from luce.data.alignment import aligned
from luce.errors import DataError, load_package
from luce.metrics import measure
from luce.metrics import metric as metric_of
from luce.optimizers.learning_curve import LearningCurve
from luce.options import Option, integer, number
from luce.rankers.importance import Importance
from luce.rankers.ranker import highest_grade, weighted_sums
from luce.rankers.settings import COMMON, check_settings


class PeerRanker(BaseEstimator):
    """A ranker of another library, with early stopping on a metric computed by Luce.

    Parameters
    ----------
    n_estimators : int
        The maximum number of rounds.
    num_leaves : int
        Of each tree.
    learning_rate : float
        Shrinkage of each tree.
    metric : str
        With `validation` data, the number of rounds is the best by this metric.
    early_stopping_rounds : int
        Training stops after this many rounds without a better value.
    random_state : int
        Seed of the library.
    n_jobs : int, optional
        Threads; None or −1 for all cores.

    Attributes
    ----------
    history_ : list of dict
        One record per round: its "iteration" and, with validation data, its "validation" score.
    best_iteration_ : int
        The number of rounds that predictions use.
    """

    packages: ClassVar[tuple[str, ...]]
    extra: ClassVar[str] = "peers"
    """What installs the package: pip install 'luce[extra]'."""
    objective: ClassVar[str]
    any_label: ClassVar[bool] = False
    """Whether it takes labels other than whole grades from 0 on."""
    param_specs: ClassVar[Mapping[str, Option]] = {
        "n_estimators": integer(1),
        "num_leaves": integer(2),
        "learning_rate": number(above=0),
        "random_state": integer(0),
        **{name: COMMON[name] for name in ("metric", "early_stopping_rounds", "n_jobs")},
    }

    def __init__(
        self,
        *,
        n_estimators: int = 500,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 50,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, dataset: Dataset, *, validation: Dataset | None = None) -> Self:
        """Learn from judged lists; items without a label are left out, without validation lists all rounds are used."""
        self.check_params()
        dataset = dataset.observed()
        _check(dataset, type(self).__name__, self.any_label)
        self._names = dataset.feature_names or tuple(map(str, range(1, dataset.n_features + 1)))
        self._features = dataset.feature_names, dataset.categories
        curve = None
        if validation is not None:
            validation = aligned(validation, *self._features)
            top = max(highest_grade(dataset), highest_grade(validation))
            curve = ValidationCurve(validation, self.metric, top, self.early_stopping_rounds, self.n_jobs)
        self._grow(dataset, curve)
        steps = [] if curve is None else curve.history
        self.history_ = [{k: v for k, v in step.items() if k != "loss"} for step in steps]
        self.best_iteration_ = self.n_estimators if curve is None else curve.best_iteration
        return self

    def predict(self, dataset: Dataset) -> Floats:
        """The score of each row."""
        check_is_fitted(self, "best_iteration_")
        return np.asarray(self._scores(aligned(dataset, *self._features)), dtype=np.float64)

    def importance(self) -> Importance:
        """What the library says each feature is worth."""
        check_is_fitted(self, "best_iteration_")
        return Importance(self._measure, self._names, np.asarray(self._worths(), dtype=np.float64))

    @abstractmethod
    def _grow(self, dataset: Dataset, curve: "ValidationCurve | None") -> None:
        """Train; the curve is updated with the scores of its lists after each round, until it is `exhausted`."""

    @abstractmethod
    def _scores(self, dataset: Dataset) -> Any:
        """The scores by the best rounds."""

    @abstractmethod
    def _worths(self) -> Any:
        """A number for each feature, by the library's own measure."""

    def check_params(self) -> None:
        """Every setting, before any work."""
        check_settings(self, self.param_specs)
        metric_of(self.metric)

    _measure: ClassVar[str] = "gain"

    def _package(self) -> Any:
        return load_package(self.packages[0], self.extra)


class ValidationCurve(LearningCurve):
    """The metric of the validation lists by round, and when to stop: as for the rankers of Luce."""

    def __init__(self, lists: Dataset, metric: str, top: float, early_stopping_rounds: int, n_jobs: int | None) -> None:
        super().__init__(metric_of(metric).higher_is_better, early_stopping_rounds)
        self.lists, self.metric = lists, str(metric_of(metric))
        self._settings: dict[str, Any] = {"item_groups": lists.item_group_numbers(), "max_grade": top, "n_jobs": n_jobs}

    def update(self, scores: Any) -> float:
        """Add a round that has these scores; its metric."""
        values = measure(scores, self.lists.labels, self.lists.offsets, self.metric, **self._settings)[self.metric]
        weighted_sum, weight = weighted_sums(values, self.lists.list_weights)
        if not weight:
            raise DataError(f"{self.metric} is undefined for every list of {self.lists!r}.")
        value = float(weighted_sum / weight)
        self.add(len(self.history) + 1, np.nan, value, None)
        return value


def _check(dataset: Dataset, peer: str, any_label: bool) -> None:
    """An error for lists that the other libraries do not take, or would take for something else."""
    if not dataset.n_rows:
        raise DataError(f"{peer} has nothing to learn from: no item has a label.")
    if dataset.item_weights is not None:
        raise DataError(f"{peer} supports weights of lists, not of items: leave out the item weights.")
    labels = dataset.labels
    if not any_label and ((labels < 0) | (labels != np.floor(labels))).any():
        raise DataError(f"{peer} needs labels that are integers ≥ 0. Got {labels.min():g} to {labels.max():g}.")


def categorical_columns(dataset: Dataset) -> list[int]:
    """The numbers of the features that are categories."""
    return [column for column, values in enumerate(dataset.categories or ()) if values is not None]


def dense(dataset: Dataset) -> Any:
    """The features as a dense array: for some libraries a zero that is not stored is a missing value."""
    return dataset.features.toarray() if dataset.is_sparse else dataset.features
