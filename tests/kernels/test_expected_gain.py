"""The estimators of an expected gain: equal to their printed forms, unbiased, honest about their noise."""

import numpy as np
import pytest
from mpmath import exp as mp_exp
from mpmath import mpf, workdps

from luce.errors import DataError
from luce.kernels.expected_gain import AUTO, ESTIMATORS, LEAST, MOST, PILOT, expected_gain, reference
from luce.kernels.sampled_rankings import sample_rankings
from luce.kernels.sampled_rankings.reference import prefix_probabilities
from luce.randomness import Draw

DCG_2, PRECISION_3 = 1 / np.log2([2.0, 3.0]), np.full(3, 1 / 3)
GAINS = np.array([3.0, 0, 1, 7, 0])
SCORES = {
    "mixed": np.array([1.0, 0, 0.5, -1, 2]),
    "equal": np.zeros(5),
    "30, 20, 1, 0": np.array([30.0, 20, 1, 0]),
    "gaps of 1,000": np.array([3_000.0, 1_000, 4_000, 0, 2_000]),
}
FORMS = {
    "policy-gradient": reference.policy_gradient,
    "pl-rank-1": lambda *given: reference.algorithm_1(*given, direct=False),
    "pl-rank-2": reference.algorithm_1,
}
EVERY = pytest.mark.parametrize("estimator", ESTIMATORS)


def made(spread, n=23, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, spread, n), rng.integers(0, 5, n).astype(float), np.array([0, n])


@EVERY
@pytest.mark.parametrize("spread", [0, 1, 3, 6, 30, 300, 3_000])
@pytest.mark.parametrize("depth", [1, 5, 23, 30])
def test_the_printed_forms_on_the_same_rankings(estimator, spread, depth):
    scores, gains, offsets = made(spread)
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    rankings = sample_rankings(scores, offsets, samples=12, depth=depth, draw=Draw(4))
    expected = FORMS[estimator](scores, gains, discounts[: rankings.shape[2]], rankings[0])
    settings = {"estimator": estimator, "samples": 12, "draw": Draw(4)}
    for found in (
        expected_gain(scores, gains, offsets, discounts, **settings),
        expected_gain(scores, gains, offsets, discounts, variance=True, **settings),
        expected_gain(scores, gains, offsets, discounts, rankings=rankings, estimator=estimator),
        expected_gain(scores, gains, offsets, discounts, rankings=rankings, estimator=estimator, variance=True),
    ):
        np.testing.assert_allclose(found.gradient, expected, rtol=0, atol=1e-10)
        rewards = gains[rankings[0]] @ discounts[: rankings.shape[2]]
        assert found.value[0] == pytest.approx(rewards.mean(), rel=1e-12)
        assert found.samples[0] == 12


def algorithm_1_as_printed(m, rho, theta, rankings, direct):
    """Lines 3 to 17, with the denominator that is subtracted from; ω_{K+1} is 0. PL-Rank-1: lines 11 and 15 altered."""
    lambdas = np.zeros(len(m))
    denominator = np.sum(np.exp(m))
    for y in rankings:
        left = denominator
        omega = np.zeros(len(y) + 1)
        omega[len(y) - 1] = theta[len(y) - 1] * rho[y[-1]]
        for k in range(len(y) - 2, -1, -1):
            omega[k] = omega[k + 1] + theta[k] * rho[y[k]]
        for k in range(len(y)):
            lambdas[y[k]] += omega[k + 1] if direct else omega[k]
            for d in range(len(m)):
                if d not in y[:k]:
                    probability = np.exp(m[d]) / left
                    lambdas[d] += probability * ((theta[k] * rho[d] if direct else 0) - omega[k])
            left -= np.exp(m[y[k]])
    return lambdas / len(rankings)


