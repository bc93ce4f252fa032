"""Variances of the estimates for many items, without a matrix: conjugate gradients and random probes."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from luce.aggregation.clusters import ClusterScores
from luce.aggregation.posterior import Posterior
from luce.arrays import Floats
from luce.errors import OptionError

PROBES = 64
"""Vectors of random signs; the errors of the standard errors fall with the square root of it."""


class InformationSolver:
    """Conjugate gradients with the information of the log worths, without a matrix of it."""

    def __init__(self, posterior: Posterior, point: Floats):
        if not posterior.parametrization.free:
            raise OptionError(
                "With this many items, standard errors of a model with features or teams need a matrix that "
                "is too large."
            )
        self.n, self.n_ties = posterior.likelihood.n_items, posterior.likelihood.n_ties
        self.precision = posterior.precision[: self.n]
        here = posterior.hessian(point, pseudo_item=False)  # free of the hypothetical item
        self.diagonal = np.maximum(here.diagonal(), 1e-300)
        shape = len(point), len(point)
        self.operator = LinearOperator(shape, matvec=lambda x: here.product(np.ravel(x)))
        self.scaling = LinearOperator(shape, matvec=lambda x: np.ravel(x) / self.diagonal)

    def solve(self, target: Floats) -> Floats:
        """H⁻¹ times a vector over the log worths (n,), or also the tie parameters (n + T,), as a vector of all.

        The mean over the log worths is left out, before and after.
        """
        whole = np.zeros(len(self.diagonal))
        whole[: self.n] = target[: self.n] - target[: self.n].mean()
        whole[len(whole) - len(target) + self.n :] = target[self.n :]
        found, failed = cg(self.operator, whole, rtol=1e-6, maxiter=2_000, M=self.scaling)
        if failed:
            raise OptionError(
                "The standard errors did not converge (conjugate gradients): the rankings link the items only weakly."
            )
        return np.concatenate([found[: self.n] - found[: self.n].mean(), found[len(found) - self.n_ties :]])


def contrast_variance(solver: InformationSolver, first: int, second: int, robust: ClusterScores | None = None) -> float:
    """The variance of the difference of two log worths; robust, if the scores of the rankers are given."""
    found = solver.solve(np.eye(1, solver.n, first)[0] - np.eye(1, solver.n, second)[0])
    if robust is None:
        return float(found[first] - found[second])
    along = robust.scores @ found
    return robust.factor * float(along @ along) + float(solver.precision @ found[: solver.n] ** 2)


def hutchinson_variances(solver: InformationSolver) -> tuple[Floats, Floats]:
    """The variance of each log worth less their mean (n,), by random probes, and its standard error (n,)."""
    root = np.sqrt(solver.diagonal[: solver.n])
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        signs = random.choice([-1.0, 1.0], solver.n)
        found.append(signs / root * solver.solve(root * signs)[: solver.n])
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(PROBES)


def hutchinson_sandwich(solver: InformationSolver, robust: ClusterScores) -> tuple[Floats, Floats]:
    """The same for robust variances; those of a diagonal information, known exactly, are a control variate."""
    n, scores = solver.n, np.sqrt(robust.factor) * robust.scores
    diagonal = solver.diagonal[:n]
    known = (np.asarray(scores.power(2).sum(axis=0)).ravel()[:n] + solver.precision) / diagonal**2
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        target = scores.T @ random.choice([-1.0, 1.0], scores.shape[0])
        target[:n] += np.sqrt(solver.precision) * random.choice([-1.0, 1.0], n)
        found.append(solver.solve(target)[:n] ** 2 - (target[:n] / diagonal) ** 2)
    return known + np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(PROBES)
