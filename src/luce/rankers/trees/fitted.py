"""What fitted trees do: score rows, explain scores, become a LightGBM model, go into a file."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data.transforms import Block, width_after
from luce.errors import DataError, OptionError, unknown_name
from luce.rankers.ensemble_members import members_manifest, restore_members
from luce.rankers.explanation import Explainable
from luce.rankers.importance import Importance
from luce.rankers.inputs import finite
from luce.rankers.ranker import Ranker
from luce.rankers.trees.init_model import background_contributions, check_background
from luce.rankers.trees.lightgbm_package import forest_booster, predict_contributions
from luce.scoring.forest import Forest
from luce.scoring.model_files import read_forest
from luce.scoring.models import TreeModel
from luce.threads import thread_count

DEEPEST = 1_000
"""Splits above a leaf of a tree that can be explained: the work for a row grows with the square of it."""


class FittedTrees(Explainable):
    """The half of `TreeRanker` that needs nothing but its trees."""

    forest_: Forest
    grown_: Forest
    init_model_: Ranker | None = None
    n_jobs: int | None

    def _set_forest(self, forest: Forest, grown: Forest | None = None) -> None:
        """Take over the trees of a fit, and all that were grown, where those are more."""
        self.forest_, self.grown_ = forest, grown or forest

    @property
    def _n_outputs(self) -> int:
        """How many trees a round grows."""
        return int(self.max_grade_) + 1 if self.get_objective().one_output_per_grade else 1

    @property
    def allow_nan(self) -> bool:
        return True

    def scoring_model(self) -> TreeModel:
        return TreeModel(
            tuple(self.transforms_),
            self.n_jobs,
            forest=self.forest_,
            ranking_score=self.get_objective().ranking_score,
            background=self.init_model_ and self.init_model_.scoring_model(),
        )

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        return self.scoring_model().compute_scores(features, offsets)

    @property
    def list_context(self) -> str:
        return super().list_context or ("" if self.init_model_ is None else self.init_model_.list_context)

    def compute_outputs(self, features: Any, offsets: Integers) -> Floats:
        """The outputs of a block of transformed features, (N,) or (N, grades)."""
        return self.forest_.scores(features, self.n_jobs)

    def combine_outputs(self, scores: Floats) -> Floats:
        """One score a row, of one or several outputs."""
        combine = self.get_objective().ranking_score
        return scores if combine is None else combine(scores.reshape(-1, self._n_outputs))

    def compute_contributions(self, features: Any, offsets: Integers) -> tuple[Floats, float]:
        deepest = max(tree.depth for tree in self.forest_.trees)
        if deepest > DEEPEST:
            raise OptionError(f"A tree that is {deepest:,} splits deep cannot be explained; the limit is {DEEPEST:,}.")
        booster = forest_booster(self.forest_)
        contributions, base = predict_contributions(booster, features, thread_count(self.n_jobs))
        scores = self.forest_.scores(features, self.n_jobs)
        apart = np.abs(base + contributions.sum(axis=1) - scores)
        if not (apart <= 1e-9 * np.maximum(1, np.abs(scores))).all():  # nor where they are not numbers
            raise DataError("The trees cannot be explained: their counts of rows in leaves are wrong.")
        if self.init_model_ is None:
            return contributions, base
        own, own_base = background_contributions(self.init_model_, features, offsets, self.explained_feature_names)
        return contributions + own, base + own_base

    def importance(self, kind: str = "gain") -> Importance:
        """How much the trees use each feature.

        This describes the training, not what a ranking would lose: see `luce.permutation_importance`.

        Parameters
        ----------
        kind : {"gain", "split"}, default="gain"
            The sum of the gains of all splits by a feature, or their number.

        Returns
        -------
        Importance
            A value for each feature, as `lightgbm.Booster.feature_importance` gives it.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0, 7], [3, 7], [2, 7]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=2, min_child_samples=1, n_jobs=1).fit(data)
        >>> ranker.importance("split").table().to_pylist()
        [{'feature': '1', 'value': 4.0}, {'feature': '2', 'value': 0.0}]
        """
        check_is_fitted(self)
        if kind not in ("gain", "split"):
            raise unknown_name("kind of importance", str(kind), ("gain", "split"))
        values = forest_booster(self.forest_).feature_importance(importance_type=kind)
        return Importance(kind, self.transformed_feature_names, values.astype(np.float64))

    def to_lightgbm(self) -> Any:
        """The trees as a LightGBM model, which scores without Luce.

        Returns
        -------
        lightgbm.Booster
            Its raw scores are those of the ranker, bit for bit; one column per grade if the objective has one
            output per grade. Its input are the features after the transforms of the ranker.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=2, min_child_samples=1, n_jobs=1).fit(data)
        >>> bool((ranker.to_lightgbm().predict(data.features) == ranker.predict(data)).all())
        True
        """
        check_is_fitted(self)
        if self.init_model_ is not None:
            raise OptionError(
                f"The trees are added to the scores of a {type(self.init_model_).__name__}, which LightGBM cannot "
                "contain: save the ranker with save()."
            )
        return forest_booster(self.forest_, self.transformed_feature_names)

    def truncate(self, n_estimators: int) -> Self:
        """The ranker as it was after its first rounds.

        Parameters
        ----------
        n_estimators : int
            The number of rounds, from 1 to the number of rounds of this ranker.

        Returns
        -------
        TreeRanker
            A new ranker; this one is unchanged.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=5, min_child_samples=1, n_jobs=1).fit(data)
        >>> ranker.truncate(2).forest_.rounds
        2
        """
        check_is_fitted(self)
        if self.n_bags > 1:
            raise OptionError(f"truncate needs rounds of trees, which {self.n_bags} bags do not share: use n_bags=1.")
        if not 1 <= n_estimators <= self.forest_.rounds:
            raise OptionError(
                f"n_estimators must be from 1 to {self.forest_.rounds}, the number of rounds. Got {n_estimators!r}."
            )
        shorter = type(self)(**self.get_params(deep=False))
        shorter.__dict__.update(self.__dict__)
        shorter._set_forest(self.forest_.first(n_estimators))
        shorter.best_iteration_ = max(self.best_iteration_ - (self.forest_.rounds - n_estimators), 0)
        return shorter

    def staged_predict(self, X: Any, qid: Any = None, *, group: Any = None) -> Iterator[Floats]:
        """The scores after each round of the fit, as `predict` gives them after the best.

        Rounds after the best are there only in memory, where validation data chose it: a model file ends with the
        best round, and so does a fit that chose it by a held-out part of the lists. Trees of `init_model` are in all.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            What to score, with the features of the training data.
        qid : array-like of shape (n_rows,), optional
            The query of each row; needed only if features are normalized within lists.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists.

        Yields
        ------
        ndarray of shape (n_rows,)
            The scores; those of item `best_iteration_ - 1` are the ones of `predict`, bit for bit.

        Raises
        ------
        OptionError
            If the ranker was fitted as several bags, which have no rounds in common.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=3, min_child_samples=1, n_jobs=1).fit(data)
        >>> [int(scores.argmax()) for scores in ranker.staged_predict(data)]
        [1, 1, 1]
        """
        dataset, position = self.check_input(X, qid, group)
        if self.n_bags > 1:
            raise OptionError(
                f"staged_predict needs rounds of trees, which {self.n_bags} bags do not share: use n_bags=1."
            )
        parts = list(self.transform_blocks(dataset, complete_lists=bool(self.list_context)))
        return self._staged_scores(parts, slice(None) if position is None else position)

    def _staged_scores(self, parts: Sequence[Block], position: Any) -> Iterator[Floats]:
        """The scores of the rows of all blocks after each round, in the order in which they were given."""

        def outputs(forest: Forest) -> Floats:
            return np.concatenate([forest.scores(part.features, self.n_jobs) for part in parts])

        start = np.zeros(1)
        if self.init_model_ is not None:
            background = self.init_model_.scoring_model()
            start = np.concatenate([background.scores(part.features, part.offsets) for part in parts])
        first = self.forest_.rounds - self.best_iteration_  # after the trees of init_model
        sums = outputs(self.grown_.first(first)) if first else np.float64(0)
        for place in range(first, self.grown_.rounds):
            sums = sums + outputs(self.grown_.round(place))  # round by round, as the kernel adds them up
            yield np.array(finite(start + self.combine_outputs(sums))[position])

    def to_manifest(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        manifest, arrays = super().to_manifest()
        if self.init_model_ is None:
            return manifest, arrays
        members, own = members_manifest([("init_model", self.init_model_)])
        return manifest | {"members": members}, arrays | own

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], **params: Any) -> Self:
        ranker = super().from_manifest(manifest, arrays, **params)
        if "members" in manifest:
            try:
                ((_, ranker.init_model_),) = restore_members(manifest, arrays)
                check_background(ranker, ranker.init_model_, ranker._n_outputs)
            except (OptionError, ValueError) as error:
                raise DataError(f"The model file does not contain trees that fit their init_model: {error}") from error
        return ranker

    def state_dict(self) -> dict[str, NDArray[Any]]:
        text = np.frombuffer(self.forest_.text().encode(), dtype=np.uint8)
        return {"model": text, "nuisance": self._nuisance}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.restore_nuisance(arrays)
        width = width_after(self.transforms_, self.n_features_in_)
        self._set_forest(read_forest(arrays, width, self._n_outputs))
