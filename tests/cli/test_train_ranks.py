"""`luce train` on several ranks, started by torchrun or another launcher; and what is said when one of them is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search

pytestmark = pytest.mark.multiprocess

TREES = ("--model", "trees", "--objective", "listmle", "--threads", 1, "--set", "min_child_samples=10")
ENDLESS = (*TREES, "--set", "n_estimators=1000000", "--set", "validation_fraction=none", "--checkpoint-steps", 5)
children = Path(f"/proc/self/task/{os.getpid()}/children")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Lists that all teach something."""
    folder = tmp_path_factory.mktemp("lists")
    for seed, name in enumerate(("train", "validation", "test")):
        made = web_search(60, n_features=8, mean_length=12, seed=seed).dataset
        told = luce.objective("listmle").has_signal(made.labels, made.offsets)
        luce.write(made.take(np.flatnonzero(told)), folder / f"{name}.txt")
    return folder


@contextmanager
def started(words, cwd, **variables):
    """A Python process, killed in the end if it still runs."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "500", **variables}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *map(str, words)], env=environment, cwd=cwd, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def torchrun(*words, restarts=0):
    """The words of a command on two ranks of this machine."""
    options = ("--standalone", "--nproc-per-node", 2, "--max-restarts", restarts, "--monitor-interval", 0.1)
    return "-m", "torch.distributed.run", *options, "-m", "luce", *words


KEPT = """
import numpy as np
from pathlib import Path
from luce.distributed import launched
def threads():
    return sorted(path.read_text() for path in Path("/proc/self/task").glob("*/comm"))
before = threads()
with launched(60) as group:
    group.gather_rows(np.ones(3))
    assert threads() != before
assert threads() == before, threads()
"""


@contextmanager
def two_ranks(folder, *words, other=None, program=("-m", "luce")):
    """The command in two processes, as another launcher starts them; `other`: the folder of rank 1."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with (
        started((*program, *words), folder, RANK="0", **common) as first,
        started((*program, *words), other or folder, RANK="1", **common) as second,
    ):
        yield first, second


def run(words, folder):
    with started(words, folder) as process:
        printed, said = process.communicate(timeout=240)
    return process.returncode, printed, said


def wait_for(condition):
    """What the condition gives once it gives something."""
    until = time.monotonic() + 240
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.01)
    pytest.fail("This did not come true.")


def rank_1_of(process):
    """The process id of the second rank that a torchrun has started."""
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if b"RANK=1" in variables:
            return int(child)


def test_a_group_that_is_kept_has_no_threads(folder):
    """They would end the process by std::terminate."""
    with two_ranks(folder, program=("-c", KEPT)) as both:
        for process in both:
            assert process.communicate(timeout=240)[1] == "" and process.returncode == 0


def test_torchrun_trains_the_model_of_one_process(folder):
    words = ("train", "train.txt", "--validation", "validation.txt", *TREES, "--set", "n_estimators=25", "--json")
    assert run(("-m", "luce", *words, "-o", "alone.luce"), folder)[0] == 0
    status, printed, said = run(torchrun(*words, "-o", "both.luce"), folder)
    assert status == 0, said
    assert json.loads(printed)["model"] == "both.luce"
    assert said.count("Features:") == 1
    assert "Warning" not in said
    alone, both = (luce.load(folder / f"{name}.luce") for name in ("alone", "both"))
    for field in ("split_feature", "left_child", "leaf_count"):
        found, expected = ([getattr(tree, field).tolist() for tree in each.forest_.trees] for each in (both, alone))
        assert found == expected
    assert both.best_iteration_ == alone.best_iteration_
    assert both.baseline_score_ == pytest.approx(alone.baseline_score_)
    assert both.provenance_["training"]["rows"] == alone.provenance_["training"]["rows"]
    test = luce.read(folder / "test.txt")
    np.testing.assert_allclose(both.predict(test), alone.predict(test), rtol=1e-6, atol=1e-9)
    assert not list(folder.glob("*.checkpoint"))


def test_what_all_ranks_refuse_is_said_once(folder):
    status, printed, said = run(torchrun("train", "train.txt", "--model", "tree", "-o", "no.luce"), folder)
    assert status != 0
    assert printed == ""
    assert said.count("Error: There is no model 'tree'") == 1


def test_what_one_rank_refuses_ends_both_and_is_said_once(folder, tmp_path):
    with two_ranks(folder, "train", "train.txt", *TREES, "-o", "no.luce", other=tmp_path) as ranks:
        said = [rank.communicate(timeout=240)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [2, 2]
    assert "".join(said).count("Error:") == 1
    assert "train.txt" in "".join(said)
    assert not (folder / "no.luce").exists()


def test_the_choice_of_a_ranker_is_not_made_on_several_ranks(folder):
    with two_ranks(folder, "train", "train.txt", "-o", "no.luce") as ranks:
        said = [rank.communicate(timeout=240)[1] for rank in ranks]
    assert "".join(said).count("Error: The choice of a ranker is made by one process.") == 1


@pytest.mark.skipif(not children.exists(), reason="this system does not tell the processes that a process started")
def test_after_a_kill_torchrun_goes_on_to_the_same_bits(folder):
    words = ("train", "train.txt", *TREES, "--set", "n_estimators=400", "--set", "validation_fraction=none")
    words += ("--checkpoint-steps", 5, "-o")
    status, _, said = run(torchrun(*words, "unbroken.luce"), folder)
    assert status == 0, said
    with started(torchrun(*words, "broken.luce", restarts=1), folder) as process:
        wait_for((folder / "broken.luce.checkpoint").exists)
        os.kill(rank_1_of(process), signal.SIGKILL)
        assert not (folder / "broken.luce").exists()
        _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert (folder / "broken.luce").read_bytes() == (folder / "unbroken.luce").read_bytes()
    assert not list(folder.glob("*.checkpoint"))


@pytest.mark.parametrize("lost", [0, 1])
def test_when_a_rank_is_killed_the_other_ends_and_says_so(folder, lost):
    name = f"killed{lost}.luce"
    with two_ranks(folder, "train", "train.txt", *ENDLESS, "-o", name) as ranks:
        wait_for((folder / f"{name}.checkpoint").exists)
        ranks[lost].kill()
        _, said = ranks[1 - lost].communicate(timeout=240)
    assert ranks[1 - lost].returncode == 2
    assert f"Error: Rank {lost} " in said
    assert not (folder / name).exists()


def test_a_rank_that_does_not_answer_is_not_waited_for_longer_than_the_timeout(folder):
    with two_ranks(folder, "train", "train.txt", *ENDLESS, "-o", "stopped.luce", "--timeout", 3) as (first, second):
        wait_for((folder / "stopped.luce.checkpoint").exists)
        second.send_signal(signal.SIGSTOP)
        _, said = first.communicate(timeout=240)
    assert first.returncode == 2
    assert "Error: Rank 1 did not answer: killed, suspended, or out of reach of the network." in said
