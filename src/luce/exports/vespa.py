"""Vespa: trees as LightGBM's JSON, in the reading of Vespa's importer."""

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.exports.decision_trees import decision_trees, next_above
from luce.exports.parts import feature_names
from luce.exports.record import Export, Rows, in_float64
from luce.exports.walking import float32, reached_leaves
from luce.scoring.forest import distinct

RANK_FEATURE = re.compile(r"[A-Za-z_]\w*(\([\w., ]*\))?(\.[A-Za-z_]\w*)*", re.ASCII)


def rank_features(ranker: Any) -> list[str]:
    """The names as Vespa's ranking expressions can hold them: functions or rank features."""
    return distinct(
        name if RANK_FEATURE.fullmatch(name) else "_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        for name in feature_names(ranker)
    )


def _write(ranker: Any, name: str) -> bytes:
    """LightGBM's JSON with thresholds for x < t, which is what the importer makes of x ≤ t."""
    trees = []
    for number, tree in enumerate(decision_trees(ranker, "vespa")):
        above = next_above(tree.threshold).tolist()

        def split(tree: Any, place: int, left: Any, right: Any, above: Any = above) -> dict[str, Any]:
            return {
                "split_index": place,
                "split_feature": int(tree.feature[place]),
                "threshold": above[place],
                "decision_type": "<=",
                "default_left": bool(tree.nan_left[place]),
                "missing_type": "NaN",
                "left_child": left,
                "right_child": right,
            }

        structure = tree.nested(split, lambda leaf, value: {"leaf_index": leaf, "leaf_value": value})
        counts = {"tree_index": number, "num_leaves": len(tree.value), "num_cat": 0, "shrinkage": 1}
        trees.append({**counts, "tree_structure": structure})
    names = rank_features(ranker)
    model = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": "regression",
        "feature_names": names,
        "feature_infos": {},
        "pandas_categorical": [],
        "tree_info": trees,
    }
    return json.dumps(model).encode()


def _sum(leaves: Floats) -> Floats:
    """Leaves in float32, their sum in float64."""
    return in_float64(leaves.astype(np.float32).astype(np.float64))


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores by the rule of Vespa: left where x < threshold, or where not x ≥ threshold if default_left, in
    float32; the leaves are float32 and their sum float64.

    It follows LightGBMParser.java (model-integration) and fast_forest.cpp (eval) of vespa-engine/vespa.
    """
    model = json.loads(content)

    def step(node: dict[str, Any], features: NDArray[Any]) -> Any:
        if "leaf_value" in node:
            return float(node["leaf_value"])
        x, threshold = features[:, node["split_feature"]], float32(node["threshold"])
        first = ~(x >= threshold) if node["default_left"] else x < threshold
        return first, node["left_child"], node["right_child"]

    return _sum(reached_leaves([tree["tree_structure"] for tree in model["tree_info"]], rows.features, step))


def _profile(ranker: Any, name: str) -> dict[str, str]:
    """A rank profile of a schema, with a function for each name that is none of Vespa's own features."""
    own = [each for each in rank_features(ranker) if re.fullmatch(r"\w+", each)]
    functions = "".join(
        f"        function {each}() {{\n            expression: attribute({each})\n        }}\n" for each in own
    )
    profile = re.sub(r"\W", "_", name, flags=re.ASCII)
    file = json.dumps(f"{name}.json", ensure_ascii=False)
    text = (
        f"    rank-profile {profile} inherits default {{\n{functions}"
        f"        first-phase {{\n            expression: nativeRank\n        }}\n"
        f"        second-phase {{\n            expression: lightgbm({file})\n        }}\n    }}\n"
    )
    return {".profile": text}


VESPA = Export(
    "vespa",
    "Vespa, imported as a LightGBM model",
    ".json",
    ("trees", "ensemble"),
    _write,
    _oracle,
    _sum,
    companions=_profile,
)
