"""Quasi-variances (Firth and de Menezes, 2004): a number an item; their sums are about the variances of differences."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from luce.arrays import Floats


class QuasiErrors(NamedTuple):
    """Quasi standard errors (n,) and the worst relative errors, below and above, of the standard errors they imply.

    errors[i]² + errors[j]² stands for the variance of the difference of i and j: an interval of ± errors needs no
    reference item. A quasi-variance below 0, which is rare, has no root and gives NaN.
    """

    errors: Floats
    worst: tuple[float, float]


def quasi_errors(covariance: Floats) -> QuasiErrors:
    """The best quasi standard errors for a covariance matrix: they minimise Σ_{i<j} (log(q_i + q_j) − log v_ij)².

    v_ij is the variance of the difference, and this is what qvcalc minimises too.

    >>> quasi_errors(np.diag([1.0, 4, 9])).errors
    array([1., 2., 3.])
    """
    n = len(covariance)
    diagonal = np.diagonal(covariance)
    variances = diagonal[:, None] + diagonal - 2 * covariance
    if n < 3:
        each = np.full(n, variances[0, -1] / 2 if n == 2 else 0.0)
        return QuasiErrors(np.sqrt(each), (0.0, 0.0))
    np.fill_diagonal(variances, 1.0)
    q = _fitted(variances)
    implied = np.sqrt(((q[:, None] + q) / variances)[~np.eye(n, dtype=bool)]) - 1
    roots = np.sqrt(np.where(q >= 0, q, np.nan))
    return QuasiErrors(roots, (float(implied.min()), float(implied.max())))


def _fitted(variances: Floats) -> Floats:
    """Gauss-Newton from the least squares of the variances themselves; a step that lets a sum vanish is halved."""
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
