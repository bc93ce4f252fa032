"""Trees and their data: weights, categories, missing values, constraints, and what cannot be learned from."""

import sys
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from scipy import sparse

import luce
from luce.errors import DataError, LuceError, LuceWarning, MissingPackageError, OptionError
from luce.rankers.trees.leaves import monotone_values
from luce.rankers.trees.lightgbm_package import check_lightgbm_params
from luce.scoring.forest import constant_tree

from .growing import learner_of, quick
from .made import ndcg, parts, random_ndcg


@pytest.fixture(scope="module")
def data():
    return parts()


def few_values(dataset):
    """Features of so few values that LightGBM gives each its bin, whatever the rows."""
    return np.round(3 * np.nan_to_num(np.asarray(dataset.features)))


def test_weights_count_as_repetition(data):
    train = data["train"]
    X = few_values(train)
    plain = luce.Dataset(X, train.labels, train.offsets)
    settings = {"n_estimators": 3, "min_child_samples": 1, "lightgbm_params": {"min_sum_hessian_in_leaf": 25.0}}
    weights = np.ones(train.n_lists)
    weights[:20] = 2
    weighted = luce.Dataset(X, train.labels, train.offsets, list_weights=weights)
    twice = luce.data.concatenate([plain, plain.take(np.arange(20))])
    for objective in ("pl-partition", "squared-label"):
        a, b = (quick(objective, **settings).fit(each).predict(data["test"].features) for each in (weighted, twice))
        np.testing.assert_allclose(a, b, atol=1e-6)
    items = np.random.default_rng(0).uniform(0.5, 2, train.n_rows)
    by_item = luce.Dataset(X, train.labels, train.offsets, item_weights=items)
    assert not np.allclose(quick(n_estimators=3).fit(by_item).predict(X), quick(n_estimators=3).fit(plain).predict(X))
    with pytest.raises(OptionError, match="pl-partition does not support item weights"):
        quick("pl-partition").fit(by_item)


def test_lists_that_teach_nothing_and_items_without_labels_change_nothing(data):
    train = data["train"]
    X = few_values(train)
    plain = luce.Dataset(X, train.labels, train.offsets)
    rng = np.random.default_rng(0)
    order = rng.permutation(train.n_rows)[:8]
    dull = luce.Dataset(X[order], [1, 1, 1, 1, 0, np.nan, np.nan, 2], [0, 4, 6, 8])
    settings = {"n_estimators": 5, "min_child_samples": 1, "lightgbm_params": {"min_sum_hessian_in_leaf": 10.0}}
    with_them = quick("pl-partition", **settings).fit(luce.data.concatenate([plain, dull]))
    without = quick("pl-partition", **settings).fit(plain)
    np.testing.assert_allclose(with_them.predict(X), without.predict(X), atol=1e-9)
    assert with_them.history_ == [pytest.approx(step) for step in without.history_]


def test_sparse_features_give_the_same_trees(data):
    train, test = data["train"], data["test"]
    X, T = (np.nan_to_num(np.asarray(part.features)) for part in (train, test))
    X[np.abs(X) < 0.5] = 0
    T[np.abs(T) < 0.5] = 0
    dense = quick().fit(luce.Dataset(X, train.labels, train.offsets))
    thin = quick().fit(luce.Dataset(sparse.csr_array(X), train.labels, train.offsets))
    np.testing.assert_allclose(thin.predict(sparse.csr_array(T)), dense.predict(T), atol=1e-9)


def categories(n_lists, seed, n_categories=30):
    """Lists whose first feature is a category: items of every third are relevant."""
    rng = np.random.default_rng(seed)
    n = 10 * n_lists
    kind = rng.integers(0, n_categories, n)
    labels = (kind % 3 == 0).astype(float)
    noise = rng.normal(size=(n, 2))
    return luce.Dataset(
        np.column_stack([kind, noise]), labels, np.arange(0, n + 1, 10), feature_names=("kind", "a", "b")
    )


