"""Checkpoints of fits on several ranks: after a kill all go on to the bits of the unbroken fit."""

import os
import signal

import pytest

from luce.distributed import Group, current_group
from luce.errors import MachineError
from luce.rankers import Checkpoint, LabelRanker, LinearRanker, NeuralRanker

from ..ranks import on_ranks
from . import tagged
from .made import parts
from .ranks import bits, fitted

pytest.importorskip("torch")
pytestmark = pytest.mark.multiprocess
SMALL = {
    "hidden_layer_sizes": (8,),
    "dropout": 0.2,
    "batch_size": 7,
    "steps_per_epoch": 3,
    "device": "cpu",
    "n_jobs": 1,
}
RANKERS = {
    "lbfgs": LinearRanker(max_iter=9, n_jobs=1),
    "gradient descent": LinearRanker("pmop-gibbs", max_iter=6, batch_size=7, n_jobs=1),
    "neural, held out": NeuralRanker("pairties-davidson", epochs=4, learning_rate=[1e-3, 1e-2], **SMALL),
    "labels": LabelRanker(epochs=5, **SMALL),
    "split labels": LabelRanker(epochs=5, split_labels=True, **SMALL),
}


def data_for(name):
    given = tagged.parts() if name.endswith("labels") else parts(n_lists=30, n_features=10)
    return given["train"], None if name.endswith("held out") else given["validation"]


def killed(ranker, train, validation, path, rank, call):
    """A fit in which a rank is killed at one of its sums."""
    group, summed, calls = current_group(), Group.sum, []

    def sum_or_die(self, values):
        calls.append(1)
        if group.rank == rank and len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return summed(self, values)

    Group.sum = sum_or_die
    try:
        fitted(ranker, train, validation, checkpoint=Checkpoint(path, steps=2))
        return len(calls)
    finally:
        Group.sum = summed


@pytest.mark.parametrize(
    ("name", "rank", "call"),
    [
        ("lbfgs", 1, 12),
        ("gradient descent", 0, 25),
        ("neural, held out", 0, 30),
        ("labels", 1, 15),
        ("split labels", 1, 25),
    ],
)
def test_after_a_kill_the_rest_ends_in_the_same_bits(name, rank, call, tmp_path):
    given = [[each] * 2 for each in (RANKERS[name], *data_for(name))]
    whole = on_ranks(fitted, *given)
    found = on_ranks(killed, *given, path=tmp_path / "a", rank=rank, call=call)
    assert isinstance(found[rank], EOFError), found
    assert isinstance(found[1 - rank], MachineError)
    assert f"Rank {rank} did not answer" in str(found[1 - rank])
    files = list(tmp_path.iterdir())
    assert files
    again = on_ranks(fitted, *given, checkpoint=Checkpoint(tmp_path / "a", resume=True))
    assert [bits(one) == bits(whole[0]) for one in again] == [True, True]
