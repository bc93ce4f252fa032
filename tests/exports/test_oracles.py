"""The oracles on examples of the engines' own tests and pages: their models, their rows, their scores."""

import json

import numpy as np
import pytest

from luce.exports import EXPORTS
from luce.exports.record import Rows

NAN = np.nan


def scores(form, content, names, rows):
    text = content if isinstance(content, str) else json.dumps(content)
    features = np.array(rows, dtype=np.float32)
    return EXPORTS[form].oracle(text.encode(), Rows(features, names, np.array([0, len(features)]))).tolist()


def plugin(kind, definition, **more):
    return {"model": {"name": "test", "model": {"type": kind, "definition": json.dumps(definition), **more}}}


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch"])
def test_a_split_of_the_plugin(form):
    """XGBoostJsonParserTests.testReadSimpleSplit."""
    leaves = [{"nodeid": 1, "depth": 1, "leaf": 0.5}, {"nodeid": 2, "depth": 1, "leaf": 0.2}]
    split = {"nodeid": 0, "split": "feat1", "depth": 0, "split_condition": 0.123, "yes": 1, "no": 2, "missing": 1}
    content = plugin("model/xgboost+json", {"splits": [{**split, "children": leaves}]})
    found = scores(form, content, ["feat1"], [[0.124], [0.122], [0.123], [NAN]])
    assert found == [np.float32(0.2), 0.5, np.float32(0.2), 0.5]


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch"])
def test_trees_of_the_plugin(form):
    """NaiveAdditiveDecisionTreeTests.testScore and testScoreMissing, with simple_tree.txt; a tree's weight is in its
    leaves."""
    numbers = iter(range(100))

    def leaf(value, weight):
        return {"nodeid": next(numbers), "leaf": float(np.float32(value) * np.float32(weight))}

    def split(name, threshold, left, right, missing):
        ids = {"nodeid": next(numbers), "depth": 0, "yes": left["nodeid"], "no": right["nodeid"]}
        side = {"left": left, "right": right}[missing]["nodeid"]
        return {**ids, "split": name, "split_condition": threshold, "missing": side, "children": [left, right]}

    first = split("feature3", 3.2, leaf(17, 3.4), leaf(11, 3.4), "left")
    first = split("feature1", 2.3, split("feature2", 2.2, leaf(1.2, 3.4), first, "right"), leaf(3.2, 3.4), "left")
    second = split("feature3", 3.2, leaf(3.2, 2.8), leaf(10, 2.8), "right")
    second = split("feature1", 0.1, leaf(23, 2.8), split("feature2", 1.8, leaf(15, 2.8), second, "right"), "left")
    content = plugin("model/xgboost+json", {"splits": [first, second]})
    names = ["feature1", "feature2", "feature3"]
    found = scores(form, content, names, [[1, 2, 3], [NAN, NAN, NAN]])
    assert found == pytest.approx([1.2 * 3.4 + 3.2 * 2.8, 17.0 * 3.4 + 23.0 * 2.8], rel=1e-6)


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch"])
def test_weights_of_the_plugin(form):
    """LinearRankerTests.testScore; with the normalizer of the page on training models: one deviation above is 1."""
    names = ["a", "b", "c"]
    assert scores(form, plugin("model/linear", {"a": 1, "b": 2, "c": 3}), names, [[2, 3, 4]]) == [20]
    normalizers = {"release_year": {"standard": {"mean": 1970, "standard_deviation": 30}}}
    content = plugin("model/linear", {"release_year": 1.0}, feature_normalizers=normalizers)
    assert scores(form, content, ["release_year"], [[1970], [2000], [1940]]) == [0, 1, -1]


def test_a_tree_of_elasticsearch():
    """TreeTests.testInfer."""
    nodes = [
        {"node_index": 0, "split_feature": 0, "threshold": 0.5, "left_child": 1, "right_child": 2},
        {"node_index": 1, "split_feature": 1, "threshold": 0.8, "left_child": 3, "right_child": 4},
        *({"node_index": place, "leaf_value": value} for place, value in ((2, 0.3), (3, 0.1), (4, 0.2))),
    ]
    tree = [{**node, "decision_type": "lte", "default_left": True} if "threshold" in node else node for node in nodes]
    ensemble = {
        "feature_names": ["foo", "bar"],
        "trained_models": [{"tree": {"tree_structure": tree}}],
        "aggregate_output": {"weighted_sum": {"weights": [1.0]}},
    }
    content = {"definition": {"trained_model": {"ensemble": ensemble}}}
    rows = [[0.6, 0.0], [0.3, 0.7], [0.3, 0.9], [0.3, NAN]]
    assert scores("elasticsearch-native", content, ["foo", "bar"], rows) == pytest.approx(
        [0.3, 0.1, 0.2, 0.1], abs=1e-5
    )


