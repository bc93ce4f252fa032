"""The covariance of the estimates: observed and expected information, sandwich, and both without a matrix."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, block_diag, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from luce.aggregation.likelihood import Likelihood, ranking_scores
from luce.aggregation.likelihood_terms import PairTerm
from luce.aggregation.parameters import LinearParametrization
from luce.aggregation.posterior import Posterior
from luce.aggregation.prediction import simulate_rankings
from luce.arrays import Floats, Integers
from luce.errors import DataError, LuceWarning, OptionError
from luce.kernels.pair_counts import pair_log_probabilities
from luce.optimizers.newton import LARGEST_MATRIX

KINDS = ("observed", "expected", "sandwich")
DRAWS = 20
"""Data sets drawn for the expected information of ties in unknown order."""

PROBES = 64
"""Vectors of random signs; the errors of the standard errors fall with the square root of it."""


class Covariance(NamedTuple):
    """matrix (n + T, n + T): of the log worths less their mean and the tie parameters; parameters: of all of them."""

    matrix: Floats
    parameters: Floats


def covariance(posterior: Posterior, point: Floats, kind: str, clusters: Integers | None) -> Covariance:
    """The covariance of the estimates.

    "observed": the inverse of the observed information; "expected": of its expectation given the sets that were chosen
    from, which is the same without ties and for Davidson's, and for ties in unknown order a mean over drawn rankings;
    "sandwich": robust, A⁻¹ B A⁻¹ with A the information and B the outer products of the scores of clusters, or of
    rankings.

    A normal prior counts as information. `PseudoRankings` do not, as in R: they keep estimates finite.
    """
    if kind not in KINDS:
        raise OptionError(f"The kind of standard error must be one of {', '.join(KINDS)}. Got {kind!r}.")
    parametrization, n_ties = posterior.parametrization, posterior.likelihood.n_ties
    if max(parametrization.n_parameters, parametrization.n_scores) > LARGEST_MATRIX:
        raise OptionError(
            f"A covariance matrix is computed for up to {LARGEST_MATRIX:,} items. Got {parametrization.n_items:,}: use "
            "standard_errors(), which needs no matrix then, or contrast(a, b)."
        )
    expected = expected_likelihood(posterior, point) if kind == "expected" else None
    inverse = _inverse(posterior, point, expected)
    if kind == "sandwich":
        inverse = inverse @ _meat(posterior, point, clusters) @ inverse
    parameters = parametrization.n_parameters - parametrization.pseudo_item
    jacobian = parametrization.jacobian(posterior.split(point)[0])[:, :parameters]
    centered = jacobian - jacobian.mean(axis=0)
    both = block_diag(centered, np.eye(n_ties))
    return Covariance(both @ inverse @ both.T, inverse)


def _inverse(posterior: Posterior, point: Floats, expected: Likelihood | None) -> Floats:
    """The inverse information of all parameters but the hypothetical item's.

    Along a shift of all log worths there is no information; there it is made up, and what is asked of it is free of it.
    """
    counted = posterior if expected is None else posterior.with_likelihood(expected)
    information = counted.hessian(point, pseudo_item=False).matrix()
    kept = _without_pseudo_item(posterior)
    try:
        return _inverted(posterior, information[np.ix_(kept, kept)])
    except LinAlgError:
        if posterior.pseudo_item is None:
            raise _singular(posterior) from None
    warnings.warn(
        "The rankings alone do not link all items, so the pseudo-wins are counted in the standard errors.",
        LuceWarning,
        stacklevel=2,
    )
    try:
        whole = _inverted(posterior, counted.hessian(point).matrix())
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
    return DataError(f"{what} are too far apart to link all items.")


def _inverted(posterior: Posterior, information: Floats) -> Floats:
    size = len(information)
    shift = shift_of_worths(posterior, size)
    scale = float(np.mean(np.diagonal(information)))
    whole = information + scale * np.outer(shift, shift)
    root = np.sqrt(np.diagonal(whole))  # with 1 on the diagonal, the units of features do not matter
    if not (root > 0).all():
        raise LinAlgError("singular")
    factor = cho_factor(whole / np.outer(root, root), lower=True)
    # A pivot of rounding errors only: a direction without information.
    if (np.diagonal(factor[0]) ** 2).min() < 1e-11:
        raise LinAlgError("singular")
    return cho_solve(factor, np.eye(size)) / np.outer(root, root)


def shift_of_worths(posterior: Posterior, size: int) -> Floats:
    """The direction, of length 1, in which nothing changes: all log worths shifted; 0 where there is none."""
    parametrization = posterior.parametrization
    shift = np.zeros(size)
    if posterior.precision.any() or (isinstance(parametrization, LinearParametrization) and not parametrization.free):
        return shift
    count = size - posterior.likelihood.n_ties
    shift[:count] = 1 / np.sqrt(count)
    return shift


def _without_pseudo_item(posterior: Posterior) -> Integers:
    """The indices of all parameters but the hypothetical item's."""
    n_parameters = posterior.parametrization.n_parameters
    every = np.arange(n_parameters + posterior.likelihood.n_ties)
    return np.delete(every, n_parameters - 1) if posterior.parametrization.pseudo_item else every


