"""The format onnx: every ranker in ONNX Runtime, on hard rows, on tables, on no rows, and what a caller must know."""

import json

import numpy as np
import pytest

import luce
from luce.exports import onnx_model as module
from luce.exports import prepare
from luce.exports.onnx import ONNX
from luce.exports.onnx_model import EACH_ROW, ONE_LIST, onnx_model
from luce.exports.parts import feature_names
from luce.exports.record import Rows
from tests.exports.models import MADE, NAMES, SETTINGS, data, made, network, trees

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
RANKERS = [name for name in MADE if name != "labels"]
EXACT = [name for name in RANKERS if "network" not in name]


def session(ranker, threads=1):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    content = onnx_model(ranker).SerializeToString()
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def scores(ranker, features, offsets=None):
    bounds = [0, len(features)] if offsets is None else offsets
    rows = Rows(np.asarray(features, dtype=np.float32), feature_names(ranker), np.asarray(bounds))
    return ONNX.oracle(ONNX.write(ranker, "shop"), rows)


@pytest.mark.parametrize("name", MADE)
def test_onnx_runtime_scores_as_the_ranker_does(name, tmp_path):
    check = prepare(made(name), "onnx", tmp_path / "shop.onnx").check
    assert check.rows == 1_000 and check.different_rows == 0
    assert check.largest_difference < 1e-9 or name not in EXACT


@pytest.mark.parametrize("name", RANKERS)
def test_real_rows_no_row_and_one_row(name):
    ranker, lists = made(name), data("missing" in name or "transforms" in name)
    tolerance = {"rtol": 1e-12, "atol": 1e-12} if name in EXACT else {"rtol": 1e-5, "atol": 1e-6}
    found = scores(ranker, lists.features, lists.offsets)
    assert len(np.unique(found)) > 10
    np.testing.assert_allclose(found, ranker.predict(lists), **tolerance)
    one = lists.take([0]).features[:1]
    np.testing.assert_allclose(scores(ranker, one), ranker.predict(one, group=[1]), **tolerance)
    model = session(ranker)
    (none,) = model.run(None, {"features": np.empty((0, 6), np.float32)})
    assert none.shape == (0,) and none.dtype == np.float64


SPECIAL = [0, -0.0, 1e-45, 1e-36, -1e-36, 1e-35, -1e-35, 2e-35, -2e-35, -0.5, 0.5, 1e9, -3e9, 1e30, -1e30, np.nan]
OPTIONS = {
    "missing": {},
    "zero_as_missing": {"lightgbm_params": {"zero_as_missing": True}},
    "use_missing=False": {"lightgbm_params": {"use_missing": False}},
    "categories": {"categorical_feature": (3, 4)},
    "categories, zero_as_missing": {
        "categorical_feature": (3, 4),
        "lightgbm_params": {"zero_as_missing": True, "max_cat_to_onehot": 1, "min_data_per_group": 5},
    },
    "bags": {"n_bags": 2},
}


def hard_lists(rng):
    """Features on each scale at which LightGBM takes values for zero, counts, and numbers of categories."""
    features = rng.normal(size=(2_000, 6)).astype(np.float32)
    features[:, 1] *= 1e-34
    features[:, 2] = np.where(rng.random(2_000) < 0.5, 0, features[:, 2])
    features[:, 3:5] = rng.integers(0, [[60, 200]], size=(2_000, 2))
    taste = rng.normal(size=200)
    worth = features[:, 0] + 1e34 * features[:, 1] + (features[:, 2] == 0)
    worth += taste[features[:, 3:5].astype(int)].sum(axis=1)
    features[rng.random(features.shape) < 0.1] = np.nan
    return luce.Dataset(features, np.digitize(worth, [0, 1, 2]), np.arange(0, 2_001, 20))


