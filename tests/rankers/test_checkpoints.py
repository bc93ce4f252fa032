"""Checkpoints: a training that was cut off anywhere ends in the same bits, and none is lost or mixed up."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

import luce
from luce.errors import DataError, OptionError
from luce.rankers import Checkpoint, LinearRanker, NeuralRanker, TreeRanker
from luce.storage import open_model, save_model

from .made import parts


class Cut(Exception):
    """The power fails."""


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=30)


def rankers():
    # Five batches a pass and three steps an epoch: it is cut in the middle of both.
    small = {
        "hidden_layer_sizes": (8,),
        "batch_size": 7,
        "steps_per_epoch": 3,
        "epochs": 4,
        "device": "cpu",
        "n_jobs": 1,
    }
    few = {"n_estimators": 7, "num_leaves": 4, "min_child_samples": 5, "n_jobs": 1}
    return {
        "trees": TreeRanker(**few),
        "trees of samples": TreeRanker("pl-rank-2", subsample=0.5, colsample_bytree=0.3, **few),
        "trees of random splits": TreeRanker(
            lightgbm_params={"extra_trees": True, "feature_fraction_bynode": 0.5}, **few
        ),
        "trees, tie parameter": TreeRanker("pairties-davidson", **few),
        "trees, grades": TreeRanker("mcrank", **few),
        "trees of LightGBM's own": TreeRanker(lightgbm_objective="lambdarank", **few),
        "adam, dropout": NeuralRanker(dropout=0.3, **small),
        "attention, batch norm": NeuralRanker(context="attention", normalization="batch", **small),
        "adagrad": NeuralRanker(optimizer="adagrad", **small),
        "sgd, tie parameter": NeuralRanker("pairties-davidson", optimizer="sgd", **small),
        "several rates": NeuralRanker("listnet", learning_rate=[1e-3, 1e-2], **small),
        "lbfgs": LinearRanker(max_iter=8, n_jobs=1),
        "gradient descent": LinearRanker("pmop-gibbs", max_iter=5, batch_size=7, n_jobs=1),
        "coordinate ascent": LinearRanker(optimizer="coordinate-ascent", max_iter=5, restarts=3, tol=0.0, n_jobs=1),
    }


@pytest.mark.parametrize("name", rankers())
def test_going_on_ends_in_the_same_bits(data, name, tmp_path, monkeypatch):
    train, validation = data["train"], data["validation"]
    whole = rankers()[name].fit(train, validation=validation)
    path = tmp_path / "cut.checkpoint"
    saved = Checkpoint.save
    for after in (1, 3):  # the power fails right after the first checkpoint, and again later
        count = 0

        def save_and_fail(self, *arguments, after=after):
            nonlocal count
            saved(self, *arguments)
            count += 1
            if count == after:
                raise Cut

        monkeypatch.setattr(Checkpoint, "save", save_and_fail)
        with pytest.raises(Cut):
            rankers()[name].fit(
                train, validation=validation, checkpoint=Checkpoint(path, steps=2, resume=path.exists())
            )
    monkeypatch.setattr(Checkpoint, "save", saved)
    again = rankers()[name].fit(train, validation=validation, checkpoint=Checkpoint(path, resume=True))
    assert again.history_ == whole.history_
    assert again.best_iteration_ == whole.best_iteration_
    for key, array in whole.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[key], array)


def test_a_resumed_training_does_not_repeat_what_is_done(data, tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    ranker = NeuralRanker(hidden_layer_sizes=(8,), steps_per_epoch=5, epochs=3, device="cpu", n_jobs=1)
    first = ranker.fit(data["train"], checkpoint=Checkpoint(path)).history_
    steps = []
    monkeypatch.setattr("luce.rankers.neural.learner.NetworkLearner.step", lambda *a: steps.append(a) or 0.0)
    assert ranker.fit(data["train"], checkpoint=Checkpoint(path, resume=True)).history_ == first
    assert not steps
    ranker.set_params(epochs=4).fit(data["train"], checkpoint=Checkpoint(path, resume=True))  # longer than it was
    assert len(steps) == 5


def test_an_interrupt_of_a_resumed_training_keeps_the_best_so_far(data, tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    few = partial(TreeRanker, num_leaves=4, min_child_samples=5, validation_fraction=None, n_jobs=1)
    first = few(n_estimators=2).fit(data["train"], checkpoint=path)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("luce.rankers.trees.learner.TreeLearner.grow", stop)
    again = few(n_estimators=3)
    with pytest.raises(KeyboardInterrupt):
        again.fit(data["train"], checkpoint=Checkpoint(path, resume=True))
    assert again.forest_ == first.forest_


def test_an_earlier_checkpoint_is_never_overwritten(data, tmp_path):
    path = tmp_path / "a.checkpoint"
    LinearRanker(max_iter=3).fit(data["train"], checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"earlier training.*resume=True.*or remove it"):
        LinearRanker().fit(data["train"], checkpoint=path)
    for other, words in (
        (LinearRanker(reg_lambda=3.0), "its reg_lambda was 10.0, now it is 3.0"),
        (LinearRanker("listnet"), "its objective was 'c-kl', now it is 'listnet'"),
        (NeuralRanker(), "its kind was 'linear', now it is 'neural'"),
    ):
        with pytest.raises(DataError, match=words):
            other.fit(data["train"], checkpoint=Checkpoint(path, resume=True))
    train = data["train"]
    weighted = luce.Dataset(train.features, train.labels, train.offsets, list_weights=np.arange(1.0, train.n_lists + 1))
    for other in (data["test"], weighted, train.with_features(2 * train.features)):
        with pytest.raises(DataError, match="its data was"):
            LinearRanker().fit(other, checkpoint=Checkpoint(path, resume=True))
    assert path.read_bytes() == before


def test_when_it_is_due(tmp_path, monkeypatch):
    now = 0.0
    monkeypatch.setattr("luce.rankers.checkpoint.time.monotonic", lambda: now)
    by_time = Checkpoint(tmp_path / "a", minutes=2)
    assert not by_time.due(1)
    now = 119.0
    assert not by_time.due(1)
    now = 121.0
    assert by_time.due(2)
    by_time.save({}, {})
    assert not by_time.due(3)
    by_steps = Checkpoint(tmp_path / "b", minutes=None, steps=3)
    assert [by_steps.due(step) for step in range(1, 7)] == [False, False, True, False, False, True]
    for settings in ({"minutes": 0}, {"steps": 0}, {"steps": 1.5}):
        with pytest.raises(OptionError, match="Got"):
            Checkpoint(tmp_path / "c", **settings)


def test_a_damaged_checkpoint_is_refused(data, tmp_path):
    path = tmp_path / "a.checkpoint"
    ranker = NeuralRanker(hidden_layer_sizes=(8,), epochs=2, device="cpu", n_jobs=1)
    ranker.fit(data["train"], checkpoint=path)
    manifest, arrays = open_model(path, ("checkpoint",))
    del manifest["progress"]["history"]
    save_model(path, manifest, arrays)
    with pytest.raises(DataError, match="lacks what is needed to resume"):
        ranker.fit(data["train"], checkpoint=Checkpoint(path, resume=True))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="damaged or not a Luce model file"):
        ranker.fit(data["train"], checkpoint=Checkpoint(path, resume=True))


def place_of(checkpoint):
    return open_model(checkpoint, ("checkpoint",))[0]["progress"]["place"]


def command(folder, *more, epochs=25):
    words = ["train", folder / "train.txt", "--validation", folder / "validation.txt", "--model", "neural"]
    words += ["--set", "hidden_layer_sizes=16", "--set", "dropout=0.2", "--set", "batch_size=2", "--set", "device=cpu"]
    words += ["--set", "steps_per_epoch=15", "--set", f"epochs={epochs}", "--set", f"early_stopping_rounds={epochs}"]
    words += ["--threads", "1", "--checkpoint-steps", "5", *more]
    return [sys.executable, "-c", "from luce.cli import main; main()", *map(str, words)]


@pytest.mark.multiprocess
def test_kill_9_then_resume(data, tmp_path):
    """Killed without a chance to tidy up, somewhere in the middle: `--resume` gives the weights of an unbroken run."""
    for name in ("train", "validation"):
        luce.write(data[name], tmp_path / f"{name}.txt")
    kept = tmp_path / "cut.luce.checkpoint"
    process = subprocess.Popen(command(tmp_path, "-o", tmp_path / "cut.luce"), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not kept.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "cut.luce").exists()
    assert place_of(kept)["epoch"] < 25
    subprocess.run(command(tmp_path, "-o", tmp_path / "cut.luce", "--resume"), check=True, stderr=subprocess.DEVNULL)
    subprocess.run(command(tmp_path, "-o", tmp_path / "whole.luce"), check=True, stderr=subprocess.DEVNULL)
    assert not kept.exists()
    assert (tmp_path / "cut.luce").read_bytes() == (tmp_path / "whole.luce").read_bytes()


@pytest.mark.multiprocess
def test_control_c_keeps_the_best_model_and_says_where(data, tmp_path):
    for name in ("train", "validation"):
        luce.write(data[name], tmp_path / f"{name}.txt")
    kept = tmp_path / "a.luce.checkpoint"
    words = command(tmp_path, "-o", tmp_path / "a.luce", epochs=100_000)
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=default)
    deadline = time.monotonic() + 120
    while not (kept.exists() and place_of(kept)["epoch"]) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "best model so far" in said
    assert "with --resume" in said
    assert np.isfinite(luce.load(tmp_path / "a.luce").predict(data["test"])).all()


def test_a_checkpoint_of_lists_with_other_bounds_is_refused(tmp_path):
    X, labels, path = np.eye(4), [1, 0, 1, 0], tmp_path / "a.checkpoint"
    LinearRanker(max_iter=1).fit(luce.Dataset(X, labels, [0, 2, 4]), checkpoint=path)
    with pytest.raises(DataError, match="its data was"):
        LinearRanker(max_iter=1).fit(luce.Dataset(X, labels, [0, 1, 4]), checkpoint=Checkpoint(path, resume=True))
