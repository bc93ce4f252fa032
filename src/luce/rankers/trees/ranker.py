"""The estimator around the trees: its settings, its fit, its file."""

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data.transforms import width_after
from luce.errors import DataError, LuceWarning, MachineError, OptionError, unknown_name
from luce.metrics import metric as metric_of
from luce.objectives import Objective
from luce.optimizers.boosting import boost
from luce.optimizers.convergence import Curve
from luce.optimizers.gradient_descent import Checkpointer
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.explanation import Explainable
from luce.rankers.importance import Importance
from luce.rankers.ranker import Callback, TrainingData
from luce.rankers.trees.collectives import Collectives
from luce.rankers.trees.engine import (
    Engine,
    OwnObjective,
    booster_of,
    check_parameters,
    contributed,
    lightgbm,
    predicted,
)
from luce.rankers.trees.forest import Forest
from luce.rankers.trees.learner import Plan, TreeLearner
from luce.rankers.trees.leaves import LEAF_SUMS
from luce.rankers.trees.machines import SINGLE_MACHINE, Machines
from luce.rankers.trees.settings import RULES, SEARCH_SPACE, columns_of, engine_settings, seeds_of
from luce.rankers.trees.shards import SharedCheckpoint, exchange_metadata
from luce.threads import thread_count

logger = logging.getLogger(__name__)

DEEPEST = 1_000
"""Splits above a leaf of a tree that can be explained: the work for a row grows with the square of it."""


