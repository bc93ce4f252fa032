"""`luce explain`: figures that are the library's, files and pages, and errors that say what to do."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import tagged_documents, web_search


def call(*words, fails=False):
    result = CliRunner().invoke(app, ["explain", *map(str, words)])
    assert (result.exit_code != 0) == fails, f"{result.output} {result.exception!r}"
    return str(result.exception) if fails else result.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    data = web_search(30, n_features=8, mean_length=12).dataset
    luce.write(data, folder / "test.parquet")
    luce.TreeRanker(n_estimators=5, num_leaves=6, n_jobs=1).fit(data).save(folder / "trees.luce")
    luce.LinearRanker(max_iter=5, n_jobs=1).fit(data).save(folder / "linear.luce")
    luce.NeuralRanker(hidden_layer_sizes=(4,), epochs=1, n_jobs=1).fit(data).save(folder / "neural.luce")
    luce.LabelRanker(epochs=1).fit(tagged_documents(20)).save(folder / "labels.luce")
    return folder


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["trees", "linear", "neural"])
def test_worth_of_the_features(place, tmp_path, kind):
    words = [place / f"{kind}.luce", place / "test.parquet", "--metric", "err", "--repeats", 2, "--seed", 3]
    text = call(*words, "--top", 4, "--csv", "worth.csv", "--threads", 1)
    found = json.loads(call(*words, "--json"))
    ranker, data = luce.load(place / f"{kind}.luce"), luce.read(place / "test.parquet")
    lost = luce.permutation_importance(ranker, data, "err", repeats=2, seed=3)
    assert found["metric"] == "err" and found["repeats"] == 2
    assert [row["feature"] for row in found["features"]] == lost.table()["feature"].to_pylist()
    assert [row["err"] for row in found["features"]] == pytest.approx(lost.table()["value"].to_pylist())
    assert [row["err error"] for row in found["features"]] == pytest.approx(lost.table()["error"].to_pylist())
    assert len(text.strip().splitlines()) == 5 and "err lost" in text
    with open("worth.csv") as file:
        assert [row["feature"] for row in csv.DictReader(file)] == [row["feature"] for row in found["features"]]
    page = (tmp_path / "explain.html").read_text()
    assert page.count("<svg") == (3 if kind == "trees" else 1)
    if kind == "trees":
        gains = dict(zip(lost.names, ranker.importance("gain").values, strict=True))
        splits = dict(zip(lost.names, ranker.importance("split").values, strict=True))
        assert {row["feature"]: (row["gain"], row["split"]) for row in found["features"]} == {
            name: (gains[name], splits[name]) for name in lost.names
        }
    else:
        assert "gain" not in text and "gain" not in found["features"][0]
    assert f"when {lost.names[lost.order[0]]} is shuffled" in page


@pytest.mark.parametrize("kind", ["trees", "linear"])
def test_what_put_the_items_of_a_list_there(place, tmp_path, kind):
    words = [place / f"{kind}.luce", place / "test.parquet", "--list", 18, "--top", 3]
    text = call(*words, "--csv", "list.csv", "--report", "why.html")
    found = json.loads(call(*words, "--json"))
    ranker, data = luce.load(place / f"{kind}.luce"), luce.read(place / "test.parquet")
    rows = data.rows(17)
    scores = ranker.predict(data)[rows]
    order = np.argsort(-scores, kind="stable")[:3]
    assert (found["number"], found["size"]) == (18, len(scores)) and found["mean"] == pytest.approx(scores.mean())
    assert [item["row"] for item in found["items"]] == (rows.start + order + 1).tolist()
    why = ranker.explain(data).contributions[rows]
    for item, row in zip(found["items"], order, strict=True):
        assert item["score"] == pytest.approx(scores[row]) and item["label"] == data.labels[rows][row]
        assert item["document"] == data.document_ids[rows.start + row].as_py()
        assert [each["contribution"] for each in item["contributions"]] == pytest.approx(
            (why - why.mean(axis=0))[row].tolist()
        )
        assert item["document"] in text and f"{scores[row]:.4f}".replace("-", "−") in text
    with open("list.csv") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * 8 and float(lines[8]["contribution"]) == pytest.approx(
        found["items"][1]["contributions"][0]["contribution"]
    )
    assert (tmp_path / "why.html").read_text().count("<svg") == 3
    query = data.query_ids[17].as_py()
    words[2:4] = ["--query", query]
    assert json.loads(call(*words, "--json")) == found


def test_a_list_of_one_item(place, tmp_path):
    data = luce.read(place / "test.parquet")
    luce.write(data.take([0])._rows(np.array([0]), np.array([0, 1]), np.array([0])), "one.parquet")
    call(place / "linear.luce", "one.parquet", "--list", 1)
    assert "no feature distinguishes it from the others" in (tmp_path / "explain.html").read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["trees.luce", "--list", 31], "There is no list 31 in .*test.parquet: its lists are 1 to 30"),
        (["trees.luce", "--list", 0], "There is no list 0 .*: its lists are 1 to 30"),
        (["trees.luce", "--query", "q"], "There is no query 'q' in .*The first of its 30 queries are 1, 2, 3, 4, 5"),
        (["trees.luce", "--query", "1", "--list", 1], "either --list or --query, not both"),
        (
            ["neural.luce", "--list", 3],
            "A neural model cannot be explained .* linear models can. Without --list",
        ),
        (["labels.luce"], "ranks labels"),
        (["linear.luce", "--metric", "ndgc"], "There is no metric 'ndgc'"),
    ],
)
def test_refusals_say_what_to_do(place, tmp_path, words, error):
    assert re.search(error, call(place / words[0], place / "test.parquet", *words[1:], fails=True))
    assert not list(tmp_path.iterdir()), "nothing is written"
