"""The pair losses against their twins, closed forms and brute force, near and far, small and huge."""

import resource
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.special import expit

from luce.compiled import summing
from luce.kernels import pairs
from luce.kernels.elementary import log1p_and_inverse
from luce.kernels.pairs import DRAWS, hinges, pair_outcomes, pair_swaps, reference, squares
from luce.kernels.pairs.blocks import outcomes_in_blocks
from luce.kernels.pairs.parts import PAIRS, number_of_parts
from luce.kernels.pairs.places import places_of
from luce.lists import Lists, evaluate_kernel

SPREADS = [0, 3, 100, 340, 1e4]
MODELS = [("none", 0.0), ("rao-kupper", 0.3), ("rao-kupper", -3.0), ("davidson", -0.4), ("davidson", 3.0)]


def pair_squares(lists):
    return evaluate_kernel(squares.pair_squares, lists, lists.weights)


def pair_hinges(lists):
    return evaluate_kernel(hinges.pair_hinges, lists, lists.weights, has_hessian=False)


def one_list(kernel, scores, labels, *gains, item_weights=None, hessian=False, n_jobs=None, **settings):
    s, y, *gains = (np.asarray(values, dtype=float) for values in (scores, labels, *gains))
    lists = Lists(s, y, np.array([0, len(s)]), item_weights, hessian=hessian, n_jobs=n_jobs)
    return kernel(lists, *gains, **settings)


def within(draws="none", parameter=0.0):
    """What `outcomes_in_blocks` calls for blocks that are gone through pair by pair."""
    return lambda s, y, cuts, item_weights: pair_outcomes(
        Lists(s, y, cuts, item_weights, hessian=True), draws, parameter
    )


def irregular(spread, weighted):
    """Lists of several sizes with unobserved items, with equal and with different labels and scores."""
    rng = np.random.default_rng(7)
    for n in (1, 2, 3, 8, 9, 20):
        scores = rng.uniform(-spread, spread, n)
        labels = rng.integers(0, 4, n).astype(float) if n % 2 else rng.normal(size=n)
        labels[rng.random(n) < 0.15] = np.nan
        yield (np.round(scores) if n % 3 else scores), labels, rng.uniform(0, 2, n) if weighted else None


