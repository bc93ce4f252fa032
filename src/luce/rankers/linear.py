"""The linear ranker: a weight for each feature, any objective of the table, fitted by L-BFGS."""

import os
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers
from luce.data.transforms import width_after
from luce.errors import DataError, LuceWarning, OptionError, unknown_name
from luce.metrics import metric as metric_of
from luce.objectives import Objective
from luce.objectives.ranges import Range
from luce.optimizers.convergence import Curve
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.explanation import Explainable
from luce.rankers.linear_problem import Parameters
from luce.rankers.linear_search import SEARCHES, Task
from luce.rankers.ranker import Callback
from luce.rankers.settings import COMMON, NAME, NOT_NEGATIVE, POSITIVE, or_none, whole


class LinearRanker(Explainable):
    """Scores are a weighted sum of features; the weights minimise Σ_q w_q loss_q + ½·reg_lambda·‖weights‖².

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`.
        reg_lambda: strength of the prior on the weights; the sum over lists, not their mean, stands beside it.
        transforms: names of TRANSFORMS, fitted on the training data and stored with the ranker.
        optimizer: "lbfgs"; "gradient-descent", for objectives that give a gradient but no loss to search along; or
            "coordinate-ascent", which maximises `metric` itself, whatever the objective. None chooses between the
            first two by the objective.
        max_iter: None is 100 for L-BFGS, 1,000 for gradient descent, 25 sweeps for coordinate ascent.
        tol: L-BFGS and coordinate ascent stop when the relative improvement falls below it.
        learning_rate, batch_size: of gradient descent, on the mean over the lists of a batch; None = all lists.
        restarts: of coordinate ascent, from random weights; the best is kept.
        metric, early_stopping_rounds: with `validation` data, the weights best by this metric are kept, and training
            stops when that many iterations have brought nothing better.
        random_state: seeds the shuffle of equal labels (fixed during L-BFGS, redrawn in each iteration of gradient
            descent), samples, batches and restarts.
        n_jobs: threads; None or −1 = all cores.

    Attributes:
        coef_: (F,) after the transforms, or (F, grades) for an objective with one output a grade.
        intercept_: of each output, where shifting the scores means something to the objective.
        nuisance_: parameters of the objective learned beside them, by name.
        history_: one record an iteration. best_iteration_, max_grade_, transforms_, n_features_in_.

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> LinearRanker("listnet").fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "linear"
    resumable_params = ("max_iter", "n_jobs", "early_stopping_rounds")
    rules = COMMON | {
        "reg_lambda": NOT_NEGATIVE,
        "optimizer": or_none(NAME),
        "max_iter": or_none(whole(1)),
        "tol": NOT_NEGATIVE,
        "learning_rate": POSITIVE,
        "batch_size": or_none(whole(1)),
        "restarts": whole(0),
    }
    tried: ClassVar = {"reg_lambda": Range(1e-3, 1e4, log=True), "learning_rate": Range(0.01, 3.0, log=True)}
    limit = "max_iter"

    def __init__(
        self,
        objective: str | Objective = "listmle",
        *,
        reg_lambda: float = 1.0,
        transforms: Sequence[Any] = ("fill", "standardize"),
        optimizer: str | None = None,
        max_iter: int | None = None,
        tol: float = 1e-5,
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        restarts: int = 2,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 20,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.reg_lambda = reg_lambda
        self.transforms = transforms
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.restarts = restarts
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row.

        `validation` is a dataset or such a triple. `callback` gets the record of each iteration, as it will stand in
        `history_`. An interrupt (Ctrl-C) leaves the ranker fitted with the best weights so far.
        """
        self._check_settings()
        search = SEARCHES[self._method].run
        training = self._training_data(X, y, qid, validation)
        if not self._objective().informative(training.dataset.labels, training.dataset.offsets).any():
            warnings.warn(
                f"No list of {training.dataset!r} teaches {self._objective()} anything: one item alone has no order, "
                "nor have equal labels. All scores are equal.",
                LuceWarning,
                stacklevel=2,
            )
        curve = Curve(
            metric_of(self.metric).higher_is_better, None if validation is None else self.early_stopping_rounds
        )

        def figure(parameters: Parameters) -> float | None:
            if training.validation is None:
                return None
            return self._figure(self._combined(parameters, training.held_out), training.validation)

        task = Task(
            self._objective(), training, curve, self._seed(), self.get_params(deep=False), self.rounds, figure, callback
        )
        checkpointer = self._checkpointer(checkpoint, training.dataset)
        try:
            search(task, checkpointer)
        except KeyboardInterrupt:
            if curve.best_state is not None:
                self._keep(curve)
            raise
        if curve.best_state is None:  # nothing to improve, from the start
            problem = task.problem()
            curve.best_state = problem.parameters(problem.start())._asdict()
        self._keep(curve)
        return self

    def _keep(self, curve: Curve) -> None:
        self.parameters_ = Parameters(**curve.best_state)
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration

    def _check_settings(self) -> None:
        super()._check_settings()
        self._method  # noqa: B018  # refuses what does not go together

    @property
    def _method(self) -> str:
        goal = self._objective()
        if self.optimizer is None:
            return "gradient-descent" if goal.gradient_only else "lbfgs"
        if self.optimizer not in SEARCHES:
            raise unknown_name("optimizer", self.optimizer, SEARCHES)
        if self.optimizer == "lbfgs" and goal.gradient_only:
            raise OptionError(
                f"{goal.name} gives a gradient but no loss to search along, which L-BFGS needs: "
                "take optimizer='gradient-descent'."
            )
        if self.optimizer == "coordinate-ascent" and goal.one_output_per_grade:
            raise OptionError("Coordinate ascent maximises the metric by one weight a feature; mcrank has several.")
        return self.optimizer

    @property
    def rounds(self) -> int:
        return SEARCHES[self._method].rounds if self.max_iter is None else self.max_iter

    def idle_settings(self) -> tuple[str, ...]:
        if self._method == "coordinate-ascent":
            return "reg_lambda", "learning_rate", "batch_size", "objective"
        return ("learning_rate", "batch_size") if self._method == "lbfgs" else ()

    def _scores(self, features: Any, offsets: Integers) -> Floats:
        return self._combined(self.parameters_, features)

    def _combined(self, parameters: Parameters, features: Any) -> Floats:
        """One score a row, whatever the number of outputs."""
        scores = parameters.scores(features, self.n_jobs)
        combine = self._objective().ranking_score
        return scores if combine is None else combine(scores)

    def _contributions(self, features: Any) -> tuple[Floats, float]:
        values = features.toarray() if sparse.issparse(features) else features
        return values * self.coef_, float(self.intercept_.sum())

    @property
    def coef_(self) -> Floats:
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
        outputs = (int(self.max_grade_) + 1,) if self._objective().one_output_per_grade else ()
        fits = given.weights.shape == (width_after(self.transforms_, self.n_features_in_), *outputs)
        fits &= given.intercept.shape in ((0,), outputs or (1,))
        fits &= given.nuisance.shape == (len(self._objective().nuisance),)
        if not (fits and all(np.isfinite(part).all() for part in given)):
            raise DataError(
                f"The model file does not hold what {self._objective()} learns: finite numbers of its shape."
            )
        self.parameters_ = given
