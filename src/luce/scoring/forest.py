"""Trees as arrays, and LightGBM's text of them: every number of a file is checked before LightGBM reads it."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.kernels.tree_scores import Layout, layout_of, scores_of

FORMATS = {
    "split_feature": "%d",
    "split_gain": "%g",
    "threshold": "%.17g",
    "decision_type": "%d",
    "left_child": "%d",
    "right_child": "%d",
    "leaf_value": "%.17g",
    "leaf_weight": "%.17g",
    "leaf_count": "%d",
    "internal_value": "%g",
    "internal_weight": "%g",
    "internal_count": "%d",
    "cat_boundaries": "%d",
    "cat_threshold": "%d",
}
"""The arrays of a tree in the order of LightGBM's text, and how it writes their numbers."""
DTYPES = {name: np.int64 if form == "%d" else np.float64 for name, form in FORMATS.items()}
CATEGORICAL = ("cat_boundaries", "cat_threshold")
REQUIRED = {"num_leaves", "num_cat", "is_linear", "shrinkage", *FORMATS} - {*CATEGORICAL}

_NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
_FEATURE_INFO = re.compile(rf"none|\[{_NUMBER}:{_NUMBER}\]|-?\d+(?::-?\d+)*", re.ASCII)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of S splits and S + 1 leaves, its arrays named as in LightGBM's text.

    Split 0 is the root. A child ≥ 0 is a split, which comes after its parent; a child < 0 is the leaf ~child.
    """

    split_feature: Integers
    split_gain: Floats
    threshold: Floats
    """For a split by category its place in `cat_boundaries`."""
    decision_type: Integers
    """Bit 0: a split by category; bit 1: missing values go left; bits 2 and 3: 0 none, 1 zero or 2 NaN is missing."""
    left_child: Integers
    right_child: Integers
    leaf_value: Floats
    leaf_weight: Floats
    leaf_count: Integers
    internal_value: Floats
    internal_weight: Floats
    internal_count: Integers
    cat_boundaries: Integers
    cat_threshold: Integers
    shrinkage: float

    @classmethod
    def parse(cls, text: str) -> "Tree":
        """The tree of LightGBM's lines name=values; a ValueError for other names, or for what is not a number."""
        fields = dict(line.partition("=")[::2] for line in text.strip("\n").split("\n"))
        if not REQUIRED <= fields.keys() <= REQUIRED | {"Tree", *CATEGORICAL}:
            raise ValueError("a tree has other fields than LightGBM's trees have")
        try:
            arrays: Any = {name: np.array(fields.get(name, "").split(), dtype) for name, dtype in DTYPES.items()}
            return cls(**arrays, shrinkage=float(fields["shrinkage"]))
        except (OverflowError, ValueError) as error:
            raise ValueError(f"a field of a tree is not made of numbers: {error}") from error

    def text(self) -> str:
        """The lines of LightGBM's text."""
        n_categorical = max(len(self.cat_boundaries) - 1, 0)
        names = [name for name in FORMATS if name not in CATEGORICAL or len(self.cat_boundaries)]
        lines = [f"num_leaves={len(self.leaf_value)}", f"num_cat={n_categorical}"]
        for name in names:
            values = getattr(self, name).tolist()
            lines.append(f"{name}=" + " ".join([FORMATS[name]] * len(values)) % tuple(values))
        return "\n".join([*lines, "is_linear=0", f"shrinkage={self.shrinkage:g}\n"])

    def __eq__(self, other: object) -> bool:
        """Whether their text is the same, which holds every bit of what a row gets."""
        return isinstance(other, Tree) and self.text() == other.text()

    @property
    def depth(self) -> int:
        """The most splits above a leaf."""
        left, right = self.left_child.tolist(), self.right_child.tolist()
        below = [0] * (len(left) + len(self.leaf_value))
        for split in reversed(range(len(left))):
            below[split] = 1 + max(below[left[split]], below[right[split]])
        return below[0]

    def sums_below(self, leaf_numbers: NDArray[Any]) -> NDArray[Any]:
        """The sum of some numbers of the leaves below each split."""
        left, right = self.left_child.tolist(), self.right_child.tolist()
        below = [0] * len(left) + leaf_numbers.tolist()[::-1]  # a leaf ~child is at child, from the end
        for split in reversed(range(len(left))):
            below[split] = below[left[split]] + below[right[split]]
        return np.array(below[: len(left)], dtype=leaf_numbers.dtype)

    def with_leaf_values(self, values: Floats, learning_rate: float) -> "Tree":
        """The tree with other values at its leaves, and their means over rows at its splits."""
        means = self.sums_below(values * self.leaf_count) / self.internal_count
        return replace(self, leaf_value=values, internal_value=means, shrinkage=learning_rate)

    def scaled(self, factor: float) -> "Tree":
        """The tree whose leaves have their values times a factor."""
        return replace(
            self,
            leaf_value=factor * self.leaf_value,
            internal_value=factor * _as_written(self.internal_value),
            shrinkage=factor * _as_written(np.array([self.shrinkage])).item(),
        )

    def with_leaf_counts(self, counts: Integers) -> "Tree":
        """The tree with these numbers of rows in its leaves, and their sums at its splits."""
        return replace(self, leaf_count=counts, internal_count=self.sums_below(counts))

    def check(self, n_features: int) -> None:
        """A ValueError where LightGBM could be led out of its arrays, into a circle, or to what is not a number."""
        n, kinds = len(self.leaf_value), self.decision_type
        lengths = {name: n if name.startswith("leaf_") else n - 1 for name in FORMATS if name not in CATEGORICAL}
        if n < 1 or any(len(getattr(self, name)) != length for name, length in lengths.items()):
            raise ValueError(f"a tree does not have what {n} leaves need")
        for name in (*FORMATS, "shrinkage"):
            values, limit = getattr(self, name), 2**32 if name == "cat_threshold" else 2**31
            too_large = DTYPES.get(name) is np.int64 and ((values <= -limit) | (values >= limit)).any()
            if too_large or np.isnan(values).any():
                raise ValueError(f"{name} of a tree is too large, or not a number")
        if not ((self.split_feature >= 0) & (self.split_feature < n_features)).all():
            raise ValueError(f"a tree splits by a feature that is none of {n_features}")
        if ((kinds < 0) | (kinds >= 16) | (kinds & 12 == 12)).any():
            raise ValueError("a tree splits in an unknown way")
        if not np.isfinite(self.leaf_value).all():
            raise ValueError("a leaf of a tree has no finite value")
        if (self.leaf_count < 0).any() or (self.internal_count < 1).any():
            raise ValueError("a tree has a negative number of rows")
        self._check_children(n)
        self._check_categories()

    def _check_children(self, n_leaves: int) -> None:
        """Every split and leaf but the root has one parent, and a split comes after it."""
        children = np.concatenate([self.left_child, self.right_child])
        expected = [*range(-n_leaves, 0), *range(1, n_leaves - 1)] if n_leaves > 1 else []
        parents = np.tile(np.arange(n_leaves - 1), 2)
        if not np.array_equal(np.sort(children), expected) or ((children >= 0) & (children <= parents)).any():
            raise ValueError("the nodes of a tree are not connected")

    def _check_categories(self) -> None:
        """Splits by category lead to sets of categories, each of which has its part of `cat_threshold`."""
        bounds, chosen = self.cat_boundaries, self.threshold[self.decision_type & 1 == 1]
        if not len(bounds) and not len(chosen):
            return
        fits = len(chosen) > 0 and len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == len(self.cat_threshold)
        fits = fits and (np.diff(bounds) > 0).all() and (self.cat_threshold >= 0).all()
        if not (fits and np.isin(chosen, np.arange(len(bounds) - 1)).all()):
            raise ValueError("a tree splits by categories that it does not have")


