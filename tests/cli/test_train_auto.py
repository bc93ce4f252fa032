"""`luce train` without a model chooses one and says why; `--model ensemble` makes a file that every command takes."""

import json
import sys
from functools import partial

import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search
from luce.experiments import auto
from luce.rankers import EnsembleRanker, LinearRanker, TreeRanker

TREES = {"n_estimators": 5, "num_leaves": 4, "min_child_samples": 2, "n_jobs": 1}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three parts of made data, and candidates that take no time."""
    for seed, name in enumerate(("train", "validation", "test")):
        luce.write(web_search(30, n_features=6, mean_length=8, seed=seed).dataset, tmp_path / f"{name}.txt")
    monkeypatch.chdir(tmp_path)
    for name, settings in (("trees", TREES), ("bagged trees", TREES)):
        candidate = auto.CANDIDATES[name]
        quick = lambda make=candidate.make, settings=settings, **params: make(**{**params, **settings})  # noqa: E731
        monkeypatch.setitem(auto.CANDIDATES, name, candidate._replace(make=quick))
    members = [("linear", LinearRanker(n_jobs=1)), ("trees", TreeRanker(**TREES))]
    quick = auto.CANDIDATES["linear and trees"]._replace(make=partial(EnsembleRanker, members))
    monkeypatch.setitem(auto.CANDIDATES, "linear and trees", quick)
    return tmp_path


def call(*words, fails=False):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert (result.exit_code != 0) == fails, f"{words}: {result.output} {result.exception!r}"
    return result


@pytest.mark.parametrize("more", [[], ["--validation", "validation.txt"], ["--model", "auto"]], ids=str)
def test_the_choice_is_told_and_fitted(folder, more):
    result = call("train", "train.txt", "-o", "m.luce", "--threads", 1, "--budget", 300, "--json", *more)
    found = json.loads(result.stdout)["choice"]
    assert [each["name"] for each in found["candidates"]] == list(auto.CANDIDATES)
    assert all(0 < each["mean"] < 1 and each["error"] > 0 and not each["note"] for each in found["candidates"])
    for each in found["candidates"]:
        assert f"{each['name']}: ndcg@10 {each['mean']:.4f}, standard error {each['error']:.4f}" in result.stderr
    assert f"Selected: {found['reason']}." in result.stderr
    assert auto.CANDIDATES[found["model"]].command in result.stderr
    kinds = {"linear": "linear", "trees": "trees", "bagged trees": "trees", "linear and trees": "ensemble"}
    ranker = luce.load("m.luce")
    assert ranker.kind == kinds[found["model"]]
    assert ranker.n_bags == (auto.BAGS if found["model"] == "bagged trees" else 1)
    assert "--validation" not in more or ranker.best_score_ is not None


def test_without_time_it_is_linear(folder):
    result = call("train", "train.txt", "-o", "m.luce", "--budget", 0)
    assert "linear: not tried: the budget of 0 s is used up" in result.stderr
    assert luce.load("m.luce").kind == "linear"


@pytest.mark.parametrize("words", [["--objective", "listnet"], ["--set", "max_iter=3"]], ids=lambda words: words[0])
def test_what_names_the_training_keeps_it_linear(folder, words):
    result = call("train", "train.txt", "-o", "m.luce", *words)
    assert "Selected" not in result.stderr
    assert luce.load("m.luce").kind == "linear"


def test_what_does_not_go_with_a_choice(folder):
    for words, said in (
        (["--model", "auto", "--objective", "listnet"], "chooses the ranker itself. Name a model to use --objective."),
        (["--model", "auto", "--set", "max_iter=3"], "Name a model to use --set."),
        (["--resume"], "--resume needs the --model of the interrupted training"),
        (["--init-model", "m.luce"], "needs --model trees"),
    ):
        assert said in str(call("train", "train.txt", *words, fails=True).exception)


def test_an_interrupt_says_how_to_resume(folder, monkeypatch):
    def interrupted(ranker, dataset, validation, title, checkpoint, **_):
        ranker.fit(dataset, checkpoint=checkpoint)
        checkpoint.path.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["luce.cli.train"], "fit", interrupted)
    result = call("train", "train.txt", "-o", "m.luce", "--budget", 0, fails=True)
    assert "run the same command with --model linear --resume." in result.stderr


def test_an_interrupt_before_the_choice(folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(auto, "choose_ranker", interrupted)
    result = call("train", "train.txt", "-o", "m.luce", fails=True)
    assert "Interrupted before there was a model to save." in result.stderr
    assert not (folder / "m.luce").exists()


def test_commands_take_the_file_of_an_ensemble(folder, monkeypatch):
    members = lambda self, seed: [("linear", LinearRanker(n_jobs=1)), ("trees", TreeRanker(**TREES))]  # noqa: E731
    monkeypatch.setattr(EnsembleRanker, "_named", members)
    summary = call("train", "train.txt", "--validation", "validation.txt", "--model", "ensemble", "-o", "m.luce")
    assert "m.luce: 2 members, best 2, ndcg@10" in summary.stderr
    assert "ndcg@10" in call("evaluate", "m.luce", "test.txt").stdout
    assert call("rank", "m.luce", "test.txt", "--top", 1).stdout.count("\n") == 31
    why = json.loads(call("explain", "m.luce", "test.txt", "--query", 4, "--threads", 1, "--json").stdout)
    for item in why["items"]:
        added = sum(each["contribution"] for each in item["contributions"])
        assert item["score"] == pytest.approx(why["mean"] + added, abs=1e-6)
    assert "features" in json.loads(call("explain", "m.luce", "test.txt", "--repeats", 1, "--json").stdout)
    said = str(call("train", "train.txt", "--model", "ensemble", "--set", "estimators=1", fails=True).exception)
    assert "setting of the ensemble ranker 'estimators'" in said
