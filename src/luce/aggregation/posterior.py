"""The posterior that a fit maximizes, built from the parameters of the estimator and the rankings."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.aggregation.connectivity import estimable_items
from luce.aggregation.likelihood import TIE_MODELS, TIES, Likelihood, check_ties, tie_model
from luce.aggregation.likelihood_terms import PairTerm, pseudo_item_counts
from luce.aggregation.observed import observe
from luce.aggregation.parameters import (
    LinearParametrization,
    TeamParametrization,
    centered_features,
    check_members,
    team_members,
)
from luce.aggregation.priors import ESTIMATE, PRIORS, NormalPrior, PseudoRankings
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats
from luce.errors import DataError, OptionError
from luce.optimizers.minorize_maximize import scale_worths
from luce.optimizers.newton import LARGEST_MATRIX, Convergence, Watcher, minimize

FEW = 250
"""Parameters up to which Newton's method is direct from the start; with ties, whose products cost more, MODERATE."""

MODERATE = 2_000

WARM_UP = 3
"""Steps of the MM algorithm before Newton's method."""


class Posterior:
    """−(log-likelihood + log prior) of worth parameters and then tie parameters, to be minimized.

    pseudo_item: the comparisons with the hypothetical item, or None. mean, precision: of the normal prior, 0 where
    there is none, over the worth parameters.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        parametrization: LinearParametrization | TeamParametrization,
        pseudo_item: PairTerm | None,
        mean: Floats,
        precision: Floats,
    ):
        self.likelihood, self.parametrization, self.pseudo_item = likelihood, parametrization, pseudo_item
        self.mean, self.precision = mean, precision

    @property
    def terms(self) -> list[Any]:
        """Those of the likelihood, and the comparisons with the hypothetical item."""
        return [*self.likelihood.terms, *([] if self.pseudo_item is None else [self.pseudo_item])]

    def with_likelihood(self, likelihood: Likelihood) -> "Posterior":
        """The same parameters and prior with another likelihood."""
        return Posterior(likelihood, self.parametrization, self.pseudo_item, self.mean, self.precision)

    def with_sd(self, sd: float) -> "Posterior":
        """The same with a normal prior of this standard deviation."""
        precision = np.where(self.precision > 0, 1 / sd**2, 0.0)
        return Posterior(self.likelihood, self.parametrization, self.pseudo_item, self.mean, precision)

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        """The worth parameters and the tie parameters."""
        return point[: self.parametrization.n_parameters], point[self.parametrization.n_parameters :]

    def scores_and_ties(self, point: Floats) -> tuple[Floats, Floats]:
        """The scores of the items of the rankings, and the tie parameters."""
        parameters, ties = self.split(point)
        return self.parametrization.scores(parameters)[: self.likelihood.n_items], ties

    def score_jacobian(self, point: Floats) -> Floats:
        """∂ score of each item of the rankings / ∂ worth parameters (n_items, parameters)."""
        return self.parametrization.score_jacobian(self.split(point)[0])[: self.likelihood.n_items]

    def _scores_for(self, term: Any, scores: Floats) -> Floats:
        """The scores that a term is a function of: the likelihood has no hypothetical item."""
        return scores if term is self.pseudo_item else scores[: self.likelihood.n_items]

    def value_and_gradient(self, point: Floats) -> tuple[float, Floats]:
        """What is minimized, and its gradient."""
        parameters, ties = self.split(point)
        scores = self.parametrization.scores(parameters)
        away = parameters - self.mean
        value = -0.5 * float(self.precision @ away**2)
        gradient, tie_gradient = np.zeros(len(scores)), np.zeros(len(ties))
        for term in self.terms:
            own = term.value_and_gradient(self._scores_for(term, scores), ties)
            value, tie_gradient = value + own[0], tie_gradient + own[2]
            gradient[: len(own[1])] += own[1]
        pulled = self.parametrization.jacobian_transpose_product(parameters, gradient) - self.precision * away
        return -value, -np.concatenate([pulled, tie_gradient])

    def hessian(self, point: Floats, *, pseudo_item: bool = True) -> "PosteriorHessian":
        """The second derivative; without the comparisons with the hypothetical item, if not wanted."""
        return PosteriorHessian(self, point, pseudo_item)

    def initial_point(self, log_worths: Floats | None = None) -> Floats:
        """Equal worths, or those given, and the tie parameters that fit equal worths."""
        parameters = np.zeros(self.parametrization.n_parameters)
        if log_worths is not None and self.parametrization.free:
            parameters[: len(log_worths)] = log_worths
        return np.concatenate([parameters, self.likelihood.initial_tie_parameters()])

    def warm_up(self, point: Floats) -> Floats:
        """The point after a few steps of the MM algorithm, where it applies."""
        if not (self.parametrization.free and all(getattr(term, "wins", None) is not None for term in self.terms)):
            return point
        ties = self.split(point)[1]
        wins = np.zeros(self.parametrization.n_parameters)
        for term in self.terms:
            wins[: len(term.wins)] += term.wins

        def expected(scores: Floats) -> Floats:
            result = wins.copy()
            for term in self.terms:
                result[: len(term.wins)] -= term.value_and_gradient(self._scores_for(term, scores), ties)[1]
            return result

        scores = scale_worths(expected, wins, self.split(point)[0], steps=WARM_UP)
        warm = np.concatenate([scores - scores.mean(), ties])
        return warm if np.isfinite(warm).all() else point

    def maximize(
        self, start: Floats, *, tol: float, max_iter: int, watch: Watcher | None = None
    ) -> tuple[Floats, Convergence]:
        """The most likely point, by Newton's method."""
        return minimize(
            self.value_and_gradient,
            self.hessian,
            start,
            tol=tol,
            max_iter=max_iter,
            direct=self.is_direct(len(start)),
            watch=watch,
        )

    def is_direct(self, size: int) -> bool:
        """Whether Newton's method is direct from the start, for so many parameters."""
        few = size <= (MODERATE if any(term.costly for term in self.terms) else FEW)
        return few or (not self.parametrization.free and self.parametrization.n_scores <= LARGEST_MATRIX >= size)


