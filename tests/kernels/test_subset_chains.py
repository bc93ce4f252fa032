"""The chains over subsets: what law they leave as it is, what the compiled ones draw, and how far a few steps get."""

import numpy as np
import pytest
from scipy.stats import chisquare

from luce.kernels.enumeration import consistent_orders, subsets
from luce.kernels.subset_choice import chains, geometric_choice, reference, sampled_choice
from luce.lists import Lists
from luce.randomness import Draw

SCORES = np.array([0.5, -1.5, 2.0, 0.0])
STATES = subsets(4)
SCORES_5, LABELS_5 = np.array([0.5, -1.5, 2.0, 0.0, -2.0]), np.array([1.0, 2, 0, 0, 1])


def test_gibbs_and_the_corrected_acceptance_leave_the_model_as_it_is():
    law = reference.subset_law(SCORES)
    for transition in (
        reference.gibbs_transition(SCORES, (2, 0, 3, 1)),
        reference.metropolis_transition(SCORES, corrected=True),
    ):
        np.testing.assert_allclose(transition.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(law @ transition, law, atol=1e-12)


def test_the_printed_acceptance_tends_to_another_law():
    printed = reference.metropolis_transition(SCORES, corrected=False)
    law = reference.subset_law(SCORES)
    assert np.abs(law @ printed - law).max() > 0.01
    each_size_alike = law / np.array([4] * 4 + [6] * 6 + [4] * 4 + [1])
    np.testing.assert_allclose(each_size_alike @ printed, each_size_alike, atol=1e-12)


def drawn(chain, start, steps, samples=20_000):
    """How often each subset comes out of the compiled chain after some steps."""
    words = np.random.default_rng(0).integers(0, 2**32, (samples, steps, 8), dtype=np.uint32)
    counts = dict.fromkeys(STATES, 0)
    for sample in range(samples):
        member = np.array([float(i in start) for i in range(4)])
        pool = np.arange(4)
        for step in range(steps):
            if chain == "gibbs":
                chains.gibbs_sweep(SCORES, member, words[sample, step])
            else:
                chains.metropolis_step(SCORES, member, pool, chain == "corrected", words[sample, step])
        counts[tuple(np.flatnonzero(member).tolist())] += 1
    return np.array(list(counts.values()))


def test_a_random_start_takes_each_item_with_probability_one_half_and_never_none():
    words = np.random.default_rng(0).integers(0, 2**32, (20_000, 5), dtype=np.uint32)
    counts = dict.fromkeys(subsets(3), 0)
    for each in words:
        member = np.empty(3)
        chains.random_subset(member, each)
        counts[tuple(np.flatnonzero(member).tolist())] += 1
    probabilities = [1 / 8 + (len(one) == 1) / 24 for one in counts]
    assert chisquare([*counts.values()], np.array(probabilities) * 20_000).pvalue > 1e-4


def transition_of(chain):
    if chain == "gibbs":
        return reference.gibbs_transition(SCORES, range(4))
    return reference.metropolis_transition(SCORES, corrected=chain == "corrected")


@pytest.mark.parametrize("chain", ["gibbs", "corrected", "printed"])
@pytest.mark.parametrize("start", [(2,), (0, 1, 3), (0, 1, 2, 3)])
def test_one_compiled_step_has_the_probabilities_of_the_matrix(chain, start):
    expected = transition_of(chain)[STATES.index(start)] * 20_000
    counts = drawn(chain, start, 1)
    assert not counts[expected < 1e-9].any()
    likely = expected > 1e-9
    assert chisquare(counts[likely], expected[likely]).pvalue > 1e-3


@pytest.mark.parametrize(("chain", "reaches"), [("gibbs", True), ("corrected", True), ("printed", False)])
def test_long_chains_reach_the_model(chain, reaches):
    counts = drawn(chain, (1,), 25, samples=10_000)
    pvalue = chisquare(counts, reference.subset_law(SCORES) * 10_000).pvalue
    assert pvalue > 1e-3 if reaches else pvalue < 1e-12


def expected_gradient(chain, steps):
    """What the estimate is on average: the mean over its steps, and over the shuffles of equal labels."""
    orders = list(consistent_orders(LABELS_5))
    result = np.zeros(5)
    for chosen, left in reference.stages(LABELS_5):
        states = subsets(len(left))
        shares = np.array([[(i in state) / len(state) for i in range(len(left))] for state in states])
        start = states.index(tuple(np.flatnonzero(np.isin(left, chosen)).tolist()))
        result[left] -= shares[start]
        for order in orders:
            visits = [int(np.flatnonzero(left == item)[0]) for item in order if item in left]
            if chain == "gibbs":
                transition = reference.gibbs_transition(SCORES_5[left], visits)
            else:
                transition = reference.metropolis_transition(SCORES_5[left], corrected=True)
            law = np.eye(len(states))[start]
            for _ in range(steps):
                law = law @ transition
                result[left] += law @ shares / (steps * len(orders))
    return result


def estimates(gibbs, n_lists=20_000, order=slice(None), draw=Draw(), **settings):  # noqa: B008
    scores, labels = np.tile(SCORES_5[order], n_lists), np.tile(LABELS_5[order], n_lists)
    lists = Lists(scores, labels, np.arange(n_lists + 1) * 5, draw=draw)
    difference, gradient, *_ = sampled_choice(lists, gibbs=gibbs, **settings)
    gradient = gradient.reshape(n_lists, 5)
    np.testing.assert_allclose(difference, gradient @ SCORES_5[order], atol=1e-12)
    return gradient


@pytest.mark.parametrize("chain", ["gibbs", "metropolis"])
def test_the_bias_of_a_few_steps_falls(chain):
    exact = geometric_choice(Lists(SCORES_5, LABELS_5, np.array([0, 5]))).gradient
    bias = [np.abs(expected_gradient(chain, steps) - exact).sum() / np.abs(exact).sum() for steps in (1, 2, 3, 30)]
    print(f"{chain}: relative bias of 1, 2, 3 and 30 steps {np.round(bias, 3)}")
    assert bias[0] > bias[1] > bias[2] > 4 * bias[3] > 0
    for steps in (1, 2, 3):
        gradient = estimates(chain == "gibbs", steps=steps)
        error = gradient.std(axis=0) / np.sqrt(len(gradient))
        assert (np.abs(gradient.mean(axis=0) - expected_gradient(chain, steps)) < 4.5 * error).all()


@pytest.mark.parametrize("gibbs", [True, False])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_long_chains_average_to_the_exact_gradient(gibbs, direction):
    exact = geometric_choice(Lists(SCORES_5, LABELS_5, np.array([0, 5])), direction).gradient
    gradient = estimates(gibbs, n_lists=40, steps=3_000, direction=direction)
    error = gradient.std(axis=0) / np.sqrt(len(gradient))
    assert (np.abs(gradient.mean(axis=0) - exact) < 4.5 * error + 0.001).all()
    assert error.max() < 0.005


def test_rows_may_stand_in_any_order_in_distribution():
    given, moved = estimates(True), estimates(True, order=[4, 3, 2, 1, 0], draw=Draw(1))[:, ::-1]
    error = np.sqrt((given.var(axis=0) + moved.var(axis=0)) / len(given))
    assert (np.abs(given.mean(axis=0) - moved.mean(axis=0)) < 4.5 * error).all()


@pytest.mark.parametrize("gibbs", [True, False])
def test_chains_are_independent_and_averaged(gibbs):
    one, four = (estimates(gibbs, chains=chains, n_lists=4_000) for chains in (1, 4))
    np.testing.assert_allclose(four.mean(axis=0), one.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(four.var(axis=0).sum() * 4, one.var(axis=0).sum(), rtol=0.1)


@pytest.mark.parametrize("gibbs", [True, False])
def test_long_lists_and_far_scores(gibbs):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(0, 1e4, 3_000), rng.integers(0, 5, 3_000).astype(float)
    difference, gradient, *_ = sampled_choice(Lists(scores, labels, np.array([0, 3_000])), gibbs=gibbs, steps=2)
    assert np.isfinite(difference).all() and np.isfinite(gradient).all()
    assert gradient.sum() == pytest.approx(0, abs=1e-9)