def assert_same(found, expected):
    for mine, theirs in zip((each for each in found if each is not None), expected, strict=True):
        np.testing.assert_allclose(np.squeeze(mine), theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", SPREADS)
class TestTwins:
    def test_squares(self, spread, weighted):
        for scores, labels, weights in irregular(spread, weighted):
            found = one_list(pair_squares, scores, labels, item_weights=weights, hessian=True)
            assert_same(found, reference.pair_squares(scores, labels, weights))

    def test_hinges(self, spread, weighted):
        for scores, labels, weights in irregular(spread, weighted):
            found = one_list(pair_hinges, scores, labels, item_weights=weights)
            assert_same(found, reference.pair_hinges(scores, labels, weights))

    @pytest.mark.parametrize(("draws", "parameter"), MODELS)
    def test_outcomes(self, spread, weighted, draws, parameter):
        model = {"draws": draws, "parameter": parameter}
        for scores, labels, weights in irregular(spread, weighted):
            found = one_list(pair_outcomes, scores, labels, item_weights=weights, hessian=True, **model)
            assert_same(found, reference.pair_outcomes(scores, labels, weights, **model))
            loss, gradient, none, slope = one_list(pair_outcomes, scores, labels, item_weights=weights, **model)
            assert none is None
            assert_same((loss, gradient, slope), (np.squeeze(found[0]), found[1], np.squeeze(found[3])))

    @pytest.mark.parametrize("level", [None, 1, 4])
    @pytest.mark.parametrize(("change", "gap"), [(1, 0), (0, 1), (1.5, 10)])
    def test_swaps(self, spread, weighted, level, change, gap):
        for scores, labels, weights in irregular(spread, weighted):
            assert_same_swaps(scores, labels, weights, truncation_level=level, change=change, gap=gap)
            at_three = {"discounts": np.array([1.5, 1.0, 0.2]), "normalized": False}
            assert_same_swaps(scores, labels, weights, truncation_level=level, change=change, gap=gap, **at_three)


def assert_same_swaps(scores, labels, weights, **settings):
    gains = np.exp2(np.maximum(np.nan_to_num(labels), 0)) - 1
    found = one_list(pair_swaps, scores, labels, gains, item_weights=weights, hessian=True, **settings)
    assert_same(found, reference.pair_swaps(scores, labels, gains, weights, **settings))


@pytest.mark.parametrize("level", [None, 3, 25, 30])
def test_swaps_of_many_equal_scores(level):
    rng = np.random.default_rng(5)
    for top, equal in ((0, 40), (9, 40), (20, 33)):  # blocks before, across and after the truncation level
        scores = np.concatenate([rng.normal(3, 1, top), np.zeros(equal), np.round(rng.normal(-3, 1, 15))])
        labels = rng.integers(-1, 4, len(scores)) * 0.7
        labels[-8:] += 0.3  # gains between those of the block
        order = rng.permutation(len(scores))
        weights = rng.uniform(0, 2, len(scores))
        for cut in ({}, {"discounts": 1 / np.arange(1.0, 13.0)}, {"normalized": False}):
            assert_same_swaps(scores[order], labels[order], weights, truncation_level=level, change=1, gap=2, **cut)


def test_logarithm_in_a_kernel_that_sums_in_any_order():
    @summing
    def both(u, logarithm, inverse):
        for k in range(len(u)):
            logarithm[k], inverse[k] = log1p_and_inverse(u[k])

    u = np.concatenate([10 ** np.random.default_rng(0).uniform(-300, 300, 10_000), [0.0, 0.409, 0.41, 0.42, 1, 3]])
    u = np.concatenate([u, np.linspace(0, 3, 10_000)])
    logarithm, inverse = np.empty(len(u)), np.empty(len(u))
    both(u, logarithm, inverse)
    np.testing.assert_allclose(logarithm, np.log1p(u), rtol=1e-15)
    np.testing.assert_allclose(inverse, 1 / (1 + u), rtol=1e-15)


@pytest.mark.parametrize("n", [200, 300])  # counted and sorted
def test_places_of_equal_scores_keep_their_order(n):
    scores = np.random.default_rng(n).integers(-9, 9, n) * 0.5
    places = np.empty(n, np.int64)
    places_of(scores, places)
    np.testing.assert_array_equal(np.argsort(places), np.argsort(-scores, kind="stable"))


@pytest.mark.parametrize("difference", [5, 20, 40, 300, 500])
def test_small_losses_keep_their_digits(difference):
    loss, gradient, _, _ = one_list(pair_outcomes, [difference, 0], [1, 0])
    np.testing.assert_allclose(loss, np.log1p(np.exp(-difference)), rtol=1e-13)
    np.testing.assert_allclose(gradient[1], expit(-difference), rtol=1e-13)


@pytest.mark.parametrize("difference", [-800, -30, -1, 0, 2.5, 600])
@pytest.mark.parametrize(("draws", "parameter"), MODELS[1:])
def test_the_three_outcomes_of_a_pair_are_certain(draws, parameter, difference):
    chances = [
        np.exp(-one_list(pair_outcomes, [difference, 0], labels, draws=draws, parameter=parameter)[0][0])
        for labels in ([1, 0], [0, 1], [1, 1])
    ]
    assert sum(chances) == pytest.approx(1, abs=1e-14)
    if difference == 0:
        assert chances[0] == pytest.approx(chances[1])


def test_models_without_draws_are_ranknet():
    scores, labels = np.random.default_rng(0).normal(size=30), np.arange(30.0)
    loss, gradient, _, _ = one_list(pair_outcomes, scores, labels)
    for draws in ("rao-kupper", "davidson"):
        other = one_list(pair_outcomes, scores, labels, draws=draws, parameter=-800.0)
        np.testing.assert_allclose(other[0], loss, rtol=1e-13)
        np.testing.assert_allclose(other[1], gradient, atol=1e-13)


def test_hinges_of_many_pairs_by_sorting():
    rng = np.random.default_rng(3)
    n = 2_500
    scores, weights = rng.normal(0, 1.5, n), rng.uniform(0, 2, n)
    scores[::7] = np.round(scores[::7])  # differences of exactly 1, whose slope is 0
    for labels in (rng.permutation(n), np.arange(n) // 50):
        upper = labels[:, None] > labels
        short = 1 - (scores[:, None] - scores)
        pairs = weights[:, None] * weights * upper
        active = pairs * (short > 0)
        loss, gradient, *_ = one_list(pair_hinges, scores, labels, item_weights=weights)
        np.testing.assert_allclose(loss, (pairs * np.maximum(short, 0)).sum(), rtol=1e-12)
        np.testing.assert_allclose(gradient, active.sum(axis=0) - active.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize(("draws", "parameter"), [*MODELS, ("rao-kupper", 10.0), ("davidson", 10.0)])
@pytest.mark.parametrize("spread", [2, 60, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_agree_with_going_through_the_pairs(draws, parameter, spread, weighted):
    rng = np.random.default_rng(3)
    labels = np.concatenate([np.full(290, 900.0), np.arange(200), np.full(270, 50.5), np.full(30, 60.5), [np.nan] * 9])
    labels = rng.permutation(labels)  # two large grades, one of them in the midst of many small ones
    weights = rng.uniform(0, 2, len(labels)) if weighted else None
    noise = rng.normal(0, spread, len(labels))
    for scores in (noise, np.nan_to_num(labels) + 0.01 * noise):  # any order, and nearly the right one
        model = {"draws": draws, "parameter": parameter, "hessian": True}
        expected = one_list(pair_outcomes, scores, labels, item_weights=weights, **model)
        model = DRAWS[draws], parameter, within(draws, parameter)
        found = outcomes_in_blocks(scores, labels, weights, *model, True, 1)
        np.testing.assert_allclose(found[0], expected[0][0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-12 * np.abs(expected[1]).max())
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[3], expected[3][0], rtol=1e-12, atol=1e-12 * len(labels) ** 2)


@pytest.mark.parametrize("gap", [3, 50, 300])
def test_blocks_keep_the_digits_of_small_losses(gap):
    n = 600
    scores, labels = np.repeat([gap, 0.0], n // 2) + np.linspace(0, 1, n), np.repeat([1.0, 0], n // 2)
    loss, gradient, second, _ = outcomes_in_blocks(scores, labels, None, DRAWS["none"], 0.0, within(), True, 1)
    difference = scores[: n // 2, None] - scores[n // 2 :]
    np.testing.assert_allclose(loss, np.log1p(np.exp(-difference)).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient[: n // 2], -expit(-difference).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(second[n // 2 :], (expit(-difference) * expit(difference)).sum(axis=0), rtol=1e-12)


def test_lists_of_many_pairs_are_cut_into_blocks(monkeypatch):
    n = 2_100
    scores, labels = np.random.default_rng(0).normal(size=n), np.arange(n)
    loss, gradient, second, _ = one_list(pair_outcomes, scores, labels, hessian=True)
    wrong = np.tril(expit(scores - scores[:, None]), -1)
    bent = wrong * (1 - wrong)
    np.testing.assert_allclose(loss, -np.log1p(-wrong).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, wrong.sum(axis=0) - wrong.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(second, bent.sum(axis=0) + bent.sum(axis=1), rtol=1e-12)
    monkeypatch.setattr(pairs, "outcomes_in_blocks", lambda *given: (7.0, np.zeros(n), np.zeros(n), 0.0))
    assert one_list(pair_outcomes, scores, labels)[0] == [7]


def test_squares_of_far_scores_are_exact():
    loss, gradient, *_ = one_list(pair_squares, [10_000, 9_999, 10_001], [1, 0, 0])
    np.testing.assert_array_equal(loss, [4])
    np.testing.assert_array_equal(gradient, [-4, 0, 4])


def few_above_many(n, relevant, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.zeros(n)
    labels[rng.permutation(n)[:relevant]] = 1
    return rng.normal(size=n), labels


def test_huge_lists_in_parts_are_whole():
    scores, labels = few_above_many(20_500, 41)
    difference = scores[labels == 1][:, None] - scores[labels == 0]
    wrong = expit(-difference)
    loss, gradient, second, _ = one_list(pair_outcomes, scores, labels, hessian=True, n_jobs=3)
    np.testing.assert_allclose(loss, np.logaddexp(0, -difference).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient[labels == 1], -wrong.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(second[labels == 0], (wrong * (1 - wrong)).sum(axis=0), rtol=1e-12)

    ranks = np.argsort(np.argsort(-scores)) + 1
    discounts = 1 / np.log2(1 + ranks)
    change = abs(discounts[labels == 1][:, None] - discounts[labels == 0]) / np.sort(discounts)[-41:].sum()
    loss, gradient, *_ = one_list(pair_swaps, scores, labels, labels, n_jobs=3)
    np.testing.assert_allclose(loss, (change * np.logaddexp(0, -difference)).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient[labels == 0], (change * wrong).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("size", [1_000, 20_000, 100_000, 1_000_000])
def test_no_part_of_a_list_has_many_pairs(size):
    assert PAIRS <= 10**8  # some tenths of a second, during which no signal is handled
    assert size * size <= PAIRS * number_of_parts(size, size) < size * size + PAIRS
    assert number_of_parts(size, 30) == 1


@pytest.mark.parametrize("draws", ["rao-kupper", "davidson"])
def test_huge_lists_of_draws(draws):
    n = 20_001
    loss, gradient, _, slope = one_list(pair_outcomes, np.full(n, 3.0), np.ones(n), draws=draws)
    np.testing.assert_allclose(loss, n * (n - 1) / 2 * np.log(3), rtol=1e-10)  # one game in three is drawn
    np.testing.assert_allclose(gradient, 0, atol=1e-8)
    np.testing.assert_allclose(slope[0], -n * (n - 1) / 2 * (2 / 3), rtol=1e-10)


def test_threads_change_no_digit_even_of_huge_lists():
    parts = [few_above_many(n, 20, n) for n in (300, 21_000, 50)]
    scores, labels = (np.concatenate(values) for values in zip(*parts, strict=True))
    offsets = np.array([0, 300, 21_300, 21_350])
    one, three = (
        [
            *pair_outcomes(lists),
            *pair_swaps(lists, labels, truncation_level=6_000, gap=1),
            *pair_hinges(lists._replace(hessian=False)),
            *pair_squares(lists),
        ]
        for lists in (Lists(scores, labels, offsets, hessian=True, n_jobs=jobs) for jobs in (1, 3))
    )
    assert number_of_parts(21_000, 6_000) > 1
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)
    alone = one_list(pair_outcomes, *parts[1], hessian=True)
    np.testing.assert_array_equal(alone[1], one[1][300:21_300])


@contextmanager
def memory_left(megabytes):
    """No more than so much memory beyond what the process has."""
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + megabytes * 2**20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_memory_is_linear_in_the_items():
    scores, labels = few_above_many(100_000, 500)  # 50 million pairs, 400 megabytes if anything were kept of each
    for size in (2, 100_000):  # the first call compiles
        s, y, limit = scores[:size], labels[:size], 200 if size > 2 else 4_000
        with memory_left(limit):
            loss, gradient, _, _ = one_list(pair_outcomes, s, y, n_jobs=1)
            assert np.isfinite(loss).all() and gradient.any() == (size > 2)
            loss, gradient, _, _ = one_list(pair_outcomes, s, np.arange(size), n_jobs=1)
            assert np.isfinite(loss).all() and gradient.all()
            loss, gradient, *_ = one_list(pair_swaps, s, y, y, truncation_level=1_500, gap=1.0, n_jobs=1)
            assert np.isfinite(loss).all() and gradient.any() == (size > 2)
