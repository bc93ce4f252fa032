"""The linear ranker: a weight for each feature, any objective of the table, fitted by L-BFGS."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.data.features import apply_transforms, fit_transforms
from luce.errors import DataError
from luce.kernels.linear_products import scores_of, weights_of
from luce.metrics import measure
from luce.metrics import metric as metric_of
from luce.objectives import Draw, Objective
from luce.optimisers.convergence import Curve
from luce.optimisers.lbfgs import minimise
from luce.rankers.ranker import Callback, Ranker


class LinearRanker(Ranker):
    """Scores are a weighted sum of features; the weights minimise Σ_q w_q loss_q + ½·l2·‖weights‖².

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`.
        l2: strength of the prior on the weights; the sum over lists, not their mean, stands beside it.
        transforms: names of TRANSFORMS, fitted on the training data and stored with the ranker.
        max_iterations, tolerance: L-BFGS stops after so many, or when the relative improvement falls below it.
        metric, patience: with `validation` data, the weights best by this metric are kept, and training stops
            when that many iterations have brought nothing better.
        random_state: seeds the shuffle of equal labels, which is fixed during a fit.
        n_jobs: threads; None or −1 = all cores.

    Attributes:
        weights_: (F,) after the transforms. history_: one record an iteration. best_iteration_, max_grade_,
        transforms_, n_features_in_.

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> LinearRanker("listnet").fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "linear"

    def __init__(
        self,
        objective: str | Objective = "listmle",
        *,
        l2: float = 1.0,
        transforms: Sequence[Any] = ("fill", "standardise"),
        max_iterations: int = 100,
        tolerance: float = 1e-5,
        metric: str = "ndcg@10",
        patience: int = 20,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.l2 = l2
        self.transforms = transforms
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.metric = metric
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        validation: Dataset | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row.

        `callback` gets the record of each iteration, as it will stand in `history_`.
        """
        dataset = self._training_data(X, y, qid)
        metric = metric_of(self.metric)
        self.transforms_ = fit_transforms(self.transforms, dataset)
        features = apply_transforms(self.transforms_, dataset.features, dataset.offsets)
        held_out = None
        if validation is not None:
            self._check_features(validation)
            held_out = apply_transforms(self.transforms_, validation.features, validation.offsets)
        curve = Curve(metric.higher_is_better, None if validation is None else self.patience)

        def watch(iteration: int, loss: float, weights: Floats) -> bool:
            figure = None if validation is None else self._figure(scores_of(held_out, weights), validation)
            done = curve.add(iteration, loss, figure, weights)
            if callback is not None:
                callback(curve.history[-1])
            return done

        start = np.zeros(features.shape[1])
        minimise(
            self._penalised_loss(features, dataset),
            start,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            watch=watch,
        )
        self.weights_ = start if curve.best_state is None else curve.best_state
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration
        return self

    def _figure(self, scores: Floats, validation: Dataset) -> float:
        """The mean of the metric over the validation lists that have something to measure."""
        top = max(self.max_grade_, float(np.fmax.reduce(validation.labels, initial=0.0)))
        found = measure(scores, validation.labels, validation.offsets, self.metric, max_grade=top, n_jobs=self.n_jobs)
        values = found[str(metric_of(self.metric))]
        if np.isnan(values).all():
            raise DataError(
                f"No list of the validation data has anything for {self.metric} to measure: {validation!r}."
            )
        return float(np.nanmean(values))

    def _penalised_loss(self, features: Any, dataset: Dataset) -> Any:
        goal, draw = self._objective(), Draw(self._seed())
        list_weights = np.ones(dataset.n_lists) if dataset.list_weights is None else dataset.list_weights
        row_weights = list_weights[list_of_row(dataset.offsets)]

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            evaluation = goal.value_and_gradient(
                scores_of(features, weights, n_jobs=self.n_jobs),
                dataset.labels,
                dataset.offsets,
                item_weights=dataset.item_weights,
                draw=draw,
                n_jobs=self.n_jobs,
            )
            gradient = weights_of(features, row_weights * evaluation.gradient, n_jobs=self.n_jobs)
            value = float(list_weights @ evaluation.loss) + 0.5 * self.l2 * float(weights @ weights)
            return value, gradient + self.l2 * weights

        return value_and_gradient

    def _scores(self, features: Any) -> Floats:
        return scores_of(features, self.weights_, n_jobs=self.n_jobs)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_}

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        weights = np.asarray(arrays["weights"], dtype=np.float64)
        if weights.ndim != 1 or not np.isfinite(weights).all():
            raise DataError("The weights of the model file are not a row of finite numbers.")
        self.weights_ = weights
