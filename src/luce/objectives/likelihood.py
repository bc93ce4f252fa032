"""The Plackett-Luce likelihoods: of orders, to a depth or weighted by place, and of ordered partitions."""

import reprlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.arrays import Floats, list_of_row, selected_offsets
from luce.errors import DataError, OptionError
from luce.kernels import grade_losses
from luce.kernels import ordered_likelihood as orders
from luce.kernels import partition_likelihood as partitions
from luce.kernels.device import device_kernels
from luce.kernels.grade_losses import evaluate_grades
from luce.kernels.leaf_sums import Leaves, ordered_leaf_sums, partition_leaf_sums
from luce.kernels.ordered_likelihood import ALL, TO_THE_LOWEST, Order, ordered_likelihood
from luce.kernels.partition_likelihood import BOUND, PARTITION, partition_likelihood
from luce.lists import NO_ROWS, DeviceEvaluation, DeviceLists, Evaluation, Lists, evaluate_kernel
from luce.objectives.base import record
from luce.options import Choice, Option, boolean, integer, is_number, is_row, number, or_none

if TYPE_CHECKING:
    import torch
    from torch import Tensor

FAMILY = "Plackett-Luce likelihood"
PLACE_WEIGHTS = ("halving", "dcg")
PERMUTATIONS = integer(1, default=1, summary="number of random orders of tied items over which the loss is averaged")


def _leaf_sums_of(order_of: Callable[..., Order]) -> Callable[..., Floats]:
    """The leaf sums of an objective whose options mean this order."""

    def leaf_sums(lists: Lists, leaves: Leaves, n_leaves: int, list_weights: Floats | None, **options: Any) -> Floats:
        return ordered_leaf_sums(lists, leaves, n_leaves, list_weights, order_of(lists, **options))

    return leaf_sums


def _listmle_order(lists: Lists, *, depth: int | None, whole_grades: bool, permutations: int) -> Order:
    return Order(depth or ALL, whole_grades, permutations)


def _strict_order(lists: Lists, *, depth: int | None, **others: Any) -> Floats:
    """log P of the first places of an order; equal labels among or at the end of them are an error."""
    order = np.lexsort((-lists.labels, list_of_row(lists.offsets)))
    y, q = lists.labels[order], list_of_row(lists.offsets)
    place = np.arange(len(y)) - lists.offsets[q]
    tied = (q[1:] == q[:-1]) & (y[1:] == y[:-1]) & (place[:-1] < (depth or ALL))
    if tied.any():
        raise DataError(
            f"List {q[:-1][tied][0] + 1} has equal labels, so it has no single order. "
            "Use pl-partition, which sums over the orders of equal labels."
        )
    return -ordered_likelihood(lists, Order(depth or ALL)).loss


def _listmle_on_device(
    lists: DeviceLists, *, depth: int | None, whole_grades: bool, permutations: int
) -> DeviceEvaluation:
    return _orders_on_device(lists, permutations, depth=depth or lists.longest, whole_grades=whole_grades)


def _p_listmle_on_device(lists: DeviceLists, *, alpha: Any, permutations: int) -> DeviceEvaluation:
    if callable(alpha):
        return NotImplemented
    if isinstance(alpha, str) and alpha == "halving":
        return _orders_on_device(lists, permutations, depth=lists.longest, halving=True)
    hashable = alpha if isinstance(alpha, str) or is_number(alpha) else tuple(np.asarray(alpha).tolist())
    weights = _weights_on_device(hashable, lists.longest, lists.scores.device)
    return _orders_on_device(lists, permutations, depth=lists.longest, place_weights=weights)


@lru_cache(64)
def _weights_on_device(alpha: Any, longest: int, device: "torch.device") -> "Tensor":
    """Copied there once."""
    import torch

    return torch.as_tensor(_weights_of_places(alpha, longest), device=device)


def _orders_on_device(lists: DeviceLists, permutations: int = 1, **order: Any) -> DeviceEvaluation:
    import torch

    kernels = device_kernels("ordered_likelihood", lists.scores.device.type, lists.longest <= orders.LONGEST_ON_GPU)
    given = lists.scores, lists.labels, lists.offsets, lists.stream, lists.numbers, lists.longest
    settings = {"factor": lists.factor, "item_weights": lists.item_weights, **order}
    found = [kernels.ordered_lists(*given, sample=sample, **settings) for sample in range(permutations)]
    if permutations == 1:
        return DeviceEvaluation(*found[0])
    return DeviceEvaluation(*(torch.stack(each).mean(0) for each in zip(*found, strict=True)))