def expected_likelihood(posterior: Posterior, point: Floats) -> Likelihood | None:
    """A likelihood whose information is the expected one; None where that is the observed one."""
    likelihood = posterior.likelihood
    parameters, ties = posterior.split(point)
    scores = posterior.parametrization.scores(parameters)[: likelihood.n_items]
    if likelihood.ties == "rao-kupper":
        return likelihood.with_terms([_expected_pairs(term, scores, ties) for term in likelihood.terms])
    if likelihood.ties == "exact":
        if getattr(likelihood.terms[0], "adherence", None) is not None:
            raise OptionError(
                "With adherence and ties of unknown order, expected standard errors are not available: use "
                "kind='observed'."
            )
        return _mean_of_draws(likelihood, scores)
    return None


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


def _cluster_scores(
    likelihood: Likelihood, scores: Floats, ties: Floats, clusters: Integers | None
) -> tuple[sparse.csr_array, float]:
    """The score of each cluster (G, n_items + T), or of each ranking without clusters, and how many there are."""
    each = ranking_scores(likelihood, scores, ties)
    weights = likelihood.observed.weights
    if clusters is None:
        # Weights are repetitions: w equal rankings, each on its own.
        gathered, count = sparse.diags_array(np.sqrt(weights)) @ each, float(weights.sum())
    else:
        own = np.unique(clusters[likelihood.observed.indices], return_inverse=True)[1]
        shape = int(own.max()) + 1, len(own)
        gathered = sparse.csr_array((weights, (own, np.arange(len(own)))), shape=shape) @ each
        count = float(shape[0])
    if count < 2:
        raise DataError("Robust standard errors need two rankers or more.")
    return gathered.tocsr(), count


def _meat(posterior: Posterior, point: Floats, clusters: Integers | None) -> Floats:
    """Σ over clusters of the outer product of their scores, in the parameters; times G / (G − 1) for G clusters."""
    parametrization, n = posterior.parametrization, posterior.likelihood.n_items
    parameters, ties = posterior.split(point)
    scores = parametrization.scores(parameters)[:n]
    gathered, count = _cluster_scores(posterior.likelihood, scores, ties, clusters)
    outer = np.asarray((gathered.T @ gathered).todense()) * (count / (count - 1))
    units = np.eye(parametrization.n_parameters)
    jacobian = np.stack([parametrization.jacobian_product(parameters, unit)[:n] for unit in units], axis=1)
    to_all = block_diag(jacobian, np.eye(len(ties)))
    kept = _without_pseudo_item(posterior)
    return (to_all.T @ outer @ to_all)[np.ix_(kept, kept)]


class InformationSolver:
    """Conjugate gradients with the information of the log worths, without a matrix of it."""

    def __init__(self, posterior: Posterior, point: Floats):
        if not posterior.parametrization.free:
            raise OptionError(
                "With this many items, standard errors of a model with features or teams need a matrix that "
                "is too large."
            )
        self.n = posterior.likelihood.n_items
        here = posterior.hessian(point, pseudo_item=False)  # free of the hypothetical item
        self.diagonal = np.maximum(here.diagonal(), 1e-300)
        shape = len(point), len(point)
        self.operator = LinearOperator(shape, matvec=lambda x: here.product(np.ravel(x)))
        self.scaling = LinearOperator(shape, matvec=lambda x: np.ravel(x) / self.diagonal)

    def solve(self, target: Floats) -> Floats:
        """H⁻¹ times a vector over the log worths (n,); the log worths of the result (n,), less their mean."""
        whole = np.zeros(len(self.diagonal))
        whole[: self.n] = target - target.mean()
        found, failed = cg(self.operator, whole, rtol=1e-6, maxiter=2_000, M=self.scaling)
        if failed:
            raise OptionError(
                "The standard errors did not converge (conjugate gradients): the rankings link the items only weakly."
            )
        return found[: self.n] - found[: self.n].mean()


def hutchinson_variances(posterior: Posterior, point: Floats) -> tuple[Floats, Floats]:
    """The variance of each log worth less their mean (n,), by random probes, and its standard error (n,)."""
    solver = InformationSolver(posterior, point)
    root = np.sqrt(solver.diagonal[: solver.n])
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        signs = random.choice([-1.0, 1.0], solver.n)
        found.append(signs / root * solver.solve(root * signs))
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(PROBES)


def hutchinson_sandwich(posterior: Posterior, point: Floats, clusters: Integers | None) -> tuple[Floats, Floats]:
    """The same for robust variances; those of a diagonal information, known exactly, are a control variate."""
    solver = InformationSolver(posterior, point)
    likelihood = posterior.likelihood
    parameters, ties = posterior.split(point)
    gathered, count = _cluster_scores(likelihood, parameters[: solver.n], ties, clusters)
    gathered = gathered[:, : solver.n]
    known = np.asarray(gathered.power(2).sum(axis=0)).ravel() / solver.diagonal[: solver.n] ** 2
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        target = gathered.T @ random.choice([-1.0, 1.0], gathered.shape[0])
        found.append(solver.solve(target) ** 2 - (target / solver.diagonal[: solver.n]) ** 2)
    scale = count / (count - 1)
    return scale * (known + np.mean(found, axis=0)), scale * np.std(found, axis=0) / np.sqrt(PROBES)
