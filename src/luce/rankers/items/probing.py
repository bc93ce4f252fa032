"""Standard errors of very many items without a matrix: conjugate gradients, and random signs that find a diagonal."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from luce.arrays import Floats, Integers
from luce.errors import OptionError
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.ranking_scores import ranking_scores

PROBES = 64
"""Vectors of random signs; the errors of the standard errors fall with the square root of it."""


class Solver:
    """Solves with the information of the log worths of a fit with free worths, without making a matrix of it."""

    def __init__(self, posterior: Posterior, point: Floats):
        if not posterior.worths.free:
            raise OptionError("So many items with features or teams: standard errors need a matrix that is too large.")
        self.n = posterior.likelihood.n_items
        here = posterior.curvature(point, pseudo_item=False)  # which does not feel the hypothetical item at all
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
            raise OptionError("Conjugate gradients found no standard errors: the data hardly link the items.")
        return found[: self.n] - found[: self.n].mean()


def probed_variances(posterior: Posterior, point: Floats) -> tuple[Floats, Floats]:
    """The variance of each log worth less their mean (n,), and the standard error of that estimate (n,)."""
    solver = Solver(posterior, point)
    root = np.sqrt(solver.diagonal[: solver.n])
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        signs = random.choice([-1.0, 1.0], solver.n)
        found.append(signs / root * solver.solve(root * signs))
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(PROBES)


def probed_sandwich(posterior: Posterior, point: Floats, clusters: Integers | None) -> tuple[Floats, Floats]:
    """The same for robust variances: signs of clusters, beside those of a diagonal information, which are known."""
    solver = Solver(posterior, point)
    likelihood = posterior.likelihood
    parameters, ties = posterior.split(point)
    each = ranking_scores(likelihood, parameters[: solver.n], ties)[:, : solver.n]
    weights = likelihood.observed.weights
    if clusters is None:
        gathered, count = (sparse.diags_array(np.sqrt(weights)) @ each).tocsr(), float(weights.sum())
    else:
        own = np.unique(clusters[likelihood.observed.numbers], return_inverse=True)[1]
        shape = own.max() + 1, len(own)
        gathered = sparse.csr_array((weights, (own, np.arange(len(own)))), shape=shape) @ each
        count = float(shape[0])
    known = np.asarray(gathered.power(2).sum(axis=0)).ravel() / solver.diagonal[: solver.n] ** 2
    random = np.random.default_rng(0)
    found = []
    for _ in range(PROBES):
        target = gathered.T @ random.choice([-1.0, 1.0], gathered.shape[0])
        found.append(solver.solve(target) ** 2 - (target / solver.diagonal[: solver.n]) ** 2)
    scale = count / (count - 1)
    return scale * (known + np.mean(found, axis=0)), scale * np.std(found, axis=0) / np.sqrt(PROBES)