@pytest.mark.parametrize("named", [0, "kind"])
def test_categories_missing_values_and_categories_never_seen(named, tmp_path):
    train, more = categories(80, 1), categories(40, 2, 60)  # half of the categories are new
    holes = np.array(more.features)
    holes[::7, 0], holes[::5, 1] = np.nan, np.nan
    judge = luce.Dataset(holes, more.labels, more.offsets, feature_names=more.feature_names)
    ranker = quick("pl-partition", categorical_feature=[named], num_leaves=4, n_estimators=10, early_stopping_rounds=50)
    learner = learner_of(ranker, train, validation=judge)
    assert len(learner.trees[0].cat_threshold)
    assert ndcg(ranker.predict(train), train) > 0.99
    np.testing.assert_array_equal(
        lightgbm.Booster(model_str=learner.forest(10).text()).predict(holes), learner.scores[1][0]
    )
    ranker.save(tmp_path / "a.luce")
    np.testing.assert_array_equal(luce.load(tmp_path / "a.luce").predict(judge), ranker.predict(judge))
    with pytest.raises(OptionError, match="Did you mean 'kind'"):
        quick(categorical_feature=["kinds"]).fit(train)
    with pytest.raises(OptionError, match=r"columns from 0 to 2. Got 3"):
        quick(categorical_feature=[3]).fit(train)


@pytest.mark.parametrize("leaf_hessian", ["exact", "diagonal"])
def test_monotone_constraints_hold(data, leaf_hessian):
    train = data["train"]
    signs = [1] * 15 + [-1] * 15 + [0] * 10
    free, bound = (
        quick(
            "pl-partition", leaf_hessian=leaf_hessian, n_estimators=40, num_leaves=16, monotone_constraints=chosen
        ).fit(train)
        for chosen in (None, signs)
    )
    base = np.nan_to_num(np.asarray(train.features)[:50])
    violations = {}
    for name, ranker in (("free", free), ("bound", bound)):
        worst = 0.0
        for column in range(30):
            scores = []
            for value in np.linspace(-3, 3, 25):
                moved = base.copy()
                moved[:, column] = value
                scores.append(ranker.predict(moved))
            worst = min(worst, (np.diff(scores, axis=0) * signs[column]).min())
        violations[name] = worst
    assert violations["bound"] >= -1e-12
    assert violations["free"] < -0.01
    assert ndcg(bound.predict(train), train) > random_ndcg(train) + 0.1
    with pytest.raises(OptionError, match="for each of the 40 features"):
        quick(monotone_constraints=[1, 0]).fit(train)
    with pytest.raises(OptionError, match="cannot be constrained to be monotone"):
        quick("mcrank", monotone_constraints=signs).fit(train)


def test_what_cannot_split_is_told():
    lists = {"labels": [1, 0, 2, 0, 1, 2], "offsets": [0, 3, 6]}
    for features, settings in (
        (np.ones((6, 2)), {}),
        (np.arange(6.0)[:, None], {"min_child_samples": 4}),
        (np.ones((6, 2)), {"colsample_bytree": 0.5}),
        (np.full((6, 1), np.nan), {}),
    ):
        for objective in ("listmle", "mcrank", "squared-label"):
            dataset = luce.Dataset(features, **lists)
            ranker = quick(objective, **{"min_child_samples": 1, **settings})
            with pytest.warns(LuceWarning, match="No tree can split .*All items of a list get the same score"):
                ranker.fit(dataset)
            scores = ranker.predict(dataset)
            assert np.ptp(scores) == 0
            if objective == "squared-label":
                assert scores[0] == pytest.approx(1.0)
            assert ranker.history_ == []
    with pytest.raises(DataError, match=r"No list of .* listmle has nothing to learn from"):
        quick().fit(luce.Dataset([[1.0], [2.0]], [1, 1], [0, 2]))
    with pytest.raises(DataError, match="no item has a label"):
        quick().fit(luce.Dataset([[1.0], [2.0]], [np.nan, np.nan], [0, 2]))


