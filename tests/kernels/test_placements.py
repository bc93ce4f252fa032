"""Placements: exact ones equal sums over all rankings, estimates tend to them and know how far off they are."""

from itertools import permutations
from math import comb

import numpy as np
import pytest

from luce.errors import DataError
from luce.kernels.enumeration import log_probability, orders
from luce.kernels.line_search.reference import value
from luce.kernels.place_sums import CASCADE, COUNT, PAIRS, SUM, Places
from luce.kernels.placements import (
    MOST_STEPS,
    entropies,
    exact_lists,
    expected_sums,
    exposures,
    log_probabilities,
    order_sums,
    placement_probabilities,
    reference,
)
from luce.kernels.sampled_rankings import sample_rankings
from luce.randomness import Draw

SCORES = {
    "mixed": [1.0, 0, 0.5, -1, 2, 0.5],
    "equal": [0.0] * 6,
    "30, 20, 1, 0": [30.0, 20, 1, 0],
    "gaps of 1,000": [3_000.0, 1_000, 4_000, 0, 2_000],
    "far and near": [1e4, 1e4 + 1, -1e4, -1e4 + 0.5, -1e4 + 1, 0],
    "one": [5.0],
}
EVERY = pytest.mark.parametrize("name", SCORES)
SAMPLED = 0
"""Steps that no list gets by with."""


def one(name):
    scores = np.array(SCORES[name])
    return scores, np.array([0, len(scores)])


def depths(scores):
    return range(1, len(scores) + 1)


def near(estimate, exact, floor=1e-9):
    return (np.abs(estimate.value - exact) <= 4.5 * estimate.standard_error + floor).all()


@EVERY
def test_exact_placements_are_sums_over_all_rankings(name):
    scores, offsets = one(name)
    for depth in depths(scores):
        found = placement_probabilities(scores, offsets, depth)
        np.testing.assert_allclose(found.value, reference.placement_probabilities(scores, depth), rtol=0, atol=2e-12)
        assert found.value.shape == (len(scores), depth) and not found.standard_error.any()
        np.testing.assert_allclose(found.value.sum(axis=0), 1)


@EVERY
def test_exact_entropy_is_the_sum_over_all_rankings(name):
    scores, offsets = one(name)
    for depth in depths(scores):
        found = entropies(scores, offsets, depth)
        assert found.value[0] == pytest.approx(reference.entropy(scores, depth), abs=1e-11)
        assert found.standard_error[0] == 0


@EVERY
def test_estimates_tend_to_the_exact(name):
    # Rankings that come once in 20,000 samples are neither in the estimate nor in its standard error.
    scores, offsets = one(name)
    settings = {"samples": 40_000, "most_steps": SAMPLED, "draw": Draw(3)}
    for depth in depths(scores):
        found = placement_probabilities(scores, offsets, depth, **settings)
        assert near(found, reference.placement_probabilities(scores, depth), 1e-4)
        assert found.standard_error.max() < 2.5e-3
        assert near(entropies(scores, offsets, depth, **settings), reference.entropy(scores, depth), 1e-3)
    assert np.isfinite(found.value).all()


def test_a_standard_error_is_the_spread_of_estimates():
    scores, n_lists = np.tile(SCORES["mixed"], 2_000), 2_000
    offsets = np.arange(n_lists + 1) * 6
    for work in (placement_probabilities, entropies):
        found = work(scores, offsets, 3, samples=40, most_steps=SAMPLED)
        values, errors = (part.reshape(n_lists, -1) for part in found)
        some = values.std(axis=0) > 1e-12  # the first place needs no sample
        np.testing.assert_allclose(np.sqrt((errors[:, some] ** 2).mean(axis=0)), values[:, some].std(axis=0), rtol=0.1)
        assert some.any()
    assert np.isnan(placement_probabilities(scores[:6], offsets[:2], 3, samples=1, most_steps=0).standard_error).all()


def test_expecting_a_place_is_less_noisy_than_counting_it():
    scores, offsets = np.random.default_rng(0).normal(size=30), np.array([0, 30])
    exact = placement_probabilities(scores, offsets, 3, most_steps=np.inf).value
    found = placement_probabilities(scores, offsets, 3, most_steps=SAMPLED)
    counted = np.sqrt(exact * (1 - exact) / 1_000)
    assert (found.standard_error < 0.6 * counted).all()
    assert near(found, exact, 1e-6)


def test_long_lists_of_few_places_are_exact():
    # The second place of many items by the formula, once for each first item.
    scores = np.random.default_rng(0).normal(0, 2, 300)
    weights = np.exp(scores) / np.exp(scores).sum()
    second = weights * ((weights / (1 - weights)).sum() - weights / (1 - weights))
    found = placement_probabilities(scores, np.array([0, 300]), 2)
    np.testing.assert_allclose(found.value.T, [weights, second], rtol=1e-12)
    assert not found.standard_error.any()


