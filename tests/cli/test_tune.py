"""`luce tune`: a model, a page and figures; the same command goes on; errors that say what to do."""

import json
import re
import sys
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app, main
from luce.cli.tune import _ranges
from luce.data.synthetic import tagged_documents, web_search
from luce.options import Choice, Range

QUICK = ["--threads", 1, "--folds", 2, "--set", "n_estimators=5"]


def call(*words, code=0):
    result = CliRunner().invoke(app, ["tune", *(str(word) for word in words)])
    assert result.exit_code == code, f"{result.output} {result.exception!r}"
    return str(result.exception) if code == 1 else result


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    luce.write(web_search(30, n_features=5, mean_length=12).dataset, "judged.txt")
    return tmp_path


def test_the_best_model_a_page_and_figures(place):
    words = ["judged.txt", *QUICK, "--trials", 6, "--option", "tol=1e-8", "--vary", "num_leaves=3:6"]
    found = json.loads(call(*words, "--metric", "ndcg@5", "--json").stdout)
    best = max((trial for trial in found["trials"] if trial["state"] == "complete"), key=lambda trial: trial["value"])
    assert found["best"]["params"] == best["params"] and found["best"]["value"] == best["value"]
    assert found["metric"] == "ndcg@5" and len(found["trials"]) == 6
    assert {3, 4, 5, 6} >= {trial["params"]["num_leaves"] for trial in found["trials"]}
    ranker = luce.load("best.luce")
    assert ranker.metric == "ndcg@5"
    assert ranker.n_estimators == found["best"]["n_estimators"] == round(np.mean(best["best_iterations"]))
    assert ranker.num_leaves == best["params"]["num_leaves"] and ranker.objective.options["tol"] == 1e-8
    page = (place / "tuning.html").read_text()
    assert f"Trial {best['number']} of 6 has the best ndcg@5, {best['value']:.4f}" in re.sub(r"\s+", " ", page)
    assert page.count("<svg") == 1 + bool(found["importance"]) + len(best["params"])
    assert "min_child_samples" in page and "Reproduce" in page
    assert "http" not in page.split("Versions")[0].replace("http-equiv", "")


def test_the_same_command_goes_on(place):
    first = call("judged.txt", *QUICK, "--trials", 2, "-o", "model.luce", "--report", "a[b].html")
    assert "Report: a[b].html" in first.stderr
    assert re.search(r"Trial +ndcg@10", first.stdout) and (place / "model.luce.study").exists()
    found = call("judged.txt", *QUICK, "--trials", 3, "-o", "model.luce", "--json")
    assert "Resuming with the trials in model.luce.study" in found.stderr
    assert len(json.loads(found.stdout)["trials"]) == 3
    error = call("judged.txt", *QUICK, "--trials", 3, "-o", "model.luce", "--seed", 1, code=1)
    assert "model.luce.study is another study: its random_state was 0, now it is 1." in error


def test_validation_lists_and_another_model(place):
    luce.write(web_search(12, n_features=5, mean_length=12, seed=1).dataset, "vali.txt")
    words = ["--model", "linear", "--objective", "listmle", "--set", "max-iter=5", "--trials", 3, "--threads", 1]
    found = json.loads(call("judged.txt", "--validation", "vali.txt", *words, "--json").stdout)
    assert set(found["best"]["params"]) == {"reg_lambda", "depth"}
    best = luce.load("best.luce")
    assert best.score(luce.read("vali.txt")) == pytest.approx(found["best"]["value"], abs=1e-12)
    assert "early stopping on the validation data" in (place / "tuning.html").read_text()


def test_tagged_rows():
    luce.write_tagged(tagged_documents(60, n_words=20, n_labels=8), "tagged.txt")
    words = ["--model", "labels", "--set", "epochs=2", "--set", "device=cpu", "--vary", "hidden_layer_sizes=4/8,4"]
    found = json.loads(call("tagged.txt", *words, "--folds", 2, "--trials", 2, "--threads", 1, "--json").stdout)
    assert found["metric"] == "precision@5" and {tuple(t["params"]["hidden_layer_sizes"]) for t in found["trials"]} <= {
        (4,),
        (8, 4),
    }


