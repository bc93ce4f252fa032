"""Files that are there: a model or data are replaced on demand only, a page or a table is said to be."""

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search

TRAIN = ["train", "judged.txt", "--model", "linear", "--set", "max_iter=2", "--threads", 1]
TUNE = ["tune", "judged.txt", "--model", "linear", "--trials", 1, "--folds", 2, "--set", "max_iter=2", "--threads", 1]


def call(*words, code=0):
    result = CliRunner().invoke(app, list(map(str, words)))
    assert (result.exit_code != 0) == (code != 0), f"{result.output} {result.exception!r}"
    return f"{result.stderr} {result.exception}"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    luce.write(web_search(30, n_features=3, mean_length=6).dataset, "judged.txt")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [[*TRAIN, "-o", "out"], [*TUNE, "-o", "out"], ["convert", "judged.txt", "out.csv"], ["demo", "--directory", "."]],
)
def test_a_model_and_data_are_replaced_on_demand_only(place, words):
    out = place / {"convert": "out.csv", "demo": "model.luce"}.get(words[0], "out")
    out.write_text("precious")
    listed = sorted(place.iterdir())
    assert f"{out.name} already exists. Add --overwrite to replace it" in call(*words, code=1)
    assert out.read_text() == "precious" and sorted(place.iterdir()) == listed, "before any work"
    call(*words, "--overwrite", *(["--lists", 30] if words[0] == "demo" else []))
    assert out.read_bytes() != b"precious"


def test_resuming_replaces_the_model_of_the_interrupted_training(place):
    (place / "model.luce").write_text("the best so far")
    assert "already exists" in call(*TRAIN, "--resume", code=1), "there is nothing to resume"
    luce.LinearRanker(max_iter=2, n_jobs=1).fit(
        luce.read("judged.txt"), checkpoint=luce.Checkpoint("model.luce.checkpoint", steps=1)
    )
    assert "already exists" in call(*TRAIN, code=1)
    call(*TRAIN, "--resume")
    assert luce.load("model.luce").n_features_in_ == 3


def test_more_trials_replace_the_model_of_the_first(place):
    assert "(replaced)" not in call(*TUNE)
    assert "Report: tuning.html (replaced)" in call(*TUNE, "--trials", 2)


def test_a_ranking_a_table_and_a_page_are_replaced_and_it_is_said(place):
    luce.LinearRanker(n_jobs=1).fit(luce.read("judged.txt")).save("a.luce")
    luce.write(luce.read("judged.txt").take(np.arange(4)), "few.txt")
    rank = ["rank", "a.luce", "few.txt", "-o", "a.run"]
    explain = ["explain", "a.luce", "few.txt", "--repeats", 1, "--csv", "worth.csv"]
    evaluate = ["evaluate", "a.luce", "few.txt", "--report", "page.html"]
    for words, names in ((rank, ["a.run"]), (explain, ["worth.csv", "explain.html"]), (evaluate, ["page.html"])):
        assert "(replaced)" not in call(*words)
        said = call(*words)
        assert all(f"{name} (replaced)" in said for name in names)


def test_a_stream_is_not_replaced():
    assert "(replaced)" not in call(*TRAIN, "-o", "/dev/null")
