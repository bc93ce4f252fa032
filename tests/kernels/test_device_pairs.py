"""Objectives of pairs and of smooth ranks on a device against the CPU: plain PyTorch always, Triton where it runs.

Without a GPU, Triton's kernels run when it is installed and TRITON_INTERPRET=1 is set.
"""

import importlib
import itertools
import os
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from luce.kernels import padded
from luce.lists import Lists
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

    for module in (pairwise, smooth_metrics, stochastic):
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
    for begin, end in itertools.pairwise(offsets):
        own = exact.gradient[begin:end]
        assert np.abs(slopes[begin:end] / -0.5 - own).max(initial=0) <= tol * np.abs(own).max(initial=0) + 1e-12
    if goal.nuisance:
        np.testing.assert_allclose(found.nuisance_gradient.cpu(), exact.nuisance_gradient, rtol=2 * tol, atol=1e-5)
    return found


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@pytest.mark.parametrize(("spread", "weighted"), [(2.0, True), (300.0, False)])
def test_as_the_objective_has_them(way, name, options, spread, weighted):
    goal, (scores, labels, weights) = objective(name, **options), problem(1, spread)
    check(goal, scores, labels, weights if weighted else None)


@pytest.mark.parametrize("spread", [2.0, 300.0])
@pytest.mark.parametrize("parameter", [-20.0, -2.0, 0.7, 30.0])
@pytest.mark.parametrize("name", ["pairties-davidson", "pairties-rao-kupper"])
def test_the_parameter_of_ties(way, name, parameter, spread):
    scores, labels, weights = problem(2, spread)
    given = np.array([parameter], dtype=np.float32)
    check(objective(name), scores, labels, weights, given)
    exact = objective(name).value_and_gradient(
        scores.astype(float), labels, OFFSETS, item_weights=weights, nuisance=given
    )
    by_list = np.arange(1.0, len(SIZES) + 1)
    for reduction, upstream in (("none", by_list), ("mean", np.full(len(SIZES), 3 / len(SIZES)))):
        leaf, values = tensors(given)[0].requires_grad_(), tensors(scores)[0].requires_grad_()
        rest = tensors(labels, OFFSETS)
        found = list_loss(objective(name), values, *rest, reduction, leaf, item_weights=tensors(weights)[0])
        (found * (tensors(by_list)[0] if reduction == "none" else 3)).sum().backward()
        np.testing.assert_allclose(leaf.grad.cpu(), upstream @ exact.nuisance_gradient, rtol=2e-5, atol=1e-4)
        slopes = np.repeat(upstream, SIZES) * exact.gradient
        assert np.abs(values.grad.cpu().numpy() - slopes).max() <= 1e-5 * np.abs(slopes).max()


def test_a_margin_that_is_missed_by_less_than_a_rounding(way):
    check(objective("ranksvm"), np.float32([1.0, 2.0**-26]), np.array([1.0, 0.0]), None, None, np.array([0, 2]))


@pytest.mark.parametrize("level", [1, 3, 30, None])
@pytest.mark.parametrize("name", ["lambdarank", "lambdaloss"])
def test_blocks_of_equal_scores_across_the_level(way, name, level):
    goal, (scores, labels, weights) = objective(name, metric="ndcg@40", truncation_level=level), problem(3, 1.0)
    check(goal, np.zeros_like(scores), labels, weights)
    check(goal, np.round(scores), labels, weights)


