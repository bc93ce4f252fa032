"""Comparisons of items: quasi-variances, the ranks that each may have, and tiers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import ndtri, stdtrit

from luce.arrays import Floats, Integers

ROWS = 512
"""Items compared with all others at a time."""

ROUNDING = 1e-9
"""Log worths that differ by less are equal: those of items with the same features, whose difference has no variance."""


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
    # Pairs without a variance, such as items of equal features, are left out, as is an item and itself.
    np.fill_diagonal(variances, 0.0)
    left_out = np.flatnonzero(variances <= 1e-12 * variances.max())
    q, residual = _fitted(variances, left_out)
    residual.flat[left_out] = np.nan
    worst = np.expm1(0.5 * np.array([np.nanmin(residual), np.nanmax(residual)]))
    return QuasiStandardErrors(np.sqrt(np.where(q >= 0, q, np.nan)), (float(worst[0]), float(worst[1])))


def _fitted(variances: Floats, left_out: Integers) -> tuple[Floats, Floats]:
    """Gauss-Newton from the least squares of the variances; steps to where a sum is not positive are halved.

    Returns the quasi-variances q and the residuals log(q_i + q_j) − log v_ij, 0 where a pair is left out.
    """
    n, rows = len(variances), variances.sum(axis=1)
    q = (rows - rows.sum() / (2 * (n - 1))) / (n - 2)
    variances.flat[left_out] = np.inf
    q = np.maximum(q, 1e-3 * variances.min())
    variances.flat[left_out] = 1.0
    logs = np.log(variances)
    sums, residual = _residuals(q, logs, left_out)
    for _ in range(200):
        value, step = np.vdot(residual, residual), _gauss_newton_step(sums, residual, left_out)
        while np.abs(step).max() > 1e-12 * np.abs(q).max():
            new_sums, new_residual = _residuals(q + step, logs, left_out)
            if np.vdot(new_residual, new_residual) <= (1 + 1e-12) * value:  # but for rounding
                break
            step = step / 2
        else:
            break
        q, sums, residual = q + step, new_sums, new_residual
    return q, residual


def _residuals(q: Floats, logs: Floats, left_out: Integers) -> tuple[Floats, Floats]:
    """q_i + q_j, and log(q_i + q_j) − log v_ij, infinite where a sum is not positive; 1 and 0 where left out."""
    sums = q[:, None] + q
    sums.flat[left_out] = 1.0
    return sums, np.log(sums) - logs if sums.min() > 0 else np.full_like(sums, np.inf)


def _gauss_newton_step(sums: Floats, residual: Floats, left_out: Integers) -> Floats:
    """By conjugate gradients: scaled by its diagonal the matrix is 1 plus about a matrix of rank one."""
    inverse = 1 / sums
    inverse.flat[left_out] = 0.0
    gradient = (residual * inverse).sum(axis=1)
    inverse *= inverse
    diagonal = np.maximum(inverse.sum(axis=1), 1e-300)
    matrix = LinearOperator(inverse.shape, matvec=lambda x: inverse @ x + diagonal * x)
    scaling = LinearOperator(inverse.shape, matvec=lambda x: x / diagonal)
    return -cg(matrix, gradient, rtol=1e-10, M=scaling)[0]


def critical_value(level: float, comparisons: int = 1, degrees_of_freedom: float = np.inf) -> float:
    """How many standard errors a difference must reach, if so many are tested together (Šidák, 1967).

    The quantile is the normal one, or Student's with so many degrees of freedom of the standard error.

    >>> round(critical_value(0.95), 3), round(critical_value(0.95, 10), 3), round(critical_value(0.95, 1, 9), 3)
    (1.96, 2.8, 2.262)
    """
    below = 0.5 + 0.5 * level ** (1 / max(comparisons, 1))
    return float(ndtri(below) if np.isinf(degrees_of_freedom) else stdtrit(degrees_of_freedom, below))


def rank_intervals(
    log_worths: Floats, variances: Callable[[slice], Floats], level: float, degrees_of_freedom: float = np.inf
) -> Integers:
    """The lowest and highest rank of each item (n, 2), 1 = best: by how many are significantly better, and worse.

    `variances(rows)` gives the variances of the differences of some items and all (rows, n). The interval of an item
    holds its true rank with the probability `level`, its n − 1 differences being tested together.
    """
    n = len(log_worths)
    critical = critical_value(level, n - 1, degrees_of_freedom)
    result = np.empty((n, 2), np.int64)
    for begin in range(0, n, ROWS):
        rows = slice(begin, min(begin + ROWS, n))
        ahead = log_worths[None, :] - log_worths[rows, None]
        needed = critical * np.sqrt(variances(rows)) + ROUNDING
        result[rows, 0] = 1 + (ahead > needed).sum(axis=1)
        result[rows, 1] = n - (ahead < -needed).sum(axis=1)
    return result


def tiers(
    log_worths: Floats, variances: Callable[[slice], Floats], level: float, degrees_of_freedom: float = np.inf
) -> Integers:
    """The tier of each item (n,): 1 if no item is significantly better, else one below the lowest of those.

    >>> tiers(np.array([0.0, 3.0, 2.9]), lambda rows: np.full((1, 3), 0.01), 0.95)
    array([2, 1, 1])
    """
    critical = critical_value(level, len(log_worths) - 1, degrees_of_freedom)
    result = np.ones(len(log_worths), np.int64)
    for item in np.argsort(-log_worths, kind="stable").tolist():
        ahead = log_worths - log_worths[item]
        better = ahead > critical * np.sqrt(variances(slice(item, item + 1))[0]) + ROUNDING
        result[item] = 1 + result[better].max(initial=0)
    return result