def _as_written(values: Floats) -> Floats:
    """Numbers that `text` rounds as a tree has them that was read again, so that both give the same when scaled."""
    return np.array([float(f"{value:g}") for value in values.tolist()])


def constant_tree(value: float, n_rows: int) -> Tree:
    """A tree of one leaf."""
    known = {"leaf_value": [value], "leaf_weight": [0.0], "leaf_count": [n_rows]}
    arrays: Any = {name: np.array(known.get(name, []), dtype) for name, dtype in DTYPES.items()}
    return Tree(**arrays, shrinkage=1.0)


@dataclass(frozen=True)
class Forest:
    """Trees in the order they were grown, `outputs` of them a round, and what is known of the features."""

    trees: tuple[Tree, ...]
    outputs: int
    feature_infos: tuple[str, ...]
    """The range or the categories of each feature, as LightGBM writes them; "none" where a feature is not used."""

    @property
    def rounds(self) -> int:
        return len(self.trees) // self.outputs

    def first(self, rounds: int) -> "Forest":
        """The trees of the first rounds."""
        return Forest(self.trees[: rounds * self.outputs], self.outputs, self.feature_infos)

    def round(self, place: int) -> "Forest":
        """The trees of one round, counted from 0."""
        return Forest(self.trees[place * self.outputs : (place + 1) * self.outputs], self.outputs, self.feature_infos)

    @cached_property
    def _layout(self) -> Layout:
        return layout_of(self.trees, self.outputs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_layout"}

    def scores(self, features: Any, n_jobs: int | None = None) -> Floats:
        """The outputs of float32 or float64 rows, (N,) or (N, outputs): bit for bit what LightGBM predicts."""
        return scores_of(self._layout, features, n_jobs=n_jobs)

    @classmethod
    def weighted_sum(cls, forests: Sequence["Forest"], weights: Iterable[float]) -> "Forest":
        """The trees of all forests, whose outputs are the weighted sums of the outputs of each."""
        outputs = {forest.outputs for forest in forests}
        widths = {len(forest.feature_infos) for forest in forests}
        if len(outputs) != 1 or len(widths) != 1:
            raise ValueError(f"forests of {sorted(outputs)} outputs and {sorted(widths)} features cannot be added up")
        pairs = zip(forests, weights, strict=True)
        trees = tuple(tree.scaled(float(weight)) for forest, weight in pairs for tree in forest.trees)
        infos = map(_united_info, zip(*(forest.feature_infos for forest in forests), strict=True))
        return cls(trees, outputs.pop(), tuple(infos))

    def text(self, feature_names: Sequence[str] | None = None) -> str:
        """The model as LightGBM reads it; with names also as other readers of its models do, who need them and an
        objective. A model file has neither."""
        blocks = [f"Tree={number}\n{tree.text()}\n\n" for number, tree in enumerate(self.trees)]
        lines = {
            "version": "v4",
            "num_class": str(self.outputs),
            "num_tree_per_iteration": str(self.outputs),
            "label_index": "0",
            "max_feature_idx": str(len(self.feature_infos) - 1),
            **({"objective": "regression"} if feature_names is not None and self.outputs == 1 else {}),
            "feature_names": " ".join(f"Column_{column}" for column in range(len(self.feature_infos)))
            if feature_names is None
            else " ".join(lightgbm_names(feature_names)),
            "feature_infos": " ".join(self.feature_infos),
            "tree_sizes": " ".join(str(len(block)) for block in blocks),
        }
        header = "tree\n" + "".join(f"{name}={value}\n" for name, value in lines.items())
        return f"{header}\n{''.join(blocks)}end of trees\n\n"

    @classmethod
    def parse(cls, text: str, n_features: int, outputs: int) -> "Forest":
        """The trees of a text that `text` wrote, of so many features and outputs; a ValueError for any other."""
        infos, blocks = text_sections(text)
        if len(infos) != n_features or not all(map(_FEATURE_INFO.fullmatch, infos)):
            raise ValueError(f"it does not contain trees with {n_features} features")
        forest = cls(tuple(map(Tree.parse, blocks)), outputs, infos)
        if not blocks or len(blocks) % outputs or forest.text() != text:
            raise ValueError("it is not written as a model of trees is")
        for tree in forest.trees:
            tree.check(n_features)
        return forest


def lightgbm_names(names: Sequence[str]) -> list[str]:
    """Names that a model of LightGBM can have: without blanks and what JSON would have to escape, no two the same.

    >>> lightgbm_names(["title bm25", "price", "title:bm25"])
    ['title_bm25', 'price', 'title_bm25_2']
    """
    return distinct(re.sub(r'[\s\x00-\x1f",:\[\]{}\\]', "_", name) or "_" for name in names)


def distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number after one that was there before.

    >>> distinct(["price", "price_2", "price"])
    ['price', 'price_2', 'price_3']
    """
    found: dict[str, None] = {}
    for name in names:
        numbered = (name if count == 1 else f"{name}_{count}" for count in itertools.count(1))
        found[next(each for each in numbered if each not in found)] = None
    return list(found)


def _united_info(infos: Sequence[str]) -> str:
    """The range, or the categories, that hold all those of one feature in several forests."""
    known = sorted({info for info in infos if info != "none"})
    if len(known) < 2:
        return known[0] if known else "none"
    if len({info.startswith("[") for info in known}) > 1:
        raise ValueError(f"a feature has categories in one forest and a range in another: {', '.join(known)}")
    parts = [info.strip("[]").split(":") for info in known]
    if known[0].startswith("["):
        lows, highs = zip(*parts, strict=True)
        return f"[{min(lows, key=float)}:{max(highs, key=float)}]"
    return ":".join(sorted({category for part in parts for category in part}, key=int))


def text_sections(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The feature infos of LightGBM's text of a model, and the text of each tree."""
    header, _, rest = text.partition("\n\n")
    body, end, _ = rest.partition("end of trees")
    infos = [line.removeprefix("feature_infos=") for line in header.split("\n") if line.startswith("feature_infos=")]
    if not end or not infos:
        raise ValueError("it is not written as a model of trees is")
    return tuple(infos[0].split(" ")), [block for block in body.split("\n\n\n") if block.strip("\n")]