@pytest.mark.parametrize("name", ["lambdarank", "lambdaloss"])
def test_swaps_of_a_longer_list(way, name, monkeypatch):
    """The items below the level meet those above it alone; lists too long for a program are sorted all together."""
    rng = np.random.default_rng(4)
    offsets = np.array([0, 300, 303, 450])
    scores, labels = rng.normal(0, 2, 450).astype(np.float32), rng.integers(0, 5, 450).astype(float)
    labels[5:9], scores[10:20], scores[320:325] = np.nan, scores[20:30], 5.0
    found = check(objective(name), scores, labels, None, offsets=offsets)
    if way == "gpu":
        monkeypatch.setattr(importlib.import_module("luce.kernels.pairs.gpu"), "SORTED", 64)
        again = check(objective(name), scores, labels, None, offsets=offsets)
        assert all(map(torch.equal, found[:2], again[:2]))


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_plain_pytorch_takes_some_partners_at_a_time(name, options, monkeypatch):
    goal, (scores, labels, weights) = objective(name, **options), problem(5, 2.0)
    whole = check(goal, scores, labels, weights)
    monkeypatch.setattr(padded, "CELLS", 3_000)
    assert len(list(padded.column_blocks(len(SIZES), 200))) == 100
    for one, other in zip(whole[:2], check(goal, scores, labels, weights)[:2], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_lists_that_say_nothing(way, name, options):
    goal, scores = objective(name, **options), np.array([1.0, 2, 0, 3, 1, 2], dtype=np.float32)
    labels = np.array([np.nan, np.nan, 1, np.nan, -1, -2])
    check(goal, scores, labels, None, offsets=np.array([0, 2, 4, 6]))
    check(goal, scores[:0], labels[:0], None, offsets=np.array([0, 0, 0]))
    check(goal, scores[:0], labels[:0], None, offsets=np.array([0]))


@pytest.mark.parametrize("far", [0.0, 1e5])
@pytest.mark.parametrize(
    ("loss", "tol"),
    [
        ("ranknet", 1e-5),
        ({"name": "lambdaloss", "metric": "dcg@5"}, 1e-5),
        ("pairties-davidson", 1e-5),
        ("approx-ndcg", 1e-4),  # the temperature divides what is rounded
    ],
    ids=str,
)
def test_noise_is_that_of_the_cpu(way, loss, tol, far, monkeypatch):
    offsets = OFFSETS[:-2]
    scores, labels, weights = (each[: offsets[-1]] for each in problem(6, 1.0))
    scores = (far + np.round(scores * 128) / 128).astype(np.float32)
    goal, draw = objective("stochastic", loss=loss, samples=3), Draw(2**40 + 3, 7, np.arange(len(offsets) - 1) + 100)
    found = check(goal, scores, labels, weights, offsets=offsets, draw=draw, tol=tol)
    monkeypatch.setattr(stochastic, "DEVICE_ROWS", 1)
    again = check(goal, scores, labels, weights, offsets=offsets, draw=draw, tol=tol)
    torch.testing.assert_close(found.gradient, again.gradient)


def test_noise_is_new_in_every_sample(way):
    scores = problem(7, 1.0)[0]
    given = tensors(scores.astype(float), np.arange(len(scores)), np.zeros(len(scores), int), np.array([5, 0]))
    noisy = importlib.import_module(f"luce.kernels.sampled_rankings.{way}").gumbel_scores(*given, 0, 100).cpu().numpy()
    noise = (noisy - scores).ravel()
    assert len(np.unique(noise.round(5))) > 0.9 * len(noise)
    mean, deviation = np.euler_gamma, np.pi / np.sqrt(6)
    assert abs(noise.mean() - mean) < 4 * deviation / np.sqrt(len(noise))


def test_a_random_loss_draws_for_each_sample_as_on_the_cpu():
    draw = Draw(2**63 - 5, 3, np.array([7, 2**31, 4]))
    three = np.zeros(6), np.array([2.0, 1, 1, 0, 0, 1]), np.array([0, 3, 4, 6])
    copies = stochastic._noisy_copies(Lists(*three, draw=draw), np.arange(5, 9))
    lists = device_lists(objective("listmle"), *tensors(*three), "sum", draw=draw)
    numbers = torch.cat([lists.numbers, lists.numbers.new_zeros(1)])  # of what follows the last list
    on_device = stochastic._device_copies(lists, torch.zeros(4, 6, device=DEVICE), numbers, 5)
    assert on_device.stream.tolist() == [copies.draw.seed, copies.draw.step]
    np.testing.assert_array_equal(on_device.numbers.view(4, 4)[:, :3].flatten().cpu(), copies.draw.lists)
    np.testing.assert_array_equal(on_device.offsets.unique().cpu(), copies.offsets)
    np.testing.assert_array_equal(on_device.labels.cpu(), copies.labels)


def test_a_loss_without_a_form_on_a_device_is_left_to_the_cpu():
    scores = problem(8, 1.0)[0]
    own = objective("p-listmle", alpha=lambda n: np.arange(n, 0.0, -1))  # a function stays on the host
    goal = objective("stochastic", loss=own, samples=2)
    strict = np.concatenate([np.random.default_rng(0).permutation(size) for size in SIZES]).astype(float)
    lists = device_lists(goal, *tensors(scores, strict, OFFSETS), "sum", draw=Draw(1))
    assert goal.device_lists(lists, **goal.options) is NotImplemented
    exact = goal.value_and_gradient(scores.astype(float), strict, OFFSETS, draw=Draw(1))
    np.testing.assert_allclose(evaluate_on_device(goal, lists).gradient.cpu(), exact.gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(DEVICE != "cuda", reason="only a GPU can be waited for")
@pytest.mark.parametrize(("name", "options"), [*CASES, ("stochastic", {"samples": 2})], ids=str)
def test_the_gpu_is_not_waited_for(name, options):
    goal, (scores, labels, weights) = objective(name, **options), problem(9, 1.0)
    lists = device_lists(goal, *tensors(scores, labels, OFFSETS), "mean", tensors(weights)[0], longest=200)
    first = evaluate_on_device(goal, lists)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Synchronization debug mode")
            torch.cuda.set_sync_debug_mode("error")
        again = evaluate_on_device(goal, lists)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(first.gradient, again.gradient) and torch.equal(first.losses, again.losses)
