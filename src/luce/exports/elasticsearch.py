"""The Learning to Rank plugins of Elasticsearch and OpenSearch: trees as XGBoost dumps them, and linear models."""

import json
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.exports.decision_trees import decision_trees, next_above
from luce.exports.linear_form import linear_of, standardized
from luce.exports.parts import feature_names, parts_of
from luce.exports.record import Export, Rows, in_float32
from luce.exports.walking import float32, reached_leaves


def _write(ranker: Any, name: str, format_name: str) -> bytes:
    """The body of POST _ltr/_featureset/NAME/_createmodel."""
    linear = all(part.kind == "linear" for part in parts_of(ranker))
    model = _linear(ranker, format_name) if linear else _trees(ranker, format_name)
    return json.dumps({"model": {"name": name, "model": model}}, indent=1).encode()


def _trees(ranker: Any, format_name: str) -> dict[str, Any]:
    names = feature_names(ranker)
    splits = []
    for tree in decision_trees(ranker, format_name):
        numbers, above = count(), next_above(tree.threshold).tolist()

        def leaf(_: int, value: float, numbers: Any = numbers) -> dict[str, Any]:
            return {"nodeid": next(numbers), "leaf": float(np.float32(value))}

        def split(
            tree: Any, place: int, left: Any, right: Any, numbers: Any = numbers, above: Any = above
        ) -> dict[str, Any]:
            yes, no = left["nodeid"], right["nodeid"]
            return {
                "nodeid": next(numbers),
                "depth": 0,
                "split": names[tree.feature[place]],
                "split_condition": above[place],
                "yes": yes,
                "no": no,
                "missing": yes if tree.nan_left[place] else no,
                "children": [left, right],
            }

        splits.append(_numbered(tree.nested(split, leaf)))
    return {"type": "model/xgboost+json", "definition": json.dumps({"objective": "rank:ndcg", "splits": splits})}


def _numbered(root: dict[str, Any]) -> dict[str, Any]:
    """The depth of each split, the root having 0."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if "split" in node:
            node["depth"] = depth
            waiting += [(child, depth + 1) for child in node["children"]]
    return root


def _linear(ranker: Any, format_name: str) -> dict[str, Any]:
    (names, mean, scale), weights = linear_of(ranker, format_name)
    changed = {
        name: {"standard": {"mean": m, "standard_deviation": s}}
        for name, m, s in zip(names, mean.tolist(), scale.tolist(), strict=True)
        if (m, s) != (0, 1)
    }
    definition = json.dumps(dict(zip(names, weights.tolist(), strict=True)))
    return {"type": "model/linear", "definition": definition} | ({"feature_normalizers": changed} if changed else {})


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores by the rule of the plugins, in float32: left where threshold > x, a missing value to its node; linear
    models add up weight · normalized feature, and take 0 for what is missing.

    It follows NaiveAdditiveDecisionTree.java, XGBoostJsonParser.java, LinearRanker.java and
    StandardFeatureNormalizer.java of o19s/elasticsearch-learning-to-rank, which score as those of the same names in
    opensearch-project/opensearch-learning-to-rank-base (there from version 3.3 on).
    """
    model = json.loads(content)["model"]["model"]
    definition = json.loads(model["definition"])
    if model["type"] == "model/linear":
        return _linear_scores(definition, model.get("feature_normalizers", {}), rows)

    def step(node: dict[str, Any], features: NDArray[Any]) -> Any:
        if "leaf" in node:
            return float(np.float32(node["leaf"]))
        x, (left, right) = features[:, rows.column(node["split"])], node["children"]
        return np.where(np.isnan(x), node["missing"] == node["yes"], float32(node["split_condition"]) > x), left, right

    return in_float32(reached_leaves(definition["splits"], rows.features, step))


def _linear_scores(weights: dict[str, float], normalizers: dict[str, Any], rows: Rows) -> Floats:
    given = [normalizers.get(name, {}).get("standard", {}) for name in rows.names]
    mean = np.array([each.get("mean", 0.0) for each in given])
    scale = np.array([each.get("standard_deviation", 1.0) for each in given])
    factors = np.array([weights.get(name, 0.0) for name in rows.names])
    return in_float32(standardized(rows.features, mean, scale) * factors.astype(np.float32))


def _feature_set(ranker: Any, name: str) -> dict[str, str]:
    """A body of PUT _ltr/_featureset/NAME with a query for each feature."""
    linear = all(part.kind == "linear" for part in parts_of(ranker))
    features = [
        {
            "name": each,
            "params": ["keywords"],
            "template_language": "mustache",
            "template": {"match": {f"FIELD OF {each}": "{{keywords}}"}},
        }
        for each in feature_names(ranker, one_hot=linear)
    ]
    return {".featureset.json": json.dumps({"featureset": {"features": features}}, indent=1, ensure_ascii=False)}


ELASTICSEARCH, OPENSEARCH = (
    Export(
        name,
        f"Learning to Rank plugin of {engine}",
        ".json",
        ("linear", "trees", "ensemble"),
        partial(_write, format_name=name),
        _oracle,
        in_float32,
        companions=_feature_set,
    )
    for name, engine in (("elasticsearch", "Elasticsearch"), ("opensearch", "OpenSearch"))
)
