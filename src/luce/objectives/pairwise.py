"""The pairwise losses: sums over the pairs of a list, δ = s_i − s_j with the higher label at i.

Sums, not means, as the papers have them; w are the item weights, 1 where none are given.
"""

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import LuceError, OptionError
from luce.kernels.device import device_kernels
from luce.kernels.expected_gain import LONGEST_ON_GPU
from luce.kernels.label_targets import label_targets
from luce.kernels.pairs import DRAWS, HINGE, SQUARE, hinges, pair_outcomes, pair_swaps, squares, sums_of_discounts
from luce.kernels.place_sums import CONSTANT, EXPONENTIAL, IDEAL
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists, evaluate_kernel
from luce.metrics.table import metric as metric_named
from luce.objectives.base import record
from luce.options import Choice, Option, Range, integer, number, one_of, or_none

if TYPE_CHECKING:
    import torch
    from torch import Tensor

FAMILY = "pairwise"
TIES = "pairwise with ties"
WEIGHTED = "pairwise, metric-weighted"
HELD = (
    "δ = s_i − s_j, r the current ranks, θ_r = 1/log₂(1+r), 0 past the cutoff of the metric; G the gain 2^y − 1, 0 for "
    "labels below 0, with ndcg divided by the ideal DCG of the first k ranks; over pairs of which at least one item is "
    "among the first k = truncation_level. Gradient and second derivative treat the ranks as constants; the loss is "
    "discontinuous where ranks change. With equal scores, the weight of a pair is its mean over their orders"
)


def _is_dcg(value: Any) -> bool:
    try:
        chosen = metric_named(value) if isinstance(value, str) else None
    except LuceError:
        return False
    return chosen is not None and chosen.name in ("dcg", "ndcg") and not chosen.parameters


METRIC = Option(
    "ndcg or dcg, with or without a cutoff",
    _is_dcg,
    "ndcg",
    "metric that weights the pairs: ndcg, or dcg, not divided by the ideal DCG (TF-Ranking's normalized=False), so "
    "that lists with high gains count more; with a cutoff, such as dcg@5, discounts are 0 past it",
)
TRUNCATION = or_none(
    integer(
        1,
        default=30,
        summary="only pairs with at least one item among this many highest current scores count, as with LightGBM's "
        "lambdarank_truncation_level; None for all pairs. It selects pairs; the cutoff of the metric weights them",
        search_space=Choice((10, 30, 100, None)),
    )
)
HIGHEST_PARAMETER = 700.0


def _pairs_on_device(kind: int, lists: DeviceLists) -> DeviceEvaluation:
    kernels = device_kernels("pairs", lists.scores.device.type)
    given = lists.scores, lists.labels, lists.offsets, lists.longest, kind
    weights = {"item_weights": lists.item_weights, "parameter": lists.nuisance}
    return DeviceEvaluation(*kernels.pair_losses(*given, **weights, factor=lists.factor))


def _lambdarank_on_device(lists: DeviceLists, *, metric: str, truncation_level: int | None) -> DeviceEvaluation:
    return _swaps_on_device(lists, metric, truncation_level)


def _lambdaloss_on_device(
    lists: DeviceLists, *, metric: str, truncation_level: int | None, variant: str, mu: float
) -> DeviceEvaluation:
    return _swaps_on_device(lists, metric, truncation_level, **_lambdaloss_weights(variant, mu))


@record(
    "ranknet",
    family=FAMILY,
    formula="Σ_{y_i > y_j} w_i w_j log(1 + e^{−δ}), δ = s_i − s_j",
    paper="Burges et al. 2005; Tran, Phung and Venkatesh 2011",
    cost="n log n",
    hessian=True,
    device_lists=partial(_pairs_on_device, DRAWS["none"]),
)
def ranknet(lists: Lists) -> Evaluation:
    """Logistic loss of all pairs with different labels: the negative log-likelihood of the Bradley-Terry model.

    Use it for binary or graded labels as a pairwise baseline. A list counts by its number of pairs, so that long
    lists dominate.
    """
    return pair_outcomes(lists)._replace(nuisance_gradient=None)


