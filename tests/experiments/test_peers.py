"""Peers: fitted on the same lists, the rounds that our figure chooses, and nothing taken for what it is not."""

import sys

import numpy as np
import pytest

import luce
from luce.data import Dataset
from luce.data.synthetic import web_search
from luce.errors import DataError, MissingPackageError, OptionError
from luce.experiments.peers import PEERS, is_installed, peer

HERE = [name for name in PEERS if is_installed(name)]
LIMITS = {"n_estimators": 40, "num_leaves": 8, "learning_rate": 0.3, "early_stopping_rounds": 5, "n_jobs": 1}


@pytest.fixture(scope="module")
def lists():
    train, validation = (web_search(40, n_features=8, mean_length=12, seed=seed).dataset for seed in (1, 2))
    return train, validation


def changed(data: Dataset, **changes) -> Dataset:
    names = ("features", "labels", "offsets", "query_ids", "item_weights", "list_weights", "feature_names")
    return Dataset(**({name: getattr(data, name) for name in names} | changes))


@pytest.mark.parametrize("metric", ["ndcg@5", "arp"])
@pytest.mark.parametrize("name", HERE)
def test_the_rounds_best_by_our_figure_are_kept(name, metric, lists):
    train, validation = lists
    fitted = peer(name, metric=metric, **LIMITS).fit(train, validation=validation)
    figures = [step["validation"] for step in fitted.history_]
    best = int((np.argmax if metric == "ndcg@5" else np.argmin)(figures))
    assert fitted.best_iteration_ == best + 1
    assert len(figures) < LIMITS["n_estimators"]
    assert len(figures) == best + 1 + LIMITS["early_stopping_rounds"]
    found = luce.evaluate(fitted.predict(validation), validation, metric).means[metric]
    assert found == pytest.approx(figures[best], abs=1e-9)


@pytest.mark.parametrize("name", HERE)
def test_without_validation_all_rounds_are_kept_and_it_learns(name, lists):
    train, _ = lists
    fitted = peer(name, **LIMITS | {"n_estimators": 7}).fit(train)
    assert (fitted.history_, fitted.best_iteration_) == ([], 7)
    learned = luce.evaluate(fitted.predict(train), train, "ndcg@10").means["ndcg@10"]
    assert learned > luce.evaluate(np.zeros(train.n_rows), train, "ndcg@10").means["ndcg@10"] + 0.1


@pytest.mark.parametrize("name", HERE)
def test_importance_finds_the_feature_that_matters(name):
    rng = np.random.default_rng(3)
    features = np.column_stack([np.ones(300), rng.normal(size=(300, 3))])
    labels = np.clip(np.round(features[:, 2] + 1), 0, 3)
    data = Dataset(features, labels, np.arange(0, 301, 10), feature_names=("constant", "a", "b", "c"))
    found = peer(name, **LIMITS | {"n_estimators": 5}).fit(data).importance()
    assert found.names[found.order[0]] == "b"
    assert found.values[0] == 0
    assert found.measure == ("prediction change" if name.startswith("catboost") else "gain")


@pytest.mark.parametrize("name", HERE)
def test_weights_of_lists_count_and_zeros_of_sparse_features_are_zeros(name, lists):
    train, validation = lists
    first = peer(name, **LIMITS).fit(train, validation=validation).predict(validation)
    weights = np.linspace(0.1, 5, train.n_lists)
    weighted = peer(name, **LIMITS).fit(changed(train, list_weights=weights), validation=validation)
    assert not np.allclose(first, weighted.predict(validation))

    from scipy import sparse

    coarse = [np.where(np.abs(part.features) < 0.5, 0.0, part.features) for part in lists]
    dense = [changed(part, features=features) for part, features in zip(lists, coarse, strict=True)]
    scarce = [changed(part, features=sparse.csr_array(part.features)) for part in dense]
    a, b = (peer(name, **LIMITS).fit(one, validation=two).predict(two) for one, two in (dense, scarce))
    np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("name", HERE)
def test_items_without_a_label_are_left_out(name, lists):
    train, validation = lists
    labels = train.labels.copy()
    labels[::7] = np.nan
    labels[train.rows(3)] = np.nan
    partly = changed(train, labels=labels, list_weights=np.linspace(0.5, 2, train.n_lists))
    a, b = (peer(name, **LIMITS).fit(one, validation=validation) for one in (partly, partly.observed()))
    np.testing.assert_array_equal(a.predict(validation), b.predict(validation))
    whole = peer(name, **LIMITS).fit(changed(partly, labels=train.labels), validation=validation)
    assert not np.array_equal(a.predict(validation), whole.predict(validation))


@pytest.mark.parametrize("name", HERE)
def test_a_seed_repeats_and_what_cannot_be_is_refused(name, lists):
    train, validation = lists
    a, b = (peer(name, random_state=4, **LIMITS).fit(train, validation=validation).predict(train) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(DataError, match=r"has nothing to learn from: no item has a label"):
        peer(name).fit(changed(train, labels=np.full(train.n_rows, np.nan)))
    with pytest.raises(DataError, match="weights of lists"):
        peer(name).fit(changed(train, item_weights=np.ones(train.n_rows)))
    with pytest.raises(OptionError, match="leaves must be an integer ≥ 2"):
        peer(name, num_leaves=1).fit(train)


@pytest.mark.parametrize("name", HERE)
def test_labels_that_a_library_would_cut_off_are_refused(name, lists):
    train, _ = lists
    halves = changed(train, labels=train.labels / 2)
    if name.startswith("catboost"):
        whole = peer(name, **LIMITS | {"n_estimators": 5}).fit(changed(train, labels=np.floor(halves.labels)))
        fitted = peer(name, **LIMITS | {"n_estimators": 5}).fit(halves)
        assert not np.allclose(fitted.predict(train), whole.predict(train))
        return
    for wrong in (halves, changed(train, labels=train.labels - 1)):
        with pytest.raises(DataError, match="integers ≥ 0"):
            peer(name).fit(wrong)


@pytest.mark.skipif("lightgbm-lambdarank" not in HERE, reason="LightGBM is not installed")
@pytest.mark.parametrize("name", ["lightgbm-lambdarank", "lightgbm-xendcg"])
def test_lightgbm_is_what_our_engine_makes_of_its_objective(name, lists):
    train, validation = lists
    native = {"lightgbm-lambdarank": "lambdarank", "lightgbm-xendcg": "rank_xendcg"}[name]
    defaults = {"num_leaves": 31, "min_child_samples": 20, "learning_rate": 0.1, "lightgbm_objective": native}
    ours = luce.TreeRanker("lambdarank", **defaults | LIMITS).fit(train, validation=validation)
    theirs = peer(name, **LIMITS).fit(train, validation=validation)
    np.testing.assert_allclose(ours.predict(validation), theirs.predict(validation), atol=1e-12)
    assert [step["validation"] for step in ours.history_] == pytest.approx(
        [step["validation"] for step in theirs.history_]
    )


def test_a_name_that_is_not_there_and_a_package_that_is_not(monkeypatch):
    with pytest.raises(OptionError, match="Did you mean 'xgboost'"):
        peer("xgbost")
    for name in PEERS:
        monkeypatch.setitem(sys.modules, PEERS[name].packages[0], None)
        extra = "trees" if name.startswith("lightgbm") else "peers"
        with pytest.raises(MissingPackageError, match=rf"pip install 'luce\[{extra}\]'"):
            peer(name)
