"""The objective fair-policy on a device: from the same rankings it says what the CPU says.

Lists are short for their cutoffs, so that the CPU too draws an exponential time for every item.
"""

import numpy as np
import pytest
import torch

from luce.errors import DataError, OptionError
from luce.lists import DeviceLists
from luce.metrics import METRICS
from luce.metrics.torch_fairness import FUNCTIONS
from luce.objectives import Draw, objective
from luce.objectives.torch_device import device_lists, evaluate_on_device

from .test_device_laws import DEVICE, INTERPRETED

SIZES = np.array([5, 1, 0, 8, 3, 12])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
NUMBERS = np.arange(len(SIZES)) + 7
DRAW = Draw(2**40 + 3, 1, NUMBERS)
AFTER = 2
"""Rows of no list."""


def made(spread=2.0):
    """Scores in float32, labels that leave nothing to chance, item weights and groups."""
    rng = np.random.default_rng(4)
    n_rows = OFFSETS[-1] + AFTER
    labels = rng.integers(0, 4, n_rows) + rng.permutation(n_rows) / 1_000 - 0.5
    labels[[2, 9]] = np.nan
    weights = rng.uniform(0, 2, n_rows) * (np.arange(n_rows) % 5 > 0)
    scores = rng.normal(0, spread, n_rows).clip(-250, 250)  # closer than the rule of the CPU for what is far
    return scores.astype(np.float32), labels, weights, rng.integers(-1, 3, n_rows)


def on_device(goal, scores, labels, weights, groups, draw=DRAW) -> list[np.ndarray]:
    """Losses, and the gradient of their mean."""
    given = [None if each is None else torch.as_tensor(each, device=DEVICE) for each in (scores, labels, OFFSETS)]
    weights, groups = (None if each is None else torch.as_tensor(each, device=DEVICE) for each in (weights, groups))
    lists: DeviceLists = device_lists(goal, *given, "mean", weights, draw=draw)._replace(item_groups=groups)
    found = evaluate_on_device(goal, lists)
    return [each.cpu().double().numpy() for each in (found.losses, found.gradient[: OFFSETS[-1]])]


def on_cpu(goal, *given, draw=DRAW) -> list[np.ndarray]:
    scores, labels, weights, groups = (None if each is None else each[: OFFSETS[-1]] for each in given)
    settings = {"item_weights": weights, "item_groups": groups, "draw": draw}
    found = goal.value_and_gradient(scores.astype(float), labels, OFFSETS, **settings)
    return [found.loss, found.gradient / len(SIZES)]


WAYS = on_device, on_cpu


def close(found, expected, tol=2e-5):
    for one, other in zip(found, expected, strict=True):
        assert np.linalg.norm(one - other) <= tol * max(np.linalg.norm(other), 1e-30)


FALLING, RISING = [1.0, 0.5, 0.25, 0.2, 0.1, 0.1, 0.05], [0.2, 1, 0.5, 0.1, 0.3, 0.1, 0.4]
OPTIONS = [
    {"utility": "0.7*ndcg@10 - 0.3*disparity@10"},
    {"utility": "-disparity", "gain": "linear"},
    {"utility": "-disparity - parity-gap@9", "discounts": FALLING, "estimator": "pl-rank-1"},
    {"utility": "ndcg@10 - disparity", "discounts": RISING, "exposure_samples": 7},
    {"utility": "-parity-gap@10", "estimator": "policy-gradient"},
    {"utility": "dcg - 3*merit-gap@8 + parity-gap"},
    {"utility": {"arp": -0.5, "precision@7": 1, "disparity@7": -1}},
    {"utility": "0.7*ndcg@10 - 0.3*disparity@10 - merit-gap", "estimator": "lambdaloss", "samples": 7},
    {"utility": "dcg", "estimator": "lambdaloss", "samples": (3, 9, 2)},
]


