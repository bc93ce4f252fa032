"""Trees as every engine can be told them: splits of the features before the transforms, at float32 thresholds.

Features are float32, so x ≤ t is x ≤ the largest float32 number that is not above t. A transform that looks at one
feature and never falls as it grows becomes part of the threshold: that is the largest number whose transformed value
goes left.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, read_only
from luce.data.transforms import Encode, apply_transforms
from luce.exports.parts import TO_ONNX, Part, check_one_score, only_part, parts_of, refuse_transforms, refused

MONOTONE = ("fill", "symlog1p", "standardize")
"""Transforms of one feature that never fall as it grows."""
ZERO = np.float64(np.float32(1e-35))
"""What lies within this distance of zero LightGBM takes for zero, in a split and already when it reads a row."""
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """Splits and leaves, with the children of `Tree`: one ≥ 0 is a split, one < 0 the leaf ~child.

    A row goes left where its feature is ≤ the threshold, or where it is missing and `nan_left`.
    """

    feature: Integers
    threshold: NDArray[np.float32]
    nan_left: NDArray[np.bool_]
    left: Integers
    right: Integers
    value: Floats

    def nested(self, split: Callable[["DecisionTree", int, Any, Any], Any], leaf: Callable[[int, float], Any]) -> Any:
        """What `split` makes of each split and of what its two children became, and `leaf` of each leaf: the root."""
        leaves = [leaf(number, value) for number, value in enumerate(self.value.tolist())]
        made: list[Any] = [None] * len(self.feature) + leaves[::-1]  # a leaf ~child is at child, from the end
        for place in reversed(range(len(self.feature))):
            made[place] = split(self, place, made[self.left[place]], made[self.right[place]])
        return made[0]


def decision_trees(ranker: Any, format_name: str) -> list[DecisionTree]:
    """The trees of a ranker of trees, or of an ensemble of those; an OptionError where a format cannot express them."""
    only_part(ranker, "trees", format_name)
    return [tree for part in parts_of(ranker) for tree in trees_of(part, format_name)]


def trees_of(part: Part, format_name: str) -> Iterator[DecisionTree]:
    check_one_score(part, format_name)
    refuse_transforms(part.transforms, MONOTONE, format_name)
    trees = part.model.trees
    if any((tree.decision_type & 1).any() for tree in trees):
        raise refused(
            format_name,
            "its trees split by category",
            "Train without categorical features, with columns of 0 and 1 in their place, or use --to lightgbm or onnx.",
        )
    rules = [np.concatenate([getattr(tree, name) for tree in trees]) for name in _RULE]
    goes_left, columns = _rule(part, *rules, format_name=format_name), _columns(part)[rules[0]]
    made = columns, _last_left(goes_left, len(columns)), goes_left(np.full(len(columns), np.nan, np.float32))
    cuts = np.cumsum([len(tree.threshold) for tree in trees])[:-1]
    for tree, feature, threshold, nan_left in zip(trees, *(np.split(each, cuts) for each in made), strict=True):
        children = tree.left_child, tree.right_child
        yield DecisionTree(feature, threshold, nan_left, *children, part.weight * tree.leaf_value)


_RULE = ("split_feature", "threshold", "decision_type")


def _columns(part: Part) -> Integers:
    """Of each feature after the transforms, its column before them."""
    categories = part.ranker.categories_
    if not any(isinstance(each, Encode) for each in part.transforms):
        return np.arange(part.ranker.n_features_in_)
    coded = np.array([values is not None for values in categories])
    return np.concatenate([np.flatnonzero(~coded), np.flatnonzero(coded)])


def _rule(
    part: Part, feature: Integers, threshold: Floats, decision: Integers, *, format_name: str
) -> Callable[[NDArray[np.float32]], NDArray[np.bool_]]:
    """Of a value for each split, whether it goes left there by the rule of LightGBM (Tree::NumericalDecision)."""
    default_left, missing = (decision & 2) > 0, decision >> 2
    zero_left = np.where(default_left, threshold >= ZERO, threshold >= -ZERO)
    if (missing == 1).any() and (zero_left != default_left)[missing == 1].any():
        raise refused(format_name, "it was trained with zero_as_missing", f"Train without it. {TO_ONNX}")
    columns, places = _columns(part)[feature], np.arange(len(feature))

    def goes_left(values: NDArray[np.float32]) -> NDArray[np.bool_]:
        if part.transforms:
            rows = np.zeros((len(values), part.ranker.n_features_in_), dtype=np.float32)
            rows[places, columns] = values
            changed = apply_transforms(part.transforms, read_only(rows), np.array([0, len(rows)]))
            values = changed[places, feature]
        is_zero = (np.abs(values) <= ZERO) | (np.isnan(values) & (missing != 2))
        wide = np.where(is_zero, 0.0, values.astype(np.float64))
        return np.where(np.isnan(wide), default_left, wide <= threshold)

    return goes_left


def _last_left(goes_left: Callable[[NDArray[np.float32]], NDArray[np.bool_]], count: int) -> NDArray[np.float32]:
    """The largest number that goes left at each split, by bisection of the float32 numbers in their order; −∞ where
    none does."""
    low = np.full(count, _place_of(np.float32(-LARGEST)) - 1)
    high = np.full(count, _place_of(np.float32(LARGEST)))
    while (low < high).any():
        middle = -((-low - high) // 2)
        left = goes_left(_number_at(middle))
        low, high = np.where(left, middle, low), np.where(left, high, middle - 1)
    return _number_at(low)


def _place_of(number: np.float32) -> int:
    """The place of a float32 number among all in their order, 0 having place 0."""
    bits = int(number.view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _number_at(places: Integers) -> NDArray[np.float32]:
    bits = np.where(places >= 0, places, -places | 0x80000000).astype(np.uint32)
    return bits.view(np.float32)


def next_above(thresholds: NDArray[np.float32]) -> NDArray[np.float64]:
    """The numbers t for which x < t says the same as x ≤ threshold; above the largest one 2^128, which engines round to
    infinity."""
    with np.errstate(over="ignore"):
        above = np.nextafter(thresholds, np.float32(np.inf)).astype(np.float64)
    return np.where(np.isinf(above), 2.0**128, above)


def at_most(thresholds: NDArray[np.float32]) -> NDArray[np.float64]:
    """The thresholds as numbers that JSON has: −2^128, below all float32 numbers, for −∞."""
    return np.maximum(thresholds.astype(np.float64), -(2.0**128))


def missing_is_zero(trees: list[DecisionTree]) -> bool:
    """Whether a missing value goes everywhere where 0 goes."""
    return all(np.array_equal(tree.nan_left, tree.threshold >= 0) for tree in trees)