@pytest.mark.parametrize("options", OPTIONS)
def test_no_row_beside_a_threshold_goes_elsewhere(options):
    rng = np.random.default_rng(0)
    lists = hard_lists(rng)
    ranker = trees(min_child_samples=3, **OPTIONS[options]).fit(lists)
    rows = np.array(lists.features[:1_000])
    special = np.array(SPECIAL, dtype=np.float32)
    for column in range(6):
        of = [(tree.split_feature == column) & (tree.decision_type & 1 == 0) for tree in ranker.forest_.trees]
        cuts = np.concatenate([tree.threshold[own] for tree, own in zip(ranker.forest_.trees, of, strict=True)])
        cuts = cuts[np.abs(cuts) < 1e38].astype(np.float32)
        near = np.concatenate([cuts, *(np.nextafter(cuts, np.float32(side)) for side in (-np.inf, np.inf)), special])
        drawn = rng.random(1_000)
        rows[:, column] = np.where(drawn < 0.5, rng.choice(near, 1_000), rows[:, column])
        rows[:, column] = np.where(drawn > 0.85, rng.choice(special, 1_000), rows[:, column])
    rows[:, 3:5] += np.where(rng.random((1_000, 2)) < 0.3, 0.5, 0).astype(np.float32)  # categories are truncated
    wrong = np.abs(scores(ranker, rows) - ranker.predict(rows)) > 1e-12
    assert wrong.sum() == 0
    kinds = set(np.concatenate([tree.decision_type & 13 for tree in ranker.forest_.trees]).tolist())
    numbers = {"zero_as_missing": 4, "use_missing=False": 0}.get(options.rpartition(", ")[2], 8)
    assert numbers in kinds and any(kind & 1 for kind in kinds) is options.startswith("categories")


def test_a_tree_of_one_leaf():
    lists = luce.Dataset([[1.0], [2.0]], [0, 1], [0, 2])
    with pytest.warns(luce.LuceWarning, match="No tree can split"):
        ranker = luce.TreeRanker(n_estimators=1, min_child_samples=20, **SETTINGS).fit(lists)
    assert scores(ranker, [[1.0], [np.nan]]).tolist() == ranker.predict([[1.0], [np.nan]]).tolist()


def test_more_threads_change_the_order_of_the_sum_only():
    lists = data()
    (found,) = session(made("trees"), threads=2).run(None, {"features": lists.features})
    np.testing.assert_allclose(found, made("trees").predict(lists), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("attention", [False, True])
def test_a_missing_feature_is_nan_not_a_score(attention):
    ranker = network(context="attention" if attention else None).fit(data())
    rows = np.array(data().features[:4])
    rows[1, 3] = np.nan
    assert np.isnan(scores(ranker, rows)).tolist() == [attention, True, attention, attention]


def test_the_model_says_what_it_takes():
    for name in MADE:
        model = onnx_model(made(name))
        onnx.checker.check_model(model, full_check=True)
        facts = {each.key: each.value for each in model.metadata_props}
        assert facts["kind"] == made(name).kind and facts["luce_version"] == luce.__version__
        assert facts["objective"] == str(made(name).get_objective())
        assert facts["rows"] == (ONE_LIST if "attention" in name or "zscore" in name else EACH_ROW)
        assert facts["rows"] in model.doc_string.lower() and facts["objective"] in model.doc_string
        assert {each.domain for each in model.opset_import} == {"", "ai.onnx.ml"}
        if name != "labels":
            assert json.loads(facts["feature_names"]) == NAMES and facts["category_names"] == "[]"


def test_labels():
    ranker = made("labels")
    rows = np.array([[1.0, 0.5], [-2.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    model = session(ranker)
    for k in (1, 2, 99):
        labels, best = model.run(["labels", "scores"], {"features": rows, "k": np.array([k])})
        wanted, wanted_scores = ranker.top_labels(rows, k)
        assert labels.tolist() == wanted.tolist() and labels.shape == (3, min(k, 3))
        np.testing.assert_allclose(best, wanted_scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scores(ranker, rows), ranker.predict(rows), rtol=1e-5, atol=1e-6)
    labels, _ = model.run(["labels", "scores"], {"features": rows[:0], "k": np.array([2])})
    assert labels.shape == (0, 2)


def test_a_network_of_another_module_and_another_score_of_several_are_refused(monkeypatch):
    torch = pytest.importorskip("torch")
    layers = torch.nn.Sequential(torch.nn.Linear(6, 1), torch.nn.Flatten(0))
    own = luce.NeuralRanker(module=layers, transforms=("standardize",), epochs=1, **SETTINGS)
    with pytest.raises(luce.OptionError, match=r"a module of your own, Sequential\. Export .* torch\.onnx"):
        onnx_model(own.fit(data()))
    monkeypatch.setattr(module, "expected_grade", None)
    with pytest.raises(luce.OptionError, match=r"mcrank has a formula of its own.* with a single score"):
        onnx_model(made("trees, scores of grades"))


def test_what_protobuf_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr("luce.exports.onnx_graph.LARGEST", 100)
    with pytest.raises(luce.OptionError, match=r"at most 100 bytes of weights\. This ranker has "):
        onnx_model(made("network"))
