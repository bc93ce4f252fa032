"""A model that learned nothing is written, with exit status 1; one no better than equal scores is noted."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search


@pytest.fixture(scope="module")
def data():
    return web_search(30, n_features=3, mean_length=6).dataset


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    luce.write(data, "good.txt")
    luce.write(data.with_features(np.ones((data.n_rows, 3), np.float32)), "constant.txt")
    luce.write(luce.Dataset(data.features, np.ones(data.n_rows), data.offsets), "one-grade.txt")
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, [*map(str, words), "--threads", "1"])


@pytest.mark.filterwarnings("ignore::luce.LuceWarning")
@pytest.mark.parametrize(
    "words",
    [
        ["train", "constant.txt", "--budget", 1],
        ["train", "constant.txt", "--model", "linear"],
        ["train", "constant.txt", "--model", "trees", "--set", "n_estimators=2"],
        ["train", "constant.txt", "--model", "neural", "--set", "epochs=1"],
        ["train", "one-grade.txt", "--model", "linear"],
        ["tune", "constant.txt", "--model", "linear", "--trials", 1, "--folds", 2],
    ],
)
def test_a_model_that_learned_nothing(words):
    result = call(*words, "-o", "a.luce", "--json")
    assert result.exit_code == 1 and json.loads(result.stdout)["learned"] is False
    assert "a.luce was written, but the model learned nothing. Check that the labels" in result.stderr
    assert luce.load("a.luce").n_features_in_ == 3


def test_a_model_that_learned_something(data):
    result = call("train", "good.txt", "--model", "linear", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["learned"] is True and "Error" not in result.stderr


def test_a_model_no_better_than_equal_scores_is_noted(data):
    upside_down = luce.Dataset(data.features, data.labels.max() - data.labels, data.offsets)
    luce.write(upside_down, "upside-down.txt")
    words = ["train", "good.txt", "--model", "linear", "--json", "--validation"]
    result = call(*words, "upside-down.txt", "-o", "a.luce")
    facts = json.loads(result.stdout)
    equal = luce.evaluate(np.zeros(data.n_rows), upside_down, "ndcg@10").means["ndcg@10"]
    assert result.exit_code == 0 and facts["baseline"] == pytest.approx(equal) and facts["validation"] < equal
    assert f"no better than that of equal scores for all items, ndcg@10 {equal:.4f}." in result.stderr
    assert "no better than" not in call(*words, "good.txt", "-o", "b.luce").stderr


@pytest.mark.parametrize("settings", [{"validation_fraction": 0.3}, {"n_bags": 3, "max_samples": 0.5}])
def test_the_baseline_is_measured_on_the_lists_of_the_score(data, settings):
    """With features of the query alone all items of a list have one score, and both are the same number."""
    ranker = luce.TreeRanker("squared-label", n_estimators=1, n_jobs=1, **settings)
    with pytest.warns(luce.LuceWarning, match="TreeRanker learned nothing"):
        ranker.fit(data.with_features(np.repeat(np.arange(30.0), data.sizes)[:, None]))
    assert ranker.baseline_score_ == pytest.approx(ranker.best_score_, abs=1e-12)
    assert ranker.baseline_score_ != pytest.approx(ranker.validation_score(np.zeros(data.n_rows), data), abs=1e-6)


def test_a_fit_that_learned_nothing_warns(data):
    pointwise = luce.LinearRanker("squared-label", n_jobs=1)
    alone = luce.Dataset(data.features, data.labels, np.arange(data.n_rows + 1))
    pointwise.fit(alone)  # scores of single items may differ, and none is to be ranked above another
    of_the_query = np.repeat(np.arange(30.0), data.sizes)[:, None]
    with pytest.warns(luce.LuceWarning, match="LinearRanker learned nothing from .* differ within lists"):
        pointwise.fit(data.with_features(of_the_query))
    with pytest.warns(luce.LuceWarning, match="two items with different labels, so there is no order to learn"):
        luce.LinearRanker("listnet", n_jobs=1).fit(luce.read("one-grade.txt"))