@pytest.mark.parametrize("estimator", ["pl-rank-1", "pl-rank-2"])
@pytest.mark.parametrize(("spread", "depth"), [(0, 1), (0, 23), (1, 2), (1, 10), (3, 3)])
def test_algorithm_1_as_printed_on_the_same_rankings(estimator, spread, depth):
    scores, gains, offsets = made(spread)
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    rankings = sample_rankings(scores, offsets, samples=20, depth=depth, draw=Draw(9))
    printed = algorithm_1_as_printed(scores, gains, discounts, rankings[0], direct=estimator != "pl-rank-1")
    found = expected_gain(scores, gains, offsets, discounts, rankings=rankings, estimator=estimator)
    drawn = expected_gain(scores, gains, offsets, discounts, samples=20, draw=Draw(9), estimator=estimator)
    np.testing.assert_allclose(found.gradient, printed, rtol=0, atol=1e-10)
    np.testing.assert_allclose(drawn.gradient, printed, rtol=0, atol=1e-10)


def test_the_placement_policy_gradient_is_pl_rank_1():
    for spread in (0.5, 5, 500):
        scores, gains, offsets = made(spread)
        rankings = sample_rankings(scores, offsets, samples=30, depth=6)
        printed = reference.placement_policy_gradient(scores, gains, np.ones(6), rankings[0])
        found = expected_gain(scores, gains, offsets, np.ones(6), rankings=rankings, estimator="pl-rank-1").gradient
        np.testing.assert_allclose(found, printed, rtol=0, atol=1e-10)


def case(name, metric):
    scores = SCORES[name]
    gains = GAINS[: len(scores)] if len(scores) == 5 else np.array([0.0, 1, 3, 7])
    return (scores, gains, DCG_2) if metric == "dcg@2" else (scores, (gains > 0) * 1.0, PRECISION_3)


def exact_variance(estimator, scores, gains, discounts):
    """Of one sample: mean and variance of what each item is given, over all rankings."""
    probabilities = prefix_probabilities(scores, len(discounts))
    given = np.array([FORMS[estimator](scores, gains, discounts, [prefix]) for prefix in probabilities])
    p = np.array(list(probabilities.values()))
    return p @ given, p @ (given - p @ given) ** 2


@pytest.mark.parametrize("metric", ["dcg@2", "precision@3"])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("samples", [300_000, AUTO])
@EVERY
def test_estimates_are_unbiased(estimator, name, metric, samples):
    scores, gains, discounts = case(name, metric)
    exact = reference.exact(scores, gains, discounts)[1]
    mean, variance = exact_variance(estimator, scores, gains, discounts)
    np.testing.assert_allclose(mean, exact, atol=1e-12)
    n_lists = 3_000 if samples == AUTO else 1
    offsets = np.arange(n_lists + 1) * len(scores)
    found = expected_gain(
        np.tile(scores, n_lists), np.tile(gains, n_lists), offsets, discounts, samples=samples, estimator=estimator
    )
    gradient = found.gradient.reshape(n_lists, -1).mean(axis=0)
    error = np.sqrt(variance * np.mean(1 / found.samples) / n_lists)
    assert (np.abs(gradient - exact) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("metric", ["dcg@2", "precision@3"])
@pytest.mark.parametrize("name", SCORES)
def test_variances_at_equal_samples(name, metric):
    names = ("policy-gradient", "pl-rank-1", "pl-rank-2")
    policy, placement, direct = (exact_variance(one, *case(name, metric))[1].sum() for one in names)
    print(f"{name:15} {metric:12} variance of one sample: {policy:.3g} > {placement:.3g} ≥ {direct:.3g}")
    assert policy > placement >= direct or (name == "gaps of 1,000" and policy == placement == direct == 0)


@EVERY
@pytest.mark.parametrize("name", SCORES)
def test_estimates_know_their_noise(estimator, name):
    scores, gains, discounts = case(name, "precision@3")
    variance = exact_variance(estimator, scores, gains, discounts)[1]
    offsets, samples = np.array([0, len(scores)]), 100_000
    found = expected_gain(scores, gains, offsets, discounts, samples=samples, estimator=estimator, variance=True)
    rare = name == "30, 20, 1, 0"  # what varies happens once in 20,000 samples
    np.testing.assert_allclose(found.gradient_variance * samples, variance, rtol=0.05, atol=2e-5 if rare else 0)
    rankings = sample_rankings(scores, offsets, samples=40, depth=3)
    found = expected_gain(scores, gains, offsets, discounts, rankings=rankings, estimator=estimator, variance=True)
    alone = [FORMS[estimator](scores, gains, discounts, [ranking]) for ranking in rankings[0]]
    np.testing.assert_allclose(found.gradient_variance, np.var(alone, axis=0, ddof=1) / 40, atol=1e-12)
    rewards = gains[rankings[0]] @ discounts
    np.testing.assert_allclose(found.value_variance, np.var(rewards, ddof=1) / 40, atol=1e-12)
    once = expected_gain(scores, gains, offsets, discounts, samples=1, variance=True)
    assert np.isnan(once.value_variance).all() and np.isnan(once.gradient_variance).all()


@pytest.mark.parametrize("step", [5, 30, 85, 300])
def test_digits_are_right_however_little_mass_is_left(step):
    scores, gains = -step * np.arange(8.0), np.array([0.0, 1, 0, 2, 5, 0, 3, 1])
    for ranking in ([0, 1, 2, 3, 4], [0, 2, 1, 4, 3]):
        with workdps(1_500):
            exact = np.array([float(value) for value in pl_rank_2_in_many_digits(scores, gains, np.ones(5), ranking)])
        given = {"rankings": np.array([[ranking]]), "samples": 1}
        for variance in (False, True):
            found = expected_gain(scores, gains, np.array([0, 8]), np.ones(5), variance=variance, **given).gradient
            np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-14)
            np.testing.assert_allclose(found[5:], exact[5:], rtol=1e-11, atol=1e-300)  # never placed, tiny


