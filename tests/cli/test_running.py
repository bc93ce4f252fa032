"""Commands and the processes around them: SIGTERM, a second run to the same output, and output into a pipe."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app, main
from luce.cli.output import beside
from luce.data.synthetic import web_search
from luce.files import exclusive_lock


@pytest.fixture
def folder(tmp_path, monkeypatch):
    luce.write(web_search(12, n_features=3, mean_length=6).dataset, tmp_path / "lists.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sigterm(monkeypatch):
    """A function that sends SIGTERM to this process, which must have said what to do then."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr("luce.cli.signals._received", signal.SIGINT)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which main sets for good

    def send(*_):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            pytest.fail("SIGTERM would end the process at once.")
        os.kill(os.getpid(), signal.SIGTERM)

    yield send
    signal.signal(signal.SIGTERM, before)


def test_sigterm_saves_the_best_model_as_control_c_does(folder, monkeypatch, capsys, sigterm):
    def fit(ranker, dataset, *_, **__):
        ranker.fit(dataset, callback=sigterm)

    monkeypatch.setattr(sys.modules["luce.cli.train"], "fit", fit)
    monkeypatch.setattr(
        sys, "argv", ["luce", "train", "lists.txt", "--model", "linear", "--threads", "1", "-o", "a.luce"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 143
    assert "Interrupted. The best model so far, iteration 1, is in a.luce." in capsys.readouterr().err
    assert luce.load("a.luce").best_iteration_ == 1
    assert sorted(file.name for file in folder.iterdir()) == ["a.luce", "lists.txt"]


def test_an_interrupt_that_no_command_catches_has_its_status_and_no_traceback(folder, monkeypatch, capsys, sigterm):
    monkeypatch.setattr(sys.modules["luce.cli.inspect"], "read_data", sigterm)
    monkeypatch.setattr(sys, "argv", ["luce", "inspect", "lists.txt"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 143
    assert capsys.readouterr().err.strip() == ""


def test_sigterm_that_is_ignored_stays_ignored(folder, monkeypatch, sigterm):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    monkeypatch.setattr(sys, "argv", ["luce", "inspect", "lists.txt"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


@pytest.mark.parametrize(
    "words",
    [
        ["train", "lists.txt", "-o", "out"],
        ["tune", "lists.txt", "--model", "linear", "--trials", "1", "-o", "out"],
        ["compare", "lists.txt", "--objectives", "listnet", "--folds", "2", "--report", "out"],
    ],
)
def test_a_second_run_to_the_same_output_is_refused(folder, words):
    pytest.importorskip("fcntl")
    with exclusive_lock("out"):
        result = CliRunner().invoke(app, words)
    assert f"out is being written by process {os.getpid()}." in str(result.exception)
    assert [file.name for file in folder.iterdir()] == ["lists.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_model_goes_into_a_pipe(folder):
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((folder / "pipe").read_bytes()), daemon=True)
    reader.start()
    words = ["--model", "linear", "--threads", "1", "--checkpoint-steps", "1", "-o", "pipe"]
    result = CliRunner().invoke(app, ["train", "lists.txt", *words])
    assert result.exit_code == 0, result.output
    reader.join(30)
    (folder / "a.luce").write_bytes(read[0])
    assert luce.load("a.luce").n_features_in_ == 3
    assert sorted(file.name for file in folder.iterdir()) == ["a.luce", "lists.txt", "pipe"]
    assert beside(Path("pipe"), ".checkpoint", "model.luce") == Path("model.luce.checkpoint")


def test_python_m_luce_is_the_command():
    done = subprocess.run([sys.executable, "-m", "luce", "metrics", "err"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "max_grade" in done.stdout
