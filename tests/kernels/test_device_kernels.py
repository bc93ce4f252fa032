"""The kernels for devices against the CPU's: plain PyTorch always, Triton's on a GPU or, slowly, in its interpreter.

Without a GPU, Triton's kernels run when it is installed and TRITON_INTERPRET=1 is set.
"""

import importlib
import os
from importlib.util import find_spec
from itertools import pairwise
from math import lgamma

import numpy as np
import pytest
import torch

from luce.arrays import rows_of_lists
from luce.kernels.expected_gain import ESTIMATORS, expected_gain, plain
from luce.kernels.expected_gain.samples import EXPOSURE
from luce.kernels.exposure import exposure
from luce.kernels.ordered_likelihood import ALL, TO_THE_LOWEST, Order, ordered_likelihood
from luce.kernels.partition_likelihood import (
    ALL_RANKS,
    ATTENTION,
    BOUND,
    IDEAL,
    LOGISTIC,
    PARTITION,
    SOFTMAX,
    SQUARED,
    partition_likelihood,
)
from luce.kernels.partition_likelihood.plain import WIDTH, RowWorkspace
from luce.kernels.sampled_rankings import sample_rankings
from luce.lists import Lists
from luce.objectives import objective
from luce.objectives.expected import gains_on_device
from luce.objectives.linear_metrics import best_first, linear_gains
from luce.randomness import Draw

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU and not INTERPRETED else "cpu"
WAYS = ["plain", "gpu"] if find_spec("triton") and (HAS_GPU or INTERPRETED) else ["plain"]
SIZES = np.array([5, 1, 0, 30, 7, 200, 2])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])


if "gpu" in WAYS:
    import triton
    import triton.language as tl

    from luce.kernels.expected_gain.gpu import _near_times

    @triton.jit
    def write_times(bits, times, size: tl.constexpr):
        places = tl.arange(0, size)
        tl.store(times + places, _near_times(tl.load(bits + places), places * 0.0, 0.0))


def kernels(room, way):
    return importlib.import_module(f"luce.kernels.{room}.{way}")


def tensors(*arrays):
    return [torch.as_tensor(array).to(DEVICE) for array in arrays]


def close(found, expected, tol=1e-5):
    found, size = found.detach().cpu().double().numpy(), np.linalg.norm(expected)
    assert np.linalg.norm(found - expected) <= tol * max(size, 1e-30)


def chosen_labels(rng, n_labels, counts):
    chosen = [np.sort(rng.choice(n_labels, count, replace=False)) for count in counts]
    return np.concatenate(chosen).astype(np.int32), np.concatenate([[0], np.cumsum(counts)])


ROW_KINDS = {
    PARTITION: objective("pl-partition"),
    BOUND: objective("pl-lb"),
    ATTENTION: objective("attrank"),
    SOFTMAX: objective("softmax"),
    IDEAL: objective("c-kl", depth=5),
    LOGISTIC: objective("bce"),
    SQUARED: objective("squared-label"),
}


def run_rows(way, scores, labels, starts, kind, pieces, upstream, factor):
    """Loss and gradient, the labels being worked on in some pieces; 0 pieces: all at once."""
    module, n_labels, longest = kernels("partition_likelihood", way), scores.shape[1], int(starts.diff().max())
    depth = 5 if kind == IDEAL else ALL_RANKS
    room = RowWorkspace.make(scores, n_labels, len(labels))
    room.numbers.fill_(torch.nan)
    out = torch.full_like(scores, torch.nan)
    if not pieces:
        module.losses_and_gradient(scores, labels, starts, longest, kind, room, factor, out, depth)
        return room.losses, out
    cuts = [*range(0, n_labels, WIDTH if pieces > 1 else n_labels), n_labels]
    for begin, end in pairwise(cuts):
        module.sum_rest(scores[:, begin:end].contiguous(), labels, starts, kind, room, begin)
    module.finish_rows(starts, n_labels, longest, kind, room, depth)
    for begin, end in pairwise(cuts):
        part = scores[:, begin:end].clone(memory_format=torch.contiguous_format)
        module.write_gradient(part, labels, starts, kind, room, upstream, factor, part, begin)
        out[:, begin:end] = part
    return room.losses, out


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize(
    ("n_labels", "counts", "spread"),
    [
        (1, [1, 0, 1], 1.0),
        (2, [1, 2, 0], 3.0),
        (31, [31, 5, 1], 3.0),
        (983, [19, 1, 300], 3.0),
        (60, [40, 1, 20], 500.0),
        (2 * WIDTH + 3, [76, 1_200, 0], 1.0),
    ],
)
def test_rows_of_labels(way, kind, n_labels, counts, spread):
    rng = np.random.default_rng(n_labels)
    scores = rng.normal(0, spread, (len(counts), n_labels)).astype(np.float32)
    labels, starts = chosen_labels(rng, n_labels, counts)
    grades = np.zeros(scores.shape)
    for row, (begin, end) in enumerate(pairwise(starts)):
        grades[row, labels[begin:end]] = 1
    bounds = np.arange(len(counts) + 1) * n_labels
    loss, slope, *_ = ROW_KINDS[kind].value_and_gradient(scores.astype(float).ravel(), grades.ravel(), bounds)
    if kind == BOUND:
        loss = loss + [lgamma(n + 1) if 0 < n < n_labels else 0 for n in counts]
    has_labels = np.array(counts) > 0
    loss, slope = loss * has_labels, slope * np.repeat(has_labels, n_labels)
    by_row = np.array([1.0, -2.0, 0.5], dtype=np.float32)
    for pieces, upstream in ((0, None), (1, None), (2, by_row)):
        scale = np.ones(3) if upstream is None else by_row
        given = None if upstream is None else tensors(upstream)[0]
        found, gradient = run_rows(way, *tensors(scores, labels, starts), kind, pieces, given, 2.0)
        close(found, loss, 1e-6)
        close(gradient.flatten(), (2 * scale[:, None] * slope.reshape(grades.shape)).ravel())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spread", [2.0, 1_000.0])
