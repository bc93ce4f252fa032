"""What the exports rest on: thresholds by bisection, Solr's slack, names, networks side by side."""

import numpy as np
import pytest

import luce
from luce.exports.decision_trees import decision_trees, next_above
from luce.exports.linear_form import linear_of
from luce.exports.network_form import layers_of
from luce.exports.solr import AROUND_ZERO, SLACK, _before_slack, _factor
from tests.exports.models import SETTINGS, data, made


@pytest.mark.parametrize("name", ["trees, missing values", "trees, transforms"])
def test_a_threshold_is_the_last_number_that_goes_left(name):
    """At each split of LightGBM, by its own decision on the threshold, the next number and what is missing."""
    ranker = made(name)
    booster = ranker.to_lightgbm()
    for number, tree in enumerate(decision_trees(ranker, "any")):
        stump = ranker.forest_.trees[number]
        for value, left in ((tree.threshold[0], True), (np.nextafter(tree.threshold[0], np.float32(np.inf)), False)):
            row = np.zeros((1, ranker.n_features_in_), dtype=np.float32)
            row[0, tree.feature[0]] = value
            changed = ranker.transform_features(luce.Dataset(row, [0], [0, 1]))
            leaf = int(booster.predict(changed, pred_leaf=True, num_threads=1)[0, number])
            assert (leaf in leaves_below(stump, stump.left_child[0])) == left


def leaves_below(tree, child):
    if child < 0:
        return {~child}
    return leaves_below(tree, tree.left_child[child]) | leaves_below(tree, tree.right_child[child])


def test_numbers_next_to_thresholds():
    given = np.float32([0, 1, -1, np.finfo(np.float32).max, -np.inf])
    above = next_above(given)
    assert above[:3].tolist() == [
        1.401298464324817e-45,
        float(np.nextafter(np.float32(1), np.float32(2))),
        -0.9999999403953552,
    ]
    assert above[3] == 2.0**128 and above[4] == -float(np.finfo(np.float32).max)


def test_every_threshold_comes_out_of_the_slack_after_its_factor():
    rng = np.random.default_rng(0)
    given = (rng.choice([-1, 1], 200_000) * 2.0 ** rng.uniform(6, 127.9, 200_000)).astype(np.float32)
    given = np.append(given, np.float32([0, 64, -64, np.finfo(np.float32).max]))
    assert np.array_equal(_before_slack(given).astype(np.float32) + SLACK, given)
    for scale in 2.0 ** rng.uniform(-120, 40, 50):
        thresholds = np.append(rng.normal(size=20) * scale, 0).astype(np.float32)
        scaled = thresholds * np.float32(_factor(thresholds))
        assert np.array_equal(_before_slack(scaled).astype(np.float32) + SLACK, scaled)
    assert (
        _factor(np.float32([0.5, -3])) == 1
        and _factor(np.float32([-32])) == 2
        and _factor(np.float32([1e-30, 1e30])) is None
    )


def test_solr_refuses_a_feature_with_thresholds_of_too_many_sizes(tmp_path):
    values = np.array([1e-30, 2e-30, 3e30, 4e30] * 20, dtype=np.float32)[:, None]
    lists = luce.Dataset(values, np.tile([0, 1, 2, 3], 20), np.arange(0, 81, 4))
    ranker = luce.TreeRanker(n_estimators=3, min_child_samples=1, n_jobs=1, validation_fraction=None).fit(lists)
    with pytest.raises(
        luce.OptionError, match=r"thresholds of 'feature_1' are from 1\.\d+e-30 to .*e\+30.* another scale"
    ):
        luce.export(ranker, "solr", tmp_path / "shop.json")


def test_zero_goes_to_its_side_in_solr_where_no_power_serves_all_thresholds(tmp_path):
    """Large amounts of both signs and zeros, which LightGBM divides at ±1e-35."""
    rng = np.random.default_rng(0)
    amounts = np.where(rng.random(400) < 0.4, 0, rng.normal(size=400) * 1e12).astype(np.float32)[:, None]
    lists = luce.Dataset(amounts, np.where(amounts == 0, 2, amounts > 0).ravel(), np.arange(0, 401, 10))
    ranker = luce.TreeRanker(n_estimators=5, num_leaves=8, min_child_samples=2, **SETTINGS).fit(lists)
    thresholds = np.concatenate([tree.threshold for tree in decision_trees(ranker, "solr")])
    assert np.isin(AROUND_ZERO, thresholds).all() and np.abs(thresholds).max() > 1e9
    small = np.float32([0, -0.0, 2e-35, -2e-35, 1e-30, -1e-30, 1e-20, -1e-20])[:, None]
    for rows in (amounts, small):
        given = luce.Dataset(rows, np.zeros(len(rows)), [0, len(rows)])
        assert luce.export(ranker, "solr", tmp_path / "shop.json", data=given).different_rows == 0


def test_a_split_within_the_zero_of_lightgbm_is_refused_there(tmp_path):
    scales = np.float32([3e-26, 0, 0, 0, 0, 0])
    tiny = data().with_features((data().features - data().features.mean(axis=0)) * scales)
    ranker = luce.TreeRanker(transforms=("standardize",), n_estimators=5, **SETTINGS).fit(tiny)
    with pytest.raises(luce.OptionError, match=r"splits a feature within 1e-35 of 0.* --to treelite or onnx"):
        luce.export(ranker, "lightgbm", tmp_path / "shop.txt")
    assert luce.export(ranker, "elasticsearch", tmp_path / "shop.json").different_rows == 0


def test_one_mean_and_scale_for_features_that_are_standardized_twice(tmp_path):
    ranker = luce.LinearRanker(transforms=("standardize", "standardize"), n_jobs=1).fit(data())
    assert luce.export(ranker, "solr", tmp_path / "shop.json").different_rows == 0


def test_an_intercept_goes_into_the_mean_of_a_feature():
    ranker = made("linear with intercept")
    (_, mean, scale), weights = linear_of(ranker, "solr")
    assert ranker.intercept_.size and np.flatnonzero(mean != ranker.transforms_[0].mean).tolist() == [
        np.abs(weights).argmax()
    ]
    rows = data().features[:50].astype(np.float64)
    np.testing.assert_allclose((rows - mean) / scale @ weights, ranker.predict(data())[:50], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["network", "network, batch", "network bags"])
def test_layers_give_the_output_of_the_network(name):
    ranker = made(name)
    activations = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
    values = ranker.transform_features(data()).astype(np.float64)
    for matrix, bias, activation in layers_of(ranker, "solr", ("relu", "tanh", "sigmoid")):
        values = values @ matrix.T + bias
        values = activations.get(activation, lambda x: x)(values)
    np.testing.assert_allclose(values[:, 0], ranker.predict(data()), rtol=1e-5, atol=1e-6)
