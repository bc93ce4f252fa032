"""Names with the signs of JSON, XML, YAML and templates: every file can be read, and its features are found."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import luce
from luce.exports import EXPORTS
from luce.exports.vespa import rank_features
from luce.scoring.forest import lightgbm_names
from tests.exports.models import EXPRESSED, data, made

NAMES = ['a"b\\', "<&>'", "{{x}}", "\n\t\x01", "h: [é]", "$1;#"]


PAIRS = [
    (name, form) for name in ("trees", "linear", "network") for form in EXPORTS if form in EXPRESSED[name] | {"onnx"}
]


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_files_with_any_name_can_be_read(name, form, tmp_path):
    if form in ("onnx", "treelite"):
        pytest.importorskip("onnxruntime" if form == "onnx" else form)
    lists = luce.Dataset(data().features, data().labels, data().offsets, feature_names=NAMES)
    ranker = type(made(name))(**made(name).get_params(deep=False)).fit(lists)
    path = tmp_path / f'sh"op{EXPORTS[form].extension}'
    assert luce.export(ranker, form, path).different_rows == 0
    for file in tmp_path.glob("*.json"):
        json.loads(file.read_bytes())  # that the names are those of the features, the check has found
    if form == "lightgbm":
        booster = pytest.importorskip("lightgbm").Booster(model_file=str(path))
        assert booster.dump_model()["feature_names"] == ["a_b_", "<&>'", "__x__", "___", "h___é_", "$1;#"]
    if form == "vespa":
        names = json.loads(path.read_bytes())["feature_names"]
        assert len(set(names)) == 6 and all(re.fullmatch(r"[A-Za-z_]\w*", each, re.ASCII) for each in names)
        assert r'lightgbm("sh\"op.json")' in path.with_suffix(".profile").read_text()


def test_names_that_lightgbm_can_hold_are_different():
    assert lightgbm_names(["a b", "a_b", "a:b", "", "\\\x01"]) == ["a_b", "a_b_2", "a_b_3", "_", "__"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            ["bm25(title)", "attribute(price)", "title bm25", "1st", "1st!"],
            ["bm25(title)", "attribute(price)", "_title_bm25", "_1st", "_1st_"],
        ),
        (["_a_b_2", "_a_b_3", "a b", "a!b", "a?b"], ["_a_b_2", "_a_b_3", "_a_b", "_a_b_4", "_a_b_5"]),
    ],
)
def test_names_that_vespa_can_hold_are_different(given, expected):
    lists = luce.Dataset(np.eye(5), range(5), [0, 5], feature_names=given)
    assert rank_features(luce.TreeRanker(n_estimators=1, min_child_samples=1, n_jobs=1).fit(lists)) == expected


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch", "solr"])
def test_a_feature_with_the_name_of_a_value_is_refused(form, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat(np.arange(8), 5), "color=red": rng.normal(size=40)})
    frame["color"], frame["label"] = ["red", "blue"] * 20, rng.integers(3, size=40)
    ranker = luce.LinearRanker(transforms=("standardize",), n_jobs=1).fit(luce.from_table(frame))
    with pytest.raises(luce.OptionError, match=r"a value of a category are both 'color=red' here\. Rename the feature"):
        luce.export(ranker, form, tmp_path / "shop.json")
    assert list(tmp_path.iterdir()) == []
