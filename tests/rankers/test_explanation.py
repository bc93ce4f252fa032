"""Contributions add up to scores and are Shapley's, and a feature is worth what its shuffling costs."""

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import sparse

import luce
from luce.data.extreme import TaggedData
from luce.errors import DataError, OptionError
from luce.rankers import LabelRanker, LinearRanker, NeuralRanker
from luce.rankers.explanation import Explanation
from luce.rankers.importance import Importance, permutation_importance
from luce.rankers.trees import fitted as fitted_module
from luce.scoring.forest import Forest, constant_tree

from .growing import quick
from .made import parts


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=40, n_features=12)


def filled(dataset):
    return dataset.with_features(np.nan_to_num(dataset.features))


RANKERS = {
    "trees": quick(),
    "trees of squares": quick("squared-label"),
    "trees of LightGBM": quick(lightgbm_objective="lambdarank"),
    "trees of some lists": quick("listnet", subsample=0.5, colsample_bytree=0.5),
    "trees of categories": quick(categorical_feature=(1, 4)),
    "trees of normalised features": quick(transforms=("fill", "list-zscore")),
    "trees of products": quick(transforms=("fill", "second-order")),
    "weights": LinearRanker(n_jobs=1),
    "weights and an intercept": LinearRanker("squared-label", n_jobs=1),
    "weights of products": LinearRanker(transforms=("fill", "standardize", "second-order"), n_jobs=1),
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_contributions_add_up_to_the_scores(data, ranker):
    train, test = data["train"], data["test"]
    if getattr(ranker, "categorical_feature", ()):
        train, test = (each.with_features(np.abs(np.round(np.nan_to_num(each.features)))) for each in (train, test))
    ranker.fit(train)
    found, scores = ranker.explain(test), ranker.predict(test)
    assert found.contributions.shape == (test.n_rows, len(found.names))
    assert found.names[:12] == tuple(map(str, range(1, 13)))
    np.testing.assert_allclose(found.scores, scores, atol=1e-9)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), scores, atol=1e-9)
    assert np.ptp(found.contributions, axis=0).max() > 0.05
    rows, qid = default_rng(0).permutation(test.n_rows), np.repeat(np.arange(test.n_lists), test.sizes)
    moved = ranker.explain(np.asarray(test.features)[rows], qid[rows])
    np.testing.assert_allclose(moved.contributions, found.contributions[rows], atol=1e-12)


def test_contributions_of_sparse_features_and_of_an_adapted_ranker(data):
    train, test = filled(data["train"]), filled(data["test"])
    first = quick(n_estimators=5).fit(train)
    adapted = quick(n_estimators=5).fit(filled(data["validation"]), init_model=first)
    thin = test.with_features(sparse.csr_array(test.features))
    for ranker in (adapted, LinearRanker(transforms=(), n_jobs=1).fit(train)):
        found, dense = ranker.explain(thin), ranker.explain(test)
        np.testing.assert_allclose(found.scores, ranker.predict(thin), atol=1e-9)
        np.testing.assert_allclose(found.contributions, dense.contributions, atol=1e-12)
    np.testing.assert_array_equal(
        adapted.explain(test).contributions, adapted.to_lightgbm().predict(test.features, pred_contrib=True)[:, :-1]
    )


def expected(tree, row, known):
    """The mean value of the leaves where a row may be of which only some features are known, by the rows there."""

    def below(node):
        if node < 0:
            return tree.leaf_value[~node]
        feature = tree.split_feature[node]
        sides = tree.left_child[node], tree.right_child[node]
        if feature in known:
            return below(sides[int(row[feature] > tree.threshold[node])])
        weights = [tree.leaf_count[~side] if side < 0 else tree.internal_count[side] for side in sides]
        return np.average([below(side) for side in sides], weights=weights)

    return below(0)


def test_contributions_of_trees_are_shapley_values():
    """By all sets of features, from what the trees say; LightGBM must have been told of our leaf values."""
    rng = default_rng(3)
    X = rng.normal(size=(300, 3))
    labels = np.digitize(X[:, 0] * (X[:, 1] > 0) + 0.5 * X[:, 2], [0.2, 0.8])
    data = luce.Dataset(X, labels, np.arange(0, 301, 10))
    ranker = quick("pl-partition", n_estimators=3, num_leaves=5).fit(data)
    found = ranker.explain(data)
    for number in (0, 17, 123):
        row = data.features[number].astype(np.float64)
        for feature in range(3):
            others = [each for each in range(3) if each != feature]
            worth = 0.0
            for size in range(3):
                for known in combinations(others, size):
                    share = factorial(size) * factorial(2 - size) / factorial(3)
                    for tree in ranker.forest_.trees:
                        more = expected(tree, row, {*known, feature})
                        worth += share * (more - expected(tree, row, set(known)))
            assert found.contributions[number, feature] == pytest.approx(worth, abs=1e-9)
        base = sum(expected(tree, row, set()) for tree in ranker.forest_.trees)
        assert found.base[number] == pytest.approx(base, abs=1e-9)


