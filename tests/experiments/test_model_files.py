"""Model files of other libraries: their own scores come out, and what is damaged is an error."""

import json
import os
import pickle
import sys

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, MissingPackageError
from luce.experiments.peers import model_files
from luce.experiments.peers.model_files import features_of, model_format, model_process, scores_of

DATA = web_search(30, n_features=5, mean_length=10, seed=4).dataset
X, GROUP = np.asarray(DATA.features), DATA.sizes
NAMES = ["a b", "c", "d", "e", "f"]


def lightgbm_model(path, columns=None, **params):
    package = pytest.importorskip("lightgbm")
    names = {} if columns is None else {"feature_name": columns}
    data = package.Dataset(X, DATA.labels, group=GROUP, **names)
    settings = {"objective": "lambdarank", "num_leaves": 5, "verbosity": -1, "num_threads": 1, **params}
    booster = package.train(settings, data, 6)
    booster.save_model(path)
    return booster.predict(X)


def xgboost_model(path, columns=None, **params):
    package = pytest.importorskip("xgboost")
    settings = {"objective": "rank:ndcg", "max_depth": 2, "nthread": 1, **params}
    data = package.DMatrix(X, DATA.labels, group=GROUP, feature_names=columns)
    booster = package.train(settings, data, 6)
    booster.save_model(path)
    return booster.predict(data)


def catboost_model(path, columns=None, **params):
    package = pytest.importorskip("catboost")
    lists = np.repeat(np.arange(DATA.n_lists), GROUP)
    settings = {"loss_function": "YetiRank", "iterations": 6, "depth": 2, "thread_count": 1, "verbose": False}
    model = package.CatBoost({**settings, "allow_writing_files": False, **params})
    model.fit(package.Pool(X, DATA.labels, group_id=lists, feature_names=columns))
    model.save_model(str(path))
    return model.predict(X)


MAKERS = {
    "model.txt": lightgbm_model,
    "model.json": xgboost_model,
    "model.ubj": xgboost_model,
    "model.cbm": catboost_model,
}


@pytest.mark.parametrize("file", MAKERS)
def test_a_model_file_gives_the_scores_of_its_library(file, tmp_path):
    expected = MAKERS[file](tmp_path / file)
    title, n_features, names, _ = features_of(tmp_path / file)
    assert title.endswith((" model, 6 trees", " model, 6 rounds")) and (n_features, names) == (5, None)
    np.testing.assert_allclose(scores_of(tmp_path / file, DATA, 1), expected, rtol=1e-6, atol=1e-9)
    MAKERS[file](tmp_path / file, NAMES)
    assert [name.replace(" ", "_") for name in features_of(tmp_path / file).names] == ["a_b", *NAMES[1:]]
    with pytest.raises(DataError, match="was trained with 5 features, and the data have 4"):
        scores_of(tmp_path / file, DATA.with_features(X[:, :4]), 1)


def test_a_luce_model_and_trees_without_a_split(tmp_path):
    ranker = luce.LinearRanker(n_jobs=1).fit(DATA)
    ranker.save(tmp_path / "a.luce")
    assert features_of(tmp_path / "a.luce")[:2] == ("LinearRanker", 5)
    np.testing.assert_array_equal(scores_of(tmp_path / "a.luce", DATA, 1), ranker.predict(DATA))
    lightgbm_model(tmp_path / "flat.txt", min_data_in_leaf=1000)
    assert not scores_of(tmp_path / "flat.txt", DATA, 1).any()