def test_partitions_of_lists(way, spread):
    rng = np.random.default_rng(1)
    scores = rng.normal(0, spread, OFFSETS[-1]).astype(np.float32)
    labels = rng.integers(0, 4, OFFSETS[-1]).astype(float)
    labels[[3, 20]] = np.nan
    labels[36:43] = np.arange(7)
    loss, slope, *_ = partition_likelihood(Lists(scores.astype(float), labels, OFFSETS))
    found, gradient = kernels("partition_likelihood", way).partition_lists(
        *tensors(scores, labels, OFFSETS), int(SIZES.max()), 0.5
    )
    close(found, loss)
    close(gradient, 0.5 * slope)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spread", [2.0, 1_000.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"depth": 3}, {"halving": True}, {"place_weights": np.array([1.0, 0.5, 0.2])}, {"depth": TO_THE_LOWEST}],
)
def test_orders_of_lists(way, spread, options, weighted):
    rng = np.random.default_rng(2)
    scores = rng.normal(0, spread, OFFSETS[-1]).astype(np.float32)
    labels = rng.permutation(OFFSETS[-1]) - 50.0
    labels[[3, 20]] = np.nan
    if options.get("depth") == TO_THE_LOWEST:
        labels[43:], labels[4] = np.maximum(labels[43:], 0), labels[2]
    weights = rng.choice([0, 0.3, 2.5], OFFSETS[-1]) if weighted else None
    loss, slope, *_ = ordered_likelihood(Lists(scores.astype(float), labels, OFFSETS, weights), Order(**options))
    settings = {"depth": ALL, "sample": 0, "factor": -3.0, **options}
    if "place_weights" in options:
        settings["place_weights"] = tensors(options["place_weights"])[0]
    if weighted:
        settings["item_weights"] = tensors(weights)[0]
    stream, numbers = tensors(np.array([1, 0]), np.arange(len(SIZES)))
    found, gradient = kernels("ordered_likelihood", way).ordered_lists(
        *tensors(scores, labels, OFFSETS), stream, numbers, int(SIZES.max()), **settings
    )
    tied = np.isnan(loss)
    np.testing.assert_array_equal(found.isnan().cpu(), tied)
    close(found.nan_to_num(), np.nan_to_num(loss))
    close(gradient, -3 * slope)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("depth", [1, 4, 60])
def test_places_to_the_end_of_a_grade(way, depth):
    """Items of a grade have one score, so that their order changes neither the loss nor what the grade gets."""
    rng = np.random.default_rng(13)
    labels = rng.integers(0, 5, OFFSETS[-1]).astype(float)
    scores = np.array([0.3, 2, -1, 0.5, 1], np.float32)[labels.astype(int)]
    labels[[3, 20]] = np.nan
    order = Order(depth, whole_grades=True)
    exact = ordered_likelihood(Lists(scores.astype(float), labels, OFFSETS), order)
    found, gradient = kernels("ordered_likelihood", way).ordered_lists(
        *tensors(scores, labels, OFFSETS, np.array([1, 0]), np.arange(len(SIZES))), int(SIZES.max()), depth=depth,
        whole_grades=True,
    )  # fmt: skip
    close(found, exact.loss)
    grades = np.nan_to_num(labels, nan=5).astype(int) + 6 * np.repeat(np.arange(len(SIZES)), SIZES)
    sums = np.bincount(grades, exact.gradient)
    close(torch.as_tensor(np.bincount(grades, gradient.cpu().numpy())), sums)