def test_whole_rankings_of_sixteen_items_are_exact():
    scores, offsets = np.random.default_rng(0).normal(size=33), np.array([0, 16, 33])
    assert exact_lists(scores, offsets, 40).tolist() == [True, False]
    found = placement_probabilities(scores, offsets)
    np.testing.assert_allclose(found.value[:16, :16].sum(axis=1), 1, rtol=1e-12)
    above = 1 / (1 + np.exp(scores[:16, None] - scores[:16]))  # above[i, j]: j stands above i
    np.testing.assert_allclose(found.value[:16] @ np.arange(1, 18), 0.5 + above.sum(axis=1), rtol=1e-12)
    assert not found.standard_error[:16].any() and not found.value[:16, 16].any()
    assert found.standard_error[16:, 1:16].all()
    np.testing.assert_allclose(found.value[16:].sum(axis=1), 1, rtol=1e-12)  # each item is somewhere, in every sample


@pytest.mark.parametrize(("n", "depth"), [(16, 16), (17, 17), (1_000, 2), (102, 3), (101, 3), (10**6, 1)])
def test_which_lists_are_exact(n, depth):
    steps = sum(comb(n, k) * (n - k) for k in range(depth))
    assert exact_lists(np.zeros(n), np.array([0, n]), depth)[0] == (steps <= MOST_STEPS)


@pytest.mark.parametrize("most_steps", [MOST_STEPS, SAMPLED])
def test_items_that_cannot_be_placed(most_steps):
    scores, offsets = np.array([0.5, -np.inf, 1.0, 0, -np.inf, -np.inf, -np.inf, 3]), np.array([0, 5, 5, 7, 8])
    kept = scores[[0, 2, 3]]
    settings = {"most_steps": most_steps, "samples": 20_000}
    found = placement_probabilities(scores, offsets, **settings)
    assert found.value.shape == (8, 5)
    wanted = np.zeros((8, 5))
    wanted[[0, 2, 3], :3], wanted[7, 0] = reference.placement_probabilities(kept, 3), 1
    assert near(found, wanted)
    assert not found.value[wanted == 0].any()
    entropy = entropies(scores, offsets, **settings)
    assert near(entropy, [reference.entropy(kept, 3), 0, 0, 0])
    exposed = exposures(scores, offsets, np.array([1.0, 0.5]), **settings)
    assert near(exposed, wanted[:, :2] @ [1.0, 0.5]) and not exposed.value[[1, 4, 5, 6]].any()


@pytest.mark.parametrize("most_steps", [MOST_STEPS, SAMPLED])
def test_exposures_are_discounted_placements(most_steps):
    scores, offsets = one("mixed")
    discounts = np.array([1.0, 0.0, -0.5, 0.0])
    wanted = reference.placement_probabilities(scores, 4) @ discounts
    found = exposures(scores, offsets, discounts, most_steps=most_steps, samples=20_000)
    assert near(found, wanted)
    assert (found.standard_error > 0).all() == (most_steps == SAMPLED)


KINDS = {"sum": SUM, "cascade": CASCADE, "count": COUNT, "pairs": PAIRS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("discounts", [[1, 0.6, 0.1, 0, 0, 0, 0], [6, 5, 4, 3, 2, 1, 0], [1, 1, 1, 1, 1, 1, 0]])
@pytest.mark.parametrize("name", ["mixed", "30, 20, 1, 0"])
def test_expected_sums_are_sums_over_all_rankings(kind, discounts, name):
    scores, offsets = one(name)
    worths = np.array([0.5, 0, 1, 0.25, 0.5, 0])[: len(scores)]
    table, depth = np.array(discounts, dtype=float), 3 if discounts[3] == 0 else len(scores)
    wanted = sum(
        np.exp(log_probability(scores, order)) * value(KINDS[kind], worths[list(order)].tolist(), table)
        for order in orders(len(scores))
    )
    places = Places(KINDS[kind], worths, np.array([2.0]), table, depth)
    found = expected_sums(scores, offsets, places)
    assert found.value[0] == pytest.approx(2 * wanted, rel=1e-12) and found.standard_error[0] == 0
    estimate = expected_sums(scores, offsets, places, samples=20_000, most_steps=SAMPLED)
    assert near(estimate, 2 * wanted, 1e-3 if name != "mixed" else 1e-9)
    decided = value(KINDS[kind], worths[np.argsort(-scores, kind="stable")].tolist(), table)
    assert order_sums(scores, offsets, places)[0] == pytest.approx(2 * decided)


def test_pairs_and_even_discounts_are_exact_for_long_lists():
    rng = np.random.default_rng(0)
    scores, worths, offsets = rng.normal(0, 3, 50), rng.integers(0, 3, 50).astype(float), np.array([0, 50])
    for kind in (SUM, PAIRS):
        places = Places(kind, worths, np.ones(1), np.arange(50.0, -1, -1), 50)
        found = expected_sums(scores, offsets, places)
        rankings = sample_rankings(scores, offsets, samples=4_000)[0]
        values = [value(kind, worths[ranking].tolist(), places.discounts) for ranking in rankings]
        assert found.standard_error[0] == 0
        assert abs(np.mean(values) - found.value[0]) < 4 * np.std(values) / np.sqrt(4_000)


def test_lists_without_a_scale_cost_nothing():
    places = Places(SUM, np.ones(40), np.zeros(1), np.append(1 / np.arange(1.0, 41), 0), 40)
    found = expected_sums(np.zeros(40), np.array([0, 40]), places, samples=10**12)
    assert found.value[0] == found.standard_error[0] == 0


@EVERY
def test_log_probabilities_of_all_rankings(name):
    scores, offsets = one(name)
    for depth in depths(scores):
        rankings = list(permutations(range(len(scores)), depth))
        found = log_probabilities(scores, offsets, [rankings])[0]
        rest = [tuple(sorted(set(range(len(scores))) - set(ranking))) for ranking in rankings]
        wanted = [log_probability(scores, a + b, depth) for a, b in zip(rankings, rest, strict=True)]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-11)
        assert np.exp(found).sum() == pytest.approx(1)
        padded = np.concatenate([rankings, np.full((len(rankings), 2), -1)], axis=1)
        np.testing.assert_array_equal(log_probabilities(scores, offsets, [padded])[0], found)


