"""McRank: ranking as classification into grades, with one output per grade."""

import numpy as np
from scipy.special import softmax

from luce.arrays import Floats
from luce.errors import DataError
from luce.kernels.grade_choice import cpu
from luce.lists import Evaluation, Lists, evaluate_kernel
from luce.objectives.objective import record


def expected_grade(scores: Floats) -> Floats:
    """The score to rank by, (N,): Σ_g g · softmax(s)_g.

    >>> expected_grade(np.array([[0.0, 0.0, 0.0], [0.0, 1e4, 0.0]]))
    array([1., 1.])
    """
    return softmax(scores, axis=1) @ np.arange(scores.shape[1])


@record(
    "mcrank",
    family="pointwise",
    formula="−Σ_i log softmax(s_i)_{y_i}; rank by Σ_g g · softmax(s_i)_g",
    paper="Li et al. 2007; Xia, Zhai and Wang 2019",
    cost="n · grades",
    curvature=True,
    one_output_per_grade=True,
    uses_ties=True,
    pointwise=True,
    ranking_score=expected_grade,
)
def mcrank(lists: Lists) -> Evaluation:
    """Multi-class cross-entropy of the grade of each item (0, 1, 2, …); items are ranked by their expected grade."""
    evaluation = evaluate_kernel(cpu.grade_choice, lists, lists.weights, lists.scores.shape[1], zeroed=False)
    if np.isnan(evaluation.loss).any():
        _check_grades(lists.labels, lists.scores.shape[1])
    return evaluation


def _check_grades(labels: Floats, n_grades: int) -> None:
    wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= n_grades)
    rows = np.flatnonzero(wrong & ~np.isnan(labels))
    if rows.size:
        raise DataError(
            f"mcrank needs integer grades from 0 to {n_grades - 1}, one for each output. "
            f"Got {labels[rows[0]]:g} at row {rows[0]}."
        )
