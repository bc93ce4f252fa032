"""A table as users have it, from `luce train` to `luce rank`: text, dates, flags, gaps, columns that say nothing."""

import csv
import io
import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.cli.compare_own import _file_scores
from luce.cli.reading import read_data
from luce.errors import DataError

HEADER = "session,clicks,brand,price,price,fresh,day,constant,shop,title"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("mixed")
    for seed, name in enumerate(("train.csv", "validation.csv", "test.csv")):
        random, lines = np.random.default_rng(seed), [HEADER]
        for row in range(240):
            brand = random.choice(["acme", "bolt", "core", ""])
            price, fresh = round(random.gamma(2, 20), 2), random.random() < 0.5
            good = 2 * (brand == "bolt") - (brand == "core") + fresh - price / 50
            clicks = int(np.clip(round(good), 0, 2))
            shown = "NA" if random.random() < 0.1 else str(price)
            day = np.datetime64("2024-01-01") + random.integers(0, 300)
            shop = random.choice([10, 20, 30])
            lines.append(f"s{row // 8},{clicks},{brand},{shown},{price},{str(fresh).lower()},{day},1,{shop},no. {row}")
        (place / name).write_text("\n".join(lines) + "\n")
    return place


def call(*words):
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_a_table_from_training_to_ranking(kind, folder, tmp_path):
    model, columns = tmp_path / "a.luce", ["--read", "query=session", "--read", "label=clicks"]
    trained = ["--model", kind, "--validation", folder / "validation.csv", "--read", "categorical=shop"]
    call("train", folder / "train.csv", "-o", model, *columns, *trained)
    ranker = luce.load(model)
    assert dict(zip(ranker.feature_names_in_, ranker.categories_, strict=True))["brand"] == ("acme", "bolt", "core")
    assert ranker.feature_names_in_.tolist() == ["brand", "price", "price.1", "fresh", "day", "constant", "shop"]

    frame = pd.read_csv(folder / "test.csv", parse_dates=["day"])
    other = frame[frame.columns[::-1]].assign(note="new")
    other.to_csv(tmp_path / "other.csv", index=False)
    other.to_parquet(tmp_path / "other.parquet")
    scores = ranker.predict(frame)
    for name in ("other.csv", "other.parquet"):
        ranked = call("rank", model, tmp_path / name, *columns[:2], "--read", "label=none").stdout
        found = {int(row["row"]): float(row["score"]) for row in csv.DictReader(io.StringIO(ranked))}
        np.testing.assert_allclose([found[row + 1] for row in range(len(frame))], scores, rtol=1e-6, atol=1e-6)
        measured = json.loads(call("evaluate", model, tmp_path / name, *columns, "--json").stdout)
        assert measured[str(model)]["metrics"]["ndcg@10"]["mean"] > 0.8
    explain = ["explain", model, tmp_path / "other.csv", *columns, "--query", "s3", "--report", tmp_path / "why.html"]
    explained = json.loads(call(*explain, "--json").stdout)
    values = {each["feature"]: each["value"] for each in explained["items"][0]["contributions"]}
    assert values["brand"] in ("acme", "bolt", "core", None)
    assert values["shop"] in ("10", "20", "30")
    call(*explain, "--csv", tmp_path / "why.csv")
    assert "brand" in (tmp_path / "why.csv").read_text()


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
def test_inspect_names_categories(folder):
    shown = call("inspect", folder / "train.csv", "--read", "query=session", "--read", "label=clicks").stdout
    assert "brand (3 categories), price, price.1, fresh" in shown


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
def test_what_a_model_needs_is_named_if_a_file_lacks_it(folder, tmp_path):
    model, columns = tmp_path / "a.luce", ["--read", "query=session", "--read", "label=clicks"]
    call("train", folder / "train.csv", "-o", model, *columns, "--model", "linear", "--read", "features=price,shop")
    frame = pd.read_csv(folder / "test.csv").rename(columns={"price": "Price"})
    frame.to_csv(tmp_path / "other.csv", index=False)
    result = CliRunner().invoke(app, ["rank", str(model), str(tmp_path / "other.csv"), *columns])
    expected = "other.csv lacks features that the model was trained on: 'price'. Did you mean 'Price'?"
    assert expected in str(result.exception)


def test_inspect_says_that_there_is_nothing_to_learn(tmp_path):
    (tmp_path / "a.csv").write_text("query,label,x\na,1,2\nb,0,3\n")
    result = call("inspect", tmp_path / "a.csv")
    assert "No list has items with different labels" in result.stderr
    assert "Features: x" in result.stdout


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
def test_a_model_of_another_library_takes_no_categories(folder, tmp_path):
    data = lightgbm.Dataset(
        np.random.default_rng(0).random((50, 2)), np.arange(50) % 2, feature_name=["brand", "price"]
    )
    lightgbm.train({"verbosity": -1, "num_threads": 1}, data, 2).save_model(tmp_path / "old.txt")
    reading, test = ["query=session", "label=clicks"], folder / "test.csv"
    dataset = read_data(test, reading)
    with pytest.raises(DataError, match="does not contain the numbering of categories such as 'brand'"):
        _file_scores(lambda work, *given: work(*given), "old", tmp_path / "old.txt", test, dataset, reading, 1)


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
def test_a_lightgbm_model_of_a_frame_has_its_categories(folder, tmp_path):
    train, test = (pd.read_csv(folder / f"{name}.csv")[["price", "brand", "shop"]] for name in ("train", "test"))
    for name in ("brand", "shop"):
        known = sorted(train[name].dropna().unique())[1:]  # the first is a value that LightGBM has not seen
        for frame in (train, test):
            frame[name] = pd.Categorical(frame[name].where(frame[name].isin(known)), known)
    settings = {"verbosity": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(train, np.arange(len(train)) % 3), 5)
    booster.save_model(tmp_path / "old.txt")
    reading, path = ["query=session", "label=clicks"], folder / "test.csv"
    dataset = read_data(path, reading)
    scores, _ = _file_scores(lambda work, *given: work(*given), "old", tmp_path / "old.txt", path, dataset, reading, 1)
    assert any("cat_threshold" in line for line in (tmp_path / "old.txt").read_text().split("\n"))
    np.testing.assert_allclose(scores, booster.predict(test), rtol=1e-9)
