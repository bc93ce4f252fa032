"""Rankers who keep to the common order more or less closely: the adherence of each multiplies the log worths.

With η_g the adherence of ranker g, the scores of g's rankings are η_g · log worth (Raman and Joachims, 2014). The data
alone would make η_g infinite or zero for a ranker who always or never agrees, so a gamma prior holds it near 1.

Each item that a ranker has ranked is an item of its own here, with a score of its own, so that the terms of the
likelihood are those without adherence. Newton's method finds worths and adherence at once: the second derivative in the
adherence is diagonal, so that it is eliminated and what is solved is no larger than without it.
"""

from collections.abc import Hashable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from luce.aggregation.likelihood import Likelihood, ranking_scores
from luce.aggregation.likelihood_terms import LastCallCache
from luce.aggregation.observed import by_item
from luce.aggregation.own_items import outer_sums, own_items
from luce.aggregation.posterior import Posterior
from luce.aggregation.priors import GammaPrior
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats, Integers
from luce.errors import OptionError
from luce.optimizers.newton import Convergence, minimize

FIRST_STEPS = 2
"""Newton steps for the adherence alone, at the worths without it: then far fewer are needed for both."""


def adherence_prior(given: GammaPrior | bool | None) -> GammaPrior | None:
    """The prior that the parameter `adherence` of an estimator asks for."""
    if given is None or given is False:
        return None
    prior = GammaPrior() if given is True else given
    if not isinstance(prior, GammaPrior):
        raise OptionError(f"adherence must be None, True or luce.aggregation.GammaPrior(shape, rate). Got {given!r}.")
    return prior


def ranker_names(rankings: Rankings) -> Sequence[Hashable]:
    """The names of the rankers; without rankers each ranking has its own, by its number."""
    return range(len(rankings)) if rankings.rankers is None else rankings.ranker_names


def add_adherence(likelihood: Likelihood, rankings: Rankings, prior: GammaPrior) -> "AdherenceTerm":
    """Replace the terms of the likelihood of these rankings by one with adherence."""
    rankers = np.arange(len(rankings)) if rankings.rankers is None else rankings.rankers
    n_rankers = len(ranker_names(rankings))
    term = AdherenceTerm(likelihood, rankers[likelihood.observed.indices], n_rankers, prior)
    likelihood.terms = [term]
    return term


def adherence_of(likelihood: Likelihood) -> "AdherenceTerm | None":
    """The term of a likelihood with adherence."""
    return next((term for term in likelihood.terms if isinstance(term, AdherenceTerm)), None)


class OwnScores(NamedTuple):
    """The scores of the rankers' items and what follows from them.

    scores (N,): scale · along, the adherence of the ranker times the score of the item; gradient (N,) and tie_gradient
    (T,): of the log-likelihood, in these; adherence_gradient (G,): of the log posterior, in the adherence.
    """

    scores: Floats
    scale: Floats
    along: Floats
    log_likelihood: float
    gradient: Floats
    tie_gradient: Floats
    adherence_gradient: Floats


