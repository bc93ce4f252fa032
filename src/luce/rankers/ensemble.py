"""The ensemble: a weighted sum of rankers, whose weights are found on lists that its members did not train on."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from luce.arrays import Floats, Integers
from luce.data import Dataset, split
from luce.data.transforms import Transform
from luce.distributed import current_group
from luce.errors import OptionError
from luce.objectives import Objective
from luce.options import Option, number
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.ensemble_members import Member, members_manifest, restore_members
from luce.rankers.ensemble_weights import find_weights, spread
from luce.rankers.estimator import Callback
from luce.rankers.explanation import Explainable
from luce.rankers.linear import LinearRanker
from luce.rankers.ranker import Ranker
from luce.rankers.settings import COMMON
from luce.rankers.trees import TreeRanker
from luce.scoring.model_files import read_weights
from luce.scoring.models import ScoringModel, WeightedSum, groups_of


def _are_members(given: Any) -> bool:
    """Whether these are pairs of a name and a ranker, the names as scikit-learn wants them."""
    if not isinstance(given, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in given
    ):
        return False
    names = [name for name, _ in given]
    named = all(isinstance(name, str) and "__" not in name for name in names) and len(set(names)) == len(names) > 0
    return named and all(isinstance(each, Ranker) and not isinstance(each, EnsembleRanker) for _, each in given)


class EnsembleRanker(_BaseComposition, Explainable):
    """Rank by a weighted sum of the scores of several rankers.

    Each member is fitted on the training lists. The weights, none negative, minimize the mean loss of `objective` over
    the validation lists, which the members also use for early stopping. Without validation lists, some training lists
    are held out: the weights are found there by members fitted on the others, and the members are then fitted on
    all lists.

    Linear members with the same transforms, and trees with the same transforms, are added up to one vector or one
    forest before they score.

    Parameters
    ----------
    estimators : sequence of (str, Ranker), optional
        The members by name; they stay as they are, and copies are fitted. None: `LinearRanker()` as "linear" and
        `TreeRanker()` as "trees", with the metric and the seed of the ensemble.
    objective : str or Objective, default="pl-partition"
        The loss that determines the weights, a name of OBJECTIVES; each member is trained with its own.
    metric : str, default="ndcg@10"
        The metric on the validation lists in `history_`.
    validation_fraction : float, default=0.2
        The share of the lists that is held out if no validation lists are given.
    random_state : int, RandomState instance or None, default=0
        Seeds the choice of the lists to hold out and the samples of a random objective.
    n_jobs : int, optional
        Threads, of the members too; None leaves each member its own.

    Attributes
    ----------
    estimators_ : list of (str, Ranker)
        The fitted members.
    weights_ : ndarray of shape (n_members,)
        The factor of the score of each member.
    nuisance_ : dict
        Parameters of the objective that were learned beside the weights, by name.
    history_ : list of dict
        A record for each member: its number from 1 as "iteration", the mean "loss" over the validation or held-out
        lists of the best blend of the members up to this one, and with validation lists its score as "validation".
    best_iteration_ : int
        The number of members.
    best_score_ : float or None
        `metric` of the ensemble on the validation lists.
    max_grade_, transforms_, n_features_in_, feature_names_in_
        See `Estimator`; the ensemble has no transforms of its own.

    Examples
    --------
    >>> import luce
    >>> from luce.data.synthetic import web_search
    >>> train, test = luce.split(web_search(40, n_features=5, seed=1).dataset)
    >>> trees = luce.TreeRanker(n_estimators=20)
    >>> ranker = EnsembleRanker([("linear", luce.LinearRanker()), ("trees", trees)], n_jobs=1).fit(train)
    >>> parts = [member.predict(test) for _, member in ranker.estimators_]
    >>> bool(np.allclose(ranker.predict(test), ranker.weights_ @ parts))
    True
    """

    kind = "ensemble"
    iteration_name = "member"
    resumable_params = ("n_jobs",)
    param_specs = {name: COMMON[name] for name in ("metric", "random_state", "n_jobs")} | {
        "estimators": Option(
            "(name, ranker) pairs with different names without __ and rankers of lists that are not ensembles, or None",
            lambda value: value is None or _are_members(value),
        ),
        "validation_fraction": number(above=0, below=1),
    }
    one_hot = False
    transforms: Sequence[Any] = ()

    def __init__(
        self,
        estimators: Sequence[tuple[str, Ranker]] | None = None,
        *,
        objective: str | Objective = "pl-partition",
        metric: str = "ndcg@10",
        validation_fraction: float = 0.2,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.estimators = estimators
        self.objective = objective
        self.metric = metric
        self.validation_fraction = validation_fraction
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
        if current_group() is not None:
            raise OptionError(
                "An ensemble is fitted on one rank only. On several fit its members one by one, and blend their scores."
            )
        training = self.prepare_training_data(X, y, qid, group, validation)
        dataset, held_out, seed = training.dataset, training.validation, self.get_seed()
        saved = self.open_checkpoint(checkpoint, dataset)
        if saved is not None:
            saved.load()
            saved.save({}, {})
        if held_out is not None:
            self._blend(self._members(seed, saved), dataset, held_out, held_out, seed, callback)
            self.finish_fit(dataset, held_out)
            return self
        share: Any = self.validation_fraction
        first, judge = split(dataset, (1 - share, share), seed)
        self._blend(self._members(seed, saved), first, judge, None, seed, callback)
        self._refit(self._members(seed, saved, refit=True), first, dataset)
        self.finish_fit(dataset, None)
        return self

    def _named(self, seed: int) -> Sequence[Member]:
        """The members as they are given."""
        if self.estimators is not None:
            return self.estimators
        shared: dict[str, Any] = {"metric": self.metric, "random_state": seed}
        return [("linear", LinearRanker(**shared)), ("trees", TreeRanker(**shared))]

    def _members(
        self, seed: int, saved: Checkpoint | None, refit: bool = False
    ) -> Iterator[tuple[str, Ranker, Checkpoint | None]]:
        """Copies of the members to fit, each with a checkpoint of its own."""
        given = self._named(seed)
        for i, (name, member) in enumerate(given, 1 + refit * len(given)):
            copy = clone(member)
            if self.n_jobs is not None:
                copy.set_params(n_jobs=self.n_jobs)
            yield name, copy, None if saved is None else saved.numbered(i)

    def _blend(
        self,
        members: Iterator[tuple[str, Ranker, Checkpoint | None]],
        train: Dataset,
        judge: Dataset,
        validation: Dataset | None,
        seed: int,
        callback: Callback | None,
    ) -> None:
        """Fit the members and find their weights; what is fitted so far is kept, also after an interrupt."""
        fitted: list[Member] = []
        columns, history = [], []
        for name, member, checkpoint in members:
            fitted.append((name, member.fit(train, validation=validation, checkpoint=checkpoint)))
            columns.append(member.predict(judge))
            scores = np.column_stack(columns)
            found = find_weights(scores, judge, self.get_objective(), seed, self.n_jobs)
            history.append({"iteration": len(fitted), "loss": found.loss})
            if validation is not None:
                history[-1]["validation"] = self.validation_score(scores @ found.weights, judge)
            self._nuisance = found.nuisance
            self._set_members(list(fitted), found.weights)
            self.history_, self.best_iteration_ = list(history), len(fitted)
            self.logged(callback)(history[-1])

    def _refit(
        self, members: Iterator[tuple[str, Ranker, Checkpoint | None]], first: Dataset, dataset: Dataset
    ) -> None:
        """Fit the members on all lists; their weights make up for scores that spread more or less than before."""
        fitted: list[Member] = []
        ratios = []
        for (_, before), (name, member, checkpoint) in zip(self.estimators_, members, strict=True):
            fitted.append((name, member.fit(dataset, checkpoint=checkpoint)))
            # Each on the lists that it was fitted on: scores of lists that were not seen spread less.
            spreads = [spread(one.predict(lists), lists.offsets) for one, lists in ((before, first), (member, dataset))]
            ratios.append(spreads[0] / spreads[1])
        self._set_members(fitted, self.weights_ * ratios)

    def _set_members(self, members: list[Member], weights: Floats) -> None:
        self.estimators_, self.weights_ = members, weights
        self._model = WeightedSum.of([member.scoring_model() for _, member in members], weights)

    def scoring_model(self) -> WeightedSum:
        if self.n_jobs is not None:
            for _, member in self.estimators_:
                member.n_jobs = self.n_jobs
        return self._model if self.n_jobs is None else self._model.with_n_jobs(self.n_jobs)

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        return self.scoring_model().compute_scores(features, offsets)

    def compute_contributions(self, features: Any, offsets: Integers) -> tuple[Floats, float]:
        contributions, base = np.zeros((features.shape[0], len(self.explained_feature_names))), 0.0
        for member, weight in self._weighted:
            own = member.transform_features(Dataset.unchecked(features=features, offsets=offsets))
            member_contributions, member_base = member.contributions_by_feature(own, offsets)
            contributions += weight * member_contributions
            base += weight * member_base
        return contributions, base

    @property
    def _weighted(self) -> list[tuple[Ranker, float]]:
        """The members that count, and their weights."""
        pairs = zip(self.estimators_, self.weights_.tolist(), strict=True)
        return [(member, weight) for (_, member), weight in pairs if weight]

    @property
    def summed_members(self) -> list[tuple[Ranker, ScoringModel | None, float]]:
        """Members whose weighted sum is the score; those that can be added up as the first of them, and their sum."""
        models = [member.scoring_model() for _, member in self.estimators_]
        groups = zip(groups_of(models, self.weights_), self._model.parts, strict=True)
        return [
            (self.estimators_[group[0]][1], model if len(group) > 1 else None, weight)
            for group, (model, weight) in groups
        ]

    @property
    def explained_feature_names(self) -> tuple[str, ...]:
        for name, member in self.estimators_:
            if not isinstance(member, Explainable) or member.get_objective().ranking_score is not None:
                raise OptionError(
                    f"The score of the member {name!r} is not a sum of contributions of features, so it cannot be "
                    "explained row by row. Use permutation_importance."
                )
        names = {name: member.explained_feature_names for name, member in self.estimators_}
        if len(set(names.values())) > 1:
            widths = ", ".join(f"{name} {len(each):,}" for name, each in names.items())
            raise OptionError(
                f"The members have different features after their transforms ({widths}), so their contributions "
                "cannot be "
                "added: explain each of estimators_ separately."
            )
        return next(iter(names.values()))

    @property
    def list_context(self) -> str:
        return next((member.list_context for member, _ in self._weighted if member.list_context), "")

    @property
    def allow_nan(self) -> bool:
        return all(member.allow_nan for _, member in self._named(0))

    @property
    def transform_types(self) -> list[type[Transform] | None]:
        return [each for _, member in self._named(0) for each in member.transform_types]

    @property
    def iteration_limit(self) -> int:
        return len(self._named(0))

    def check_params(self) -> None:
        super().check_params()
        objective = self.get_objective()
        if objective.gradient_only or objective.one_output_per_grade:
            lacks = "has a gradient but no loss" if objective.gradient_only else "has several scores per row"
            raise OptionError(
                f"{objective.name} {lacks}: it cannot be used to find the weights of the members. Use another "
                "objective, "
                "such as pl-partition."
            )
        for name, member in self._named(0):
            try:
                member.check_params()
            except OptionError as error:
                raise OptionError(f"{name}: {error}") from error

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` also those of the members, as "name__parameter"."""
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of a member as "name__parameter", or a whole member by its name."""
        self._set_params("estimators", **params)
        return self

    def describe(self, exclude: Sequence[str] = ()) -> dict[str, Any]:
        members = {name: member.describe(member.resumable_params) for name, member in self._named(0)}
        return super().describe(exclude) | {"members": members}

    def to_manifest(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        manifest, arrays = super().to_manifest()
        members, own = members_manifest(self.estimators_)
        return manifest | {"members": members}, arrays | own

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_, "nuisance": self._nuisance}

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], **params: Any) -> Self:
        return super().from_manifest(manifest, arrays, estimators=restore_members(manifest, arrays), **params)

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        members = list(self.estimators or ())
        columns = (*self.features, self.categories_)
        if self.transforms_ or any((*member.features, member.categories_) != columns for _, member in members):
            raise self.wrong_arrays()
        self.restore_nuisance(arrays)
        self._set_members(members, read_weights(arrays, len(members)))
        self.estimators = [(name, clone(member)) for name, member in members]
