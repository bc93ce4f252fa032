"""Relevance and fairness of exposure of a Plackett-Luce policy, in any linear mix, by the chain rule of exposures."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.errors import OptionError
from luce.kernels.expected_gain import ESTIMATORS, expected_gain
from luce.metrics.exposure import check_groups, draw_exposures, merits_of, without_noise
from luce.metrics.fairness import ValueAndGradient, sums
from luce.metrics.gains import discounts as logarithmic
from luce.metrics.metric import Metric
from luce.objectives.expected import CHOICES, FAMILY, PAPER, at_rows, samples_at
from luce.objectives.goals import Function, Term, is_goal, parse_goal
from luce.objectives.linear_metrics import best_first, linear_gains
from luce.objectives.objective import Evaluation, Lists, record
from luce.objectives.options import Option, one_of, whole


def _is_row(value: Any) -> bool:
    if value is None:
        return True
    try:
        row = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return row.ndim == 1 and bool(np.isfinite(row).all() and (row >= 0).all() and row.any())


class Items(NamedTuple):
    """The observed items of all lists, from the highest label down."""

    scores: Floats
    labels: Floats
    offsets: Integers
    merits: Floats
    weights: Floats | None
    groups: Integers | None


class Part(NamedTuple):
    """What the terms with the same discounts add up to: gains (N,), and functions of exposures with their weights."""

    discounts: Floats
    gains: Floats
    unfair: list[tuple[float, Any]]


@record(
    "fair-policy",
    family=FAMILY,
    formula="−(Σ w · relevance + Σ w · F(E)), E_d = E[Σ_k θ_k 1(y_k = d)] over rankings y drawn from the policy; "
    "gradient: minus that of the estimator with Σ w ρ + Σ w ∂F/∂E for gains, ∂F/∂E at exposures from rankings of their "
    "own: the same rankings for both would bias it. Loss and gradient are estimates",
    paper=f"{PAPER}, Eq. 26 to 31; Singh and Joachims 2018, 2019",
    cost="n log n + (samples + exposure_samples) · ranks of the goal",
    choices={
        "goal": Option(
            "ndcg@10 - disparity@10",
            "a sum such as '0.7*ndcg@10 - 0.3*disparity@10', or a mapping from names and functions to weights",
            is_goal,
            "what is to be high: dcg, ndcg, precision, recall, with a minus arp, disparity, parity-gap, merit-gap, and "
            "functions (exposures, merits, groups) of one list → value and slope in the exposures",
        ),
        "gain": one_of(
            "exponential",
            ("exponential", "linear"),
            "gain of a grade, and merit of an item: 2^y − 1, or y; labels below 0 count as 0",
        ),
        "discounts": Option(
            None,
            "None or a row of numbers ≥ 0, one a rank",
            _is_row,
            "how much each place is seen, for terms of fairness without a cutoff; None: 1 / log2(1 + rank)",
        ),
        "samples": CHOICES["samples"],
        "exposure_samples": whole(200, 2, "rankings drawn a list, beside the samples, to estimate exposures"),
        "estimator": one_of("pl-rank-3", tuple(ESTIMATORS), "how the gradient is estimated"),
    },
    random=True,
    gradient_only=True,
    uses_ties=True,
)
def fair_policy(
    lists: Lists, *, goal: Any, gain: str, discounts: Any, samples: Any, exposure_samples: int, estimator: str
) -> Evaluation:
    """Any linear mix of relevance and fairness of exposure that rankings drawn from the policy have on average."""
    order, offsets = best_first(lists.labels, lists.offsets, lists.n_jobs)
    labels, weights = lists.labels[order], None if lists.item_weights is None else lists.item_weights[order]
    merits = merits_of(labels, gain) * (1.0 if weights is None else weights)
    groups = None if lists.groups is None else lists.groups[order]
    items = Items(lists.scores[order], labels, offsets, merits, weights, groups)
    value, gradient = np.zeros(len(offsets) - 1), np.zeros(len(order))
    for part in _parts(parse_goal(goal), items, gain, discounts, lists.n_jobs):
        gains, worth = _linearised(part, items, exposure_samples, lists)
        found = expected_gain(
            items.scores,
            gains,
            offsets,
            part.discounts,
            samples=samples_at(samples, lists.draw.step),
            estimator=estimator,
            draw=lists.draw,
            first_sample=exposure_samples,
            n_jobs=lists.n_jobs,
        )
        value += found.value if worth is None else worth
        gradient += found.gradient
    return Evaluation(-value, -at_rows(order, gradient, lists.scores))


def _parts(terms: tuple[Term, ...], items: Items, gain: str, discounts: Any, n_jobs: int | None) -> list[Part]:
    """The terms by their discounts: those with the same share their rankings."""
    parts: dict[bytes, Part] = {}
    longest = int(np.diff(items.offsets).max(initial=0))
    for weight, what in terms:
        if isinstance(what, Metric) and not what.is_stochastic:
            gains, seen = linear_gains(items.labels, items.offsets, str(what), gain, n_jobs)
            gains = gains * (weight if what.higher_is_better else -weight)
            unfair = []
        else:
            cutoff = what.cutoff if isinstance(what, Metric) else None
            row = None if cutoff is not None or discounts is None else np.asarray(discounts, dtype=np.float64)
            seen = logarithmic(cutoff or longest) if row is None else row
            gains, unfair = np.zeros(len(items.scores)), [(weight, _measure(what, items.groups))]
        part = parts.setdefault(seen.tobytes(), Part(seen, np.zeros(len(items.scores)), []))
        part.gains[:] += gains if items.weights is None else gains * items.weights
        part.unfair.extend(unfair)
    return list(parts.values())


def _measure(what: Metric | Function, groups: Integers | None) -> Any:
    """A function of flat exposures, merits, groups and offsets."""
    if isinstance(what, Metric):
        check_groups(what, groups)
        return what.exposure_function

    def list_by_list(exposures: Floats, merits: Floats, groups: Integers | None, offsets: Integers) -> ValueAndGradient:
        value, slope = np.zeros(len(offsets) - 1), np.zeros(len(exposures))
        for q, (a, b) in enumerate(pairwise(offsets)):
            if a < b:
                value[q], slope[a:b] = what(exposures[a:b], merits[a:b], None if groups is None else groups[a:b])
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            raise OptionError(f"The function {what!r} of a goal must give finite numbers: a value and a slope an item.")
        return value, slope

    return list_by_list


def _linearised(part: Part, items: Items, exposure_samples: int, lists: Lists) -> tuple[Floats, Floats | None]:
    """Gains whose expectation has the slope of the part, and the worth (Q,) of the part where it needs exposures."""
    if not part.unfair:
        return part.gains, None
    drawn = draw_exposures(items.scores, items.offsets, part.discounts, exposure_samples, lists.draw, lists.n_jobs)

    def function(exposures: Floats) -> ValueAndGradient:
        value = sums(list_of_row(items.offsets), part.gains * exposures, len(items.offsets) - 1)
        slope = part.gains.copy()
        for weight, measure in part.unfair:
            one, its_slope = measure(exposures, items.merits, items.groups, items.offsets)
            value, slope = value + weight * one, slope + weight * its_slope
        return value, slope

    worth, gains = without_noise(function, drawn)
    return gains, worth
