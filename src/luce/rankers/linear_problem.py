"""What the linear ranker minimizes, as a function of one vector of all its parameters."""

from copy import copy
from typing import Any, Self

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, rows_of_lists
from luce.data import Dataset
from luce.distributed import in_share, numbered, summed_work
from luce.kernels.linear_products import weights_of
from luce.lists import Lists
from luce.objectives import Draw, Objective
from luce.scoring.models import Parameters


class LinearProblem:
    """Σ_q w_q loss_q + ½·reg_lambda·‖weights‖²; intercepts and the objective's nuisance parameters have no prior.

    In a process group the sum is over the lists of all ranks, which are numbered in the order of ranks.
    """

    def __init__(
        self,
        features: Any,
        dataset: Dataset,
        objective: Objective,
        draw: Draw,
        reg_lambda: float,
        n_jobs: int | None,
        *,
        max_grade: float,
    ):
        self.features = features
        self.objective, self.reg_lambda, self.n_jobs = objective, reg_lambda, n_jobs
        self.first_list, self.n_lists = numbered(dataset.n_lists)
        self.draw = draw._replace(lists=np.arange(self.first_list, self.first_list + dataset.n_lists))
        grades = int(max_grade) + 1 if objective.one_output_per_grade else 1
        self.shape = (features.shape[1], grades) if objective.one_output_per_grade else (features.shape[1],)
        self._set_lists(dataset.with_features(np.empty((dataset.n_rows, 0), dtype=np.float32)))
        self.n_intercepts = grades if objective.one_output_per_grade or not objective.shift_invariant else 0

    def _set_lists(self, lists: Dataset) -> None:
        self.dataset = lists
        self.lists = self.objective.check(
            Lists(
                np.zeros((lists.n_rows, *self.shape[1:])),
                lists.labels,
                lists.offsets,
                lists.item_weights,
                np.array([*self.objective.nuisance.values()]),
                n_jobs=self.n_jobs,
                item_groups=lists.item_group_numbers(),
            )
        )
        self.list_weights = np.ones(lists.n_lists) if lists.list_weights is None else lists.list_weights
        self.row_weights = None if lists.list_weights is None else lists.list_weights[list_of_row(lists.offsets)]

    def of_lists(self, lists: Integers, epoch: float) -> Self:
        """The same for some of the lists, in whose sum the prior has their share, with draws of their own."""
        some = copy(self)
        own = in_share(lists, self.first_list, self.dataset.n_lists)
        if len(lists) < self.n_lists:
            some.features = self.features[rows_of_lists(self.dataset.offsets, own)]
            some._set_lists(self.dataset.take(own))
            some.reg_lambda = self.reg_lambda * len(lists) / self.n_lists
        some.draw = self.draw._replace(step=int(epoch), lists=own + self.first_list, epoch=epoch)
        return some

    def start(self) -> Floats:
        """Weights and intercepts of zero, nuisance parameters where the objective starts them."""
        return np.concatenate(
            [np.zeros(int(np.prod(self.shape)) + self.n_intercepts), [*self.objective.nuisance.values()]]
        )

    def parameters(self, point: Floats) -> Parameters:
        """What the numbers of a point stand for."""
        weights, intercept, nuisance = np.split(point, np.cumsum([np.prod(self.shape), self.n_intercepts]))
        return Parameters(weights.reshape(self.shape), intercept, nuisance)

    def value_and_gradient(self, point: Floats) -> tuple[float, Floats]:
        """The penalized loss and its gradient in all parameters."""
        given = self.parameters(point)
        value, gradient = np.split(summed_work(lambda: self._sums_of_lists(given), 1 + len(point)), [1])
        gradient[: given.weights.size] += self.reg_lambda * given.weights.ravel()
        return float(value[0]) + 0.5 * self.reg_lambda * float(np.sum(given.weights**2)), gradient

    def _sums_of_lists(self, given: Parameters) -> Floats:
        """The loss and then its gradient in all parameters, of the lists of this rank."""
        if not self.dataset.n_rows:
            return np.zeros(1 + sum(part.size for part in given))
        scores = given.scores(self.features, self.n_jobs)
        evaluation = self.objective.evaluate(
            self.lists._replace(scores=scores, nuisance=given.nuisance, draw=self.draw)
        )
        score_gradients = evaluation.gradient.reshape(self.dataset.n_rows, -1).T
        if self.row_weights is not None:
            score_gradients = score_gradients * self.row_weights
        columns = [weights_of(self.features, np.ascontiguousarray(one), n_jobs=self.n_jobs) for one in score_gradients]
        gradient = np.stack(columns, axis=-1).ravel()
        intercepts = score_gradients.sum(axis=1) if self.n_intercepts else []
        extra = evaluation.nuisance_gradient
        value = self.list_weights @ evaluation.loss
        return np.concatenate([[value], gradient, intercepts, [] if extra is None else self.list_weights @ extra])