class PosteriorHessian:
    """The second derivative of a Posterior at a point."""

    def __init__(self, posterior: Posterior, point: Floats, pseudo_item: bool):
        self.posterior, self.parametrization = posterior, posterior.parametrization
        self.parameters, ties = posterior.split(point)
        self.n_ties = len(ties)
        self.scores = self.parametrization.scores(self.parameters)
        self.precision = posterior.precision
        terms = posterior.terms if pseudo_item else posterior.likelihood.terms
        arguments = [posterior._scores_for(term, self.scores) for term in terms]
        pairs = list(zip(terms, arguments, strict=True))
        self.information = [(len(own), term.information(own, ties)) for term, own in pairs]
        self.gradient = np.zeros(len(self.scores))
        if not isinstance(self.parametrization, LinearParametrization):
            for term, own in pairs:
                self.gradient[: len(own)] += term.value_and_gradient(own, ties)[1]

    def product(self, direction: Floats) -> Floats:
        along, tie_along = self.posterior.split(direction)
        moved = self.parametrization.jacobian_product(self.parameters, along)
        total, tie_total = np.zeros(len(moved)), np.zeros(self.n_ties)
        for n_items, information in self.information:
            own, tie_own = information.product(moved[:n_items], tie_along)
            total[:n_items] += own
            tie_total += tie_own
        result = self.parametrization.jacobian_transpose_product(self.parameters, total) + self.precision * along
        result = result - self.parametrization.hessian_product(self.parameters, self.gradient, along)
        return np.concatenate([result, tie_total])

    def diagonal(self) -> Floats:
        total, ties = np.zeros(len(self.scores)), np.zeros(self.n_ties)
        for n_items, information in self.information:
            own = information.diagonal()
            total[:n_items] += own[:n_items]
            ties += own[n_items:]
        return np.concatenate([self.parametrization.diagonal(self.parameters, total) + self.precision, ties])

    def matrix(self) -> Floats:
        n, size = len(self.scores), len(self.scores) + self.n_ties
        if n > LARGEST_MATRIX:
            return np.stack([self.product(unit) for unit in np.eye(len(self.parameters) + self.n_ties)], axis=1)
        total = np.zeros((size, size))
        for n_items, information in self.information:
            own = np.concatenate([np.arange(n_items), np.arange(n, size)])
            total[np.ix_(own, own)] += information.matrix()
        inner = self.parametrization.matrix(self.parameters, total[:n, :n], self.gradient)
        inner[np.diag_indices(len(inner))] += self.precision
        if not self.n_ties:
            return inner
        transposed = [self.parametrization.jacobian_transpose_product(self.parameters, x) for x in total[:n, n:].T]
        edge = np.stack(transposed, axis=1)
        return np.block([[inner, edge], [edge.T, total[n:, n:]]])


