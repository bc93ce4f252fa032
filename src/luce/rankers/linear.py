"""The linear ranker: a weight for each feature, any objective of the table, fitted by L-BFGS."""

import logging
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data import Dataset
from luce.data.features import apply_transforms, fit_transforms
from luce.errors import DataError, OptionError
from luce.metrics import measure
from luce.metrics import metric as metric_of
from luce.objectives import Draw, Objective
from luce.optimisers.convergence import Curve
from luce.optimisers.lbfgs import minimise
from luce.rankers.linear_problem import LinearProblem, Parameters
from luce.rankers.ranker import Callback, Ranker

logger = logging.getLogger(__name__)


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
        weights_: (F,) after the transforms, or (F, grades) for an objective with one output a grade.
        intercept_: of each output, where shifting the scores means something to the objective.
        nuisance_: parameters of the objective learned beside them, by name.
        history_: one record an iteration. best_iteration_, max_grade_, transforms_, n_features_in_.

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
        goal, metric = self._objective(), metric_of(self.metric)
        if goal.gradient_only:
            raise OptionError(f"{goal.name} gives a gradient but no loss to search along, which L-BFGS needs.")
        self.transforms_ = fit_transforms(self.transforms, dataset)
        features = apply_transforms(self.transforms_, dataset.features, dataset.offsets)
        held_out = None
        if validation is not None:
            self._check_features(validation)
            held_out = apply_transforms(self.transforms_, validation.features, validation.offsets)
        problem = LinearProblem(features, dataset, goal, Draw(self._seed()), self.l2, self.n_jobs)
        curve = Curve(metric.higher_is_better, None if validation is None else self.patience)

        def watch(iteration: int, loss: float, point: Floats) -> bool:
            self.parameters_ = problem.parameters(point)
            figure = None if validation is None else self._figure(self._scores(held_out), validation)
            done = curve.add(iteration, loss, figure, self.parameters_)
            logger.info("%s: %s", goal, curve.history[-1])
            if callback is not None:
                callback(curve.history[-1])
            return done

        start = problem.start()
        minimise(
            problem.value_and_gradient,
            start,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            watch=watch,
        )
        self.parameters_ = curve.best_state or problem.parameters(start)
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

    def _scores(self, features: Any) -> Floats:
        scores = self.parameters_.scores(features, self.n_jobs)
        combine = self._objective().ranking_score
        return scores if combine is None else combine(scores)

    @property
    def weights_(self) -> Floats:
        return self.parameters_.weights

    @property
    def intercept_(self) -> Floats:
        return self.parameters_.intercept

    @property
    def nuisance_(self) -> dict[str, float]:
        return dict(zip(self._objective().nuisance, self.parameters_.nuisance.tolist(), strict=True))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.parameters_._asdict()

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        given = Parameters(*(np.asarray(arrays[name], dtype=np.float64) for name in Parameters._fields))
        outputs = given.weights.shape[1:]
        fits = given.weights.ndim == 1 + self._objective().one_output_per_grade
        fits &= given.intercept.shape in ((0,), outputs or (1,)) and len(given.nuisance) == len(
            self._objective().nuisance
        )
        if not (fits and all(np.isfinite(part).all() for part in given)):
            raise DataError(
                f"The model file does not hold what {self._objective()} learns: finite numbers of its shape."
            )
        self.parameters_ = given
