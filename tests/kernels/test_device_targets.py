"""Losses against targets of labels and of sets of equal labels on a device, against the CPU's kernels.

Without a GPU, Triton's kernels run when it is installed and TRITON_INTERPRET=1 is set.
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.special import gammaln

from luce.kernels.cross_entropy.cpu import cross_entropy
from luce.kernels.distances.cpu import cosine, squared
from luce.kernels.grade_losses import BOUND, CHOICE
from luce.kernels.label_targets import NORMS, VALUES, target_arguments
from luce.kernels.logistic.cpu import logistic
from luce.kernels.partition_likelihood.cpu import partition_lower_bound
from luce.kernels.subset_choice import arithmetic_choice
from luce.kernels.target_losses import COSINE, CROSS_ENTROPY, LOGISTIC, SQUARED
from luce.lists import Lists, evaluate_kernel
from luce.objectives import objective

from .test_device_kernels import DEVICE, OFFSETS, SIZES, WAYS, kernels, tensors

LOSSES = [
    (CROSS_ENTROPY, "exponential", "sum"),
    (CROSS_ENTROPY, "attention", "sum"),
    (CROSS_ENTROPY, "gain", "sum"),
    (CROSS_ENTROPY, "gain", "dcg"),
    (CROSS_ENTROPY, "gain", "one"),
    (CROSS_ENTROPY, "label", "one"),
    (COSINE, "label", "length"),
    (COSINE, "gain", "length"),
    (COSINE, "gain", "dcg"),
    (SQUARED, "label", "one"),
    (SQUARED, "gain", "one"),
    (SQUARED, "gain", "dcg"),
    (LOGISTIC, "label", "one"),
]
EVERY_WAY = pytest.mark.parametrize("way", WAYS)
N = OFFSETS[-1]


def labels_of(kind):
    """Labels with some not observed, a list without gain, one of a single label, and one whose are all equal."""
    rng = np.random.default_rng(6)
    labels = {
        "grades": rng.integers(-1, 5, N),
        "fractions": rng.normal(0, 1, N) * 10.0 ** rng.integers(-6, 1, N),
        "high": rng.choice([0, 0.25, 3, 1_990, 1_999.5, 2_000], N),
    }[kind].astype(float)
    labels[[3, 20, 21]] = np.nan
    labels[36:43] = 0 if kind == "grades" else -1
    labels[243] = np.nan
    return labels


def evaluate_targets(lists, loss, value, norm, depth):
    """On the CPU."""
    targets = target_arguments(lists.offsets, value, norm, depth)
    if loss == COSINE:
        return evaluate_kernel(cosine, lists, *targets, has_hessian=False, zeroed=False)
    if loss == LOGISTIC:
        return evaluate_kernel(logistic, lists, lists.weights)
    kernel = {CROSS_ENTROPY: cross_entropy, SQUARED: squared}[loss]
    return evaluate_kernel(kernel, lists, lists.weights, *targets, zeroed=False)


def check(losses, gradient, exact, factor):
    """Each list on its own scale."""
    np.testing.assert_allclose(losses.cpu(), exact.loss, rtol=1e-6, atol=1e-12)
    for begin, end in pairwise(OFFSETS):
        expected = factor * exact.gradient[begin:end]
        size = np.linalg.norm(gradient[begin:end].cpu().numpy() - expected)
        assert size <= 1e-6 * np.linalg.norm(expected) + 1e-13


def check_targets(way, loss, value, norm, labels, scores, depth=None, weights=None):
    exact = evaluate_targets(Lists(scores.astype(float), labels, OFFSETS, weights), loss, value, norm, depth)
    found, gradient = kernels("target_losses", way).target_lists(
        *tensors(scores, labels, OFFSETS), int(SIZES.max()), loss=loss, value=VALUES[value], norm=NORMS[norm],
        depth=depth or int(SIZES.max()), item_weights=None if weights is None else tensors(weights)[0], factor=-2.0,
    )  # fmt: skip
    check(found, gradient, exact, -2.0)


@EVERY_WAY
@pytest.mark.parametrize("spread", [0.0, 2.0, 1_000.0])
@pytest.mark.parametrize(("loss", "value", "norm"), LOSSES)
def test_losses_against_targets(way, loss, value, norm, spread):
    scores = np.random.default_rng(7).normal(0, spread, N).astype(np.float32)
    check_targets(way, loss, value, norm, labels_of("grades"), scores)


@EVERY_WAY
@pytest.mark.parametrize("kind", ["fractions", "high"])
@pytest.mark.parametrize(("loss", "value", "norm"), LOSSES)
def test_any_labels(way, loss, value, norm, kind):
    if kind == "high" and (value, norm) == ("gain", "one"):
        pytest.skip("beyond any number")
    check_targets(way, loss, value, norm, labels_of(kind), np.random.default_rng(8).normal(0, 2, N).astype(np.float32))


@EVERY_WAY
@pytest.mark.parametrize("loss", [CROSS_ENTROPY, SQUARED, LOGISTIC])
def test_item_weights(way, loss):
    rng = np.random.default_rng(9)
    scores, weights = rng.normal(0, 2, N).astype(np.float32), rng.choice([0, 0.3, 2.5], N)
    weights[OFFSETS[4] : OFFSETS[5]] = 0
    check_targets(way, loss, "label", "one", np.abs(labels_of("grades")), scores, weights=weights)


@EVERY_WAY
@pytest.mark.parametrize("loss", [CROSS_ENTROPY, COSINE, SQUARED])
@pytest.mark.parametrize("depth", [1, 3])
def test_the_ideal_dcg_to_a_depth(way, loss, depth):
    scores = np.random.default_rng(10).normal(0, 2, N).astype(np.float32)
    check_targets(way, loss, "gain", "dcg", labels_of("grades"), scores, depth)


@EVERY_WAY
@pytest.mark.parametrize("spread", [0.0, 2.0, 1_000.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [BOUND, CHOICE])
def test_sets_of_equal_labels(way, kind, weighted, spread):
    rng = np.random.default_rng(11)
    scores, labels = rng.normal(0, spread, N).astype(np.float32), labels_of("grades")
    weights = rng.choice([0, 0.3, 2.5], N) if weighted else None
    lists = Lists(scores.astype(float), labels, OFFSETS, weights)
    exact = evaluate_kernel(partition_lower_bound, lists, lists.weights) if kind == BOUND else arithmetic_choice(lists)
    given = None if weights is None else tensors(weights)[0]
    found, gradient = kernels("grade_losses", way).grade_lists(
        *tensors(scores, labels, OFFSETS), int(SIZES.max()), kind, given, 3.0
    )
    check(found, gradient, exact, 3.0)


@EVERY_WAY
@pytest.mark.parametrize("weight", [0.0, 1e-3, 0.5, 1.0, 30.0, 4e5])
def test_the_bound_of_one_item_above_another_holds_the_factorial_of_its_weight(way, weight):
    scores, labels, weights, offsets = tensors(np.zeros(2, np.float32), [1.0, 0.0], [weight, 1.0], [0, 2])
    found, _ = kernels("grade_losses", way).grade_lists(scores, labels, offsets, 2, BOUND, weights)
    np.testing.assert_allclose(found.cpu(), weight * np.log(2) - gammaln(weight + 1), rtol=1e-6, atol=1e-11)


@EVERY_WAY
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grades", [1, 3, 70])
def test_grades_as_classes(way, weighted, grades):
    rng = np.random.default_rng(12)
    scores, labels = rng.normal(0, 4, (N, grades)).astype(np.float32), rng.integers(0, grades, N).astype(float)
    labels[[3, 20, 243]] = np.nan
    weights = rng.uniform(0, 2, N) if weighted else None
    exact = objective("mcrank").value_and_gradient(scores.astype(float), labels, OFFSETS, item_weights=weights)
    given = None if weights is None else tensors(weights)[0]
    lists = *tensors(scores, labels, OFFSETS), int(SIZES.max())
    check(*kernels("grade_choice", way).grade_lists(*lists, given, 0.5), exact, 0.5)


@EVERY_WAY
@pytest.mark.parametrize("label", [-1.0, 0.5, 3.0])
def test_a_label_that_is_no_class_makes_the_loss_of_its_list_nan(way, label):
    scores, labels = torch.zeros(4, 3, device=DEVICE), torch.tensor([1.0, label, 2.0, 0.0], device=DEVICE)
    offsets = torch.tensor([0, 2, 4], device=DEVICE)
    found, _ = kernels("grade_choice", way).grade_lists(scores, labels, offsets, 2)
    assert found.isnan().tolist() == [True, False]


def test_no_lists_are_no_losses():
    empty, offsets = torch.zeros(0, device=DEVICE), torch.zeros(1, dtype=torch.int64, device=DEVICE)
    settings = {"loss": SQUARED, "value": VALUES["label"], "norm": NORMS["one"], "depth": 1}
    for way in WAYS:
        for found in (
            kernels("target_losses", way).target_lists(empty, empty, offsets, 0, **settings),
            kernels("grade_losses", way).grade_lists(empty, empty, offsets, 0, BOUND),
        ):
            assert [part.shape for part in found] == [(0,), (0,)]