def test_trees_of_solr():
    """multipleadditivetreesmodel.json of TestMultipleAdditiveTreesModel: −120 without a match, 30 with one."""
    constant = "constantScoreToForceMultipleAdditiveTreesScoreAllDocs"
    right = {"feature": constant, "threshold": "10.0", "left": {"value": "50"}, "right": {"value": "75"}}
    root = {"feature": "matchedTitle", "threshold": "0.5", "left": {"value": "-100"}, "right": right}
    trees = [{"weight": "1", "root": root}, {"weight": "2", "root": {"value": "-10"}}]
    names = ["matchedTitle", constant]
    content = {"features": [{"name": name} for name in names], "params": {"trees": trees}}
    assert scores("solr", content, names, [[0, 1], [1, 1]]) == [-120, 30]


def test_a_missing_branch_of_solr():
    """modelB of multipleadditivetreesmodel_with_missing_branch_for_interleaving.json: what is missing goes left."""
    device = {"feature": "userDevice", "threshold": "0", "missing": "left"}
    device |= {"left": {"value": "20"}, "right": {"value": "15"}}
    trees = [{"weight": "1", "root": device}, {"weight": "2", "root": {"value": "-20"}}]
    content = {"features": [{"name": "userDevice"}], "params": {"isNullSameAsZero": False, "trees": trees}}
    assert scores("solr", content, ["userDevice"], [[NAN], [0], [1]]) == [-20, -20, -25]


def test_a_network_of_solr():
    """TestNeuralNetworkModel.testLinearAlgebra."""
    first = {"matrix": np.arange(1.0, 13).reshape(3, 4).tolist(), "bias": [13.0, 14.0, 15.0], "activation": "relu"}
    second = {"matrix": [[16.0, 17.0, 18.0]], "bias": [19.0], "activation": "relu"}
    names = ["constantOne", "constantTwo", "constantThree", "constantFour"]
    content = {"features": [{"name": name} for name in names], "params": {"layers": [first, second]}}
    assert scores("solr", content, names, [[0, 0, 0, 0], [1, 1, 1, 1]]) == [735, 2093]


def test_normalizers_of_solr():
    """The example of StandardNormalizer.java: 39, 42 and 45 become −0.5, 0 and 0.5."""
    norm = {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": {"avg": "42", "std": "6"}}
    content = {"features": [{"name": "x", "norm": norm}], "params": {"weights": {"x": 1.0}}}
    assert scores("solr", content, ["x"], [[39], [42], [45]]) == [-0.5, 0, 0.5]


def test_a_forest_of_vespa():
    """require_that_FastForest_model_evaluation_works of gbdt_test.cpp; !(c>=1) is what default_left becomes."""

    def split(feature, threshold, left, right, default_left=False):
        children = {"left_child": left, "right_child": right}
        return {"split_feature": feature, "threshold": threshold, "default_left": default_left, **children}

    one, two, three, four, ten, twenty, thirty, forty = (
        {"leaf_value": float(value)} for value in (1, 2, 3, 4, 10, 20, 30, 40)
    )
    first = split(0, 2, one, split(1, 2, split(2, 2, two, three), four))
    second = split(2, 1, ten, split(0, 1, split(1, 1, twenty, thirty), forty), default_left=True)
    content = {"tree_info": [{"tree_structure": first}, {"tree_structure": second}]}
    assert scores("vespa", content, ["a", "b", "c"], [[0.5] * 3, [2.5] * 3, [NAN] * 3]) == [11, 44, 14]


def test_an_ensemble_of_ranklib():
    """The model of EnsembleTest.java."""
    left, right = (
        f'<split pos="{side}"><output> {value} </output></split>' for side, value in (("left", -1.0), ("right", 1.0))
    )
    split = f"<split><feature> 1 </feature><threshold> 0.5 </threshold>{left}{right}</split>"
    content = f'## LambdaMART\n<ensemble><tree id="1" weight="0.1">{split}</tree></ensemble>'
    tenth = np.float32(0.1)
    assert scores("ranklib", content, ["x"], [[0.5], [0.6], [NAN]]) == [-tenth, tenth, -tenth]