@record(
    "ranksvm",
    family=FAMILY,
    formula="Σ_{y_i > y_j} w_i w_j max(0, 1 − δ), δ = s_i − s_j; derivative 0 where δ = 1",
    paper="Joachims 2002; Tran, Phung and Venkatesh 2011",
    cost="n log n",
    device_lists=partial(_pairs_on_device, HINGE),
)
def ranksvm(lists: Lists) -> Evaluation:
    """Hinge loss of all pairs with different labels, with margin 1.

    Use it as ranknet, where pairs that are in order by a margin of 1 should no longer count.
    """
    return evaluate_kernel(hinges.pair_hinges, lists, lists.weights, has_hessian=False)


@record(
    "rankregress",
    family=FAMILY,
    formula="Σ_{y_i > y_j} w_i w_j (1 − δ)², δ = s_i − s_j",
    paper="Tran, Phung and Venkatesh 2011",
    cost="n log n",
    hessian=True,
    device_lists=partial(_pairs_on_device, SQUARE),
)
def rankregress(lists: Lists) -> Evaluation:
    """Squared loss of all pairs with different labels, whose scores should differ by 1.

    Use it to reproduce the literature: unlike the other pairwise losses it also penalizes pairs that are in order
    by more than 1.
    """
    return evaluate_kernel(squares.pair_squares, lists, lists.weights)


@record(
    "pairties-davidson",
    family=TIES,
    formula="−Σ_{i<j} w_i w_j log P(outcome): P(i > j) = 1 / D, P(i ≈ j) = ν e^{−δ/2} / D, "
    "D = 1 + ν e^{−δ/2} + e^{−δ}; ν = e^beta, δ = s_i − s_j",
    paper="Davidson 1970; Tran, Phung and Venkatesh 2011",
    cost="n log n",
    hessian=True,
    nuisance={"beta": 0.0},
    uses_ties=True,
    device_lists=partial(_pairs_on_device, DRAWS["davidson"]),
)
def pairties_davidson(lists: Lists) -> Evaluation:
    """Negative log-likelihood of all pairs, with ties modeled as by Davidson; initially ν = 1.

    Use it for wins, losses and draws, as in games. How likely a draw is between equals is learned with the model.
    """
    return _with_ties(lists, "davidson")


@record(
    "pairties-rao-kupper",
    family=TIES,
    formula="−Σ_{i<j} w_i w_j log P(outcome): P(i > j) = 1 / (1 + θ e^{−δ}), P(i ≈ j) = (θ² − 1) P(i > j) P(j > i); "
    "θ = 1 + e^alpha, δ = s_i − s_j",
    paper="Rao and Kupper 1967; Tran, Phung and Venkatesh 2011",
    cost="n log n",
    hessian=True,
    nuisance={"alpha": 0.0},
    uses_ties=True,
    device_lists=partial(_pairs_on_device, DRAWS["rao-kupper"]),
)
def pairties_rao_kupper(lists: Lists) -> Evaluation:
    """Negative log-likelihood of all pairs, with ties modeled as by Rao and Kupper; initially θ = 2.

    Use it as pairties-davidson; here a draw becomes unlikely faster as the scores of two items move apart.
    """
    return _with_ties(lists, "rao-kupper")


@record(
    "lambdarank",
    family=WEIGHTED,
    formula="Σ_{y_i > y_j} w_i w_j (G_i − G_j) |θ_{r_i} − θ_{r_j}| log(1 + e^{−δ}): a pair is weighted by the change "
    "of the metric if it is swapped; " + HELD,
    paper="Burges et al. 2006; Burges 2010; Xia, Zhai and Wang 2019 (trees)",
    cost="n log n + n · truncation_level",
    option_specs={"metric": METRIC, "truncation_level": TRUNCATION},
    hessian=True,
    gradient_only=True,
    device_lists=_lambdarank_on_device,
)
def lambdarank(lists: Lists, *, metric: str, truncation_level: int | None) -> Evaluation:
    """RankNet with each pair weighted by the change of NDCG when its items are swapped.

    Use it in trees if NDCG is the metric, as with the objective of this name in LightGBM.
    """
    return _swaps(lists, metric, truncation_level)


