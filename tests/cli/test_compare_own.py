"""`luce compare --with`: a model or scores of the user's own in the comparison."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.report import write_report

RUN = CliRunner()
NAMES = ["price", "days old", "rating"]


def lists(n_lists, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(3, 8 * n_lists))
    label = np.digitize(features[0] - features[2] + rng.normal(size=8 * n_lists), [0.5, 1.5])
    table = {"query": np.repeat(np.arange(n_lists), 8), "label": label, **dict(zip(NAMES, features, strict=True))}
    return pa.table(table | {"bm25": label + rng.normal(size=8 * n_lists) * 1e-9 + 1})


@pytest.fixture(autouse=True)
def made(tmp_path, monkeypatch):
    """A folder with tables of lists, in which bm25 is nearly the label, and a page without pictures."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(lists(30, 0), "train.csv")
    csv.write_csv(lists(20, 1).select([5, 4, 0, 1, 2, 3]), "test.csv")  # in another order
    pages = []
    monkeypatch.setattr("luce.report.write_report", lambda path, **contents: pages.append(contents) or path)
    return pages


@pytest.fixture
def booster():
    package = pytest.importorskip("lightgbm")
    train = luce.read("train.csv", features=NAMES)
    data = package.Dataset(np.asarray(train.features), train.labels, group=train.sizes, feature_name=NAMES)
    found = package.train({"objective": "lambdarank", "num_leaves": 4, "verbosity": -1, "num_threads": 1}, data, 5)
    found.save_model("model.txt")
    return found


def call(*words, status=0):
    words = ["compare", "train.csv", "--objectives", "listnet", "--one-process", "--threads", "1", *words]
    result = RUN.invoke(app, words)
    assert result.exit_code == status, f"{words}: {result.output} {result.exception!r}"
    return result if not status else str(result.exception)


def test_a_model_of_luce_brings_its_categories():
    for name in ("train", "test"):
        table = csv.read_csv(f"{name}.csv")
        shops = np.random.default_rng(2).choice(["a", "b", "c"][name == "test" :], table.num_rows)  # other numbers
        csv.write_csv(table.append_column("shop", [shops]).drop_columns("bm25"), f"{name}.csv")
    ranker = luce.LinearRanker("listnet").fit(luce.read("train.csv"))
    ranker.save("own.luce")
    found = json.loads(call("--test", "test.csv", "--with", "mine=own.luce", "--models", "linear", "--json").stdout)
    test = luce.read("test.csv")
    expected = luce.evaluate(ranker.predict(test), test, "ndcg@10").means["ndcg@10"]
    assert found["results"]["mine"]["metrics"]["ndcg@10"]["mean"] == pytest.approx(expected)


def test_a_model_and_a_column_are_rows_of_the_comparison(booster, made):
    words = ["--test", "test.csv", "--with", "mine=model.txt", "--with", "search engine=bm25", "--seeds", "2"]
    found = json.loads(call(*words, "--json").stdout)
    test = luce.read("test.csv", features=NAMES)
    own = luce.evaluate(booster.predict(np.asarray(test.features)), test, "ndcg@10").means["ndcg@10"]
    assert list(found["results"]) == ["mine", "search engine", "linear listnet"]
    assert found["results"]["mine"]["metrics"]["ndcg@10"]["mean"] == pytest.approx(own)
    # Its scores are told apart only as float64, and it is no feature of the other methods.
    assert found["results"]["search engine"]["metrics"]["ndcg@10"]["mean"] == pytest.approx(1)
    assert found["results"]["linear listnet"]["metrics"]["ndcg@10"]["mean"] < 0.99
    origins = {"mine": "LightGBM model, 5 trees, file model.txt", "search engine": "scores in column bm25"}
    assert found["origins"] == origins
    assert [each["name"] for each in found["tests"] if each["metric"] == "ndcg@10"] == list(found["results"])[1:]
    assert found["tests"][0]["baseline"] == "mine" and found["costs"]["mine"]["fit_seconds"] is None
    assert made[0]["origins"] == origins and made[0]["settings"]["mine"] == origins["mine"]
    assert made[0]["dataset"].feature_names == tuple(NAMES)
    printed = call(*words, "--baseline", "linear listnet")
    (row,) = (line for line in printed.stdout.splitlines() if line.startswith("mine"))
    assert row.split()[-3:] == ["–", "–", "–"]
    assert "search engine: scores in column bm25" in printed.stderr
    assert "Compared with linear listnet (" in printed.stderr


