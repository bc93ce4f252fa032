"""Relevance and fairness of exposure of a Plackett-Luce policy, in any linear mix, by the chain rule of exposures."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.errors import OptionError
from luce.kernels.expected_gain import AUTO, ESTIMATORS, expected_gain
from luce.kernels.pairs import pair_swaps
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists
from luce.metrics.base import Metric
from luce.metrics.exposure import check_item_groups, draw_exposures, merits_of, without_noise
from luce.metrics.fairness import ValueAndGradient, sums
from luce.metrics.gains import GAINS
from luce.metrics.gains import discounts as logarithmic
from luce.objectives.base import record
from luce.objectives.expected import FAMILY, OPTIONS, PAPER, at_rows, samples_at
from luce.objectives.linear_metrics import best_first, linear_gains
from luce.objectives.stochastic import mean_over_noise
from luce.objectives.utility import Function, Term, is_utility, parse_utility
from luce.options import Option, integer, is_row, one_of

LAMBDALOSS = "lambdaloss"


def _are_discounts(value: Any) -> bool:
    return value is None or (is_row(value, least=0.0) and any(value))


def _on_device(lists: DeviceLists, **options: Any) -> DeviceEvaluation:
    from luce.objectives.fair_policy_device import fair_policy_lists

    return fair_policy_lists(lists, **options)


class Items(NamedTuple):
    """The observed items of all lists, from the highest label down; `rows` are their places in the data."""

    rows: Integers
    scores: Floats
    labels: Floats
    offsets: Integers
    merits: Floats
    weights: Floats | None
    item_groups: Integers | None


class DiscountGroup(NamedTuple):
    """What the terms with the same discounts add up to: gains (N,), and functions of exposures with their weights."""

    discounts: Floats
    gains: Floats
    fairness: list[tuple[float, Any]]


@record(
    "fair-policy",
    family=FAMILY,
    formula="−(Σ w · relevance + Σ w · F(E)), E_d = E[Σ_k θ_k 1(y_k = d)] over rankings y drawn from the policy; "
    "gradient: minus that of the estimator with gains Σ w ρ + Σ w ∂F/∂E, where ∂F/∂E is taken at exposures estimated "
    "from independent rankings, since the same rankings would bias it. Loss and gradient are estimates. With the "
    "estimator lambdaloss the gradient is that of LambdaLoss with these gains and the discounts θ (variant 2, all "
    "pairs, Gumbel noise): of a bound, not an estimate",
    paper=f"{PAPER}, Eq. 26 to 31; Singh and Joachims 2018; Singh and Joachims 2019",
    cost="n log n + (samples + exposure_samples) · ranks of the utility",
    option_specs={
        "utility": Option(
            "a sum such as '0.7*ndcg@10 - 0.3*disparity@10', or a mapping from names and functions to weights",
            is_utility,
            "ndcg@10 - disparity@10",
            "what is maximized: dcg, ndcg, rbp, precision and recall; with negative weights arp, disparity, parity-gap "
            "and merit-gap; functions (exposures, merits, item_groups) of one list → value and gradient in exposures",
        ),
        "gain": one_of(
            *GAINS,
            default="exponential",
            summary="gain of a grade, and merit of an item: 2^y − 1, or y; labels below 0 count as 0",
        ),
        "discounts": Option(
            "None or a row of numbers ≥ 0, one for each rank",
            _are_discounts,
            None,
            "weight of each rank in exposures, for fairness terms without a cutoff; None: 1 / log2(1 + rank)",
        ),
        "samples": OPTIONS["samples"],
        "exposure_samples": integer(
            2, default=200, summary="additional rankings sampled per list to estimate exposures"
        ),
        "estimator": one_of(
            *ESTIMATORS,
            LAMBDALOSS,
            default="pl-rank-2",
            summary="gradient estimator, or lambdaloss, a baseline of the paper",
        ),
    },
    random=True,
    gradient_only=True,
    uses_ties=True,
    beyond_relevance=True,
    saturates=True,
    device_lists=_on_device,
)
def fair_policy(
    lists: Lists, *, utility: Any, gain: str, discounts: Any, samples: Any, exposure_samples: int, estimator: str
) -> Evaluation:
    """Expected utility of a policy: any linear combination of relevance and fairness of exposure.

    Use it where exposure has to be distributed fairly between items or between groups of items. The weights in
    utility set the trade-off between relevance and fairness.
    """
    order, offsets = best_first(lists.labels, lists.offsets, lists.n_jobs)
    labels, weights = lists.labels[order], None if lists.item_weights is None else lists.item_weights[order]
    merits = merits_of(labels, gain) * (1.0 if weights is None else weights)
    item_groups = None if lists.item_groups is None else lists.item_groups[order]
    items = Items(order, lists.scores[order], labels, offsets, merits, weights, item_groups)
    value, gradient = np.zeros(len(offsets) - 1), np.zeros(len(order))
    n_samples = samples_at(samples, lists.draw)
    for group in _groups(parse_utility(utility), items, gain, discounts, lists.n_jobs):
        gains, exact = _linearized(group, items, exposure_samples, lists)
        if estimator == LAMBDALOSS:
            drawn = lists._replace(scores=items.scores, offsets=offsets)
            gradient -= _lambdaloss_gradient(drawn, gains, group.discounts, n_samples)
            if exact is not None:
                value += exact
                continue
        found = expected_gain(
            items.scores,
            gains,
            offsets,
            group.discounts,
            samples=n_samples,
            estimator="pl-rank-2" if estimator == LAMBDALOSS else estimator,
            draw=lists.draw,
            first_sample=exposure_samples,
            n_jobs=lists.n_jobs,
        )
        value += found.value if exact is None else exact
        if estimator != LAMBDALOSS:
            gradient += found.gradient
    return Evaluation(-value, -at_rows(order, gradient, lists.scores))


def _groups(
    terms: tuple[Term, ...], items: Items, gain: str, discounts: Any, n_jobs: int | None
) -> list[DiscountGroup]:
    """The terms by their discounts: those with the same share their rankings."""
    groups: dict[bytes, DiscountGroup] = {}
    longest = int(np.diff(items.offsets).max(initial=0))
    for weight, what in terms:
        if isinstance(what, Metric) and not what.is_stochastic:
            gains, seen = linear_gains(items.labels, items.offsets, str(what), gain, n_jobs)
            gains = gains * (weight if what.higher_is_better else -weight)
            fairness = []
        else:
            cutoff = what.cutoff if isinstance(what, Metric) else None
            row = None if cutoff is not None or discounts is None else np.asarray(discounts, dtype=np.float64)
            seen = logarithmic(cutoff or longest) if row is None else row
            gains, fairness = np.zeros(len(items.scores)), [(weight, _measure(what, items))]
        group = groups.setdefault(seen.tobytes(), DiscountGroup(seen, np.zeros(len(items.scores)), []))
        group.gains[:] += gains if items.weights is None else gains * items.weights
        group.fairness.extend(fairness)
    return list(groups.values())


def _measure(what: Metric | Function, items: Items) -> Any:
    """A function of flat exposures, merits, item_groups and offsets."""
    if isinstance(what, Metric):
        check_item_groups(what, items.item_groups)
        return what.exposure_function
    as_given = np.argsort(items.rows)  # list by list, since the rows of a list stand together

    def list_by_list(
        exposures: Floats, merits: Floats, item_groups: Integers | None, offsets: Integers
    ) -> ValueAndGradient:
        value, gradient = np.zeros(len(offsets) - 1), np.zeros(len(exposures))
        for q, (a, b) in enumerate(pairwise(offsets)):
            if a < b:
                own = as_given[a:b]
                groups = None if item_groups is None else item_groups[own]
                value[q], gradient[own] = what(exposures[own], merits[own], groups)
        if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
            raise OptionError(f"The function {what!r} of a utility must return a finite value and a finite gradient.")
        return value, gradient

    return list_by_list


def _linearized(
    group: DiscountGroup, items: Items, exposure_samples: int, lists: Lists
) -> tuple[Floats, Floats | None]:
    """Gains whose expectation has the gradient of the group, and its value (Q,) where that needs exposures."""
    if not group.fairness:
        return group.gains, None
    drawn = draw_exposures(items.scores, items.offsets, group.discounts, exposure_samples, lists.draw, lists.n_jobs)

    def function(exposures: Floats) -> ValueAndGradient:
        value = sums(list_of_row(items.offsets), group.gains * exposures, len(items.offsets) - 1)
        gradient = group.gains.copy()
        for weight, measure in group.fairness:
            one, its_gradient = measure(exposures, items.merits, items.item_groups, items.offsets)
            value, gradient = value + weight * one, gradient + weight * its_gradient
        return value, gradient

    exact, gains = without_noise(function, drawn)
    return gains, exact


def _lambdaloss_gradient(lists: Lists, gains: Floats, discounts: Floats, samples: int) -> Floats:
    """The gradient of LambdaLoss in which the gains, of either sign, are labels as well (Figure 3)."""
    if samples == AUTO:
        raise OptionError(
            f"With the estimator {LAMBDALOSS} the 'samples' option of fair-policy must be a number or a "
            "schedule. Got 'auto'."
        )
    if (np.diff(discounts) > 0).any():
        raise OptionError(f"The estimator {LAMBDALOSS} needs discounts that do not rise with the rank.")

    def evaluate(noisy: Lists) -> Evaluation:
        weights = {"change": 0.0, "gap": 1 / np.log(2)}
        return pair_swaps(noisy, noisy.labels, **weights, discounts=discounts, normalized=False)

    bare = lists._replace(labels=gains, item_weights=None, hessian=False)
    return mean_over_noise(evaluate, bare, samples).gradient
