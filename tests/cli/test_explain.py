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
    assert re.search(f"when (feature )?(<bdi>)?{lost.names[lost.order[0]]}(</bdi>)? is shuffled", page)


@pytest.mark.parametrize("kind", ["trees", "linear"])
def test_what_put_the_items_of_a_list_there(place, tmp_path, kind):
    words = [place / f"{kind}.luce", place / "test.parquet", "--query", 18, "--top", 3]
    text = call(*words, "--csv", "list.csv", "--report", "why.html")
    found = json.loads(call(*words, "--json"))
    ranker, data = luce.load(place / f"{kind}.luce"), luce.read(place / "test.parquet")
    rows = data.rows(17)
    scores = ranker.predict(data)[rows]
    order = np.argsort(-scores, kind="stable")[:3]
    assert (found["query"], found["size"]) == ("18", len(scores)) and found["mean"] == pytest.approx(scores.mean())
    assert [item["row"] for item in found["items"]] == (rows.start + order + 1).tolist()
    why = ranker.explain(data).contributions[rows]
    for item, row in zip(found["items"], order, strict=True):
        assert item["score"] == pytest.approx(scores[row]) and item["label"] == data.labels[rows][row]
        assert item["document"] == data.document_ids[rows.start + row].as_py()
        assert [each["contribution"] for each in item["contributions"]] == pytest.approx(
            (why - why.mean(axis=0))[row].tolist()
        )
        assert item["document"] in text and f"{scores[row]:.4f}" in text
    with open("list.csv") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * 8 and float(lines[8]["contribution"]) == pytest.approx(
        found["items"][1]["contributions"][0]["contribution"]
    )
    assert (tmp_path / "why.html").read_text().count("<svg") == 3
    first = found["items"][0]
    assert f"Item {first['document']} is ranked first of the {len(scores)} items of query 18, mostly" in text


@pytest.mark.parametrize("kind", ["trees", "linear", "neural"])
def test_why_an_item_is_ranked_there(place, tmp_path, kind):
    ranker, data = luce.load(place / f"{kind}.luce"), luce.read(place / "test.parquet")
    query = data.query_ids[17].as_py()
    last = ranker.rank(data.take([17])).to_pylist()[-1]
    words = [place / f"{kind}.luce", place / "test.parquet", "--query", query, "--item", last["document"]]
    text = call(*words, "--csv", "item.csv", "--report", "why.html", "--top", 2)
    facts = json.loads(call(*words, "--json"))
    expected = luce.explain_item(ranker, data, query, last["document"])
    assert (facts["item"], facts["rank"], facts["size"]) == (last["document"], last["rank"], last["rank"])
    assert [each["new_rank"] for each in facts["features"]] == [each.new_rank for each in expected.features]
    assert re.search(rf"Item {last['document']} is ranked {last['rank']}\w\w of the {last['rank']} items of", text)
    moves, page = expected.moves(), (tmp_path / "why.html").read_text()
    assert f"it would be {moves[0].new_rank}" in text and f"it would be {moves[0].new_rank}" in page
    assert ("Difference in contribution" in text) == (kind != "neural") == ("What costs it" in page)
    assert page.count("<svg") == (1 if kind == "neural" else 2)
    with open("item.csv") as file:
        assert [int(row["new_rank"]) for row in csv.DictReader(file)] == [each.new_rank for each in expected.features]


def test_a_list_of_one_item(place, tmp_path):
    data = luce.read(place / "test.parquet")
    luce.write(data.take([0])._rows(np.array([0]), np.array([0, 1]), np.array([0])), "one.parquet")
    query = data.query_ids[0].as_py()
    call(place / "linear.luce", "one.parquet", "--query", query)
    assert "no feature distinguishes it from the others" in (tmp_path / "explain.html").read_text()
    item = data.document_ids[0].as_py()
    assert f"{item} is ranked 1st of the 1 item of" in call(
        place / "linear.luce", "one.parquet", "--query", query, "--item", item
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["trees.luce", "--query", "q"], "There is no query 'q' among the 30: 1, 2, 3, 4, 5, …"),
        (["trees.luce", "--query", "1", "--item", "x"], "There is no item 'x' among the .* of query 1: 1-1, 1-2"),
        (["trees.luce", "--item", "x"], "--item x needs --query"),
        (["neural.luce", "--query", 3], "scores of a neural model are not sums .* Add --item"),
        (["labels.luce"], "ranks the labels of rows"),
        (["linear.luce", "--metric", "ndgc"], "There is no metric 'ndgc'"),
    ],
)
def test_refusals_say_what_to_do(place, tmp_path, words, error):
    assert re.search(error, call(place / words[0], place / "test.parquet", *words[1:], fails=True))
    assert not list(tmp_path.iterdir()), "nothing is written"
