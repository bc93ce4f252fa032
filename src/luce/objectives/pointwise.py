"""Pointwise losses: each item is scored on its own; lists do not matter."""

from functools import partial

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError
from luce.kernels import target_losses
from luce.kernels.device import device_kernels
from luce.kernels.grade_choice import expected_grade
from luce.kernels.grade_choice.cpu import grade_choice
from luce.kernels.logistic.cpu import logistic
from luce.kernels.partition_likelihood import LOGISTIC
from luce.kernels.target_losses import evaluate_targets
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists, evaluate_kernel
from luce.objectives.base import record


def _mcrank_on_device(lists: DeviceLists) -> DeviceEvaluation:
    scores, labels, offsets, longest, _, factor, *_ = lists
    kernels = device_kernels("grade_choice", scores.device.type)
    return DeviceEvaluation(*kernels.grade_lists(scores, labels, offsets, longest, lists.item_weights, factor))


@record(
    "mcrank",
    family="pointwise",
    formula="−Σ_i log softmax(s_i)_{y_i}; rank by Σ_g g · softmax(s_i)_g",
    paper="Li et al. 2007; Xia, Zhai and Wang 2019",
    cost="n · grades",
    hessian=True,
    one_output_per_grade=True,
    uses_ties=True,
    pointwise=True,
    ranking_score=expected_grade,
    device_lists=_mcrank_on_device,
)
def mcrank(lists: Lists) -> Evaluation:
    """Classification of each item into its grade, an integer from 0; the score is the expected grade.

    Use it for a few integer grades where the probability of each grade is of interest too. It trains one output per
    grade.
    """
    evaluation = evaluate_kernel(grade_choice, lists, lists.weights, lists.scores.shape[1], zeroed=False)
    if np.isnan(evaluation.loss).any():
        _check_grades(lists.labels, lists.scores.shape[1])
    return evaluation


def _check_grades(labels: Floats, n_grades: int) -> None:
    wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= n_grades)
    rows = np.flatnonzero(wrong & ~np.isnan(labels))
    if rows.size:
        raise DataError(
            f"mcrank needs integer grades from 0 to {n_grades - 1}, one for each output. "
            f"Got {labels[rows[0]]:g} at row {rows[0] + 1}."
        )


@record(
    "bce",
    family="pointwise",
    formula="Σ_i (log(1 + e^{s_i}) − [y_i > 0] s_i)",
    paper="logistic regression on relevance; the usual loss of multi-label networks",
    cost="n",
    hessian=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
    label_rows=LOGISTIC,
    device_lists=partial(evaluate_targets, loss=target_losses.LOGISTIC),
)
def bce(lists: Lists) -> Evaluation:
    """Binary cross-entropy of whether an item is relevant, its label above 0, whatever the rest of the list.

    Use it for binary labels where scores should be log-odds that can be compared between lists.
    """
    return evaluate_kernel(logistic, lists, lists.weights)
