"""The estimator of boosted trees: its parameters, its fit, its file."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data import Dataset
from luce.distributed import current_group, summed, together
from luce.errors import DataError, MachineError, OptionError
from luce.objectives import OBJECTIVES, Objective
from luce.optimizers.boosting import boost
from luce.optimizers.gradient_descent import Checkpointer
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback
from luce.rankers.ranker import Ranker
from luce.rankers.resampling import fit_resampled
from luce.rankers.training_data import TrainingData
from luce.rankers.trees.fitted import FittedTrees
from luce.rankers.trees.grower import BuiltinObjective, TreeGrower
from luce.rankers.trees.init_model import start_of
from luce.rankers.trees.learner import TreeLearner
from luce.rankers.trees.lightgbm_package import check_lightgbm_params, lightgbm
from luce.rankers.trees.settings import (
    PARAM_SPECS,
    boosting_params,
    categorical_columns,
    lightgbm_parameters,
    threads_for,
)
from luce.scoring.forest import Forest
from luce.threads import thread_count

if TYPE_CHECKING:
    from luce.rankers.trees.collectives import Collectives


class TreeRanker(FittedTrees):
    """Gradient boosted trees for any objective, grown by LightGBM.

    Each tree is grown by LightGBM on the gradient of the objective at the scores so far; the values of its leaves
    are Newton steps that Luce computes.

    Parameters
    ----------
    objective : str or Objective, default="pl-partition"
        A name of OBJECTIVES, or `luce.objective(name, **options)`.
    n_estimators : int, default=500
        The maximum number of boosting rounds. A round grows one tree, or one per grade if the objective has one output
        per grade.
    num_leaves : int, default=7
        The maximum number of leaves of a tree.
    max_depth : int, optional
        The maximum depth of a tree; None for no limit.
    min_child_samples : int, default=20
        The minimum number of rows in a leaf.
    learning_rate : float, default=0.1
        The share of each Newton step that is taken.
    leaf_hessian : {"exact", "diagonal"}, optional
        The second derivative in a leaf's Newton step. "exact": that of all items of the leaf moving together, which
        listmle, p-listmle, pl-topk and pl-partition have. "diagonal": the sum over its rows, as in LightGBM. None:
        "exact" where the objective has it.
    split_hessian : {"constant", "diagonal"}, default="constant"
        The second derivative of each row that splits are chosen by. "constant": 1, so that splits fit the gradient by
        least squares. "diagonal": that of the objective, as in LightGBM.
    reg_lambda : float, default=0.0
        Added to the second derivative of a leaf, and with split_hessian="diagonal" to that of a split.
    resample_each_round : bool, default=True
        Whether ties are shuffled and samples drawn anew in each round, or once.
    subsample : float, default=1.0
        The share of the lists that each tree is grown on.
    colsample_bytree : float, default=1.0
        The share of the features that each tree may split by.
    n_bags : int, default=1
        If above 1, this many forests are grown, each on a random part of the lists and features, and averaged: the
        result is again one forest.
    max_samples : float, default=0.8
        The share of the lists that each of several bags is grown on.
    max_features : float, default=1.0
        The share of the features that each of several bags may split by.
    categorical_feature : sequence of int or str, default=()
        Columns with category numbers, by index from 0 or by name. Text in a table is a category without it.
    monotone_constraints : sequence of {-1, 0, 1}, optional
        For each feature, 1 if scores must not fall as it grows, −1 if they must not rise, 0 for no constraint.
    lightgbm_objective : {"lambdarank", "rank_xendcg"}, optional
        Train with this objective of LightGBM's own; `objective` is then only the loss in `history_`. "rank_xendcg"
        draws random numbers whose state LightGBM keeps to itself: a resumed training ends in other trees.
    lightgbm_params : dict, optional
        Further parameters of LightGBM, by name.
    metric : str, default="ndcg@10"
        The metric on the validation lists; the trees up to the best round are used.
    early_stopping_rounds : int, default=50
        Training stops after this many rounds without improvement of the validation score.
    validation_fraction : float or None, default=0.2
        Without validation data, this share of the lists is held out to choose the number of rounds, and as many are
        then grown on all lists; with several bags, each has the lists outside of it for that. None, fewer than ten
        lists that `metric` can measure: `n_estimators` rounds are grown.
    transforms : sequence, default=()
        Names of TRANSFORMS, fitted on the training data. Trees need none, and take missing values.
    random_state : int, RandomState or None, default=0
        Seed of shuffles, samples and LightGBM.
    n_jobs : int, optional
        Threads; None or −1 for all cores.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    grown_ : Forest
        The trees of all rounds that were grown, also after the best; for `staged_predict`, and not in a model file.
    init_model_ : Ranker or None
        The linear or neural ranker that the trees started from, whose scores are added to theirs.
    nuisance_ : dict of str to float
        Parameters of the objective that were learned beside the trees.
    history_ : list of dict
        Iteration, mean loss over lists and validation score of each round; without validation data, of the rounds on
        the lists that were not held out. With several bags one record per bag: the number of bags so far, the loss of
        the last, and the validation score of their mean.
    best_iteration_ : int
        The number of rounds that were kept; with several bags their number.
    max_grade_ : float
        The highest label of the training data.
    transforms_ : list
        The fitted transforms.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, where they have names.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> TreeRanker(n_estimators=5, min_child_samples=1, n_jobs=1).fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "trees"
    one_hot = False
    packages = ("lightgbm",)
    iteration_name = "round"
    resumable_params = ("n_estimators", "n_jobs", "early_stopping_rounds")
    param_specs = PARAM_SPECS
    max_iter_param = "n_estimators"

    def __init__(
        self,
        objective: str | Objective = "pl-partition",
        *,
        n_estimators: int = 500,
        num_leaves: int = 7,
        max_depth: int | None = None,
        min_child_samples: int = 20,
        learning_rate: float = 0.1,
        leaf_hessian: str | None = None,
        split_hessian: str = "constant",
        reg_lambda: float = 0.0,
        resample_each_round: bool = True,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        n_bags: int = 1,
        max_samples: float = 0.8,
        max_features: float = 1.0,
        categorical_feature: Sequence[int | str] = (),
        monotone_constraints: Sequence[int] | None = None,
        lightgbm_objective: str | None = None,
        lightgbm_params: Mapping[str, Any] | None = None,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 50,
        validation_fraction: float | None = 0.2,
        transforms: Sequence[Any] = (),
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.learning_rate = learning_rate
        self.leaf_hessian = leaf_hessian
        self.split_hessian = split_hessian
        self.reg_lambda = reg_lambda
        self.resample_each_round = resample_each_round
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.n_bags = n_bags
        self.max_samples = max_samples
        self.max_features = max_features
        self.categorical_feature = categorical_feature
        self.monotone_constraints = monotone_constraints
        self.lightgbm_objective = lightgbm_objective
        self.lightgbm_params = lightgbm_params
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.transforms = transforms
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
        init_model: Ranker | None = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Grow trees on a dataset, or on features, labels and the query of each row.

        Inside a group of torch.distributed each rank gives its own lists, and all end with the same trees. An interrupt
        (Ctrl-C) or a lost rank leaves the ranker fitted with the best rounds so far.

        Parameters
        ----------
        X : Dataset or array of shape (n_rows, n_features)
            The training lists, or the features of their rows; the features may be sparse.
        y : array of shape (n_rows,), optional
            The label of each row, where X is features.
        qid : array of shape (n_rows,), optional
            The query of each row, where X is features.
        group : array of shape (n_lists,), optional
            In place of qid: the number of rows of each list, one list after the other.
        validation : Dataset or tuple (X, y, qid), optional
            Lists for early stopping by `metric`.
        init_model : TreeRanker, LinearRanker or NeuralRanker, optional
            A fitted ranker of the same features. The trees of a TreeRanker are kept, and the scores of another ranker
            are those that the first tree starts from; up to `n_estimators` rounds are added.
        callback : callable, optional
            Called with the record of each round, a dict as in `history_`.
        checkpoint : Checkpoint or path, optional
            Where the state of the training is saved, to resume it after a crash; in a group rank 0 saves it.

        Returns
        -------
        TreeRanker
            The fitted ranker itself.
        """
        with together():
            self.check_params()
            lightgbm()  # an error without the package, before the work
            if current_group() is not None and not isinstance(init_model, TreeRanker | None):
                raise OptionError(f"On several ranks init_model must be of trees. Got {type(init_model).__name__}.")
            if self.n_bags > 1 and init_model is not None:
                raise OptionError(f"init_model needs n_bags=1. Got n_bags={self.n_bags}.")
            training = self.prepare_training_data(X, y, qid, group, validation)
            judged = fit_resampled(self, training, callback, checkpoint, init_model=init_model)
            self.finish_fit(training.dataset, judged)
        return self

    def train(
        self,
        training: TrainingData,
        *,
        callback: Callback | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
        init_model: Ranker | None = None,
    ) -> None:
        """Grow trees on these lists."""
        with _network() as network:
            forest, self.init_model_ = start_of(self, init_model, self._n_outputs)
            if network is not None:
                network.check_ranks(training.dataset.n_rows, forest)
            learner = self._learner(training, forest, network)
            self._train(learner, training, self.shared_checkpoint(checkpoint, training.dataset), callback)

    def combine(self, parts: Sequence[Self], weights: Floats) -> None:
        """Become the weighted sum of fitted rankers of the same features."""
        self._set_forest(Forest.weighted_sum([part.forest_ for part in parts], weights))
        self._nuisance = weights @ np.array([part._nuisance for part in parts])

    def ignore_features(self, mask: NDArray[np.bool_]) -> None:
        """Trees do not split by features that were constant in their training."""

    def _train(
        self,
        learner: TreeLearner,
        training: TrainingData,
        checkpointer: Checkpointer | None,
        callback: Callback | None,
    ) -> None:
        curve, report = self.new_curve(validated=training.validation is not None), self.logged(callback)
        try:
            boost(learner, curve, rounds=self.n_estimators, checkpointer=checkpointer, callback=report)
        except (KeyboardInterrupt, MachineError):
            if curve.best_state is not None:
                self._set_fitted(learner, curve)
            raise
        self._set_fitted(learner, curve)

    def why_equal_scores(self, dataset: Dataset) -> str:
        if self.importance("split").values.any():
            return super().why_equal_scores(dataset)
        return (
            f"No tree can split {dataset!r}: its features are constant, or it has too few rows for min_child_samples = "
            f"{self.min_child_samples}."
        )

    def _learner(
        self, training: TrainingData, init_forest: Forest | None, network: "Collectives | None" = None
    ) -> TreeLearner:
        dataset, objective, width = training.dataset, self.get_objective(), training.features.shape[1]
        has_signal, seed = objective.has_signal(dataset.labels, dataset.offsets), self.get_seed()
        if self.lightgbm_objective is None and not summed(has_signal.sum()):
            raise DataError(objective.no_signal_message(dataset))
        n_jobs = threads_for(dataset.n_rows * width, thread_count(self.n_jobs))
        parameters = lightgbm_parameters(self, width, self._n_outputs, seed, n_jobs)
        grower = TreeGrower(
            training.features,
            parameters,
            categorical=categorical_columns(self, width),
            validation_features=training.validation_features,
            builtin_objective=None if self.lightgbm_objective is None else BuiltinObjective.of(dataset),
            network=network,
        )
        judge: Any = training.validation

        def validation_score(scores: Floats) -> float:
            return self.validation_score(self.combine_outputs(scores), judge)

        params = boosting_params(self, self._leaf_hessian == "exact", parameters, seed)
        score, background = None if judge is None else validation_score, self.init_model_
        starts = background and [background.predict(lists) for lists in (dataset, judge) if lists is not None]
        return TreeLearner(grower, objective, dataset, has_signal, params, score, init_forest, starts)

    def _set_fitted(self, learner: TreeLearner, curve: LearningCurve) -> None:
        self._set_forest(learner.forest(curve.best_iteration), learner.forest(len(curve.history)))
        self._nuisance = learner.nuisance[curve.best_iteration]
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration

    @property
    def iteration_limit(self) -> int:
        return self.n_estimators * self.n_bags

    def unused_params(self) -> tuple[str, ...]:
        return () if self.lightgbm_objective is None else ("objective",)

    @property
    def _leaf_hessian(self) -> str:
        return self.leaf_hessian or ("exact" if self.get_objective().leaf_sums is not None else "diagonal")

    def check_params(self) -> None:
        super().check_params()
        if self.lightgbm_params:
            check_lightgbm_params(self.lightgbm_params)
        objective = self.get_objective()
        if self.leaf_hessian == "exact" and objective.leaf_sums is None:
            known = ", ".join(name for name, each in OBJECTIVES.items() if each.leaf_sums is not None)
            raise OptionError(
                f"{objective.name} has no exact leaf_hessian; those that have: {known}. Use leaf_hessian='diagonal'."
            )
        if self.monotone_constraints is not None and objective.one_output_per_grade:
            raise OptionError(
                f"{objective.name} has one score per grade, and their combination cannot be constrained to be monotone."
            )


def _network() -> AbstractContextManager[Any]:
    """LightGBM's network over the group of this process; None outside of one, and nothing of it is loaded."""
    group = current_group()
    if group is None:
        return nullcontext()
    from luce.rankers.trees.collectives import Collectives

    return Collectives(group)
