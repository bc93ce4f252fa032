"""The covariance of the estimates: observed and expected information, sandwich."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, block_diag, cho_factor
from scipy.linalg.lapack import dpotri

from luce.aggregation.adherence import adherence_of
from luce.aggregation.clusters import ClusterScores, Shortfall, cluster_scores, shortfall
from luce.aggregation.likelihood import Likelihood
from luce.aggregation.likelihood_terms import PairTerm
from luce.aggregation.posterior import Posterior
from luce.aggregation.prediction import simulate_rankings
from luce.arrays import Floats, Integers
from luce.errors import DataError, OptionError, warn
from luce.kernels.pair_counts import pair_log_probabilities
from luce.optimizers.newton import LARGEST_MATRIX

KINDS = ("observed", "expected", "sandwich")
DRAWS = 20
"""Data sets drawn for the expected information of ties in unknown order."""


class Covariance(NamedTuple):
    """matrix (n + T, n + T): of the log worths less their mean and the tie parameters; parameters: of all of them.

    ratio: the median of the robust standard errors relative to the model-based ones; 1 if they are model-based.
    """

    matrix: Floats
    parameters: Floats
    ratio: float = 1.0


def covariance(posterior: Posterior, point: Floats, kind: str, clusters: Integers | None) -> Covariance:
    """The covariance of the estimates.

    "observed": the inverse of the observed information; "expected": of its expectation given the sets that were chosen
    from, which is the same without ties and for Davidson's, and for ties in unknown order a mean over drawn rankings;
    "sandwich": robust, A⁻¹ B A⁻¹ with A the information and B the outer products of the scores of clusters, or of
    rankings; the variance of an item that few rankers compared is at least the model-based one, see `shortfall`.

    A normal prior counts as information, in A and in B: how far it moves the estimates is then part of the error.
    `PseudoRankings` do not, as in R: they keep estimates finite. With adherence the information is that of the worths
    when the adherence follows them, so that its uncertainty is included.
    """
    parametrization = posterior.parametrization
    if max(parametrization.n_parameters, parametrization.n_scores) > LARGEST_MATRIX:
        raise OptionError(
            f"A covariance matrix is computed for up to {LARGEST_MATRIX:,} items. Got {parametrization.n_items:,}: use "
            "standard_errors(), which needs no matrix then, or contrast(a, b)."
        )
    inverse = _inverse(expected_posterior(posterior, point) if kind == "expected" else posterior, point)
    matrix = _of_log_worths(posterior, point, inverse)
    if kind != "sandwich":
        return Covariance(matrix, inverse)
    gathered = scores_of_clusters(posterior, point, clusters)
    inverse = inverse @ _meat(posterior, point, gathered) @ inverse
    robust = _of_log_worths(posterior, point, inverse)
    n = parametrization.n_items
    added, ratio = missing_variances(posterior, np.diagonal(robust)[:n], np.diagonal(matrix)[:n], gathered)
    robust[np.arange(n), np.arange(n)] += added
    return Covariance(robust, inverse, ratio)


def _of_log_worths(posterior: Posterior, point: Floats, inverse: Floats) -> Floats:
    """The covariance of the log worths less their mean, and of the tie parameters, from that of all parameters."""
    parametrization = posterior.parametrization
    n, matrix = parametrization.n_items, inverse.copy()
    if not parametrization.free:
        jacobian = parametrization.jacobian(posterior.split(point)[0])
        if parametrization.pseudo_item:
            jacobian = jacobian[:, :-1]
        both = block_diag(jacobian, np.eye(posterior.likelihood.n_ties))
        matrix = both @ inverse @ both.T
    matrix[:n] -= matrix[:n].mean(axis=0)
    matrix[:, :n] -= matrix[:, :n].mean(axis=1, keepdims=True)
    return matrix


def _inverse(posterior: Posterior, point: Floats) -> Floats:
    """The inverse information of all parameters but the hypothetical item's.

    A shift of all log worths has no information; an arbitrary amount is added, which cancels in what is less the mean.
    """
    information = posterior.hessian(point, pseudo_item=False).matrix()
    kept = _without_pseudo_item(posterior)
    try:
        return _inverted(posterior, information[np.ix_(kept, kept)])
    except LinAlgError:
        if posterior.pseudo_item is None:
            raise _singular(posterior) from None
    warn(
        "The rankings alone do not link all items, so the pseudo-wins are counted in the standard errors.",
    )
    try:
        whole = _inverted(posterior, posterior.hessian(point).matrix())
    except LinAlgError:
        raise _singular(posterior) from None
    return whole[np.ix_(kept, kept)]


def _singular(posterior: Posterior) -> DataError:
    """The error where the information is singular, to double precision."""
    what = "There are no standard errors: the information is singular, in double precision. The weights of the rankings"
    if posterior.precision.any():
        return DataError(
            f"{what} are too far apart, or the sd of the prior is too large: NormalPrior(sd=3) is a wide one."
        )
    if posterior.pseudo_item is not None:
        return DataError(f"{what} are too far apart, or npseudo is too small: PseudoRankings(0.5) is the usual prior.")
    return DataError(f"{what} are too far apart to link all items, or every ranking is a tie, which says nothing.")


def _inverted(posterior: Posterior, information: Floats) -> Floats:
    size = len(information)
    shift = shift_of_worths(posterior, size)
    scale = float(np.mean(np.diagonal(information)))
    whole = information + scale * np.outer(shift, shift)
    root = np.sqrt(np.diagonal(whole))  # with 1 on the diagonal, the units of features do not matter
    if not (root > 0).all():
        raise LinAlgError("singular")
    factor = cho_factor(whole / np.outer(root, root), lower=True)[0]
    # A pivot of rounding errors only: a direction without information.
    if (np.diagonal(factor) ** 2).min() < 1e-11:
        raise LinAlgError("singular")
    lower = np.tril(dpotri(factor, lower=True)[0])
    return (lower + np.tril(lower, -1).T) / np.outer(root, root)


def shift_of_worths(posterior: Posterior, size: int) -> Floats:
    """The direction, of length 1, of which rankings say nothing: all log worths shifted; 0 where there is none.

    A prior of one standard deviation for all items does not link it with other directions.
    """
    n, shift = posterior.parametrization.n_effects, np.zeros(size)
    if n and np.ptp(posterior.precision[:n]) == 0:
        shift[:n] = 1 / np.sqrt(n)
    return shift


def _without_pseudo_item(posterior: Posterior) -> Integers:
    """The indices of all parameters but the hypothetical item's."""
    n_parameters = posterior.parametrization.n_parameters
    every = np.arange(n_parameters + posterior.likelihood.n_ties)
    return np.delete(every, n_parameters - 1) if posterior.parametrization.pseudo_item else every