class AdherenceTerm:
    """The log-likelihood of the rankings and the log prior of the adherence, which it holds.

    rankers (Q,): who made each of the likelihood's rankings; adherence (G,): 1 until it is found. Its information is
    what is left for the scores when the adherence follows them: the Schur complement; with `expected`, a likelihood
    with the expected information of the rankers' scores, it is the expected one.
    """

    expected: Likelihood | None = None

    def __init__(self, likelihood: Likelihood, rankers: Integers, n_rankers: int, prior: GammaPrior):
        self.own = own_items(likelihood.observed, rankers, n_rankers)
        self.likelihood = likelihood.for_rankings(self.own.observed, likelihood.ties)
        self.costly = any(term.costly for term in self.likelihood.terms)
        self.n_items, self.n_rankers, self.prior = likelihood.n_items, n_rankers, prior
        self.adherence = np.ones(n_rankers)
        self._own_scores = LastCallCache(self._evaluate)

    def own_scores(self, scores: Floats, ties: Floats) -> OwnScores:
        """What follows from the scores of the items for those of the rankers, at the adherence."""
        found: OwnScores = self._own_scores(scores, ties, self.adherence)
        return found

    def _evaluate(self, scores: Floats, ties: Floats, adherence: Floats) -> OwnScores:
        scale, along = adherence[self.own.rankers], scores[self.own.items]
        value, gradient, tie_gradient = self.likelihood.value_and_gradient(scale * along, ties)
        adherence_gradient = self.by_ranker(along * gradient) + (self.prior.shape - 1) / adherence - self.prior.rate
        return OwnScores(scale * along, scale, along, value, gradient, tie_gradient, adherence_gradient)

    def by_item(self, values: Floats) -> Floats:
        """Sums of values of the rankers' items (n_items,)."""
        return by_item(self.own.items, values, self.n_items)

    def by_ranker(self, values: Floats) -> Floats:
        """Sums of values of the rankers' items (G,)."""
        return by_item(self.own.rankers, values, self.n_rankers)

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The value and its gradient in the scores and in the tie parameters."""
        here = self.own_scores(scores, ties)
        prior = (self.prior.shape - 1) * np.log(self.adherence) - self.prior.rate * self.adherence
        return here.log_likelihood + float(prior.sum()), self.by_item(here.scale * here.gradient), here.tie_gradient

    def information(self, scores: Floats, ties: Floats) -> "AdherenceInformation":
        """Minus the second derivative."""
        return AdherenceInformation(self, scores, ties)

    def with_expected(self, likelihood: Likelihood) -> "AdherenceTerm":
        """The same with expected information."""
        other = copy(self)
        other.expected = likelihood
        return other

    def ranking_scores(self, scores: Floats, ties: Floats) -> sparse.csr_array:
        """The gradient of log P of each ranking, the adherence following the scores (Q, n_items + T), sparse."""
        information = self.information(scores, ties)
        here, rankers = information.here, self.own.rankers
        each = ranking_scores(self.likelihood, here.scores, ties)
        size = len(rankers)

        def spread(values: Floats, columns: Integers, count: int) -> sparse.csr_array:
            return sparse.csr_array((values, columns, np.arange(size + 1)), shape=(size, count))

        fixed = sparse.hstack([each[:, :size] @ spread(here.scale, self.own.items, self.n_items), each[:, size:]])
        of_adherence = each[:, :size] @ spread(here.along / information.curvature[rankers], rankers, self.n_rankers)
        cross = spread(information.cross, self.own.items, self.n_items)
        by_ranker = spread(np.ones(size), rankers, self.n_rankers)
        border = sparse.hstack([by_ranker.T @ cross, sparse.csr_array(information.tie_cross.T)])
        return (fixed - of_adherence @ border).tocsr()


class AdherenceInformation:
    """Minus the second derivative of an AdherenceTerm at some scores.

    curvature (G,): that in the adherence, larger where it would let the adherence change by more than half; cross (N,):
    that in the adherence and in the score of each of the ranker's items.
    """

    def __init__(self, term: AdherenceTerm, scores: Floats, ties: Floats):
        self.term, self.n_ties = term, len(ties)
        self.here = here = term.own_scores(scores, ties)
        terms = (term.expected or term.likelihood).terms
        self.parts = [part.information(here.scores, ties) for part in terms]
        turned = _product(self.parts, here.along, np.zeros(self.n_ties))[0]
        curvature = term.by_ranker(here.along * turned) + (term.prior.shape - 1) / term.adherence**2
        self.curvature = np.maximum(curvature, 2 * np.abs(here.adherence_gradient) / term.adherence)
        self.cross = here.scale * turned - (here.gradient if term.expected is None else 0.0)

    @cached_property
    def tie_columns(self) -> list[tuple[Floats, Floats]]:
        """The second derivative in each tie parameter and in the rankers' scores (N,), and all tie parameters (T,)."""
        return [_product(self.parts, np.zeros(len(self.cross)), unit) for unit in np.eye(self.n_ties)]

    @cached_property
    def tie_cross(self) -> Floats:
        """That in each tie parameter and the adherence (T, G)."""
        rows = [self.term.by_ranker(self.here.along * column) for column, _ in self.tie_columns]
        return np.reshape(rows, (self.n_ties, self.term.n_rankers))

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        scale = self.here.scale
        own, tie_own = _product(self.parts, scale * direction[self.term.own.items], tie_direction)
        followed, tie_followed = self.of_adherence(self.to_adherence(direction, tie_direction) / self.curvature)
        return self.term.by_item(scale * own) - followed, tie_own - tie_followed

    def to_adherence(self, direction: Floats, tie_direction: Floats) -> Floats:
        """The second derivative in the adherence and in scores and tie parameters, times a direction of these (G,)."""
        return self.term.by_ranker(self.cross * direction[self.term.own.items]) + tie_direction @ self.tie_cross

    def of_adherence(self, direction: Floats) -> tuple[Floats, Floats]:
        """The same the other way: times a direction of the adherence, in the scores and in the tie parameters."""
        return self.term.by_item(self.cross * direction[self.term.own.rankers]), self.tie_cross @ direction

    def diagonal(self) -> Floats:
        """A bound from above: the diagonal for a fixed adherence."""
        size = len(self.cross)
        total = np.sum([part.diagonal() for part in self.parts], axis=0)
        return np.concatenate([self.term.by_item(self.here.scale**2 * total[:size]), total[size:]])

    def matrix(self) -> Floats:
        term, n = self.term, self.term.n_items
        inner = -outer_sums(term.own, self.cross, 1 / self.curvature, n, term.likelihood.n_jobs)
        for part in self.parts:
            inner += part.gathered(term.own.items, self.here.scale, n)
        matrix = np.pad(inner, (0, self.n_ties))
        for number, (column, corner) in enumerate(self.tie_columns):
            followed, tie_followed = self.of_adherence(self.tie_cross[number] / self.curvature)
            matrix[:n, n + number] = matrix[n + number, :n] = term.by_item(self.here.scale * column) - followed
            matrix[n:, n + number] = corner - tie_followed
        return matrix


