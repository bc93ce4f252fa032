"""Calibration: chances of the scores against what is seen, from lists made so that the answer is known."""

import numpy as np
import pytest

from luce.data.ragged import Dataset
from luce.report.calibration import calibrated

NAN, INF = np.nan, np.inf


def dataset(labels, sizes):
    return Dataset(np.zeros((len(labels), 1)), labels, np.concatenate([[0], np.cumsum(sizes)]))


@pytest.fixture(scope="module")
def drawn():
    """6,000 lists of four items whose best is drawn with the chances of their scores."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6000, 4)) * 1.5
    noisy = scores + rng.gumbel(size=scores.shape)
    labels = (noisy == noisy.max(axis=1, keepdims=True)).astype(float)
    return dataset(labels.ravel(), [4] * 6000), scores.ravel()


def test_scores_that_tell_the_truth(drawn):
    found = calibrated(*drawn)
    assert found.n_lists == 6000 and found.by_chance == 0.25
    assert found.temperature == pytest.approx(1.0, abs=0.04)
    assert found.error < 0.02 and len(found.bins) == 8
    for each in found.bins:
        assert abs(each.chance - each.seen) < 4 * each.error and 0 < each.error < 0.02
    chance = np.exp(drawn[1].reshape(-1, 4))
    chance /= chance.sum(axis=1, keepdims=True)
    best = drawn[0].labels.reshape(-1, 4) > 0
    assert found.best_first == pytest.approx(chance[best].mean())


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_scores_too_sure_or_not_sure_enough(drawn, factor):
    found = calibrated(drawn[0], factor * drawn[1])
    assert found.temperature == pytest.approx(factor, rel=0.04)
    last = found.bins[-1]
    assert (last.seen < last.chance) == (factor > 1)
    assert found.error > 0.05


@pytest.mark.parametrize("unit", [1e-7, 1e-2, 1.0, 1e4, 1e9])
def test_the_temperature_has_the_unit_of_the_scores(drawn, unit):
    data, scores = drawn
    assert calibrated(data, unit * scores).temperature == pytest.approx(
        unit * calibrated(data, scores).temperature, rel=1e-6
    )
    assert calibrated(data, unit * data.labels).temperature == 0, "never wrong: no sharpness is too much"
    assert calibrated(data, -unit * data.labels).temperature == INF, "a random order is better"


def test_scores_to_the_ends_of_the_scale_shift_nothing(drawn):
    shifted = drawn[1] + np.repeat(np.linspace(-1e4, 1e4, 6000), 4)
    one, other = calibrated(*drawn), calibrated(drawn[0], shifted)
    assert other.temperature == pytest.approx(one.temperature, rel=1e-6)
    assert other.error == pytest.approx(one.error, abs=1e-3)
    assert calibrated(drawn[0], 1e4 * drawn[1]).best_first == pytest.approx(
        np.mean(np.argmax(drawn[1].reshape(-1, 4), 1) == np.argmax(drawn[0].labels.reshape(-1, 4), 1)), abs=1e-3
    )


def test_the_error_of_a_dot_is_over_lists():
    one, two = calibrated(dataset([1, 0, 0, 0, 1, 0], [4, 2]), np.zeros(6)).bins
    assert np.isnan([one.error, two.error]).all(), "each of one list, which tells nothing of others"
    likely = calibrated(dataset([1, 0, 1, 0, 0, 1], [2, 2, 2]), np.log([3.0, 1, 3, 1, 3, 1])).bins[-1]
    assert (likely.chance, likely.seen) == pytest.approx((3 / 4, 2 / 3))
    assert likely.error == pytest.approx(np.std([1, 1, 0], ddof=1) / np.sqrt(3))


def test_several_best_items_share():
    found = calibrated(dataset([2, 2, 0, 1], [4]), np.zeros(4))
    (only,) = found.bins
    assert (only.chance, only.seen) == (0.25, 0.25) and found.error == 0
    assert found.best_first == 0.5 == found.by_chance and np.isnan(found.temperature)


def test_what_is_left_out():
    labels = [1, 0, NAN, 3, 3, 0, 1, 5]
    scores = np.array([0.0, 0.0, 9.0, 1.0, 2.0, -INF, -INF, 1.0])
    found = calibrated(dataset(labels, [3, 2, 2, 1, 0]), scores)
    assert found.n_lists == 1 and found.best_first == 0.5, "the item without a grade takes no chance away"
    assert calibrated(dataset([1, 1, NAN], [2, 1]), np.zeros(3)) is None


def test_an_item_that_is_never_placed():
    found = calibrated(dataset([1, 0, 0], [3]), np.array([-INF, 0.0, 0.0]))
    assert found.best_first == 0 and found.error == pytest.approx(1) and np.isnan(found.temperature)


def test_the_section_tells_of_each_ranker(page, lists):
    data = lists([1, 0, 0, 1, 0], [2, 3])
    made = page(dataset=data, scores={"a": np.zeros(5), "b": [0, 0, NAN, 0, 0], "c": [NAN, 0, NAN, 0, 0]})
    rows = [row for row in made.rows if row[0] in ("a", "b", "c")]
    assert rows == [["a", "0 %", "–", "41.7 %", "41.7 %", "2"], ["b", "0 %", "–", "50.0 %", "50.0 %", "1"]]
    assert sum("observed frequency" in text for text in made.pictures) == 2
    assert "calibration" not in page(dataset=lists(np.ones(4)), scores={"a": np.zeros(4)}).sections
