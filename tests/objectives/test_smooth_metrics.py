"""ApproxNDCG as published: the formulas of TF-Ranking and allRank under PyTorch's derivatives, and its limit."""

import numpy as np
import pytest
import torch

from luce.data import Dataset
from luce.metrics import evaluate
from luce.objectives import objective


def lists(seed=0):
    """Eight lists of nine items, of which none is without a relevant one."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, (8, 9)).astype(float)
    labels[:, 0] = [1, 2, 3, 4, 1, 2, 3, 4]
    return rng.normal(size=(8, 9)), labels, np.arange(0, 73, 9)


def approx_ndcg(scores, labels, offsets, temperature):
    chosen = objective("approx-ndcg", temperature=temperature)
    return chosen.value_and_gradient(scores.ravel(), labels.ravel(), offsets)


def tf_ranking(labels, logits, temperature):
    """The losses (Q,) of `ApproxNDCGLoss`: minus gains / log₂(1 + ranks) over the highest DCG."""
    logits = logits / temperature
    ranks = torch.sigmoid(logits[:, None, :] - logits[:, :, None]).sum(2) + 0.5
    ideal = labels.sort(1, descending=True).values
    places = torch.arange(1, labels.shape[1] + 1)
    highest = ((2**ideal - 1) / torch.log1p(places)).sum(1)
    return -((2**labels - 1) / torch.log1p(ranks)).sum(1) / highest


def all_rank(labels, scores, alpha):
    """The losses (Q,) of `approxNDCGLoss`: items from the highest score down, and no pair of an item with itself."""
    scores, order = scores.sort(1, descending=True)
    discounts = torch.log2(1 + torch.arange(1, labels.shape[1] + 1))
    highest = ((2 ** labels.sort(1, descending=True).values - 1) / discounts).sum(1)
    gains = (2 ** labels.gather(1, order) - 1) / highest[:, None]
    others = 1 - torch.eye(labels.shape[1])
    places = 1 + (others * torch.sigmoid(-alpha * (scores[:, :, None] - scores[:, None, :]))).sum(2)
    return -(gains / torch.log2(1 + places)).sum(1)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
@pytest.mark.parametrize("published", [tf_ranking, lambda y, s, t: all_rank(y, s, 1 / t)], ids=["tf", "allrank"])
def test_value_and_gradient_are_those_published(published, temperature):
    scores, labels, offsets = lists()
    inputs = torch.tensor(scores, requires_grad=True)
    losses = published(torch.tensor(labels), inputs, temperature)
    losses.sum().backward()
    found = approx_ndcg(scores, labels, offsets, temperature)
    np.testing.assert_allclose(found.loss, losses.detach(), rtol=1e-6)  # torch.log of integers is float32
    np.testing.assert_allclose(found.gradient, inputs.grad.ravel(), rtol=1e-5, atol=1e-9)


def test_at_a_low_temperature_it_is_minus_ndcg():
    scores, labels, offsets = lists()
    found = approx_ndcg(scores, labels, offsets, 1e-6)
    data = Dataset(np.zeros((72, 1)), labels.ravel(), offsets)
    np.testing.assert_allclose(found.loss, -evaluate(scores.ravel(), data, "ndcg").values["ndcg"], rtol=1e-12)


def test_an_item_weight_is_a_factor_of_the_gain():
    scores, labels, weights = [0.3, 0.1, 0.2], [2, 1, 0], [0.5, 2.0, 9.0]
    found = objective("approx-ndcg").value_and_gradient(scores, labels, item_weights=weights)
    parts = [objective("approx-ndcg").value_and_gradient(scores, labels, item_weights=row) for row in np.eye(3)]
    np.testing.assert_allclose(found.loss, sum(w * part.loss for w, part in zip(weights, parts, strict=True)))
    assert parts[2].loss == 0
