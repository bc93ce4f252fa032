"""A score for every item by any objective of the table: rankings as judged lists, free scores as parameters."""

import logging
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from luce.arrays import Floats, list_of_row
from luce.errors import OptionError
from luce.objectives import Draw, Objective
from luce.objectives import objective as objective_of
from luce.optimizers.lbfgs import minimize
from luce.rankers.items.observed import observe
from luce.rankers.items.prediction import as_rankings
from luce.rankers.items.priors import Normal

logger = logging.getLogger(__name__)

WIDE = Normal(0.0, 3.0)


class ItemScores(BaseEstimator):
    """Scores of items that minimise Σ w · loss over rankings, less the log of a normal prior.

    Every ranking is a list; the label of an item is how many levels lie below its own, so that ties and open ends are
    equal labels. With the objective "pl-partition" this is `PlackettLuce(ties="exact")`, which is faster and has
    standard errors; here any other loss of OBJECTIVES stands beside it.

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`.
        prior: `Normal(mean, sd)` of the scores; without one a loss may have no finite minimum.
        max_iter, tol: L-BFGS stops after so many, or when the relative improvement falls below it.
        random_state: seeds the shuffle of equal labels of the objectives that draw.
        n_jobs: threads; None or −1 = all cores.

    Attributes, after `fit`: names_; scores_ (n,), mean 0; nuisance_, by name; loss_, without the prior.

    >>> votes = [["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]]
    >>> found = ItemScores("ranknet").fit(votes)
    >>> dict(zip(found.names_, found.scores_.round(2).tolist()))
    {'tea': 0.44, 'rum': -0.0, 'gin': -0.44}
    """

    def __init__(
        self,
        objective: str | Objective = "pl-partition",
        *,
        prior: Normal | None = WIDE,
        max_iter: int = 500,
        tol: float = 1e-10,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, rankings: Any, y: Any = None) -> Self:
        """Learn from `Rankings`, or from orderings, best first. `y` is not used."""
        goal, given = objective_of(self.objective), as_rankings(rankings)
        if goal.gradient_only or goal.one_output_per_grade:
            what = "gives a gradient but no loss to search along" if goal.gradient_only else "has one score a grade"
            raise OptionError(f"{goal.name} {what}; free scores of items need a loss of one score an item.")
        if not (self.prior is None or isinstance(self.prior, Normal)):
            raise OptionError(f"prior must be None or luce.Normal(…). Got {self.prior!r}.")
        seen = observe(given).written_out()
        lists = list_of_row(seen.offsets)
        labels = (seen.levels[lists] - 1 - seen.places).astype(np.float64)
        n = given.n_items
        mean, precision = np.zeros(n), np.zeros(n)
        if self.prior is not None:
            mean, sd = self.prior.values(given.names)
            precision = 1 / sd**2

        def value_and_gradient(point: Floats) -> tuple[float, Floats]:
            found = goal.value_and_gradient(
                point[:n][seen.items],
                labels,
                seen.offsets,
                nuisance=point[n:],
                draw=Draw(self.random_state),
                n_jobs=self.n_jobs,
            )
            away = point[:n] - mean
            slopes = np.bincount(seen.items, found.gradient * seen.weights[lists], minlength=n) + precision * away
            extra = np.zeros(0) if found.nuisance_gradient is None else seen.weights @ found.nuisance_gradient
            self.loss_ = float(seen.weights @ found.loss)
            return self.loss_ + 0.5 * float(precision @ away**2), np.concatenate([slopes, extra])

        start = np.concatenate([np.zeros(n), [*goal.nuisance.values()]])
        settings: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "watch": _watch}
        point = minimize(value_and_gradient, start, **settings)
        value_and_gradient(point)
        self.names_: tuple[Hashable, ...] = tuple(given.names)
        self.scores_: Floats = point[:n] - point[:n].mean()
        self.nuisance_ = dict(zip(goal.nuisance, point[n:].tolist(), strict=True))
        return self


def _watch(iteration: int, value: float, point: Floats) -> bool:
    logger.info("iteration %d: loss %.10g", iteration, value)
    return False
