"""The partition likelihood against enumeration, a closed form, high precision and its fine-grid twin."""

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from luce.kernels.enumeration import consistent_orders, log_probability
from luce.kernels.partition_likelihood import cpu, level_likelihood, partition_likelihood, reference
from luce.lists import Lists, evaluate_kernel


def one_list(scores, labels, hessian=False, **settings):
    given = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float), np.array([0, len(scores)])
    loss, gradient, second, _ = partition_likelihood(Lists(*given, hessian=hessian), **settings)
    return loss[0], gradient, second


def partition_lower_bound(scores, labels, weights=None):
    lists = Lists(scores, labels, np.array([0, len(scores)]), weights)
    return evaluate_kernel(cpu.partition_lower_bound, lists, lists.weights)


def chosen_before_rest(chosen, rest, **settings):
    """log P(all chosen before the rest), where the rest is one item."""
    labels = np.append(np.ones(len(chosen)), 0)
    return -one_list(np.append(chosen, rest), labels, **settings)[0]


@pytest.mark.parametrize(("tol", "error"), [(1e-9, 1e-10), (1e-13, 1e-12)])
def test_equals_the_sum_over_all_orders(tol, error):
    rng = np.random.default_rng(1)
    for labels in ([0, 1], [1, 1, 0], [2, 2, 1, 0], [0, 2, 1, 1, 2], [1, 0, 1, 2, 0, 2], [1, 0, 2, 2, 1, 2, 0]):
        scores = rng.normal(0, 3, len(labels))
        expected = -logsumexp([log_probability(scores, order) for order in consistent_orders(labels)])
        assert one_list(scores, labels, tol=tol)[0] == pytest.approx(expected, abs=error)


def test_probabilities_of_all_partitions_of_one_shape_sum_to_one():
    from itertools import combinations

    scores = np.random.default_rng(0).normal(0, 2, 7)
    total = sum(np.exp(-one_list(scores, [i in top for i in range(7)])[0]) for top in combinations(range(7), 3))
    assert total == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("n", [2, 5, 20, 100, 500, 2000])
@pytest.mark.parametrize("gap", [-30, -10, -1, 0, 3, 5, 6, 7, 8, 9, 10, 30])
def test_equal_scores_have_a_closed_form(n, gap):
    with mpmath.workdps(50):
        b = mpmath.e**gap  # 1/a = e^{lse(R) − s}
        expected = float(mpmath.loggamma(n + 1) + mpmath.loggamma(1 + b) - mpmath.loggamma(n + 1 + b))
    assert chosen_before_rest(np.zeros(n), gap) == pytest.approx(expected, abs=1e-9, rel=1e-12)


def in_high_precision(chosen, rest):
    """The integral over log time by mpmath, with 60 digits for 1 − e^{−x} to eat into, in pieces around its peak."""
    with mpmath.workdps(60):
        a = [mpmath.e ** mpmath.mpf(float(s - rest)) for s in chosen]

        def log_integrand(z):
            t = mpmath.e**z
            return z - t + sum(mpmath.log(1 - mpmath.e ** (-ai * t)) for ai in a)

        pieces = list(range(-80, 9))
        heights = [log_integrand(z) for z in pieces]
        pieces = [z for z, height in zip(pieces, heights, strict=True) if height > max(heights) - 60]
        pieces = [pieces[0] - 1, *pieces, pieces[-1] + 1]
        top = max(heights)  # mpmath's tolerance is absolute
        return float(top + mpmath.log(mpmath.quad(lambda z: mpmath.e ** (log_integrand(z) - top), pieces)))


@pytest.mark.parametrize(("n", "spread"), [(1, 2), (2, 10), (5, 0.1), (5, 3), (8, 10)])
def test_equals_high_precision(n, spread):
    chosen = np.random.default_rng(n).normal(0, spread, n)
    for gap in (-30, 0, 30):
        assert chosen_before_rest(chosen, gap) == pytest.approx(in_high_precision(chosen, gap), abs=1e-9)


