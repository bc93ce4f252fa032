"""LEML: each half of the alternation is exact, and the objective never increases."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from luce.data.synthetic import tagged_documents
from papers.partition_2020 import leml
from papers.partition_2020.leml import Factors, feature_factor, label_factor, loss

PENALTY, RANK = 0.7, 3


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    features = sparse.csr_array(random.normal(size=(12, 5)) * (random.random((12, 5)) < 0.6))
    labels = sparse.csr_array((random.random((12, 4)) < 0.4).astype(float))
    return features, labels, Factors(random.normal(size=(5, RANK)), random.normal(size=(4, RANK)))


def test_the_labels_are_a_ridge_regression_on_the_embeddings(problem):
    features, labels, factors = problem
    z = features @ factors.features
    expected = np.linalg.solve(z.T @ z + PENALTY / 2 * np.eye(RANK), z.T @ labels.toarray()).T
    assert np.allclose(label_factor(features, labels, factors.features, PENALTY), expected)


def test_the_features_are_the_solution_of_the_dense_system(problem):
    features, labels, factors = problem
    x, y, h = features.toarray(), labels.toarray(), factors.labels
    # vec(X W Hᵀ) = (H ⊗ X) vec(W), columns stacked.
    system = np.kron(h, x)
    normal = system.T @ system + PENALTY / 2 * np.eye(system.shape[1])
    expected = np.linalg.solve(normal, system.T @ y.ravel(order="F")).reshape((5, RANK), order="F")
    found = feature_factor(features, labels, h, PENALTY, np.zeros((5, RANK)), iterations=100)
    assert np.allclose(found, expected, atol=1e-5)
    # From the solution there is nowhere to go.
    assert np.allclose(feature_factor(features, labels, h, PENALTY, expected), expected)


def test_no_step_increases_the_objective(problem):
    features, labels, factors = problem
    losses = [loss(features, labels, factors, PENALTY)]
    for _ in range(6):
        factors = factors._replace(labels=label_factor(features, labels, factors.features, PENALTY))
        losses.append(loss(features, labels, factors, PENALTY))
        step = feature_factor(features, labels, factors.labels, PENALTY, factors.features, iterations=2)
        factors = factors._replace(features=step)
        losses.append(loss(features, labels, factors, PENALTY))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(losses))
    assert losses[-1] < losses[0]


def test_the_objective_is_the_sum_of_squares_and_the_penalty(problem):
    features, labels, (w, h) = problem
    squares = sum((labels.toarray()[i, j] - features.toarray()[i] @ w @ h[j]) ** 2 for i in range(12) for j in range(4))
    expected = squares + PENALTY / 2 * (np.sum(w**2) + np.sum(h**2))
    assert loss(features, labels, Factors(w, h), PENALTY) == pytest.approx(expected)


def test_a_fit_of_full_rank_without_penalty_is_least_squares(problem):
    features, labels, _ = problem
    w, h = leml.fit(features, labels, 1e-9, seed=0, rank=5)
    x = features.toarray()
    assert np.allclose(x @ w @ h.T, x @ np.linalg.pinv(x) @ labels.toarray(), atol=1e-3)


def test_scores_of_blocks():
    rows = tagged_documents(40, n_words=10, n_labels=6, seed=0)
    train, new = rows.take(np.arange(30)), rows.take(np.arange(30, 40))
    found = dict(leml.scorers(train, new, [(1.0,), (10.0,)], seed=0))
    for (penalty,), scorer in found.items():
        w, h = leml.fit(leml.inputs(train.features), train.labels.astype(float), penalty, seed=0)
        assert np.allclose(scorer(slice(2, 7)), (leml.inputs(new.features) @ w @ h.T)[2:7])
    inputs = leml.inputs(rows.features).toarray()
    assert np.allclose(np.sum(inputs[:, :-1] ** 2, axis=1), 1) and (inputs[:, -1] == 1).all()
