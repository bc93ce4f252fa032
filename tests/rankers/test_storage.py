"""Model files: they come back the same, and what is damaged is refused."""

import json
import zipfile

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.rankers.storage import save_model


@pytest.fixture(scope="module")
def ranker():
    data = web_search(30, n_features=6, mean_length=10, seed=1).dataset
    chain = ["fill", "standardize", luce.data.transforms.make_transform("second-order", threshold=0.1)]
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


def test_the_manifest_can_be_read_by_people(ranker, tmp_path):
    ranker.save(tmp_path / "a.luce")
    with zipfile.ZipFile(tmp_path / "a.luce") as archive:
        assert archive.namelist() == ["manifest.json", "tensors.safetensors"]
        manifest = json.loads(archive.read("manifest.json"))
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
    with pytest.raises(OptionError, match="A model file holds data alone"):
        save_model(path, {"kind": object()}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def changed(source, target, **entries):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, entries.get(name.partition(".")[0], old.read(name)))


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (b"[]", "names no format"),
        (b"{", "not a whole Luce model file"),
        (b"[" * 100_000, "not a whole Luce model file"),
        (b'{"format": 99}', "format 99; this Luce reads up to 1"),
        (b'{"format": 1, "kind": "forest"}', "unknown kind 'forest'"),
        (b'{"format": 1, "kind": "linear"}', "not hold a whole LinearRanker"),
        (b'{"format": 1, "kind": ["linear"]}', "unknown kind"),
    ],
)
def test_a_manifest_that_is_not_ours(ranker, tmp_path, manifest, words):
    ranker.save(tmp_path / "a.luce")
    changed(tmp_path / "a.luce", tmp_path / "b.luce", manifest=manifest)
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "b.luce")


def test_files_that_are_no_models(ranker, tmp_path):
    with pytest.raises(DataError, match="There is no model file"):
        luce.load(tmp_path / "nothing.luce")
    (tmp_path / "text.luce").write_text("hello")
    with pytest.raises(DataError, match="not a whole Luce model file"):
        luce.load(tmp_path / "text.luce")
    with zipfile.ZipFile(tmp_path / "bomb.luce", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * 10_000_000)
        archive.writestr("tensors.safetensors", b"")
    with pytest.raises(DataError, match="compressed"):
        luce.load(tmp_path / "bomb.luce")
