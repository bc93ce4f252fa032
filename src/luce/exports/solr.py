"""Solr: MultipleAdditiveTreesModel, LinearModel and NeuralNetworkModel of its learning to rank module."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.exports.decision_trees import ZERO, DecisionTree, at_most, decision_trees
from luce.exports.linear_form import linear_of, scaling_of, standardized
from luce.exports.network_form import layers_of
from luce.exports.parts import TO_ONNX, feature_names, parts_of, refused
from luce.exports.record import Export, Rows, in_float32
from luce.exports.walking import float32, reached_leaves

SLACK = np.float32(1e-6)
"""What Solr adds to a threshold."""
AROUND_ZERO = np.array([ZERO, -np.nextafter(np.float32(ZERO), np.float32(1))], dtype=np.float32)
"""The thresholds that stand for zero: they have it on their left, and on their right."""
ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: np.where(x < 0, np.float32(0), x),
    "tanh": lambda x: np.tanh(x.astype(np.float64)).astype(np.float32),
    "sigmoid": lambda x: (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32),
}
"""Solr also has leakyrelu, and Luce does not."""
CLASSES = {"trees": "MultipleAdditiveTreesModel", "linear": "LinearModel", "neural": "NeuralNetworkModel"}


def _write(ranker: Any, name: str) -> bytes:
    """The body of PUT …/schema/model-store."""
    kinds = {part.kind for part in parts_of(ranker)}
    if len(kinds) > 1:
        raise refused("solr", f"its scores are a sum of different models ({' and '.join(sorted(kinds))})", TO_ONNX)
    kind = kinds.pop()
    features, params = WRITERS[kind](ranker)
    model = {"store": name, "name": name, "class": f"org.apache.solr.ltr.model.{CLASSES[kind]}"}
    return json.dumps(model | {"features": features, "params": params}).encode()


def _scaled(names: list[str], mean: Floats, scale: Floats) -> list[dict[str, Any]]:
    """The features, with a normalizer where one changes something."""
    norms = [
        {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": {"avg": repr(m), "std": repr(s)}}}
        if (m, s) != (0, 1)
        else {}
        for m, s in zip(mean.tolist(), scale.tolist(), strict=True)
    ]
    return [{"name": name} | norm for name, norm in zip(names, norms, strict=True)]


def _linear(ranker: Any) -> tuple[Any, Any]:
    scaling, weights = linear_of(ranker, "solr")
    return _scaled(*scaling), {"weights": dict(zip(scaling.names, weights.tolist(), strict=True))}


def _network(ranker: Any) -> tuple[Any, Any]:
    layers = layers_of(ranker, "solr", tuple(ACTIVATIONS))
    forms = [
        {"matrix": layer.matrix.tolist(), "bias": layer.bias.tolist(), "activation": layer.activation}
        for layer in layers
    ]
    return _scaled(*scaling_of(parts_of(ranker)[0], "solr")), {"layers": forms}


def _trees(ranker: Any) -> tuple[Any, Any]:
    """Features times a power of two where thresholds are so small that the slack would hide them; that is exact."""
    trees, names = decision_trees(ranker, "solr"), feature_names(ranker)
    factors = _factors(trees, names)
    features = _scaled(names, np.zeros(len(names)), 1 / factors)
    forms = []
    for tree in trees:
        thresholds = _before_slack(tree.threshold * factors[tree.feature].astype(np.float32)).tolist()

        def split(tree: Any, place: int, left: Any, right: Any, thresholds: Any = thresholds) -> dict[str, Any]:
            node = {"feature": names[tree.feature[place]], "threshold": repr(thresholds[place])}
            return node | {"missing": "left" if tree.nan_left[place] else "right", "left": left, "right": right}

        root = tree.nested(split, lambda _, value: {"value": repr(float(np.float32(value)))})
        forms.append({"weight": "1", "root": root})
    return features, {"isNullSameAsZero": False, "trees": forms}


def _factors(trees: list[DecisionTree], names: list[str]) -> Floats:
    """A power of two for each feature by which its thresholds come out of the slack as they are."""
    factors = np.ones(len(names))
    columns = np.concatenate([tree.feature for tree in trees])
    thresholds = np.concatenate([tree.threshold for tree in trees])
    for column in np.unique(columns):
        used = np.unique(thresholds[(columns == column) & np.isfinite(thresholds)])
        found = _factor(used)
        if found is None:
            sizes = np.abs(used[used != 0])
            raise refused(
                "solr",
                f"the thresholds of {names[column]!r} are from {sizes.min():g} to {sizes.max():g}, and Solr adds 1e-6 "
                "to them",
                "Train with the feature on another scale.",
            )
        factors[column] = found
    return factors


def _factor(thresholds: NDArray[np.float32]) -> float | None:
    """The least power of two by which all these thresholds come out of the slack; None where there is none.

    One that brings them to 64 or more always does. Where thresholds of other sizes leave none for LightGBM's ±1e-35,
    the largest that serves the others: then zero is on its side, and only numbers next to 1e-35 are not.
    """
    others = thresholds[~np.isin(thresholds, AROUND_ZERO)]
    for needed, powers in ((thresholds, range(127)), (others, range(126, -1, -1))):
        for power in powers:
            with np.errstate(over="ignore"):
                scaled = needed * np.float32(2.0**power)
            if np.isfinite(scaled).all() and np.array_equal(_before_slack(scaled).astype(np.float32) + SLACK, scaled):
                return 2.0**power
    return None


def _before_slack(thresholds: NDArray[np.float32]) -> Floats:
    """The largest numbers that become these thresholds, or less, when Solr has added its slack in float32."""
    with np.errstate(over="ignore"):
        near = thresholds - SLACK
        numbers = np.stack([np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))])
        largest = np.where(numbers + SLACK <= thresholds, numbers, np.float32(-np.inf)).max(axis=0)
    return at_most(largest)


WRITERS = {"trees": _trees, "linear": _linear, "neural": _network}


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores by the rule of Solr, in float32: left where x ≤ threshold + 1e-6, a missing value to its side;
    features are normalized before, and for linear models and networks 0 where missing.

    It follows MultipleAdditiveTreesModel.java (since 9.2), LinearModel.java, NeuralNetworkModel.java and
    StandardNormalizer.java of apache/solr.
    """
    model = json.loads(content)
    params, features = model["params"], rows.features[:, [rows.column(each["name"]) for each in model["features"]]]
    norms = [each.get("norm", {}).get("params", {"avg": 0, "std": 1}) for each in model["features"]]
    mean, scale = (np.array([float32(norm[name]) for norm in norms]) for name in ("avg", "std"))
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(np.isnan(features), features, (features - mean) / scale)
        if "trees" in params:
            return _tree_scores(model, values)
        values = standardized(features, mean, scale)
        if "weights" in params:
            weights = np.array([float32(params["weights"][each["name"]]) for each in model["features"]])
            return in_float32(values * weights)
        for layer in params["layers"]:
            matrix, bias = (np.array(layer[name], dtype=np.float32) for name in ("matrix", "bias"))
            outputs = np.repeat(bias[None], len(values), axis=0)
            for column in range(matrix.shape[1]):
                outputs += matrix[:, column] * values[:, column, None]
            values = ACTIVATIONS[layer["activation"]](outputs)
    return values[:, 0].astype(np.float64)


