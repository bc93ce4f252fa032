"""The expected metric of a Plackett-Luce policy: a metric averaged over rankings drawn from the scores."""

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.errors import OptionError
from luce.kernels.device import device_kernels
from luce.kernels.expected_gain import AUTO, ESTIMATORS, LONGEST_ON_GPU, Estimate, expected_gain
from luce.kernels.place_sums import CONSTANT, LENGTH
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists
from luce.metrics.gains import GAINS
from luce.objectives.base import Objective, check_finite, record
from luce.objectives.linear_metrics import best_first, is_linear_metric, linear_form, linear_gains
from luce.options import Option, is_integer, one_of
from luce.randomness import Draw

if TYPE_CHECKING:
    import torch
    from torch import Tensor

FAMILY = "expected metric"
PAPER = "Oosterhuis 2021"
EXPECTED = (
    "−E[R], R = Σ_k θ_k ρ(y_k) over rankings y drawn from the policy, θ and ρ the discounts and gains of the metric; "
    "0 where all gains of a list are equal; gradient: minus the mean over the samples of {}. Loss and gradient are "
    "estimated from the same samples; for a fixed draw, the loss is discontinuous where a ranking changes"
)


def samples_option(default: int, auto: bool) -> Option:
    """How many samples: a number, a schedule, or the word "auto"."""

    def accepts(value: Any) -> bool:
        if isinstance(value, list | tuple):
            return len(value) == 3 and all(is_integer(each) and each >= 1 for each in value)
        return (auto and isinstance(value, str) and value == "auto") or (is_integer(value) and bool(value >= 1))

    allowed = f"an integer ≥ 1, {'auto'!r} " if auto else "an integer ≥ 1 "
    summary = (
        "rankings sampled per list; (10, 100, 40), as in the paper, goes from 10 to 100 in 40 passes over the data, a "
        "little at every step; for trees a pass and a step are both a round"
    )
    if auto:
        summary += "; 'auto' chooses it for each list, from 16 to 1,024, to give a signal-to-noise ratio of 1"
    return Option(allowed + "or three of them (first, last, passes)", accepts, default, summary)


def samples_at(samples: Any, draw: Draw) -> int:
    """The number of samples of a draw.

    >>> samples_at((10, 100, 40), Draw(step=20)), samples_at((10, 100, 40), Draw(epoch=20.5)), samples_at(7, Draw())
    (55, 56, 7)
    """
    if isinstance(samples, str):
        return AUTO
    if not isinstance(samples, list | tuple):
        return int(samples)
    first, last, passes = samples
    epoch = draw.step if draw.epoch is None else draw.epoch
    return round(first + (last - first) * min(epoch / passes, 1.0))


OPTIONS = {
    "metric": Option(
        "dcg, ndcg, rbp, precision or recall, with or without a cutoff, arp, or a row of discounts",
        is_linear_metric,
        "ndcg@10",
        "metric to maximize in expectation (arp: minimize); a row of discounts, one per rank, uses the gains of dcg",
    ),
    "gain": one_of(
        *GAINS,
        default="exponential",
        summary="gain of a grade in dcg and ndcg: 2^y − 1, or y; labels below 0 count as 0",
    ),
    "samples": samples_option(100, auto=True),
}


def _estimate(
    estimator: str, lists: Lists, *, metric: Any, gain: str, samples: Any, variance: bool = False
) -> Estimate:
    # Items stand from the highest label down, so that the order of the rows changes no draw.
    order, offsets = best_first(lists.labels, lists.offsets, lists.n_jobs)
    gains, discounts = linear_gains(lists.labels[order], offsets, metric, gain, lists.n_jobs)
    found = expected_gain(
        lists.scores[order],
        gains if lists.item_weights is None else gains * lists.item_weights[order],
        offsets,
        discounts,
        samples=samples_at(samples, lists.draw),
        estimator=estimator,
        variance=variance,
        draw=lists.draw,
        n_jobs=lists.n_jobs,
    )
    noise = found.gradient_variance
    return found._replace(
        gradient=at_rows(order, found.gradient, lists.scores),
        gradient_variance=None if noise is None else at_rows(order, noise, lists.scores),
    )


def _on_device(estimator: str, lists: DeviceLists, *, metric: Any, gain: str, samples: Any) -> DeviceEvaluation:
    scores, labels, offsets, longest, draw, factor, *_ = lists
    n_samples = samples_at(samples, draw)
    if n_samples == AUTO:
        return NotImplemented
    named = metric if isinstance(metric, str) else tuple(np.asarray(metric).tolist())
    discounts, *settings = gains_on_device(named, gain == "linear", longest, scores.device)
    kernels = device_kernels("expected_gain", scores.device.type, longest <= LONGEST_ON_GPU)
    gains = kernels.list_gains(labels, offsets, discounts, longest, *settings)
    values, gradient = kernels.expected_gain_lists(
        scores,
        gains if lists.item_weights is None else gains * lists.item_weights,
        offsets,
        discounts,
        lists.stream,
        lists.numbers,
        longest,
        samples=n_samples,
        estimator=ESTIMATORS[estimator],
        factor=-factor,
    )
    return DeviceEvaluation(-values, gradient)


