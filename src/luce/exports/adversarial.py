"""Rows on which an inexact export goes wrong: thresholds and their float32 neighbors, tiny, huge and missing values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data import Dataset
from luce.data.transforms import Standardize, chain_of
from luce.errors import OptionError
from luce.exports.decision_trees import LARGEST, trees_of
from luce.exports.parts import Part, parts_of

N_ROWS, LIST_SIZE = 1_000, 10
TINY = np.array([0.0, -0.0, 1e-45, 1e-35, 1.1e-35, 1e-30, 1e-7, 1e-6, 2e-6, 1e-3], dtype=np.float32)
MISSING = 0.08
"""The share of missing values, where the ranker allows them."""
FARTHEST = 1e37
"""Beyond it a threshold only separates what is missing, and its neighborhood is not finite."""


def adversarial_rows(ranker: Any, n_rows: int = N_ROWS, seed: int = 0) -> Dataset:
    """Lists of ten rows with the features of a ranker.

    Most values of a feature that trees split by are thresholds or the float32 numbers next to one; others are drawn
    from the range of the thresholds, or around the mean that the transforms know, or are tiny or large.
    """
    rng = np.random.default_rng(seed)
    count, names = ranker.features
    categories = getattr(ranker, "categories_", None)
    thresholds = _thresholds(ranker)
    centers, scales = _scales(ranker)
    only_trees = all(part.kind == "trees" for part in parts_of(ranker))
    features = np.empty((n_rows, count), dtype=np.float32)
    for column in range(count):
        if categories is not None and categories[column] is not None:
            features[:, column] = rng.integers(len(categories[column]), size=n_rows)
            continue
        cuts, scale = thresholds[column], scales[column]
        usual = (centers[column] + scale * rng.normal(size=n_rows)).astype(np.float32)
        if cuts.size:
            low, high = cuts.min(), cuts.max()
            usual = rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), n_rows).astype(np.float32)
        large = np.array([1e4, 1e10, 1e30, LARGEST] if only_trees else [1e2 * scale, 1e4 * scale], dtype=np.float32)
        rare = np.concatenate([TINY, -TINY, large, -large])
        with np.errstate(over="ignore"):
            near = np.concatenate([cuts, *(np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf))])
        near = near[np.isfinite(near)]
        kind = rng.random(n_rows)
        features[:, column] = np.where(kind < 0.85, usual, rng.choice(rare, n_rows))
        if near.size:
            features[:, column] = np.where(kind < 0.6, rng.choice(near, n_rows), features[:, column])
    if all(part.ranker.allow_nan for part in parts_of(ranker)):
        features[rng.random(features.shape) < MISSING] = np.nan
    offsets = np.append(np.arange(0, n_rows, LIST_SIZE), n_rows)
    return Dataset(features, np.zeros(n_rows), offsets, feature_names=names, categories=categories)


def _thresholds(ranker: Any) -> list[NDArray[np.float32]]:
    """Of each feature, where trees split it, as far as the thresholds are those of single features."""
    found: list[list[NDArray[np.float32]]] = [[np.empty(0, np.float32)] for _ in range(ranker.n_features_in_)]
    for part in parts_of(ranker):
        if part.kind == "trees":
            for columns, thresholds in _splits(part):
                for column in np.unique(columns):
                    found[column].append(thresholds[columns == column])
    cuts = [np.unique(np.concatenate(each)) for each in found]
    return [each[np.abs(each) < FARTHEST] for each in cuts]


def _splits(part: Part) -> list[tuple[NDArray[Any], NDArray[np.float32]]]:
    try:
        return [(tree.feature, tree.threshold) for tree in trees_of(part, "any")]
    except OptionError:  # splits by category, or of features that depend on others
        if part.transforms:
            return []
        number = [(tree, tree.decision_type & 1 == 0) for tree in part.model.trees]
        return [(tree.split_feature[own], tree.threshold[own].astype(np.float32)) for tree, own in number]


def _scales(ranker: Any) -> tuple[Floats, Floats]:
    """Where the values of each feature are and how far apart, as far as the transforms know."""
    centers, scales = np.zeros(ranker.n_features_in_), np.ones(ranker.n_features_in_)
    categories = getattr(ranker, "categories_", None) or [None] * ranker.n_features_in_
    numbers = np.array([values is None for values in categories])
    for part in parts_of(ranker):
        chain = chain_of(part.transforms)
        last = chain[-1] if chain else None
        if isinstance(last, Standardize) and last.mean is not None and len(last.mean) == numbers.sum():
            logged = any(each.name == "symlog1p" for each in chain)
            centers[numbers], scales[numbers] = last.mean, last.scale
            if logged:
                centers, scales = np.sign(centers) * np.expm1(np.abs(centers)), np.expm1(scales)
    return centers, scales
