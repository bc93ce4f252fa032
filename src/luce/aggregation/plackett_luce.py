"""The Plackett-Luce model of rankings: a worth for every item, from orders, ties, top-k lists, pairs and choices."""

import logging
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.adherence import (
    add_adherence,
    adherence_of,
    adherence_prior,
    maximize_with_adherence,
    ranker_names,
)
from luce.aggregation.connectivity import Connectivity
from luce.aggregation.flat_directions import refuse_flat_directions
from luce.aggregation.goodness_of_fit import GoodnessOfFitMixin
from luce.aggregation.likelihood import TIE_MODELS
from luce.aggregation.model_files import (
    Arrays,
    convergence_of,
    finite,
    parameters_to_text,
    rankings_of_arrays,
    rankings_to_arrays,
    reading,
    to_text,
    to_value,
    versions,
)
from luce.aggregation.names import count, listed
from luce.aggregation.over_ranks import of_all_ranks
from luce.aggregation.plots import PlotMixin
from luce.aggregation.posterior import Posterior, Setup, set_up
from luce.aggregation.prediction import PredictionMixin, as_rankings
from luce.aggregation.prior_strength import estimate_sd
from luce.aggregation.priors import GammaPrior, NormalPrior, PseudoRankings
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats
from luce.errors import LuceWarning, OptionError, warn
from luce.optimizers.newton import Convergence
from luce.storage import save_model

logger = logging.getLogger(__name__)

KIND = "plackett-luce"

RUNAWAY = 15.0
"""A log δ or a margin above it: ties were all that was seen where they were possible."""

ROUGH = 0.1
"""Tolerance of the fit without adherence, from which that with it begins."""


