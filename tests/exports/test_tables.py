"""From a raw table to each export: every kind of ranker in every format scores raw rows as trained, or is refused."""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import luce
from luce.exports import EXPORTS
from luce.exports.record import Rows

NUMBERS, QUERY = ["price", "title bm25", "age"], "query"
COLORS = ["red", "blue", "green", None]
ZERO = luce.data.make_transform("fill", constant=0)


def linear(*args, **params):
    return luce.LinearRanker(*args, **{"transforms": (ZERO, "standardize"), "n_jobs": 1} | params)


def trees(*args, **params):
    return luce.TreeRanker(*args, **{"n_estimators": 20, "n_jobs": 1, "validation_fraction": None} | params)


def network(**params):
    settings = {"transforms": (ZERO, "standardize"), "epochs": 1, "hidden_layer_sizes": (8,), "device": "cpu"}
    return luce.NeuralRanker(**settings | {"validation_fraction": None, "n_jobs": 1} | params)


def ensemble(*members):
    return luce.EnsembleRanker([(str(place), each) for place, each in enumerate(members)], n_jobs=1)


PLUGINS = {"elasticsearch", "opensearch"}
TREES = {*PLUGINS, "elasticsearch-native", "solr", "vespa", "lightgbm", "treelite"}
CODED, NO_GAPS = [*NUMBERS, "color"], ["price", "title bm25"]
KINDS = {
    "linear": (linear(), CODED, PLUGINS | {"solr"}, ""),
    "linear, intercept": (linear("bce"), CODED, PLUGINS | {"solr"}, ""),
    "linear, bags": (linear(n_bags=2), CODED, PLUGINS | {"solr"}, ""),
    "linear, defaults": (luce.LinearRanker(n_jobs=1), CODED, set(), "no form for the transform symlog1p"),
    "linear, grades": (linear("mcrank"), NUMBERS, set(), "mcrank has one score per grade"),
    "linear, within lists": (linear(transforms=("fill", "list-minmax")), NUMBERS, set(), "within lists"),
    "trees": (trees(), NUMBERS, TREES, "send missing values elsewhere than 0"),
    "trees, no gaps": (trees(), NO_GAPS, TREES | {"ranklib"}, ""),
    "trees, transforms": (trees(transforms=("symlog1p", "standardize")), NUMBERS, TREES, "send missing values"),
    "trees, within lists": (trees(transforms=("list-zscore",)), NUMBERS, set(), "within lists"),
    "trees, bags": (trees(n_bags=2), NUMBERS, TREES, "send missing values"),
    "trees, categories": (trees(), CODED, {"lightgbm", "treelite"}, "split by category"),
    "trees, grades": (trees("mcrank"), NUMBERS, set(), "mcrank has one score per grade"),
    "network": (network(), CODED, {"solr"}, ""),
    "network, bags": (network(n_bags=2), CODED, {"solr"}, ""),
    "network, attention": (network(context="attention"), CODED, set(), "attend to each other"),
    "ensemble of trees": (ensemble(trees(), trees(num_leaves=4)), NUMBERS, TREES, "send missing values"),
    "ensemble": (ensemble(linear(), trees(), network()), CODED, set(), "sum of different models"),
    "on a linear ranker": (trees(), NUMBERS, set(), "sum of different models"),
    "on a network": (trees(), NO_GAPS, set(), "sum of different models"),
    "labels": (luce.LabelRanker(epochs=1, hidden_layer_sizes=(8,), device="cpu", n_jobs=1), NO_GAPS, set(), ""),
}
"""The ranker, its features, the formats besides onnx that can express it, and why the others that take its kind
cannot."""
BACKGROUNDS = {"on a linear ranker": linear(), "on a network": network()}