def test_the_page_of_a_model_of_ones_own(booster, monkeypatch):
    monkeypatch.setattr("luce.report.write_report", write_report)
    call("--test", "test.csv", "--with", "mine=model.txt", "--set", "max_iter=3", "--metrics", "ndcg@10")
    assert "LightGBM model, 5 trees, file model.txt" in Path("comparison.html").read_text("utf-8")


def test_scores_as_text_order_them_and_not_as_float32():
    table = csv.read_csv("test.csv")
    close = table.set_column(0, "bm25", pa.array(1 + table.column("label").to_numpy() * 1e-9))
    csv.write_csv(close, "test.csv", csv.WriteOptions(delimiter=";"))  # which is found by itself
    found = json.loads(call("--test", "test.csv", "--with", "bm25=bm25", "--json").stdout)
    assert found["results"]["bm25"]["metrics"]["ndcg@10"]["mean"] == 1


def test_features_are_matched_by_name_or_else_by_position(booster):
    def mean_of(ending):
        words = ["compare", f"train{ending}", "--test", f"test{ending}", "--objectives", "listnet", "--one-process"]
        result = RUN.invoke(app, [*words, "--threads", "1", "--with", "mine=model.txt", "--json"])
        return json.loads(result.stdout)["results"]["mine"]["metrics"]["ndcg@10"]["mean"], result.stderr

    for name in ("train", "test"):
        data = luce.read(f"{name}.csv", features=NAMES[::-1])
        luce.write(data, f"{name}.luce-data")
        luce.write(data.with_features(data.features[:, ::-1]), f"{name}.txt")
    by_column, said = mean_of(".csv")
    assert "position" not in said
    by_name, said = mean_of(".luce-data")
    assert by_name == pytest.approx(by_column) and "position" not in said
    by_position, said = mean_of(".txt")
    assert by_position == pytest.approx(by_column)
    assert "The 3 features of mine are matched by position: test.txt has no feature names." in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--with", "mine=model.txt"], "--with needs --test. A model that is trained already may"),
        (["--folds", "3", "--with", "mine=model.txt"], "--with needs --test"),
        (["--test", "test.csv", "--with", "bm25"], "must be NAME=FILE or NAME=COLUMN"),
        (["--test", "test.csv", "--with", "a=bm25", "--with", "a=price"], "each name once"),
        (["--test", "test.csv", "--with", "linear listnet=bm25"], "has the name of a method"),
        (["--test", "test.csv", "--with", "a=bm52"], "there is no file bm52, and test.csv has no such column: bm25, "),
        (["--test", "test.csv", "--with", "a=train.csv"], "train.csv is not a model file of a known format"),
        (["--test", "test.csv", "--with", "a=m.pkl"], "A pickle can run any code"),
        (["--test", "test.csv", "--with", "a=holes"], "It is empty in 2 of 160 rows, the first in list 3."),
        (
            ["--test", "test.csv", "--with", "a=bm25", "--baseline", "b"],
            "must be one of the methods: a, linear listnet",
        ),
        (["--test", "test.csv", "--with", "a=model.txt", "--report", "model.txt"], "would overwrite the data"),
        (["--test", "less.parquet", "--with", "a=model.txt"], "trained with 3 features, of which less.parquet lacks 1"),
    ],
)
def test_errors_come_before_the_work(words, said, booster, monkeypatch):
    Path("m.pkl").write_bytes(b"")
    table = csv.read_csv("test.csv")
    holes = np.where(np.isin(np.arange(160), [30, 31]), np.nan, 1.0)
    csv.write_csv(table.append_column("holes", pa.array(holes, from_pandas=True)), "test.csv")
    others = table.rename_columns([name.replace("rating", "stars") for name in table.column_names])
    pyarrow.parquet.write_table(others, "less.parquet")
    if "less.parquet" in words:
        csv.write_csv(csv.read_csv("train.csv").drop_columns(["rating"]), "train.csv")
    monkeypatch.setattr("luce.experiments.comparison.compare_rankers", lambda *a, **b: pytest.fail("work began"))
    assert said in call(*words, status=1)
