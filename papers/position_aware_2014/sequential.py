"""Section 4.1 of the 2014 paper for a linear ranking function: place after place, each among the optima of the last.

The loss of the first place is strictly convex in the differences between the scores of a list. Where it has a minimum,
all its minimizers have the same differences, on which all later steps depend: these have nothing left to choose.
The process is then ListMLE of depth 1, and the limit of p-ListMLE as its weights become ever steeper.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.objectives import objective
from luce.optimizers.lbfgs import minimize

BASES = (2.0, 10.0, 100.0, 1_000.0, 10_000.0)
"""Of weights b^(1−j), ever steeper."""


class Step(NamedTuple):
    """A step of the process: weights that are optimal up to its place, and the directions in which others are.

    `free` are the directions (F, d) that lead from optimum to optimum, `changing` how many of them change a difference
    between the scores of a list.
    """

    weights: Floats
    free: Floats
    changing: int


def steps(lists: Dataset, places: int) -> Iterator[Step]:
    """The process for the first places of all lists together."""
    weights, free = np.zeros(lists.n_features), np.eye(lists.n_features)
    for place in range(places):
        weights = minimizer(lists, np.eye(places)[place], weights, free)
        values, vectors = np.linalg.eigh(free.T @ curvature(lists, weights, place) @ free)
        free = free @ vectors[:, values < 1e-9 * max(values.max(initial=0.0), 1.0)]
        yield Step(weights, free, int(np.linalg.matrix_rank(differences(lists) @ free, tol=1e-6)))


def minimizer(lists: Dataset, alpha: Floats, start: Floats, free: Floats) -> Floats:
    """The weights of least p-ListMLE loss that can be reached from the start in these directions."""
    chosen, x = objective("p-listmle", alpha=alpha), lists.features @ free

    def loss(point: Floats) -> tuple[float, Floats]:
        scores = lists.features @ start + x @ point
        evaluation = chosen.value_and_gradient(scores, lists.labels, lists.offsets, n_jobs=1)
        return float(evaluation.loss.sum()), evaluation.gradient @ x

    if not free.size:
        return start
    found = minimize(loss, np.zeros(free.shape[1]), max_iter=1_000, tol=1e-15, watch=lambda *step: False)
    return np.asarray(start + free @ found)


def curvature(lists: Dataset, weights: Floats, place: int) -> Floats:
    """The second derivative of the loss of a place: the covariance of the features under its choice probabilities."""
    total = np.zeros((lists.n_features, lists.n_features))
    for q in range(lists.n_lists):
        rows = lists.rows(q)
        left = lists.features[rows][np.argsort(-lists.labels[rows])[place:]]
        if len(left):
            scores = left @ weights
            p = np.exp(scores - np.logaddexp.reduce(scores))
            total += left.T @ (p[:, None] * (left - p @ left))
    return total


def differences(lists: Dataset) -> Floats:
    """The features less their means in each list: times weights, the scores up to what no loss depends on."""
    sums = np.add.reduceat(lists.features, lists.offsets[:-1])
    means = sums / np.diff(lists.offsets)[:, None]
    return np.asarray(lists.features - means[list_of_row(lists.offsets)])


def example(seed: int) -> Dataset:
    """30 noisy orders of six items by three features, the last of which is given twice: its weight can be split."""
    random = default_rng([seed, 8])
    x = random.standard_normal((180, 3))
    quality = x @ [1.0, -0.5, 0.25] + random.gumbel(size=180)
    labels = np.argsort(np.argsort(quality.reshape(30, 6), axis=1), axis=1).ravel()
    return Dataset(np.column_stack([x, x[:, -1]]), labels.astype(np.float64), np.arange(0, 181, 6))


def distances(lists: Dataset, sequential: Floats) -> list[float]:
    """The largest difference of a score between p-ListMLE with each of BASES and the process."""
    places = np.arange(np.diff(lists.offsets).max(), dtype=np.float64)
    start, everywhere = np.zeros(lists.n_features), np.eye(lists.n_features)
    found = (minimizer(lists, base**-places, start, everywhere) for base in BASES)
    return [float(np.abs(differences(lists) @ (weights - sequential)).max()) for weights in found]