def pl_rank_2_in_many_digits(scores, gains, discounts, ranking):
    weights, given = [mp_exp(mpf(score)) for score in scores], [mpf(0)] * len(scores)
    for k, item in enumerate(ranking):
        left = [j for j in range(len(scores)) if j not in ranking[:k]]
        following = sum(mpf(discounts[x]) * mpf(gains[ranking[x]]) for x in range(k, len(ranking)))
        given[item] += following - mpf(discounts[k]) * mpf(gains[item])
        for j in left:
            share = weights[j] / sum(weights[other] for other in left)
            given[j] += share * (mpf(discounts[k]) * mpf(gains[j]) - following)
    return given


def test_samples_rise_where_noise_dominates():
    rng = np.random.default_rng(0)
    n_lists, kinds = 100, 4
    scores, gains = rng.normal(size=(kinds, 30)), np.ones((kinds, 30))
    gains[0] = rng.integers(0, 4, 30)  # a signal, one lost in noise, none, and one without noise
    gains[1] += 1e-2 * rng.normal(size=30)
    gains[3], scores[3] = rng.integers(0, 3, 30), 1e4 * scores[3]
    rows, offsets = [np.tile(part.ravel(), n_lists) for part in (scores, gains)], np.arange(kinds * n_lists + 1) * 30
    known = expected_gain(scores[0], gains[0], np.array([0, 30]), np.ones(5), samples=50_000, variance=True)
    wanted = 50_000 * known.gradient_variance.sum() / (known.gradient**2).sum()
    found = expected_gain(*rows, offsets, np.ones(5), samples=AUTO)
    used = found.samples.reshape(n_lists, kinds)
    assert LEAST < wanted < MOST / 4
    assert np.median(used[:, 0]) == pytest.approx(wanted, rel=0.3)
    assert used[:, 1].mean() > MOST / 2 and used[:, 1].max() == MOST
    assert (used[:, 2] == 0).all() and (used[:, 3] == LEAST).all()
    # The pilot counts for nothing else.
    again = expected_gain(*rows, offsets, np.ones(5), samples=int(used[0, 0]), first_sample=PILOT)
    np.testing.assert_array_equal(again.gradient[:30], found.gradient[:30])


def test_gains_all_alike_need_no_sample():
    found = expected_gain(np.arange(3.0), np.full(3, 2.0), np.array([0, 3]), DCG_2, variance=True)
    assert found.value[0] == pytest.approx(2 * DCG_2.sum())
    assert not found.gradient.any() and not found.gradient_variance.any() and found.samples[0] == 0


