"""LightGBM's text with objective and names, which its other readers want, and treelite's model of it."""

from dataclasses import replace
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import load_package
from luce.exports.decision_trees import ZERO, DecisionTree, at_most, decision_trees
from luce.exports.parts import check_one_score, feature_names, only_part, parts_of, refuse_transforms, refused
from luce.exports.record import Export, Rows
from luce.rankers.trees.lightgbm_package import forest_booster
from luce.scoring.forest import Forest, Tree


def _forest(ranker: Any, format_name: str) -> Forest:
    """The trees as one forest that says where missing values go, and has no thresholds within LightGBM's zero, which
    other readers do not know of; one that splits by category as it is."""
    only_part(ranker, "trees", format_name)
    parts = parts_of(ranker)
    if any((tree.decision_type & 1).any() for part in parts for tree in part.model.trees):
        for part in parts:
            check_one_score(part, format_name)
            refuse_transforms(part.transforms, (), format_name)
        return Forest.weighted_sum([part.model for part in parts], [part.weight for part in parts])
    infos = (
        ("none",) * ranker.n_features_in_ if any(part.transforms for part in parts) else parts[0].model.feature_infos
    )
    given = (tree for part in parts for tree in part.model.trees)
    return Forest(tuple(map(_explicit, given, decision_trees(ranker, format_name))), 1, infos)


def _explicit(tree: Tree, decision: DecisionTree) -> Tree:
    return replace(
        tree,
        split_feature=decision.feature,
        threshold=at_most(decision.threshold),
        decision_type=8 + 2 * decision.nan_left,
        leaf_value=decision.value,
    )


def _write(ranker: Any, name: str) -> bytes:
    """The text with the line at its end that LightGBM's Python package writes, without which lleaves refuses it."""
    forest = _forest(ranker, "lightgbm")
    thresholds = np.concatenate([tree.threshold for tree in forest.trees])
    transformed = any(part.transforms for part in parts_of(ranker))  # only then can there be others
    if transformed and ((thresholds >= -ZERO) & (thresholds < ZERO)).any():
        raise refused(
            "lightgbm",
            "it splits a feature within 1e-35 of 0, and LightGBM takes all that is so near for 0",
            "Train with the feature on another scale, or use --to treelite or onnx.",
        )
    return f"{forest.text(feature_names(ranker))}\npandas_categorical:[]\n".encode()


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores of LightGBM itself (Tree::NumericalDecision in tree.h of microsoft/LightGBM)."""
    booster = load_package("lightgbm", "trees").Booster(model_str=content.decode())
    return np.asarray(booster.predict(rows.features, raw_score=True, num_threads=1))


LIGHTGBM = Export(
    "lightgbm", "LightGBM, and what reads its models", ".txt", ("trees", "ensemble"), _write, _oracle, one_hot=False
)


def _write_treelite(ranker: Any, name: str) -> bytes:
    """A model in treelite's binary format, which `treelite.Model.deserialize` reads."""
    treelite = load_package("treelite", "treelite")
    booster = forest_booster(_forest(ranker, "treelite"), feature_names(ranker))
    return bytes(treelite.frontend.from_lightgbm(booster).serialize_bytes())


def _treelite_oracle(content: bytes, rows: Rows) -> Floats:
    """The scores of treelite's own reference, `gtil`, for features in float64, the type of the thresholds."""
    treelite = load_package("treelite", "treelite")
    model = treelite.Model.deserialize_bytes(content)
    return np.asarray(
        treelite.gtil.predict(model, rows.features.astype(np.float64), nthread=1), dtype=np.float64
    ).ravel()


TREELITE = Export(
    "treelite",
    "treelite, for tl2cgen, GTIL and FIL",
    ".tl",
    ("trees", "ensemble"),
    _write_treelite,
    _treelite_oracle,
    one_hot=False,
)