def test_an_interrupt_writes_the_best_model_so_far(place, monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which main sets for good
    told, fit = [], luce.LinearRanker.fit

    def until_the_fourth(self, *given, **more):
        told.append(self)
        if len(told) == 4:  # the second fold of the second trial
            raise KeyboardInterrupt
        return fit(self, *given, **more)

    def interrupted(*words):
        monkeypatch.setattr(sys, "argv", ["luce", "tune", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 130
        return capsys.readouterr().err

    monkeypatch.setattr(luce.LinearRanker, "fit", until_the_fourth)
    words = ["judged.txt", "--model", "linear", "--folds", 2, "--trials", 5, "--threads", 1]
    assert "Interrupted after 1 trial." in interrupted(*words) and luce.load("best.luce").n_features_in_ == 5
    told.extend([None] * 4)
    assert "of 5 has the best" in call(*words).stderr
    (place / "best.luce.study").unlink()
    (place / "best.luce").unlink()
    told[:] = [None] * 3
    assert "before there was a model" in interrupted(*words)


def test_a_trial_that_fails_is_told(monkeypatch):
    fit = luce.LinearRanker.fit

    def touchy(self, *given, **more):
        if self.reg_lambda > 10:
            raise luce.DataError("too [strong] a prior")
        return fit(self, *given, **more)

    monkeypatch.setattr(luce.LinearRanker, "fit", touchy)
    result = call("judged.txt", "--model", "linear", "--folds", 2, "--trials", 6, "--threads", 1)
    assert re.search(r"Note: trial \d failed: too \[strong\] a prior", result.stderr)


def test_the_words_of_a_range():
    given = ["num_leaves=4:64:log", "learning-rate=0.01:0.3", "split-hessian=constant/diagonal", "depth=none/10"]
    assert _ranges(given, luce.TreeRanker()) == {
        "num_leaves": Range(4, 64, log=True),
        "learning_rate": Range(0.01, 0.3),
        "split_hessian": Choice(("constant", "diagonal")),
        "depth": Choice((None, 10)),
    }
    assert _ranges(["hidden_layer_sizes=64/64,32"], luce.NeuralRanker())["hidden_layer_sizes"] == Choice(
        ((64,), (64, 32))
    )


@pytest.mark.parametrize(
    "word", ["leaves", "num_leaves=4", "num_leaves=4:", "num_leaves=4:8:square", "num_leaves=4:8:log:2", "=4:8"]
)
def test_other_words_are_refused(word):
    assert "--vary must be KEY=LOW:HIGH" in call("judged.txt", "--vary", word, code=1)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--model", "shrub"], "There is no model 'shrub'"),
        (["--set", "num_leafs=4"], "Did you mean 'num_leaves'"),
        (["--vary", "num_leafs=4:8"], "Did you mean 'num_leaves'"),
        (["--set", "num_leaves=8", "--vary", "num_leaves=4:8"], "leaves cannot be both varied and fixed"),
        (["--metric", "ndgc"], "Did you mean 'ndcg'"),
        (["-o", "nowhere/best.luce"], "there is no directory nowhere"),
        (["-o", "."], "is a directory"),
        (["-o", "judged.txt"], "judged.txt would overwrite the data"),
        (["--report", "best.luce"], "best.luce would overwrite the data or another output"),
    ],
)
def test_errors_say_what_to_do(words, error):
    assert error in call("judged.txt", *words, code=1)


def test_validation_lists_may_lack_the_last_features(monkeypatch):
    monkeypatch.setattr("luce.report.tuning.write_tuning", lambda path, *arguments, **words: path)
    data = luce.read("judged.txt")
    luce.write(luce.Dataset(data.features[:, :3], data.labels, data.offsets), "vali.txt")
    words = ["--model", "linear", "--set", "max-iter=2", "--trials", 1, "--threads", 1, "--json"]
    assert len(json.loads(call("judged.txt", "--validation", "vali.txt", *words).stdout)["trials"]) == 1
