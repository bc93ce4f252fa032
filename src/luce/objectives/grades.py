"""McRank: ranking as classification into grades, one output a grade."""

import numpy as np
from scipy.special import log_softmax, softmax

from luce.arrays import Floats, list_of_row
from luce.errors import DataError
from luce.objectives.objective import Evaluation, Lists, record


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
    paper="Li et al. 2007; PLRank 2019",
    curvature=True,
    one_output_per_grade=True,
    uses_ties=True,
    pointwise=True,
    ranking_score=expected_grade,
)
def mcrank(lists: Lists) -> Evaluation:
    """Classification of each item into its grade, a whole number from 0; the score is the expected grade."""
    n_grades = lists.scores.shape[1]
    kept = ~np.isnan(lists.labels)
    grades = lists.labels[kept]
    if np.any((grades != np.floor(grades)) | (grades < 0) | (grades >= n_grades)):
        raise DataError(
            f"mcrank needs whole grades from 0 to {n_grades - 1}, one for each output. Got {grades.max():g}."
        )
    weights = np.zeros(len(kept))
    weights[kept] = 1.0 if lists.item_weights is None else lists.item_weights[kept]
    truth = np.zeros(lists.scores.shape)
    truth[np.flatnonzero(kept), grades.astype(np.int64)] = 1.0
    log_p = log_softmax(lists.scores, axis=1) if truth.size else truth
    terms = -weights * (truth * log_p).sum(axis=1)
    loss = np.bincount(list_of_row(lists.offsets), terms, len(lists.offsets) - 1).astype(np.float64)
    p = np.exp(log_p)
    curvature = weights[:, None] * p * (1 - p) if lists.curvature else None
    return Evaluation(loss, weights[:, None] * (p - truth), curvature)
