"""Every objective on a device says what it says on the CPU: kernels in plain PyTorch, or on a GPU.

With TRITON_INTERPRET=1 the interpreter of Triton runs the kernels for GPUs, slowly.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from luce.arrays import rows_of_lists
from luce.objectives import OBJECTIVES, Draw, objective, torch_bridge
from luce.objectives.torch_bridge import loss
from luce.objectives.torch_device import device_lists, evaluate_on_device

from .made import SIZES, evaluate, ragged, without_ties

EVERY = pytest.mark.parametrize("name", OBJECTIVES)
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
OWN_SAMPLES = {name for name, each in OBJECTIVES.items() if each.family == "expected metric"}
"""They draw other rankings on a device: `test_torch_device` compares them with the CPU but for noise."""
BY_LABELS = ("pl-partition", "pl-lb", "pmop-fd")
"""In plain PyTorch they wait for the device at each label; the kernels in Triton do not."""
ONLY_TRITON = ("pmop-exact", "pmop-gibbs", "pmop-mh")
"""Without Triton the CPU computes them."""

NUMBERS = np.arange(len(SIZES)) + 7


def lists_of(name, spread=2.0):
    """Scores in float32, labels that leave nothing to chance, and offsets."""
    scores, labels, offsets = ragged(name, spread=spread)
    if OBJECTIVES[name].random:
        labels = without_ties(name)[1]
    return scores.astype(np.float32), labels, offsets


def on_device(name, scores, labels, offsets, numbers=NUMBERS, nuisance=None, item_weights=None, options=None):
    """Losses, gradient of their mean, and nuisance gradient, as arrays."""

    def tensor(values):
        return None if values is None else torch.as_tensor(values, device=DEVICE)

    given = (tensor(values) for values in (scores, labels, offsets))
    goal = objective(name, **options or {})
    lists = device_lists(goal, *given, "mean", tensor(item_weights), tensor(nuisance), Draw(3, 1, numbers))
    return [None if values is None else values.cpu().double().numpy() for values in evaluate_on_device(goal, lists)]


def close(found, expected, tol=2e-6):
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) <= tol * max(np.linalg.norm(expected), 1e-30)


@pytest.mark.parametrize("spread", [2.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in OWN_SAMPLES])
def test_as_on_the_cpu(name, weighted, spread):
    if weighted and not OBJECTIVES[name].item_weights:
        pytest.skip("takes no item weights")
    scores, labels, offsets = lists_of(name, spread)
    start = [value + 0.3 for value in OBJECTIVES[name].nuisance.values()] or None
    weights = np.random.default_rng(1).uniform(0, 2, len(labels)) * (np.arange(len(labels)) % 5 > 0)
    own = {"item_weights": weights if weighted else None, "nuisance": None if start is None else np.array(start)}
    exact = evaluate(name, scores.astype(float), labels, offsets, draw=Draw(3, 1, NUMBERS), **own)
    found, gradient, nuisance = on_device(name, scores, labels, offsets, **own)
    close(found, exact.loss)
    close(gradient, exact.gradient / len(SIZES))
    assert (nuisance is None) == (exact.nuisance_gradient is None)
    if nuisance is not None:
        close(nuisance, exact.nuisance_gradient)


@EVERY
def test_a_list_does_not_depend_on_others_or_on_what_follows(name):
    scores, labels, offsets = lists_of(name)
    whole = on_device(name, scores, labels, offsets)
    longer = 3 * len(labels)  # a further list, and two rows that are of none
    some = np.array([5, 2, 0, 3])
    rows = rows_of_lists(offsets, some)
    ends = np.cumsum([0, *np.array(SIZES)[some], longer])
    far = np.arange(longer + 2)
    grades = far % 4 + (far / 1_000 if OBJECTIVES[name].random or name == "pl-topk" else 0)
    other = on_device(
        name,
        np.concatenate([scores[rows], scores[far % len(scores)]]),
        np.concatenate([labels[rows], grades]),
        ends,
        np.array([*NUMBERS[some], 99]),
    )
    close(other[0][:-1], whole[0][some])
    close(other[1][: len(rows)] * 5, whole[1][rows] * len(SIZES))
    if whole[2] is not None:
        close(other[2][:-1], whole[2][some])


@EVERY
def test_lists_that_say_nothing_have_no_loss(name):
    scores = np.zeros((3, 4) if OBJECTIVES[name].one_output_per_grade else 3, np.float32)
    for labels, offsets in (([np.nan] * 3, [0, 2, 2, 3]), ([np.nan] * 3, [0]), ([1.0, np.nan, np.nan], [0, 0, 2])):
        found, gradient, _ = on_device(name, scores, np.array(labels), np.array(offsets), np.arange(len(offsets) - 1))
        n_rows = offsets[-1]
        if not (OBJECTIVES[name].pointwise and 1.0 in labels):
            assert not found.any() and not gradient[:n_rows].any()
        assert found.shape == (len(offsets) - 1,) and gradient.shape == scores.shape


@EVERY
def test_padded_batches_are_the_flat_lists(name, monkeypatch):
    """As `luce.torch.loss` computes them on a GPU."""
    monkeypatch.setattr(torch_bridge, "one_device", lambda *tensors: "cuda")
    scores, labels, offsets = lists_of(name)
    rows = rows_of_lists(offsets, np.array([0, 3, 4, 5]))  # a list needs an item
    sizes = np.array(SIZES)[[0, 3, 4, 5]]
    inside = np.arange(sizes.max()) < sizes[:, None]
    start = list(OBJECTIVES[name].nuisance.values())
    results = []
    for form in ("offsets", "mask", "lengths"):
        s, y = scores[rows], labels[rows]
        given = {"offsets": np.cumsum([0, *sizes]), "mask": inside, "lengths": sizes}[form]
        if form != "offsets":
            flat = s, y
            s, y = np.full((*inside.shape, *s.shape[1:]), 9.0, np.float32), np.full(inside.shape, 9.0)
            s[inside], y[inside] = flat
        s = torch.tensor(s, device=DEVICE).requires_grad_()
        nuisance = torch.tensor(start, device=DEVICE).requires_grad_() if start else None
        own = {form: torch.tensor(given, device=DEVICE), "nuisance": nuisance, "draw": Draw(3, 1, NUMBERS[:4])}
        value = loss(name, s, torch.tensor(y, device=DEVICE), **own)
        value.backward()
        gradient = s.grad.cpu().double().numpy()
        results.append((value.detach().cpu().numpy(), gradient if form == "offsets" else gradient[inside]))
        results[-1] += (nuisance.grad.cpu().numpy() if start else np.zeros(1),)
        assert form == "offsets" or not gradient[~inside].any()
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            close(found, expected)


@pytest.mark.skipif(INTERPRETED, reason="the interpreter reads values")
@EVERY
def test_no_value_is_read_so_that_a_graph_can_be_recorded(name):
    """Tensors without values pass through all that is done in plain PyTorch."""
    if name in BY_LABELS:
        pytest.skip("goes from label to label")
    if name in ONLY_TRITON:
        pytest.skip("is not written in plain PyTorch")
    scores, labels, offsets = (torch.as_tensor(values, device="meta") for values in lists_of(name))
    weights = torch.ones_like(labels) if OBJECTIVES[name].item_weights else None
    lists = device_lists(objective(name), scores, labels, offsets, "mean", weights, longest=12)
    found = evaluate_on_device(objective(name), lists)
    assert found.gradient.shape == scores.shape and found.losses.shape == (len(SIZES),)


@EVERY
def test_the_record_says_what_computes_on_a_gpu(name):
    each = OBJECTIVES[name]
    assert each.device_lists is not None and each.facts()["on a GPU"] == "yes"
    assert replace(each, device_lists=None).facts()["on a GPU"] == "computed on the CPU"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("listnet", {"depth": 2}),
        ("listnet", {"depth": 3}),
        ("softmax", {"gain": "exponential"}),
        ("softmax", {"gain": "binary"}),
        ("c-kl", {"depth": 2}),
        ("c-cosine", {"depth": 1}),
        ("c-squared", {"depth": 3}),
        ("pmop-fd", {"direction": "backward"}),
        ("listmle", {"depth": 2, "whole_grades": True}),
        ("p-listmle", {"alpha": 0.5}),
        ("p-listmle", {"alpha": lambda n: np.arange(n, 0.0, -1)}),
        ("pl-rank-2", {"samples": "auto"}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_options(name, options):
    scores, labels, offsets = lists_of(name)
    exact = objective(name, **options).value_and_gradient(
        scores.astype(float), labels, offsets, draw=Draw(3, 1, NUMBERS)
    )
    found, gradient, _ = on_device(name, scores, labels, offsets, options=options)
    close(found, exact.loss)
    close(gradient, exact.gradient / len(SIZES))
