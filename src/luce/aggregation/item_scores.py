"""A score for every item by any objective of the table: rankings as labeled lists, scores as free parameters."""

import logging
import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.model_files import Arrays, finite, names_to_text, parameters_to_text, reading, to_value, versions
from luce.aggregation.names import check_names
from luce.aggregation.observed import observe
from luce.aggregation.over_ranks import of_all_ranks
from luce.aggregation.prediction import as_rankings
from luce.aggregation.priors import NormalPrior
from luce.arrays import Floats, list_of_row
from luce.errors import OptionError
from luce.optimizers.lbfgs import minimize
from luce.storage import save_model

if TYPE_CHECKING:
    from luce.objectives import Objective

logger = logging.getLogger(__name__)

KIND = "item-scores"


class ItemScores(BaseEstimator):
    """Scores of items by any objective: they minimize Σ w · loss over the rankings, less the log of a normal prior.

    Every ranking is a list; the label of an item is the number of levels below its own, so that ties and open ends are
    equal labels. With the objective "pl-partition" this is `PlackettLuce(ties="exact")`, which is faster and has
    standard errors; here any other loss of OBJECTIVES can be compared with it.

    Parameters
    ----------
    objective : str or Objective, default "pl-partition"
        A name of OBJECTIVES, or `luce.objective(name, **options)`.
    prior : NormalPrior, "auto" or None, default "auto"
        Prior of the scores; "auto" is NormalPrior(sd=3). Without a prior a loss may have no finite minimum.
    max_iter : int, default 500
        Iterations of L-BFGS, at most.
    tol : float, default 1e-10
        L-BFGS stops when the relative improvement falls below it.
    random_state : int, default 0
        Seed of random objectives, such as those that shuffle equal labels.
    n_jobs : int, optional
        Threads; None or −1 means all cores.

    Attributes
    ----------
    names_ : tuple
        The items.
    scores_ : ndarray of shape (n_items,)
        Mean 0.
    nuisance_ : dict
        Further parameters of the objective, by name.
    loss_ : float
        Σ w · loss, without the prior.

    Examples
    --------
    >>> votes = [["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]]
    >>> model = ItemScores("ranknet").fit(votes)
    >>> dict(zip(model.names_, model.scores_.round(2).tolist()))
    {'tea': 0.44, 'rum': -0.0, 'gin': -0.44}
    """

    def __init__(
        self,
        objective: "str | Objective" = "pl-partition",
        *,
        prior: NormalPrior | str | None = "auto",
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
        """Estimate the scores; inside a group of processes each rank gives its own rankings, as for `PlackettLuce`.

        Parameters
        ----------
        rankings : Rankings or list of orderings
            Orderings are lists of items, best first; a list inside one is a tie.
        y : ignored
            There for scikit-learn's conventions.

        Returns
        -------
        ItemScores
            The fitted estimator.
        """
        # Only here, so that a PlackettLuce loads no objective.
        from luce.objectives import Draw
        from luce.objectives import objective as objective_of

        objective, given = objective_of(self.objective), of_all_ranks(as_rankings(rankings), self)
        if objective.gradient_only or objective.one_output_per_grade:
            what = (
                "gives a gradient but no loss to search along" if objective.gradient_only else "has one score per grade"
            )
            raise OptionError(f"{objective.name} {what}; free scores of items need a loss with one score per item.")
        observed = observe(given).expand_pools()
        lists = list_of_row(observed.offsets)
        labels = (observed.n_levels[lists] - 1 - observed.places).astype(np.float64)
        n = given.n_items
        mean, precision = self._prior_values(given.names)

        def value_and_gradient(point: Floats) -> tuple[float, Floats]:
            result = objective.value_and_gradient(
                point[:n][observed.items],
                labels,
                observed.offsets,
                nuisance=point[n:],
                draw=Draw(self.random_state),
                n_jobs=self.n_jobs,
            )
            away = point[:n] - mean
            gradient = np.bincount(observed.items, result.gradient * observed.weights[lists], minlength=n)
            extra = np.zeros(0) if result.nuisance_gradient is None else observed.weights @ result.nuisance_gradient
            self.loss_ = float(observed.weights @ result.loss)
            value = self.loss_ + 0.5 * float(precision @ away**2)
            return value, np.concatenate([gradient + precision * away, extra])

        start = np.concatenate([np.zeros(n), [*objective.nuisance.values()]])
        point = minimize(value_and_gradient, start, max_iter=self.max_iter, tol=self.tol, watch=_watch)
        value_and_gradient(point)
        self.names_: tuple[Hashable, ...] = tuple(given.names)
        self.scores_: Floats = point[:n] - point[:n].mean()
        self.nuisance_ = dict(zip(objective.nuisance, point[n:].tolist(), strict=True))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted model in one file; `luce.load(path)` restores it.

        Parameters
        ----------
        path : str or path-like
            The file to write, by convention `*.luce`. A file that is there is replaced once the new one is complete.

        Raises
        ------
        DataError
            If the name of an item is not a string, a number, True or False.
        """
        from luce.objectives import objective as objective_of

        check_is_fitted(self)
        objective = objective_of(self.objective)
        manifest = {
            "kind": KIND,
            "versions": versions(),
            "objective": {"name": objective.name, "options": dict(objective.options)},
            "nuisance": self.nuisance_,
            "loss": self.loss_,
        }
        names = {"names": names_to_text(self.names_)}
        parameters = parameters_to_text(self, without=("objective", "n_jobs"))
        save_model(path, manifest, {"parameters": parameters, **names, "scores": self.scores_})

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], arrays: Arrays) -> Self:
        """The fitted model that a model file holds."""
        from luce.objectives import objective as objective_of

        with reading(cls.__name__):
            objective = objective_of(manifest["objective"]["name"], **manifest["objective"]["options"])
            model = cls(objective, **to_value(arrays["parameters"]))
            model.names_ = check_names("items", to_value(arrays["names"]))
            model.scores_ = finite("scores", arrays, len(model.names_))
            model.nuisance_ = {name: float(manifest["nuisance"][name]) for name in objective.nuisance}
            model.loss_ = float(manifest["loss"])
        return model

    def _prior_values(self, names: Sequence[Hashable]) -> tuple[Floats, Floats]:
        """Mean and precision of each score."""
        if self.prior is None:
            return np.zeros(len(names)), np.zeros(len(names))
        prior = NormalPrior(sd=3.0) if self.prior == "auto" else self.prior
        if not isinstance(prior, NormalPrior):
            raise OptionError(f"prior must be None, 'auto' or luce.aggregation.NormalPrior(…). Got {self.prior!r}.")
        mean, sd = prior.values(names)
        return mean, 1 / sd**2


def _watch(iteration: int, value: float, point: Floats) -> bool:
    logger.info("iteration %d: loss %.10g", iteration, value)
    return False
