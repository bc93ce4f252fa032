"""Laws that run over the whole table of objectives; a new entry is under them from its first day."""

from itertools import pairwise

import numpy as np
import pytest

from luce.errors import DataError, LuceError, NumericalError, OptionError
from luce.lists import Lists
from luce.objectives import OBJECTIVES, Draw, objective

from .made import DRAW, GRADES, evaluate, ragged, shaped, suitable, without_ties

EVERY = pytest.mark.parametrize("name", OBJECTIVES)
SMOOTH = pytest.mark.parametrize("name", [name for name in OBJECTIVES if not OBJECTIVES[name].gradient_only])
WEIGHTED = pytest.mark.parametrize("name", [name for name in OBJECTIVES if OBJECTIVES[name].item_weights])
CURVED = pytest.mark.parametrize("name", [name for name in OBJECTIVES if OBJECTIVES[name].hessian])


def check_gradient(name, scores, labels, offsets, **settings):
    """Finite differences of the total loss in every score."""
    gradient = evaluate(name, scores, labels, offsets, **settings).gradient
    assert gradient.shape == scores.shape
    for place in np.ndindex(scores.shape):
        step = np.zeros(scores.shape)
        step[place] = 1e-5
        above, below = (evaluate(name, scores + d, labels, offsets, **settings).loss.sum() for d in (step, -step))
        assert gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-6, abs=1e-7)


@EVERY
def test_checked_lists_are_evaluated_at_new_scores(name):
    scores, labels, offsets = ragged(name)
    chosen = objective(name)
    lists = chosen.check(Lists(np.zeros_like(scores), labels, offsets, nuisance=None, draw=DRAW))
    for values, expected in zip(
        chosen.evaluate(lists._replace(scores=scores)), evaluate(name, scores, labels, offsets), strict=True
    ):
        np.testing.assert_array_equal(values, expected)
    scores[3] = np.nan
    with pytest.raises(NumericalError, match=r"scores must be finite\. Got .* at row 4"):
        chosen.evaluate(lists._replace(scores=scores))


@pytest.mark.parametrize(
    ("name", "lacking"),
    [("listmle", "two items with different labels"), ("listnet", "two items with labels"), ("bce", "an item with a")],
)
def test_the_message_for_data_without_signal_names_what_is_missing(name, lacking):
    message = objective(name).no_signal_message("data")
    assert message.startswith(f"No list of 'data' has {lacking}")
    assert f", so {name} has nothing to learn from" in message


@SMOOTH
def test_gradient_is_the_finite_difference(name):
    check_gradient(name, *ragged(name))


@pytest.mark.parametrize("name", [n for n, each in OBJECTIVES.items() if each.item_weights and not each.gradient_only])
def test_weighted_gradient_is_the_finite_difference(name):
    scores, labels, offsets = ragged(name, seed=4)
    check_gradient(name, scores, labels, offsets, item_weights=np.random.default_rng(1).uniform(0, 2, len(scores)))


@CURVED
def test_curvature_is_the_finite_difference_of_the_gradient(name):
    scores, labels, offsets = ragged(name)
    hessian = evaluate(name, scores, labels, offsets, hessian=True).hessian
    for place in np.ndindex(scores.shape):
        step = np.zeros(scores.shape)
        step[place] = 1e-5
        above, below = (evaluate(name, scores + d, labels, offsets).gradient[place] for d in (step, -step))
        assert hessian[place] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if each.leaf_sums is not None])
def test_leaf_sums_of_one_item_a_leaf_are_the_curvature(name):
    scores, labels, offsets = ragged(name)
    hessian = evaluate(name, scores, labels, offsets, hessian=True).hessian
    lists, leaves = Lists(scores, labels, offsets, draw=DRAW), np.arange(len(scores), dtype=np.int32)
    each = OBJECTIVES[name].leaf_sums(lists, leaves, len(scores), None, **OBJECTIVES[name].options)
    np.testing.assert_allclose(each[1], hessian, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if OBJECTIVES[name].nuisance])
