"""Studies in files: resumed after a crash, refused when damaged or of something else, and used by one process."""

import contextlib
import os
import pickle
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import optuna
import pytest

import luce
from luce.data.synthetic import web_search
from luce.experiments.tuning import tune
from luce.options import Range

LISTS = web_search(40, n_features=6, mean_length=14, seed=3).dataset


def linear(**more):
    return luce.LinearRanker("listnet", n_jobs=1, **{"max_iter": 8, **more})


def outcome(found):
    return [(trial.state, trial.params, trial.fold_scores) for trial in found.trials]


class Killed(BaseException):
    """What no one catches, as the end of the process."""


def stop_at(number, error):
    """A callback that raises once in the middle of a trial."""

    def callback(progress):
        if progress.message.startswith(f"trial {number} of") and progress.trial is None:
            raise error

    return callback


def test_a_study_resumes_after_a_crash_as_if_there_had_been_none(tmp_path, monkeypatch):
    ranker, more = luce.TreeRanker(n_estimators=6, n_jobs=1), {"folds": 2, "vary": {"num_leaves": Range(3, 12)}}
    path = tmp_path / "night.study"
    with pytest.raises(Killed):
        tune(ranker, LISTS, trials=9, storage=path, callback=stop_at(1, Killed), **more)
    with pytest.raises(Killed):
        tune(ranker, LISTS, trials=9, storage=path, callback=stop_at(7, Killed), **more)
    monkeypatch.setattr(pickle, "loads", lambda *_: pytest.fail("a study is unpickled"))
    resumed = tune(ranker, LISTS, trials=9, storage=path, **more)
    assert outcome(resumed) == outcome(tune(ranker, LISTS, trials=9, **more))
    assert len({trial.number for trial in resumed.trials}) == 9
    assert outcome(tune(ranker, LISTS, trials=9, storage=path, **more)) == outcome(resumed)
    assert len(tune(ranker, LISTS, trials=10, storage=path, **more).trials) == 10


@pytest.mark.parametrize(
    ("ranker", "data", "more", "name"),
    [
        (linear(max_iter=9), LISTS, {}, "max_iter"),
        (luce.LinearRanker("listmle", n_jobs=1, max_iter=8), LISTS, {}, "objective"),
        (linear(metric="ndcg@5"), LISTS, {}, "metric"),
        (linear(reg_lambda=2.0), LISTS, {}, "first trial"),
        (linear(), LISTS.take(np.arange(39)), {}, "data"),
        (linear(), luce.Dataset(-LISTS.features, LISTS.labels, LISTS.offsets), {}, "data"),
        (linear(), LISTS, {"validation": LISTS}, "folds"),
        (linear(), LISTS, {"folds": 3}, "folds"),
        (linear(), LISTS, {"seed": 1}, "seed"),
        (linear(), LISTS, {"vary": {"reg_lambda": Range(0.1, 1.5)}}, "ranges"),
    ],
)
def test_a_study_of_something_else_is_refused(tmp_path, ranker, data, more, name):
    path = tmp_path / "one.study"
    tune(linear(), LISTS, trials=1, folds=2, storage=path)
    before = path.read_bytes()
    with pytest.raises(luce.DataError, match=f"one.study is another study: its {name} was"):
        tune(ranker, data, trials=2, storage=path, **{"folds": 2, **more})
    assert path.read_bytes() == before


def test_threads_may_change_when_a_study_is_resumed(tmp_path):
    tune(linear(), LISTS, trials=1, folds=2, storage=tmp_path / "one")
    assert len(tune(linear().set_params(n_jobs=2), LISTS, trials=2, folds=2, storage=tmp_path / "one").trials) == 2


