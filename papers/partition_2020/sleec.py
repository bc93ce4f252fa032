"""SLEEC (Bhatia et al. 2015): label vectors are embedded locally, and rows take the labels of their nearest neighbors.

The rows, scaled to length 1, are clustered by k-means. In each cluster the label vectors, scaled to length 1, are
embedded such that the inner products of near ones are kept, by singular value projection; ridge regression maps the
features to the embeddings. A new row is mapped by the regression of its cluster, and the score of a label is the number
of its nearest training rows that have it, summed over several clusterings.

The l1 penalty of the regression is left out. In the authors' code it has no effect: its threshold is far above all
embeddings.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from luce.arrays import Floats, Integers, offsets_of_sizes
from luce.data.extreme import TaggedData


class SleecSettings(NamedTuple):
    """The numbers of clusterings, of clusters in each, of inner products kept for each row, and of dimensions."""

    clusterings: int
    clusters: int
    near_labels: int
    dimensions: int


PUBLISHED = {
    "delicious": SleecSettings(1, 1, 500, 100),
    "eurlex-4k": SleecSettings(5, 3, 100, 100),
    "wiki10-31k": SleecSettings(5, 5, 50, 75),
    "delicious-200k": SleecSettings(5, 50, 50, 50),
}
"""The authors' settings, in the files of parameters that come with their code."""


def settings_for(name: str, rows: int, published_rows: int) -> SleecSettings:
    """The published settings of a dataset, with as many clusters as keep the number of rows in each.

    Clusterings into one cluster are all the same, so there is one.

    >>> settings_for("eurlex-4k", 15_539, 15_539).clusters, settings_for("eurlex-4k", 1_000, 15_539)[:2]
    (3, (1, 1))
    """
    settings = PUBLISHED[name]
    clusters = max(1, round(settings.clusters * rows / published_rows))
    return settings._replace(clusters=clusters, clusterings=settings.clusterings if clusters > 1 else 1)


ITERATIONS, TOLERANCE = 10, 1e-3
"""Of the singular value projection; further iterations did not change the precision on validation rows."""

BLOCK = 1_024
"""Rows whose inner products with all rows are in memory at once."""


class Cluster(NamedTuple):
    """The training rows of a cluster and the embeddings of their label vectors."""

    rows: Integers
    embeddings: Floats


class Clustering(NamedTuple):
    """A clustering of the training rows."""

    kmeans: KMeans
    clusters: Sequence[Cluster]


def fit(data: TaggedData, settings: SleecSettings, seed: int) -> list[Clustering]:
    """Cluster the rows several times, and embed the label vectors of each cluster."""
    features, labels = (normalize(each.astype(np.float64)) for each in (data.features, data.labels))
    clusterings = []
    for number in range(settings.clusterings):
        kmeans = KMeans(settings.clusters, n_init=1, random_state=settings.clusterings * seed + number).fit(features)
        members = (np.flatnonzero(kmeans.labels_ == cluster) for cluster in range(settings.clusters))
        clusters = [
            Cluster(rows, embed(near_inner_products(labels[rows], settings.near_labels), settings.dimensions))
            for rows in members
        ]
        clusterings.append(Clustering(kmeans, clusters))
    return clusterings


def scorers(
    train: TaggedData, rows: TaggedData, grid: Sequence[tuple[float, ...]], settings: SleecSettings, seed: int
) -> Iterator[tuple[tuple[float, ...], Callable[[slice], Floats]]]:
    """The scores of the labels of some rows, in blocks, for each ridge penalty and number of neighbors."""
    clusterings, most = fit(train, settings, seed), int(max(neighbors for _, neighbors in grid))
    for ridge in dict.fromkeys(ridge for ridge, _ in grid):
        nearest = nearest_rows(clusterings, train, rows, ridge, most)
        for neighbors in (int(each[1]) for each in grid if each[0] == ridge):
            counts = label_counts(nearest[:, :, :neighbors], train.labels)
            yield (ridge, neighbors), partial(_rows, counts)


def _rows(counts: sparse.csr_array, block: slice) -> Floats:
    return counts[block].toarray()


