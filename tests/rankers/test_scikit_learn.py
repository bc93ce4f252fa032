"""The rankers as scikit-learn estimators: its own checks, pipelines, grid search with lists kept whole, data frames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.rankers import LinearRanker, NeuralRanker, TreeRanker

small = {
    "hidden_layer_sizes": (4,),
    "steps_per_epoch": 5,
    "epochs": 3,
    "learning_rate": 0.01,
    "batch_size": 8,
    "device": "cpu",
    "n_jobs": 1,
}
few = {"n_estimators": 5, "num_leaves": 4, "min_child_samples": 1, "n_jobs": 1}
RANKERS = {
    "linear": LinearRanker(max_iter=5, n_jobs=1),
    "neural": NeuralRanker(**small),
    "trees": TreeRanker(**few),
}
PENALTY = {"linear": "reg_lambda", "neural": "weight_decay", "trees": "reg_lambda"}


def one_list(X):
    """Query ids that put all rows into one list."""
    return np.zeros(X.shape[0] if getattr(X, "shape", ()) else len(X) if hasattr(X, "__len__") else 0, dtype=np.int64)


class _OneList:
    """All rows are one list where no queries are given, as scikit-learn's checks give none."""

    def fit(self, X, y=None, qid=None, **more):
        return super().fit(X, y, one_list(X) if qid is None else qid, **more)

    def score(self, X, y=None, qid=None):
        return super().score(X, y, one_list(X) if qid is None else qid)


class OneListLinearRanker(_OneList, LinearRanker):
    pass


class OneListNeuralRanker(_OneList, NeuralRanker):
    pass


class OneListTreeRanker(_OneList, TreeRanker):
    pass


def not_ours(_):
    """The checks that do not apply, each with its reason."""
    return {"check_dtype_object": "wants a TypeError for a dict among the features; ours is a DataError, a ValueError"}


@parametrize_with_checks(
    [
        clone(ranker).set_params(transforms=transforms)
        for ranker in (OneListLinearRanker(max_iter=5, n_jobs=1), OneListNeuralRanker(**small))
        for transforms in (("fill", "standardize"), ())  # missing values are filled, or refused
    ]
    + [OneListTreeRanker(**few)]
    + [OneListLinearRanker(max_iter=5, n_bags=2, n_jobs=1), OneListNeuralRanker(n_bags=2, **small)]
    + [OneListTreeRanker(n_bags=2, **few)],
    expected_failed_checks=not_ours,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    """Features, labels and queries, the rows of the lists mixed."""
    made = web_search(24, n_features=6, mean_length=8, seed=1).dataset
    order = np.random.default_rng(0).permutation(made.n_rows)
    qid = np.repeat(np.arange(made.n_lists), made.sizes)
    return np.asarray(made.features)[order], made.labels[order], qid[order]


def asking(ranker):
    """A copy that wants the query of each row."""
    return clone(ranker).set_fit_request(qid=True).set_score_request(qid=True).set_predict_request(qid=True)


def by_hand(ranker, X, y, qid):
    """The score of each fold, without scikit-learn's help."""
    scores = []
    for train, test in GroupKFold(3).split(X, y, qid):
        scaler = StandardScaler().fit(X[train])
        fitted = clone(ranker).fit(scaler.transform(X[train]), y[train], qid[train])
        lists = luce.from_arrays(scaler.transform(X[test]), y[test], qid[test])
        scores.append(luce.evaluate(fitted.predict(lists), lists, "ndcg@10", n_bootstrap=0).means["ndcg@10"])
    return scores


@pytest.mark.parametrize("kind", RANKERS)
def test_grid_search_with_groups_and_a_pipeline(routing, data, kind):
    X, y, qid = data
    pipeline = Pipeline([("scale", StandardScaler()), ("ranker", asking(RANKERS[kind]))])
    grid = {
        f"ranker__{PENALTY[kind]}": np.array([0.01, 10.0]),
        "ranker__objective": ["listnet", luce.objective("listmle", depth=3)],
    }
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(3)).fit(X, y, qid=qid, groups=qid)
    for parameters, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        settings = {name.removeprefix("ranker__"): value for name, value in parameters.items()}
        expected = np.mean(by_hand(clone(RANKERS[kind]).set_params(**settings), X, y, qid))
        assert mean == pytest.approx(expected, abs=1e-6)
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0
    best = search.best_estimator_
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert best.score(X, y, qid=qid) == pytest.approx(search.score(X, y, qid=qid))
    np.testing.assert_allclose(search.predict(X), best[-1].predict(best[0].transform(X)), rtol=1e-5)


