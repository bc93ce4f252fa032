"""The ranker that boosting starts from: one of trees, which are kept, or a linear or neural one, whose scores are."""

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.data.transforms import width_after
from luce.errors import DataError, OptionError
from luce.rankers.explanation import Explainable
from luce.rankers.ranker import Ranker
from luce.scoring.forest import Forest
from luce.scoring.model_files import BACKGROUNDS


class Start(NamedTuple):
    """The trees to begin with, and the ranker whose scores all trees are added to."""

    forest: Forest | None = None
    background: Ranker | None = None


def start_of(ranker: Any, init_model: Any, outputs: int) -> Start:
    """What `init_model` gives to trees of `ranker`, which must have the same features and outputs."""
    if init_model is None:
        return Start()
    kind = getattr(init_model, "kind", None)
    if kind not in ("trees", *BACKGROUNDS):
        raise OptionError(
            f"init_model must be a fitted TreeRanker, LinearRanker or NeuralRanker. Got {type(init_model).__name__}."
        )
    check_is_fitted(init_model)
    if kind == "trees":
        return Start(_checked_forest(ranker, init_model.forest_, outputs), init_model.init_model_)
    check_background(ranker, init_model, outputs)
    return Start(None, init_model)


def _checked_forest(ranker: Any, forest: Forest, outputs: int) -> Forest:
    width = width_after(ranker.transforms_, ranker.n_features_in_)
    if len(forest.feature_infos) != width or forest.outputs != outputs:
        raise DataError(
            f"init_model scores {len(forest.feature_infos)} features by {forest.outputs} trees per round; here there "
            f"are {width} features and {outputs} trees per round."
        )
    return forest


def check_background(ranker: Any, background: Ranker, outputs: int) -> None:
    """An error unless trees of this ranker can be added to the scores of another kind."""
    name = type(background).__name__
    if outputs > 1:
        raise OptionError(
            f"{ranker.get_objective().name} has one score per grade, and {name} gives one per row: start from trees of "
            "the same objective, or leave out init_model."
        )
    if ranker.transforms_:
        raise OptionError(f"To start from a {name}, which has transforms of its own, the trees need transforms=().")
    if _columns(background) != _columns(ranker):
        raise DataError(
            f"init_model, a {name}, was fitted on other features than the {ranker.n_features_in_:,} here: their "
            "number, names and categories must be the same."
        )


def _columns(ranker: Any) -> tuple[Any, ...]:
    return ranker.n_features_in_, *getattr(ranker, "feature_names_in_", ()), ranker.categories_


def background_contributions(
    background: Ranker, features: Any, offsets: Integers, names: tuple[str, ...]
) -> tuple[Floats, float]:
    """What each of these features adds to the scores of the background, and the score to add it to."""
    if not isinstance(background, Explainable) or background.explained_feature_names != names:
        raise OptionError(
            f"The trees are added to the scores of a {type(background).__name__}, which are not sums of contributions "
            "of the same features: they cannot be explained row by row. Use permutation_importance."
        )
    own = background.transform_features(Dataset.unchecked(features=features, offsets=offsets))
    return background.contributions_by_feature(own, offsets)