def near_inner_products(labels: sparse.csr_array, count: int) -> sparse.csr_array:
    """The inner products of each row with the `count` rows for which they are largest, as a symmetric matrix."""
    n, columns, values = labels.shape[0], [], []
    count, transposed = min(count, n), labels.T.tocsr()
    for start in range(0, n, BLOCK):
        products = (labels[start : start + BLOCK] @ transposed).toarray()
        nearest = np.argpartition(-products, count - 1, axis=1)[:, :count]
        columns.append(nearest.ravel())
        values.append(np.take_along_axis(products, nearest, axis=1).ravel())
    # An inner product of 0 is known, too: with 1 added it is not dropped.
    shape, offsets = (n, n), np.arange(n + 1) * count
    products = sparse.csr_array((np.concatenate(values) + 1, np.concatenate(columns), offsets), shape=shape)
    symmetric = products.maximum(products.T).tocsr()
    symmetric.data -= 1
    return symmetric


def embed(known: sparse.csr_array, dimensions: int, iterations: int = ITERATIONS) -> Floats:
    """Embeddings Z whose inner products are near the known ones of some pairs: min ‖P(G − ZZᵀ)‖².

    Singular value projection: a gradient step on ZZᵀ, then the nearest positive semidefinite matrix of that rank. With
    step size 1 the objective never increases.
    """
    embeddings = np.zeros((known.shape[0], min(dimensions, known.shape[0])))
    for _ in range(iterations):
        embeddings = _projection(residuals(known, embeddings), embeddings)
    return embeddings


def residuals(known: sparse.csr_array, embeddings: Floats) -> sparse.csr_array:
    """The known inner products minus those of the embeddings."""
    left = known.copy()
    for start in range(0, known.shape[0], BLOCK):
        ends = known.indptr[start : start + BLOCK + 1]
        entries, products = slice(ends[0], ends[-1]), embeddings[start : start + BLOCK] @ embeddings.T
        left.data[entries] -= products[np.repeat(np.arange(len(products)), np.diff(ends)), known.indices[entries]]
    return left


def _projection(step: sparse.csr_array, embeddings: Floats) -> Floats:
    """The factor of the positive semidefinite matrix nearest to `step` + ZZᵀ of the same rank as Z."""
    n, dimensions = embeddings.shape
    if n <= 2 * dimensions:
        values, vectors = np.linalg.eigh(step.toarray() + embeddings @ embeddings.T)
        values, vectors = values[-dimensions:], vectors[:, -dimensions:]
    else:
        product = LinearOperator((n, n), lambda v: step @ v + embeddings @ (embeddings.T @ v), dtype=np.float64)
        # The embeddings hardly turn from step to step, so the last ones are a good start.
        start = embeddings.sum(axis=1) if embeddings.any() else np.ones(n)
        values, vectors = eigsh(product, dimensions, which="LA", v0=start, tol=TOLERANCE)
    return vectors * np.sqrt(np.maximum(values, 0))


def nearest_rows(
    clusterings: Sequence[Clustering], train: TaggedData, rows: TaggedData, ridge: float, count: int
) -> Integers:
    """The training rows nearest to each row in the embedding of its cluster, nearest first.

    The shape is (rows, clusterings, count); −1 where the cluster has fewer rows.
    """
    features, new = (normalize(each.features.astype(np.float64)) for each in (train, rows))
    found = np.full((rows.n_rows, len(clusterings), count), -1)
    for number, clustering in enumerate(clusterings):
        nearest_center = clustering.kmeans.predict(new)
        for name, cluster in enumerate(clustering.clusters):
            asked = np.flatnonzero(nearest_center == name)
            if len(asked):
                known = features[cluster.rows]
                regression = Ridge(ridge, fit_intercept=False, solver="cholesky").fit(known, cluster.embeddings)
                k = min(count, len(cluster.rows))
                index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_predict(regression, known))
                nearest = index.kneighbors(_predict(regression, new[asked]), return_distance=False)
                found[asked, number, :k] = cluster.rows[nearest]
    return found


def _predict(regression: Ridge, features: sparse.csr_array) -> Floats:
    """The embeddings as a table, also those of one dimension."""
    return np.asarray(regression.predict(features)).reshape(features.shape[0], -1)


def label_counts(nearest: Integers, labels: sparse.csr_array) -> sparse.csr_array:
    """In how many of the nearest training rows of each row a label is relevant: its score."""
    flat = nearest.reshape(len(nearest), -1)
    known = flat >= 0
    ones, offsets = np.ones(known.sum()), offsets_of_sizes(known.sum(axis=1))
    return sparse.csr_array((ones, flat[known], offsets), shape=(len(flat), labels.shape[0])) @ (labels > 0)
