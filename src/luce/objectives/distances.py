"""Squared and cosine distances between the scores and targets made of the labels."""

from functools import partial

import numpy as np

from luce.errors import DataError
from luce.kernels import target_losses
from luce.kernels.distances import cpu
from luce.kernels.label_targets import target_arguments
from luce.kernels.partition_likelihood import SQUARED
from luce.kernels.target_losses import evaluate_targets
from luce.lists import Evaluation, Lists, evaluate_kernel
from luce.objectives.base import record
from luce.options import integer, or_none

WHOLE_LIST = "the cosine is a property of the whole list, not a sum over its items."
IDEAL_DEPTH = or_none(
    integer(1, summary="number of ranks K that the ideal DCG counts: NDCG@K is the metric; None for all")
)
BY_IDEAL = "‖G‖_D = the ideal DCG of the list, of its first K = depth ranks, or of all"


def _cosine(lists: Lists, value: str, norm: str, depth: int | None = None) -> Evaluation:
    targets = target_arguments(lists.offsets, value, norm, depth)
    return evaluate_kernel(cpu.cosine, lists, *targets, has_hessian=False, zeroed=False)


def _squared(lists: Lists, value: str, norm: str, depth: int | None = None) -> Evaluation:
    targets = target_arguments(lists.offsets, value, norm, depth)
    return evaluate_kernel(cpu.squared, lists, lists.weights, *targets, zeroed=False)


@record(
    "rankcosine",
    family="cosine",
    formula="½ (1 − ⟨y, s⟩ / (‖y‖ ‖s‖)); ½ where s = 0",
    paper="Qin et al. 2008; Lan et al. 2014",
    cost="n",
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
    saturates=True,
    device_lists=partial(evaluate_targets, loss=target_losses.COSINE, value="label", norm="length"),
)
def rankcosine(lists: Lists) -> Evaluation:
    """Cosine distance between labels and scores.

    Use it where the scale of the scores must not matter, and to reproduce the literature.
    """
    return _cosine(lists, "label", "length")


@record(
    "cosine",
    family="cosine",
    formula="½ (1 − ⟨G, s⟩ / (‖G‖₂ ‖s‖₂)), G = 2^y − 1, 0 for labels below 0; ½ where s = 0",
    paper="Ravikumar et al. 2011; Xia, Zhai and Wang 2019 (CosMART)",
    cost="n",
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
    saturates=True,
    device_lists=partial(evaluate_targets, loss=target_losses.COSINE, value="gain", norm="length"),
)
def cosine(lists: Lists) -> Evaluation:
    """Cosine distance between gains and scores; lists without gain are ignored.

    Use it as rankcosine, with exponential gains in place of the labels.
    """
    return _cosine(lists, "gain", "length")


@record(
    "c-cosine",
    family="cosine",
    formula=f"½ (1 − ⟨G, s⟩ / (‖G‖_D ‖s‖₂)), G = 2^y − 1, 0 for labels below 0, {BY_IDEAL}; ½ where s = 0",
    paper="Ravikumar et al. 2011; Xia, Zhai and Wang 2019 (c-CosMART)",
    cost="n log n",
    option_specs={"depth": IDEAL_DEPTH},
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
    saturates=True,
    device_lists=partial(evaluate_targets, loss=target_losses.COSINE, value="gain", norm="dcg"),
)
def c_cosine(lists: Lists, *, depth: int | None) -> Evaluation:
    """Cosine distance with the gains divided by the ideal DCG, which makes it consistent with NDCG.

    Use it as cosine, if NDCG is the metric, and with depth=K if NDCG@K is.
    """
    return _cosine(lists, "gain", "dcg", depth)


@record(
    "squared-gain",
    family="pointwise",
    formula="Σ_i (s_i − G_i)², G = 2^y − 1, 0 for labels below 0",
    paper="Xia, Zhai and Wang 2019, Eq. 11 (MART-1)",
    cost="n",
    hessian=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
    device_lists=partial(evaluate_targets, loss=target_losses.SQUARED, value="gain"),
)
def squared_gain(lists: Lists) -> Evaluation:
    """Squared error of the scores as predictions of the gains.

    Use it where the score should predict the gain itself. Because gains grow exponentially, the highest grades
    dominate the fit.
    """
    evaluation = _squared(lists, "gain", "one")
    if not np.isfinite(evaluation.loss).all() and (lists.labels >= 1024).any():
        row = int(np.flatnonzero(lists.labels >= 1024)[0])
        raise DataError(
            f"The gain 2^{lists.labels[row]:g} − 1 at row {row + 1} is beyond float64. Scale the labels, or use "
            "c-squared."
        )
    return evaluation


@record(
    "squared-label",
    family="pointwise",
    formula="Σ_i (s_i − y_i)²",
    paper="Xia, Zhai and Wang 2019, Eq. 12 (MART-2)",
    cost="n",
    hessian=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
    label_rows=SQUARED,
    device_lists=partial(evaluate_targets, loss=target_losses.SQUARED),
)
def squared_label(lists: Lists) -> Evaluation:
    """Squared error of the scores as predictions of the labels.

    Use it where the score should predict the label itself, such as a rating.
    """
    return _squared(lists, "label", "one")


@record(
    "c-squared",
    family="listwise regression",
    formula=f"Σ_i (s_i − G_i / ‖G‖_D)², G = 2^y − 1, 0 for labels below 0, {BY_IDEAL}",
    paper="Ravikumar et al. 2011; Xia, Zhai and Wang 2019, Eq. 10 (c-MART-1)",
    cost="n log n",
    option_specs={"depth": IDEAL_DEPTH},
    hessian=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
    device_lists=partial(evaluate_targets, loss=target_losses.SQUARED, value="gain", norm="dcg"),
)
def c_squared(lists: Lists, *, depth: int | None) -> Evaluation:
    """Squared error with respect to gains / ideal DCG, consistent with NDCG; lists without gain are ignored.

    Use it as squared-gain, if NDCG is the metric, and with depth=K if NDCG@K is.
    """
    return _squared(lists, "gain", "dcg", depth)
