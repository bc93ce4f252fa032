"""The Plackett-Luce likelihoods: of orders, to a depth or weighted by place, and of ordered partitions."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.errors import DataError
from luce.kernels.ordered_likelihood import ALL, TO_THE_LOWEST, ordered_likelihood
from luce.kernels.partition_likelihood import partition_likelihood, partition_lower_bound
from luce.objectives.objective import Evaluation, Lists, record
from luce.objectives.options import Option, between, switch, whole
from luce.objectives.ranges import Choice

FAMILY = "Plackett-Luce likelihood"
PLACE_WEIGHTS = ("halving", "dcg", "reciprocal")


def _ordered(lists: Lists, **settings: Any) -> Evaluation:
    return Evaluation(
        *ordered_likelihood(
            lists.scores,
            lists.labels,
            lists.offsets,
            item_weights=lists.item_weights,
            draw=lists.draw,
            curvature=lists.curvature,
            n_jobs=lists.n_jobs,
            **settings,
        )
    )


def _strict_order(lists: Lists, *, depth: int | None, **others: Any) -> Floats:
    """log P of the first places of an order; equal labels among or at the end of them are an error."""
    order = np.lexsort((-lists.labels, list_of_row(lists.offsets)))
    y, q = lists.labels[order], list_of_row(lists.offsets)
    place = np.arange(len(y)) - lists.offsets[q]
    tied = (q[1:] == q[:-1]) & (y[1:] == y[:-1]) & (place[:-1] < (depth or ALL))
    if tied.any():
        raise DataError(
            f"List {q[:-1][tied][0]} has equal labels, so it has no single order. "
            "Use pl-partition, which sums over the orders of equal labels."
        )
    return -_ordered(lists, depth=depth or ALL).loss


@record(
    "listmle",
    family=FAMILY,
    formula="Σ_{j ≤ K} lse(C_j) − s_(j), C_j = the items from place j on in the order of the labels",
    paper="Xia et al. 2008; Lan et al. 2014; PLRank 2019 (l-ListMLE: depth 10)",
    cost="n log n + n · permutations",
    choices={
        "depth": whole(None, 1, "how many places of the order count; None = all", Choice((None, 5, 10, 20))),
        "whole_grades": switch(False, "go on to the end of the grade that depth cuts, instead of cutting it at random"),
        "permutations": whole(1, 1, "over how many shuffles of equal labels to average"),
    },
    random=True,
    curvature=True,
    log_probability=_strict_order,
)
def listmle(lists: Lists, *, depth: int | None, whole_grades: bool, permutations: int) -> Evaluation:
    """Minus the log-likelihood of the order that the labels give, equal labels in a seeded random order."""
    return _ordered(lists, depth=depth or ALL, whole_grades=whole_grades, permutations=permutations)


def _is_place_weights(value: Any) -> bool:
    if isinstance(value, str):
        return value in PLACE_WEIGHTS
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and array.size > 0 and bool(np.isfinite(array).all()) and bool(array.min() >= 0)


def weights_of_places(alpha: Any, offsets: Integers) -> dict[str, Any]:
    """The option `alpha` of p-listmle, as the kernels take it.

    >>> weights_of_places("reciprocal", np.array([0, 2, 5]))
    {'place_weights': array([1. , 0.5 , 0.33333333])}
    """
    if isinstance(alpha, str) and alpha == "halving":
        return {"halving": True}
    if not isinstance(alpha, str):
        return {"place_weights": np.asarray(alpha, dtype=np.float64)}
    places = np.arange(1, np.diff(offsets).max(initial=0) + 1)
    return {"place_weights": 1 / (np.log2(1 + places) if alpha == "dcg" else places)}


@record(
    "p-listmle",
    family=FAMILY,
    formula="Σ_j α_j (lse(C_j) − s_(j)); α_j = (2^(n−j) − 1) / (2^(n−1) − 1), 1 / log2(1 + j), 1 / j, or given",
    paper="Lan et al. 2014",
    cost="n log n + n · permutations",
    choices={
        "alpha": Option(
            "halving",
            "'halving', 'dcg', 'reciprocal' or a row of weights ≥ 0",
            _is_place_weights,
            "weight of each place; halving is the paper's 2^(n−j) − 1 as a ratio to the first; a row ends in zeros",
            Choice(("halving", "dcg", "reciprocal")),
        ),
        "permutations": whole(1, 1, "over how many shuffles of equal labels to average"),
    },
    random=True,
    curvature=True,
)
def p_listmle(lists: Lists, *, alpha: Any, permutations: int) -> Evaluation:
    """ListMLE with a weight for each place, so that errors at the top of the list cost most."""
    return _ordered(lists, **weights_of_places(alpha, lists.offsets), permutations=permutations)


@record(
    "pl-topk",
    family=FAMILY,
    formula="Σ_{j ≤ K} lse(C_j) − s_(j), K = the number of items above the lowest label, all in a known order",
    paper="Ma et al. 2020, the oracle of its simulation",
    cost="n log n",
    curvature=True,
    loss_is_log_probability=True,
)
def pl_topk(lists: Lists) -> Evaluation:
    """Minus the log-likelihood of a known order at the top; the lowest label is the unordered rest."""
    evaluation = _ordered(lists, depth=TO_THE_LOWEST)
    tied = np.flatnonzero(np.isnan(evaluation.loss))
    if tied.size:
        raise DataError(
            f"pl-topk needs the order of all items above the lowest label, but list {tied[0]} has equal labels there. "
            "Use pl-partition, which takes ties."
        )
    return evaluation


@record(
    "pl-partition",
    family=FAMILY,
    formula="−Σ_{m<M} log P(S_m > R_{m+1}), P(S > R) = ∫ e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, a_i = e^{s_i − lse(R)}",
    paper="Ma et al. 2020",
    cost="n log n",
    choices={"tol": between(1e-9, 1e-14, 1e-3, "largest error of a log-probability")},
    curvature=True,
    loss_is_log_probability=True,
    item_weights=False,
    no_item_weights="the likelihood of a set is one number, not a sum over its items.",
)
def pl_partition(lists: Lists, *, tol: float) -> Evaluation:
    """Minus the exact log-likelihood of the ordered grades, the order inside a grade being unknown."""
    return Evaluation(
        *partition_likelihood(
            lists.scores,
            lists.labels,
            lists.offsets,
            tol=tol,
            curvature=lists.curvature,
            n_jobs=lists.n_jobs,
        )
    )


@record(
    "pl-lb",
    family=FAMILY,
    formula="Σ_{m<M} Σ_{i∈S_m} (lse(R_m) − s_i) − log n_m!, R_m = S_m and all below",
    paper="Ma et al. 2020, the bound it compares with",
    cost="n log n",
    curvature=True,
)
def pl_lb(lists: Lists) -> Evaluation:
    """Minus a lower bound of the likelihood of the ordered grades, in closed form."""
    return Evaluation(
        *partition_lower_bound(
            lists.scores,
            lists.labels,
            lists.offsets,
            item_weights=lists.item_weights,
            curvature=lists.curvature,
            n_jobs=lists.n_jobs,
        )
    )
