"""What the linear ranker minimises: a function of all its parameters, and what each of them is."""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.kernels.linear_products import scores_of, weights_of
from luce.objectives import Draw, Objective


class Parameters(NamedTuple):
    """Weights (F,), or (F, outputs); the intercept of each output where shifting scores means something; the rest."""

    weights: Floats
    intercept: Floats
    nuisance: Floats

    def scores(self, features: Any, n_jobs: int | None = None) -> Floats:
        """X W + intercept: (N,) or (N, outputs)."""
        columns = self.weights.reshape(len(self.weights), -1).T
        each = [scores_of(features, np.ascontiguousarray(column), n_jobs=n_jobs) for column in columns]
        scores = each[0] if self.weights.ndim == 1 else np.stack(each, axis=1)
        return scores + self.intercept if self.intercept.size else scores


class LinearProblem:
    """Σ_q w_q loss_q + ½·l2·‖weights‖²; intercepts and the objective's nuisance parameters have no prior."""

    def __init__(self, features: Any, dataset: Dataset, goal: Objective, draw: Draw, l2: float, n_jobs: int | None):
        self.features, self.dataset = features, dataset
        self.goal, self.draw, self.l2, self.n_jobs = goal, draw, l2, n_jobs
        self.list_weights = np.ones(dataset.n_lists) if dataset.list_weights is None else dataset.list_weights
        self.row_weights = self.list_weights[list_of_row(dataset.offsets)]
        grades = int(np.nanmax(dataset.labels)) + 1 if goal.one_output_per_grade else 1
        self.shape = (features.shape[1], grades) if goal.one_output_per_grade else (features.shape[1],)
        self.n_intercepts = grades if goal.one_output_per_grade or not goal.shift_invariant else 0

    def start(self) -> Floats:
        """Weights and intercepts of zero, nuisance parameters where the objective starts them."""
        return np.concatenate([np.zeros(int(np.prod(self.shape)) + self.n_intercepts), [*self.goal.nuisance.values()]])

    def parameters(self, point: Floats) -> Parameters:
        """What the numbers of a point stand for."""
        weights, intercept, nuisance = np.split(point, np.cumsum([np.prod(self.shape), self.n_intercepts]))
        return Parameters(weights.reshape(self.shape), intercept, nuisance)

    def value_and_gradient(self, point: Floats) -> tuple[float, Floats]:
        """The penalised loss and its gradient in all parameters."""
        given = self.parameters(point)
        evaluation = self.goal.value_and_gradient(
            given.scores(self.features, self.n_jobs),
            self.dataset.labels,
            self.dataset.offsets,
            item_weights=self.dataset.item_weights,
            nuisance=given.nuisance,
            draw=self.draw,
            n_jobs=self.n_jobs,
        )
        slopes = evaluation.gradient.reshape(self.dataset.n_rows, -1).T * self.row_weights
        columns = [weights_of(self.features, slope, n_jobs=self.n_jobs) for slope in slopes]
        gradient = np.stack(columns, axis=-1).reshape(self.shape) + self.l2 * given.weights
        extra = evaluation.nuisance_gradient
        value = float(self.list_weights @ evaluation.loss) + 0.5 * self.l2 * float(np.sum(given.weights**2))
        rest = [slopes.sum(axis=1)[: self.n_intercepts], [] if extra is None else self.list_weights @ extra]
        return value, np.concatenate([gradient.ravel(), *rest])
