"""The objective `fair-policy` on a device, step by step as on the CPU; nothing waits for the device."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from luce.kernels.device import device_kernels
from luce.kernels.expected_gain import AUTO, ESTIMATORS, LONGEST_ON_GPU
from luce.kernels.expected_gain.samples import DIRECT, EXPOSURE
from luce.kernels.padded import best_first, flat, padded
from luce.kernels.pairs import sums_of_discounts
from luce.lists import DeviceEvaluation, DeviceLists
from luce.metrics.base import Metric
from luce.metrics.exposure import SampledExposures, check_item_groups, without_noise
from luce.metrics.gains import discounts as logarithmic
from luce.metrics.torch_fairness import FUNCTIONS
from luce.objectives.expected import gains_on_device, samples_at
from luce.objectives.stochastic import device_mean_over_noise
from luce.objectives.utility import parse_utility


class DeviceGroup(NamedTuple):
    """The terms of a utility, weights and metrics, that have the same discounts; `sums` are those of the discounts."""

    discounts: Tensor
    sums: Tensor
    falling: bool
    relevance: list[tuple[float, Metric]]
    fairness: list[tuple[float, Metric]]


def fair_policy_lists(
    lists: DeviceLists, *, utility: Any, gain: str, discounts: Any, samples: Any, exposure_samples: int, estimator: str
) -> DeviceEvaluation:
    """Losses and gradient; NotImplemented for functions of the user, samples='auto', and what the CPU has an error for.

    Items stand from the highest label down, so that the rankings are those of the CPU.
    """
    terms, n_samples = parse_utility(utility), samples_at(samples, lists.draw)
    if n_samples == AUTO or not all(isinstance(what, Metric) for _, what in terms):
        return NotImplemented
    row = None if discounts is None else tuple(np.asarray(discounts).tolist())
    groups = _groups(terms, row, 1 << lists.longest.bit_length(), lists.scores.device)
    if estimator not in ESTIMATORS and not all(group.falling for group in groups):
        return NotImplemented
    order, items = _best_first(lists)
    losses, gradient = items.scores.new_zeros(len(lists.offsets) - 1), torch.zeros_like(items.scores)
    for group in groups:
        gains, exact = _linearized(group, items, gain, exposure_samples)
        if exact is None or estimator in ESTIMATORS:
            settings = {"estimator": ESTIMATORS.get(estimator, DIRECT), "factor": -lists.factor}
            value, its_gradient = _sampled(group, items, gains, n_samples, exposure_samples, **settings)
        losses -= value if exact is None else exact
        if estimator not in ESTIMATORS:
            its_gradient = _lambdaloss_gradient(group, items, gains, n_samples)
        gradient += its_gradient
    return DeviceEvaluation(losses.float(), torch.empty_like(gradient).scatter(0, order, gradient).float())


@lru_cache(64)
def _groups(terms: Any, row: Any, longest: int, device: torch.device) -> tuple[DeviceGroup, ...]:
    """The terms by their discounts, as on the CPU; copied to the device once."""
    groups: dict[bytes, DeviceGroup] = {}
    for weight, what in terms:
        if not what.is_stochastic:
            seen = what.discounts(what.cutoff or longest)
        else:
            own = row is not None and what.cutoff is None
            seen = np.array(row) if own else logarithmic(what.cutoff or longest)
        if seen.tobytes() not in groups:
            places = np.zeros(longest + 1)
            places[: len(seen)] = seen[: len(places)]
            groups[seen.tobytes()] = DeviceGroup(
                torch.as_tensor(seen, dtype=torch.float32, device=device),
                torch.as_tensor(sums_of_discounts(places), device=device),
                not (np.diff(seen) > 0).any(),
                [],
                [],
            )
        group = groups[seen.tobytes()]
        (group.fairness if what.is_stochastic else group.relevance).append((weight, what))
    return tuple(groups.values())


def _best_first(lists: DeviceLists) -> tuple[Tensor, DeviceLists]:
    """The rows of each list from the highest label down, and the lists in this order."""
    scores, labels = lists.scores.double(), lists.labels.double()
    order = best_first(labels, lists.offsets)
    weights, groups = (None if each is None else each[order] for each in (lists.item_weights, lists.item_groups))
    return order, lists._replace(scores=scores[order], labels=labels[order], item_weights=weights, item_groups=groups)


def _sampled(
    group: DeviceGroup, items: DeviceLists, gains: Tensor, samples: int, first_sample: int, **settings: Any
) -> tuple[Tensor, Tensor]:
    """What the kernel of expected gains makes of gains with the discounts of a group."""
    kernels = device_kernels("expected_gain", gains.device.type, items.longest <= LONGEST_ON_GPU)
    given = items.offsets, group.discounts, items.stream, items.numbers, items.longest
    found: tuple[Tensor, Tensor] = kernels.expected_gain_lists(
        items.scores, gains, *given, samples=samples, first_sample=first_sample, **settings
    )
    return found


def _linearized(
    group: DeviceGroup, items: DeviceLists, gain: str, exposure_samples: int
) -> tuple[Tensor, Tensor | None]:
    """Gains (N,) whose expectation has the gradient of the group, NaN where there is no label; see `fair_policy`."""
    labels, offsets, longest = items.labels, items.offsets, items.longest
    kernels = device_kernels("expected_gain", labels.device.type, longest <= LONGEST_ON_GPU)
    weights = torch.ones_like(labels) if items.item_weights is None else items.item_weights
    nothing = torch.where(labels.isnan(), torch.nan, 0.0)
    gains = nothing
    for weight, what in group.relevance:
        settings = gains_on_device(str(what), gain == "linear", 1 << longest.bit_length(), labels.device)
        own = kernels.list_gains(labels, offsets, settings[0], longest, *settings[1:])
        gains = gains + (weight if what.higher_is_better else -weight) * weights * own
    if not group.fairness:
        return gains, None
    worth, merits = (
        padded(each.nan_to_num(nan=0.0), offsets, longest, 0.0) for each in (gains, weights * _merits(labels, gain))
    )
    seen = padded(~labels.isnan(), offsets, longest, False)
    members: Any = None if items.item_groups is None else padded(items.item_groups, offsets, longest, 0)

    def function(exposures: Any) -> Any:
        value, gradient = (worth * exposures).sum(1), worth
        for weight, what in group.fairness:
            check_item_groups(what, members)
            one, its_gradient = FUNCTIONS[what.name](exposures, merits, members, seen)
            value, gradient = value + weight * one, gradient + weight * its_gradient
        return value, gradient

    half = max(1, exposure_samples // 2)
    drawn = (_sampled(group, items, nothing, half, first, estimator=EXPOSURE)[1] for first in (0, half))
    halves: Any = (padded(each.double(), offsets, longest, 0.0) for each in drawn)
    found: Any = without_noise(function, SampledExposures(*halves))
    return nothing + flat(found[1], offsets, len(labels)), found[0]


def _merits(labels: Tensor, gain: str) -> Tensor:
    positive = labels.clamp(min=0.0)
    return positive if gain == "linear" else torch.expm1(positive * math.log(2.0))


def _lambdaloss_gradient(group: DeviceGroup, items: DeviceLists, gains: Tensor, samples: int) -> Tensor:
    """The gradient of LambdaLoss in which the gains, of either sign, are labels as well."""

    def evaluate(noisy: DeviceLists) -> DeviceEvaluation:
        given = noisy.scores, noisy.labels, noisy.offsets, noisy.longest, group.sums
        weights = {"level": noisy.longest, "change": 0.0, "gap": 1 / math.log(2), "factor": noisy.factor}
        return DeviceEvaluation(*device_kernels("pairs", gains.device.type).pair_swaps(*given, **weights))

    return device_mean_over_noise(evaluate, items._replace(labels=gains, item_weights=None), samples).gradient
