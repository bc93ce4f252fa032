"""Trees as text, in LightGBM's own format: every number checked, so that no file can lead LightGBM astray."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luce.arrays import Floats, Integers

PER_SPLIT = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
PER_NODE = ("internal_value", "internal_weight", "internal_count")
CATEGORIES = ("cat_boundaries", "cat_threshold")
WHOLE = {"num_leaves", "num_cat", "split_feature", "decision_type", "left_child", "right_child", "is_linear"}
WHOLE |= {"leaf_count", "internal_count", *CATEGORIES}
LARGEST = dict.fromkeys(WHOLE, 2**31 - 1) | {"cat_threshold": 2**32 - 1}
CATEGORICAL, KINDS = 1, 16
"""Of decision_type: the bit of a split by category; all of its bits are below 16, of which 12 is no missing type."""

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)", re.ASCII)
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_INFO = re.compile(rf"none|\[{_NUMBER.pattern}:{_NUMBER.pattern}\]|-?\d+(?::-?\d+)*", re.ASCII)


@dataclass(frozen=True)
class Tree:
    """One tree: the values of its fields, as LightGBM writes them."""

    fields: dict[str, str]

    @classmethod
    def parse(cls, block: str) -> "Tree":
        """The tree of a block of lines name=value; only the names are looked at."""
        lines = [line.partition("=") for line in block.strip("\n").split("\n")]
        fields = {name: value for name, equals, value in lines if equals}
        fields.pop("Tree", None)
        names = [name for name in _names(fields.get("num_cat") != "0") if name in fields]
        if names != list(fields) or len(lines) != len(fields) + block.lstrip("\n").startswith("Tree="):
            raise ValueError("a tree has other fields than LightGBM's trees have")
        return cls(fields)

    def numbers(self, name: str) -> Floats:
        """The values of a field."""
        return np.array(self.fields[name].split(), dtype=np.float64)

    def integer(self, name: str) -> Integers:
        """The values of a field of integers."""
        return np.array(self.fields[name].split(), dtype=np.int64)

    @cached_property
    def values(self) -> Floats:
        """What a row gets, by its leaf."""
        return self.numbers("leaf_value")

    @property
    def depth(self) -> int:
        """The most splits above a leaf."""
        left, right = self.integer("left_child").tolist(), self.integer("right_child").tolist()
        below = [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # children come after their parent
            below[node] = 1 + max(below[child] if child >= 0 else 0 for child in (left[node], right[node]))
        return below[0] if below else 0

    def with_values(self, values: Floats, learning_rate: float) -> "Tree":
        """The tree with other values at its leaves, and their means by rows at its inner nodes."""
        means = " ".join(f"{mean:g}" for mean in self._means(values))
        leaves = " ".join(f"{value:.17g}" for value in values)
        changed = {"leaf_value": leaves, "internal_value": means, "shrinkage": f"{learning_rate:g}"}
        return Tree({**self.fields, **changed})

    def with_counts(self, counts: Integers) -> "Tree":
        """The tree with these numbers of rows at its leaves, and their sums at its inner nodes."""
        left, right, leaf = self.integer("left_child").tolist(), self.integer("right_child").tolist(), counts.tolist()
        inner = [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # children come after their parent
            inner[node] = sum(inner[child] if child >= 0 else leaf[~child] for child in (left[node], right[node]))
        changed = {"leaf_count": " ".join(map(str, leaf)), "internal_count": " ".join(map(str, inner))}
        return Tree({**self.fields, **changed})

    def _means(self, values: Floats) -> list[float]:
        left, right = self.integer("left_child").tolist(), self.integer("right_child").tolist()
        count, inner = self.numbers("leaf_count").tolist(), self.numbers("internal_count").tolist()
        means, leaf = [0.0] * len(left), values.tolist()
        for node in range(len(left) - 1, -1, -1):  # children come after their parent
            total = 0.0
            for child in (left[node], right[node]):
                total += means[child] * inner[child] if child >= 0 else leaf[~child] * count[~child]
            means[node] = total / inner[node]
        return means

    def check(self, n_features: int) -> None:
        """A ValueError where LightGBM could be led out of its arrays, into a circle, or to what is not a number."""
        names = _names(self.fields.get("num_cat") != "0")
        if list(self.fields) != names:
            raise ValueError("a tree lacks a field")
        for name in names:
            _check_numbers(name, self.fields[name])
        n, n_categorical = int(self.fields["num_leaves"]), int(self.fields["num_cat"])
        lengths = dict.fromkeys(PER_SPLIT + PER_NODE, n - 1) | dict.fromkeys(PER_LEAF, n)
        if n < 1 or any(len(self.fields[name].split()) != length for name, length in lengths.items()):
            raise ValueError(f"a tree does not have what {n} leaves need")
        if self.fields["is_linear"] != "0":
            raise ValueError("a tree has linear leaves")
        features, kinds = self.integer("split_feature"), self.integer("decision_type")
        if n > 1 and not (features.min() >= 0 and features.max() < n_features):
            raise ValueError(f"a tree splits by a feature that is none of {n_features}")
        if ((kinds < 0) | (kinds >= KINDS) | (kinds & 12 == 12)).any():
            raise ValueError("a tree splits in an unknown way")
        if not np.isfinite(self.values).all():
            raise ValueError("a leaf has no finite value")
        if (self.numbers("leaf_count") < 0).any() or (self.numbers("internal_count") < 1).any():
            raise ValueError("a tree tells of fewer rows than none")
        self._check_links(n)
        self._check_categories(kinds, n_categorical)

    def _check_links(self, n_leaves: int) -> None:
        """Every node and leaf but the root has one parent, and a node comes after it."""
        left, right = self.integer("left_child"), self.integer("right_child")
        children = np.concatenate([left, right])
        if not np.array_equal(
            np.sort(children), np.sort([*range(-n_leaves, 0), *range(1, n_leaves - 1)])[: 2 * len(left)]
        ):
            raise ValueError("the nodes of a tree do not hang together")
        parents = np.arange(len(left))
        if any(((side >= 0) & (side <= parents)).any() for side in (left, right)):
            raise ValueError("the nodes of a tree do not hang together")

    def _check_categories(self, kinds: Integers, n_categorical: int) -> None:
        thresholds = self.numbers("threshold")
        if np.isnan(thresholds).any():
            raise ValueError("a tree splits at what is not a number")
        by_category = kinds & CATEGORICAL == CATEGORICAL
        if by_category.any() != (n_categorical > 0) or n_categorical < 0:
            raise ValueError("a tree splits by categories that it does not have")
        if n_categorical:
            bounds, chosen = self.integer("cat_boundaries"), thresholds[by_category]
            fits = len(bounds) == n_categorical + 1 and bounds[0] == 0 and (np.diff(bounds) > 0).all()
            fits &= bounds[-1] == len(self.integer("cat_threshold")) and (self.integer("cat_threshold") >= 0).all()
            if not (fits and np.isin(chosen, np.arange(n_categorical)).all()):
                raise ValueError("a tree splits by categories that it does not have")


def _names(categorical: bool) -> list[str]:
    more = CATEGORIES if categorical else ()
    return ["num_leaves", "num_cat", *PER_SPLIT, *PER_LEAF, *PER_NODE, *more, "is_linear", "shrinkage"]


def _check_numbers(name: str, values: str) -> None:
    form = _INTEGER if name in WHOLE else _NUMBER
    parts = values.split(" ") if values else []
    if not all(len(part) < 40 and form.fullmatch(part) for part in parts):
        raise ValueError(f"{name} of a tree is not made of numbers")
    if name in WHOLE and any(abs(int(part)) > LARGEST[name] for part in parts):
        raise ValueError(f"{name} of a tree is too large")


def constant_tree(value: float, n_rows: int) -> Tree:
    """A tree of one leaf."""
    fields = dict.fromkeys(_names(False), "")
    known = {"num_leaves": "1", "num_cat": "0", "leaf_value": f"{value:.17g}", "leaf_weight": "0"}
    return Tree({**fields, **known, "leaf_count": str(n_rows), "is_linear": "0", "shrinkage": "1"})


@dataclass(frozen=True)
class Forest:
    """Trees in the order they were grown, `outputs` of them a round, and what is known of the features."""

    trees: tuple[Tree, ...]
    outputs: int
    infos: tuple[str, ...]
    """The range or the categories of each feature, as LightGBM writes them; "none" where a feature is not used."""

    @property
    def rounds(self) -> int:
        return len(self.trees) // self.outputs

    def first(self, rounds: int) -> "Forest":
        """The trees of the first rounds."""
        return Forest(self.trees[: rounds * self.outputs], self.outputs, self.infos)

    def text(self) -> str:
        """The model as LightGBM reads it."""
        blocks = [_block(number, tree) for number, tree in enumerate(self.trees)]
        lines = {
            "version": "v4",
            "num_class": str(self.outputs),
            "num_tree_per_iteration": str(self.outputs),
            "label_index": "0",
            "max_feature_idx": str(len(self.infos) - 1),
            "feature_names": " ".join(f"Column_{column}" for column in range(len(self.infos))),
            "feature_infos": " ".join(self.infos),
            "tree_sizes": " ".join(str(len(block)) for block in blocks),
        }
        header = "tree\n" + "".join(f"{name}={value}\n" for name, value in lines.items())
        return f"{header}\n{''.join(blocks)}end of trees\n\n"

    @classmethod
    def parse(cls, text: str, n_features: int, outputs: int) -> "Forest":
        """The trees of a text that `text` wrote, of so many features and outputs; a ValueError for any other."""
        header, _, rest = text.partition("\n\n")
        body, end, _ = rest.partition("end of trees")
        fields = dict(line.split("=", 1) for line in header.split("\n") if "=" in line)
        infos = tuple(fields.get("feature_infos", "").split(" "))
        if not end or len(infos) != n_features or not all(map(_INFO.fullmatch, infos)):
            raise ValueError(f"it does not hold trees of {n_features} features")
        trees = tuple(Tree.parse(block) for block in body.split("\n\n\n") if block)
        forest = cls(trees, outputs, infos)
        if not trees or len(trees) % outputs or forest.text() != text:
            raise ValueError("it is not written as a model of trees is")
        for tree in trees:
            tree.check(n_features)
        return forest


def _block(number: int, tree: Tree) -> str:
    lines = "".join(f"{name}={value}\n" for name, value in tree.fields.items())
    return f"Tree={number}\n{lines}\n\n"


def grown_trees(text: str) -> tuple[list[Tree], Sequence[str]]:
    """The trees and the feature infos of what LightGBM writes of one round."""
    header, _, rest = text.partition("\n\n")
    infos = next(line for line in header.split("\n") if line.startswith("feature_infos="))
    blocks = rest.partition("end of trees")[0].split("\n\n\n")
    return [Tree.parse(block) for block in blocks if block.strip("\n")], infos.partition("=")[2].split(" ")