def test_nuisance_gradient_is_the_finite_difference(name):
    scores, labels, offsets = ragged(name)
    start = np.array(list(OBJECTIVES[name].nuisance.values())) + 0.3
    slope = evaluate(name, scores, labels, offsets, nuisance=start).nuisance_gradient
    assert slope.shape == (len(offsets) - 1, len(start))
    for place in range(len(start)):
        step = np.zeros(len(start))
        step[place] = 1e-5
        above, below = (evaluate(name, scores, labels, offsets, nuisance=start + d).loss for d in (step, -step))
        np.testing.assert_allclose(slope[:, place], (above - below) / 2e-5, rtol=1e-6, atol=1e-7)
    with pytest.raises(DataError, match="nuisance must have"):
        evaluate(name, scores, labels, offsets, nuisance=[0.0] * (len(start) + 1))


@EVERY
def test_a_shift_of_a_list_changes_nothing(name):
    scores, labels, offsets = ragged(name)
    shift = np.repeat(np.arange(len(offsets) - 1) * 3.0, np.diff(offsets))
    moved = evaluate(name, scores + (shift[:, None] if scores.ndim == 2 else shift), labels, offsets)
    given = evaluate(name, scores, labels, offsets)
    same = np.allclose(given.loss, moved.loss, atol=1e-9) and np.allclose(given.gradient, moved.gradient, atol=1e-9)
    assert same == OBJECTIVES[name].shift_invariant


@pytest.mark.parametrize("name", [name for name, record in OBJECTIVES.items() if record.shift_invariant])
@pytest.mark.parametrize("shift", [1e9, 1e12])
def test_a_large_shift_costs_no_digits(name, shift):
    scores, labels, offsets = ragged(name)
    scores = np.round(8 * scores) / 8  # so that the sum is exact
    hessian = OBJECTIVES[name].hessian
    given, moved = (evaluate(name, s, labels, offsets, hessian=hessian) for s in (scores, scores + shift))
    for a, b in zip(given, moved, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@EVERY
@pytest.mark.parametrize("scale", [1e20, 1e150, 1e300, 1e-310])
def test_extreme_scores_give_finite_numbers_or_an_error(name, scale):
    scores, labels, offsets = ragged(name)
    try:
        evaluation = evaluate(name, scores * scale, labels, offsets, hessian=OBJECTIVES[name].hessian)
    except DataError as error:
        assert "beyond float64 with scores from" in str(error)
        assert name in OVERFLOW[scale]
        return
    assert name not in OVERFLOW[scale]
    for values in evaluation:
        assert values is None or np.isfinite(values).all()
    if OBJECTIVES[name].shift_invariant and not OBJECTIVES[name].random:
        assert evaluation.gradient.sum() == pytest.approx(0, abs=1e-9 * np.abs(evaluation.gradient).max())


SQUARES = ["squared-gain", "squared-label", "c-squared", "rankregress"]
OVERFLOW = {1e20: [], 1e150: [], 1e300: SQUARES, 1e-310: ["rankcosine", "cosine", "c-cosine"]}


@EVERY
def test_losses_that_saturate_are_bounded_and_lose_their_gradient(name):
    """At scores far apart and in the wrong order, where other losses still say which way to go."""
    record, labels = OBJECTIVES[name], np.array([3.0, 2.0, 1.0, 0.0, 0.0])
    wrong = np.arange(5.0)[:, None] * np.arange(GRADES) if record.one_output_per_grade else np.arange(5.0)
    near, far = (evaluate(name, wrong * scale, labels) for scale in (1e4, 1e8))
    is_bounded = abs(far.loss[0]) < 2 * abs(near.loss[0]) + 1
    vanishes = np.abs(far.gradient).max() < 1e-6
    assert is_bounded == vanishes == record.saturates


LINEAR = ["listmle", "pl-partition", "pl-lb", "pl-topk", "pmop-fd", "pmop-exact", "listnet", "ranknet", "ranksvm"]


@pytest.mark.parametrize("name", [*LINEAR, "pairties-davidson", "pairties-rao-kupper"])
def test_losses_of_extreme_scores_grow_linearly(name):
    scores, labels, offsets = ragged(name)
    far = evaluate(name, scores * 1e20, labels, offsets)
    for scale in (1e150, 1e300):
        further = evaluate(name, scores * scale, labels, offsets)
        np.testing.assert_allclose(far.loss / 1e20, further.loss / scale, rtol=1e-12)
        np.testing.assert_allclose(far.gradient, further.gradient, atol=1e-12)


@EVERY
def test_rows_may_stand_in_any_order(name):
    # Where ties are shuffled it holds in distribution; without ties it holds to the digit for all but the samplers.
    scores, labels, offsets = without_ties(name)
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])
    given, moved = evaluate(name, scores, labels, offsets), evaluate(name, scores[order], labels[order], offsets)
    np.testing.assert_allclose(given.loss, moved.loss, atol=1e-9)
    np.testing.assert_allclose(given.gradient[order], moved.gradient, atol=1e-9)