def test_an_old_lightgbm_file_is_read(tmp_path):
    expected = lightgbm_model(tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text().replace("is_linear=0\n", "").replace("version=v4", "version=v3")
    (tmp_path / "old.txt").write_text(text)
    np.testing.assert_allclose(scores_of(tmp_path / "old.txt", DATA, 1), expected)


def test_xgboost_stops_where_early_stopping_found_the_best(tmp_path):
    package = pytest.importorskip("xgboost")
    xgboost_model(tmp_path / "all.json")
    booster = package.Booster(model_file=tmp_path / "all.json")
    booster.set_attr(best_iteration="1")
    booster.save_model(tmp_path / "best.json")
    assert features_of(tmp_path / "best.json").title == "XGBoost model, the best 2 of 6 rounds"
    expected = booster.predict(package.DMatrix(X), iteration_range=(0, 2))
    np.testing.assert_allclose(scores_of(tmp_path / "best.json", DATA, 1), expected)


def test_what_has_several_scores_or_categories_is_refused(tmp_path):
    lightgbm_model(tmp_path / "many.txt", objective="multiclass", num_class=5)
    with pytest.raises(DataError, match="gives 5 scores per row"):
        features_of(tmp_path / "many.txt")
    lightgbm_model(tmp_path / "linear.txt", objective="regression", linear_tree=True, boosting="gbdt")
    with pytest.raises(DataError, match="linear trees"):
        features_of(tmp_path / "linear.txt")
    lightgbm_model(tmp_path / "frame.txt")
    text = (tmp_path / "frame.txt").read_text()
    for values in ("[[3, 1]]", "[3]", "[[1.5]]"):
        (tmp_path / "frame.txt").write_text(text.replace("pandas_categorical:null", f"pandas_categorical:{values}"))
        with pytest.raises(DataError, match="categorical columns of a data frame that it does not name"):
            features_of(tmp_path / "frame.txt")
    xgboost_model(tmp_path / "many.ubj", objective="multi:softprob", num_class=5)
    with pytest.raises(DataError, match="gives 5 scores per row"):
        scores_of(tmp_path / "many.ubj", DATA, 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 3],
        lambda text: text.replace("left_child=1", "left_child=77", 1),
        lambda text: text.replace("split_feature=", "split_feature=99 ", 1),
        lambda text: text.replace("feature_names=Column_0 ", "feature_names=", 1),
        lambda text: text.replace("num_tree_per_iteration=1\n", ""),
        lambda text: text.replace("max_feature_idx=4", "max_feature_idx=1000000000"),
    ],
)
def test_a_damaged_lightgbm_file_is_never_scored(damage, tmp_path, monkeypatch):
    lightgbm_model(tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text()
    assert damage(text) != text
    (tmp_path / "model.txt").write_text(damage(text))
    monkeypatch.setattr(model_files, "SavedModel", lambda *_: pytest.fail("it would be scored"))
    with pytest.raises(DataError, match="is not a valid LightGBM model"):
        features_of(tmp_path / "model.txt")


@pytest.mark.parametrize("file", ["model.json", "model.ubj", "model.cbm", "model.luce"])
def test_a_damaged_file_is_an_error(file, tmp_path):
    if file in MAKERS:
        MAKERS[file](tmp_path / file)
    else:
        luce.LinearRanker(n_jobs=1).fit(DATA).save(tmp_path / file)
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=file):
        features_of(tmp_path / file)


def test_a_format_is_told_by_suffix_and_content(tmp_path):
    for name, content in {"a.txt": b"1 qid:1 1:2\n", "b.json": b"[]", "c.pkl": pickle.dumps({}), "d.csv": b""}.items():
        (tmp_path / name).write_bytes(content)
        assert model_format(tmp_path / name) is None
    with pytest.raises(DataError, match=r"not a model file that can be read: Luce \(.luce\), LightGBM"):
        features_of(tmp_path / "c.pkl")
    (tmp_path / "e.json").write_text(json.dumps({"trees": []}))
    with pytest.raises(DataError, match="is not a valid XGBoost model"):
        features_of(tmp_path / "e.json")
    assert model_format(tmp_path) is None


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "model.cbm").write_bytes(b"CBM1")
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'luce\[peers\]'"):
        features_of(tmp_path / "model.cbm")


def crash(path):
    os.abort()


@pytest.mark.multiprocess
def test_a_crash_of_the_library_is_an_error_with_the_name_of_the_file(tmp_path):
    with model_process() as call, pytest.raises(DataError, match=r"bad.ubj is damaged"):
        call(crash, tmp_path / "bad.ubj")
    luce.LinearRanker(n_jobs=1).fit(DATA).save(tmp_path / "a.luce")
    with model_process() as call:
        np.testing.assert_array_equal(
            call(scores_of, tmp_path / "a.luce", DATA, 1), scores_of(tmp_path / "a.luce", DATA, 1)
        )