class Setup(NamedTuple):
    """The posterior to maximize, and the names of its parameters.

    ties, prior: as used, where "auto" was asked for; names: the items whose worths are estimated, or the members of
    teams; estimable: which of all names they are; not_estimable: why the others are not, by name; feature_names: of the
    features, if any.
    """

    posterior: Posterior
    ties: str | None
    prior: NormalPrior | PseudoRankings | None
    names: tuple[Hashable, ...]
    estimable: NDArray[np.bool_]
    not_estimable: dict[Hashable, str]
    feature_names: list[str]


def set_up(rankings: Rankings, *, ties: str | None, prior: Any, features: Any, teams: Any, n_jobs: int | None) -> Setup:
    """Check the parameters of the estimator against the rankings and build the posterior."""
    _check_settings(ties, prior, features, teams)
    if not (rankings.weights > 0).any():
        raise DataError(f"There is nothing to learn from in {rankings!r}: no ranking has a weight above 0.")
    observed = observe(rankings)
    ties = tie_model(ties, observed)
    check_ties(observed, ties)
    if prior == "auto":
        connected = rankings.connectivity(ties=ties in TIE_MODELS).is_connected
        prior = None if connected else NormalPrior(sd=ESTIMATE)
    keep = np.ones(rankings.n_items, bool)
    reasons: dict[Hashable, str] = {}
    if prior is None and features is None and teams is None:
        keep, reasons = estimable_items(rankings, ties in TIE_MODELS)
        observed = observed if keep.all() else observe(rankings, keep)
    likelihood = Likelihood(observed, ties, n_jobs)
    names = tuple(rankings.names) if all(keep) else tuple(np.array(rankings.names, dtype=object)[keep])
    if teams is not None:
        members, sets = team_members(teams, rankings.names)
        check_members(sets, members, observed, prior)
        parametrization: Any = TeamParametrization(sets, len(members), isinstance(prior, PseudoRankings))
        posterior = _posterior_of(likelihood, parametrization, prior, members)
        return Setup(posterior, ties, prior, members, np.ones(len(members), bool), {}, [])
    table, feature_names = (None, []) if features is None else centered_features(features, names)
    effects = features is None or isinstance(prior, NormalPrior)
    parametrization = LinearParametrization(len(names), table, effects, isinstance(prior, PseudoRankings))
    posterior = _posterior_of(likelihood, parametrization, prior, names)
    return Setup(posterior, ties, prior, names, keep, reasons, feature_names)


def _check_settings(ties: Any, prior: Any, features: Any, teams: Any) -> None:
    """Refuse parameters that fit no data."""
    if ties not in TIES:
        raise OptionError(f"ties must be one of {', '.join(map(repr, TIES))}. Got {ties!r}.")
    if not (prior is None or isinstance(prior, (NormalPrior, PseudoRankings)) or prior == "auto"):
        raise OptionError(f"prior must be None, 'auto', {PRIORS}. Got {prior!r}.")
    if teams is not None and features is not None:
        raise OptionError("features and teams cannot be combined: give one of them.")
    if prior == "auto" and not (teams is None and features is None):
        raise OptionError(
            "prior='auto' goes without features and teams. With them give prior=None, or "
            "prior=luce.aggregation.NormalPrior(sd='estimate'), which adds an effect of each item to its features."
        )


def _posterior_of(likelihood: Likelihood, parametrization: Any, prior: Any, names: tuple[Hashable, ...]) -> Posterior:
    mean, precision = np.zeros(parametrization.n_parameters), np.zeros(parametrization.n_parameters)
    pseudo_item = None
    if isinstance(prior, NormalPrior):
        center, sd = (replace(prior, sd=1.0) if prior.is_estimated else prior).values(names)
        mean[: len(names)], precision[: len(names)] = center, 1 / sd**2
    if isinstance(prior, PseudoRankings):
        before = parametrization.n_scores - len(names) - 1
        pseudo_item = likelihood.pair_term(pseudo_item_counts(before, len(names), prior.npseudo))
    return Posterior(likelihood, parametrization, pseudo_item, mean, precision)