class TreeRanker(Explainable):
    """Scores are a sum of trees, grown one after the other by LightGBM against the gradient of the objective.

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`.
        n_estimators: the most rounds; an objective with one output a grade grows a tree for each grade in a round.
        num_leaves: of each tree. max_depth: the most splits above a leaf; None = any.
        min_child_samples: the fewest rows in a leaf.
        learning_rate: the share of each step that is taken.
        leaf: how far a leaf steps. "exact": Newton's step of all its items together (listmle, p-listmle, pl-topk,
            pl-partition); "diagonal": as if each item stood for itself; None: exact where the objective allows.
        split: what splits are judged by. "ones": least squares of the gradient; "diagonal": second derivatives too.
        reg_lambda: added to the second derivative of a leaf, and of a split where `split` looks at it.
        resample_each_round: ties are shuffled and samples drawn anew in each round; False: as in the first, always.
        subsample: the share of the lists that each tree is grown on. colsample_bytree: that of the features.
        categorical_feature: columns, by number from 0 or by name, whose values are the numbers of categories.
        monotone_constraints: for each feature 1 if scores must not fall with it, −1 if they must not rise, 0 if either.
        lightgbm_objective: "lambdarank" or "rank_xendcg": LightGBM's own objective instead; `objective` then
            tells the loss.
        lightgbm_params: further parameters of LightGBM, by name.
        metric, early_stopping_rounds: with `validation` data, the rounds best by this metric are kept, and training
            stops when that many have brought nothing better.
        transforms: names of TRANSFORMS, fitted on the training data; trees need none, and know missing values.
        random_state: seeds shuffles, samples and LightGBM.
        n_jobs: threads; None or −1 = all cores.

    Attributes:
        forest_: the trees. nuisance_: parameters of the objective learned beside them, by name.
        history_: one record a round; its loss is the mean over lists. best_iteration_, max_grade_, transforms_, …

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> TreeRanker(n_estimators=5, min_child_samples=1, n_jobs=1).fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "trees"
    packages = ("lightgbm",)
    round_name = "round"
    resumable_params = ("n_estimators", "n_jobs", "early_stopping_rounds")
    rules = RULES
    tried = SEARCH_SPACE
    limit = "n_estimators"

    def __init__(
        self,
        objective: str | Objective = "pl-partition",
        *,
        n_estimators: int = 500,
        num_leaves: int = 7,
        max_depth: int | None = None,
        min_child_samples: int = 10,
        learning_rate: float = 0.1,
        leaf: str | None = None,
        split: str = "ones",
        reg_lambda: float = 0.0,
        resample_each_round: bool = True,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        categorical_feature: Sequence[int | str] = (),
        monotone_constraints: Sequence[int] | None = None,
        lightgbm_objective: str | None = None,
        lightgbm_params: Mapping[str, Any] | None = None,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 50,
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
        self.leaf = leaf
        self.split = split
        self.reg_lambda = reg_lambda
        self.resample_each_round = resample_each_round
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.categorical_feature = categorical_feature
        self.monotone_constraints = monotone_constraints
        self.lightgbm_objective = lightgbm_objective
        self.lightgbm_params = lightgbm_params
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.transforms = transforms
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        validation: Any = None,
        init_model: "TreeRanker | None" = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        machines: Machines | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row.

        `validation` is a dataset or such a triple. `init_model` is a fitted tree ranker of the same features: its
        trees are kept and up to `n_estimators` rounds more are grown, to adapt it to other lists or to go on.

        `callback` gets the record of each round. An interrupt (Ctrl-C) or a lost machine leaves the ranker fitted with
        the best rounds so far.

        With `machines` the data are this machine's shard, of training and of validation lists; the ranker learns from
        those of all, and is the same on all in the end. Rank 0 keeps the checkpoint.
        """
        together = SINGLE_MACHINE if machines is None else machines
        if not isinstance(together, Machines):
            raise OptionError(f"machines must be luce.Machines(addresses, rank), connected. Got {machines!r}.")
        with together.working(), Collectives(together) as network:
            self._check_settings()
            training = self._training_data(X, y, qid, validation)
            shards = exchange_metadata(self, training, init_model, together)
            self.max_grade_ = max(shard["grade"] for shard in shards)
            learner = self._learner(training, self._base(init_model), network, shards)
            kept = None if together.rank else self._checkpointer(checkpoint, training.dataset, elsewhere=shards[1:])
            self._train(learner, training, kept if together.size == 1 else SharedCheckpoint(together, kept), callback)
        return self

    def _train(
        self, learner: TreeLearner, training: TrainingData, checkpointer: Checkpointer | None, callback: Callback | None
    ) -> None:
        curve = Curve(
            metric_of(self.metric).higher_is_better, None if training.validation is None else self.early_stopping_rounds
        )

        def tell(record: dict[str, float]) -> None:
            logger.info("%s: %s", self._objective(), record)
            if callback is not None:
                callback(record)

        try:
            boost(learner, curve, rounds=self.n_estimators, checkpointer=checkpointer, callback=tell)
        except (KeyboardInterrupt, MachineError):
            if curve.best_state is not None:
                self._keep(learner, curve)
            raise
        if not curve.history:
            warnings.warn(
                f"No tree can split {training.dataset!r}: its features are constant, or min_child_samples = "
                f"{self.min_child_samples} leaves no room. All scores are equal.",
                LuceWarning,
                stacklevel=3,
            )
        self._keep(learner, curve)

    def _base(self, init_model: "TreeRanker | None") -> Forest | None:
        if init_model is None:
            return None
        if not isinstance(init_model, TreeRanker):
            raise OptionError(
                f"init_model must be a fitted TreeRanker, whose trees are kept. Got {type(init_model).__name__}."
            )
        check_is_fitted(init_model)
        width = width_after(self.transforms_, self.n_features_in_)
        forest = init_model.forest_
        if len(forest.infos) != width or forest.outputs != self._outputs:
            raise DataError(
                f"init_model scores {len(forest.infos)} features by {forest.outputs} trees a round; here are "
                f"{width} features and {self._outputs} trees a round."
            )
        return forest

    def _learner(
        self, training: TrainingData, base: Forest | None, network: Collectives, shards: list[dict[str, Any]]
    ) -> TreeLearner:
        dataset, goal, width = training.dataset, self._objective(), training.features.shape[1]
        if self.lightgbm_objective is None and not any(shard["teaching"] for shard in shards):
            raise DataError(
                f"No list of {dataset!r} teaches {goal} anything: one sample alone has no order, nor have equal labels."
            )
        threads, seed = thread_count(self.n_jobs), shards[0]["seed"]
        parameters = engine_settings(self, width, self._outputs, seed, threads)
        names = getattr(self, "feature_names_in_", None)
        columns = columns_of(self.categorical_feature, width, names)
        native = None if self.lightgbm_objective is None else OwnObjective.of(dataset)
        parts: dict[str, Any] = {"held_out": training.held_out, "native": native, "network": network}
        engine = Engine(training.features, parameters, categorical=columns, **parts)
        plan = Plan(
            learning_rate=self.learning_rate,
            exact=self._leaf == "exact",
            diagonal_splits=self.split == "diagonal",
            reg_lambda=self.reg_lambda,
            subsample=self.subsample,
            resample_each_round=self.resample_each_round,
            native=self.lightgbm_objective is not None,
            monotone=None
            if self.monotone_constraints is None
            else np.asarray(self.monotone_constraints, dtype=np.float64),
            seeded=seeds_of(parameters),
            seed=seed,
            n_jobs=threads,
        )

        judge: Any = training.validation
        top = max(shard["top"] for shard in shards)

        def figure(scores: Floats) -> float:
            return self._figure(self._combined(scores), judge, top, network.machines.total)

        return TreeLearner(engine, goal, dataset, training.validation, plan, figure, base)

    def _keep(self, learner: TreeLearner, curve: Curve) -> None:
        self._own(learner.forest(curve.best_iteration))
        self._nuisance = learner.nuisance[curve.best_iteration]
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration

    def _own(self, forest: Forest) -> None:
        self.forest_, self._booster = forest, booster_of(forest)

    @property
    def rounds(self) -> int:
        return self.n_estimators

    def idle_settings(self) -> tuple[str, ...]:
        return () if self.lightgbm_objective is None else ("objective",)

    @property
    def _outputs(self) -> int:
        return int(self.max_grade_) + 1 if self._objective().one_output_per_grade else 1

    @property
    def _leaf(self) -> str:
        return self.leaf or ("exact" if self._objective().name in LEAF_SUMS else "diagonal")

    @property
    def _takes_missing(self) -> bool:
        return True

    def _scores(self, features: Any, offsets: Integers) -> Floats:
        return self._combined(predicted(self._booster, features, thread_count(self.n_jobs)))

    def _combined(self, scores: Floats) -> Floats:
        combine = self._objective().ranking_score
        return scores if combine is None else combine(scores.reshape(-1, self._outputs))

    @property
    def nuisance_(self) -> dict[str, float]:
        return dict(zip(self._objective().nuisance, self._nuisance.tolist(), strict=True))

    def _contributions(self, features: Any) -> tuple[Floats, float]:
        deepest = max(tree.depth for tree in self.forest_.trees)
        if deepest > DEEPEST:
            raise OptionError(f"A tree that is {deepest:,} splits deep cannot be explained; {DEEPEST:,} can.")
        contributions, base = contributed(self._booster, features, thread_count(self.n_jobs))
        scores = predicted(self._booster, features, thread_count(self.n_jobs))
        apart = np.abs(base + contributions.sum(axis=1) - scores)
        if not (apart <= 1e-9 * np.maximum(1, np.abs(scores))).all():  # nor where they are not numbers
            raise DataError("The trees cannot be explained: they do not tell how many rows are in each leaf.")
        return contributions, base

    def importance(self, kind: str = "gain") -> Importance:
        """What the trees make of each feature: the "gain" of all its splits, or how often it does "split".

        Both tell what was learned from, not what it is good for: `permutation_importance` does, for any metric.

        >>> import luce
        >>> data = luce.from_arrays([[1.0, 7], [3, 7], [2, 7]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = TreeRanker(n_estimators=2, min_child_samples=1, n_jobs=1).fit(data)
        >>> ranker.importance("split").table().to_pylist()
        [{'feature': '1', 'value': 4.0}, {'feature': '2', 'value': 0.0}]
        """
        check_is_fitted(self)
        if kind not in ("gain", "split"):
            raise unknown_name("kind of importance", str(kind), ("gain", "split"))
        values = self._booster.feature_importance(importance_type=kind)
        return Importance(kind, self._names, values.astype(np.float64))

    def to_lightgbm(self) -> Any:
        """The trees as a `lightgbm.Booster` that knows nothing of Luce; its raw scores are ours, one column a grade.

        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = TreeRanker(n_estimators=2, min_child_samples=1, n_jobs=1).fit(data)
        >>> bool((ranker.to_lightgbm().predict(data.features) == ranker.predict(data)).all())
        True
        """
        check_is_fitted(self)
        return booster_of(self.forest_)

    def truncate(self, n_estimators: int) -> "TreeRanker":
        """The same ranker with no more than its first so many rounds of trees."""
        check_is_fitted(self)
        if not 1 <= n_estimators <= self.forest_.rounds:
            raise OptionError(f"There are {self.forest_.rounds} rounds of trees to keep some of. Got {n_estimators!r}.")
        shorter = TreeRanker(**self.get_params(deep=False))
        shorter.__dict__.update(self.__dict__)
        shorter._own(self.forest_.first(n_estimators))
        return shorter

    def _check_settings(self) -> None:
        super()._check_settings()
        lightgbm()
        check_parameters(self.lightgbm_params or {})
        goal = self._objective()
        if self.leaf == "exact" and goal.name not in LEAF_SUMS:
            raise OptionError(
                f"{goal.name} has no exact leaves; those that have: {', '.join(LEAF_SUMS)}. Take leaf='diagonal'."
            )
        if self.monotone_constraints is not None and goal.one_output_per_grade:
            raise OptionError(f"{goal.name} has one score a grade, which together cannot be kept monotone.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_booster"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "forest_" in state:
            self._own(self.forest_)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        text = np.frombuffer(self.forest_.text().encode(), dtype=np.uint8)
        return {"model": text, "nuisance": self._nuisance}

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        model, extra = arrays["model"], np.asarray(arrays["nuisance"], dtype=np.float64)
        if model.dtype != np.uint8 or model.ndim != 1:
            raise DataError("The model file does not hold trees.")
        if extra.shape != (len(self._objective().nuisance),) or not np.isfinite(extra).all():
            raise DataError(
                f"The model file does not hold what {self._objective()} learns: finite numbers of its shape."
            )
        width = width_after(self.transforms_, self.n_features_in_)
        self._own(Forest.parse(model.tobytes().decode("ascii"), width, self._outputs))
        self._nuisance = extra
