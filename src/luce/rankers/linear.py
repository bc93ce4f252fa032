"""The linear ranker: a weight for each feature, any objective of the table, fitted by L-BFGS."""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers
from luce.data.transforms import width_after
from luce.distributed import current_group
from luce.errors import MachineError, OptionError, unknown_name
from luce.objectives import Objective
from luce.optimizers.learning_curve import LearningCurve
from luce.options import Range, integer, number, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback
from luce.rankers.explanation import Explainable
from luce.rankers.linear_optimizers import OPTIMIZERS, LinearFit
from luce.rankers.resampling import BAGGING, fit_resampled
from luce.rankers.settings import COMMON, NAME
from luce.rankers.training_data import TrainingData
from luce.scoring.model_files import read_parameters
from luce.scoring.models import LinearModel, Parameters


class LinearRanker(Explainable):
    """Rank by a weighted sum of the features; the weights minimize Σ_q w_q loss_q + ½·reg_lambda·‖weights‖².

    Parameters
    ----------
    objective : str or Objective, default="c-kl"
        A name of OBJECTIVES, or `luce.objective(name, **options)`. The default weights an item by the gain 2^y − 1 of
        its label, as NDCG does; for labels that are ranks or counts use "pl-partition", which uses only their order.
    reg_lambda : float, default=10.0
        Strength of the L2 penalty on the weights. It is relative to the sum of the losses over lists, not their mean.
    transforms : sequence of str or Transform, default=("symlog1p", "fill", "standardize")
        Feature transforms, by name of TRANSFORMS; fitted on the training data and stored with the ranker.
    optimizer : {"lbfgs", "gradient-descent", "coordinate-ascent"}, optional
        "gradient-descent" is for objectives that have a gradient but no loss; "coordinate-ascent" maximizes `metric`
        itself, whatever the objective, and runs on one rank only. By default L-BFGS, or gradient descent where the
        objective has no loss.
    max_iter : int, optional
        The maximum number of iterations; by default 100 of L-BFGS, 1,000 of gradient descent, 25 of coordinate
        ascent.
    tol : float, default=1e-5
        L-BFGS and coordinate ascent stop when the relative improvement falls below it.
    learning_rate : float, default=0.1
        Step size of gradient descent, on the mean loss over the lists of a batch.
    batch_size : int, optional
        Lists per step of gradient descent; all by default.
    restarts : int, default=2
        Further starts of coordinate ascent, from random weights; the best result is kept.
    n_bags : int, default=1
        If above 1, this many rankers are fitted, each to a random part of the lists and features, and averaged: the
        result is again one vector of weights.
    max_samples : float, default=0.8
        The share of the lists that each of several bags is fitted to.
    max_features : float, default=1.0
        The share of the transformed features that each of several bags may use.
    metric : str, default="ndcg@10"
        The metric of METRICS by which the best iteration is chosen if there is validation data.
    early_stopping_rounds : int, default=20
        With validation data, training stops after this many iterations without improvement. Coordinate ascent does not
        stop early.
    random_state : int, RandomState instance or None, default=0
        Seeds the shuffle of equal labels (fixed during L-BFGS, drawn anew in each iteration of gradient descent),
        samples, batches and restarts.
    n_jobs : int, optional
        Threads; None or -1 is all cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_features, n_grades)
        The weights of the transformed features; one column per grade for an objective with one output per grade.
    intercept_ : ndarray
        One number per output, where a shift of the scores matters to the objective; else empty.
    nuisance_ : dict
        Parameters of the objective that were learned beside the weights, by name.
    history_ : list of dict
        One record per iteration: "iteration", "loss" and, with validation data, "validation". With several bags one
        record per bag: the number of bags so far, the loss of the last, and the validation score of their mean.
    best_iteration_ : int
        The iteration whose weights were kept: the best on the validation data; without validation data the last, or
        for coordinate ascent the sweep with the best `metric` on the training data. With several bags their number.
    best_score_ : float or None
        `metric` on the validation data at that iteration.
    max_grade_, transforms_, n_features_in_, feature_names_in_
        See `Estimator`.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> LinearRanker("listnet").fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "linear"
    resumable_params = ("max_iter", "n_jobs", "early_stopping_rounds")
    param_specs = COMMON | {
        "reg_lambda": number(0, search_space=Range(1e-3, 1e4, log=True)),
        "optimizer": or_none(NAME),
        "max_iter": or_none(integer(1)),
        "tol": number(0),
        "learning_rate": number(above=0, search_space=Range(0.01, 3.0, log=True)),
        "batch_size": or_none(integer(1)),
        "restarts": integer(0),
        **BAGGING,
    }
    max_iter_param = "max_iter"

    def __init__(
        self,
        objective: str | Objective = "c-kl",
        *,
        reg_lambda: float = 10.0,
        transforms: Sequence[Any] = ("symlog1p", "fill", "standardize"),
        optimizer: str | None = None,
        max_iter: int | None = None,
        tol: float = 1e-5,
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        restarts: int = 2,
        n_bags: int = 1,
        max_samples: float = 0.8,
        max_features: float = 1.0,
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
        self.n_bags = n_bags
        self.max_samples = max_samples
        self.max_features = max_features
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
        group: Any = None,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        self.check_params()
        if self.chosen_optimizer == "coordinate-ascent" and current_group() is not None:
            raise OptionError("Coordinate ascent runs on one rank only. On several use optimizer='lbfgs'.")
        training = self.prepare_training_data(X, y, qid, group, validation)
        judged = fit_resampled(self, training, callback, checkpoint)
        self.finish_fit(training.dataset, judged)
        return self

    def train(self, training: TrainingData, *, callback: Callback | None, checkpoint: Checkpoint | None) -> None:
        """Find the weights for these lists."""

        def validation_score(parameters: Parameters) -> float | None:
            if training.validation is None:
                return None
            outputs = parameters.scores(training.validation_features, self.n_jobs)
            return self.validation_score(self.combine_outputs(outputs), training.validation)

        fit = LinearFit(
            self.get_objective(),
            training,
            self.new_curve(validated=training.validation is not None),
            self.get_seed(),
            self.get_params(deep=False),
            self.max_grade_,
            self.iteration_limit,
            validation_score,
            self.logged(callback),
        )
        try:
            OPTIMIZERS[self.chosen_optimizer].run(fit, self.shared_checkpoint(checkpoint, training.dataset))
        except (KeyboardInterrupt, MachineError):
            if fit.curve.best_state is not None:
                self._keep_best(fit.curve)
            raise
        if fit.curve.best_state is None:  # nothing to improve, from the start
            problem = fit.problem()
            fit.curve.best_state = problem.parameters(problem.start())._asdict()
        self._keep_best(fit.curve)

    def ignore_features(self, mask: NDArray[np.bool_]) -> None:
        """Let the transformed features of a mask have no effect."""
        self.parameters_.weights[mask] = 0.0

    def combine(self, parts: Sequence[Self], weights: Floats) -> None:
        """Become the weighted sum of fitted rankers of the same features."""
        self.parameters_ = Parameters.weighted_sum([part.parameters_ for part in parts], weights)
        self._nuisance = self.parameters_.nuisance

    def _keep_best(self, curve: LearningCurve) -> None:
        self.parameters_ = Parameters(**curve.best_state)
        self._nuisance = self.parameters_.nuisance
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration

    def check_params(self) -> None:
        super().check_params()
        self.chosen_optimizer  # noqa: B018  # refuses what does not go together

    @property
    def chosen_optimizer(self) -> str:
        """`optimizer`, or the one for the objective where it is None; an OptionError where the two do not fit."""
        objective = self.get_objective()
        if self.optimizer is None:
            return "gradient-descent" if objective.gradient_only else "lbfgs"
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("optimizer", self.optimizer, OPTIMIZERS)
        if self.optimizer == "lbfgs" and objective.gradient_only:
            raise OptionError(
                f"{objective.name} has a gradient but no loss, which L-BFGS needs: use optimizer='gradient-descent'."
            )
        if self.optimizer == "coordinate-ascent" and objective.one_output_per_grade:
            raise OptionError("Coordinate ascent needs one weight per feature; mcrank has several.")
        return self.optimizer

    @property
    def iteration_limit(self) -> int:
        limit = OPTIMIZERS[self.chosen_optimizer].max_iter if self.max_iter is None else self.max_iter
        return limit * self.n_bags

    def unused_params(self) -> tuple[str, ...]:
        if self.chosen_optimizer == "coordinate-ascent":
            return "reg_lambda", "learning_rate", "batch_size", "objective"
        return ("learning_rate", "batch_size") if self.chosen_optimizer == "lbfgs" else ()

    def scoring_model(self) -> LinearModel:
        return LinearModel(
            tuple(self.transforms_),
            self.n_jobs,
            parameters=self.parameters_,
            ranking_score=self.get_objective().ranking_score,
        )

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        return self.scoring_model().compute_scores(features, offsets)

    def compute_outputs(self, features: Any, offsets: Integers) -> Floats:
        """The outputs of a block of transformed features, (N,) or (N, grades)."""
        return self.parameters_.scores(features, self.n_jobs)

    def compute_contributions(self, features: Any, offsets: Integers) -> tuple[Floats, float]:
        values = features.toarray() if sparse.issparse(features) else features
        return values * self.coef_, float(self.intercept_.sum())

    @property
    def coef_(self) -> Floats:
        return self.parameters_.weights

    @property
    def intercept_(self) -> Floats:
        return self.parameters_.intercept

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.parameters_._asdict()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        outputs = int(self.max_grade_) + 1 if self.get_objective().one_output_per_grade else None
        width = width_after(self.transforms_, self.n_features_in_)
        try:
            given = read_parameters(arrays, width, outputs)
        except ValueError:
            raise self.wrong_arrays() from None
        self.restore_nuisance(arrays)
        self.parameters_ = given

    parameters_: Parameters
