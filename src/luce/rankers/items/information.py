"""What the data tell about the parameters: curvature of the log posterior, expected curvature, spread of the scores."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from luce.arrays import Floats, Integers
from luce.errors import DataError, LuceWarning, OptionError
from luce.kernels.pair_counts import pair_log_probabilities
from luce.optimizers.newton import LARGEST_MATRIX
from luce.rankers.items.likelihood import Likelihood
from luce.rankers.items.pair_part import PairPart
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.ranking_scores import ranking_scores
from luce.rankers.items.simulation import simulated
from luce.rankers.items.worths import LinearWorths

KINDS = ("observed", "expected", "sandwich")
DRAWS = 20
"""Data sets drawn for the expected information of ties in unknown order."""


class Covariance(NamedTuple):
    """Of the log worths, less their mean, and then the tie parameters: (n + T) squared; of the worth parameters too."""

    matrix: Floats
    parameters: Floats


def covariance(posterior: Posterior, point: Floats, kind: str, clusters: Integers | None) -> Covariance:
    """The covariance of the estimates.

    "observed": the inverse of the curvature at the estimate; "expected": of its expectation given the sets that were
    chosen from, which is the same without ties and for Davidson's, and for ties in unknown order a mean over drawn
    rankings; "sandwich": robust, A⁻¹ B A⁻¹ with B the spread of the scores of clusters, or of rankings.

    A normal prior counts as information. The wins and losses of `Pseudo` do not, as in R: they keep estimates finite.
    """
    if kind not in KINDS:
        raise OptionError(f"The kind of standard error must be one of {', '.join(KINDS)}. Got {kind!r}.")
    worths, n_ties = posterior.worths, posterior.likelihood.n_ties
    if max(worths.n_parameters, worths.n_scores) > LARGEST_MATRIX:
        raise OptionError(
            f"A covariance matrix is made for up to {LARGEST_MATRIX:,} items. Got {worths.n_items:,}: ask for "
            "standard_errors(), which then needs no matrix, or for contrast(a, b)."
        )
    expected = expected_part(posterior, point) if kind == "expected" else None
    inverse = _inverse(posterior, point, expected)
    if kind == "sandwich":
        spread = _spread(posterior, point, clusters)
        inverse = inverse @ spread @ inverse
    parameters = worths.n_parameters - worths.pseudo_item
    jacobian = worths.jacobian(posterior.split(point)[0])[:, :parameters]
    centred = jacobian - jacobian.mean(axis=0)
    both = np.block([[centred, np.zeros((len(centred), n_ties))], [np.zeros((n_ties, parameters)), np.eye(n_ties)]])
    return Covariance(both @ inverse @ both.T, inverse)


def _inverse(posterior: Posterior, point: Floats, expected: Likelihood | None) -> Floats:
    """The inverse information of all parameters but the hypothetical item's; along shifts of all worths it is made up.

    What is asked of it is free of shifts.
    """
    counted = posterior if expected is None else _with(posterior, expected)
    information = counted.curvature(point, pseudo_item=False).matrix()
    kept = _but_the_ghost(posterior)
    try:
        return _inverted(posterior, information[np.ix_(kept, kept)])
    except LinAlgError:
        if posterior.pseudo_item is None:
            raise DataError(
                "The data do not tell all parameters apart: their information is singular. Give a prior, or leave out "
                "features that say the same."
            ) from None
    warnings.warn(
        "The rankings alone do not link all items, so the pseudo-wins are counted in the standard errors.",
        LuceWarning,
        stacklevel=2,
    )
    whole = _inverted(posterior, counted.curvature(point).matrix())
    return whole[np.ix_(kept, kept)]


def _inverted(posterior: Posterior, information: Floats) -> Floats:
    size = len(information)
    shift = shift_of_worths(posterior, size)
    scale = float(np.mean(np.diagonal(information)))
    factor = cho_factor(information + scale * np.outer(shift, shift), lower=True)
    # A pivot that is nothing but rounding: a direction in which the data say nothing.
    if (np.diagonal(factor[0]) ** 2).min() < 1e-11 * np.diagonal(information).max():
        raise LinAlgError("singular")
    return cho_solve(factor, np.eye(size))


def shift_of_worths(posterior: Posterior, size: int) -> Floats:
    """The direction, of length 1, in which nothing changes: all log worths shifted; 0 where there is none."""
    worths = posterior.worths
    shift = np.zeros(size)
    if posterior.precision.any() or (isinstance(worths, LinearWorths) and not worths.free):
        return shift
    count = size - posterior.likelihood.n_ties
    shift[:count] = 1 / np.sqrt(count)
    return shift


def _but_the_ghost(posterior: Posterior) -> Integers:
    size = posterior.worths.n_parameters + posterior.likelihood.n_ties
    everything = np.arange(size)
    return np.delete(everything, posterior.worths.n_parameters - 1) if posterior.worths.pseudo_item else everything


def _with(posterior: Posterior, likelihood: Likelihood) -> Posterior:
    return Posterior(likelihood, posterior.worths, posterior.pseudo_item, posterior.mean, posterior.precision)


def expected_part(posterior: Posterior, point: Floats) -> Likelihood | None:
    """A likelihood whose curvature is the expected one; None where that is the observed one."""
    likelihood = posterior.likelihood
    parameters, ties = posterior.split(point)
    scores = posterior.worths.scores(parameters)[: likelihood.n_items]
    if likelihood.ties == "rao-kupper":
        return _with_parts(likelihood, [_expected_pairs(part, scores, ties) for part in likelihood.parts])
    if likelihood.ties == "exact":
        if getattr(likelihood.parts[0], "multipliers", None) is not None:
            raise OptionError(
                "With adherence and ties of unknown order there are no expected errors; ask for observed ones."
            )
        return _mean_of_draws(likelihood, scores)
    return None


def _expected_pairs(part: PairPart, scores: Floats, ties: Floats) -> PairPart:
    counts = part.counts
    total = counts.wins + counts.losses + counts.ties
    logs = pair_log_probabilities(counts, scores, outcome=part.outcome, parameter=float(ties[0]))
    wins, losses, tied = (total * np.exp(log) for log in logs)
    return PairPart(
        counts._replace(wins=wins, losses=losses, ties=tied), part.n_ties, part.n_jobs, part.outcome, part.tie
    )


def _mean_of_draws(likelihood: Likelihood, scores: Floats) -> Likelihood:
    parts: list[Any] = []
    for draw in range(DRAWS):
        drawn = simulated(likelihood, scores, np.zeros(0), np.random.default_rng(draw))
        parts += Likelihood(drawn.replace(weights=drawn.weights / DRAWS), "exact", likelihood.n_jobs).parts
    return _with_parts(likelihood, parts)


def _with_parts(likelihood: Likelihood, parts: list[Any]) -> Likelihood:
    copy = object.__new__(Likelihood)
    copy.__dict__.update(likelihood.__dict__, parts=parts)
    return copy


def _spread(posterior: Posterior, point: Floats, clusters: Integers | None) -> Floats:
    """Σ over clusters of the outer product of their scores, in the parameters; G / (G − 1) for G clusters."""
    likelihood = posterior.likelihood
    parameters, ties = posterior.split(point)
    scores = posterior.worths.scores(parameters)
    each = ranking_scores(likelihood, scores[: likelihood.n_items], ties)
    weights = likelihood.observed.weights
    if clusters is None:
        # Weights are repetitions: w equal rankings, each on its own.
        gathered, count = sparse.diags_array(np.sqrt(weights)) @ each, float(weights.sum())
    else:
        own = clusters[likelihood.observed.numbers]
        together = sparse.csr_array((weights, (own, np.arange(len(own)))), shape=(own.max() + 1, len(own)))
        gathered, count = together @ each, float(len(np.unique(own)))
    if count < 2:
        raise DataError("Robust standard errors need two rankers or more.")
    spread = np.asarray((gathered.T @ gathered).todense()) * (count / (count - 1))
    n = likelihood.n_items
    to_parameters = np.stack(
        [posterior.worths.push(parameters, unit)[:n] for unit in np.eye(posterior.worths.n_parameters)], axis=1
    )
    to_all = np.block(
        [
            [to_parameters, np.zeros((n, len(ties)))],
            [np.zeros((len(ties), to_parameters.shape[1])), np.eye(len(ties))],
        ]
    )
    kept = _but_the_ghost(posterior)
    return (to_all.T @ spread @ to_all)[np.ix_(kept, kept)]
