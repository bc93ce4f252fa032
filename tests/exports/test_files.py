"""What is written, and when nothing is: files beside the model, tolerance, the command."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.exports import EXPORTS
from tests.exports.models import NAMES, data, made


def run(*words):
    return CliRunner().invoke(app, ["export", *map(str, words)])


@pytest.fixture
def model(tmp_path):
    made("trees").save(tmp_path / "model.luce")
    return tmp_path / "model.luce"


@pytest.mark.parametrize(
    ("form", "end"),
    [
        ("elasticsearch", ".featureset.json"),
        ("opensearch", ".featureset.json"),
        ("elasticsearch-native", ".inference_config.json"),
        ("solr", ".features.json"),
        ("vespa", ".profile"),
    ],
)
def test_a_template_with_every_feature_is_written_beside_the_model(form, end, tmp_path):
    luce.export(made("trees"), form, tmp_path / "shop.json")
    assert {path.name for path in tmp_path.iterdir()} == {"shop.json", f"shop{end}"}
    text = (tmp_path / f"shop{end}").read_text()
    assert all(name in text or name.replace(" ", "_") in text for name in NAMES)
    if end.endswith(".json"):
        json.loads(text)
    else:
        assert 'lightgbm("shop.json")' in text and "function _title_bm25()" in text


def test_the_model_has_the_name_of_the_file(tmp_path):
    for form, name in (("solr", lambda given: given["name"]), ("opensearch", lambda given: given["model"]["name"])):
        luce.export(made("linear"), form, tmp_path / "shop.json")
        assert name(json.loads((tmp_path / "shop.json").read_text())) == "shop"


def test_beyond_the_tolerance_nothing_is_written(model, tmp_path):
    target = tmp_path / "shop.json"
    with pytest.raises(luce.DataError, match=r"was not written: 0 of 1,000 rows .* The tolerance is 0\."):
        luce.export(made("trees"), "solr", target, tolerance=0)
    result = run(model, "--to", "solr", "-o", target, "--tolerance", 0)
    assert result.exit_code == 1 and "0 of 1,000 rows made from the model" in result.stdout
    assert "was not written" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"model.luce"}
    assert run(model, "--to", "solr", "-o", target, "--tolerance", 1e-5).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"model.luce", "shop.json", "shop.features.json"}


def test_files_are_replaced_only_with_overwrite(model, tmp_path):
    (tmp_path / "shop.features.json").write_text("filled in")
    result = run(model, "--to", "solr", "-o", tmp_path / "shop.json")
    assert isinstance(result.exception, luce.OptionError) and "already exists" in str(result.exception)
    assert not (tmp_path / "shop.json").exists()
    assert run(model, "--to", "solr", "-o", tmp_path / "shop.json", "--overwrite").exit_code == 0
    assert "FIELD OF" in (tmp_path / "shop.features.json").read_text()


def test_the_check_is_made_on_given_data(model, tmp_path):
    luce.write(data(), tmp_path / "test.parquet")
    words = [model, "--to", "vespa", "-o", tmp_path / "shop.json", "--data", tmp_path / "test.parquet", "--json"]
    found = json.loads(run(*words).stdout)
    assert found["check"]["rows"] == data().n_rows and found["check"]["different_rows"] == 0
    assert found["written"] == [str(tmp_path / "shop.json"), str(tmp_path / "shop.profile")]
    result = run(model, "--to", "vespa", "-o", tmp_path / "other.json", "--read", "label=clicks")
    assert isinstance(result.exception, luce.OptionError) and "add --data" in str(result.exception)


def test_an_unknown_format_and_what_is_no_ranker_are_errors(model, tmp_path):
    result = run(model, "--to", "elastic", "-o", tmp_path / "shop.json")
    assert "There is no export format 'elastic'. Did you mean 'elasticsearch'" in str(result.exception)
    with pytest.raises(luce.OptionError, match="Only rankers can be exported"):
        luce.export(object(), "solr", tmp_path / "shop.json")
    with pytest.raises(luce.DataError, match="there is no directory"):
        luce.export(made("trees"), "solr", tmp_path / "nowhere" / "shop.json")


def test_a_failure_while_writing_leaves_no_file(tmp_path, monkeypatch):
    (tmp_path / "shop.json").write_text("before")
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(luce.DataError, match="was not written"):
        luce.export(made("trees"), "solr", tmp_path / "shop.json")
    assert calls and {path.name: path.read_text() for path in tmp_path.iterdir()} == {"shop.json": "before"}


def test_the_model_is_in_place_after_its_templates(tmp_path, monkeypatch):
    placed, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: (placed.append(target.name), replace(source, target)))
    luce.export(made("trees"), "solr", tmp_path / "shop.json")
    assert placed == ["shop.features.json", "shop.json"]


def test_the_help_names_every_format():
    text = " ".join(run("--help").stdout.replace("│", " ").split())
    assert all(name in text for name in EXPORTS)


def test_a_lightgbm_model_has_an_objective_and_the_names_of_the_features(tmp_path):
    booster = made("trees").to_lightgbm()
    assert booster.feature_name() == [name.replace(" ", "_") for name in NAMES]
    assert booster.dump_model()["objective"] == "regression"
    assert np.array_equal(booster.predict(data().features, num_threads=1), made("trees").predict(data()))
    assert "objective" not in made("trees").forest_.text()  # as model files of every version have it