def test_weights_times_values(data):
    ranker = LinearRanker("squared-label", n_jobs=1).fit(data["train"])
    found = ranker.explain(data["test"])
    np.testing.assert_allclose(found.contributions, ranker.transform_features(data["test"]) * ranker.coef_)
    assert (found.base == ranker.intercept_[0]).all() and found.base[0] != 0


def test_within_lists_only_differences_are_left():
    rng = default_rng(1)
    offsets = np.array([0, 3, 3, 4, 9])
    found = Explanation(rng.normal(size=(9, 4)), np.full(9, 0.7), ("a", "b", "c", "d"))
    apart = found.within_lists(offsets)
    np.testing.assert_allclose(apart.scores, found.scores)
    for q in (0, 2, 3):
        rows = slice(offsets[q], offsets[q + 1])
        np.testing.assert_allclose(apart.contributions[rows].mean(axis=0), 0, atol=1e-15)
        np.testing.assert_allclose(apart.base[rows], found.scores[rows].mean())
        np.testing.assert_allclose(
            np.diff(apart.contributions[rows], axis=0), np.diff(found.contributions[rows], axis=0)
        )


def test_what_cannot_be_explained_says_why(data, monkeypatch):
    for ranker in (quick("mcrank", n_estimators=2), LinearRanker("mcrank", n_jobs=1)):
        with pytest.raises(OptionError, match="an expected grade, not a sum"):
            ranker.fit(data["train"]).explain(data["test"])
    ranker = quick(n_estimators=2).fit(data["train"])
    with pytest.raises(DataError, match="X has 3 features"):
        ranker.explain(np.zeros((2, 3)))
    wrong = [replace(tree, leaf_count=np.array([1] * 7 + [0])) for tree in ranker.forest_.trees]
    ranker._set_forest(Forest(tuple(wrong), 1, ranker.forest_.feature_infos))
    with pytest.raises(DataError, match="counts of rows in leaves are wrong"):
        ranker.explain(data["test"])
    depths = [tree.depth for tree in ranker.forest_.trees]
    assert depths == [_depth(tree) for tree in ranker.forest_.trees] and constant_tree(1.0, 3).depth == 0
    monkeypatch.setattr(fitted_module, "DEEPEST", max(depths) - 1)
    with pytest.raises(OptionError, match=f"{max(depths)} splits deep"):
        ranker.explain(data["test"])


def _depth(tree, node=0):
    if node < 0:
        return 0
    return 1 + max(_depth(tree, side[node]) for side in (tree.left_child, tree.right_child))


def test_importance_sums_what_the_trees_say(data):
    ranker = quick("mcrank", n_estimators=3).fit(data["train"])
    gain, split = ranker.importance(), ranker.importance("split")
    features = np.concatenate([tree.split_feature for tree in ranker.forest_.trees])
    gains = np.concatenate([tree.split_gain for tree in ranker.forest_.trees])
    np.testing.assert_array_equal(split.values, np.bincount(features, minlength=12))
    np.testing.assert_allclose(gain.values, np.bincount(features, gains, minlength=12), rtol=1e-6)
    assert (gain.measure, split.measure, gain.errors) == ("gain", "split", None)
    assert gain.table()["value"].to_pylist() == sorted(gain.values, reverse=True)
    assert gain.table()["feature"][0].as_py() == str(1 + gain.values.argmax())
    with pytest.raises(OptionError, match="There is no kind of importance 'gains'"):
        ranker.importance("gains")