@record(
    "listmle",
    family=FAMILY,
    formula="Σ_{j ≤ K} (lse(C_j) − s_(j)), C_j = the items from rank j on, in the order of the labels, s_(j) the score "
    "of the first of them, K = depth, or n",
    paper="Xia et al. 2008; Lan et al. 2014; Xia, Zhai and Wang 2019 (l-ListMLE: depth 10)",
    cost="n log n + n · permutations",
    option_specs={
        "depth": or_none(
            integer(
                1,
                summary="number of ranks from the top that count; None for all",
                search_space=Choice((None, 5, 10, 20)),
            )
        ),
        "whole_grades": boolean(
            default=False,
            summary="extend depth to the end of a grade that it would split, instead of splitting it at random",
        ),
        "permutations": PERMUTATIONS,
    },
    random=True,
    hessian=True,
    log_probability=_strict_order,
    leaf_sums=_leaf_sums_of(_listmle_order),
    device_lists=_listmle_on_device,
)
def listmle(lists: Lists, **options: Any) -> Evaluation:
    """Negative log-likelihood of the order of the labels, with ties broken at random.

    Use it where the labels give the full order of a list. Tied labels get a random order; for grades with many ties
    pl-partition is exact. Set depth where only the top of the list matters.
    """
    return ordered_likelihood(lists, _listmle_order(lists, **options))


def _is_place_weights(value: Any) -> bool:
    if isinstance(value, str):
        return value in PLACE_WEIGHTS
    return callable(value) or (is_number(value) and value >= 0) or is_row(value, least=0.0)


def _p_listmle_order(lists: Lists, *, alpha: Any, permutations: int) -> Order:
    if isinstance(alpha, str) and alpha == "halving":
        return Order(permutations=permutations, halving=True)
    if not callable(alpha):
        longest = int(np.diff(lists.offsets).max(initial=0))
        return Order(permutations=permutations, place_weights=_weights_of_places(alpha, longest))
    observed = np.diff(selected_offsets(~np.isnan(lists.labels), lists.offsets))
    lengths, number = np.unique(observed, return_inverse=True)
    table = np.concatenate([NO_ROWS, *(_weights_of_length(alpha, n) for n in lengths.tolist())])
    starts = (np.cumsum(lengths) - lengths)[number]
    return Order(permutations=permutations, place_weights=table, place_starts=starts)


def _weights_of_places(alpha: Any, longest: int) -> Floats:
    """The weight of each place, where it is the same in every list."""
    places = np.arange(1.0, longest + 1)
    if isinstance(alpha, str):
        return 1 / np.log2(1 + places)
    return places**-alpha if is_number(alpha) else np.asarray(alpha, dtype=np.float64)


def _weights_of_length(alpha: Callable[[int], Any], n: int) -> Floats:
    """The weights that a function gives to the places of a list of n items."""
    if n < 2:
        return np.zeros(n)  # such a list has no order
    weights = alpha(n)
    if not (is_row(weights, least=0.0) and len(weights) == n):
        raise OptionError(
            f"The 'alpha' option of p-listmle must return {n:,} finite weights ≥ 0 for a list of {n:,} items. "
            f"Got {reprlib.repr(weights)}. Divide weights that overflow by the first of them."
        )
    return np.asarray(weights, dtype=np.float64)


@record(
    "p-listmle",
    family=FAMILY,
    formula="Σ_j α_j (lse(C_j) − s_(j)); α_j = (2^(n−j) − 1) / (2^(n−1) − 1), 1 / log2(1 + j), j^(−alpha), or given; "
    "C_j and s_(j) as in listmle",
    paper="Lan et al. 2014",
    cost="n log n + n · permutations",
    option_specs={
        "alpha": Option(
            "'halving', 'dcg', a number ≥ 0, a row of weights ≥ 0, or a function of the length",
            _is_place_weights,
            "halving",
            "weight of each rank: 'halving' is 2^(n−j) − 1 of the paper, relative to the first, 'dcg' 1 / log2(1 + j) "
            "and a number γ j^(−γ); a function returns the n weights of a list of n items; ranks beyond a row of "
            "weights have weight 0",
            Choice(("halving", "dcg", 0.0, 0.5, 1.0, 2.0)),
        ),
        "permutations": PERMUTATIONS,
    },
    random=True,
    hessian=True,
    leaf_sums=_leaf_sums_of(_p_listmle_order),
    device_lists=_p_listmle_on_device,
)
def p_listmle(lists: Lists, **options: Any) -> Evaluation:
    """ListMLE with a weight for each place, which emphasizes the top of the list.

    Use it where the full order is known and the top of the list matters most. The default weights halve from place
    to place, so that only the first few places count; those of alpha='dcg' fall slowly. A number lies between listmle
    (alpha=0) and its first place alone (a large alpha): luce tune chooses it by the metric on held-out lists.
    """
    return ordered_likelihood(lists, _p_listmle_order(lists, **options))