def expected_posterior(posterior: Posterior, point: Floats) -> Posterior:
    """The posterior with the expected information in place of the observed one."""
    likelihood = posterior.likelihood
    scores, ties = posterior.scores_and_ties(point)
    term = adherence_of(likelihood)
    if term is None:
        return posterior.with_likelihood(_expected(likelihood, scores, ties))
    own = _expected(term.likelihood, term.own_scores(scores, ties).scores, ties)
    return posterior.with_likelihood(likelihood.with_terms([term.with_expected(own)]))


def _expected(likelihood: Likelihood, scores: Floats, ties: Floats) -> Likelihood:
    """The likelihood with the expected information, which is the observed one without ties and for Davidson's."""
    if likelihood.ties == "rao-kupper":
        return likelihood.with_terms([_expected_pairs(term, scores, ties) for term in likelihood.terms])
    return _mean_of_draws(likelihood, scores) if likelihood.ties == "exact" else likelihood


def _expected_pairs(term: PairTerm, scores: Floats, ties: Floats) -> PairTerm:
    counts = term.counts
    total = counts.wins + counts.losses + counts.ties
    logs = pair_log_probabilities(counts, scores, outcome=term.outcome, parameter=float(ties[0]))
    wins, losses, tied = (total * np.exp(log) for log in logs)
    return PairTerm(
        counts._replace(wins=wins, losses=losses, ties=tied), term.n_ties, term.n_jobs, term.outcome, term.tie
    )


def _mean_of_draws(likelihood: Likelihood, scores: Floats) -> Likelihood:
    terms: list[Any] = []
    for draw in range(DRAWS):
        drawn = simulate_rankings(likelihood, scores, np.zeros(0), np.random.default_rng(draw))
        terms += Likelihood(drawn.replace(weights=drawn.weights / DRAWS), "exact", likelihood.n_jobs).terms
    return likelihood.with_terms(terms)


def scores_of_clusters(posterior: Posterior, point: Floats, clusters: Integers | None) -> ClusterScores:
    """The scores of the rankers, or of the rankings, at a point of the posterior."""
    return cluster_scores(posterior.likelihood, *posterior.scores_and_ties(point), clusters)


def missing_variances(posterior: Posterior, robust: Floats, model_based: Floats, gathered: ClusterScores) -> Shortfall:
    """The `shortfall` of the variances of the log worths; features and teams share what rankers say of items."""
    every = np.full(len(robust), np.inf)
    return shortfall(robust, model_based, gathered.rankers if posterior.parametrization.free else every)


def _meat(posterior: Posterior, point: Floats, gathered: ClusterScores) -> Floats:
    """Σ over clusters of the outer product of their scores, in the parameters, times G / (G − 1), and the prior's."""
    n_ties = posterior.likelihood.n_ties
    outer = np.asarray((gathered.scores.T @ gathered.scores).todense()) * gathered.factor
    kept = _without_pseudo_item(posterior)
    if not posterior.parametrization.free:
        to_all = block_diag(posterior.score_jacobian(point), np.eye(n_ties))
        outer = (to_all.T @ outer @ to_all)[np.ix_(kept, kept)]
    outer[np.diag_indices(len(outer))] += np.append(posterior.precision, np.zeros(n_ties))[kept]
    return outer
