"""How many of 1,000 hard rows does an engine score differently: by our export, and by a naive one.

The rows hold thresholds, their float32 neighbors, tiny and huge values, and missing ones. A naive export writes the
thresholds and default sides as LightGBM prints them, for ONNX as float32 numbers without default sides, and the weights
of a linear ranker over the scales.

python benchmarks/export_exactness.py
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import luce
from luce.data.synthetic import web_search
from luce.errors import OptionError
from luce.exports import EXPORTS, prepare
from luce.exports.adversarial import adversarial_rows
from luce.exports.check import check_export
from luce.exports.record import Rows, in_float32
from measuring import show_machine
from scoring import as_onnx

TREES = {"n_estimators": 60, "num_leaves": 31, "min_child_samples": 5, "n_jobs": 1, "validation_fraction": None}
STANDARD = {"transforms": ("standardize",), "n_jobs": 1}


def main() -> None:
    show_machine("luce", "numpy", "lightgbm", "treelite", "onnxruntime", "torch")
    rankers = fitted()
    rows = len(adversarial_rows(next(iter(rankers.values()))).labels)
    print(f"\nRows of {rows:,} that score differently: ours, and naive\n")
    names = list(EXPORTS)
    widths = {name: max(len(name), 8) + 2 for name in names}
    print(f"{'':22}" + "".join(f"{name:>{width}}" for name, width in widths.items()))
    refused = dict.fromkeys(names, 0)
    for title, ranker in rankers.items():
        cells = []
        for form in names:
            try:
                with tempfile.TemporaryDirectory() as folder:
                    ours = prepare(ranker, form, Path(folder) / "model.file").check.different_rows
            except OptionError:
                refused[form] += 1
                cells.append("refused")
                continue
            content = naive(ranker, form)
            cells.append(f"{ours:,}, {'–' if content is None else wrong(ranker, form, content)}")
        print(f"{title:22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths.values(), strict=True)))
    print(f"{'refused':22}" + "".join(f"{refused[name]:>{width}}" for name, width in widths.items()))


def fitted() -> dict[str, Any]:
    """Rankers of features of which one is tiny and one huge; without and with missing values."""
    given = web_search(150, n_features=10, seed=1).dataset
    features = np.array(given.features)
    features[:, 0] *= 1e-9
    features[:, 1] *= 1e6
    full = given.with_features(features)
    gaps = features.copy()
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.1] = np.nan
    missing = given.with_features(gaps)
    colors = features.copy()
    colors[:, 2] = np.arange(len(colors)) * 7 % 5 + (features[:, 3] > np.median(features[:, 3]))
    kinds = [tuple("abcdef") if column == 2 else None for column in range(10)]
    categories = luce.Dataset(colors, given.labels, given.offsets, categories=kinds)
    plain = [(f"{n} leaves", luce.TreeRanker(**{**TREES, "num_leaves": n})) for n in (7, 31)]
    network = {**STANDARD, "epochs": 2, "validation_fraction": None}
    return {
        "trees": luce.TreeRanker(**TREES).fit(full),
        "trees, missing values": luce.TreeRanker(**TREES).fit(missing),
        "trees, transforms": luce.TreeRanker(transforms=("symlog1p", "standardize"), **TREES).fit(full),
        "bags of trees": luce.TreeRanker(n_bags=3, **TREES).fit(full),
        "trees, categories": luce.TreeRanker(**TREES).fit(categories),
        "ensemble of trees": luce.EnsembleRanker(plain, n_jobs=1).fit(full),
        "linear": luce.LinearRanker(**STANDARD).fit(full),
        "network": luce.NeuralRanker(**network).fit(full),
        "network bags": luce.NeuralRanker(n_bags=2, normalization="batch", **network).fit(full),
        "linear, defaults": luce.LinearRanker(n_jobs=1).fit(full),
        "network, attention": luce.NeuralRanker(context="attention", **network).fit(full),
        "trees after linear": luce.TreeRanker(**TREES).fit(full, init_model=luce.LinearRanker(**STANDARD).fit(full)),
    }


def wrong(ranker: Any, form: str, content: bytes) -> str:
    export = EXPORTS[form]
    if form == "onnx":  # with scores in float32, whose rounding is not counted
        export = replace(export, oracle=onnx_scores, sum_leaves=in_float32)
    return f"{check_export(export, ranker, content).different_rows:,}"


def onnx_scores(content: bytes, rows: Rows) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": rows.features})[0].ravel().astype(np.float64)


def naive(ranker: Any, form: str) -> bytes | None:
    """What a short script would write; None where there is no such form."""
    names = ranker.features[1] or [f"feature_{n}" for n in range(1, ranker.n_features_in_ + 1)]
    if ranker.kind == "linear" and form != "onnx":
        weights = dict(zip(names, (ranker.coef_ / ranker.transforms_[0].scale).tolist(), strict=True))
        if form == "solr":
            return json.dumps({"features": [{"name": name} for name in names], "params": {"weights": weights}}).encode()
        return plugin("model/linear", weights)
    if ranker.kind != "trees" or ranker.transforms_ or ranker.init_model_ is not None:
        return None
    if form == "onnx":
        return None if ranker.categories_ else as_onnx(ranker.forest_)
    booster = ranker.to_lightgbm()
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    if form in ("elasticsearch", "opensearch"):
        return plugin("model/xgboost+json", {"splits": [of_xgboost(tree, names) for tree in trees]})
    if form == "elasticsearch-native":
        models = [{"tree": {"tree_structure": of_eland(tree)}} for tree in trees]
        whole = {"feature_names": names, "trained_models": models}
        whole["aggregate_output"] = {"weighted_sum": {"weights": [1.0] * len(trees)}}
        return json.dumps({"definition": {"trained_model": {"ensemble": whole}}}).encode()
    if form == "solr":
        roots = [{"weight": "1", "root": of_solr(tree, names)} for tree in trees]
        params = {"isNullSameAsZero": False, "trees": roots}
        return json.dumps({"features": [{"name": name} for name in names], "params": params}).encode()
    if form == "vespa":
        return json.dumps(booster.dump_model()).encode()
    if form == "ranklib":
        xml = "".join(f'<tree id="1" weight="1">{of_ranklib(tree)}</tree>' for tree in trees)
        return f"<ensemble>{xml}</ensemble>".encode()
    if form == "treelite":
        import treelite

        return bytes(treelite.frontend.from_lightgbm(booster).serialize_bytes())
    return booster.model_to_string().encode() if form == "lightgbm" else None


def plugin(kind: str, definition: Any) -> bytes:
    return json.dumps({"model": {"model": {"type": kind, "definition": json.dumps(definition)}}}).encode()


def of_xgboost(node: dict[str, Any], names: Any) -> dict[str, Any]:
    if "leaf_value" in node:
        return {"nodeid": node["leaf_index"] + 10_000, "leaf": node["leaf_value"]}
    left, right = (of_xgboost(node[side], names) for side in ("left_child", "right_child"))
    yes, no = left["nodeid"], right["nodeid"]
    split = {"nodeid": node["split_index"], "split": names[node["split_feature"]], "split_condition": node["threshold"]}
    missing = yes if node["default_left"] else no
    return {**split, "yes": yes, "no": no, "missing": missing, "children": [left, right]}


def of_eland(root: dict[str, Any]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []

    def add(node: dict[str, Any]) -> int:
        place = len(nodes)
        nodes.append({"leaf_value": node["leaf_value"]} if "leaf_value" in node else {})
        if "leaf_value" not in node:
            same = {name: node[name] for name in ("split_feature", "threshold", "default_left")}
            nodes[place] = {**same, "left_child": add(node["left_child"]), "right_child": add(node["right_child"])}
        return place

    add(root)
    return nodes


def of_solr(node: dict[str, Any], names: Any) -> dict[str, Any]:
    if "leaf_value" in node:
        return {"value": str(node["leaf_value"])}
    left, right = (of_solr(node[side], names) for side in ("left_child", "right_child"))
    split = {"feature": names[node["split_feature"]], "threshold": str(node["threshold"]), "left": left, "right": right}
    return {**split, "missing": "left" if node["default_left"] else "right"}


def of_ranklib(node: dict[str, Any], side: str = "left") -> str:
    if "leaf_value" in node:
        return f'<split pos="{side}"><output>{node["leaf_value"]}</output></split>'
    left, right = (of_ranklib(node[f"{which}_child"], which) for which in ("left", "right"))
    split = f"<feature>{node['split_feature'] + 1}</feature><threshold>{node['threshold']}</threshold>"
    return f'<split pos="{side}">{split}{left}{right}</split>'


if __name__ == "__main__":
    main()
