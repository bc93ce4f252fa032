"""Newton's method: it finds optima of convex and of bent functions, directly or not, and says how it ended."""

import itertools

import numpy as np
import pytest

from luce.optimizers import newton
from luce.optimizers.minorize_maximize import scale_worths
from luce.optimizers.newton import minimize


class Function:
    """Σ log cosh(A x − b) + ½ c ‖x‖², with its derivatives; c = 0 and fewer rows than columns leave flat directions."""

    def __init__(self, rows, columns, c=0.0, seed=0):
        rng = np.random.default_rng(seed)
        self.a, self.b, self.c = rng.normal(size=(rows, columns)), rng.normal(0, 3, rows), c
        self.evaluations = self.matrices = 0

    def __call__(self, x):
        self.evaluations += 1
        t = self.a @ x - self.b
        return float(np.logaddexp(t, -t).sum() + 0.5 * self.c * x @ x), self.a.T @ np.tanh(t) + self.c * x

    def curvature(self, x):
        weights = 1 / np.cosh(self.a @ x - self.b) ** 2
        outer = self

        class Here:
            def product(self, d):
                return outer.a.T @ (weights * (outer.a @ d)) + outer.c * d

            def diagonal(self):
                return (outer.a**2).T @ weights + outer.c

            def matrix(self):
                outer.matrices += 1
                return (outer.a.T * weights) @ outer.a + outer.c * np.eye(outer.a.shape[1])

        return Here()


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("flat", [False, True])
def test_the_gradient_vanishes(direct, flat):
    function = Function(30, 40 if flat else 8)
    start = np.random.default_rng(1).normal(0, 5, function.a.shape[1])
    point, end = minimize(function, function.curvature, start, tol=1e-9, max_iter=200, direct=direct)
    assert end.converged
    assert np.abs(function(point)[1]).max() == end.gradient <= 1e-9
    assert (end.products == 0) == direct
    assert np.abs(point).max() < 100  # nothing runs away where the function is flat


def test_every_step_goes_down_and_is_told():
    function, seen = Function(30, 5, seed=3), []
    start = np.full(5, 40.0)
    _point, end = minimize(
        function,
        function.curvature,
        start,
        tol=1e-10,
        max_iter=100,
        direct=True,
        watch=lambda *step: seen.append(step),
    )
    values = [function(start)[0], *(value for _, value, _ in seen)]
    assert len(seen) == end.iterations
    assert all(after <= before + 1e-12 * before for before, after in itertools.pairwise(values))
    assert seen[-1][2] == end.gradient


def test_a_long_search_hands_over_to_the_direct_method(monkeypatch):
    monkeypatch.setattr(newton, "LONG_SEARCH", 3)
    function = Function(60, 30, c=1e-3)
    end = minimize(function, function.curvature, np.zeros(30), tol=1e-9, max_iter=50, direct=False)[1]
    assert end.converged
    assert 0 < function.matrices < end.iterations


def test_too_few_iterations_are_told():
    function = Function(30, 8)
    end = minimize(function, function.curvature, np.zeros(8), tol=1e-12, max_iter=1, direct=True)[1]
    assert not end.converged
    assert str(end).startswith("NOT converged after 1 iterations")


def test_a_step_out_of_the_domain_is_shortened():
    def function(x):  # x − log x, infinite below 0; from 10 the full step leads to −80
        return (float(x[0] - np.log(x[0])), 1 - 1 / x) if x[0] > 0 else (np.inf, np.zeros(1))

    class Here:
        def __init__(self, x):
            self.x = x

        def matrix(self):
            return np.array([[1 / self.x[0] ** 2]])

    point, end = minimize(function, Here, np.array([10.0]), tol=1e-12, max_iter=50, direct=True)
    assert end.converged
    assert point[0] == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("direct", [True, False])
def test_a_bent_down_function_still_goes_down(direct):
    evaluations = []

    def function(x):  # (x² − 1)², bent down between −0.58 and 0.58
        evaluations.append(x)
        return float(((x**2 - 1) ** 2).sum()), 4 * x * (x**2 - 1)

    class Here:
        def __init__(self, x):
            self.second = 12 * x**2 - 4

        def product(self, d):
            return self.second * d

        def diagonal(self):
            return np.abs(self.second)

        def matrix(self):
            return np.diag(self.second)

    point, end = minimize(function, Here, np.array([0.1, -0.2]), tol=1e-10, max_iter=100, direct=direct)
    assert end.converged
    np.testing.assert_allclose(np.abs(point), 1, atol=1e-9)
    assert len(evaluations) < 4 * end.iterations + 4  # no step was far too long


def test_a_matrix_that_is_singular_but_for_rounding():
    # Shifts change nothing; rounding leaves a pivot just above 0, and a gradient not quite free of shifts.
    for seed in range(200):
        weights = np.triu(np.random.default_rng(seed).random((6, 6)), 1)
        matrix = np.diag((weights + weights.T).sum(axis=1)) - weights - weights.T
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
        gradient = np.array([1.0, -1, 0.5, -0.5, 0, 1e-12])
        step = newton._direct(matrix, gradient)
        assert np.abs(step).max() < 10
        np.testing.assert_allclose(matrix @ step, -gradient, atol=1e-8)
        return
    pytest.fail("no seed gives such a matrix")


def test_scaling_worths_never_lowers_the_likelihood():
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 9, (5, 5)).astype(float)
    np.fill_diagonal(wins, 0)
    played = wins + wins.T

    def expected(scores):
        return (played / (1 + np.exp(scores - scores[:, None]))).sum(axis=1)

    def log_likelihood(scores):
        return -(wins * np.log1p(np.exp(scores - scores[:, None]))).sum()

    scores, values = np.zeros(5), []
    for _ in range(50):
        values.append(log_likelihood(scores))
        scores = scale_worths(expected, wins.sum(axis=1), scores, steps=1)
    assert all(after >= before - 1e-12 for before, after in itertools.pairwise(values))
    np.testing.assert_allclose(expected(scores), wins.sum(axis=1), rtol=1e-4)


def test_an_item_without_wins_keeps_its_score():
    scores = scale_worths(lambda s: np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([0.3, 0.7]), steps=2)
    np.testing.assert_allclose(scores, [0.3 + 2 * np.log(2), 0.7])
