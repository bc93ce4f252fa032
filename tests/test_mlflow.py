"""The MLflow flavor: every kind of ranker goes to a local store and comes back with the same bits."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError

mlflow = pytest.importorskip("mlflow", reason="needs pip install 'luce[mlflow]'")

# MLflow's own: integer columns in examples, what it calls itself, and its stores, which it never closes.
pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = ["bm25", "age", "clicks", "length"]
TREES = luce.TreeRanker(n_estimators=8, min_child_samples=5, validation_fraction=None, n_jobs=1)
LINEAR = luce.LinearRanker(n_jobs=1)
NEURAL = luce.NeuralRanker(hidden_layer_sizes=(4,), epochs=2, validation_fraction=None, n_jobs=1, device="cpu")
RANKERS = {
    "linear": LINEAR,
    "linear, normalized within lists": luce.LinearRanker(transforms=["fill", "list-zscore"], n_jobs=1),
    "trees": TREES,
    "bags": luce.TreeRanker(n_estimators=5, n_bags=2, min_child_samples=5, n_jobs=1),
    "neural": NEURAL,
    "attention": luce.NeuralRanker(
        hidden_layer_sizes=(4,),
        context="attention",
        attention_blocks=1,
        epochs=1,
        validation_fraction=None,
        n_jobs=1,
        device="cpu",
    ),
    "ensemble": luce.EnsembleRanker([("linear", LINEAR), ("trees", TREES)], n_jobs=1),
}


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """A tracking store and a registry of this test alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    yield
    mlflow.set_tracking_uri(None)


def lists(named: bool = True) -> luce.Dataset:
    found = web_search(30, n_features=4, mean_length=8, seed=1, missing=0.05).dataset
    queries = np.repeat([f"q{number}" for number in range(found.n_lists)], found.sizes)
    return luce.from_arrays(found.features, found.labels, queries, feature_names=NAMES if named else None)


def frame_of(data: luce.Dataset) -> pd.DataFrame:
    """The features and, shuffled among them, the query; extra columns are ignored."""
    frame = pd.DataFrame(np.asarray(data.features), columns=data.feature_names or ["1", "2", "3", "4"])
    frame.insert(1, "query", np.repeat(data.query_ids.to_numpy(zero_copy_only=False), data.sizes))
    return frame[[*reversed(frame.columns)]].assign(unknown=1.0)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_logged_and_registered_and_loaded_to_the_bit(name, named):
    data = lists(named)
    ranker = RANKERS[name].fit(data)
    expected = ranker.predict(data)
    with mlflow.start_run():
        info = luce.mlflow.log_model(ranker, "ranker", registered_model_name="search")
    assert info.registered_model_version == 1
    native = luce.mlflow.load_model("models:/search/1")
    assert type(native) is type(ranker) and native.provenance_ == ranker.provenance_
    np.testing.assert_array_equal(native.predict(data), expected)
    served = mlflow.pyfunc.load_model(info.model_uri)
    given = frame_of(data) if named or ranker.list_context else np.asarray(data.features, dtype=np.float64)
    np.testing.assert_array_equal(served.predict(given), expected)
    if named and ranker.list_context:
        shuffled = np.random.default_rng(0).permutation(len(given))
        np.testing.assert_allclose(served.predict(given.iloc[shuffled]), expected[shuffled], rtol=1e-5)
        with pytest.raises(DataError, match="pass qid"):
            served.predict(given.drop(columns="query"))


def test_a_label_ranker_gives_the_score_of_every_label():
    rng = np.random.default_rng(0)
    data = luce.TaggedData(rng.normal(size=(60, 5)), rng.random((60, 7)) < 0.2)
    ranker = luce.LabelRanker(hidden_layer_sizes=(4,), epochs=2, n_jobs=1, device="cpu").fit(data)
    luce.mlflow.save_model(ranker, "model")
    served = mlflow.pyfunc.load_model("model")
    np.testing.assert_array_equal(served.predict(np.asarray(data.features)), ranker.predict(data))
    np.testing.assert_array_equal(luce.mlflow.load_model("model").predict(data), ranker.predict(data))


