"""Rankers who keep to the common order more or less closely: the adherence of each multiplies the log worths.

With η_g the adherence of ranker g, the scores of g's rankings are η_g · log worth (Raman and Joachims, 2014). The data
alone would make η_g infinite or zero for a ranker who always or never agrees, so a gamma prior holds it near 1.
"""

from typing import Any, NamedTuple

import numpy as np

from luce.aggregation.likelihood import Likelihood
from luce.aggregation.observed import by_item
from luce.aggregation.posterior import Posterior
from luce.aggregation.priors import GammaPrior
from luce.aggregation.tie_terms import DavidsonTerm, PartitionTerm, log_deltas
from luce.arrays import Floats, Integers, list_of_row
from luce.errors import OptionError
from luce.kernels.davidson_ties import davidson_product
from luce.kernels.partition_curvature import partition_product
from luce.optimizers.newton import Convergence

ROUNDS = 500
"""Rounds of worths and adherence in turn, at most."""


class AdherenceFit(NamedTuple):
    """Worth and tie parameters, the adherence of each ranker, and how the search ended."""

    point: Floats
    adherence: Floats
    convergence: Convergence


def maximize_with_adherence(
    posterior: Posterior, rankers: Integers, n_rankers: int, prior: GammaPrior, start: Floats, **settings: Any
) -> AdherenceFit:
    """The most likely worths and adherence, each found in turn with the other held, until neither moves.

    rankers (Q,): who made each of the observed rankings. The terms of the posterior's likelihood are replaced by one
    with adherence.
    """
    likelihood = posterior.likelihood
    if likelihood.ties in ("rao-kupper", "half-wins"):
        raise OptionError(f"adherence goes with ties='exact', 'davidson' or None, not with {likelihood.ties!r}.")
    adherence, point = np.ones(n_rankers), start
    iterations = 0
    for _ in range(ROUNDS):
        likelihood.terms = [_term(likelihood, adherence[rankers])]
        point, end = posterior.maximize(point, **settings)
        iterations += end.iterations
        scores = posterior.parametrization.scores(posterior.split(point)[0])[: likelihood.n_items]
        ties = posterior.split(point)[1]
        new = _update_adherence(likelihood, rankers, adherence, prior, scores, ties)
        moved, adherence = float(np.abs(new - adherence).max()), new
        if moved < 1e-10:
            break
    return AdherenceFit(
        point, adherence, Convergence(end.converged and moved < 1e-6, end.gradient, end.tol, iterations)
    )


def _term(likelihood: Likelihood, adherence: Floats) -> PartitionTerm | DavidsonTerm:
    seen = likelihood.observed.expand_pools()
    if likelihood.ties == "davidson":
        return DavidsonTerm(seen, likelihood.orders, likelihood.n_jobs, adherence)
    return PartitionTerm(seen, likelihood.n_ties, likelihood.n_jobs, adherence)


def _update_adherence(
    likelihood: Likelihood, rankers: Integers, adherence: Floats, prior: GammaPrior, scores: Floats, ties: Floats
) -> Floats:
    """The most likely adherence of each ranker for given worths: Newton steps on a concave function of one number."""
    current = adherence.copy()
    n = len(current)
    for _ in range(50):
        term = _term(likelihood, current[rankers])
        first, second = _derivatives(term, scores, ties)
        gradient = np.bincount(rankers, term.weights * first, minlength=n) + (prior.shape - 1) / current - prior.rate
        information = np.bincount(rankers, second, minlength=n) + (prior.shape - 1) / current**2
        step = gradient / np.maximum(information, 1e-12)
        current = np.where(current + step > 0, current + step, 0.5 * current)
        if np.abs(step).max() < 1e-12:
            break
    return current


def _derivatives(term: PartitionTerm | DavidsonTerm, scores: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """The derivative of each ranking's log P in its adherence, and minus the weighted second derivative."""
    offsets = term.observed.offsets
    along = scores[term.items]
    rows = term.log_probabilities(scores, ties)[1]
    if isinstance(term, DavidsonTerm):
        no_ties = np.zeros(term.n_ties + 1)
        given = term.rankings, term.weights, term.row_adherence * along, log_deltas(ties), along, no_ties
        products = davidson_product(*given, n_jobs=term.n_jobs)[0]
    else:
        products = partition_product(
            term.row_adherence * along, term.places, offsets, term.weights, along, n_jobs=term.n_jobs
        )
    q, n = list_of_row(offsets), len(offsets) - 1
    return by_item(q, rows * along, n), by_item(q, products * along, n)
