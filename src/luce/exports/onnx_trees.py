"""Trees as the ONNX operator TreeEnsemble, in float64, with the decisions of LightGBM.

LightGBM takes a value of at most 1e-35 for zero, a missing one for zero or for a side of its own, and truncates
categories (tree.h: NumericalDecision, CategoricalDecision; c_api.cpp: RowPairFunctionFromDenseMatric).
"""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.exports.decision_trees import ZERO
from luce.exports.onnx_graph import Graph, onnx
from luce.scoring.forest import Forest, Tree

AT_MOST, AMONG = 0, 6
"""Modes of a node of TreeEnsemble: a row goes left where its value is at most the split, or a member of the set."""
SUM, NO_TRANSFORM = 1, 0
NONE, ZEROS = 0, 1
"""What counts as missing in LightGBM; 2 is NaN."""


def forest_outputs(graph: Graph, x: str, forest: Forest) -> str:
    """The sums of the trees, float64 (n, outputs), for features float32 (n, F)."""
    x = graph.cast(x, np.float64)
    columns = _Columns.of(forest)
    nodes: dict[str, list[Any]] = defaultdict(list)
    n_nodes = n_leaves = 0
    roots = []
    for tree in forest.trees:
        roots.append(n_nodes)
        parts = _nodes(tree, columns, n_nodes, n_leaves)
        for name, part in parts.items():
            nodes[name].append(part)
        n_nodes, n_leaves = n_nodes + len(parts["nodes_splits"]), n_leaves + len(tree.leaf_value)
    targets = np.repeat(np.arange(len(forest.trees)) % forest.outputs, [len(tree.leaf_value) for tree in forest.trees])
    outputs = graph.add(
        "TreeEnsemble",
        columns.added_to(graph, x),
        domain="ai.onnx.ml",
        n_targets=forest.outputs,
        aggregate_function=SUM,
        post_transform=NO_TRANSFORM,
        tree_roots=roots,
        leaf_targetids=targets,
        **_attributes(nodes),
    )
    return str(outputs)


class _Columns(NamedTuple):
    """Columns after the features of the trees: some of them again, as splits by zeros or by categories see them."""

    width: int
    zeros: Integers
    categories: Integers

    @classmethod
    def of(cls, forest: Forest) -> "_Columns":
        """Those that a forest needs."""
        features = np.concatenate([tree.split_feature for tree in forest.trees])
        kinds = np.concatenate([tree.decision_type for tree in forest.trees])
        by_category = kinds & 1 == 1
        zeros = ~by_category & (kinds >> 2 & 3 == ZEROS)
        return cls(len(forest.feature_infos), np.unique(features[zeros]), np.unique(features[by_category]))

    def seen(self, tree: Tree) -> Integers:
        """The column that each split of a tree looks at."""
        kinds, features = tree.decision_type, tree.split_feature
        category = self.width + len(self.zeros) + np.searchsorted(self.categories, features)
        zero = self.width + np.searchsorted(self.zeros, features)
        number = np.where(kinds >> 2 & 3 == ZEROS, zero, features)
        return np.where(kinds & 1 == 1, category, number)

    def added_to(self, graph: Graph, x: str) -> str:
        """The features, zeros as missing, and categories truncated."""
        parts = [x]
        if len(self.zeros):
            some = graph.take(x, self.zeros)
            small = graph.add("LessOrEqual", graph.add("Abs", some), ZERO)
            parts.append(graph.add("Where", small, np.float64(np.nan), some))
        if len(self.categories):
            some = graph.take(x, self.categories)
            up, down = graph.add("Ceil", some), graph.add("Floor", some)
            parts.append(graph.add("Where", graph.add("Less", some, np.float64(0)), up, down))
        return str(graph.add("Concat", *parts, axis=1) if len(parts) > 1 else x)


def _nodes(tree: Tree, columns: _Columns, first: int, first_leaf: int) -> dict[str, NDArray[Any]]:
    """The arrays of one tree, whose splits and leaves are numbered from these numbers on."""
    by_category, missing = tree.decision_type & 1 == 1, tree.decision_type >> 2 & 3
    zero_goes_left, default_left = tree.threshold >= 0.0, tree.decision_type & 2 == 2
    leaves = {"leaf_weights": tree.leaf_value}
    if not len(tree.split_feature):  # a node with the same leaf on both sides
        one = {name: np.array([value]) for name, value in CONSTANT.items()}
        return leaves | one | {f"nodes_{side}nodeids": np.array([first_leaf]) for side in ("true", "false")}
    return leaves | {
        "nodes_featureids": columns.seen(tree),
        "nodes_splits": np.where(by_category, 0.0, _beyond_zeros(tree.threshold)),
        "nodes_modes": np.where(by_category, AMONG, AT_MOST),
        "nodes_missing_value_tracks_true": ~by_category & np.where(missing == NONE, zero_goes_left, default_left),
        "membership_values": _members(tree),
        "nodes_trueleafs": tree.left_child < 0,
        "nodes_falseleafs": tree.right_child < 0,
        "nodes_truenodeids": _places(tree.left_child, first, first_leaf),
        "nodes_falsenodeids": _places(tree.right_child, first, first_leaf),
    }


CONSTANT = {
    "nodes_featureids": 0,
    "nodes_splits": 0.0,
    "nodes_modes": AT_MOST,
    "nodes_missing_value_tracks_true": 0,
    "nodes_trueleafs": 1,
    "nodes_falseleafs": 1,
}


def _beyond_zeros(threshold: Floats) -> Floats:
    """Thresholds moved so that every value that LightGBM takes for zero is on the side of zero."""
    moved = np.where(threshold >= 0, ZERO, np.nextafter(-ZERO, -np.inf))
    return np.where(np.abs(threshold) <= ZERO, moved, threshold)


def _places(children: Integers, first: int, first_leaf: int) -> Integers:
    return np.where(children < 0, first_leaf + ~children, first + children)


def _members(tree: Tree) -> Floats:
    """The categories that go left at each split by category, each set followed by NaN."""
    values: list[float] = []
    for number in tree.threshold[tree.decision_type & 1 == 1].astype(int):
        words = tree.cat_threshold[tree.cat_boundaries[number] : tree.cat_boundaries[number + 1]]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        values += [*np.flatnonzero(bits).tolist(), np.nan]
    return np.array(values, dtype=np.float64)


TYPES = {
    "nodes_splits": np.float64,
    "leaf_weights": np.float64,
    "membership_values": np.float64,
    "nodes_modes": np.uint8,
}
"""The attributes of TreeEnsemble that are tensors; the others are lists of integers."""


def _attributes(nodes: dict[str, list[Any]]) -> dict[str, Any]:
    """The arrays of all trees as attributes; sets only where there are some."""
    arrays = {name: np.concatenate(parts) for name, parts in nodes.items()}
    if not len(arrays.get("membership_values", ())):
        arrays.pop("membership_values", None)
    return {
        name: onnx().numpy_helper.from_array(array.astype(TYPES[name]), name)
        if name in TYPES
        else array.astype(np.int64).tolist()
        for name, array in arrays.items()
    }