def _tree_scores(model: dict[str, Any], features: NDArray[Any]) -> Floats:
    columns = {each["name"]: place for place, each in enumerate(model["features"])}
    null_is_zero = model["params"].get("isNullSameAsZero", True)
    features = np.where(np.isnan(features) & null_is_zero, np.float32(0), features)

    def step(node: dict[str, Any], features: NDArray[Any]) -> Any:
        if "feature" not in node:
            return float(float32(node["value"]))
        x, threshold = features[:, columns[node["feature"]]], float32(node["threshold"]) + SLACK
        return np.where(np.isnan(x), node.get("missing") == "left", x <= threshold), node["left"], node["right"]

    trees = model["params"]["trees"]
    weights = np.array([float32(tree["weight"]) for tree in trees])
    return in_float32(reached_leaves([tree["root"] for tree in trees], features, step).astype(np.float32) * weights)


def _feature_store(ranker: Any, name: str) -> dict[str, str]:
    """A body of PUT …/schema/feature-store; trees are to see what is missing as NaN."""
    trees = all(part.kind == "trees" for part in parts_of(ranker))
    features = [
        {
            "store": name,
            "name": each,
            "class": "org.apache.solr.ltr.feature.FieldValueFeature",
            "params": {"field": f"FIELD OF {each}"} | ({"defaultValue": "NaN"} if trees else {}),
        }
        for each in feature_names(ranker, one_hot=not trees)
    ]
    return {".features.json": json.dumps(features, indent=1, ensure_ascii=False)}


SOLR = Export(
    "solr",
    "the learning to rank module of Solr",
    ".json",
    ("linear", "trees", "neural", "ensemble"),
    _write,
    _oracle,
    in_float32,
    companions=_feature_store,
)
