"""Model files: they come back the same, and what is damaged is refused."""

import json
import mmap

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import luce
from fuzzing import archives
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.storage import save_model


@pytest.fixture(scope="module")
def ranker():
    data = web_search(30, n_features=6, mean_length=10, seed=1).dataset
    chain = ["fill", "standardize", luce.data.make_transform("second-order", threshold=0.1)]
    return luce.LinearRanker(luce.objective("listmle", depth=5), transforms=chain, reg_lambda=3.0, n_jobs=1).fit(data)


def test_comes_back_the_same(ranker, tmp_path):
    data = web_search(10, n_features=6, mean_length=10, seed=2).dataset
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    assert str(again.objective) == "listmle(depth=5)"
    assert (again.reg_lambda, again.max_grade_, again.history_) == (3.0, ranker.max_grade_, ranker.history_)
    again.save(tmp_path / "b.luce")
    assert (tmp_path / "a.luce").read_bytes() == (tmp_path / "b.luce").read_bytes()


def test_other_programs_can_read_the_file(ranker, tmp_path):
    ranker.save(tmp_path / "a.luce")
    with safe_open(tmp_path / "a.luce", framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("weights"), ranker.coef_)
        manifest = json.loads(file.metadata()["luce"])
    assert manifest["format"] == 1
    assert manifest["objective"] == {
        "name": "listmle",
        "options": {"depth": 5, "permutations": 1, "whole_grades": False},
    }


def test_feature_names_are_stored(tmp_path):
    data = luce.from_arrays([[1.0, 2], [3, 5]], [0, 1], [1, 1], feature_names=["price", "âge"])
    luce.LinearRanker().fit(data).save(tmp_path / "a.luce")
    assert luce.load(tmp_path / "a.luce").features == (2, ("price", "âge"))


def test_a_crash_while_saving_leaves_the_old_model(ranker, tmp_path):
    path = tmp_path / "a.luce"
    ranker.save(path)
    before = path.read_bytes()
    with pytest.raises(OptionError, match="A model file contains only data"):
        save_model(path, {"kind": object()}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_ranker_trained_with_a_function_is_saved_without_it(tmp_path):
    data = web_search(10, n_features=3, mean_length=5).dataset
    fitted = luce.LinearRanker(luce.objective("p-listmle", alpha=np.ones), n_jobs=1).fit(data)
    with pytest.raises(OptionError, match=r"set_params\(objective=NAME\) before saving"):
        fitted.save(tmp_path / "a.luce")
    scores = fitted.predict(data)
    fitted.set_params(objective="p-listmle").save(tmp_path / "a.luce")
    np.testing.assert_array_equal(luce.load(tmp_path / "a.luce").predict(data), scores)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("[]", "have no format"),
        ("{", "damaged or not a Luce model file"),
        ("[" * 100_000, "damaged or not a Luce model file"),
        ({"format": 99}, "format 99; this version of Luce supports formats up to 1"),
        ({"format": 1, "kind": "forest"}, "unknown kind 'forest'"),
        ({"format": 1, "kind": "linear"}, "not contain a complete LinearRanker"),
        ({"format": 1, "kind": ["linear"]}, "unknown kind"),
        ('{"format": 1, "kind": "linear"}', "its checksum does not match"),
    ],
)
def test_a_manifest_that_is_not_ours(ranker, tmp_path, manifest, words):
    ranker.save(tmp_path / "a.luce")
    _, arrays = archives.unpacked((tmp_path / "a.luce").read_bytes())
    (tmp_path / "b.luce").write_bytes(archives.model(manifest, arrays))
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "b.luce")


def test_files_that_are_no_models(ranker, tmp_path):
    with pytest.raises(DataError, match="There is no model file"):
        luce.load(tmp_path / "nothing.luce")
    (tmp_path / "text.luce").write_text("hello")
    with pytest.raises(DataError, match="damaged or not a Luce model file"):
        luce.load(tmp_path / "text.luce")
    save_file({"weights": np.ones(3)}, tmp_path / "other.luce")
    with pytest.raises(DataError, match="its metadata have no format"):
        luce.load(tmp_path / "other.luce")


def test_transformed_features_of_a_mapped_file_lie_in_temporary_files(tmp_path):
    data = web_search(20, n_features=6, mean_length=10, seed=2).dataset
    luce.write(data, tmp_path / "all.luce-data")
    mapped = luce.read(tmp_path / "all.luce-data")
    ranker = luce.LinearRanker(n_jobs=1).fit(data)
    for one, expected in ((mapped, data), (mapped.take(np.arange(3, 9)), data.take(np.arange(3, 9)))):
        features = ranker.transform_features(one)
        assert np.array_equal(features, ranker.transform_features(expected))
        while isinstance(features, np.ndarray):
            features = features.base
        assert isinstance(features.obj, mmap.mmap)
    assert ranker.transform_features(data).base is None