@EVERY
def test_lists_are_independent_and_may_be_split(name):
    scores, labels, offsets = ragged(name)
    whole = evaluate(name, scores, labels, offsets)
    for q, (a, b) in enumerate(pairwise(offsets)):
        alone = evaluate(name, scores[a:b], labels[a:b], draw=DRAW._replace(lists=np.array([q])))
        np.testing.assert_allclose(alone.loss, whole.loss[q : q + 1], rtol=1e-13)
        np.testing.assert_allclose(alone.gradient, whole.gradient[a:b], rtol=1e-13, atol=1e-15)


@EVERY
def test_threads_change_nothing(name):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 80, 300))])
    labels = suitable(name, rng.integers(0, 3, offsets[-1]).astype(float), offsets)
    scores = shaped(name, offsets[-1], rng)
    one, three = (evaluate(name, scores, labels, offsets, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_allclose(one.loss, three.loss, rtol=1e-13)
    np.testing.assert_allclose(one.gradient, three.gradient, rtol=1e-13, atol=1e-14)


@EVERY
def test_unobserved_items_are_left_out(name):
    scores, labels, offsets = without_ties(name)
    kept = ~np.isnan(labels)
    fewer = np.concatenate([[0], np.cumsum(kept)])[offsets]
    given, rest = evaluate(name, scores, labels, offsets), evaluate(name, scores[kept], labels[kept], fewer)
    np.testing.assert_allclose(given.loss, rest.loss, atol=1e-12)
    np.testing.assert_allclose(given.gradient[kept], rest.gradient, atol=1e-12)
    assert not given.gradient[~kept].any()


@EVERY
@pytest.mark.parametrize("spread", [1e2, 1e4])
def test_any_scores_give_finite_numbers(name, spread):
    evaluation = evaluate(name, *ragged(name, spread=spread), hessian=OBJECTIVES[name].hessian)
    for values in evaluation:
        assert values is None or np.isfinite(values).all()
    assert evaluation.gradient.any()


@EVERY
def test_lists_without_information_give_zero(name):
    known = [[], [1.0], [np.nan, np.nan], [np.nan, 3.0]] + ([] if OBJECTIVES[name].uses_ties else [[2.0, 2.0, 2.0]])
    if OBJECTIVES[name].pointwise:
        known = [[], [np.nan, np.nan]]
    for labels in known:
        scores = shaped(name, len(labels), np.random.default_rng(0))
        evaluation = evaluate(name, scores, labels)
        np.testing.assert_allclose(evaluation.loss, [0], atol=1e-15)
        np.testing.assert_allclose(evaluation.gradient, np.zeros(scores.shape), atol=1e-15)
        assert not objective(name).has_signal(labels, [0, len(labels)]).any()
    assert objective(name).has_signal([0, 1], [0, 2]).all()


@WEIGHTED
def test_item_weights_of_one_are_no_weights(name):
    scores, labels, offsets = ragged(name)
    plain = evaluate(name, scores, labels, offsets)
    weighted = evaluate(name, scores, labels, offsets, item_weights=np.ones(len(scores)))
    np.testing.assert_allclose(weighted.loss, plain.loss, atol=1e-12)
    np.testing.assert_allclose(weighted.gradient, plain.gradient, atol=1e-12)
    nothing = evaluate(name, scores, labels, offsets, item_weights=np.zeros(len(scores)))
    assert not nothing.gradient.any()
    with pytest.raises(DataError, match="item_weights"):
        evaluate(name, scores, labels, offsets, item_weights=-np.ones(len(scores)))


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if not OBJECTIVES[name].item_weights])
def test_item_weights_are_refused_with_a_reason(name):
    scores, labels, offsets = ragged(name)
    with pytest.raises(OptionError, match=f"{name} does not support item weights: .+"):
        evaluate(name, scores, labels, offsets, item_weights=np.ones(len(scores)))


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if "0 for labels below 0" in OBJECTIVES[name].formula])
def test_labels_below_zero_gain_nothing(name):
    scores, labels, offsets = ragged(name)
    below, zero = (evaluate(name, scores, np.where(labels == 0, lowest, labels), offsets) for lowest in (-2.5, 0.0))
    np.testing.assert_allclose(below.loss, zero.loss, rtol=1e-13)
    np.testing.assert_allclose(below.gradient, zero.gradient, rtol=1e-13, atol=1e-15)