@pytest.mark.parametrize(("kind", "processes"), [("linear", 2), ("neural", 1), ("trees", 2)])
def test_cross_validation(routing, data, kind, processes):
    X, y, qid = data
    pipeline = Pipeline([("scale", StandardScaler()), ("ranker", asking(RANKERS[kind]))])
    params = {"qid": qid, "groups": qid}
    scores = cross_val_score(pipeline, X, y, cv=GroupKFold(3), params=params, n_jobs=processes)
    np.testing.assert_allclose(scores, by_hand(RANKERS[kind], X, y, qid), atol=1e-6)


def test_list_wise_scores_in_a_pipeline(routing, data):
    X, y, qid = data
    ranker = asking(RANKERS["linear"]).set_params(transforms=("fill", "list-zscore"))
    pipeline = Pipeline([("scale", StandardScaler()), ("ranker", ranker)]).fit(X, y, qid=qid)
    together = np.argsort(qid, kind="stable")
    lists = luce.from_arrays(pipeline[0].transform(X)[together], None, qid[together])
    np.testing.assert_allclose(pipeline.predict(X, qid=qid)[together], pipeline[-1].predict(lists))
    with pytest.raises(DataError, match="pass qid"):
        pipeline.predict(X)


@pytest.mark.parametrize("kind", RANKERS)
def test_parameters_clone_and_repr(kind):
    ranker = clone(RANKERS[kind]).set_params(objective=luce.objective("listmle", depth=3), **{PENALTY[kind]: 2.5})
    copy = clone(ranker)
    assert copy.get_params() == ranker.get_params()
    assert getattr(copy, PENALTY[kind]) == 2.5
    assert "depth=3" in repr(copy)
    assert f"{PENALTY[kind]}=2.5" in repr(copy)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        copy.set_params(colour=1)


@pytest.mark.parametrize("kind", RANKERS)
def test_pickles_before_and_after_fit(data, kind):
    X, y, qid = data
    fresh = pickle.loads(pickle.dumps(RANKERS[kind]))
    fitted = pickle.loads(pickle.dumps(clone(fresh).fit(X, y, qid)))
    np.testing.assert_array_equal(fitted.predict(X), clone(RANKERS[kind]).fit(X, y, qid).predict(X))


@pytest.mark.parametrize("kind", RANKERS)
@pytest.mark.parametrize("form", ["pandas", "polars", "lists", "sparse", "arrow"])
def test_data_in_other_forms(data, kind, form):
    X, y, qid = data
    names = [f"f{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    features, labels, queries = {
        "pandas": (frame, pd.Series(y, index=frame.index), pd.Series(qid).astype(str)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y), pl.Series(qid.astype(str))),
        "lists": (X.tolist(), y.tolist(), qid.tolist()),
        "sparse": (sparse.csr_matrix(X), y, qid),
        "arrow": (pl.DataFrame(X, schema=names).to_arrow(), pl.Series(y).to_arrow(), pl.Series(qid).to_arrow()),
    }[form]
    transforms = ("fill",)  # which treats sparse features as it does others
    fitted = clone(RANKERS[kind]).set_params(transforms=transforms).fit(features, labels, queries)
    expected = clone(RANKERS[kind]).set_params(transforms=transforms).fit(X, y, qid)
    # A bias that moves all scores changes no loss: Adam makes steps of the rounding of its gradient.
    found, wanted = (scores - scores.mean() for scores in (fitted.predict(features), expected.predict(X)))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
    assert fitted.score(features, labels, queries) == pytest.approx(expected.score(X, y, qid))
    assert hasattr(fitted, "feature_names_in_") == (form in ("pandas", "polars", "arrow"))


@pytest.mark.parametrize("kind", RANKERS)
def test_columns_are_found_by_name(data, kind):
    X, y, qid = data
    frame = pl.DataFrame(X, schema=list("abcdef"))
    ranker = clone(RANKERS[kind]).fit(frame, y, qid)
    assert ranker.feature_names_in_.tolist() == list("abcdef")
    scores, score = ranker.predict(frame), ranker.score(frame, y, qid)
    more = frame.with_columns(year=pl.lit("x"))
    for other in (frame.select(list("fbacde")), more, frame.to_pandas()[list("cdefab")]):
        np.testing.assert_array_equal(ranker.predict(other), scores)
        assert ranker.score(other, y, qid) == score
    for call in (ranker.predict, lambda given: ranker.score(given, y, qid)):
        with pytest.raises(DataError, match="The data lack features that the model was trained on: 'b', 'd'"):
            call(frame.rename({"b": "year"}).drop("d"))
    assert not hasattr(ranker.fit(X, y, qid), "feature_names_in_")