@pytest.mark.parametrize("way", WAYS)
def test_ties_are_shuffled_anew_by_seed_and_sample(way):
    labels, offsets = np.array([2.0, 1, 1, 1, 0]), np.array([0, 5])
    scores = np.array([0.3, 1.0, -1.0, 0.2, 0.5], dtype=np.float32)
    module, given = kernels("ordered_likelihood", way), tensors(scores, labels, offsets)

    def loss(seed, sample):
        stream, numbers = tensors(np.array([seed, 0]), np.arange(1))
        return float(module.ordered_lists(*given, stream, numbers, 5, depth=5, sample=sample)[0])

    draws, samples = [loss(seed, 1) for seed in range(60)], {loss(0, sample) for sample in range(60)}
    assert loss(3, 1) == draws[3]
    assert len(set(np.round(draws, 4))) == len(set(np.round(list(samples), 4))) == 6
    expected = ordered_likelihood(Lists(scores.astype(float), labels, offsets), Order(permutations=2_000)).loss
    assert abs(np.mean(draws) - expected[0]) < 4 * np.std(draws) / np.sqrt(60)


@pytest.mark.skipif("gpu" not in WAYS, reason="needs a GPU with Triton, or TRITON_INTERPRET=1")
@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("options", [{}, {"depth": 4, "whole_grades": True}, {"depth": TO_THE_LOWEST}])
def test_lists_have_one_order_however_they_are_sorted(options, numbered, monkeypatch):
    """By plain PyTorch, by the program of a list, or all at once; 20 rows come after the last list."""
    rng = np.random.default_rng(15)
    offsets = np.cumsum([0, 5, 0, 30, 1, 150, 40, 0])
    labels = rng.choice([-3e38, -1, -0.0, 0.0, 2, 1e30, np.nan], offsets[-1] + 20)
    labels[5:35], labels[186:226] = rng.permutation(30), np.nan
    scores, module = rng.normal(0, 1, len(labels)).astype(np.float32), kernels("ordered_likelihood", "gpu")
    given = tensors(scores, labels, offsets, np.array([2**40 + 3, 7]))
    numbers = tensors(np.arange(7) + 100)[0] if numbered else None

    def found(way):
        settings = {"depth": ALL, "sample": 2, **options}
        losses, gradient = kernels("ordered_likelihood", way).ordered_lists(*given, numbers, 150, **settings)
        return torch.cat([losses, gradient[: offsets[-1]]]).cpu().numpy()

    expected = found("plain")
    np.testing.assert_allclose(found("gpu"), expected, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(module, "LONGEST_TO_SORT", 16)
    monkeypatch.setattr(module, "KEYS", 64)
    np.testing.assert_allclose(found("gpu"), expected, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(module, "MOST_AT_ONCE", 6)
    monkeypatch.delattr(module, "_sorted_rows")  # not called with so many lists
    np.testing.assert_allclose(found("gpu"), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_the_numbers_of_the_lists_name_the_draws(way):
    """Lists in another order and another batch, with their own numbers, give what they gave."""
    rng = np.random.default_rng(5)
    scores, labels = rng.normal(0, 1, OFFSETS[-1]).astype(np.float32), rng.integers(0, 3, OFFSETS[-1]).astype(float)
    some = np.array([5, 3, 0])
    rows = rows_of_lists(OFFSETS, some)
    orders, gains = kernels("ordered_likelihood", way), kernels("expected_gain", way)
    stream = tensors(np.array([2**40 + 3, 7]))[0]

    def both(lists, rows):
        offsets = np.concatenate([[0], np.cumsum(SIZES[lists])])
        arrays = tensors(scores[rows], labels[rows], offsets)
        numbers, longest = tensors(lists + 100)[0], int(SIZES[lists].max())
        ordered = orders.ordered_lists(*arrays, stream, numbers, longest, depth=ALL, sample=2)
        discounts = tensors(1 / np.log2(np.arange(2, 7)))[0]
        given = gains.expected_gain_lists(*arrays, discounts, stream, numbers, longest, samples=9, estimator=2)
        return [*ordered, *given]

    everything, part = both(np.arange(len(SIZES)), np.arange(OFFSETS[-1])), both(some, rows)
    for place, (whole, one) in enumerate(zip(everything, part, strict=True)):
        close(one, whole.cpu().double().numpy()[rows if place % 2 else some], 1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spread", [1.0, 6.0, 300.0])
@pytest.mark.parametrize("name", ["policy-gradient", "pl-rank-1", "pl-rank-2"])
def test_expected_gains_are_those_of_the_cpu_s_rankings(way, name, spread, monkeypatch):
    monkeypatch.setattr(plain, "CELLS", 5_000)  # three samples at a time
    rng = np.random.default_rng(3)
    scores = rng.normal(0, spread, OFFSETS[-1]).astype(np.float32)
    if spread > 100:  # closer than the CPU's own rule for what is far
        scores = np.clip(scores, -250, 250)
    gains = rng.integers(0, 4, OFFSETS[-1]).astype(float)
    scores[7], gains[8] = -np.inf, np.nan
    live = np.where(np.isnan(gains), -np.inf, scores).astype(float)
    discounts, draw = 1 / np.log2(np.arange(2, 7)), Draw(3, 2)
    rankings = sample_rankings(live, OFFSETS, samples=37, depth=5, way="keys", draw=draw, first_sample=9)
    exact = expected_gain(live, np.nan_to_num(gains), OFFSETS, discounts, rankings=rankings, estimator=name)
    found = kernels("expected_gain", way).expected_gain_lists(
        *tensors(scores, gains, OFFSETS, discounts, np.array([3, 2]), np.arange(len(SIZES))), int(SIZES.max()),
        samples=37, estimator=ESTIMATORS[name], factor=2.0, first_sample=9,
    )  # fmt: skip
    close(found[0], exact.value)
    close(found[1], 2 * exact.gradient, 2e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0, 300.0])
def test_exposures_are_those_of_the_cpu_s_rankings(way, spread):
    """With so many discounts the CPU too draws an exponential time for every item."""
    rng = np.random.default_rng(14)
    scores = rng.normal(0, spread, OFFSETS[-1]).clip(-250, 250).astype(np.float32)
    gains, discounts = np.zeros(OFFSETS[-1]), rng.uniform(0, 1, 120)
    scores[7], gains[8] = -np.inf, np.nan
    live = np.where(np.isnan(gains), -np.inf, scores).astype(float)
    exact = exposure(live, OFFSETS, discounts, samples=37, draw=Draw(3, 2), first_sample=9).value
    found = kernels("expected_gain", way).expected_gain_lists(
        *tensors(scores, gains, OFFSETS, discounts, np.array([3, 2]), np.arange(len(SIZES))), int(SIZES.max()),
        samples=37, estimator=EXPOSURE, first_sample=9,
    )[1]  # fmt: skip
    close(found, exact)


@pytest.mark.parametrize("name", ["policy-gradient", "pl-rank-1", "pl-rank-2"])
def test_expected_gains_in_plain_pytorch(name):
    scores, gains = np.array([0.3, -1, 0.5, 0, -np.inf, 1.0]), np.array([1.0, 3, 0, 2, 5, np.nan])
    offsets, discounts = np.array([0, 3, 6]), np.array([1.0, 0.6])
    live = np.where(np.isnan(gains), -np.inf, scores)
    exact = expected_gain(live, np.nan_to_num(gains), offsets, discounts, samples=40_000, variance=True, estimator=name)
    value, gradient = kernels("expected_gain", "plain").expected_gain_lists(
        *tensors(scores, gains, offsets, discounts, np.array([0, 0]), np.arange(2)), 3, samples=40_000,
        estimator=ESTIMATORS[name],
    )  # fmt: skip
    noise = np.sqrt(2 * exact.gradient_variance)
    assert (np.abs(gradient.cpu().numpy() - exact.gradient) <= 4.5 * noise + 1e-6).all()
    assert (np.abs(value.cpu().numpy() - exact.value) <= 4.5 * np.sqrt(2 * exact.value_variance) + 1e-6).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("metric", ["dcg@3", "dcg", "ndcg@3", "precision@4", "precision", "recall@3", "arp"])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_gains_of_labels(way, metric, gain):
    rng = np.random.default_rng(4)
    labels = rng.integers(-1, 4, OFFSETS[-1]).astype(float)
    labels[[3, 20]] = np.nan
    labels[36:43] = 2
    order, offsets = best_first(labels, OFFSETS)
    expected = np.full(len(labels), np.nan)
    expected[order], discounts = linear_gains(labels[order], offsets, metric, gain)
    found, *settings = gains_on_device(metric, gain == "linear", int(SIZES.max()), torch.device(DEVICE))
    gains = kernels("expected_gain", way).list_gains(*tensors(labels, OFFSETS), found, int(SIZES.max()), *settings)
    np.testing.assert_allclose(found.cpu(), discounts if "@" in metric else found.cpu(), rtol=1e-6)
    np.testing.assert_allclose(gains.cpu().numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif("gpu" not in WAYS, reason="needs Triton")
def test_no_draw_gives_an_infinite_time():
    """Only items that cannot be placed have one."""
    bits = np.array([0, 1, 2**26, 2**30, 2**40, 2**50, 2**51, 2**52 - 1])
    given, times = tensors(bits, np.zeros(8, np.float32))
    write_times[(1,)](given, times, 8)
    assert times.isfinite().all()
    close(times[3:], -np.log(bits[3:] * 2.0**-52 + 2.0**-53))
