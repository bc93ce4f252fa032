"""Learning to rank as Elasticsearch itself has it: a trained model of trees in the JSON that eland writes too."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.exports.decision_trees import DecisionTree, at_most, decision_trees
from luce.exports.parts import feature_names
from luce.exports.record import Export, Rows
from luce.exports.walking import reached_leaves

NAME = "elasticsearch-native"


def _write(ranker: Any, name: str) -> bytes:
    """The body of PUT _ml/trained_models/NAME, but for its inference_config."""
    names = feature_names(ranker)
    common = {"feature_names": names, "target_type": "regression"}
    trees = [{"tree": {**common, "tree_structure": _nodes(tree)}} for tree in decision_trees(ranker, NAME)]
    ensemble = {
        **common,
        "trained_models": trees,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(trees)}},
    }
    body = {
        "input": {"field_names": names},
        "definition": {"preprocessors": [], "trained_model": {"ensemble": ensemble}},
    }
    return json.dumps(body).encode()


def _nodes(tree: DecisionTree) -> list[dict[str, Any]]:
    """The splits, which keep their numbers, and after them the leaves."""
    n, thresholds = len(tree.feature), at_most(tree.threshold).tolist()

    def place(child: int) -> int:
        return int(child) if child >= 0 else n + ~int(child)

    splits = [
        {
            "node_index": number,
            "decision_type": "lte",
            "left_child": place(tree.left[number]),
            "right_child": place(tree.right[number]),
            "split_feature": int(tree.feature[number]),
            "threshold": thresholds[number],
            "default_left": bool(tree.nan_left[number]),
        }
        for number in range(n)
    ]
    return splits + [{"node_index": n + leaf, "leaf_value": value} for leaf, value in enumerate(tree.value.tolist())]


def _sum(leaves: Floats) -> Floats:
    """A sum in float64, and the score of a document in float32."""
    return np.add.accumulate(leaves, axis=1)[:, -1].astype(np.float32).astype(np.float64)


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores by the rule of Elasticsearch: left where x ≤ threshold, a missing value by default_left, all in
    float64 until a document gets its score.

    It follows InnerNode.compare in TreeInferenceModel.java and LearningToRankRescorer.java of elastic/elasticsearch.
    """
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    trees = [each["tree"]["tree_structure"] for each in ensemble["trained_models"]]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]

    def step(place: tuple[list[dict[str, Any]], int], features: NDArray[Any]) -> Any:
        nodes, number = place
        node = nodes[number]
        if "leaf_value" in node:
            return float(node["leaf_value"])
        x = features[:, rows.column(ensemble["feature_names"][node["split_feature"]])].astype(np.float64)
        first = np.where(np.isfinite(x), x <= node["threshold"], node["default_left"])
        return first, (nodes, node["left_child"]), (nodes, node["right_child"])

    return _sum(reached_leaves([(tree, 0) for tree in trees], rows.features, step) * weights)


def _inference_config(ranker: Any, name: str) -> dict[str, str]:
    """The query of each feature, to be merged into the body."""
    extractors = [
        {"query_extractor": {"feature_name": each, "query": {"match": {f"FIELD OF {each}": "{{query}}"}}}}
        for each in feature_names(ranker)
    ]
    config = {"inference_config": {"learning_to_rank": {"feature_extractors": extractors}}}
    return {".inference_config.json": json.dumps(config, indent=1, ensure_ascii=False)}


ELASTICSEARCH_NATIVE = Export(
    NAME,
    "learning to rank of Elasticsearch itself",
    ".json",
    ("trees", "ensemble"),
    _write,
    _oracle,
    _sum,
    companions=_inference_config,
)