def test_categories_and_missing_values():
    frame = pd.DataFrame(
        {
            "price": [1.0, 2, np.nan, 4, 5, 6],
            "color": ["red", None, "blue", "red", "blue", "red"],
            "query": ["a", "a", "a", "b", "b", "b"],
            "label": [0, 1, 2, 0, 1, 2],
        }
    )
    data = luce.from_table(frame, categorical=["color"])
    ranker = luce.TreeRanker(n_estimators=5, min_child_samples=1, validation_fraction=None, n_jobs=1).fit(data)
    luce.mlflow.save_model(ranker, "model")
    served = mlflow.pyfunc.load_model("model")
    assert str(served.metadata.signature.inputs) == (
        "['price': double (required), 'color': string (required), 'query': Any (optional)]"
    )
    np.testing.assert_array_equal(served.predict(frame.drop(columns="label")), ranker.predict(data))
    assert served.input_example.iloc[0].tolist() == [0.0, "blue", "1"]


def test_what_is_written():
    ranker = TREES.fit(lists())
    luce.mlflow.save_model(ranker, "model", query="session", metadata={"team": "search"})
    written = yaml.safe_load(Path("model/MLmodel").read_text())
    assert written["flavors"]["luce"] == {
        "data": "model.luce",
        "kind": "trees",
        "objective": "pl-partition",
        "luce_version": luce.__version__,
        "query": "session",
    }
    assert written["flavors"]["python_function"]["loader_module"] == "luce.mlflow" and written["metadata"]["team"]
    assert json.loads(written["signature"]["inputs"])[-1] == {"type": "any", "name": "session", "required": False}
    requirements = Path("model/requirements.txt").read_text().split()
    assert f"luce=={luce.__version__}" in requirements and requirements[-1].startswith("lightgbm==")
    ranker.save("same.luce")
    assert Path("model/model.luce").read_bytes() == Path("same.luce").read_bytes()
    names = {"MLmodel", "model.luce", "requirements.txt", "conda.yaml", "python_env.yaml"}
    assert {path.name for path in Path("model").iterdir()} == names | {
        "input_example.json",
        "serving_input_example.json",
    }
    frame = frame_of(lists()).rename(columns={"query": "session"})
    np.testing.assert_array_equal(mlflow.pyfunc.load_model("model").predict(frame), ranker.predict(lists()))


@pytest.mark.parametrize("column", ["query", "session"])
def test_metrics_of_a_logged_model_in_one_call(column):
    data = lists()
    ranker = LINEAR.fit(data)
    with mlflow.start_run():
        uri = luce.mlflow.log_model(ranker, "ranker", query=column).model_uri
        frame = frame_of(data).drop(columns="unknown").rename(columns={"query": column}).assign(label=data.labels)
        shuffled = frame.sample(frac=1.0, random_state=0)  # equal scores and rows of a list that are not adjacent
        found = mlflow.models.evaluate(
            uri,
            shuffled,
            targets="label",
            evaluators="default",
            extra_metrics=luce.mlflow.ranking_metrics("ndcg@10, arp, rbp(p=0.9)@5", n_bootstrap=200),
            evaluator_config={"col_mapping": {"query": column}},
        )
    expected = luce.evaluate(ranker.predict(data), data, "ndcg@10, arp, rbp(p=0.9)@5")
    for name, logged in {"ndcg@10": "ndcg_at_10", "arp": "arp", "rbp(p=0.9)@5": "rbp_p_0_9_at_5"}.items():
        assert found.metrics[f"{logged}/mean"] == pytest.approx(expected.means[name], abs=1e-12)
        assert found.metrics[f"{logged}/low"] < found.metrics[f"{logged}/mean"] < found.metrics[f"{logged}/high"]
    better = {each.name: each.greater_is_better for each in luce.mlflow.ranking_metrics("ndcg@10, arp")}
    assert better == {"ndcg_at_10": True, "arp": False}


def test_what_is_refused():
    with pytest.raises(OptionError, match=r"for rankers\. Got dict"):
        luce.mlflow.save_model({}, "model")
    with pytest.raises(OptionError, match=r"must not be a feature\. Got query='bm25'"):
        luce.mlflow.save_model(LINEAR.fit(lists()), "model", query="bm25")