@lru_cache(64)
def gains_on_device(
    metric: Any, linear: bool, longest: int, device: "torch.device"
) -> "tuple[Tensor, int, int | None, float]":
    """The discounts of a metric on a device, and its gains: their kind, what they are divided by, and a constant."""
    import torch

    form, weights = linear_form(metric, longest, "linear" if linear else "exponential")
    discounts = torch.as_tensor(weights, dtype=torch.float32, device=device)
    if form.divisor == LENGTH and "@" in metric:
        return discounts, form.worth, CONSTANT, float(len(weights))
    return discounts, form.worth, form.divisor, 1.0


def _estimated(name: str, **record_fields: Any) -> Any:
    """A record of this family: it is the estimator of its name."""
    return record(
        name,
        family=FAMILY,
        cost="n log n + samples · ranks of the metric",
        option_specs=OPTIONS,
        random=True,
        gradient_only=True,
        saturates=True,
        estimate=partial(_estimate, name),
        device_lists=partial(_on_device, name),
        **record_fields,
    )


def _evaluation(found: Estimate) -> Evaluation:
    return Evaluation(-found.value, -found.gradient)


@_estimated(
    "policy-gradient",
    formula=EXPECTED.format("R ∂ log π(y)"),
    paper=f"{PAPER}, Eq. 10; Williams 1992; Singh and Joachims 2019",
)
def policy_gradient(lists: Lists, **options: Any) -> Evaluation:
    """Expected metric, with the REINFORCE estimator: every placement gets the total reward of the ranking.

    Use it as a baseline: of the estimators it has the highest variance. To train, use pl-rank-2.
    """
    return _evaluation(_estimate("policy-gradient", lists, **options))


@_estimated(
    "pl-rank-1",
    synonyms=("placement-policy-gradient",),
    formula=EXPECTED.format(
        "ω_r − Σ_{k≤r} π(d | y_1 … y_{k−1}) ω_k, r = rank of d, at most K, ω_k = Σ_{x≥k} θ_x ρ(y_x)"
    ),
    paper=f"{PAPER}, Eq. 20; identical to its placement policy gradient, Eq. 14",
)
def pl_rank_1(lists: Lists, **options: Any) -> Evaluation:
    """Expected metric, estimated from the reward after each placement minus the expected loss of reward before it.

    Use it to reproduce the paper: pl-rank-2 has the same expectation and a lower variance.
    """
    return _evaluation(_estimate("pl-rank-1", lists, **options))


@_estimated(
    "pl-rank-2",
    synonyms=("pl-rank-3",),
    formula=EXPECTED.format("ω_{r+1} + Σ_{k≤r} π(d | y_1 … y_{k−1}) (θ_k ρ_d − ω_k), r and ω as in pl-rank-1"),
    paper=f"{PAPER}, Eq. 23; computed by PL-Rank-3 of Oosterhuis 2022, which gives identical values",
)
def pl_rank_2(lists: Lists, **options: Any) -> Evaluation:
    """Expected metric, estimated as in pl-rank-1 but with the expected reward of an item: a lower variance.

    Use it where rankings are sampled from the model, or where one metric decides. More samples give a less noisy
    gradient.
    """
    return _evaluation(_estimate("pl-rank-2", lists, **options))


def estimate(
    objective: Objective,
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    item_weights: ArrayLike | None = None,
    draw: Draw | None = None,
    n_jobs: int | None = None,
) -> Estimate:
    """The expected metric and its gradient as an objective of this family estimates them, with their variances.

    What the objective gives is minus this; for arp, where lower is better, the value is minus the metric.

    >>> from luce.objectives import objective
    >>> found = estimate(objective("pl-rank-2", metric="dcg@1", samples=10_000), [0.0, 0.0], [1, 0])
    >>> np.abs(found.gradient - [0.25, -0.25]).max() < 4 * np.sqrt(found.gradient_variance.max()) < 0.02
    np.True_
    """
    if objective.estimate is None:
        raise OptionError(f"Only {', '.join(ESTIMATORS)} estimate an expected metric. Got {objective.name}.")
    given: Any = scores, labels, offsets, item_weights, (), draw or Draw(), False, n_jobs
    lists = objective.check(Lists(*given))
    check_finite(lists.scores)
    result: Estimate = objective.estimate(lists, variance=True, **objective.options)
    return result


def at_rows(rows: np.ndarray, values: Floats, like: Floats) -> Floats:
    """The values at these rows, 0 elsewhere."""
    result = np.zeros(len(like))
    result[rows] = values
    return result