@record(
    "pl-topk",
    family=FAMILY,
    formula="Σ_{j ≤ K} (lse(C_j) − s_(j)), K = the number of items above the lowest label, all in a known order; "
    "C_j and s_(j) as in listmle",
    paper="Ma et al. 2020, oracle of the simulation",
    cost="n log n",
    hessian=True,
    loss_is_log_probability=True,
    leaf_sums=_leaf_sums_of(lambda lists: Order(TO_THE_LOWEST)),
    device_lists=partial(_orders_on_device, depth=TO_THE_LOWEST),
)
def pl_topk(lists: Lists) -> Evaluation:
    """Negative log-likelihood of a known order at the top; items with the lowest label are unordered.

    Use it where only the first few places are ordered, such as a podium or a list of favorites: give these items
    different labels, and all others the same lowest one. Equal labels above the lowest are an error.
    """
    evaluation = ordered_likelihood(lists, Order(TO_THE_LOWEST))
    tied = np.flatnonzero(np.isnan(evaluation.loss))
    if tied.size:
        raise DataError(
            f"pl-topk needs the order of all items above the lowest label, but list {tied[0] + 1} has equal labels "
            "there. "
            "Use pl-partition, which allows ties."
        )
    return evaluation


def _partition_on_device(lists: DeviceLists, *, tol: float) -> DeviceEvaluation:
    scores, labels, offsets, longest, _, factor, *_ = lists
    kernels = device_kernels("partition_likelihood", scores.device.type, longest <= partitions.LONGEST_ON_GPU)
    return DeviceEvaluation(*kernels.partition_lists(scores, labels, offsets, longest, factor))


@record(
    "pl-partition",
    family=FAMILY,
    formula="−Σ_{m<M} log P(S_m > R_{m+1}), P(S > R) = ∫_{t>0} e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, "
    "a_i = e^{s_i − lse(R)}; S_1 … S_M are the sets of equal labels, best first, and R_m = S_m and all below",
    paper="Ma et al. 2020",
    cost="n log n",
    option_specs={"tol": number(1e-14, 1e-3, default=1e-9, summary="absolute tolerance of log-probabilities")},
    hessian=True,
    loss_is_log_probability=True,
    item_weights=False,
    no_item_weights="the likelihood of a set is one number, not a sum over its items.",
    leaf_sums=partition_leaf_sums,
    device_lists=_partition_on_device,
    label_rows=PARTITION,
)
def pl_partition(lists: Lists, *, tol: float) -> Evaluation:
    """Exact negative log-likelihood of the grades, summed over all orders within a grade.

    Use it for graded or binary labels: the order within a grade is unknown, and none is made up. It is the default
    of TreeRanker and LabelRanker.
    """
    return partition_likelihood(lists, tol)


@record(
    "pl-lb",
    family=FAMILY,
    formula="Σ_{m<M} [Σ_{i∈S_m} (lse(R_m) − s_i) − log n_m!], S_1 … S_M are the sets of equal labels, best first, n_m "
    "their sizes, R_m = S_m and all below",
    paper="Ma et al. 2020, baseline",
    cost="n log n",
    hessian=True,
    device_lists=partial(evaluate_grades, kind=grade_losses.BOUND),
    label_rows=BOUND,
)
def pl_lb(lists: Lists) -> Evaluation:
    """Negative lower bound of the log-likelihood of pl-partition, in closed form.

    Use it instead of pl-partition where speed matters more than accuracy, or with item weights, which pl-partition
    does not take.
    """
    return evaluate_kernel(partitions.cpu.partition_lower_bound, lists, lists.weights)
