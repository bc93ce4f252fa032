"""The files read by the packages that can be had: XGBoost, treelite, eland, onnxmltools, lleaves."""

import json
from itertools import zip_longest

import numpy as np
import pytest

import luce
from luce.exports import EXPORTS
from luce.exports.adversarial import adversarial_rows
from luce.exports.check import rows_of
from tests.exports.models import made

RANKERS = ["trees", "trees, missing values", "trees, transforms", "ensemble of trees"]


def content(name, form, folder):
    luce.export(made(name), form, folder / "shop.model")
    return (folder / "shop.model").read_bytes()


def xgboost_model(splits, names):
    """A model in XGBoost's own JSON with the trees of a dump: the same numbers in arrays."""
    trees = []
    for number, root in enumerate(splits):
        nodes, waiting = {}, [(root, 2147483647)]
        while waiting:
            node, parent = waiting.pop()
            nodes[node["nodeid"]] = node | {"parent": parent}
            waiting += [(child, node["nodeid"]) for child in node.get("children", ())]
        order = {old: new for new, old in enumerate([root["nodeid"], *sorted(nodes.keys() - {root["nodeid"]})])}
        listed = [nodes[old] for old in order]
        count = len(listed)
        trees.append(
            {
                "tree_param": {
                    "num_deleted": "0",
                    "num_feature": str(len(names)),
                    "num_nodes": str(count),
                    "size_leaf_vector": "1",
                },
                "id": number,
                "left_children": [order[node["yes"]] if "yes" in node else -1 for node in listed],
                "right_children": [order[node["no"]] if "no" in node else -1 for node in listed],
                "parents": [order.get(node["parent"], 2147483647) for node in listed],
                "split_indices": [names.index(node["split"]) if "split" in node else 0 for node in listed],
                "split_conditions": [node.get("split_condition", node.get("leaf")) for node in listed],
                "default_left": [int("yes" in node and node["missing"] == node["yes"]) for node in listed],
                "base_weights": [node.get("leaf", 0.0) for node in listed],
                "split_type": [0] * count,
                "sum_hessian": [1.0] * count,
                "loss_changes": [0.0] * count,
                **{name: [] for name in ("categories", "categories_nodes", "categories_segments", "categories_sizes")},
            }
        )
    size = str(len(trees))
    model = {
        "gbtree_model_param": {"num_trees": size, "num_parallel_tree": "1"},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": trees,
    }
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {"base_score": "0", "num_class": "0", "num_feature": str(len(names)), "num_target": "1"},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return json.dumps({"learner": learner, "version": [2, 1, 0]})


