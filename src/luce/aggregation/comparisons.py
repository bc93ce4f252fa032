"""Comparisons of items: quasi-variances, the ranks that each may have, and tiers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.special import ndtri

from luce.arrays import Floats, Integers

ROWS = 512
"""Items compared with all others at a time."""


class QuasiStandardErrors(NamedTuple):
    """Quasi standard errors (Firth and de Menezes, 2004): errors[i]² + errors[j]² is about the variance of i − j.

    An interval of ± errors needs no reference item. A quasi-variance below 0, which is rare, has no root and gives NaN.

    Attributes
    ----------
    errors : ndarray of shape (n,)
        One per item.
    worst : tuple of 2 floats
        The largest relative errors, below and above, of the standard errors that they imply.
    """

    errors: Floats
    worst: tuple[float, float]


def fit_quasi_variances(covariance: Floats) -> QuasiStandardErrors:
    """The best quasi standard errors for a covariance matrix: they minimize Σ_{i<j} (log(q_i + q_j) − log v_ij)².

    v_ij is the variance of the difference, and this is what R's qvcalc minimizes too.

    >>> fit_quasi_variances(np.diag([1.0, 4, 9])).errors
    array([1., 2., 3.])
    """
    n = len(covariance)
    diagonal = np.diagonal(covariance)
    variances = diagonal[:, None] + diagonal - 2 * covariance
    if n < 3:
        each = np.full(n, variances[0, -1] / 2 if n == 2 else 0.0)
        return QuasiStandardErrors(np.sqrt(each), (0.0, 0.0))
    np.fill_diagonal(variances, 1.0)
    q = _fitted(variances)
    implied = np.sqrt(((q[:, None] + q) / variances)[~np.eye(n, dtype=bool)]) - 1
    roots = np.sqrt(np.where(q >= 0, q, np.nan))
    return QuasiStandardErrors(roots, (float(implied.min()), float(implied.max())))


def _fitted(variances: Floats) -> Floats:
    """Gauss-Newton from the least squares of the variances; steps to where a sum is not positive are halved."""
    n = len(variances)
    apart = ~np.eye(n, dtype=bool)
    rows = (variances * apart).sum(axis=1)
    q = (rows - rows.sum() / (2 * (n - 1))) / (n - 2)
    q = np.maximum(q, 1e-3 * variances[apart].min())
    value = _loss(q, variances, apart)
    for _ in range(200):
        sums = q[:, None] + q
        np.fill_diagonal(sums, np.inf)
        residual = np.where(apart, np.log(np.where(apart, sums, 1.0) / variances), 0.0)
        gradient = (residual / sums).sum(axis=1)
        inverse = 1 / sums**2
        step = -solve(inverse + np.diag(inverse.sum(axis=1)), gradient, assume_a="sym")
        length = 1.0
        while length > 1e-10 and not _loss(q + length * step, variances, apart) <= value:
            length /= 2
        q = q + length * step
        value = min(value, _loss(q, variances, apart))
        if np.abs(length * step).max() <= 1e-14 * np.abs(q).max() or length <= 1e-10:
            break
    return q


def _loss(q: Floats, variances: Floats, apart: Floats) -> float:
    sums = (q[:, None] + q)[apart]
    return float(np.sum(np.log(sums / variances[apart]) ** 2)) if (sums > 0).all() else np.inf


def critical_value(level: float, comparisons: int = 1) -> float:
    """How many standard errors a difference must reach, if so many are tested together (Šidák, 1967).

    >>> round(critical_value(0.95), 3), round(critical_value(0.95, 10), 3)
    (1.96, 2.8)
    """
    return float(ndtri(0.5 + 0.5 * level ** (1 / max(comparisons, 1))))


def rank_intervals(log_worths: Floats, variances: Callable[[slice], Floats], level: float) -> Integers:
    """The lowest and highest rank of each item (n, 2), 1 = best: by how many are significantly better, and worse.

    `variances(rows)` gives the variances of the differences of some items and all (rows, n). The interval of an item
    holds its true rank with the probability `level`, its n − 1 differences being tested together.
    """
    n = len(log_worths)
    critical = critical_value(level, n - 1)
    result = np.empty((n, 2), np.int64)
    for begin in range(0, n, ROWS):
        rows = slice(begin, min(begin + ROWS, n))
        ahead = log_worths[None, :] - log_worths[rows, None]
        needed = critical * np.sqrt(variances(rows))
        result[rows, 0] = 1 + (ahead > needed).sum(axis=1)
        result[rows, 1] = n - (ahead < -needed).sum(axis=1)
    return result


def tiers(log_worths: Floats, variances: Callable[[slice], Floats], level: float) -> Integers:
    """The tier of each item (n,): 1 if no item is significantly better, else one below the lowest of those.

    >>> tiers(np.array([0.0, 3.0, 2.9]), lambda rows: np.full((1, 3), 0.01), 0.95)
    array([2, 1, 1])
    """
    n = len(log_worths)
    critical = critical_value(level, n - 1)
    result = np.ones(n, np.int64)
    for item in np.argsort(-log_worths, kind="stable").tolist():
        ahead = log_worths - log_worths[item]
        better = ahead > critical * np.sqrt(variances(slice(item, item + 1))[0])
        result[item] = 1 + result[better].max(initial=0)
    return result
