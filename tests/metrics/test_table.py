"""Laws that hold for every metric of the table; a new entry is covered as soon as it has a reference twin."""

import itertools
import math

import numpy as np
import pytest

from luce.errors import OptionError
from luce.metrics import METRICS as EVERY
from luce.metrics import measure
from luce.metrics.parameters import PARAMETERS
from luce.metrics.reference import average_over_orders
from luce.threads import SMALL

GAINS = ("exponential", "linear")
METRICS = {name: record for name, record in EVERY.items() if not record.is_stochastic}


def random_lists(seed, n_lists, most=6, levels=3):
    """Ragged lists with equal scores, −∞, +∞, missing, negative and real-valued labels, empty and one-item lists."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, most + 1, n_lists)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = offsets[-1]
    labels = np.where(rng.random(n) < 0.3, np.round(rng.uniform(-1, 4, n), 2), rng.integers(-1, 5, n))
    labels[rng.random(n) < 0.1] = np.nan
    scores = rng.integers(0, levels, n).astype(float)
    scores[rng.random(n) < 0.1] = -np.inf
    scores[rng.random(n) < 0.05] = np.inf
    return scores, labels, offsets


def names(cutoffs=(1, 2, 3, 10)):
    """Every metric without a cutoff, and with these where it takes one."""
    for metric in METRICS.values():
        yield metric.name
        if metric.takes_cutoff:
            yield from (f"{metric.name}@{k}" for k in cutoffs)


def everything(scores, labels, offsets, **settings):
    return measure(scores, labels, offsets, list(names()), max_grade=4, **settings)


def assert_same(found, expected, **tol):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], **{"rtol": 1e-12, "atol": 1e-12, **tol}, err_msg=name)


def test_every_metric_has_a_twin_and_says_what_it_is():
    for name, metric in EVERY.items():
        code = (metric.kernel, metric.reference, metric.place_sum)
        assert all(each is None for each in code) if metric.is_stochastic else all(each is not None for each in code)
        assert metric.name == name == name.lower()
        assert metric.summary.endswith(".") and metric.formula and metric.empty_when
        assert set(metric.options) <= set(PARAMETERS)


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("name", METRICS)
def test_value_is_the_average_over_all_orders_of_equal_scores(name, gain):
    scores, labels, offsets = random_lists(7, 300)
    cutoffs = [None, *range(1, 8)] if METRICS[name].takes_cutoff else [None]
    for cutoff in cutoffs:
        full = name if cutoff is None else f"{name}@{cutoff}"
        found = measure(scores, labels, offsets, full, gain=gain, max_grade=4)[full]
        for q, (a, b) in enumerate(itertools.pairwise(offsets)):
            linear = gain == "linear"
            wanted = average_over_orders(
                METRICS[name].reference, scores[a:b].tolist(), labels[a:b].tolist(), cutoff, linear=linear
            )
            assert found[q] == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True), (
                full,
                scores[a:b],
                labels[a:b],
            )


@pytest.mark.parametrize("name", METRICS)
def test_options_of_the_record_are_those_that_change_the_value(name):
    scores, labels, offsets = random_lists(3, 50)
    usual = measure(scores, labels, offsets, name, max_grade=4)[name]
    linear = measure(scores, labels, offsets, name, max_grade=4, gain="linear")[name]
    higher = measure(scores, labels, offsets, name, max_grade=5)[name]
    assert np.array_equal(usual, linear, equal_nan=True) == ("gain" not in METRICS[name].options)
    assert np.array_equal(usual, higher, equal_nan=True) == ("max_grade" not in METRICS[name].options)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("parameter", "value"), [("gain", "linear"), ("max_grade", 5), ("p", 0.5)])
def test_a_parameter_in_the_name_is_that_of_this_metric(name, parameter, value):
    scores, labels, offsets = random_lists(3, 50)
    full = f"{name}({parameter}={value})"
    if parameter not in METRICS[name].options:
        with pytest.raises(OptionError, match=f"{name} has no parameters|no parameter of {name} '{parameter}'"):
            measure(scores, labels, offsets, full)
        return
    found = measure(scores, labels, offsets, [name, full], max_grade=4)
    assert not np.array_equal(found[name], found[full], equal_nan=True)
    if parameter != "p":
        expected = measure(scores, labels, offsets, name, **({"max_grade": 4} | {parameter: value}))[name]
        np.testing.assert_array_equal(found[full], expected)


def test_rank_biased_precision_by_hand():
    scores, labels, offsets = [4.0, 3, 2, 1], [1, 0, 2, 1], [0, 4]
    assert measure(scores, labels, offsets, "rbp")["rbp"] == pytest.approx(0.2 * (1 + 0.8**2 + 0.8**3))
    assert measure(scores, labels, offsets, "rbp(p=0.5)@3")["rbp(p=0.5)@3"] == pytest.approx(0.5 * (1 + 0.5**2))


def test_row_order_does_not_matter():
    scores, labels, offsets = random_lists(11, 200, most=60)
    rng = np.random.default_rng(0)
    shuffled = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(offsets)])
    assert_same(everything(scores[shuffled], labels[shuffled], offsets), everything(scores, labels, offsets))


def test_a_list_does_not_know_its_neighbours():
    scores, labels, offsets = random_lists(12, 60, most=40)
    together = everything(scores, labels, offsets)
    for q, (a, b) in enumerate(itertools.pairwise(offsets)):
        alone = everything(scores[a:b], labels[a:b], [0, b - a])
        assert all(np.array_equal(alone[name], together[name][q : q + 1], equal_nan=True) for name in alone)


def test_one_call_for_all_metrics_is_the_same_as_one_call_each():
    scores, labels, offsets = random_lists(13, 100, most=60)
    together = everything(scores, labels, offsets)
    assert_same({name: measure(scores, labels, offsets, name, max_grade=4)[name] for name in together}, together)


def test_thread_count_does_not_matter():
    scores, labels, offsets = random_lists(14, 600, most=100, levels=20)
    assert len(labels) > 2 * SMALL
    one = everything(scores, labels, offsets, n_jobs=1)
    for n_jobs in (2, 5):
        many = everything(scores, labels, offsets, n_jobs=n_jobs)
        assert all(np.array_equal(many[name], one[name], equal_nan=True) for name in one)


def test_only_the_order_of_scores_matters():
    scores, labels, offsets = random_lists(15, 200, most=40, levels=9)
    usual = everything(scores, labels, offsets)
    for other in (scores - 1000, np.where(np.isinf(scores), scores, np.exp(scores)), 1e300 * scores):
        assert_same(everything(other, labels, offsets), usual, rtol=0, atol=0)


def test_values_stay_within_the_bounds_of_the_record():
    scores, labels, offsets = random_lists(16, 400, most=30, levels=6)
    for name, values in everything(scores, labels, offsets).items():
        low, high = METRICS[name.partition("@")[0]].bounds
        values = values[~np.isnan(values)]
        assert len(values) and values.min() >= low - 1e-12 and values.max() <= high + 1e-12, name


@pytest.mark.parametrize("name", METRICS)
def test_no_order_is_better_than_that_of_the_labels_and_none_worse_than_the_reverse(name):
    scores, labels, offsets = random_lists(17, 400, most=8, levels=100)
    scores[np.isinf(scores)] = 0.5
    sign = 1 if METRICS[name].higher_is_better else -1
    for full in [f"{name}@2", f"{name}@1"] if METRICS[name].takes_cutoff else [name]:
        best, given, worst = (
            sign * measure(s, labels, offsets, full, max_grade=4)[full]
            for s in (np.nan_to_num(labels), scores, -np.nan_to_num(labels))
        )
        kept = ~np.isnan(best)
        assert (best[kept] >= given[kept] - 1e-12).all() and (given[kept] >= worst[kept] - 1e-12).all()
        assert (best[kept] > given[kept] + 1e-6).any()


@pytest.mark.parametrize("name", ["ndcg", "recall", "mrr", "hit", "sharp-ndcg", "kendall-tau", "ndcg@2", "mrr@1"])
def test_the_order_of_the_labels_gives_one(name):
    labels, offsets = np.array([3.0, 0, 1, 2, 1, 0, 0.5]), [0, 4, 7]
    np.testing.assert_allclose(measure(labels, labels, offsets, name)[name], [1, 1], rtol=1e-15)


@pytest.mark.parametrize("name", METRICS)
def test_lists_with_nothing_to_measure(name):
    nan = np.nan
    cases = [[], [nan], [0.0], [0.0, 0.0, nan], [-1.0, -1.0]]
    offsets = np.cumsum([0, *map(len, cases)])
    labels = np.concatenate(cases)
    assert np.isnan(measure(np.arange(len(labels)), labels, offsets, name)[name]).all()


@pytest.mark.parametrize("name", METRICS)
def test_an_unobserved_item_might_as_well_not_be_there(name):
    with_it = measure([5.0, 4, 3, 2, 1], [0, np.nan, 2, 1, np.nan], [0, 5], name, max_grade=4)[name]
    without = measure([5.0, 3, 2], [0, 2, 1], [0, 3], name, max_grade=4)[name]
    assert with_it == without and math.isfinite(without[0])