@pytest.mark.parametrize("name", RANKERS)
def test_xgboost_scores_the_trees_of_the_plugins_to_the_bit_and_dumps_them_again(name, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    written = content(name, "elasticsearch", tmp_path)
    splits = json.loads(json.loads(written)["model"]["model"]["definition"])["splits"]
    names = [f"f{column}" for column in range(made(name).n_features_in_)]
    given = dict(
        zip(rows_of(EXPORTS["elasticsearch"], made(name), adversarial_rows(made(name))).names, names, strict=True)
    )
    waiting = list(splits)
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", ())
        if "split" in node:
            node["split"] = given[node["split"]]
    booster = xgboost.Booster(model_file=bytearray(xgboost_model(splits, names).encode()))
    dataset = adversarial_rows(made(name))
    matrix = xgboost.DMatrix(dataset.features, feature_names=names, nthread=1)
    found = booster.predict(matrix, output_margin=True)
    oracle = EXPORTS["elasticsearch"].oracle(written, rows_of(EXPORTS["elasticsearch"], made(name), dataset))
    assert np.array_equal(found, oracle.astype(np.float32))
    for ours, dumped in zip_longest(splits, booster.get_dump(dump_format="json")):
        assert_same(ours, json.loads(dumped))


def assert_same(ours, dumped):
    """The same fields, but for the numbering of the nodes; XGBoost prints fewer digits."""
    if "leaf" in dumped:
        assert ours["leaf"] == pytest.approx(dumped["leaf"], rel=1e-5)
        return
    assert ours.keys() == dumped.keys() and ours["split"] == dumped["split"] and ours["depth"] == dumped["depth"]
    assert ours["split_condition"] == pytest.approx(dumped["split_condition"], rel=1e-5, abs=1e-40)
    assert (ours["missing"] == ours["yes"]) == (dumped["missing"] == dumped["yes"])
    for one, other in zip_longest(ours["children"], dumped["children"]):
        assert_same(one, other)


def test_eland_writes_the_same_model(tmp_path):
    """For a model whose missing values LightGBM treats as its file says, eland's form has our fields and numbers."""
    transformers = pytest.importorskip("eland.ml.transformers.lightgbm")
    ranker = made("trees, missing values")
    ours = json.loads(content("trees, missing values", "elasticsearch-native", tmp_path))["definition"]["trained_model"]
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_str=content("trees, missing values", "lightgbm", tmp_path).decode())
    booster.params = {"objective": "regression", "boosting_type": "gbdt"}

    class Model:
        booster_, n_estimators = booster, len(ranker.forest_.trees)

    names = ours["ensemble"]["feature_names"]
    theirs = transformers.LGBMRegressorTransformer(Model(), names).transform().to_dict()
    assert ours["ensemble"].keys() == theirs["ensemble"].keys()
    for name in ("feature_names", "target_type"):
        assert ours["ensemble"][name] == theirs["ensemble"][name]
    for one, other in zip_longest(ours["ensemble"]["trained_models"], theirs["ensemble"]["trained_models"]):
        assert one["tree"].keys() == other["tree"].keys()
        assert walked(one["tree"]["tree_structure"]) == walked(other["tree"]["tree_structure"])


def walked(nodes, place=0):
    """A tree without the numbering of its nodes and without its counts of rows."""
    node = {node["node_index"]: node for node in nodes}[place]
    if "leaf_value" in node:
        return node["leaf_value"]
    split = tuple(node[name] for name in ("decision_type", "split_feature", "threshold", "default_left"))
    return split, walked(nodes, node["left_child"]), walked(nodes, node["right_child"])


@pytest.mark.parametrize("name", RANKERS)
def test_treelite_reads_its_model_from_a_file(name, tmp_path):
    treelite = pytest.importorskip("treelite")
    content(name, "treelite", tmp_path)
    model = treelite.Model.deserialize(str(tmp_path / "shop.model"))
    dataset = adversarial_rows(made(name))
    found = treelite.gtil.predict(model, dataset.features.astype(np.float64), nthread=1).ravel()
    assert np.abs(found - made(name).predict(dataset)).max() < 1e-12


@pytest.mark.parametrize("name", ["trees", "trees, missing values"])
def test_onnxmltools_reads_the_lightgbm_text(name, tmp_path):
    onnxmltools = pytest.importorskip("onnxmltools")
    onnxruntime = pytest.importorskip("onnxruntime")
    from onnxmltools.convert.common.data_types import FloatTensorType

    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_str=content(name, "lightgbm", tmp_path).decode())
    converted = onnxmltools.convert_lightgbm(booster, initial_types=[("x", FloatTensorType([None, 6]))])
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    dataset = adversarial_rows(made(name))
    features = np.nan_to_num(dataset.features)
    found = session.run(None, {"x": features})[0].ravel()
    assert np.isfinite(found).all() and len(found) == dataset.n_rows


def test_lleaves_reads_the_lightgbm_text(tmp_path):
    lleaves = pytest.importorskip("lleaves")
    content("trees", "lightgbm", tmp_path)
    model = lleaves.Model(model_file=str(tmp_path / "shop.model"))
    assert model.num_feature() == 6 and model.num_trees() == 30