def test_log_probabilities_of_what_cannot_be():
    scores, offsets = np.array([0.0, -np.inf, 0, 5]), np.array([0, 3, 3, 4])
    rankings = [[[0, 2, -1], [2, -1, -1], [0, 2, 1], [1, -1, -1]], [[-1] * 3] * 4, [[0, -1, -1]] * 4]
    wanted = [[-np.log(2), -np.log(2), -np.inf, -np.inf], [0] * 4, [0] * 4]
    np.testing.assert_allclose(log_probabilities(scores, offsets, rankings), wanted, atol=1e-15)
    assert log_probabilities(np.zeros(0), np.array([0]), np.zeros((0, 2, 3), int)).shape == (0, 2)


@pytest.mark.parametrize("bad", [[0, 0, 1], [0, -1, 1], [3, -1, -1], [-2, -1, -1], [0, 1, 0]])
def test_rankings_that_are_none_are_named(bad):
    with pytest.raises(DataError, match=r"list 2 must contain different items, .* 0 to 2, .* Got") as caught:
        log_probabilities(np.zeros(6), np.array([0, 3, 6]), [[[0, 1, 2]], [bad]])
    assert str(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [np.zeros((2, 3), int), np.zeros((1, 1, 3), int), np.zeros((2, 1, 3))])
def test_rankings_of_another_shape_are_named(bad):
    with pytest.raises(DataError, match=r"must be integers \(2 lists, samples, ranks\). Got"):
        log_probabilities(np.zeros(6), np.array([0, 3, 6]), bad)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_chances_are_refused(bad):
    scores, offsets = np.array([0.0, bad]), np.array([0, 2])
    for work in (placement_probabilities, entropies):
        with pytest.raises(DataError, match="row 2"):
            work(scores, offsets)
    with pytest.raises(DataError, match="row 2"):
        exposures(scores, offsets, np.ones(1))
    with pytest.raises(DataError, match="row 2"):
        log_probabilities(scores, offsets, [[[0, 1]]])


def test_threads_and_batches_change_nothing():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 400))])
    scores = rng.normal(0, np.repeat(rng.choice([1, 400], 400), np.diff(offsets)))
    settings = {"samples": 30, "most_steps": 2_000, "draw": Draw(4, 2)}
    for work in (placement_probabilities, entropies, exposures):
        depth = np.ones(3) if work is exposures else 3
        whole, threaded = (work(scores, offsets, depth, n_jobs=jobs, **settings) for jobs in (1, 3))
        np.testing.assert_array_equal(whole, threaded)
        assert (whole.standard_error > 0).any() and (whole.standard_error == 0).any()
        q = int(np.argmax(np.diff(offsets)))
        rows, own = slice(offsets[q], offsets[q + 1]), np.array([0, offsets[q + 1] - offsets[q]])
        alone = work(scores[rows], own, depth, **{**settings, "draw": Draw(4, 2, np.array([q]))})
        here = slice(q, q + 1) if work is entropies else rows
        np.testing.assert_array_equal(alone.value, whole.value[here])


def test_nothing_to_place():
    none = placement_probabilities(np.zeros(0), np.array([0, 0]), 4)
    assert none.value.shape == none.standard_error.shape == (0, 0)
    assert entropies(np.zeros(0), np.array([0, 0])).value.tolist() == [0]
    assert exposures(np.zeros(3), np.array([0, 3]), np.zeros(2)).value.tolist() == [0, 0, 0]


def test_the_standard_error_of_two_samples():
    scores, offsets = one("mixed")
    first, both = (placement_probabilities(scores, offsets, 3, samples=n, most_steps=SAMPLED) for n in (1, 2))
    np.testing.assert_allclose(both.standard_error, np.abs(both.value - first.value), atol=1e-15)