@pytest.mark.parametrize("within_lists", [False, True])
@pytest.mark.parametrize("metric", ["NDCG@5", "arp", "err"])
def test_permutation_importance_by_hand(data, metric, within_lists):
    train, test = data["train"], data["test"]
    weights = np.arange(test.n_lists) % 3.0
    test = luce.Dataset(test.features, test.labels, test.offsets, list_weights=weights)
    ranker = quick(n_estimators=8).fit(train)
    given = {"repeats": 3, "seed": 7, "within_lists": within_lists}
    found = permutation_importance(ranker, test, metric, **given)

    def values(features):
        scores = ranker.predict(test.with_features(features))
        return luce.evaluate(scores, test, metric, n_bootstrap=0, max_grade=4).values[metric.lower()]

    for column in (0, 5, 11):
        lost = np.zeros(test.n_lists)
        for repeat in range(3):
            order = default_rng([7, repeat]).permutation(test.n_rows)
            if within_lists:
                keys = default_rng([7, repeat]).random(test.n_rows)
                order = np.concatenate(
                    [test.offsets[q] + np.argsort(keys[test.rows(q)]) for q in range(test.n_lists)]
                ).astype(int)
            moved = np.array(test.features)
            moved[:, column] = moved[order, column]
            lost += (values(test.features) - values(moved)) / 3
        lost *= -1 if metric == "arp" else 1
        counted = ~np.isnan(lost) & (weights > 0)
        mean = np.average(lost[counted], weights=weights[counted])
        spread = np.sqrt(np.sum((weights[counted] * (lost[counted] - mean)) ** 2)) / weights[counted].sum()
        assert found.values[column] == pytest.approx(mean, abs=1e-12)
        assert found.errors[column] == pytest.approx(spread, abs=1e-12)
    assert found.measure == metric.lower()
    np.testing.assert_array_equal(permutation_importance(ranker, test, metric, **given).values, found.values)


def test_what_is_not_used_is_worth_nothing():
    """One feature decides, one is the query's alone, one is noise that the ranker does not look at."""
    rng = default_rng(0)
    labels = rng.integers(0, 3, 200)
    features = np.stack(
        [labels + 0.1 * rng.normal(size=200), np.repeat(rng.normal(size=20), 10), np.zeros(200)], axis=1
    )
    data = luce.Dataset(features, labels, np.arange(0, 201, 10), feature_names=("told", "of the query", "unused"))
    ranker = LinearRanker(transforms=(), n_jobs=1).fit(data)
    ranker.parameters_.weights[:] = 1.0, 1.0, 0.0
    among, inside = (permutation_importance(ranker, data, within_lists=within) for within in (False, True))
    assert among.values[0] > among.values[1] > 3 * among.errors[1] > 0 == among.values[2] == among.errors[2]
    assert inside.values[0] > 0.1 and inside.values[1] == inside.values[2] == 0
    assert among.names == ("told", "of the query", "unused")
    assert among.table().column_names == ["feature", "value", "error"]
    thin = data.with_features(sparse.csr_array(data.features), data.feature_names)
    np.testing.assert_allclose(permutation_importance(ranker, thin).values, among.values, atol=1e-12)


def test_every_ranker_of_lists_has_permutation_importance(data):
    heard = []
    ranker = NeuralRanker(hidden_layer_sizes=(4,), epochs=1, n_jobs=1).fit(data["train"])
    found = permutation_importance(ranker, data["test"], repeats=1, callback=heard.append)
    assert isinstance(found, Importance) and np.ptp(found.values) > 0
    assert heard == pytest.approx([(i + 1) / 12 for i in range(12)])
    labels = LabelRanker(epochs=1).fit(TaggedData(sparse.csr_array(np.eye(4)), np.eye(4, dtype=bool)))
    with pytest.raises(OptionError, match="LabelRanker ranks labels"):
        permutation_importance(labels, data["test"])
    for wrong in ({"repeats": 0}, {"repeats": 1.5}, {"seed": -1}):
        with pytest.raises(OptionError, match="must be an integer ≥"):
            permutation_importance(ranker, data["test"], **wrong)
    nothing = luce.Dataset(data["test"].features, np.zeros(data["test"].n_rows), data["test"].offsets)
    with pytest.raises(DataError, match="ndcg@10 is undefined for every list"):
        permutation_importance(ranker, nothing)
    with pytest.raises(OptionError, match="There is no metric 'ndgc'"):
        permutation_importance(ranker, data["test"], "ndgc")


def test_importance_by_err_uses_the_highest_grade_of_the_ranker():
    data = luce.from_arrays([[1.0], [2], [3], [4]], [0, 1, 0, 3], [1, 1, 2, 2])
    ranker = luce.LinearRanker().fit(data)
    found = permutation_importance(ranker, data.take([0]), "err", repeats=20)
    assert (
        0 < found.values[0] <= 1 / 16
    )  # of a grade of 1 out of 3, err is 1/8 at the first place and 1/16 at the second
