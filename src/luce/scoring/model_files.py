"""The model of a file, as far as scoring needs it: checked as `luce.load` checks it, without importing a ranker."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data.categories import Categories, checked_categories
from luce.data.transforms import encoded, restore_transforms, width_after
from luce.errors import DataError, LuceError
from luce.options import is_integer, is_number
from luce.scoring.forest import Forest
from luce.scoring.models import RANKING_SCORES, LinearModel, Parameters, ScoringModel, TreeModel, WeightedSum
from luce.scoring.scorer import Scorer

Arrays = Mapping[str, NDArray[Any]]
MEMBERS, BACKGROUNDS = ("linear", "neural", "trees"), ("linear", "neural")
"""The kinds of models in an ensemble, and of those whose scores trees are added to."""


class FeatureInfo(NamedTuple):
    """The features of a model: their number, names and categories."""

    n_features: int
    names: tuple[str, ...] | None
    categories: Categories | None


def read_features(manifest: Mapping[str, Any]) -> FeatureInfo:
    """The features in a manifest; a KeyError, TypeError or ValueError says what is missing or wrong."""
    count, names = manifest["features"]["count"], manifest["features"]["names"]
    if not (is_integer(count) and count >= 1):
        raise ValueError("the number of features must be an integer ≥ 1")
    if names is not None and not (_are_strings(names) and len(names) == len(set(names)) == count):
        raise ValueError(f"the names of the features must be {count} different strings")
    categories = checked_categories(manifest["features"].get("categories"), count)
    return FeatureInfo(count, None if names is None else tuple(names), categories)


def read_max_grade(manifest: Mapping[str, Any]) -> float:
    """The highest grade of the training data; a ValueError where it is no number."""
    if not is_number(manifest["max_grade"]):
        raise ValueError("max_grade must be a number")
    return float(manifest["max_grade"])


def read_parameters(arrays: Arrays, width: int, outputs: int | None) -> Parameters:
    """Weights of so many features and outputs; a ValueError for any others."""
    given = Parameters(*(np.asarray(arrays[name], dtype=np.float64) for name in Parameters._fields))
    shape = () if outputs is None else (outputs,)
    fits = given.weights.shape == (width, *shape) and given.intercept.shape in ((0,), shape or (1,))
    if not (fits and all(np.isfinite(part).all() for part in given)):
        raise ValueError("its parameters must be finite numbers of the right shape")
    return given


def read_forest(arrays: Arrays, width: int, outputs: int) -> Forest:
    """Trees of so many features and outputs; a ValueError for any others."""
    text = arrays["model"]
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError("it does not contain trees")
    return Forest.parse(text.tobytes().decode("ascii"), width, outputs)


def read_weights(arrays: Arrays, n_members: int) -> Floats:
    """The weights of the members of an ensemble."""
    weights = np.asarray(arrays["weights"], dtype=np.float64)
    if weights.shape != (n_members,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("the weights of an ensemble must be finite numbers of the right shape, none negative")
    return weights


def arrays_of_members(arrays: Arrays) -> dict[str, dict[str, NDArray[Any]]]:
    """The arrays of the members by their number; those of the i-th are named member.i.name."""
    own: dict[str, dict[str, NDArray[Any]]] = defaultdict(dict)
    for name, array in arrays.items():
        number, _, rest = name.removeprefix("member.").partition(".")
        own[number][rest] = array
    return own


def is_neural(manifest: Mapping[str, Any]) -> bool:
    """Whether a model, or a part of it, is a network."""
    members = manifest.get("members") or ()
    return manifest.get("kind") == "neural" or any(isinstance(each, dict) and is_neural(each) for each in members)


def read_scorer(manifest: Mapping[str, Any], arrays: Arrays) -> Scorer:
    """The scorer of a model without networks; a DataError says what is missing or wrong."""
    try:
        features, model = read_features(manifest), _read_model(manifest, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        words = error if isinstance(error, LuceError) else repr(error)
        raise DataError(f"The model file does not contain a complete model: {words}") from error
    return Scorer(model, *features, needs_lists=model.within_lists)


def _read_model(manifest: Mapping[str, Any], arrays: Arrays) -> ScoringModel:
    kind, features = manifest["kind"], read_features(manifest)
    if kind == "ensemble":
        return _read_ensemble(manifest, arrays, features)
    combine = RANKING_SCORES.get(manifest["objective"]["name"])
    outputs = None if combine is None else int(read_max_grade(manifest)) + 1
    chain = restore_transforms(manifest["transforms"], dict(arrays))
    transforms = tuple(encoded(chain, features.categories, one_hot=kind != "trees"))
    width = width_after(transforms, features.n_features)
    if kind == "linear":
        parameters = read_parameters(arrays, width, outputs)
        return LinearModel(transforms, parameters=parameters, ranking_score=combine)
    forest = read_forest(arrays, width, outputs or 1)
    background = None
    if "members" in manifest:
        if transforms or (outputs or 1) > 1:
            raise ValueError("trees that start from another model must have no transforms, and one output")
        (background,) = _read_members(manifest, arrays, features, BACKGROUNDS)
    return TreeModel(transforms, forest=forest, ranking_score=combine, background=background)


def _read_ensemble(manifest: Mapping[str, Any], arrays: Arrays, features: FeatureInfo) -> WeightedSum:
    if manifest["transforms"]:
        raise ValueError("an ensemble must have no transforms of its own")
    members = _read_members(manifest, arrays, features, MEMBERS)
    return WeightedSum.of(members, read_weights(arrays, len(members)))


def _read_members(
    manifest: Mapping[str, Any], arrays: Arrays, features: FeatureInfo, kinds: tuple[str, ...]
) -> list[ScoringModel]:
    own, members = arrays_of_members(arrays), []
    for i, each in enumerate(manifest["members"]):
        if each["kind"] not in kinds:
            raise ValueError(f"it has a member of unknown kind {each['kind']!r}")
        if read_features(each) != features:
            raise ValueError("its members have other features")
        members.append(_read_model(each, own[str(i)]))
    return members


def _are_strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