def test_files_that_hold_no_study_are_refused(tmp_path):
    (tmp_path / "words").write_text("not a study\n")
    edit(tmp_path / "other", "CREATE TABLE songs (title TEXT)")
    for file, name in {"own": "luce", "named": "mine"}.items():
        study = optuna.create_study(storage=f"sqlite:///{tmp_path / file}", study_name=name, direction="maximize")
        study.tell(study.ask(), 1.0)
    foreign = "an Optuna study that Luce did not write"
    errors = {"words": "complete study", "other": "another kind of database", "own": foreign, "named": foreign}
    for name, error in errors.items():
        before = (tmp_path / name).read_bytes()
        with pytest.raises(luce.DataError, match=error):
            tune(linear(), LISTS, trials=1, storage=tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(luce.DataError, match="a file in an existing folder"):
        tune(linear(), LISTS, trials=1, storage=tmp_path / "nowhere" / "study")


def edit(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trial_values SET value = 'x'",
        "UPDATE trial_params SET param_value = 1e9",
        "DROP TABLE trial_params",
        "UPDATE trial_user_attributes SET value_json = '[]' WHERE key = 'seconds'",
        "UPDATE trial_user_attributes SET value_json = '7' WHERE key = 'fold_scores'",
        """UPDATE trial_user_attributes SET value_json = '["x"]' WHERE key = 'best_iterations'""",
        "UPDATE trial_user_attributes SET value_json = '[]' WHERE key = 'best_iterations'",
    ],
)
def test_a_study_that_was_changed_is_refused(tmp_path, statement):
    path = tmp_path / "one.study"
    tune(linear(), LISTS, trials=1, folds=2, storage=path)
    edit(path, statement)
    with pytest.raises(luce.DataError, match=r"one.study is not a complete study: .*Choose another file"):
        tune(linear(), LISTS, trials=1, folds=2, storage=path)


@pytest.mark.parametrize("damage", [lambda old: old[: len(old) // 2], lambda old: b"\0" * 100 + old[100:]])
def test_a_damaged_study_is_refused(tmp_path, damage):
    path = tmp_path / "one.study"
    tune(linear(), LISTS, trials=1, folds=2, storage=path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(luce.DataError, match=r"one.study is not a complete study"):
        tune(linear(), LISTS, trials=2, folds=2, storage=path)


KILLED = """
import os, signal, sys, luce
from luce.data.synthetic import web_search
def callback(progress):
    if progress.message.startswith("trial 3 of") and progress.trial is None:
        os.kill(os.getpid(), signal.SIGKILL)
data = web_search(40, n_features=6, mean_length=14, seed=3).dataset
ranker = luce.LinearRanker("listnet", n_jobs=1, max_iter=8)
luce.tune(ranker, data, trials=4, folds=2, storage=sys.argv[1], callback=callback)
"""


@pytest.mark.multiprocess
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_study_is_resumed_after_kill_9(tmp_path):
    path = tmp_path / "one.study"
    assert subprocess.run([sys.executable, "-c", KILLED, path]).returncode == -signal.SIGKILL
    resumed = tune(linear(), LISTS, trials=4, folds=2, storage=path)
    assert outcome(resumed) == outcome(tune(linear(), LISTS, trials=4, folds=2))


def test_two_tunings_do_not_share_a_study(tmp_path):
    pytest.importorskip("fcntl")
    path, seen = tmp_path / "busy", []

    def callback(progress):
        if not seen:
            seen.append(True)
            with pytest.raises(luce.DataError, match=f"busy is being written by process {os.getpid()}"):
                tune(linear(), LISTS, trials=1, folds=2, storage=path)

    tune(linear(), LISTS, trials=1, folds=2, storage=path, callback=callback)
    assert seen


def test_an_interrupt_ends_with_the_best_so_far(tmp_path):
    found = tune(linear(), LISTS, trials=9, folds=2, storage=tmp_path / "s", callback=stop_at(4, KeyboardInterrupt))
    assert found.interrupted and len(found.trials) == 3 and len(found.best_ranker.coef_) == 6
    assert len(tune(linear(), LISTS, trials=4, folds=2, storage=tmp_path / "s").trials) == 4
    with pytest.raises(KeyboardInterrupt):
        tune(linear(), LISTS, trials=9, folds=2, callback=stop_at(1, KeyboardInterrupt))