def test_items_that_cannot_be_placed_are_as_if_not_there():
    scores, gains = np.array([0.5, -np.inf, 1.0, 0, -np.inf]), np.array([1.0, 9, 0, 3, 9])
    kept = np.isfinite(scores)
    for discounts in (np.ones(1), np.arange(3.0, 0, -1), np.ones(9)):
        some = expected_gain(scores, gains, np.array([0, 5]), discounts, samples=200_000, variance=True)
        exact = reference.exact(scores[kept], gains[kept], discounts[:3])
        assert (np.abs(some.gradient[kept] - exact[1]) <= 4 * np.sqrt(some.gradient_variance[kept]) + 1e-12).all()
        assert not some.gradient[~kept].any()
    nothing = expected_gain(np.full(2, -np.inf), np.array([1.0, 2]), np.array([0, 0, 2]), np.ones(2))
    assert not nothing.value.any() and not nothing.gradient.any() and not nothing.samples.any()


def test_the_exact_gradient_is_the_finite_difference():
    for name in ("mixed", "equal"):
        scores, gains, discounts = case(name, "dcg@2")
        gradient = reference.exact(scores, gains, discounts)[1]
        for i, step in enumerate(np.eye(5) * 1e-5):
            above, below = (reference.exact(scores + d, gains, discounts)[0] for d in (step, -step))
            assert gradient[i] == pytest.approx((above - below) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("samples", [40, AUTO])
def test_threads_and_batches_change_nothing(samples):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 80, 300))])
    scores, gains = rng.normal(0, 2, offsets[-1]), rng.integers(0, 4, offsets[-1]).astype(float)
    whole, threaded = (expected_gain(scores, gains, offsets, DCG_2, samples=samples, n_jobs=jobs) for jobs in (1, 3))
    for one, other in zip(whole, threaded, strict=True):
        np.testing.assert_array_equal(one, other)
    for q in (3, 200):
        rows = slice(offsets[q], offsets[q + 1])
        own = np.array([0, rows.stop - rows.start])
        alone = expected_gain(scores[rows], gains[rows], own, DCG_2, samples=samples, draw=Draw(lists=np.array([q])))
        np.testing.assert_array_equal(alone.gradient, whole.gradient[rows])
    given = expected_gain(scores, gains, offsets, DCG_2, rankings=sample_rankings(scores, offsets, samples=40, depth=2))
    if samples == 40:
        np.testing.assert_allclose(given.gradient, whole.gradient, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": np.array([0.0, np.nan, 1])}, "scores must be numbers.*row 2"),
        ({"gains": np.array([0.0, np.nan, 1])}, "gains must not be NaN"),
        ({"gains": np.zeros(2)}, "gains must have 3"),
        ({"discounts": np.array([np.nan])}, "discounts must not be NaN"),
        ({"rankings": np.zeros((2, 1, 2))}, r"rankings must be \(1 lists, samples, ranks\)"),
        ({"rankings": np.zeros((1, 1, 1))}, "must have 2 ranks"),
        ({"rankings": np.array([[[0, 1], [2, 2]]])}, r"list 1 must be different items.*Got \[2, 2\]"),
        ({"rankings": np.array([[[0, -1]]])}, "different items"),
        ({"rankings": np.array([[[0, 3]]])}, "different items"),
        ({"rankings": np.array([[[0, 1]]]), "scores": np.array([0.0, -np.inf, 1])}, "above −inf"),
    ],
)
def test_bad_input_is_named(change, words):
    given = {"scores": np.zeros(3), "gains": np.arange(3.0), "offsets": np.array([0, 3]), "discounts": DCG_2, **change}
    with pytest.raises(DataError, match=words):
        expected_gain(**given)


def test_discounts_end_where_the_last_one_pays():
    scores, gains, offsets = made(1)
    ends = [expected_gain(scores, gains, offsets, np.append(DCG_2, zeros)).gradient for zeros in ([], [0.0, 0, 0])]
    np.testing.assert_array_equal(*ends)
    assert not expected_gain(scores, gains, offsets, np.zeros(3)).gradient.any()
