"""Laws that run over the whole table of objectives; a new entry is under them from its first day."""

from itertools import pairwise

import numpy as np
import pytest

from luce.errors import DataError, LuceError, OptionError
from luce.objectives import OBJECTIVES, Draw, objective

EVERY = pytest.mark.parametrize("name", OBJECTIVES)
DRAW = Draw(seed=3, step=1)


def ragged(seed=0, grades=4, spread=2.0):
    """Lists of 0, 1 and more items, ties and unobserved items among them."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, 5, 1, 0, 8, 3, 12])
    labels = rng.integers(0, grades, offsets[-1]).astype(float)
    labels[[2, 9]] = np.nan
    return rng.normal(0, spread, offsets[-1]), labels, offsets


@EVERY
def test_gradient_is_the_finite_difference(name):
    scores, labels, offsets = ragged()

    def total(s):
        return objective(name).value_and_gradient(s, labels, offsets, draw=DRAW).loss.sum()

    gradient = objective(name).value_and_gradient(scores, labels, offsets, draw=DRAW).gradient
    for row in range(len(scores)):
        step = np.zeros(len(scores))
        step[row] = 1e-5
        difference = (total(scores + step) - total(scores - step)) / 2e-5
        assert gradient[row] == pytest.approx(difference, rel=1e-6, abs=1e-8)


@EVERY
def test_a_shift_of_a_list_changes_nothing(name):
    scores, labels, offsets = ragged()
    shifted = scores + np.repeat(np.arange(len(offsets) - 1) * 3.0, np.diff(offsets))
    given, moved = (objective(name).value_and_gradient(s, labels, offsets) for s in (scores, shifted))
    np.testing.assert_allclose(given.loss, moved.loss, atol=1e-12)
    np.testing.assert_allclose(given.gradient, moved.gradient, atol=1e-12)


@EVERY
def test_rows_may_stand_in_any_order(name):
    scores, labels, offsets = ragged()
    if OBJECTIVES[name].random:  # then it holds in distribution; without ties to shuffle it holds to the digit
        labels = labels + np.random.default_rng(0).permutation(len(labels)) / 100
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])
    loss, gradient = objective(name).value_and_gradient(scores, labels, offsets)
    moved_loss, moved_gradient = objective(name).value_and_gradient(scores[order], labels[order], offsets)
    np.testing.assert_allclose(loss, moved_loss, atol=1e-12)
    np.testing.assert_allclose(gradient[order], moved_gradient, atol=1e-12)


@EVERY
def test_lists_are_independent_and_may_be_split(name):
    scores, labels, offsets = ragged()
    loss, gradient = objective(name).value_and_gradient(scores, labels, offsets, draw=DRAW)
    for q in range(len(offsets) - 1):
        rows = slice(offsets[q], offsets[q + 1])
        draw = DRAW._replace(lists=np.array([q]))
        alone = objective(name).value_and_gradient(scores[rows], labels[rows], draw=draw)
        np.testing.assert_array_equal(alone.loss, loss[q : q + 1])
        np.testing.assert_array_equal(alone.gradient, gradient[rows])


@EVERY
def test_unobserved_items_are_left_out(name):
    scores, labels, offsets = ragged()
    labels = labels + np.random.default_rng(0).permutation(len(labels)) / 100
    kept = ~np.isnan(labels)
    fewer = np.concatenate([[0], np.cumsum(kept)])[offsets]
    loss, gradient = objective(name).value_and_gradient(scores, labels, offsets)
    rest = objective(name).value_and_gradient(scores[kept], labels[kept], fewer)
    np.testing.assert_allclose(loss, rest.loss, atol=1e-12)
    np.testing.assert_allclose(gradient[kept], rest.gradient, atol=1e-12)
    assert not gradient[~kept].any()


@EVERY
def test_any_scores_give_finite_numbers(name):
    for spread in (1e2, 1e4):
        evaluation = objective(name).value_and_gradient(*ragged(spread=spread))
        assert np.isfinite(evaluation.loss).all()
        assert np.isfinite(evaluation.gradient).all()
        assert evaluation.loss.sum() > 0


@EVERY
def test_lists_without_information_give_zero(name):
    labels = [[], [1.0], [np.nan, np.nan], [np.nan, 3.0]]
    if not OBJECTIVES[name].uses_ties:
        labels.append([2.0, 2.0, 2.0])
    for y in labels:
        loss, gradient = objective(name).value_and_gradient(np.arange(len(y)), y)
        np.testing.assert_allclose(loss, [0], atol=1e-15)
        np.testing.assert_allclose(gradient, np.zeros(len(y)), atol=1e-15)


@EVERY
def test_item_weights(name):
    scores, labels, offsets = ragged()
    ones = np.ones(len(scores))
    if not OBJECTIVES[name].item_weights:
        with pytest.raises(OptionError, match="item weights"):
            objective(name).value_and_gradient(scores, labels, offsets, item_weights=ones)
        return
    plain = objective(name).value_and_gradient(scores, labels, offsets)
    for factor in (1.0, 2.5, 0.0):
        weighted = objective(name).value_and_gradient(scores, labels, offsets, item_weights=factor * ones)
        np.testing.assert_allclose(weighted.loss, factor * plain.loss, atol=1e-12)
        np.testing.assert_allclose(weighted.gradient, factor * plain.gradient, atol=1e-12)
    with pytest.raises(DataError, match="item_weights"):
        objective(name).value_and_gradient(scores, labels, offsets, item_weights=-ones)


@EVERY
def test_weighted_gradient_is_the_finite_difference(name):
    if not OBJECTIVES[name].item_weights:
        return
    scores, labels, offsets = ragged(seed=4)
    weights = np.random.default_rng(1).uniform(0, 2, len(scores))

    def evaluate(s):
        return objective(name).value_and_gradient(s, labels, offsets, item_weights=weights)

    for row in range(0, len(scores), 3):
        step = np.zeros(len(scores))
        step[row] = 1e-5
        difference = (evaluate(scores + step).loss.sum() - evaluate(scores - step).loss.sum()) / 2e-5
        assert evaluate(scores).gradient[row] == pytest.approx(difference, rel=1e-6, abs=1e-8)


@EVERY
def test_the_draw_names_the_randomness(name):
    scores, labels, offsets = ragged(grades=2)
    first, again, other = (
        objective(name).value_and_gradient(scores, labels, offsets, draw=Draw(0, step)).loss for step in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first, other) != OBJECTIVES[name].random


@EVERY
def test_records_speak_for_themselves(name):
    record = OBJECTIVES[name]
    assert record.name == name
    assert record.summary.endswith(".")
    assert record.formula and record.paper
    for option, choice in record.choices.items():
        assert choice.accepts(choice.default) and choice.summary
        with pytest.raises(OptionError, match=f"'{option}' option of {name} must be"):
            objective(name, **{option: object()})


@EVERY
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": [0, np.nan, 1]}, "scores must not be NaN.*row 1"),
        ({"scores": [0, np.inf, 1]}, "scores must be finite.*row 1"),
        ({"labels": [0, np.inf, 1]}, "labels must be finite.*row 1"),
        ({"labels": [0, 1]}, "labels must have 3"),
        ({"offsets": [0, 2]}, "offsets must run from 0"),
        ({"offsets": [0, 2, 1, 3]}, "offsets must not fall"),
        ({"offsets": [0.0, 3.0]}, "integers"),
    ],
)
def test_bad_input_is_named(name, change, words):
    given = {"scores": [0, 1, 2], "labels": [0, 1, 2], "offsets": [0, 3], **change}
    with pytest.raises(LuceError, match=words):
        objective(name).value_and_gradient(**given)


def test_unknown_names():
    with pytest.raises(OptionError, match="Did you mean 'listmle'"):
        objective("listmel")
    with pytest.raises(OptionError, match="Did you mean 'depth'"):
        objective("listmle", dept=3)
    with pytest.raises(OptionError, match=r"must be an integer ≥ 1 or None\. Got 0\."):
        objective("listmle", depth=0)


def test_listnet_by_hand():
    loss, gradient = objective("listnet").value_and_gradient([1.0, 0.0], [np.log(3.0), 0.0])
    p = 1 / (1 + np.exp(-1))
    assert loss[0] == pytest.approx(-0.75 * np.log(p) - 0.25 * np.log(1 - p), abs=1e-14)
    np.testing.assert_allclose(gradient, [p - 0.75, 0.75 - p], atol=1e-14)