def test_trees_take_missing_values_as_they_are(data):
    X, y, qid = data
    tags = get_tags(RANKERS["trees"])
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    ranker = clone(RANKERS["trees"]).fit(holes, y, qid)
    assert not np.array_equal(ranker.predict(holes), ranker.predict(np.nan_to_num(holes)))


@pytest.mark.parametrize("kind", ["linear", "neural"])
def test_tags_tell_what_the_transforms_allow(data, kind):
    X, y, qid = data
    ranker = clone(RANKERS[kind])
    tags = get_tags(ranker)
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan
    ranker.set_params(transforms=["list-zscore"])
    assert not get_tags(ranker).input_tags.sparse
    assert not get_tags(ranker).input_tags.allow_nan
    with pytest.raises(DataError, match="needs dense features"):
        ranker.fit(sparse.csr_array(X), y, qid)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for given in (holes, sparse.csr_array(holes)):
        with pytest.raises(DataError, match="add 'fill' to the transforms"):
            clone(ranker).set_params(transforms=["standardize"]).fit(given, y, qid)
    assert np.isfinite(clone(RANKERS[kind]).fit(holes, y, qid).predict(holes)).all()
    for wrong in (np.where(np.isnan(holes), np.inf, X), X + 1j, sparse.csr_array(X + 1j)):
        with pytest.raises(DataError, match=r"infinite|Complex data not supported"):
            clone(RANKERS[kind]).fit(wrong, y, qid)


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("linear", {"reg_lambda": "much"}, "reg_lambda must be a number ≥ 0. Got 'much'"),
        ("linear", {"reg_lambda": np.nan}, "reg_lambda must be a number ≥ 0. Got nan"),
        ("linear", {"max_iter": 2.5}, "max_iter must be an integer ≥ 1, or None. Got 2.5"),
        ("linear", {"learning_rate": 0}, "learning_rate must be a number > 0. Got 0"),
        ("linear", {"optimizer": 3}, "optimizer must be a name, or None. Got 3"),
        ("linear", {"transforms": "fill"}, "transforms must be names of transforms or transforms. Got 'fill'"),
        ("linear", {"random_state": -1}, "random_state must be an integer from 0"),
        ("linear", {"n_jobs": 0}, "n_jobs must be from 1"),
        ("linear", {"metric": 10}, "metric must be a name. Got 10"),
        ("neural", {"hidden_layer_sizes": 8}, "hidden_layer_sizes must be widths, integers ≥ 1. Got 8"),
        ("neural", {"dropout": "half"}, "dropout must be a number ≥ 0 and < 1. Got 'half'"),
        ("neural", {"learning_rate": "fast"}, "learning_rate must be a number > 0, or several. Got 'fast'"),
        ("neural", {"early_stopping_rounds": True}, "early_stopping_rounds must be an integer ≥ 1. Got True"),
    ],
)
def test_settings_are_checked_before_any_work(data, kind, settings, words):
    with pytest.raises(OptionError, match=words):
        clone(RANKERS[kind]).set_params(**settings).fit(*data)


def test_numbers_of_numpy_are_settings_too(data, tmp_path):
    X, y, qid = data
    settings = {"epochs": np.int64(2), "hidden_layer_sizes": (np.int64(3),), "dropout": np.float32(0.25)}
    ranker = clone(RANKERS["neural"]).set_params(**settings).fit(X, y, qid)
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    assert (again.epochs, list(again.hidden_layer_sizes), again.dropout) == (2, [3], 0.25)
    rates = clone(RANKERS["neural"]).set_params(learning_rate=np.array([0.01, 0.1]))
    assert rates.fit(X, y, qid, validation=(X, y, qid)).learning_rate_ in (0.01, 0.1)


def test_the_options_of_transforms_come_back(data, tmp_path):
    X, y, qid = data
    chain = ("standardize", luce.data.make_transform("second-order", threshold=0.05))
    clone(RANKERS["linear"]).set_params(transforms=chain).fit(X, y, qid).save(tmp_path / "a.luce")
    again = clone(luce.load(tmp_path / "a.luce"))
    assert repr(again.transforms) == "['standardize', SecondOrder(threshold=0.05)]"
