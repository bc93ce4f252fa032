"""The cross-entropy of the first places against enumeration, finite differences and extreme numbers."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from luce.kernels import padded
from luce.kernels.top_cross_entropy import cpu, plain, reference
from luce.lists import Lists, evaluate_kernel

SIZES = [1, 2, 3, 0, 6, 5]


def evaluate(scores, labels, offsets, depth, weights=None, hessian=False):
    lists = Lists(scores, labels, offsets, weights, hessian=hessian)
    return evaluate_kernel(cpu.top_cross_entropy, lists, lists.weights, depth)


def made(seed, spread=1.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(SIZES)])
    labels = spread * rng.normal(size=offsets[-1])
    labels[offsets[4] + 1] = np.nan
    return spread * rng.normal(size=offsets[-1]), labels, offsets, rng.uniform(0, 2, offsets[-1])


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_enumeration(depth, spread, weighted):
    scores, labels, offsets, weights = made(1, spread)
    found = evaluate(scores, labels, offsets, depth, weights if weighted else None)
    for q, (a, b) in enumerate(pairwise(offsets)):
        seen = a + np.flatnonzero(~np.isnan(labels[a:b]))
        known = scores[seen], labels[seen], depth, weights[seen] if weighted else None
        expected = reference.top_cross_entropy(*known) if len(seen) > 1 else 0.0
        assert found.loss[q] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_plain_pytorch_as_on_the_cpu(depth, spread, weighted, monkeypatch):
    monkeypatch.setattr(padded, "CELLS", 80)  # two of six columns at a time
    scores, labels, offsets, weights = made(5, spread)
    weights = weights if weighted else None
    exact = evaluate(scores, labels, offsets, depth, weights)
    given = (torch.as_tensor(each) for each in (scores, labels, offsets))
    own = None if weights is None else torch.as_tensor(weights)
    found, gradient = plain.top_cross_entropy(*given, 6, depth, item_weights=own, factor=2.0)
    np.testing.assert_allclose(found, exact.loss, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient, 2 * exact.gradient, rtol=1e-6, atol=1e-6)
    without_values = (torch.as_tensor(each, device="meta") for each in (scores, labels, offsets))
    assert plain.top_cross_entropy(*without_values, 6, depth)[1].shape == scores.shape


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gradient_and_hessian_are_the_finite_differences(depth):
    scores, labels, offsets, weights = made(2)
    found = evaluate(scores, labels, offsets, depth, weights, hessian=True)
    for i, step in enumerate(1e-5 * np.eye(len(scores))):
        above, below = (evaluate(scores + each, labels, offsets, depth, weights) for each in (step, -step))
        assert found.gradient[i] == pytest.approx((above.loss - below.loss).sum() / 2e-5, abs=1e-9)
        assert found.hessian[i] == pytest.approx((above.gradient - below.gradient)[i] / 2e-5, abs=1e-9)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("scale", [1e3, 1e20, 1e300])
def test_scores_and_labels_of_any_size_give_finite_numbers(depth, scale):
    scores, labels, offsets, _ = made(3)
    for s, y in ((scale * scores, labels), (scores, scale * labels), (scale * scores, scale * labels)):
        for values in evaluate(s, y, offsets, depth, hessian=True)[:3]:
            assert np.isfinite(values).all()


def test_labels_far_apart_are_an_order():
    """The cross-entropy tends to minus the log-likelihood of the order, to the depth."""
    scores = np.random.default_rng(4).normal(size=6)
    labels = 1e4 * np.arange(6.0)
    order = np.argsort(-labels)
    for depth in (1, 2, 3):
        steps = [np.logaddexp.reduce(scores[order[j:]]) - scores[order[j]] for j in range(depth)]
        assert evaluate(scores, labels, np.array([0, 6]), depth).loss[0] == pytest.approx(sum(steps), rel=1e-13)