@pytest.mark.parametrize("spread", [2.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_on_the_cpu(options, weighted, spread):
    goal = objective("fair-policy", **{"samples": 20, "exposure_samples": 40, **options})
    scores, labels, weights, groups = made(spread)
    given = scores, labels, weights if weighted else None, groups
    close(on_device(goal, *given), on_cpu(goal, *given))


@pytest.mark.skipif(INTERPRETED, reason="the interpreter reads values")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_value_is_read(options):
    """Tensors without values pass, so that a step can be recorded as a CUDA graph."""
    goal, given = objective("fair-policy", **options), (torch.as_tensor(each, device="meta") for each in made())
    scores, labels, weights, groups = given
    offsets = torch.as_tensor(OFFSETS, device="meta")
    lists = device_lists(goal, scores, labels, offsets, "mean", weights, longest=12)._replace(item_groups=groups)
    assert evaluate_on_device(goal, lists).gradient.shape == scores.shape


def test_what_the_cpu_computes():
    """A function of the user, a number of samples for each list, and what is refused."""
    given = made()

    def crowding(exposures, merits, groups):
        return float(np.sum(exposures**2 * merits)), 2 * exposures * merits

    for options in ({"utility": {"dcg": 1.0, crowding: -0.2}}, {"utility": "dcg@3 - disparity@3", "samples": "auto"}):
        goal = objective("fair-policy", **options)
        close(on_device(goal, *given), on_cpu(goal, *given), 1e-6)
    rising = objective("fair-policy", utility="-disparity", discounts=[0.5, 1], estimator="lambdaloss")
    with pytest.raises(OptionError, match="do not rise"):
        on_device(rising, *given)
    with pytest.raises(DataError, match="merit-gap needs the group of each item"):
        on_device(objective("fair-policy", utility="-merit-gap"), *given[:3], None)


@pytest.mark.skipif(INTERPRETED, reason="many draws")
@pytest.mark.parametrize("utility", ["0.7*ndcg@3 - 0.3*disparity@3", "-merit-gap@3"])
def test_the_gradient_of_short_rankings_but_for_noise(utility):
    """Where the CPU draws in another way: as the mean of many draws."""
    goal = objective("fair-policy", utility=utility, samples=50)
    draws = [Draw(seed, 0, NUMBERS) for seed in range(60)]
    there, here = (np.stack([np.concatenate(each(goal, *made(), draw=draw)) for draw in draws]) for each in WAYS)
    noise = np.sqrt((there.var(axis=0) + here.var(axis=0)) / len(draws))
    assert (np.abs(there.mean(axis=0) - here.mean(axis=0)) < 4.5 * noise + 1e-6).all()
    assert 0.8 < (there.var(axis=0).sum() / here.var(axis=0).sum()) < 1.25


@pytest.mark.parametrize("name", [name for name, each in METRICS.items() if each.is_stochastic])
def test_fairness_as_numpy_computes_it(name):
    """Of lists without merit, without exposure, of one item and of one group."""
    rng = np.random.default_rng(2)
    seen = np.arange(6) < np.array([6, 1, 0, 4, 5, 3])[:, None]
    seen[0, 2] = False
    exposures, merits = seen * rng.uniform(0, 1, seen.shape), seen * rng.integers(0, 3, seen.shape).astype(float)
    merits[3], exposures[4] = 0, 0
    groups = rng.integers(-1, 2, seen.shape)
    groups[5] = 7
    offsets = np.concatenate([[0], seen.sum(axis=1).cumsum()])
    value, slope = METRICS[name].exposure_function(exposures[seen], merits[seen], groups[seen], offsets)
    found, gradient = FUNCTIONS[name](*map(torch.as_tensor, (exposures, merits, groups, seen)))
    np.testing.assert_allclose(found, value, atol=1e-14)
    np.testing.assert_allclose(gradient[seen], slope, atol=1e-14)
    assert not gradient[~torch.as_tensor(seen)].any()
