"""The two products of a linear scorer against NumPy on a float64 copy."""

import numpy as np
import pytest
from scipy import sparse

from luce.kernels.linear_products import BLOCK, reference, scores_of, weights_of


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (1, 1), (7, 0), (50, 137), (2 * BLOCK + 11, 5)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_numpy(rows, columns, form):
    rng = np.random.default_rng(rows)
    dense = rng.normal(size=(rows, columns)).astype(np.float32)
    w, g = rng.normal(size=columns), rng.normal(size=rows)
    for jobs in (1, 2):
        np.testing.assert_allclose(scores_of(form(dense), w, n_jobs=jobs), reference.scores_of(dense, w), atol=1e-12)
        np.testing.assert_allclose(weights_of(form(dense), g, n_jobs=jobs), reference.weights_of(dense, g), atol=1e-10)


def test_sums_are_kept_in_float64():
    features = np.array([[1e8], [1], [-1e8]], dtype=np.float32)
    assert weights_of(features, np.ones(3))[0] == 1
    assert scores_of(features.T.copy(), np.ones(3))[0] == 1


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3 * BLOCK, 9)).astype(np.float32)
    g = rng.normal(size=len(features))
    np.testing.assert_array_equal(weights_of(features, g, n_jobs=1), weights_of(features, g, n_jobs=3))