def _product(parts: list[Any], direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
    """The sum of the products of the parts of an information with a direction."""
    total, tie_total = np.zeros(len(direction)), np.zeros(len(tie_direction))
    for part in parts:
        own, tie_own = part.product(direction, tie_direction)
        total, tie_total = total + own, tie_total + tie_own
    return total, tie_total


class JointHessian:
    """The second derivative of a posterior in worths, ties and then the adherence, the last being eliminated."""

    def __init__(self, posterior: Posterior, point: Floats):
        self.inner = posterior.hessian(point)
        self.posterior, self.size = posterior, len(point)
        self.of_term: AdherenceInformation = self.inner.information[0][1]

    def reduced(self, gradient: Floats) -> Floats:
        """The gradient for the Newton step of the others, once the adherence follows them."""
        scores, ties = self.of_term.of_adherence(gradient[self.size :] / self.of_term.curvature)
        padded = np.zeros(len(self.inner.scores))
        padded[: len(scores)] = scores
        parametrization, parameters = self.inner.parametrization, self.inner.parameters
        pulled = parametrization.jacobian_transpose_product(parameters, padded)
        return gradient[: self.size] - np.concatenate([pulled, ties])

    def whole_step(self, step: Floats, gradient: Floats) -> Floats:
        """The step of all parameters from that of the others."""
        along, ties = self.posterior.split(step)
        scores = self.inner.parametrization.jacobian_product(self.inner.parameters, along)[: self.of_term.term.n_items]
        follow = gradient[self.size :] + self.of_term.to_adherence(scores, ties)
        return np.concatenate([step, -follow / self.of_term.curvature])


def maximize_with_adherence(posterior: Posterior, start: Floats, **settings: Any) -> tuple[Floats, Convergence]:
    """The most likely worths and tie parameters; the likelihood's term with adherence gets the most likely one."""
    term, size = cast(AdherenceTerm, adherence_of(posterior.likelihood)), len(start)

    def function(both: Floats) -> tuple[float, Floats]:
        if not (both[size:] > 0).all():
            return np.inf, np.zeros(len(both))
        term.adherence = both[size:]
        value, gradient = posterior.value_and_gradient(both[:size])
        here = term.own_scores(*posterior.scores_and_ties(both[:size]))
        return value, np.concatenate([gradient, -here.adherence_gradient])

    def hessian(both: Floats) -> JointHessian:
        term.adherence = both[size:]
        return JointHessian(posterior, both[:size])

    for _ in range(FIRST_STEPS):
        information = term.information(*posterior.scores_and_ties(start))
        term.adherence = term.adherence + information.here.adherence_gradient / information.curvature
    begin = np.concatenate([start, term.adherence])
    both, end = minimize(function, hessian, begin, direct=posterior.is_direct(size), **settings)
    term.adherence = both[size:]
    return both[:size], end
