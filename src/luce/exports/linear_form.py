"""A linear ranker as engines can be told it: a weight for each feature, which is centered and scaled before."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, read_only
from luce.data.transforms import Standardize, apply_transforms, chain_of
from luce.data.transforms.encoding import MOST_COLUMNS
from luce.exports.parts import (
    Part,
    check_one_score,
    feature_names,
    only_part,
    refuse_transforms,
    refused,
)


class Scaling(NamedTuple):
    """The features of an engine by name, categories as columns of 0 and 1; the model sees (x − mean) / scale."""

    names: list[str]
    mean: Floats
    scale: Floats


class Linear(NamedTuple):
    """The score is Σ weight · (x − mean) / scale."""

    scaling: Scaling
    weights: Floats


def linear_of(ranker: Any, format_name: str) -> Linear:
    """The form of a linear ranker; an OptionError where a format cannot express it.

    Engines have no intercept: one of a ranker becomes part of the mean of the feature with the largest weight.
    """
    part = only_part(ranker, "linear", format_name)
    check_one_score(part, format_name)
    scaling, weights, intercept = scaling_of(part, format_name), part.model.weights, float(part.model.intercept.sum())
    if intercept:
        largest = np.abs(weights).argmax()
        if not weights[largest]:
            raise refused(format_name, "all its weights are 0", "Train it on data with a signal.")
        mean = scaling.mean.copy()
        mean[largest] -= intercept * scaling.scale[largest] / weights[largest]
        scaling = scaling._replace(mean=mean)
    return Linear(scaling, weights)


def scaling_of(part: Part, format_name: str) -> Scaling:
    """The transforms of a part as one mean and one scale for each feature of the engine."""
    refuse_transforms(part.transforms, ("fill", "standardize"), format_name)
    _check_missing(part, format_name)
    names = feature_names(part.ranker, one_hot=True)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise refused(
            format_name, f"a feature and a value of a category are both {twice!r} here", "Rename the feature."
        )
    n_numbers = part.ranker.n_features_in_
    if part.ranker.categories_ is not None:
        n_numbers = sum(values is None for values in part.ranker.categories_)
        _check_buckets(part, format_name)
    mean, scale = np.zeros(len(names)), np.ones(len(names))
    for each in chain_of(part.transforms):
        if isinstance(each, Standardize):
            mean[:n_numbers] += scale[:n_numbers] * each.for_features(each.mean, n_numbers)
            scale[:n_numbers] *= each.for_features(each.scale, n_numbers)
    return Scaling(names, mean, scale)


def _check_missing(part: Part, format_name: str) -> None:
    """A value that is missing is 0 to the engine: refuse where the ranker fills in another."""
    if not part.ranker.allow_nan:
        return
    coded = [values is not None for values in part.ranker.categories_ or [None] * part.ranker.n_features_in_]
    rows = np.zeros((2, part.ranker.n_features_in_), dtype=np.float32)
    rows[1] = np.nan
    rows[0, coded] = np.nan
    zero, missing = apply_transforms(part.transforms, read_only(rows), np.array([0, 2]))
    if not np.array_equal(zero, missing):
        raise refused(
            format_name,
            "the transform fill replaces missing values by the mean of the feature, and the engine takes 0 for them",
            'Train with luce.data.make_transform("fill", constant=0) in place of "fill", or without it if none is '
            "missing, or use --to onnx.",
        )


def _check_buckets(part: Part, format_name: str) -> None:
    """Refuse categories with so many values that several share a column."""
    if any(values is not None and len(values) > MOST_COLUMNS for values in part.ranker.categories_):
        raise refused(format_name, "a feature has so many categories that a hash numbers them", "Use fewer of them.")


def standardized(features: NDArray[Any], mean: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """Features as engines center and scale them, in float32; what is missing is 0 before."""
    present = np.where(np.isnan(features), np.float32(0), features).astype(np.float32)
    return (present - mean.astype(np.float32)) / scale.astype(np.float32)