@pytest.mark.parametrize("n", [2, 5, 20, 100, 500])
@pytest.mark.parametrize("spread", [0.1, 3, 10])
def test_equals_its_twin(n, spread):
    rng = np.random.default_rng(n)
    chosen = rng.normal(0, spread, n)
    for gap in (-30, -5, 0, 30):
        log_p, q = reference.choice(chosen, [gap])
        loss, gradient, _ = one_list(np.append(chosen, gap), np.append(np.ones(n), 0))
        assert -loss == pytest.approx(log_p, abs=1e-9)
        np.testing.assert_allclose(gradient[:-1], -q, atol=1e-9)
        single = one_list(np.append(chosen, gap).astype(np.float32), np.append(np.ones(n), 0))[0]
        assert single == pytest.approx(loss, rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("spread", [0.5, 5, 30])
def test_lists_with_several_partitions(spread):
    rng = np.random.default_rng(3)
    for n in (3, 10, 60):
        scores, labels = rng.normal(0, spread, n), rng.integers(0, 5, n).astype(float)
        labels[rng.random(n) < 0.2] = np.nan
        loss, gradient, _ = one_list(scores, labels)
        expected = reference.partition_likelihood(scores, labels)
        assert loss == pytest.approx(expected[0], abs=1e-9)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-8)
        assert gradient.sum() == pytest.approx(0, abs=1e-12)


def test_log_probability_is_concave():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 12)
    for _ in range(100):
        a, b = rng.normal(0, 5, (2, 12))
        ends = (one_list(a, labels)[0] + one_list(b, labels)[0]) / 2
        assert one_list((a + b) / 2, labels)[0] <= ends + 1e-9


@pytest.mark.parametrize("spread", [100, 1e3, 1e4])
def test_scores_far_apart(spread):
    rng = np.random.default_rng(0)
    scores, labels = rng.uniform(-spread, spread, 50), rng.integers(0, 3, 50)
    loss, gradient, second = one_list(scores, labels, hessian=True)
    assert np.isfinite(loss) and np.isfinite(gradient).all() and np.isfinite(second).all()
    assert gradient.sum() == pytest.approx(0, abs=1e-9)
    # The best order inside the sets is one of Π n_m! consistent ones, and the most likely of them.
    best = -log_probability(scores, np.lexsort((-scores, -labels)))
    assert best - gammaln(np.bincount(labels) + 1).sum() <= loss <= best


def test_the_best_of_all_worlds_is_exact():
    loss, gradient, _ = one_list([1e4, 1e4, -1e4, -1e4], [1, 1, 0, 0])
    assert loss == pytest.approx(0, abs=1e-11)
    np.testing.assert_allclose(gradient, 0, atol=1e-15)
    assert one_list([-1e4, -1e4, 1e4], [1, 1, 0])[0] == pytest.approx(4e4 - np.log(2), abs=1e-9)


def test_lower_bound():
    rng = np.random.default_rng(2)
    for n in (2, 5, 30):
        scores, labels = rng.normal(0, 3, n), rng.integers(0, 4, n).astype(float)
        weights = rng.uniform(0, 2, n)
        for w in (None, weights):
            loss, gradient, *_ = partition_lower_bound(scores, labels, w)
            expected = reference.lower_bound(scores, labels, w)
            assert loss[0] == pytest.approx(expected[0], abs=1e-12)
            np.testing.assert_allclose(gradient, expected[1], atol=1e-12)
        assert partition_lower_bound(scores, labels).loss[0] >= one_list(scores, labels)[0] - 1e-9


def test_sorted_rows_give_the_same_as_labels():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.concatenate([np.unique(np.sort(rng.integers(0, n, n)), return_inverse=True)[1] for n in sizes])
    scores = rng.normal(0, 3, offsets[-1])
    expected = partition_likelihood(Lists(scores, -places.astype(float), offsets), 1e-12)
    loss, gradient = level_likelihood(scores, places, offsets, 1e-12, n_jobs=1)
    np.testing.assert_allclose(loss, expected.loss, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, expected.gradient, rtol=1e-10, atol=1e-12)
