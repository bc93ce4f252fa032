"""What fitted models compute: scores of rows, on plain arrays and without the package that trained them."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.data.transforms import Transform, blocks
from luce.kernels.grade_choice import expected_grade
from luce.kernels.linear_products import scores_of
from luce.scoring.forest import Forest

RANKING_SCORES: dict[str, Callable[[Floats], Floats]] = {"mcrank": expected_grade}
"""How the outputs of an objective that has one for each grade are combined, by the name of the objective."""


@dataclass(frozen=True, eq=False)
class ScoringModel:
    """A model of some kind behind its transforms."""

    transforms: tuple[Transform, ...] = ()
    n_jobs: int | None = None

    @abstractmethod
    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        """The score of each row of a block of transformed features."""

    @property
    def within_lists(self) -> bool:
        """Whether the score of an item depends on the rest of its list."""
        return any(each.within_lists for each in self.transforms)

    def scores(self, features: Any, offsets: Integers) -> Floats:
        """The score of each row of features that are not transformed yet, block after block."""
        if not self.transforms:
            return self.compute_scores(features, offsets)
        parts = [
            self.compute_scores(block.features, block.offsets)
            for block in blocks(features, offsets, self.transforms, complete_lists=self.within_lists)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Parameters(NamedTuple):
    """Weights (F,) or (F, outputs); an intercept per output, or none; the nuisance parameters of the objective."""

    weights: Floats
    intercept: Floats
    nuisance: Floats

    def scores(self, features: Any, n_jobs: int | None = None) -> Floats:
        """X W + intercept: (N,) or (N, outputs)."""
        columns = self.weights.reshape(len(self.weights), -1).T
        each = [scores_of(features, np.ascontiguousarray(column), n_jobs=n_jobs) for column in columns]
        scores = each[0] if self.weights.ndim == 1 else np.stack(each, axis=1)
        return scores + self.intercept if self.intercept.size else scores

    @classmethod
    def weighted_sum(cls, parts: "Sequence[Parameters]", weights: Floats) -> "Parameters":
        """The parameters whose scores are the weighted sum of those of each."""
        return cls(*(np.tensordot(weights, np.array(values), 1) for values in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(ScoringModel):
    """A weighted sum of the features, or several that are combined."""

    parameters: Parameters
    ranking_score: Callable[[Floats], Floats] | None = None

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        outputs = self.parameters.scores(features, self.n_jobs)
        return outputs if self.ranking_score is None else self.ranking_score(outputs)


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeModel(ScoringModel):
    """The sum of trees, or several that are combined, perhaps added to the scores of another model."""

    forest: Forest
    ranking_score: Callable[[Floats], Floats] | None = None
    background: ScoringModel | None = None

    @property
    def within_lists(self) -> bool:
        return super().within_lists or (self.background is not None and self.background.within_lists)

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        outputs = self.forest.scores(features, self.n_jobs)
        scores = outputs if self.ranking_score is None else self.ranking_score(outputs.reshape(len(outputs), -1))
        return scores if self.background is None else self.background.scores(features, offsets) + scores


@dataclass(frozen=True, eq=False, kw_only=True)
class ComputedModel(ScoringModel):
    """Any function of transformed features and offsets."""

    function: Callable[[Any, Integers], Floats]
    of_lists: bool = False

    @property
    def within_lists(self) -> bool:
        return self.of_lists or super().within_lists

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        return self.function(features, offsets)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSum(ScoringModel):
    """The weighted sum of the scores of models."""

    parts: tuple[tuple[ScoringModel, float], ...]

    @classmethod
    def of(cls, models: Sequence[ScoringModel], weights: Floats) -> "WeightedSum":
        """As few parts as possible, none of weight 0: those of one kind with the same transforms are added up."""
        groups = groups_of(models, weights)
        return cls(parts=tuple(_added_up([models[i] for i in group], weights[group]) for group in groups))

    def with_n_jobs(self, n_jobs: int) -> "WeightedSum":
        """The same with this number of threads in all parts."""
        return replace(self, parts=tuple((replace(model, n_jobs=n_jobs), weight) for model, weight in self.parts))

    @property
    def within_lists(self) -> bool:
        return any(model.within_lists for model, _ in self.parts)

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        scores = np.zeros(features.shape[0])
        for model, weight in self.parts:
            scores += weight * model.scores(features, offsets)
        return scores


def groups_of(models: Sequence[ScoringModel], weights: Floats) -> list[list[int]]:
    """The models whose weight is not 0, those together that can be added up."""
    groups: dict[Any, list[int]] = {}
    for i in np.flatnonzero(weights).tolist():
        groups.setdefault(_key(i, models[i]), []).append(i)
    return list(groups.values())


def _key(number: int, model: ScoringModel) -> Any:
    """What is equal for models that can be added up: their kind, what they see, and the parameters they learn."""
    states = [transform.state() for transform in model.transforms]
    seen = repr(
        [(facts, sorted((name, array.tobytes()) for name, array in arrays.items())) for facts, arrays in states]
    )
    if isinstance(model, LinearModel) and model.ranking_score is None:
        return "linear", seen, *(values.shape for values in model.parameters)
    if isinstance(model, TreeModel) and model.ranking_score is None and model.background is None:
        return "trees", seen, *(info.startswith("[") for info in model.forest.feature_infos)
    return number


def _added_up(models: Sequence[Any], weights: Floats) -> tuple[ScoringModel, float]:
    """One model and its weight, for models with the same key."""
    first = models[0]
    if len(models) == 1:
        return first, float(weights[0])
    if isinstance(first, LinearModel):
        return replace(first, parameters=Parameters.weighted_sum([each.parameters for each in models], weights)), 1.0
    return replace(first, forest=Forest.weighted_sum([each.forest for each in models], weights)), 1.0
