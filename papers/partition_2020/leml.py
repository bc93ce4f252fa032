"""LEML (Yu et al. 2014): a linear map of low rank from features to labels, least squares with a penalty.

The loss ‖Y − X W Hᵀ‖² + λ/2 (‖W‖² + ‖H‖²) is minimized over H, a ridge regression in closed form, and over W, by
conjugate gradients whose products with the Hessian never form it, in turn. The rows of X have length 1 and a constant.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from scipy import sparse
from sklearn.preprocessing import normalize

from luce.arrays import Floats
from luce.data.extreme import TaggedData

RANK = 256
"""As many as the hidden units of the networks that it is compared with."""

ITERATIONS, CG_ITERATIONS, TOLERANCE = 10, 10, 1e-6
"""Of the alternation; and of the conjugate gradients in each, which end where the gradient has shrunk so far."""


class Factors(NamedTuple):
    """The factors of the map: W of shape (features, rank) and H of shape (labels, rank)."""

    features: Floats
    labels: Floats


def scorers(
    train: TaggedData, rows: TaggedData, grid: Sequence[tuple[float, ...]], seed: int
) -> Iterator[tuple[tuple[float, ...], Callable[[slice], Floats]]]:
    """The scores of the labels of some rows, in blocks, for each penalty."""
    features, labels, new = inputs(train.features), train.labels.astype(np.float64), inputs(rows.features)
    for (penalty,) in grid:
        factors = fit(features, labels, penalty, seed)
        embeddings = new @ factors.features
        yield (penalty,), partial(_products, embeddings, factors.labels)


def _products(embeddings: Floats, factor: Floats, block: slice) -> Floats:
    return embeddings[block] @ factor.T


def inputs(features: Any) -> sparse.csr_array:
    """The rows scaled to length 1, with a constant."""
    return sparse.hstack([normalize(features.astype(np.float64)), np.ones((features.shape[0], 1))], format="csr")


def fit(
    features: sparse.csr_array, labels: sparse.csr_array, penalty: float, seed: int, *, rank: int = RANK
) -> Factors:
    """Minimize over the two factors in turn."""
    rank = min(rank, features.shape[1], labels.shape[1])
    factor = default_rng([seed, 4]).normal(0, 1 / np.sqrt(rank), (features.shape[1], rank))
    for _ in range(ITERATIONS):
        factor = feature_factor(features, labels, label_factor(features, labels, factor, penalty), penalty, factor)
    return Factors(factor, label_factor(features, labels, factor, penalty))


def label_factor(features: sparse.csr_array, labels: sparse.csr_array, factor: Floats, penalty: float) -> Floats:
    """The minimum over H with W fixed: a ridge regression of each label on X W."""
    embeddings = features @ factor
    normal = embeddings.T @ embeddings + penalty / 2 * np.eye(factor.shape[1])
    return np.linalg.solve(normal, (labels.T @ embeddings).T).T


def feature_factor(
    features: sparse.csr_array,
    labels: sparse.csr_array,
    factor: Floats,
    penalty: float,
    start: Floats,
    *,
    iterations: int = CG_ITERATIONS,
) -> Floats:
    """The minimum over W with H = `factor` fixed, by conjugate gradients from `start`."""
    gram = factor.T @ factor

    def hessian(direction: Floats) -> Floats:
        return features.T @ (features @ direction @ gram) + penalty / 2 * direction

    found, residual = start, features.T @ (labels @ factor) - hessian(start)
    direction, squared, target = residual, np.vdot(residual, residual), TOLERANCE**2 * np.vdot(residual, residual)
    for _ in range(iterations):
        if squared <= target:
            break
        curved = hessian(direction)
        step = squared / np.vdot(direction, curved)
        found, residual = found + step * direction, residual - step * curved
        squared, last = np.vdot(residual, residual), squared
        direction = residual + squared / last * direction
    return found


def loss(features: sparse.csr_array, labels: sparse.csr_array, factors: Factors, penalty: float) -> float:
    """The objective."""
    missed = labels - features @ factors.features @ factors.labels.T
    return float(np.sum(np.square(missed)) + penalty / 2 * sum(np.vdot(each, each) for each in factors))
