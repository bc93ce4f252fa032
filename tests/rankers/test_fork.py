"""Rankers in a process forked after a library had used its threads: one thread, with a warning, and no hang."""

import os
import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import luce
from luce.data.synthetic import web_search
from luce.errors import LuceWarning
from luce.threads import thread_count

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_a_child(work):
    """Whether a forked process, which may take a minute, ends with a true result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about the very thing tested here
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    "ranker",
    [
        luce.TreeRanker(n_estimators=3, n_jobs=2),
        luce.NeuralRanker(
            hidden_layer_sizes=(256, 256), steps_per_epoch=5, epochs=1, device="cpu", n_jobs=2
        ),  # wide enough to use two threads
    ],
    ids=lambda ranker: ranker.kind,
)
def test_a_fork_after_a_training_trains_and_predicts(ranker, monkeypatch):
    monkeypatch.setattr("luce.rankers.trees.settings.VALUES_PER_THREAD", 1)  # two threads also for few rows
    if ranker.kind == "neural":
        if pytest.importorskip("torch").cuda.is_available():
            pytest.skip("PyTorch with CUDA does not train in a forked process, and says so")
        if thread_count(-1) == 1:
            pytest.skip("PyTorch has no second thread to lose: this process may use one core")
    data = web_search(30, n_features=4, mean_length=15).dataset
    fitted = ranker.fit(data)
    scores = fitted.predict(data)

    def work():
        with pytest.warns(LuceWarning, match="1 thread here instead of 2: .* Start processes by 'spawn'"):
            found = [fitted.predict(data), clone(ranker).fit(data).predict(data)]
        found.append(clone(ranker).set_params(n_jobs=1).fit(data).predict(data))  # one thread is nothing to warn of
        near = 0.01 * np.ptp(scores)  # with another number of threads float32 sums are rounded differently
        return all(np.allclose(each, scores, rtol=0, atol=near) for each in found)

    assert in_a_child(work)
    np.testing.assert_allclose(fitted.predict(data), scores, rtol=1e-4)  # with two threads still
