"""Sampled rankings: every way to draw has the exact distribution, and nothing but the draw changes a ranking."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from luce.errors import DataError
from luce.kernels.sampled_rankings import alias, gumbel_scores, numbers, reference, sample_rankings, sorting, urn
from luce.randomness import Draw

EQUAL, SPREAD, MIXED = np.zeros(5), np.array([5.0, 20, 0, 15, 10]), np.array([1.0, 0, 0.5, -1, 2])
WAYS = ("cheapest", "race", "keys")
ONE = np.array([0, 5])


def check_distribution(prefixes, scores, depth):
    """Chi-square of the prefixes found against all that there are, those of few expected ones together."""
    probabilities = reference.prefix_probabilities(scores, depth)
    place = {prefix: cell for cell, prefix in enumerate(probabilities)}
    found = np.bincount([place[tuple(prefix)] for prefix in prefixes.tolist()], minlength=len(place))
    expected = np.array(list(probabilities.values())) * len(prefixes)
    few = expected < 5
    found, expected = (np.append(counts[~few], counts[few].sum()) for counts in (found, expected))
    possible = expected > 1e-3
    assert found[~possible].sum() == 0
    assert possible.sum() > 1
    assert chisquare(found[possible], expected[possible] * found.sum() / expected[possible].sum()).pvalue > 1e-3


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scores", [EQUAL, SPREAD, MIXED], ids=["equal", "spread by 20", "mixed"])
def test_every_way_has_the_exact_distribution(scores, way, depth):
    rankings = sample_rankings(scores, ONE, samples=60_000, depth=depth, way=way, draw=Draw(7))
    check_distribution(rankings[0], scores, depth)


@pytest.mark.parametrize(
    ("scores", "depth"),
    [*((scores, depth) for scores in (EQUAL, MIXED) for depth in (1, 2, 3, 4, 5)), (SPREAD, 1), (SPREAD, 2)],
)
def test_the_table_has_the_exact_distribution_wherever_it_is_used(scores, depth):
    check_distribution(sample_rankings(scores, ONE, samples=60_000, depth=depth, way="table")[0], scores, depth)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_the_table_is_used_where_few_draws_repeat(depth):
    # Its rejections grow as mass is used up, so it is never used where few items have most of it.
    assert urn.cheapest(np.exp(SPREAD - 20) / np.exp(SPREAD - 20).sum(), depth) != urn.TABLE
    assert urn.cheapest(np.full(20, 0.05), depth) == urn.TABLE


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_a_race_against_a_long_tail_has_the_exact_distribution(spread):
    # More arrivals of the tail are needed than are drawn beforehand, and some repeat each other.
    scores = spread * np.random.default_rng(0).normal(size=16)
    rankings = sample_rankings(scores, np.array([0, 16]), samples=100_000, depth=3, way="race")
    check_distribution(rankings[0], scores, 3)


def test_long_keys_have_the_exact_distribution():
    scores = np.random.default_rng(0).normal(size=150)
    rankings = sample_rankings(scores, np.array([0, 150]), samples=40_000, way="keys", draw=Draw(2))[0]
    assert (np.sort(rankings, axis=1) == np.arange(150)).all()
    check_distribution(rankings[:, :1], scores, 1)
    a, b = np.argmax(rankings == 3, axis=1), np.argmax(rankings == 77, axis=1)
    chance = 1 / (1 + np.exp(scores[77] - scores[3]))
    assert abs(np.mean(a < b) - chance) < 4 * np.sqrt(chance * (1 - chance) / len(rankings))


def test_the_reference_has_the_exact_distribution():
    rng = np.random.default_rng(0)
    prefixes = np.array([reference.sample_ranking(MIXED, 2, rng) for _ in range(4_000)])
    check_distribution(prefixes, MIXED, 2)
    assert sum(reference.prefix_probabilities(MIXED, 3).values()) == pytest.approx(1)


@pytest.mark.parametrize("own", [EQUAL, SPREAD, MIXED], ids=["equal", "spread by 20", "mixed"])
def test_the_order_of_gumbel_scores_has_the_exact_distribution(own):
    scores, offsets = np.tile(own, 60_000), np.arange(60_001) * 5
    noisy = gumbel_scores(scores, offsets, draw=Draw(1))
    for depth in (1, 2, 3, 4, 5):
        check_distribution(np.argsort(-noisy.reshape(-1, 5), axis=1)[:, :depth], own, depth)
    assert np.mean(noisy - scores) == pytest.approx(np.euler_gamma, abs=0.02)
    assert np.mean(noisy == gumbel_scores(scores, offsets, sample=1, draw=Draw(1))) < 1e-3


@pytest.mark.parametrize("way", WAYS)
def test_scores_beyond_the_range_of_their_exponentials(way):
    # Worth e^2000 and e^1000 of the others: only these are in doubt among themselves.
    scores = np.array([0.0, 2_000, 1, 1_000, -np.inf, 0.5])
    rankings = sample_rankings(scores, np.array([0, 6]), samples=40_000, depth=4, way=way)[0]
    assert (rankings[:, :2] == [1, 3]).all()
    rest = np.searchsorted([0, 2, 5], rankings[:, 2:])
    check_distribution(rest, scores[[0, 2, 5]], 2)
    assert (sample_rankings(1e4 * np.arange(5.0), ONE, samples=50, way=way) == np.arange(4, -1, -1)).all()


@pytest.mark.parametrize("way", ["table", *WAYS])
def test_items_that_cannot_be_placed(way):
    scores, offsets = np.array([0.0, -np.inf, 1, -np.inf, -np.inf, 0.5]), np.array([0, 3, 3, 5, 6])
    rankings = sample_rankings(scores, offsets, samples=300, depth=9, way=way)
    assert rankings.shape == (4, 300, 3)
    assert (np.sort(rankings[0], axis=1) == [-1, 0, 2]).all() and (rankings[0, :, 2] == -1).all()
    assert 0 < (rankings[0, :, 0] == 0).mean() < 0.5
    assert (rankings[1:3] == -1).all()
    assert (rankings[3] == [0, -1, -1]).all()


def test_nothing_to_draw():
    assert sample_rankings(np.zeros(0), np.array([0]), samples=3).shape == (0, 3, 0)
    assert sample_rankings(np.zeros(0), np.array([0, 0]), samples=3, depth=2).shape == (1, 3, 0)
    assert sample_rankings(np.zeros(2), np.array([0, 2]), samples=0).shape == (1, 0, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_chances_are_refused(bad):
    for work in (lambda s, o: sample_rankings(s, o, samples=1), gumbel_scores):
        with pytest.raises(DataError, match=rf"never placed. Got {bad} at row 2"):
            work(np.array([0.0, bad]), np.array([0, 2]))


def lists(n_lists=300):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 90, n_lists))])
    return rng.normal(0, np.repeat(rng.choice([0.5, 3, 400], n_lists), np.diff(offsets))), offsets


@pytest.mark.parametrize("depth", [4, None])
def test_threads_and_batches_change_no_ranking(depth):
    scores, offsets = lists()
    draw, settings = Draw(3, 5), {"samples": 70, "depth": depth}
    whole = sample_rankings(scores, offsets, draw=draw, n_jobs=1, **settings)
    np.testing.assert_array_equal(whole, sample_rankings(scores, offsets, draw=draw, n_jobs=3, **settings))
    for q in (0, 7, 250):
        rows = slice(offsets[q], offsets[q + 1])
        own = draw._replace(lists=np.array([q]))
        alone = sample_rankings(scores[rows], np.array([0, rows.stop - rows.start]), draw=own, **settings)
        np.testing.assert_array_equal(alone[0], whole[q, :, : alone.shape[2]])
    parts = [
        sample_rankings(scores, offsets, draw=draw, samples=b - a, depth=depth, first_sample=a)
        for a, b in pairwise([0, 1, 13, 70])
    ]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)
    noisy = [gumbel_scores(scores, offsets, draw=draw, n_jobs=jobs) for jobs in (1, 3)]
    np.testing.assert_array_equal(*noisy)


def test_seed_step_and_list_change_the_rankings():
    scores, offsets = np.zeros(60), np.array([0, 30, 60])
    rankings = [sample_rankings(scores, offsets, samples=5, draw=draw) for draw in (Draw(0), Draw(1), Draw(0, 1))]
    assert len({ranking.tobytes() for one in rankings for ranking in one}) == 6


@pytest.mark.parametrize("weights", [[0.2] * 5, [0.7, 0.3, 0, 0], [1.0], [1e-30, 0.5, 0.25, 0.25]])
def test_the_alias_table_holds_the_weights(weights):
    weights = np.array(weights)
    n = len(weights)
    table = np.empty(2 * n)
    alias.fill_table(3 * weights, 3.0, table, np.empty(n, np.int64))
    held = np.minimum(table[::2], 1)
    np.testing.assert_allclose((held + np.bincount(table[1::2].astype(int), 1 - held, n)) / n, weights, atol=1e-15)
    assert alias.look_up(table, 1 - 2.0**-53) < n


def test_uniform_numbers_are_those_of_their_stream():
    stream = numbers.Stream(2**40 + 3, 1, 2, 5)
    uniforms = np.empty((6, 70))
    numbers.fill_uniforms(stream, 70, uniforms)
    alone = [[numbers.later_uniform(stream, i, t) for i in range(70)] for t in range(6)]
    np.testing.assert_array_equal(uniforms, alone)
    assert uniforms.min() > 0 and uniforms.max() < 1 and len(np.unique(uniforms)) == uniforms.size
    moved = stream._replace(sample=8)
    np.testing.assert_array_equal(uniforms[:, 3], [numbers.later_uniform(moved, 0, t) for t in range(6)])


@pytest.mark.parametrize("spread", [0, 1, 30, 200])
def test_times_are_sorted(spread):
    rng = np.random.default_rng(0)
    for n in (1, 2, 100, 2_000):
        times = rng.exponential(size=n) * np.exp(rng.uniform(-spread, spread, n))
        times[n // 2 :] = {30: np.inf, 200: 0.0}.get(spread, times[n // 2 :])
        order = np.empty(n, np.int64)
        sorting.sort_positive(times, order)
        np.testing.assert_array_equal(order, np.argsort(times, kind="stable"))


def test_late_places_of_a_race_are_not_biased():
    # Alone the last two places have 240 outcomes, few enough for a chi-square test to detect a reused random number.
    rankings = sample_rankings(np.zeros(16), np.array([0, 16]), samples=100_000, depth=3, way="race")[0]
    counts = np.bincount(rankings[:, 1:] @ [16, 1], minlength=256).reshape(16, 16)
    assert chisquare(counts[~np.eye(16, dtype=bool)]).pvalue > 1e-4
