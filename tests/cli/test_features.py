"""The commands say which features they use, and which may give the label away."""

import json

import numpy as np
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import luce
from luce.cli import app, main
from luce.data.synthetic import web_search

RUN = CliRunner()
ADVICE = "To leave them out: --read exclude=click_count,grade2"
NAMES = ["bm25", "click_count", "length", "grade2"]
FAST = ["--threads", "1", "--set", "max_iter=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables with a feature that is suspicious by name and one that is so by value, one with neither, and text."""
    place = tmp_path_factory.mktemp("features")
    for seed, name in enumerate(("other", "shop")):
        data = web_search(40, n_features=3, mean_length=6, seed=seed).dataset
        features = np.column_stack([data.features, 10 * data.labels])
        named = luce.Dataset(features, data.labels, data.offsets, feature_names=tuple(NAMES))
        luce.write(named, place / f"{name}.csv")
    luce.write(luce.Dataset(features, data.labels, data.offsets), place / "shop.txt")
    csv.write_csv(csv.read_csv(place / "shop.csv").drop(["click_count", "grade2"]), place / "clean.csv")
    return place


def run(*words):
    result = RUN.invoke(app, [*map(str, words)])
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout, " ".join(result.stderr.split())


def test_inspect_lists_features_and_warns(folder):
    shown, said = run("inspect", folder / "shop.csv")
    assert "bm25, click_count, length, grade2" in shown
    assert "Note: Features that may give the label away" in said
    assert "click_count: its name suggests that it was recorded after" in said
    assert "grade2: it orders the items of nearly every list as the labels do" in said
    assert said.endswith(ADVICE)
    facts = json.loads(run("inspect", folder / "shop.csv", "--json")[0])
    assert (facts["features"], facts["feature_names"]) == (4, NAMES)
    assert [each["name"] for each in facts["suspicious_features"]] == ["click_count", "grade2"]


def test_what_is_left_out_is_not_warned_of(folder):
    shown, said = run("inspect", folder / "shop.csv", "--read", "exclude=click*,grade2")
    assert "bm25, length" in shown and said == ""
    assert run("inspect", folder / "shop.csv", "--read", "features=bm25")[1] == ""
    said = run("inspect", folder / "shop.csv", "--read", "exclude=click*")[1]
    assert said.endswith("To leave them out: --read 'exclude=click*,grade2'")


def test_an_option_of_reading_is_given_once(folder):
    words = ["inspect", str(folder / "shop.csv"), "--read", "exclude=bm25", "--read", "exclude=length"]
    assert "--read exclude=… is given twice" in str(RUN.invoke(app, words).exception)


def test_what_is_no_table_gets_other_advice(folder):
    shown, said = run("inspect", folder / "shop.txt")
    assert "4, not named" in shown
    assert "4: it orders the items" in said and said.endswith("To leave them out, write the file without them.")
    assert json.loads(run("inspect", folder / "shop.txt", "--json")[0])["feature_names"] == ["1", "2", "3", "4"]


def test_many_features_are_not_all_printed(tmp_path):
    names = tuple(f"{word}{number}" for word in ("clicks_", "x") for number in range(30))
    luce.write(luce.Dataset(np.eye(60), np.arange(60) % 2, [0, 60], feature_names=names), tmp_path / "wide.csv")
    shown, said = run("inspect", tmp_path / "wide.csv")
    assert "60: clicks_0, clicks_1, clicks_2, clicks_3, clicks_4, … (all of them with --json)" in shown
    assert "clicks_19: " in said and "… and 10 others" in said and "clicks_20" not in said


def test_train_says_its_features_and_leaves_some_out(folder, tmp_path):
    words = ["train", folder / "shop.csv", "--model", "linear", *FAST, "-o", tmp_path / "m.luce"]
    said = run(*words)[1]
    assert "Features: bm25, click_count, length, grade2" in said and said.count(ADVICE) == 1
    summary, said = run(
        *words, "--overwrite", "--json", "--read", "exclude=click_count,grade2", "--validation", folder / "clean.csv"
    )
    assert json.loads(summary)["feature_names"] == ["bm25", "length"]
    assert json.loads(summary)["suspicious_features"] == []
    assert "may give" not in said
    assert luce.load(tmp_path / "m.luce").features == (2, ("bm25", "length"))
    run("rank", tmp_path / "m.luce", folder / "clean.csv", "--read", "exclude=click_count", "-o", tmp_path / "r.csv")


def test_a_feature_of_the_model_cannot_be_left_out(folder, tmp_path):
    run("train", folder / "shop.csv", "--model", "linear", *FAST, "-o", tmp_path / "m.luce")
    words = ["evaluate", tmp_path / "m.luce", folder / "shop.csv", "--read", "exclude=click*"]
    assert RUN.invoke(app, [*map(str, words)]).exit_code != 0


@pytest.mark.parametrize("split", ["folds", "parts", "test"])
def test_compare_warns_once(folder, tmp_path, monkeypatch, split):
    monkeypatch.chdir(tmp_path)
    data = {"folds": ["--folds", 2], "parts": [folder / "other.csv"], "test": ["--test", folder / "other.csv"]}[split]
    words = ["compare", folder / "shop.csv", *data, "--models", "linear", "--objectives", "listmle", "--one-process"]
    assert run(*words, *FAST)[1].count(ADVICE) == 1


def test_tune_warns_once(folder, tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    words = ["tune", folder / "shop.csv", "--model", "linear", "--trials", 1, "--folds", 2, *FAST]
    assert run(*words)[1].count(ADVICE) == 1


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["train", "a.csv", "--n-estimators", "9"], "option: --n-estimators. Did you mean '--set n_estimators=…'?"),
        (["train", "a.csv", "--lr", "9"], "Did you mean '--set learning_rate=…'? See luce train --help."),
        (["train", "a.csv", "--eval-set", "b.csv"], "Did you mean '--validation'?"),
        (["inspect", "a.csv", "--label", "y"], "Did you mean '--read label=…'? See luce inspect --help."),
        (["train", "a.csv", "--sample-weight", "w"], "Did you mean '--read weight=…'?"),
        (["train", "a.csv", "--seeds", "1"], "Did you mean '--seed'?"),
        (["aggregate", "a.csv", "--ranker", "judge"], "Did you mean '--read ranker=…'?"),
        (["rank", "m.luce", "a.csv", "--zzz", "1"], "No such option: --zzz. See luce rank --help."),
    ],
)
def test_an_unknown_option_gets_what_was_meant(words, meant, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["luce", *words])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert meant in error and error.count("\n") == 1


def test_a_parameter_of_another_library_gets_what_was_meant():
    result = RUN.invoke(app, ["train", "a.csv", "--model", "linear", "--set", "n_estimators=5"])
    assert "'n_estimators'. Did you mean 'max_iter'?" in str(result.exception)