class PlackettLuce(PlotMixin, PredictionMixin, GoodnessOfFitMixin, BaseEstimator):
    """Worths of items from rankings: P(i is chosen from a set) = worth_i / Σ worths of the set, rank after rank.

    Parameters
    ----------
    ties : {"auto", "exact", "davidson", "rao-kupper", "half-wins", None}, default "auto"
        What a tie means. "exact": the order inside it is unknown (the partition likelihood, any size), so a ranking
        that ties all its items carries no information; "davidson": it is an outcome of its own, more likely for similar
        worths (Davidson-Luce, any size); "rao-kupper": the same for pairs, with a margin; "half-wins": half a win for
        each of a pair, as in Elo ratings; None: ties are refused. "auto": "davidson" if all rankings are comparisons of
        two items, else "exact".
    prior : NormalPrior, PseudoRankings, "auto" or None, default None
        Prior of the worths. Without one, items that never win or never lose cannot be estimated. "auto": None where
        the rankings determine all worths, else NormalPrior(sd="estimate").
    features : mapping, table or array-like of shape (n_items, n_features), optional
        Features of the items: a mapping from item to its row, a table with a column "item", or an array in the order
        of the rankings' names. Log worths are then X β, and with a normal prior X β plus an effect of each item.
    teams : mapping, optional
        Mapping from the items of the rankings to their members; the worth of a team is the sum of its members' worths.
    adherence : bool or GammaPrior, optional
        Estimate how closely each ranker follows the worths, with this prior; True is GammaPrior(10, 10). The scores of
        a ranker are adherence · log worths. Without rankers, each ranking has an adherence of its own. Standard errors
        of the worths include its uncertainty.
    tol : float, default 1e-8
        The fit ends when no item's observed and expected wins differ by more, as a share of all choices if these weigh
        less than 1.
    max_iter : int, default 100
        Iterations of Newton's method, at most.
    n_jobs : int, optional
        Threads; None or −1 means all cores.

    Attributes
    ----------
    ties_ : str or None
        The model of ties that was used.
    prior_ : NormalPrior, PseudoRankings or None
        The prior that was used, with an estimated standard deviation as a number.
    unused_ : dict
        Number of rankings that the fit did not use, by reason.
    names_ : tuple
        The items, or the members of the teams.
    log_worths_ : ndarray of shape (n,)
        Mean 0; NaN for an item that cannot be estimated.
    worths_ : ndarray of shape (n,)
        Sum 1.
    estimable_ : ndarray of bool of shape (n,)
        Whether each item can be estimated.
    not_estimable_ : dict
        Why the other items cannot be estimated, by name.
    tie_parameters_ : dict
        δ of each tie order by name, tie2, tie3, …, or the margin.
    coefficients_ : dict
        Coefficients of the features by name.
    adherence_ : dict or None
        Adherence of each ranker by name, or by the number of the ranking, from 0, if there are no rankers.
    log_likelihood_ : float
        Of the rankings, without the prior.
    n_parameters_ : int
        Number of free parameters, without the adherence and the standard deviation of a prior.
    convergence_ : Convergence
        How the search ended; its gradient is the largest difference of observed and expected wins.
    rankings_ : Rankings
        The rankings that the model was fitted to.

    Examples
    --------
    >>> from luce.aggregation import PlackettLuce, Rankings
    >>> votes = Rankings.from_orderings([["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]])
    >>> model = PlackettLuce().fit(votes)
    >>> dict(zip(model.names_, model.worths_.round(3).tolist()))
    {'tea': 0.532, 'rum': 0.317, 'gin': 0.152}
    >>> round(model.log_likelihood_, 4), model.convergence_.converged
    (-4.7773, True)
    """

    def __init__(
        self,
        ties: str | None = "auto",
        *,
        prior: NormalPrior | PseudoRankings | str | None = None,
        features: Any = None,
        teams: Mapping[Hashable, Iterable[Hashable]] | None = None,
        adherence: GammaPrior | bool | None = None,
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
        """Estimate the worths.

        Inside a group of processes each rank gives its own rankings, and all fit those of all ranks, which each holds
        in memory; `rankings.aggregate()` makes few of many equal ones before. Names are text, numbers, True or False.

        Parameters
        ----------
        rankings : Rankings or list of orderings
            Orderings are lists of items, best first; a list inside one is a tie.
        y : ignored
            There for scikit-learn's conventions.
        start : array-like of shape (n,), optional
            Log worths to start from, such as the `log_worths_` of another fit.

        Returns
        -------
        PlackettLuce
            The fitted estimator.
        """
        given = of_all_ranks(as_rankings(rankings), self, start=start, features=self.features)
        setup = self._set_up(given)
        posterior = setup.posterior
        unused = unused_rankings(given, setup)
        if start is None:
            begin = posterior.warm_up(posterior.initial_point())
        else:
            begin = posterior.initial_point(np.nan_to_num(np.asarray(start, float)[setup.estimable]))
        if isinstance(setup.prior, NormalPrior) and setup.prior.is_estimated:
            setup, begin = self._with_estimated_prior(given, setup, begin)
        point, end = self._search(given, setup.posterior, begin)
        logger.info("%s", end)
        warn_of_runaway_ties(posterior.likelihood.tie_names, posterior.split(point)[1])
        self._check_finite(setup, point)
        self._store(given, setup, point)
        self.convergence_, self.unused_ = end, unused
        if not end.converged:
            warn(f"The fit has {end}.")
        return self

    def _set_up(self, rankings: Rankings, **changes: Any) -> Setup:
        """What is fitted to the rankings, with the parameters of the estimator and these changes."""
        if not (self.tol > 0 and self.max_iter >= 1):
            given = f"{self.tol!r} and {self.max_iter!r}"
            raise OptionError(f"tol must be above 0 and max_iter at least 1. Got {given}.")
        settings = {name: getattr(self, name) for name in ("ties", "prior", "features", "teams", "n_jobs")}
        return set_up(rankings, **(settings | changes))

    def _with_estimated_prior(self, given: Rankings, setup: Setup, begin: Floats) -> tuple[Setup, Floats]:
        """The same with the standard deviation of the prior that makes the rankings most likely, and a near point."""
        near = self._search(given, setup.posterior, begin)[0]
        self._check_finite(setup, near)
        sd, near = estimate_sd(setup.posterior, lambda *problem: self._search(given, *problem)[0], near)
        prior = replace(cast(NormalPrior, setup.prior), sd=sd)
        logger.info("estimated prior: %s", prior)
        return setup._replace(posterior=setup.posterior.with_sd(sd), prior=prior), near

    def _search(self, given: Rankings, posterior: Posterior, begin: Floats) -> tuple[Floats, Convergence]:
        """The most likely point and how the search ended; with adherence from where it would end without."""
        settings: dict[str, Any] = {
            "tol": self._threshold(posterior),
            "max_iter": self.max_iter,
            "watch": _watch,
        }
        prior = adherence_prior(self.adherence)
        if prior is None:
            return posterior.maximize(begin, **settings)
        if adherence_of(posterior.likelihood) is None:
            begin, _ = posterior.maximize(begin, **settings | {"tol": ROUGH})
            add_adherence(posterior.likelihood, given, prior)
        return maximize_with_adherence(posterior, begin, **settings)

    def _check_finite(self, setup: Setup, point: Floats) -> None:
        """Refuse coefficients and members of teams without a finite estimate, where no prior holds them."""
        of_teams = self.teams is not None and setup.prior is None
        if of_teams or (setup.feature_names and not isinstance(setup.prior, PseudoRankings)):
            refuse_flat_directions(setup.posterior, point, setup.feature_names or setup.names)

    def _threshold(self, posterior: Posterior) -> float:
        """`tol`, or the rounding error of so many wins, or of so sharp priors, where that is larger."""
        observed = posterior.likelihood.observed
        wins = float(observed.weights @ observed.sizes.astype(np.float64))
        prior = float(np.max(posterior.precision * (1 + np.abs(posterior.mean)), initial=0.0))
        adherence = adherence_prior(self.adherence)
        rounding = 1e-15 * (wins + prior + (0.0 if adherence is None else adherence.shape))
        return max(float(self.tol) * min(wins, 1.0), rounding)

    def _store(self, given: Rankings, setup: Setup, point: Floats) -> None:
        posterior = setup.posterior
        likelihood, parametrization = posterior.likelihood, posterior.parametrization
        parameters, ties = posterior.split(point)
        own = parametrization.log_worths(parameters)
        self.rankings_, self._posterior, self._point = given, posterior, point
        self.ties_, self.prior_ = setup.ties, setup.prior
        self._covariances, self._stochastic_variances, self._quasi_variances, self._warned = {}, {}, {}, set()
        self.names_: tuple[Hashable, ...] = setup.names if setup.estimable.all() else tuple(given.names)
        self.estimable_: NDArray[np.bool_] = setup.estimable
        self.not_estimable_ = setup.not_estimable
        self.log_worths_: Floats = np.full(len(setup.estimable), np.nan)
        self.log_worths_[setup.estimable] = own - own.mean()
        self.worths_: Floats = np.exp(self.log_worths_ - np.nanmax(self.log_worths_))
        self.worths_ /= np.nansum(self.worths_)
        values = ties if likelihood.ties == "rao-kupper" else np.exp(ties)
        self.tie_parameters_ = dict(zip(likelihood.tie_names, values.tolist(), strict=True))
        coefficients = parameters[parametrization.n_effects :][: len(setup.feature_names)]
        self.coefficients_ = dict(zip(setup.feature_names, coefficients.tolist(), strict=True))
        scores = posterior.scores_and_ties(point)[0]
        term = adherence_of(likelihood)
        self.adherence_: dict[Hashable, float] | None = None
        if term is None:
            self.log_likelihood_ = likelihood.value_and_gradient(scores, ties)[0]
        else:
            self.log_likelihood_ = term.own_scores(scores, ties).log_likelihood
            self.adherence_ = dict(zip(ranker_names(given), term.adherence.tolist(), strict=True))
        effects = max(parametrization.n_effects - 1, 0)
        self.n_parameters_ = effects + len(coefficients) + len(ties)
        seen = likelihood.observed
        self._n_used = float(seen.weights @ (seen.ordered | (likelihood.ties in TIE_MODELS)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted model in one file; `luce.load(path)` restores it, with the same answers to every query.

        Parameters
        ----------
        path : str or path-like
            The file to write, by convention `*.luce`. A file that is there is replaced once the new one is complete. It
            contains the rankings, but not `n_jobs`.

        Raises
        ------
        DataError
            If the name of an item or ranker is not a string, a number, True or False.

        Examples
        --------
        >>> import tempfile, luce
        >>> from pathlib import Path
        >>> model = luce.PlackettLuce().fit([["a", "b"], ["b", "a"], ["a", "b"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "worths.luce")
        ...     luce.load(Path(folder) / "worths.luce").worths_.round(3)
        array([0.667, 0.333])
        """
        check_is_fitted(self)
        manifest = {"kind": KIND, "versions": versions(), "convergence": asdict(self.convergence_)}
        texts = {"parameters": parameters_to_text(self), "used": to_text({"ties": self.ties_, "prior": self.prior_})}
        arrays = {**rankings_to_arrays(self.rankings_), **texts, "point": self._point}
        if self.adherence_ is not None:
            arrays["adherence"] = np.array(list(self.adherence_.values()))
        save_model(path, manifest, arrays)

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], arrays: Arrays) -> Self:
        """The fitted model that a model file holds."""
        with reading(cls.__name__), warnings.catch_warnings():
            warnings.simplefilter("ignore", LuceWarning)  # the fit has named what cannot be estimated
            model, rankings = cls(**to_value(arrays["parameters"])), rankings_of_arrays(arrays)
            setup = model._set_up(rankings, **to_value(arrays["used"]))
            point = finite("point", arrays, len(setup.posterior.initial_point()))
            prior = adherence_prior(model.adherence)
            if prior is not None:
                term = add_adherence(setup.posterior.likelihood, rankings, prior)
                term.adherence = finite("adherence", arrays, term.n_rankers)
            model._store(rankings, setup, point)
            model.convergence_ = convergence_of(manifest["convergence"])
            model.unused_ = unused_rankings(rankings, setup)
        return model

    @property
    def connectivity_(self) -> Connectivity:
        """Connectivity of the rankings: links by wins, and by ties where these are outcomes."""
        check_is_fitted(self)
        return self.rankings_.connectivity(ties=self.ties_ in TIE_MODELS)

    @property
    def aic_(self) -> float:
        """Akaike's information criterion: 2 · parameters − 2 · log-likelihood; for models without a prior."""
        return 2 * self.n_parameters_ - 2 * self.log_likelihood_

    @property
    def bic_(self) -> float:
        """Bayesian information criterion: log(number of rankings) · parameters − 2 · log-likelihood.

        Rankings that are not used, such as those with all items tied under ties="exact", are not counted.
        """
        return (float(np.log(self._n_used)) if self._n_used else np.nan) * self.n_parameters_ - 2 * self.log_likelihood_

    convergence_: Convergence
    unused_: dict[str, int]


def _watch(iteration: int, value: float, gradient: float) -> None:
    logger.info("iteration %d: log posterior %.10g, largest gradient %.2e", iteration, -value, gradient)


def unused_rankings(given: Rankings, setup: Setup) -> dict[str, int]:
    """How many rankings the fit does not use, by reason; with a warning of those that another model of ties would."""
    observed, exact = setup.posterior.likelihood.observed, setup.ties == "exact"
    if observed.n_rankings == len(given) and not (exact and observed.tied.any()):
        return dict(given.left_out)
    weighted = given.weights > 0
    all_tied = given.tied & (given.places[given.offsets[1:] - 1] == 0) & (given.pool < 0) & weighted & exact
    used = observed.ordered | (not exact)
    counts = dict(given.left_out) | {
        "all items tied (their order is unknown)": int(all_tied.sum()),
        "weight 0": int((~weighted).sum()),
        "fewer than two items that can be estimated": int((weighted & ~all_tied).sum() - used.sum()),
    }
    if all_tied.any():
        warn(
            f"All items are tied in {all_tied.sum():,} of {count(len(given), 'ranking')}, not used with ties='exact' "
            "(--ties exact); ties='davidson' (--ties davidson) counts them.",
        )
    return {reason: number for reason, number in counts.items() if number}


def warn_of_runaway_ties(names: Sequence[str], ties: Floats) -> None:
    """Warn of tie parameters without a finite estimate."""
    lost = [name for name, value in zip(names, ties.tolist(), strict=True) if value > RUNAWAY]
    if lost:
        warn(
            f"{listed(lost)} has no finite estimate: every possible tie of this size occurred. "
            "Its value is arbitrary; leave these ties out, or use ties='exact' (--ties exact).",
        )
