"""Every ranker in every format: the same scores by the rule of the engine, or a refusal that says why."""

import re
import subprocess
import sys

import numpy as np
import pytest

import luce
from luce.exports import EXPORTS, prepare
from luce.exports.adversarial import adversarial_rows
from luce.exports.check import check_export
from tests.exports.models import EXPRESSED, MADE, data, made

ENGINES = [name for name in EXPORTS if name != "onnx"]


def exported(name, form, folder, **options):
    if form == "treelite":
        pytest.importorskip("treelite")
    return prepare(made(name), form, folder / f"model{EXPORTS[form].extension}", **options)


@pytest.mark.parametrize("form", ENGINES)
@pytest.mark.parametrize("name", [name for name in MADE if EXPRESSED.get(name)])
def test_the_engine_scores_as_the_ranker_does_or_the_export_is_refused(name, form, tmp_path):
    if form in EXPRESSED[name]:
        check = exported(name, form, tmp_path).check
        assert check.rows == 1_000 and check.different_rows == 0
        missing = {"missing": "missing" in name or "transforms" in name}
        check = exported(name, form, tmp_path, data=data(**missing)).check
        assert check.rows == data().n_rows and check.different_rows == 0
    else:
        with pytest.raises(luce.LuceError, match=rf"The format {form} cannot express this ranker: .*[.]"):
            exported(name, form, tmp_path)


@pytest.mark.parametrize(
    ("name", "form", "reason"),
    [
        ("linear, default", "solr", r"transform symlog1p\. Train with transforms=\('standardize',\), or use --to onnx"),
        ("linear", "vespa", r"it is a LinearRanker\. Formats that can: elasticsearch, opensearch, .*solr"),
        ("trees, missing values", "ranklib", "send missing values elsewhere than 0.* Train on data in which 0 stands"),
        ("trees, list-zscore", "vespa", "list-zscore normalizes features within lists.* Train with standardize"),
        ("trees, scores of grades", "elasticsearch-native", r"mcrank has one score per grade\. Use --to onnx"),
        ("trees after linear", "elasticsearch", r"sum of different models \(linear and trees\)\. Use --to onnx"),
        ("ensemble", "solr", r"sum of different models \(linear and trees\)\. Use --to onnx"),
        ("network, gelu", "solr", r"activation gelu\. Train with activation='relu'"),
        ("network, layer", "solr", "layer normalization"),
        ("network, attention", "solr", "the items of a list attend to each other"),
        ("labels", "lightgbm", "it is a LabelRanker"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(name, form, reason, tmp_path):
    with pytest.raises(luce.LuceError, match=reason):
        exported(name, form, tmp_path)


def test_rankers_that_no_engine_can_express_are_refused_by_all(tmp_path):
    for name in MADE.keys() - {name for name, forms in EXPRESSED.items() if forms}:
        for form in ENGINES:
            with pytest.raises(luce.LuceError, match="cannot express this ranker"):
                exported(name, form, tmp_path)


def test_fill_by_the_mean_is_refused_and_the_advice_can_be_followed(tmp_path):
    filled = luce.LinearRanker(transforms=("fill", "standardize"), n_jobs=1).fit(data(missing=True))
    with pytest.raises(luce.OptionError, match=r"engine takes 0 for them\. Train with .*constant=0") as refusal:
        prepare(filled, "solr", tmp_path / "model.json")
    expression = re.search(r"luce\.\S+\(.*?\)", str(refusal.value))[0]
    code = f"import luce; print({expression}.name)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "fill\n"


@pytest.mark.parametrize("form", [form for form in ENGINES if form not in ("lightgbm", "treelite")])
def test_the_check_sees_one_threshold_moved_by_one_float(form, tmp_path):
    """The same trees with every threshold at the next float32 number: rows at thresholds go elsewhere."""
    prepared = exported("trees", form, tmp_path)
    content, changed = next(iter(prepared.files.values())).decode(), 0

    def moved(match):
        nonlocal changed
        changed += 1
        up = np.nextafter(np.float32(float(match[2])), np.float32(np.inf))
        return f"{match[1]}{float(up)!r}"

    pattern = r'((?:split_condition\\?|"threshold)": "?|<threshold> )(-?[\d.e+-]+)'
    wrong = re.sub(pattern, moved, content)
    assert changed >= 30
    check = check_export(EXPORTS[form], made("trees"), wrong.encode())
    assert check.different_rows > 50 and check.largest_difference > 1e-3


def test_the_check_sees_a_score_that_is_no_number(tmp_path):
    content = next(iter(exported("linear", "solr", tmp_path).files.values())).decode()
    wrong = re.sub(r'("weights": \{"[^"]+": )[^,]+', r"\1NaN", content)
    check = check_export(EXPORTS["solr"], made("linear"), wrong.encode())
    assert wrong != content and check.different_rows == check.rows and not check.within(1e300)


def test_the_rows_are_hard():
    dataset = adversarial_rows(made("trees, missing values"))
    thresholds = np.unique(np.concatenate([tree.threshold for tree in made("trees, missing values").forest_.trees]))
    features = dataset.features
    assert np.isin(features, thresholds.astype(np.float32)).mean() > 0.1
    assert (np.abs(features) == np.finfo(np.float32).max).any() and np.isnan(features).any()
    assert ((features != 0) & (np.abs(features) < 1e-34)).any() and np.signbit(features[features == 0]).any()
    assert not np.isnan(adversarial_rows(made("linear")).features).any()
