"""The ordered-partition objectives: what ties teach them, their options, and that the samplers learn."""

import numpy as np
import pytest

from luce.errors import DataError, OptionError
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
