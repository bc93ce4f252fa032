"""Losses on a device: here its plain kernels run on the CPU, and must say what the objectives say."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from luce.errors import DataError, LuceError, LuceWarning, OptionError
from luce.kernels import device
from luce.objectives import OBJECTIVES, label_rows, objective
from luce.objectives.expected import estimate
from luce.objectives.label_loss import dense_label_loss, dense_value_and_gradient, label_loss, label_value_and_gradient
from luce.objectives.label_rows import fused_linear_loss, row_loss, row_value_and_gradient
from luce.objectives.relevant import Relevant, one_device
from luce.objectives.torch_bridge import value_and_gradient
from luce.objectives.torch_device import list_loss, list_value_and_gradient
from luce.randomness import Draw

SIZES = np.array([4, 1, 12, 0, 7])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
RNG = np.random.default_rng(0)
SCORES = RNG.normal(0, 2, OFFSETS[-1]).astype(np.float32)
STRICT = np.concatenate([RNG.permutation(size) for size in SIZES]).astype(float)
GRADED = RNG.integers(0, 3, OFFSETS[-1]).astype(float)
RELEVANT = Relevant(torch.tensor([1, 7, 3, 0, 2, 4]), torch.tensor([0, 2, 3, 3, 6]))
ROWS = 4
LISTS = [
    ("listmle", STRICT, {}),
    ("p-listmle", STRICT, {}),
    ("listmle", STRICT, {"depth": 2}),
    ("listmle", STRICT, {"permutations": 3}),
    ("p-listmle", STRICT, {"alpha": "dcg"}),
    ("p-listmle", STRICT, {"alpha": 1.5}),
    ("p-listmle", STRICT, {"alpha": [1.0, 0.5, 0.25]}),
    ("pl-partition", GRADED, {}),
]


def tensors(labels, dtype=torch.float32):
    return torch.tensor(SCORES, dtype=dtype).requires_grad_(), torch.tensor(labels), torch.tensor(OFFSETS)


@pytest.mark.parametrize(("name", "labels", "options"), LISTS, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_lists_as_the_objective_has_them(name, labels, options, reduction):
    goal = objective(name, **options)
    exact = goal.value_and_gradient(SCORES.astype(float), labels, OFFSETS)
    scores, *given = tensors(labels)
    found = list_loss(goal, scores, *given, reduction)
    weights = torch.tensor([1.0, -2, 3, 0.5, 2]) if reduction == "none" else torch.tensor(2.0)
    (found * weights).sum().backward()
    share = weights.numpy() if reduction == "none" else np.full(5, 0.4 if reduction == "mean" else 2.0)
    loss = {"mean": exact.loss.mean(), "sum": exact.loss.sum(), "none": exact.loss}[reduction]
    np.testing.assert_allclose(found.detach().numpy(), loss, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scores.grad, exact.gradient * np.repeat(share, SIZES), rtol=1e-4, atol=1e-6)
    value, gradient = list_value_and_gradient(goal, scores, *given, reduction, longest=12)
    np.testing.assert_allclose(value.numpy(), loss, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, exact.gradient * (0.2 if reduction == "mean" else 1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["dcg@3", "ndcg", "precision@2", [1.0, 0.5]])
@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if each.estimate is not None])
def test_expected_metrics_but_for_noise(name, metric, weighted):
    goal = objective(name, metric=metric, samples=3_000)
    weights = np.linspace(0, 2, OFFSETS[-1]) if weighted else None
    exact = estimate(goal, SCORES.astype(float), GRADED, OFFSETS, item_weights=weights)
    scores, *given = tensors(GRADED)
    weights = torch.tensor(weights) if weighted else None
    found = list_loss(goal, scores, *given, "none", item_weights=weights, draw=Draw(3, 1, np.arange(5)))
    found.sum().backward()
    value_noise, noise = np.sqrt(2 * exact.value_variance), np.sqrt(2 * exact.gradient_variance)
    assert (np.abs(-found.detach().numpy() - exact.value) <= 5 * value_noise + 1e-5).all()
    assert (np.abs(-scores.grad.numpy() - exact.gradient) <= 5 * noise + 1e-5).all()


def plain_rows(name, scores, reduction):
    """By the objective on the CPU."""
    exact = scores.detach().double().requires_grad_()
    found = label_loss(name, exact, RELEVANT, reduction=reduction)
    return exact, found


@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if each.label_rows is not None])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_as_the_objective_has_them(name, reduction, dtype):
    scores = torch.randn(ROWS, 9, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    exact, loss = plain_rows(name, scores, reduction)
    weights = torch.tensor([1.0, -2, 3, 0.5]) if reduction == "none" else torch.tensor(2.0)
    (loss * weights).sum().backward()
    found = row_loss(objective(name), scores, RELEVANT, reduction)
    (found * weights).sum().backward()
    tol = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 1e-2}
    torch.testing.assert_close(found.double(), loss, **tol)
    torch.testing.assert_close(scores.grad.double(), exact.grad, **tol)
    value, gradient = row_value_and_gradient(objective(name), scores, RELEVANT, reduction)
    again, slope = label_value_and_gradient(name, exact, RELEVANT, reduction=reduction)
    torch.testing.assert_close(value.double(), again, **tol)
    torch.testing.assert_close(gradient.double(), slope, **tol)


@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if each.label_rows is not None])
def test_rows_whose_labels_are_all_relevant(name):
    scores, relevant = torch.tensor([[1.0, -2.0, 0.5]]), Relevant(torch.arange(3), torch.tensor([0, 3]))
    expected = label_loss(name, scores, relevant)
    torch.testing.assert_close(row_loss(objective(name), scores, relevant, "mean"), expected)


@pytest.mark.parametrize("name", ["softmax", "ranknet", "squared-label", "lambdarank"])
@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_rows_as_lists_of_all_labels(name, graded, reduction):
    scores = torch.randn(ROWS, 9, generator=torch.Generator().manual_seed(1), requires_grad=True)
    relevant = RELEVANT._replace(grades=torch.tensor([1.0, 3, 2, 1, 2, 1], dtype=torch.float64)) if graded else RELEVANT
    exact = scores.detach().double().requires_grad_()
    weights = torch.tensor([1.0, -2, 3, 0.5]) if reduction == "none" else torch.tensor(2.0)
    loss = label_loss(name, exact, relevant, reduction=reduction)
    (loss * weights).sum().backward()
    found = dense_label_loss(objective(name), scores, relevant, reduction)
    (found * weights).sum().backward()
    torch.testing.assert_close(found.double(), loss, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(scores.grad.double(), exact.grad, rtol=1e-5, atol=1e-6)
    value, gradient = dense_value_and_gradient(objective(name), scores, relevant, reduction)
    again, slope = label_value_and_gradient(name, exact, relevant, reduction=reduction)
    torch.testing.assert_close(value.double(), again, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient.double(), slope, rtol=1e-5, atol=1e-6)


def test_rows_that_draw_have_their_own_numbers():
    """A row draws by its number, not by its place in the batch."""
    scores, draw = torch.randn(ROWS, 9, generator=torch.Generator().manual_seed(1)), Draw(3, 2, np.arange(7, 11))
    value, gradient = dense_value_and_gradient(objective("listmle"), scores, RELEVANT, "none", draw)
    exact, slope = label_value_and_gradient("listmle", scores.double(), RELEVANT, reduction="none", draw=draw)
    assert not torch.equal(exact, label_value_and_gradient("listmle", scores.double(), RELEVANT, reduction="none")[0])
    if objective("listmle").device_lists is None:
        torch.testing.assert_close(gradient.double(), slope, rtol=1e-5, atol=1e-6)
    some = Relevant(RELEVANT.labels[3:], torch.tensor([0, 3]))
    alone, _ = dense_value_and_gradient(
        objective("listmle"), scores[3:], some, "none", draw._replace(lists=np.array([10]))
    )
    torch.testing.assert_close(alone, value[3:])


@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if each.label_rows is not None])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_the_last_layer_fused(name, biased, reduction, monkeypatch):
    n_labels = 10_000  # three chunks of 4,096
    monkeypatch.setattr(label_rows, "BUFFER", 1)
    source = torch.Generator().manual_seed(2)
    hidden, weight = torch.randn(ROWS, 3, generator=source), torch.randn(n_labels, 3, generator=source)
    bias = torch.randn(n_labels, generator=source) if biased else None
    relevant = Relevant(torch.tensor([4_095, 4_096, 9_999, 0, 5_000, 8_192]), torch.tensor([0, 2, 3, 3, 6]))
    upstream = torch.tensor([1.0, -2, 3, 0.5]) if reduction == "none" else torch.tensor(2.0)
    slopes = []
    for fused in (True, False):
        leaves = [part.clone().requires_grad_() for part in (hidden, weight, bias) if part is not None]
        if fused:
            loss = fused_linear_loss(*leaves[:2], leaves[2] if biased else None, relevant, name, reduction=reduction)
        else:
            scores = leaves[0] @ leaves[1].T + (leaves[2] if biased else 0)
            loss = label_loss(name, scores, relevant, reduction=reduction)
        (loss * upstream).sum().backward()
        slopes.append([loss.detach(), *(leaf.grad for leaf in leaves)])
    for ours, plain in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"weight": torch.zeros(5, 2)}, DataError, r"must be \(B, H\), \(N, H\) and \(N,\)"),
        ({"bias": torch.zeros(4)}, DataError, "must be"),
        ({"relevant": Relevant(torch.tensor([0]), torch.tensor([0, 1]))}, DataError, "must have 4 rows"),
        (
            {"name": "ranknet"},
            LuceError,
            "ranknet has no kernels that compute scores and loss together; pl-partition, pl-lb",
        ),
        ({"relevant": RELEVANT._replace(grades=torch.ones(6))}, LuceError, "without grades"),
        ({"reduction": "max"}, OptionError, "reduction must be"),
        ({"bias": torch.zeros(9, device="meta")}, LuceError, "on cpu and meta"),
    ],
)
def test_bad_input_to_the_fused_layer(change, error, words):
    given = {"hidden": torch.zeros(4, 3), "weight": torch.zeros(9, 3), "bias": None, "relevant": RELEVANT, **change}
    with pytest.raises(error, match=words):
        fused_linear_loss(**given)


def test_value_and_gradient_is_what_autograd_says():
    scores, labels, offsets = tensors(GRADED)
    exact = objective("ranknet").value_and_gradient(SCORES.astype(float), GRADED, OFFSETS)
    value, gradient = value_and_gradient("ranknet", scores, labels, offsets, reduction="sum")
    np.testing.assert_allclose(value.numpy(), exact.loss.sum(), rtol=1e-6)
    np.testing.assert_allclose(gradient.numpy(), exact.gradient, rtol=1e-6)
    assert scores.grad is None and not value.requires_grad


def test_the_page_on_gpus_names_what_runs_there():
    page = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text()
    table = [line for line in page.splitlines() if line.startswith("|") and "`luce.torch." in line]
    rows, fused = (set(re.findall(r"`([a-z0-9-]+)`", line)) for line in table[1:])
    assert rows == fused == {name for name, each in OBJECTIVES.items() if each.label_rows is not None}


def test_tensors_on_two_devices_are_refused():
    assert one_device(torch.zeros(1), None) == "cpu"
    with pytest.raises(LuceError, match="They are on cpu and meta"):
        one_device(torch.zeros(1), torch.zeros(1, device="meta"))


def test_a_missing_triton_is_said_once(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    device.has_triton.cache_clear()
    with pytest.warns(LuceWarning, match="pip install triton"):
        assert device.device_kernels("expected_gain", "cuda").__name__.endswith("expected_gain.plain")
    assert device.device_kernels("expected_gain", "cuda").__name__.endswith("expected_gain.plain")
    device.has_triton.cache_clear()
