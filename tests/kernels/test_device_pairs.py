"""Objectives of pairs and of smooth ranks on a device against the CPU: plain PyTorch always, Triton where it runs.

Without a GPU, Triton's kernels run when it is installed and TRITON_INTERPRET=1 is set.
"""

import importlib
import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from luce.kernels import padded
from luce.objectives import objective, pairwise, smooth_metrics, stochastic
from luce.objectives.torch_device import device_lists, evaluate_on_device, list_loss
from luce.randomness import Draw

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU and not INTERPRETED else "cpu"
WAYS = ["plain", "gpu"] if find_spec("triton") and (HAS_GPU or INTERPRETED) else ["plain"]
SIZES = np.array([5, 1, 0, 30, 7, 200, 2])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
CASES = [
    ("ranknet", {}),
    ("ranksvm", {}),
    ("rankregress", {}),
    ("pairties-davidson", {}),
    ("pairties-rao-kupper", {}),
    ("lambdarank", {}),
    ("lambdarank", {"metric": "ndcg@5", "truncation_level": 3}),
    ("lambdarank", {"metric": "dcg", "truncation_level": None}),
    ("lambdaloss", {}),
    ("lambdaloss", {"metric": "dcg@10", "truncation_level": None}),
    ("lambdaloss", {"metric": "ndcg@20", "truncation_level": 1, "variant": "2++", "mu": 3.0}),
    ("lambdaloss", {"metric": "dcg", "variant": "2++"}),
    ("approx-ndcg", {}),
    ("approx-ndcg", {"temperature": 3.0}),
]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    def kernels(folder, device, fits=True):
        return importlib.import_module(f"luce.kernels.{folder}.{request.param}")

    for module in (pairwise, smooth_metrics):
        monkeypatch.setattr(module, "device_kernels", kernels)
    return request.param


def tensors(*arrays):
    return [torch.as_tensor(array).to(DEVICE) for array in arrays]


def problem(seed, spread):
    """Lists with ties in labels and in scores, rows that stand there twice, and labels that are not observed."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(0, 8, OFFSETS[-1])) * (spread / 8)
    scores[::3] = rng.normal(0, spread, len(scores[::3]))
    scores, labels = scores.astype(np.float32), rng.integers(-1, 4, OFFSETS[-1]).astype(float)
    scores[50:60], labels[50:60] = scores[60:70], labels[60:70]
    labels[[3, 20, 60, 61]] = np.nan
    weights = rng.uniform(0, 2, OFFSETS[-1])
    weights[7] = 0
    return scores, labels, weights


def check(goal, scores, labels, weights, nuisance=None, offsets=OFFSETS, tol=1e-5, draw=None):
    """Losses, gradient and nuisance gradient of each list are those of the CPU, but for a part of the largest."""
    exact = goal.value_and_gradient(
        scores.astype(float), labels, offsets, item_weights=weights, nuisance=nuisance, draw=draw
    )
    given = [None if each is None else tensors(each)[0] for each in (weights, nuisance)]
    lists = device_lists(goal, *tensors(scores, labels, offsets), "sum", *given, draw=draw)
    assert goal.device_lists(lists, **goal.options) is not NotImplemented
    found = evaluate_on_device(goal, lists._replace(factor=-0.5))
    assert found.losses.dtype == found.gradient.dtype == torch.float32
    np.testing.assert_allclose(found.losses.cpu(), exact.loss, rtol=tol, atol=1e-7)
    slopes = found.gradient.cpu().numpy()
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        own = exact.gradient[begin:end]
        assert np.abs(slopes[begin:end] / -0.5 - own).max(initial=0) <= tol * np.abs(own).max(initial=0) + 1e-12
    if goal.nuisance:
        np.testing.assert_allclose(found.nuisance_gradient.cpu(), exact.nuisance_gradient, rtol=2 * tol, atol=1e-5)
    return found


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@pytest.mark.parametrize("spread", [2.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_as_the_objective_has_them(way, name, options, spread, weighted):
    goal, (scores, labels, weights) = objective(name, **options), problem(1, spread)
    check(goal, scores, labels, weights if weighted else None)
