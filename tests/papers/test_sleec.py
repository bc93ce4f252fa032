"""SLEEC: singular value projection, nearest neighbors and the sum over clusterings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from luce.data.synthetic import tagged_documents
from papers.partition_2020 import sleec
from papers.partition_2020.sleec import SleecSettings, embed, near_inner_products, residuals


@pytest.fixture(scope="module")
def rows():
    return tagged_documents(120, n_words=30, n_labels=15, seed=0)


def low_rank(n: int, rank: int) -> np.ndarray:
    factor = np.random.default_rng(0).normal(size=(n, rank))
    return factor @ factor.T


def error(known: sparse.csr_array, embeddings: np.ndarray) -> float:
    return float(np.sum(residuals(known, embeddings).data ** 2))


@pytest.mark.parametrize("n", [6, 40])  # by a dense and by a sparse eigendecomposition
def test_all_inner_products_of_low_rank_are_recovered(n):
    products = low_rank(n, 3)
    found = embed(sparse.csr_array(products), 3)
    assert np.allclose(found @ found.T, products, atol=1e-6 * np.abs(products).max())


def test_missing_inner_products_of_low_rank_are_recovered():
    products = low_rank(40, 2)
    chosen = np.triu(np.random.default_rng(1).random((40, 40)) < 0.7)
    known = sparse.csr_array(np.where(chosen | chosen.T, products, 0))
    found = embed(known, 2, iterations=200)
    assert np.allclose(found @ found.T, products, atol=1e-3 * np.abs(products).max())


def test_the_objective_of_the_projection_falls(rows):
    known = near_inner_products(normalize(rows.labels.astype(float)), 10)
    errors = [error(known, embed(known, 4, iterations=count)) for count in (1, 2, 4, 8)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.9 * errors[0]


def test_residuals_are_those_of_known_pairs_only(monkeypatch, rows):
    monkeypatch.setattr(sleec, "BLOCK", 7)
    known = near_inner_products(normalize(rows.labels.astype(float)), 10)
    embeddings = np.random.default_rng(2).normal(size=(rows.n_rows, 3))
    dense = np.where(known.toarray() != 0, known.toarray() - embeddings @ embeddings.T, 0)
    stored = residuals(known, embeddings).toarray()
    assert np.allclose(stored[known.toarray() != 0], dense[known.toarray() != 0])


def test_each_row_is_paired_with_its_nearest_by_labels(rows):
    labels = normalize(rows.labels.astype(float))
    products, count = (labels @ labels.T).toarray(), 9
    known = near_inner_products(labels, count)
    for row in range(rows.n_rows):
        paired = known.indices[known.indptr[row] : known.indptr[row + 1]]
        assert len(paired) >= count and (known - known.T).nnz == 0
        assert np.allclose(known.data[known.indptr[row] : known.indptr[row + 1]], products[row, paired])
        # The largest are among the pairs, whichever of equal ones were taken.
        assert np.allclose(np.sort(products[row, paired])[::-1][:count], np.sort(products[row])[::-1][:count])


def test_an_inner_product_of_zero_is_known():
    known = near_inner_products(sparse.csr_array(np.eye(3)), 3)
    assert known.nnz == 9 and np.array_equal(known.toarray(), np.eye(3))


def test_scores_count_the_labels_of_the_nearest_rows(rows):
    train, new = rows.take(np.arange(90)), rows.take(np.arange(90, 120))
    settings, ridge, k = SleecSettings(2, 3, 10, 4), 0.5, 6
    fitted = sleec.fit(train, settings, seed=3)
    counts = sleec.label_counts(sleec.nearest_rows(fitted, train, new, ridge, k), train.labels).toarray()
    known, asked = (normalize(each.features.astype(float)).toarray() for each in (train, new))
    expected = np.zeros_like(counts)
    for kmeans, clusters in fitted:
        assert sorted(np.concatenate([cluster.rows for cluster in clusters])) == list(range(90))
        for row, features in enumerate(asked):
            cluster = clusters[np.argmin(np.sum((kmeans.cluster_centers_ - features) ** 2, axis=1))]
            x = known[cluster.rows]
            weights = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ cluster.embeddings)
            nearest = np.argsort(np.sum((x @ weights - features @ weights) ** 2, axis=1))[:k]
            expected[row] += train.labels[cluster.rows[nearest]].toarray().sum(axis=0)
    assert np.array_equal(counts, expected)


def test_a_cluster_with_few_rows_gives_all_of_them(rows):
    train = rows.take(np.arange(4))
    nearest = sleec.nearest_rows(sleec.fit(train, SleecSettings(1, 2, 10, 3), 0), train, rows, 1.0, 4)
    assert nearest.shape == (120, 1, 4) and (nearest == -1).any() and (nearest[:, 0, 0] >= 0).all()


def test_scorers_of_a_grid_are_those_of_each_setting_alone(rows):
    train, new, settings = rows.take(np.arange(90)), rows.take(np.arange(90, 120)), SleecSettings(1, 2, 10, 4)
    grid = [(0.5, 3), (0.5, 8), (5.0, 3)]
    together = dict(sleec.scorers(train, new, grid, settings, seed=0))
    assert list(together) == grid
    for parameters, scorer in together.items():
        [(_, alone)] = sleec.scorers(train, new, [parameters], settings, seed=0)
        assert np.array_equal(scorer(slice(5, 20)), alone(slice(5, 20))) and scorer(slice(0, 9)).shape == (9, 15)
