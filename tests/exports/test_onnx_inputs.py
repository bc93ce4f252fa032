"""What goes into an ONNX model: features through every transform, and the text of categories as a table has it."""

import json
import warnings

import numpy as np
import pytest

import luce
from luce.data import TRANSFORMS, from_table
from luce.data.transforms import Encode, apply_transforms, fit_transforms, make_transform
from luce.exports.onnx_graph import Graph
from luce.exports.onnx_model import onnx_model
from luce.exports.onnx_transforms import OPERATORS, transformed
from tests.rankers.test_categories import CASES, shop

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def run(model, **inputs):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def by_graph(transforms, features):
    graph = Graph()
    found = transformed(graph, graph.input("features", np.float32, ["n", features.shape[1]]), transforms)
    return run(graph.model({"found": (found, np.float32, ["n", "f"])}, "", {}), features=features)


def test_every_transform_is_known():
    assert OPERATORS.keys() == {*TRANSFORMS.values(), Encode}


CHAINS = [*([name] for name in TRANSFORMS), ["symlog1p", "fill", "standardize", "second-order"]]


@pytest.mark.parametrize("chain", CHAINS)
def test_transforms_give_the_same_numbers(chain):
    """As far as the mathematical functions of libraries round alike; sums over lists are rounded in another order."""
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(400, 5)) * np.float32([1, 1e-9, 1e9, 100, 1e34])).astype(np.float32)
    features[:, 4], features[7:300, 2] = 3.0, 5.0
    lists = luce.Dataset(features, (features[:, 0] * features[:, 3] > 0).astype(float), [0, 400])
    fitted = fit_transforms([make_transform(name) for name in chain], lists)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[0, :2], features[1] = 3e38, -3e38
    wanted = apply_transforms(fitted, features, np.array([0, 400]))
    assert wanted.shape[1] > 5 or "second-order" not in chain
    np.testing.assert_allclose(by_graph(fitted, features), wanted, rtol=3e-7, atol=1e-30)
    assert by_graph(fitted, features[:0]).shape == (0, wanted.shape[1])
    np.testing.assert_allclose(
        by_graph(fitted, features[:1]), apply_transforms(fitted, features[:1], np.array([0, 1])), rtol=3e-7
    )


def inputs_of(model, frame):
    """The inputs of the graph from a table, by the names in the metadata: what a service does."""
    facts = {each.key: json.loads(each.value) for each in model.metadata_props if each.key.endswith("names")}
    numbers = frame[facts["feature_names"]].copy()
    if "day" in numbers:  # in days since 1970, as Luce reads dates
        numbers["day"] = (numbers["day"] - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    given = frame[facts["category_names"]].astype(object)
    texts = given.where(given.notna(), "").astype(str)
    return {"features": numbers.to_numpy(np.float32), "categories": texts.to_numpy(object)}


@pytest.mark.parametrize("case", CASES)
def test_a_table_with_categories_unseen_and_missing_ones(case):
    frame = shop()
    ranker = CASES[case].fit(from_table(frame, categorical=["shop"]))
    model = onnx_model(ranker)
    frame.loc[[3, 5], "brand"], frame.loc[9, "size"] = ["new", None], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ranker.predict(frame, qid=frame["query"])
    calls = frame.groupby("query", sort=False) if ranker.list_context else [(0, frame)]
    found = np.concatenate([run(model, **inputs_of(model, part)) for _, part in calls])
    np.testing.assert_allclose(found, wanted, **dict.fromkeys(["rtol", "atol"], 1e-5 if case == "neural" else 1e-9))


def test_categories_alone_and_more_of_them_than_columns():
    """A ranker without numbers has the input categories alone; rare values share columns by a hash."""
    random = np.random.default_rng(0)
    values = [f"v{number}" for number in range(700)]
    codes = random.integers(0, 700, size=(900, 1)).astype(np.float32)
    lists = luce.Dataset(codes, codes[:, 0] % 3, np.arange(0, 901, 10), feature_names=["item"], categories=[values])
    ranker = luce.LinearRanker(max_iter=3, n_jobs=1).fit(lists)
    texts = np.array([[values[int(code)]] for code in codes[:, 0]], dtype=object)
    found = run(onnx_model(ranker), categories=texts)
    np.testing.assert_allclose(found, ranker.predict(lists), rtol=1e-12, atol=1e-12)
    assert len(np.unique(found)) > 100
