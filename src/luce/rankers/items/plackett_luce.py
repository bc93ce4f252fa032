"""The Plackett-Luce model of rankings: a worth for every item, from orders, ties, top-k lists, pairs and choices."""

import logging
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from luce.arrays import Floats
from luce.data.rankings import Rankings
from luce.errors import LuceWarning, OptionError
from luce.optimizers.newton import Convergence
from luce.rankers.items.adherence import maximise_with_adherence
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.prediction import Predicting, as_rankings
from luce.rankers.items.presentation import SummaryMixin
from luce.rankers.items.priors import Gamma, Normal, Pseudo
from luce.rankers.items.separation import refuse_flat_directions, warn_of_runaway_ties
from luce.rankers.items.setup import Setup, set_up

logger = logging.getLogger(__name__)


class PlackettLuce(SummaryMixin, Predicting, BaseEstimator):
    """Worths of items from rankings: P(i is chosen from a set) = worth_i / Σ worths of the set, place after place.

    Parameters:
        ties: what a tie means. "exact": the order inside it is unknown (the partition likelihood, any size);
            "davidson": it is an outcome of its own, likelier the nearer the worths (Davidson-Luce, any order);
            "rao-kupper": the same for pairs, with a margin; None: ties are refused.
        prior: None, `Normal(mean, sd)` on the log worths, or `Pseudo(wins)` against a hypothetical item.
        features: of the items: a mapping, a table with a column "item", or an array in the order of the rankings'
            names. Log worths are then X β, and with a normal prior X β plus an effect of each item.
        teams: maps items of the rankings to their members; the worth of a team is the sum of its members'.
        adherence: None, True for Gamma(10, 10), or a `Gamma` prior: how closely each ranker keeps to the worths.
        tol: the fit ends when no item's observed and expected wins differ by more.
        max_iter: of Newton's method.
        n_jobs: threads; None or −1 = all cores.

    Attributes, after `fit`:
        names_: whose worths these are: the items, or the members of the teams.
        log_worths_: (n,), mean 0; NaN for an item that cannot be estimated.
        worths_: (n,), sum 1.
        estimable_: (n,) booleans; inestimable_: why the others are not, by name.
        tie_parameters_: δ of each tie order by name, tie2, tie3, …, or margin.
        coefficients_: weights of the features by name.
        adherence_: of each ranker by name, if asked for.
        log_likelihood_, n_parameters_, aic_, bic_ (its n is the number of rankings).
        convergence_: how the search ended; its gradient is the largest difference of observed and expected wins.
        rankings_: what it was fitted to.

    >>> from luce.data.rankings import Rankings
    >>> votes = Rankings.from_orderings([["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]])
    >>> model = PlackettLuce().fit(votes)
    >>> dict(zip(model.names_, model.worths_.round(3).tolist()))
    {'tea': 0.532, 'rum': 0.317, 'gin': 0.152}
    >>> round(model.log_likelihood_, 4), model.convergence_.converged
    (-4.7773, True)
    """

    def __init__(
        self,
        ties: str | None = "exact",
        *,
        prior: Normal | Pseudo | None = None,
        features: Any = None,
        teams: Mapping[Hashable, Iterable[Hashable]] | None = None,
        adherence: Gamma | bool | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ):
        self.ties = ties
        self.prior = prior
        self.features = features
        self.teams = teams
        self.adherence = adherence
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, rankings: Any, y: Any = None, *, start: Floats | None = None) -> Self:
        """Learn from `Rankings`, or from orderings, best first; `start` are log worths to start from, as `log_worths_`.

        `y` is not used; scikit-learn hands it on.
        """
        given = as_rankings(rankings)
        setup = self._set_up(given)
        posterior = setup.posterior
        begin = posterior.start(None if start is None else np.nan_to_num(np.asarray(start, float)[setup.keep]))
        begin = posterior.warmed_up(begin) if start is None else begin
        point, end, adherence = self._search(given, posterior, begin)
        logger.info("%s", end)
        self._check_finite(setup, point)
        self._keep(given, setup, point)
        self.convergence_, self.adherence_ = end, adherence
        if not end.converged:
            warnings.warn(f"The fit has {end}.", LuceWarning, stacklevel=2)
        return self

    def _set_up(self, rankings: Rankings) -> Setup:
        if not (self.tol > 0 and self.max_iter >= 1):
            given = f"{self.tol!r} and {self.max_iter!r}"
            raise OptionError(f"tol must be above 0 and max_iter at least 1. Got {given}.")
        settings = {name: getattr(self, name) for name in ("ties", "prior", "features", "teams", "n_jobs")}
        return set_up(rankings, **settings)

    def _search(
        self, given: Rankings, posterior: Posterior, begin: Floats
    ) -> tuple[Floats, Convergence, dict[Hashable, float] | None]:
        """The most likely point, how the search ended, and the adherence of the rankers if asked for."""
        settings: dict[str, Any] = {
            "tol": self._threshold(posterior),
            "max_iter": self.max_iter,
            "watch": _watch,
        }
        if self.adherence is None or self.adherence is False:
            return *posterior.maximise(begin, **settings), None
        prior = Gamma() if self.adherence is True else self.adherence
        if not isinstance(prior, Gamma):
            raise OptionError(f"adherence must be None, True or luce.Gamma(shape, rate). Got {self.adherence!r}.")
        alone = given.rankers is None
        rankers = np.arange(len(given)) if alone else given.rankers
        names = range(len(given)) if alone else given.ranker_names
        own = rankers[posterior.likelihood.observed.numbers]
        found = maximise_with_adherence(posterior, own, len(names), prior, begin, **settings)
        return found.point, found.convergence, dict(zip(names, found.adherence.tolist(), strict=True))

    def _check_finite(self, setup: Setup, point: Floats) -> None:
        posterior = setup.posterior
        warn_of_runaway_ties(posterior.likelihood.tie_names, posterior.split(point)[1])
        if self.prior is None and (setup.feature_names or self.teams is not None):
            refuse_flat_directions(posterior, point, setup.feature_names or setup.names)

    def _threshold(self, posterior: Posterior) -> float:
        """The tolerance, or what rounding alone makes of so many wins, or of so sharp a prior, if that is more."""
        observed = posterior.likelihood.observed
        wins = float(observed.weights @ observed.sizes.astype(np.float64))
        prior = float(np.max(posterior.precision * (1 + np.abs(posterior.mean)), initial=0.0))
        return max(float(self.tol), 1e-15 * (wins + prior))

    def _keep(self, given: Rankings, setup: Setup, point: Floats) -> None:
        posterior = setup.posterior
        likelihood, worths = posterior.likelihood, posterior.worths
        parameters, ties = posterior.split(point)
        own = worths.log_worths(parameters)
        self.rankings_, self._posterior, self._point = given, posterior, point
        self._covariances: dict[str, Any] = {}
        self._probed: dict[str, Floats] = {}
        self.names_: tuple[Hashable, ...] = setup.names if setup.keep.all() else tuple(given.names)
        self.estimable_: NDArray[np.bool_] = setup.keep
        self.inestimable_ = setup.why
        self.log_worths_: Floats = np.full(len(setup.keep), np.nan)
        self.log_worths_[setup.keep] = own - own.mean()
        self.worths_: Floats = np.exp(self.log_worths_ - np.nanmax(self.log_worths_))
        self.worths_ /= np.nansum(self.worths_)
        values = ties if likelihood.ties == "rao-kupper" else np.exp(ties)
        self.tie_parameters_ = dict(zip(likelihood.tie_names, values.tolist(), strict=True))
        weights = parameters[worths.n_effects :][: len(setup.feature_names)]
        self.coefficients_ = dict(zip(setup.feature_names, weights.tolist(), strict=True))
        scores = worths.scores(parameters)[: likelihood.n_items]
        self.log_likelihood_ = likelihood.value_and_gradient(scores, ties)[0]
        effects = max(worths.n_effects - 1, 0)
        self.n_parameters_ = effects + len(weights) + len(ties)
        self.n_rankings_ = float(likelihood.observed.weights.sum())

    @property
    def aic_(self) -> float:
        """2 · parameters − 2 · log-likelihood."""
        return 2 * self.n_parameters_ - 2 * self.log_likelihood_

    @property
    def bic_(self) -> float:
        """log(rankings) · parameters − 2 · log-likelihood."""
        return float(np.log(self.n_rankings_)) * self.n_parameters_ - 2 * self.log_likelihood_

    convergence_: Convergence
    adherence_: dict[Hashable, float] | None


def _watch(iteration: int, value: float, gradient: float) -> None:
    logger.info("iteration %d: log posterior %.10g, largest gradient %.2e", iteration, -value, gradient)