def test_trees_that_can_grow_no_more_end_the_training():
    dataset = luce.Dataset([[0.0], [1.0]] * 10, [0, 1] * 10, np.arange(0, 21, 2))
    ranker = quick("ranksvm", n_estimators=50, num_leaves=2, min_child_samples=1, learning_rate=1.0).fit(dataset)
    assert 1 <= ranker.forest_.rounds == len(ranker.history_) < 50
    assert ranker.predict([[0.0], [1.0]])[1] > ranker.predict([[0.0], [1.0]])[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer ≥ 1. Got 0"),
        ({"num_leaves": 1}, "num_leaves must be an integer from 2"),
        ({"learning_rate": -1}, "learning_rate must be a number > 0"),
        ({"leaf_hessian": "newton"}, "leaf_hessian must be 'exact' or 'diagonal', or None. Got 'newton'"),
        ({"split_hessian": None}, "split_hessian must be 'constant' or 'diagonal'"),
        ({"subsample": 0}, "subsample must be a number > 0 and ≤ 1"),
        ({"monotone_constraints": [2]}, "monotone_constraints must be −1, 0 or 1 for each feature"),
        ({"categorical_feature": "kind"}, "categorical_feature must be columns"),
        ({"lightgbm_objective": "regression"}, "lightgbm_objective must be 'lambdarank' or 'rank_xendcg', or None"),
        ({"lightgbm_params": {"boosting": "dart"}}, "boosting='dart' cannot be used: .* dart rescales them"),
        ({"lightgbm_params": {"boost": "rf"}}, "boost='rf' cannot be used"),
        ({"lightgbm_params": {"bagging": 0.5}}, "lists are sampled as a whole: use subsample"),
        ({"lightgbm_params": {"linear_tree": True}}, "a leaf has one value"),
        ({"lightgbm_params": ["max_bin"]}, "lightgbm_params must be parameters of LightGBM by name"),
        (
            {"objective": "listnet", "leaf_hessian": "exact"},
            "listnet has no exact leaf_hessian; those that have: listmle",
        ),
        ({"metric": "ndgc"}, "Did you mean 'ndcg'"),
    ],
)
def test_bad_settings_are_named(data, settings, words):
    with pytest.raises(LuceError, match=words):
        quick(**settings).fit(data["train"])


def test_without_lightgbms_table_of_aliases_names_are_taken_as_they_are(monkeypatch):
    check_lightgbm_params({"max_bin": 15})
    with pytest.raises(OptionError, match="boost='rf' cannot be used"):
        check_lightgbm_params({"boost": "rf"})
    monkeypatch.delattr(lightgbm.basic, "_ConfigAliases")
    check_lightgbm_params({"boost": "rf", "max_bin": 15})
    with pytest.raises(OptionError, match="boosting='rf' cannot be used"):
        check_lightgbm_params({"boosting": "rf"})


@pytest.mark.parametrize("version", ["3.3.5", "5.0.0", "4.3.0"])
def test_a_lightgbm_that_was_never_tried_is_refused(data, version, monkeypatch):
    monkeypatch.setattr(lightgbm, "__version__", version)
    with pytest.raises(MissingPackageError, match=rf"≥ 4.4 and < 5.0. Found {version}.*pip install"):
        quick().fit(data["train"])


def test_without_lightgbm_the_install_line_is_told(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'luce\[trees\]'"):
        quick().fit(data["train"])


def test_scores_that_run_away_are_told(data):
    with pytest.raises(LuceError, match="learning_rate below 1e"):
        quick("squared-label", learning_rate=1e200, n_estimators=5).fit(data["train"])


def test_monotone_leaf_values_by_hand():
    # The root splits by a feature that must not lower the score; leaves 1 and 2 on its left have the mean 0.5.
    links = {"left_child": [1, -2], "right_child": [-1, -3], "split_feature": [0, 1]}
    tree = replace(constant_tree(0.0, 3), **{name: np.array(values) for name, values in links.items()})
    values = monotone_values(tree, np.array([0.0, 1.0, -1.0]), np.array([1.0, 3.0, 1.0]), np.array([1, 0]))
    assert values.tolist() == [0.25, 0.25, -1]


def test_the_loss_of_a_round_is_weighted(data):
    train = data["train"]
    weights = np.random.default_rng(0).random(train.n_lists)
    weighted = luce.Dataset(train.features, train.labels, train.offsets, list_weights=weights)
    ranker = quick("pl-partition", n_estimators=2).fit(weighted)
    objective = luce.objective("pl-partition")
    losses = objective.value_and_gradient(ranker.predict(weighted), train.labels, train.offsets).loss
    has_signal = objective.has_signal(train.labels, train.offsets)
    assert ranker.history_[-1]["loss"] == pytest.approx((weights * losses)[has_signal].sum() / has_signal.sum())


def test_the_tie_parameter_counts_list_weights_as_repetition(data):
    train = data["train"].take(np.arange(20))
    plain = luce.Dataset(few_values(train), train.labels, train.offsets)
    weighted = luce.Dataset(plain.features, plain.labels, plain.offsets, list_weights=np.repeat([2.0, 1], [5, 15]))
    twice = luce.data.concatenate([plain, plain.take(np.arange(5))])
    settings = {"n_estimators": 1, "min_child_samples": 1, "lightgbm_params": {"min_sum_hessian_in_leaf": 25.0}}
    one, other = (quick("pairties-davidson", **settings).fit(each).nuisance_ for each in (weighted, twice))
    assert one == pytest.approx(other, rel=1e-6)