@EVERY
def test_the_draw_names_the_randomness(name):
    scores, labels, offsets = ragged(name)
    first, again, other = (evaluate(name, scores, labels, offsets, draw=Draw(0, step)) for step in (0, 0, 1))
    np.testing.assert_array_equal(first.gradient, again.gradient)
    assert np.array_equal(first.gradient, other.gradient) != OBJECTIVES[name].random


@EVERY
def test_records_speak_for_themselves(name):
    record = OBJECTIVES[name]
    assert record.name == name
    assert record.summary.endswith(".") and record.use_when.startswith("Use it ") and record.use_when.endswith(".")
    assert record.family and record.formula and record.paper and record.cost
    for option, spec in record.option_specs.items():
        assert spec.accepts(spec.default) and spec.summary
        with pytest.raises(OptionError, match=f"'{option}' option of {name} must be"):
            objective(name, **{option: object()})
    if not record.hessian:
        with pytest.raises(OptionError, match="no diagonal second derivative"):
            evaluate(name, *ragged(name), hessian=True)


@EVERY
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": np.nan}, "scores must .*row 2"),
        ({"scores": -np.inf}, "scores must be finite.*row 2"),
        ({"labels": [0, np.inf, 1]}, "labels must be finite.*row 2"),
        ({"labels": [0, 1]}, "labels must have 3"),
        ({"offsets": [0, 2]}, "offsets must run from 0"),
        ({"offsets": [0, 2, 1, 3]}, "offsets must not decrease"),
        ({"offsets": [0.0, 3.0]}, "integers"),
        ({"draw": Draw(lists=np.array([1, 2]))}, "draw.lists"),
    ],
)
def test_bad_input_is_named(name, change, words):
    scores = shaped(name, 3, np.random.default_rng(0))
    if "scores" in change:
        scores[1] = change["scores"]
    given = {"labels": [0, 1, 2], "offsets": [0, 3], **change, "scores": scores}
    with pytest.raises(LuceError, match=words):
        objective(name).value_and_gradient(**given)


def test_unknown_names():
    with pytest.raises(OptionError, match="Did you mean 'listmle'"):
        objective("listmel")
    with pytest.raises(OptionError, match="Did you mean 'depth'"):
        objective("listmle", dept=3)
    with pytest.raises(OptionError, match=r"must be an integer ≥ 1, or None\. Got 0\."):
        objective("listmle", depth=0)


def test_only_pointwise_objectives_learn_from_a_list_of_one_item():
    for name, one in (("squared-label", True), ("listmle", False)):
        assert objective(name).has_signal([1, 0, 2, np.nan], [0, 1, 3, 4]).tolist() == [one, True, False]
