"""The ordered-partition objectives: what ties teach them, their options, and that the samplers learn."""

import numpy as np
import pytest
from scipy.special import softmax

from luce import log_prob
from luce.errors import DataError, OptionError
from luce.kernels.enumeration import ordered_partitions
from luce.kernels.subset_choice.potentials import arithmetic_mean, geometric_mean
from luce.objectives import Draw, objective

NAMES = ("pmop-fd", "pmop-exact", "pmop-gibbs", "pmop-mh")
SCORES, LABELS = np.array([0.5, -1.5, 2.0, 0.0, -2.0, 0.3]), np.array([1.0, 2, 0, 0, 1, np.nan])


def test_equal_labels_inform_all_but_the_full_decomposition():
    for name in NAMES:
        gradient = objective(name).value_and_gradient([1.0, 0, 0, -2], [3.0, 3, 3, 3]).gradient
        assert gradient.any() == objective(name).uses_ties == (name != "pmop-fd")
    # Alone, an item above the others is chosen more often than with them: to tie, it must come down.
    gradient = objective("pmop-exact").value_and_gradient([1.0, 0, 0, -2], [3.0, 3, 3, 3]).gradient
    assert gradient[0] > 0 > gradient[3]
    np.testing.assert_allclose(objective("pmop-exact").value_and_gradient([2.0, 2], [1.0, 1]).gradient, 0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_backward_is_the_model_of_the_negated_scores_and_labels(name):
    forward, backward = (objective(name, direction=direction) for direction in ("forward", "backward"))
    given, turned = backward.value_and_gradient(SCORES, LABELS), forward.value_and_gradient(-SCORES, -LABELS)
    np.testing.assert_array_equal(given.loss, turned.loss)
    np.testing.assert_array_equal(given.gradient, -turned.gradient)
    assert not np.array_equal(given.gradient, forward.value_and_gradient(SCORES, LABELS).gradient)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_curvature_of_the_full_decomposition(direction):
    fd = objective("pmop-fd", direction=direction)
    hessian = fd.value_and_gradient(SCORES, LABELS, hessian=True).hessian
    for i, step in enumerate(np.eye(6) * 1e-5):
        above, below = (fd.value_and_gradient(SCORES + d, LABELS).gradient[i] for d in (step, -step))
        assert hessian[i] == pytest.approx((above - below) / 2e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["pmop-gibbs", "pmop-mh"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_options_reach_the_samplers(name, direction):
    exact = objective("pmop-exact", direction=direction).value_and_gradient(SCORES, LABELS).gradient
    long = objective(name, direction=direction, steps=4_000, chains=10).value_and_gradient(SCORES, LABELS)
    np.testing.assert_allclose(long.gradient, exact, atol=0.03)
    assert long.loss[0] == pytest.approx(SCORES @ long.gradient, abs=1e-12)


def test_the_printed_acceptance_is_biased():
    exact = objective("pmop-exact").value_and_gradient(SCORES, LABELS).gradient
    printed = objective("pmop-mh", corrected=False, steps=4_000, chains=10).value_and_gradient(SCORES, LABELS).gradient
    assert np.abs(printed - exact).max() > 0.05


@pytest.mark.parametrize("name", ["pmop-gibbs", "pmop-mh"])
def test_following_the_samplers_raises_the_exact_likelihood(name):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 12).astype(float)
    loss = [objective("pmop-exact").value_and_gradient(np.zeros(12), labels).loss[0]]
    scores = np.zeros(12)
    for step in range(200):
        scores -= 0.3 * objective(name).value_and_gradient(scores, labels, draw=Draw(0, step)).gradient
    loss.append(objective("pmop-exact").value_and_gradient(scores, labels).loss[0])
    assert loss[1] < loss[0] - 1
    assert np.corrcoef(scores, labels)[0, 1] > 0.9


def test_bad_options_and_too_long_lists_are_named():
    with pytest.raises(OptionError, match=r"'steps' option of pmop-gibbs must be an integer ≥ 1\. Got 0"):
        objective("pmop-gibbs", steps=0)
    with pytest.raises(OptionError, match="'direction' option of pmop-fd must be 'forward' or 'backward'"):
        objective("pmop-fd", direction="up")
    with pytest.raises(DataError, match=r"List 1 has 501\. Use pmop-gibbs"):
        objective("pmop-exact").value_and_gradient(np.zeros(501), np.zeros(501))


def soft_maximum(scores, stage):
    """Neither of the two means, and another one at each stage: e^{lse of k s} of the subset, over its size."""
    sharp = 1 + 0.5 * stage
    total = np.logaddexp.reduce(sharp * scores, axis=-1)
    return total / sharp - 0.3 * scores.shape[-1], np.exp(sharp * scores - total[..., None])


class StageMean:
    """The mean of φ_k(x) = e^{w_k s}, whose sum over subsets is ((2^n − 1)/n) Σ φ_k(x)."""

    def __call__(self, scores, stage):
        value, gradient = arithmetic_mean(scores / stage, stage)
        return value, gradient / stage

    def log_sum(self, scores, stage):
        n, scaled = len(scores), scores / stage
        return np.log(2.0**n - 1) - np.log(n) + np.logaddexp.reduce(scaled), softmax(scaled) / stage


POTENTIALS = pytest.mark.parametrize("potential", [soft_maximum, StageMean(), StageMean().__call__, geometric_mean])


@POTENTIALS
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_gradients_of_a_users_potential_are_finite_differences(potential, direction):
    one = objective("pmop-exact", potential=potential, direction=direction)
    offsets = [0, 4, 4, 6]
    gradient = one.value_and_gradient(SCORES, LABELS, offsets).gradient
    for i, step in enumerate(np.eye(6) * 1e-6):
        above, below = (one.value_and_gradient(SCORES + d, LABELS, offsets).loss.sum() for d in (step, -step))
        assert gradient[i] == pytest.approx((above - below) / 2e-6, abs=1e-8)


@POTENTIALS
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_probabilities_of_a_users_potential_sum_to_one(potential, n):
    partitions = np.array(ordered_partitions(n), dtype=float)
    scores = np.tile(np.random.default_rng(n).normal(0, 2, n), len(partitions))
    logs = log_prob(scores, partitions.ravel(), np.arange(len(partitions) + 1) * n, "pmop-exact", potential=potential)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


def test_the_two_means_given_as_functions_are_the_objectives_of_the_table():
    given = objective("pmop-exact", potential=geometric_mean).value_and_gradient(SCORES, LABELS)
    table = objective("pmop-exact").value_and_gradient(SCORES, LABELS)
    np.testing.assert_allclose(given.loss, table.loss, rtol=1e-13)
    np.testing.assert_allclose(given.gradient, table.gradient, atol=1e-13)
    given = objective("pmop-exact", potential=arithmetic_mean).value_and_gradient(SCORES, LABELS)
    np.testing.assert_allclose(-given.loss, log_prob(SCORES, LABELS, model="pmop-fd"), rtol=1e-13)
    table = objective("pmop-fd").value_and_gradient(SCORES, LABELS)
    np.testing.assert_allclose(given.gradient, table.gradient, atol=1e-13)


def test_a_known_sum_needs_no_enumeration():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=60), rng.integers(0, 4, 60)
    one = objective("pmop-exact", potential=StageMean())
    direction = rng.normal(size=60)
    above, below = (one.value_and_gradient(scores + d * direction, labels).loss[0] for d in (1e-6, -1e-6))
    assert one.value_and_gradient(scores, labels).gradient @ direction == pytest.approx(
        (above - below) / 2e-6, rel=1e-6
    )
    with pytest.raises(DataError, match=r"at most 15 observed items.*List 1 has 60\. Use pmop-gibbs, or give"):
        objective("pmop-exact", potential=soft_maximum).value_and_gradient(scores, labels)


@pytest.mark.parametrize(("name", "steps"), [("pmop-gibbs", 800), ("pmop-mh", 3_000)])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_chains_of_a_users_potential_tend_to_its_gradient(name, steps, direction):
    exact = objective("pmop-exact", potential=soft_maximum, direction=direction).value_and_gradient(SCORES, LABELS)
    sampled = objective(name, potential=soft_maximum, direction=direction, steps=steps)
    np.testing.assert_allclose(sampled.value_and_gradient(SCORES, LABELS).gradient, exact.gradient, atol=0.08)


@pytest.mark.parametrize("name", ["pmop-gibbs", "pmop-mh"])
@pytest.mark.parametrize("potential", ["geometric", geometric_mean])
def test_the_bias_of_a_random_start_falls_with_the_steps(name, potential):
    exact = objective("pmop-exact").value_and_gradient(SCORES, LABELS).gradient
    bias = []
    for steps in (1, 4, 16):
        chains = 4_000 if potential == "geometric" else 200
        one = objective(name, start="random", steps=steps, chains=chains, potential=potential)
        bias.append(np.abs(one.value_and_gradient(SCORES, LABELS).gradient - exact).max())
    assert bias[0] > 0.1
    assert bias[2] < bias[0] / 2 and bias[1] < bias[0]


@pytest.mark.parametrize("start", ["observed", "random"])
@pytest.mark.parametrize(("corrected", "steps"), [(True, 1), (True, 5), (False, 5)])
def test_chains_of_a_function_and_compiled_ones_agree_on_average(start, corrected, steps):
    settings = {"start": start, "corrected": corrected, "steps": steps}
    compiled = objective("pmop-mh", chains=40_000, **settings).value_and_gradient(SCORES, LABELS).gradient
    given = objective("pmop-mh", chains=2_000 // steps, potential=geometric_mean, **settings)
    np.testing.assert_allclose(given.value_and_gradient(SCORES, LABELS).gradient, compiled, atol=0.06)
    other = objective("pmop-mh", chains=40_000, **settings | {"start": "random" if start == "observed" else "observed"})
    assert np.abs(other.value_and_gradient(SCORES, LABELS).gradient - compiled).max() > 0.1


def test_potentials_that_are_not_are_named():
    with pytest.raises(OptionError, match="'potential' option of pmop-exact must be 'geometric' or a function"):
        objective("pmop-exact", potential="arithmetic")
    with pytest.raises(OptionError, match=r"potential must return a logarithm of shape \(3,\).*Got shapes \(3, 1\)"):
        objective("pmop-exact", potential=lambda s, k: (s, s)).value_and_gradient(np.zeros(3), [1, 0, 0])
    with pytest.raises(OptionError, match="potential must return finite numbers"):
        nothing = objective("pmop-gibbs", potential=lambda s, k: (s.mean(axis=-1) - np.inf, s))
        nothing.value_and_gradient(np.zeros(3), [1, 0, 0])
