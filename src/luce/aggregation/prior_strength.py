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

PROBES = 16
"""Vectors of random signs for the trace with more items: its error is far below that of the estimate."""

WIDEST = 4.0
"""The logarithm of the standard deviation stays within ± this."""


def estimate_sd(
    posterior: Posterior, search: Callable[[Posterior, Floats], Floats], begin: Floats
) -> tuple[float, Floats]:
    """The standard deviation that makes the rankings most likely, to four digits, and the most likely point with it.

    The likelihood of σ is that of the rankings with the worths integrated out by Laplace's approximation, and log σ
    itself has a standard normal prior, which decides where the rankings say little. With the estimates θ, their mean m
    and the information H, its slope in log σ is Σ (θ − m)² / σ² − (n − tr H⁻¹ / σ²) − log σ (MacKay, 1992).
    """
    point = begin

    @cache
    def slope(log_sd: float) -> float:
        nonlocal point
        here = posterior.with_sd(float(np.exp(log_sd)))
        point = search(here, point)
        return _slope(here, point) - log_sd

    edge, step = 0.0, 1.0 if slope(0.0) > 0 else -1.0
    while abs(edge) < WIDEST and step * slope(edge + step) > 0:
        edge += step
    best = edge if abs(edge) == WIDEST else brentq(slope, edge, edge + step, xtol=1e-4)
    return float(f"{np.exp(best):.4g}"), point


def _slope(posterior: Posterior, point: Floats) -> float:
    """The slope of the log-likelihood of σ in log σ."""
    n = posterior.parametrization.n_effects
    away, precision = point[:n] - posterior.mean[:n], float(posterior.precision[0])
    return precision * float(away @ away) - (n - precision * _trace(posterior, point))


def _trace(posterior: Posterior, point: Floats) -> float:
    """The trace of the inverse information, over the log worths or effects of items."""
    n = posterior.parametrization.n_effects
    if n <= FEW or not posterior.parametrization.free:
        return float(np.trace(covariance(posterior, point, "observed", None).parameters[:n, :n]))
    solver, random = InformationSolver(posterior, point), np.random.default_rng(0)
    signs = random.choice([-1.0, 1.0], (PROBES, n))
    # The solver leaves out the mean, of which the prior alone knows.
    return float(np.mean([each @ solver.solve(each)[:n] for each in signs]) + 1 / posterior.precision[0])
