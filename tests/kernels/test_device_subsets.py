"""Subset choices with the geometric worth by Triton against the CPU: on a GPU, or slowly in Triton's interpreter."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from luce.objectives import Draw, objective
from luce.objectives.torch_device import device_lists, evaluate_on_device

from .test_device_kernels import DEVICE, WAYS

pytestmark = pytest.mark.skipif("gpu" not in WAYS, reason="needs a GPU, or Triton with TRITON_INTERPRET=1")
SIZES = np.array([5, 1, 0, 10, 2, 13])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
NUMBERS = np.arange(len(SIZES)) * 1_000 + 2**33 + 5
LABELS = {
    "grades": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "no ties": lambda rng, n: rng.permutation(n) - 7.0,
    "all equal": lambda rng, n: np.zeros(n),
    "few observed": lambda rng, n: np.where(rng.random(n) < 0.3, 1.0, np.nan),
}


def compare(name, kind="grades", spread=2.0, offsets=OFFSETS, draw=Draw(2**40 + 3, 4, NUMBERS), **options):  # noqa: B008
    """The losses and the gradient are those of the CPU; two more rows are of no list."""
    rng, n = np.random.default_rng(1), offsets[-1]
    scores, labels = rng.normal(0, spread, n + 2).astype(np.float32), LABELS[kind](rng, n + 2)
    labels[[2, 9]] = np.nan
    goal = objective(name, **options)
    exact = goal.value_and_gradient(scores[:n].astype(float), labels[:n], offsets, draw=draw)
    given = (torch.as_tensor(values, device=DEVICE) for values in (scores, labels, offsets))
    lists = device_lists(goal, *given, "mean", draw=draw)
    assert goal.device_lists(lists, **goal.options) is not NotImplemented
    found = [values.cpu().double().numpy() for values in evaluate_on_device(goal, lists)[:2]]
    np.testing.assert_allclose(found[0], exact.loss, rtol=1e-6, atol=1e-6 * spread)
    assert not found[1][n:].any()
    for begin, end in pairwise(offsets):
        one = exact.gradient[begin:end] / (len(offsets) - 1)
        np.testing.assert_allclose(found[1][begin:end], one, atol=1e-6 * np.abs(one).max(initial=1e-9))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", ["pmop-exact", "pmop-gibbs", "pmop-mh"])
def test_as_on_the_cpu(name, kind):
    compare(name, kind)


@pytest.mark.parametrize("spread", [0.0, 300.0, 1e4])
@pytest.mark.parametrize("name", ["pmop-exact", "pmop-gibbs", "pmop-mh"])
def test_near_and_far_scores(name, spread):
    compare(name, spread=spread, direction="backward")


@pytest.mark.parametrize("name", ["pmop-gibbs", "pmop-mh"])
@pytest.mark.parametrize(
    "options",
    [{"start": "random", "steps": 2, "chains": 2}, {"chains": 5, "steps": 1}, {"direction": "backward", "steps": 4}],
    ids=str,
)
def test_starts_steps_and_chains(name, options):
    compare(name, **options)


@pytest.mark.parametrize("name", ["pmop-exact", "pmop-gibbs", "pmop-mh"])
def test_two_programs_share_the_stages_of_a_list(name, monkeypatch):
    monkeypatch.setattr("luce.kernels.subset_choice.gpu_stages.AT_ONCE", 2)
    compare(name, "no ties", offsets=np.array([0, 3, 10]), draw=Draw())


def test_the_printed_acceptance():
    compare("pmop-mh", corrected=False, start="random")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pmop-exact", "pmop-gibbs", "pmop-mh"])
def test_lists_of_each_size_of_workspace(name):
    offsets = np.array([0, 17, 100])
    compare(name, "few observed", offsets=offsets, draw=Draw(2, 1, np.array([3, 8])))
    if name == "pmop-gibbs":
        compare(name, offsets=np.array([0, 20, 100, 700]), draw=Draw(2, 1, np.array([3, 8, 1])))


def test_a_subset_drawn_without_items_gets_one():
    offsets = np.arange(9) * 2
    compare("pmop-mh", "all equal", offsets=offsets, draw=Draw(0, 0, np.arange(8)), start="random", steps=1)


def test_words_that_favour_a_choice_are_rejected():
    """Of twenty million lists of 60 equal labels, this one has such a word; two labels are not observed."""
    compare("pmop-gibbs", "all equal", offsets=np.array([0, 62]), draw=Draw(lists=np.array([6_490_922])))
