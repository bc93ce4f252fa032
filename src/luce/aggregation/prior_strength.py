"""The standard deviation of a normal prior, estimated from the rankings (empirical Bayes)."""

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from luce.aggregation.covariance import covariance
from luce.aggregation.large_covariance import InformationSolver
from luce.aggregation.posterior import Posterior
from luce.arrays import Floats

FEW = 500
"""Items up to which the trace of the inverse information comes from a matrix."""

PROBES = 4
"""Vectors of random signs for traces with more items: they add a few percent to the variance of the estimate."""

STEP = 1e-3
"""Of the difference quotient of the information."""

WIDEST = 4.0
"""The logarithm of the standard deviation stays within ± this."""


def estimate_sd(
    posterior: Posterior, search: Callable[[Posterior, Floats], Floats], begin: Floats
) -> tuple[float, Floats]:
    """The standard deviation that makes the rankings most likely, to four digits, and the most likely point with it.

    The likelihood of σ is that of the rankings with all parameters integrated out by Laplace's approximation; log σ
    itself has a standard normal prior, which decides where the rankings say little. With θ the most likely log worths
    less the means of the prior, and H the information there, its gradient in log σ is
    Σ θ² / σ² − (n − tr H⁻¹ / σ²) − tr H⁻¹ D − log σ, where D is the derivative of H along H⁻¹ θ / σ²: θ moves with σ.
    """
    point = begin

    @cache
    def gradient(log_sd: float) -> float:
        nonlocal point
        here = posterior.with_sd(float(np.exp(log_sd)))
        point = search(here, point)
        return _log_sd_gradient(here, point) - log_sd

    edge, step = 0.0, 1.0 if gradient(0.0) > 0 else -1.0
    while abs(edge) < WIDEST and step * gradient(edge + step) > 0:
        edge += step
    best = edge if abs(edge) == WIDEST else brentq(gradient, edge, edge + step, xtol=1e-4)
    return float(f"{np.exp(best):.4g}"), point


def _log_sd_gradient(posterior: Posterior, point: Floats) -> float:
    """The gradient of the log-likelihood of σ in log σ."""
    n, precision = posterior.parametrization.n_effects, float(posterior.precision[0])
    pull = np.zeros(len(point))
    pull[:n] = precision * (point[:n] - posterior.mean[:n])
    if n <= FEW or not posterior.parametrization.free:
        trace, drift = _of_matrix(posterior, point, pull)
    else:
        trace, drift = _of_probes(posterior, point, pull)
    return float(pull @ pull) / precision - (n - precision * trace) - drift


def _of_matrix(posterior: Posterior, point: Floats, pull: Floats) -> tuple[float, float]:
    """tr H⁻¹ over the items, and tr H⁻¹ D."""
    n = posterior.parametrization.n_effects
    inverse = covariance(posterior, point, "observed", None).parameters
    step = STEP * inverse @ pull
    after, before = (posterior.hessian(point + sign * step).matrix() for sign in (1, -1))
    own = inverse[:n, :n]
    # Of the mean the prior alone knows.
    trace = float(np.trace(own) - n * own.mean()) + 1 / float(posterior.precision[0])
    return trace, float(np.sum(inverse * (after - before))) / (2 * STEP)


def _of_probes(posterior: Posterior, point: Floats, pull: Floats) -> tuple[float, float]:
    """The same by vectors of random signs."""
    n = posterior.parametrization.n_effects
    solver, random = InformationSolver(posterior, point), np.random.default_rng(0)
    step = np.zeros(len(point))
    step[:n] = STEP * solver.solve(pull[:n])[:n]
    after, before = (posterior.hessian(point + sign * step) for sign in (1, -1))
    signs = np.zeros(len(point))
    traces, drifts = [], []
    for _ in range(PROBES):
        signs[:n] = random.choice([-1.0, 1.0], n)
        solved = solver.solve(signs[:n])[:n]
        traces.append(float(signs[:n] @ solved))
        drifts.append(float(solved @ (after.product(signs) - before.product(signs))[:n]) / (2 * STEP))
    return float(np.mean(traces)) + 1 / float(posterior.precision[0]), float(np.mean(drifts))  # the mean as above