@cache
def frames():
    """Training rows and rows to score: numbers with gaps, and text, of which some is new when it is scored."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            QUERY: np.repeat(np.arange(60), 10),
            "price": rng.lognormal(3, 2, 600),
            "title bm25": rng.exponential(5, 600),
            "age": rng.integers(0, 400, 600).astype(float),
            "color": pd.Series([COLORS[number] for number in rng.integers(4, size=600)], dtype=object),
        }
    )
    worth = np.log(frame["price"]) - 0.01 * frame["age"] + (frame["color"] == "red")
    frame["label"] = pd.qcut(worth, 4, labels=False)
    frame.loc[::17, "age"] = np.nan
    frame.loc[503::20, "color"] = "pink"
    return frame.iloc[:500], frame.iloc[500:]


@cache
def fitted(name):
    ranker, columns, _, _ = KINDS[name]
    train = frames()[0]
    if ranker.kind == "labels":
        tags = np.eye(4)[train["label"]]
        return ranker.fit(luce.TaggedData(train[columns].to_numpy(np.float32), tags))
    lists = luce.from_table(train, query=QUERY, label="label", features=columns)
    start = {"init_model": BACKGROUNDS[name].fit(lists)} if name in BACKGROUNDS else {}
    return ranker.fit(lists, **start)


def predicted(name):
    """What the ranker says of the raw rows."""
    test, (ranker, columns, *_) = frames()[1], KINDS[name]
    if ranker.kind == "labels":
        return fitted(name).predict(test[columns].to_numpy(np.float32))
    return fitted(name).predict(test[columns], qid=test[QUERY])


def by_engine(name, form, content):
    """What an engine says that has a feature for each number and for each value of text, or the number of the value."""
    test, ranker = frames()[1], fitted(name)
    given = {each: test[each] for each in NUMBERS}
    if form in ("lightgbm", "treelite"):
        codes = {value: code for code, value in enumerate((ranker.categories_ or [()])[-1] or ())}
        given = {each: given.get(each, test["color"].map(codes)) for each in KINDS[name][1]}
    elif ranker.kind != "trees":
        given |= {f"color={value}": test["color"] == value for value in COLORS[:3]}
    else:
        given = {each: given[each] for each in KINDS[name][1]}
    rows = np.column_stack([column.to_numpy(np.float32) for column in given.values()])
    return EXPORTS[form].oracle(content, Rows(rows, list(given), np.array([0, len(rows)])))


def by_onnx(name, path):
    """What ONNX Runtime says of numbers and text, list by list."""
    runtime = pytest.importorskip("onnxruntime")
    model, test = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]), frames()[1]
    facts, found = model.get_modelmeta().custom_metadata_map, []
    if fitted(name).kind == "labels":
        rows = test[KINDS[name][1]].to_numpy(np.float32)
        labels, scores = model.run(["labels", "scores"], {"features": rows, "k": np.array([4])})
        return np.take_along_axis(scores, np.argsort(labels, axis=1), axis=1)
    for _, part in test.groupby(QUERY):
        inputs = {"features": part[json.loads(facts["feature_names"])].to_numpy(np.float32)}
        texts = json.loads(facts["category_names"])
        inputs |= {"categories": part[texts].fillna("").to_numpy(object)} if texts else {}
        found.append(model.run(["scores"], inputs)[0])
    return np.concatenate(found)


@pytest.mark.filterwarnings("ignore:Values that were not in the training data")
@pytest.mark.parametrize("form", EXPORTS)
@pytest.mark.parametrize("name", KINDS)
def test_raw_rows_score_as_the_ranker_was_trained_or_the_export_is_refused(name, form, tmp_path):
    if form in ("treelite", "onnx"):
        pytest.importorskip(form)
    ranker, path = fitted(name), tmp_path / "shop.model"
    _, _, expressed, reason = KINDS[name]
    if form in expressed | {"onnx"}:
        assert luce.export(ranker, form, path).different_rows == 0
        found = by_onnx(name, path) if form == "onnx" else by_engine(name, form, path.read_bytes())
        assert len(np.unique(predicted(name))) > 10
        np.testing.assert_allclose(found, predicted(name), rtol=2e-5, atol=2e-5)
        return
    words = reason if ranker.kind in EXPORTS[form].kinds else re.escape(f"it is a {type(ranker).__name__}")
    with pytest.raises(luce.OptionError, match=f"The format {form} cannot express this ranker: .*{words}.*[.] .*[.]$"):
        luce.export(ranker, form, path)
    assert words and list(tmp_path.iterdir()) == []


def test_the_table_has_every_kind_and_every_format_once():
    assert {ranker.kind for ranker, *_ in KINDS.values()} == set(luce.rankers.RANKERS)
    assert set().union(*(formats for _, _, formats, _ in KINDS.values())) == set(EXPORTS) - {"onnx"}
