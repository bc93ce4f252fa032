"""Gradients on a GPU beside those of the CPU in float64, with the same random numbers.

Where a device draws differently from the CPU, the CPU computes with what the device draws. listmle and p-listmle: the
CPU gets labels that are distinct in the order in which the device puts equal ones. Expected metrics: the rankings of
the keys s + g by which devices draw, of lists that stand from the highest label down, in which order the CPU numbers
items. Lists where two keys among the first places are so near that float32 may swap them are left out, and counted.
stochastic: the noisy scores of the device, which are float32.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import torch

from luce.arrays import list_of_row
from luce.kernels.expected_gain import Estimate, expected_gain
from luce.kernels.sampled_rankings import gumbel_scores
from luce.kernels.torch_random import random_words
from luce.lists import DeviceLists
from luce.metrics.exposure import SampledExposures
from luce.objectives import Draw, Objective, expected, fair_policy
from luce.objectives.linear_metrics import best_first
from luce.objectives.stochastic import treated_loss
from luce.objectives.torch_device import device_lists, evaluate_on_device
from measuring import ScoredLists

DRAW = Draw(0, 1)
NEAR = 2e-6
"""Keys that differ by less may be in another order in float32."""

THREADS = 2


class GradientError(NamedTuple):
    """The largest |difference| / largest |gradient| of a list, and how many lists are left out."""

    worst: float
    left_out: int = 0


def on_device(objective: Objective, lists: ScoredLists, device: str) -> DeviceLists:
    scores, labels = (torch.as_tensor(values, dtype=torch.float32, device=device) for values in lists[:2])
    offsets = torch.as_tensor(lists.offsets, device=device)
    return device_lists(objective, scores, labels, offsets, "sum", draw=DRAW)


def gradient_error(objective: Objective, lists: ScoredLists, device: str) -> GradientError:
    lists, sure = lists._replace(labels=lists.labels.astype(np.float32).astype(float)), np.array(True)
    sampled = objective.family == expected.FAMILY and objective.device_lists is not None
    if sampled and objective.name != "stochastic":
        order = best_first(lists.labels, lists.offsets)[0]
        lists = lists._replace(scores=lists.scores[order], labels=lists.labels[order])
    there = on_device(objective, lists, device)
    found = evaluate_on_device(objective, there).gradient.cpu().double().numpy()
    if sampled and objective.name == "stochastic":
        exact = with_noise_of_the_device(objective, there)
    elif sampled:
        exact, sure = with_rankings_by_keys(objective, lists)
    else:
        exact = on_cpu(objective, with_order_of_ties(lists) if "listmle" in objective.name else lists)
    gaps, largest = (np.abs(values).reshape(len(exact), -1).max(axis=1) for values in (found - exact, exact))
    gaps, largest = (np.maximum.reduceat(values, lists.offsets[:-1]) for values in (gaps, largest))
    errors = np.nan_to_num(gaps / np.where(largest > 0, largest, 1.0), nan=math.inf)
    return GradientError(float(errors[sure].max()), int((~sure).sum()))


def on_cpu(objective: Objective, lists: ScoredLists) -> np.ndarray:
    gradient: np.ndarray = objective.value_and_gradient(*lists, draw=DRAW, n_jobs=THREADS).gradient
    return gradient


def with_order_of_ties(lists: ScoredLists) -> ScoredLists:
    """Labels in whose order a device places the items: equal ones by 16 random bits, then as they stand."""
    of_row = list_of_row(lists.offsets)
    places = np.arange(len(of_row)) - lists.offsets[of_row]
    numbers, blocks = torch.from_numpy(of_row), torch.from_numpy(places)
    words = random_words(torch.tensor(DRAW.seed), torch.tensor(DRAW.step), numbers, torch.tensor(0), blocks)[0]
    order = np.lexsort((places, words.numpy() >> 16, -lists.labels, of_row))
    labels = np.empty(len(order))
    labels[order] = -np.arange(len(order))
    return lists._replace(labels=labels)


def with_noise_of_the_device(objective: Objective, there: DeviceLists) -> np.ndarray:
    """The mean gradient of the treated loss over the noisy copies that it gets on the device."""
    treated, total, copies = treated_loss(objective.options["loss"]), np.zeros(len(there.scores)), 0

    def evaluate(noisy: DeviceLists, **options: object) -> object:
        nonlocal total, copies
        own = ScoredLists(*(values.cpu().double().numpy() for values in noisy[:2]), noisy.offsets.cpu().numpy())
        gradients = on_cpu(treated, own).reshape(-1, len(total))
        total, copies = total + gradients.sum(axis=0), copies + len(gradients)
        return treated.device_lists(noisy, **options)

    loss = replace(treated, device_lists=evaluate)
    evaluate_on_device(replace(objective, options={**objective.options, "loss": loss}), there)
    return total / copies


def with_rankings_by_keys(objective: Objective, lists: ScoredLists) -> tuple[np.ndarray, np.ndarray]:
    """The gradient, and the lists (Q,) where no two keys were too near."""
    sure = np.ones(len(lists.offsets) - 1, dtype=bool)

    def rankings(scores: np.ndarray, offsets: np.ndarray, depth: int, samples: int, first: int) -> np.ndarray:
        found, near = rankings_by_keys(scores, offsets, depth, samples, first)
        np.logical_and(sure, ~near, out=sure)
        return found

    def gain(
        scores: np.ndarray, gains: np.ndarray, offsets: np.ndarray, discounts: np.ndarray,
        *, samples: int, draw: Draw, first_sample: int = 0, **settings: object,
    ) -> Estimate:  # fmt: skip
        drawn = rankings(scores, offsets, len(discounts), samples, first_sample)
        return expected_gain(scores, gains, offsets, discounts, rankings=drawn, **settings)

    def exposures(
        scores: np.ndarray, offsets: np.ndarray, discounts: np.ndarray, samples: int, *_: object
    ) -> SampledExposures:
        half = samples // 2
        drawn = (rankings(scores, offsets, len(discounts), half, first) for first in (0, half))
        return SampledExposures(*(exposures_in(each, scores, offsets, discounts) for each in drawn))

    with (
        patch.object(expected, "expected_gain", gain),
        patch.object(fair_policy, "expected_gain", gain),
        patch.object(fair_policy, "draw_exposures", exposures),
    ):
        return on_cpu(objective, lists), sure


def rankings_by_keys(
    scores: np.ndarray, offsets: np.ndarray, depth: int, samples: int, first_sample: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rankings (Q, samples, depth) by the keys s + g, and the lists (Q,) with two keys that are too near."""
    sizes = np.diff(offsets)
    inside = np.arange(max(sizes.max(), depth + 1)) < sizes[:, None]
    keys, near = np.full(inside.shape, -np.inf), np.zeros(len(sizes), dtype=bool)
    rankings = np.empty((len(sizes), samples, depth), dtype=np.int32)
    for sample in range(samples):
        keys[inside] = gumbel_scores(scores, offsets, sample=first_sample + sample, draw=DRAW, n_jobs=THREADS)
        top = torch.from_numpy(keys).topk(depth + 1)
        near |= (top.values[:, :-1] - top.values[:, 1:] < NEAR).any(dim=1).numpy()  # no number after the last item
        rankings[:, sample] = torch.where(top.values > -torch.inf, top.indices, -1)[:, :depth]
    return rankings, near


def exposures_in(rankings: np.ndarray, scores: np.ndarray, offsets: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """The exposures (N,) in these rankings, by the chances of the places as `luce.kernels.exposure.cpu` has them."""
    result = np.zeros(len(scores))
    for q, (begin, end) in enumerate(pairwise(offsets)):
        places = np.arange(min(len(discounts), end - begin))
        y, theta, own = rankings[q][:, places], discounts[places], result[begin:end]
        shares = np.exp(scores[begin:end] - scores[begin:end].max())
        behind = (theta.sum() - theta.cumsum()) / np.maximum(end - begin - places - 1, 1)
        left = shares.sum() - shares[y].cumsum(axis=1) + shares[y]
        chances = ((theta - behind) / left).cumsum(axis=1)
        own += shares * chances[:, -1].mean()
        np.add.at(own, y, (behind + shares[y] * (chances - chances[:, -1:])) / len(y))
    return result
