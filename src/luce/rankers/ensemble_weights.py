"""The weights of an ensemble: those by which its scores have the least loss on lists that no member has seen."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data import Dataset
from luce.objectives import Draw, Objective
from luce.optimizers.lbfgs import minimize
from luce.rankers.linear_problem import LinearProblem

REG_LAMBDA = 1e-3
"""Penalty on the weights of scores of unit spread: scores that separate all labels would have infinite ones."""


class Blend(NamedTuple):
    """The weight of each member, the nuisance parameters of the objective, and the mean loss over lists."""

    weights: Floats
    nuisance: Floats
    loss: float


def spread(scores: Floats, offsets: Integers) -> float:
    """How far scores are from the mean of their list, root mean square; 1 where they do not differ.

    >>> spread(np.array([1.0, 3.0, 9.0]), np.array([0, 2, 3])), spread(np.zeros(2), np.array([0, 2]))
    (0.816496580927726, 1.0)
    """
    lists, sizes = list_of_row(offsets), np.maximum(np.diff(offsets), 1)
    means = np.bincount(lists, scores, len(sizes)) / sizes
    found = float(np.sqrt(np.mean((scores - means[lists]) ** 2))) if len(scores) else 0.0
    return found or 1.0


def find_weights(scores: Floats, lists: Dataset, objective: Objective, seed: int, n_jobs: int | None) -> Blend:
    """The weights ≥ 0 of the columns of scores (N, M) whose weighted sum has the least loss on the lists.

    Where no weights do better than none, all columns have the same share.

    >>> from luce.objectives import OBJECTIVES
    >>> lists = Dataset(np.empty((4, 0)), [2, 1, 0, 0], [0, 4])
    >>> (find_weights(np.array([[2.0, 0], [1, 1], [0, 1], [0, 0]]), lists, OBJECTIVES["listnet"], 0, 1).weights > 0)
    array([ True, False])
    """
    n_members = scores.shape[1]
    scale = np.array([spread(column, lists.offsets) for column in scores.T])
    problem = LinearProblem(scores / scale, lists, objective, Draw(seed), REG_LAMBDA, n_jobs, max_grade=0.0)
    start = problem.start()
    start[:n_members] = 1.0
    bounds = [(0.0, None)] * n_members + [(None, None)] * (len(start) - n_members)
    point = minimize(
        problem.value_and_gradient, start, max_iter=200, tol=1e-9, watch=lambda *step: False, bounds=bounds
    )
    if not point[:n_members].any():
        point[:n_members] = 1.0
    loss, _ = problem.value_and_gradient(point)
    loss -= 0.5 * REG_LAMBDA * float(point[:n_members] @ point[:n_members])
    return Blend(point[:n_members] / scale, problem.parameters(point).nuisance, loss / problem.list_weights.sum())
