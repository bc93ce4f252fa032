"""Every kind of ranker as one ONNX model, its transforms and categories inside."""

import json
from importlib.metadata import version
from typing import Any

import numpy as np

from luce.exports.onnx_graph import Graph
from luce.exports.onnx_transforms import transformed
from luce.exports.onnx_trees import forest_outputs
from luce.exports.parts import Part, feature_names, parts_of, refused
from luce.objectives.pointwise import expected_grade

ONE_LIST = "the rows of one call are one list"
EACH_ROW = "each row is scored on its own"


def onnx_model(ranker: Any) -> Any:
    """A fitted ranker as an ONNX model.

    Its inputs are `features`, float32 (n, F), NaN where missing, and where some features are categories `categories`,
    strings (n, C), empty where missing; both in the order of the training data. Its output is `scores`, float64 (n,).
    A label ranker also has the input `k`, int64 (1,), and its outputs are `labels`, int64, and `scores`, float32, both
    (n, k).

    Parameters
    ----------
    ranker : Ranker or LabelRanker
        Any of RANKERS, except a NeuralRanker with a `module` of its own.

    Returns
    -------
    onnx.ModelProto
        Of opset 20, and 5 of ai.onnx.ml, which ONNX Runtime has from version 1.21 on.

    Raises
    ------
    OptionError
        If ONNX cannot express the ranker.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
    >>> [each.name for each in onnx_model(luce.LinearRanker().fit(data)).graph.output]
    ['scores']
    """
    graph = Graph()
    features = _inputs(graph, ranker)
    facts = _facts(ranker)
    if ranker.kind == "labels":
        outputs = _top_labels(graph, features, ranker)
    else:
        outputs = {"scores": (_scores(graph, features, ranker), np.float64, ["n"])}
    words = (
        f"A {type(ranker).__name__} of Luce with the objective {facts['objective']}. {facts['rows'].capitalize()}. "
        "The metadata feature_names and category_names have the columns of the inputs features and categories in order."
    )
    return graph.model(outputs, words, facts)


def _facts(ranker: Any) -> dict[str, str]:
    """What a service should know; names as JSON."""
    pairs = list(zip(feature_names(ranker), _categories(ranker), strict=True))
    return {
        "luce_version": version("luce"),
        "kind": ranker.kind,
        "objective": str(ranker.get_objective()),
        "feature_names": json.dumps([name for name, values in pairs if values is None]),
        "category_names": json.dumps([name for name, values in pairs if values is not None]),
        "rows": ONE_LIST if ranker.kind != "labels" and ranker.list_context else EACH_ROW,
    }


def _categories(ranker: Any) -> tuple[Any, ...]:
    return ranker.categories_ or (None,) * ranker.n_features_in_


def _inputs(graph: Graph, ranker: Any) -> str:
    """The features, float32 (n, F), with the categories as numbers, from the inputs of the graph."""
    categories = _categories(ranker)
    numbers = [column for column, values in enumerate(categories) if values is None]
    coded = [column for column, values in enumerate(categories) if values is not None]
    parts = [graph.input("features", np.float32, ["n", len(numbers)])] if numbers else []
    if not coded:
        return parts[0]
    texts = graph.input("categories", np.str_, ["n", len(coded)])
    for place, column in enumerate(coded):
        values = categories[column]
        codes = {"keys_strings": values, "values_floats": np.arange(len(values), dtype=np.float32).tolist()}
        text = graph.take(texts, [place])
        parts.append(graph.add("LabelEncoder", text, domain="ai.onnx.ml", default_float=np.nan, **codes))
    return graph.take(graph.add("Concat", *parts, axis=1), np.argsort([*numbers, *coded]))


def _scores(graph: Graph, features: str, ranker: Any) -> str:
    """The weighted sum of the scores of the parts, float64 (n,)."""
    total = ""
    for part in parts_of(ranker):
        scores = _part_scores(graph, features, part)
        if part.weight != 1:
            scores = graph.add("Mul", scores, np.float64(part.weight))
        total = graph.add("Add", total, scores) if total else scores
    return total


def _part_scores(graph: Graph, features: str, part: Part) -> str:
    """The scores of one part, float64 (n,)."""
    objective = part.ranker.get_objective()
    outputs = OUTPUTS[part.kind](graph, transformed(graph, features, part.transforms), part)
    if objective.ranking_score is expected_grade:
        grades = np.arange(int(part.ranker.max_grade_) + 1, dtype=np.float64)[:, None]
        outputs = graph.add("MatMul", graph.add("Softmax", outputs, axis=1), grades)
    elif objective.ranking_score is not None:
        reason = f"{objective.name} has a formula of its own that makes one score of several"
        raise refused("onnx", reason, "Use an objective with a single score per row, or mcrank.")
    return str(graph.add("Squeeze", outputs, np.array([1])))


def _forest(graph: Graph, x: str, part: Part) -> str:
    return forest_outputs(graph, x, part.model)


def _linear(graph: Graph, x: str, part: Part) -> str:
    weights, intercept = part.model.weights, part.model.intercept
    outputs = graph.add("MatMul", graph.cast(x, np.float64), weights.reshape(len(weights), -1))
    return str(graph.add("Add", outputs, intercept) if intercept.size else outputs)


def _network(graph: Graph, x: str, part: Part) -> str:
    return graph.cast(_network_outputs(graph, x, part), np.float64)


OUTPUTS = {"trees": _forest, "linear": _linear, "neural": _network}
"""The outputs of each kind of part, float64 (n, outputs), for its transformed features."""


def _network_outputs(graph: Graph, x: str, part: Part) -> str:
    """The outputs, float32 (n, outputs); NaN, whatever activations make of it, where a feature must not be missing."""
    from luce.exports.onnx_network import is_known, network_outputs

    if not is_known(part.model):
        reason = f"its network is a module of your own, {type(part.model).__qualname__}"
        raise refused("onnx", reason, "Export it with torch.onnx; its inputs are the features after the transforms.")
    outputs = network_outputs(graph, x, part.model)
    if part.ranker.allow_nan:
        return outputs
    axes = [0, 1] if part.kind == "neural" and part.ranker.list_context else [1]
    zero_or_nan = graph.add("ReduceSum", graph.add("Mul", x, np.float32(0)), np.array(axes), keepdims=1)
    return str(graph.add("Add", outputs, zero_or_nan))


def _top_labels(graph: Graph, features: str, ranker: Any) -> dict[str, Any]:
    """The best labels of each row, and their scores."""
    (part,) = parts_of(ranker)
    scores = _network_outputs(graph, transformed(graph, features, part.transforms), part)
    k = graph.add("Min", graph.input("k", np.int64, [1]), np.array([len(ranker.label_counts_)]))
    best, labels = graph.add("TopK", scores, k, outputs=2)
    return {"labels": (labels, np.int64, ["n", "k"]), "scores": (best, np.float32, ["n", "k"])}