@record(
    "lambdaloss",
    family=WEIGHTED,
    formula="Σ_{y_i > y_j} w_i w_j (G_i − G_j) c_ij log₂(1 + e^{−δ}); with d = |r_i − r_j|, c = θ_d − θ_{d+1} in "
    "variant 2, and in 2++ mu times that plus |θ_{r_i} − θ_{r_j}|; " + HELD,
    paper="Wang et al. 2018, NDCG-Loss2 and NDCG-Loss2++; baseline of Oosterhuis 2021",
    cost="n log n + n · truncation_level",
    option_specs={
        "metric": METRIC,
        "truncation_level": TRUNCATION,
        "variant": one_of(
            "2",
            "2++",
            default="2",
            summary="NDCG-Loss2, or NDCG-Loss2++, which adds the weight of LambdaRank",
            search_space=Choice(("2", "2++")),
        ),
        "mu": number(
            0,
            1e6,
            default=10.0,
            summary="factor of the weight of NDCG-Loss2 in variant 2++",
            search_space=Range(0.1, 100.0, log=True),
        ),
    },
    hessian=True,
    gradient_only=True,
    device_lists=_lambdaloss_on_device,
)
def lambdaloss(lists: Lists, *, metric: str, truncation_level: int | None, variant: str, mu: float) -> Evaluation:
    """Bound on 1 − NDCG: logistic loss of pairs, weighted by gains and by the distance of the current ranks.

    Use it as lambdarank, where the loss should be a bound on the metric. The baseline of Oosterhuis 2021 is variant 2
    with metric=dcg@5 and truncation_level=None.
    """
    return _swaps(lists, metric, truncation_level, **_lambdaloss_weights(variant, mu))


def _lambdaloss_weights(variant: str, mu: float) -> dict[str, float]:
    """What the change of the discount and the gap of the ranks weigh; the loss is in bits."""
    bits = 1 / math.log(2)
    return {"change": 0.0, "gap": bits} if variant == "2" else {"change": bits, "gap": mu * bits}


def _with_ties(lists: Lists, draws: str) -> Evaluation:
    parameter = float(lists.nuisance[0])
    if parameter > HIGHEST_PARAMETER:
        raise OptionError(f"The tie parameter must be at most {HIGHEST_PARAMETER:g}. Got {parameter}.")
    return pair_outcomes(lists, draws, parameter)


def _swaps(lists: Lists, metric: str, truncation_level: int | None, **weights: float) -> Evaluation:
    chosen = metric_named(metric)
    normalized = chosen.name == "ndcg"  # gains on the scale of their sum do not overflow
    gains = label_targets(lists.labels, lists.offsets, "gain", "sum" if normalized else "one", n_jobs=lists.n_jobs)
    discounts = None if chosen.cutoff is None else chosen.discounts(chosen.cutoff)
    return pair_swaps(lists, gains, truncation_level, **weights, discounts=discounts, normalized=normalized)


def _swaps_on_device(
    lists: DeviceLists, metric: str, truncation_level: int | None, change: float = 1.0, gap: float = 0.0
) -> DeviceEvaluation:
    scores, labels, offsets, longest = lists[:4]
    level = min(truncation_level or longest, longest)
    discounts, sums, divisor = _places_on_device(metric, 1 << longest.bit_length(), scores.device)
    targets = device_kernels("expected_gain", scores.device.type, longest <= LONGEST_ON_GPU)
    gains = targets.list_gains(labels, offsets, discounts[:level], longest, EXPONENTIAL, divisor, 1.0)
    found = device_kernels("pairs", scores.device.type).pair_swaps(
        scores,
        gains,
        offsets,
        longest,
        sums,
        level=level,
        change=change,
        gap=gap,
        item_weights=lists.item_weights,
        factor=lists.factor,
    )
    return DeviceEvaluation(*found)


@lru_cache(64)
def _places_on_device(metric: str, longest: int, device: "torch.device") -> "tuple[Tensor, Tensor, int]":
    """The discounts of a metric on a device, their sums, and what the gains are divided by."""
    import torch

    chosen = metric_named(metric)
    counted = np.arange(longest) < (chosen.cutoff or longest)
    discounts = np.where(counted, chosen.discounts(longest), 0.0)
    sums = torch.as_tensor(sums_of_discounts(discounts), device=device)
    divisor = IDEAL if chosen.name == "ndcg" else CONSTANT
    return torch.as_tensor(discounts, dtype=torch.float32, device=device), sums, divisor
