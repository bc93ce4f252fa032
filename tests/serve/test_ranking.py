"""/rank: documents by feature name, the order of their scores, and what is said of features that are not there."""

import json

import numpy as np
import pyarrow as pa
import pytest

import luce
from tests.serve.conftest import FEATURES, lists, saved


def documents(rows, names=FEATURES):
    return [{"id": f"d{number}", **dict(zip(names, row, strict=True))} for number, row in enumerate(rows)]


def test_the_order_is_that_of_the_scores(linear, connect):
    rows = lists(seed=5).features[:20]
    answer = connect(linear)[0].post("/rank", json={"documents": documents(rows.tolist()), "top": 4}).json()
    scores = luce.load(linear).predict(rows)
    order = np.argsort(-scores)[:4]
    assert answer["ranking"] == [{"id": f"d{row}", "score": scores[row]} for row in order]
    assert "missing_features" not in answer


def test_equal_scores_keep_their_order_and_other_keys_are_ignored(linear, connect):
    same = {"rating": 1, "price": True, "age": 0, "title": "x", "tags": ["a"]}
    answer = connect(linear)[0].post("/rank", json={"documents": [{"id": each, **same} for each in (3, 1, 2)]})
    assert [each["id"] for each in answer.json()["ranking"]] == [3, 1, 2]


def test_a_feature_that_a_document_lacks_is_missing(tmp_path, connect):
    path = saved(tmp_path / "a.luce", luce.TreeRanker(n_estimators=5, n_jobs=1))
    given = [{"id": "a", "rating": 1.0}, {"id": "b", "rating": None, "price": 2.0}]
    answer = connect(path)[0].post("/rank", json={"documents": given}).json()
    expected = luce.load(path).predict([[1, np.nan, np.nan], [np.nan, 2, np.nan]])
    assert {each["id"]: each["score"] for each in answer["ranking"]} == dict(zip("ab", expected, strict=True))
    assert answer["missing_features"] == ["age"]


def test_a_model_that_needs_all_features_says_so(linear, connect):
    answer = connect(linear)[0].post("/rank", json={"documents": [{"id": 1, "rating": 1.0}]})
    assert answer.status_code == 400 and "Row 1 has no finite score" in answer.json()["error"]


@pytest.mark.parametrize("ranker", [luce.LinearRanker, luce.TreeRanker])
def test_contributions_add_up_to_the_score(tmp_path, connect, ranker):
    path = saved(tmp_path / "a.luce", ranker(n_jobs=1))
    request = {"documents": documents(lists(seed=6).features[:8].tolist()), "top": 3, "explain": True}
    ranking = connect(path)[0].post("/rank", json=request).json()["ranking"]
    assert len(ranking) == 3
    for each in ranking:
        assert set(each["contributions"]) == {*FEATURES}
        assert each["base"] + sum(each["contributions"].values()) == pytest.approx(each["score"])


def test_contributions_within_lists_are_those_of_the_whole_list(tmp_path, connect):
    path = saved(tmp_path / "a.luce", luce.LinearRanker(transforms=("list-zscore",), n_jobs=1))
    request = {"documents": documents(lists(seed=6).features[:8].tolist()), "top": 3, "explain": True}
    for each in connect(path)[0].post("/rank", json=request).json()["ranking"]:
        assert each["base"] + sum(each["contributions"].values()) == pytest.approx(each["score"])


@pytest.mark.parametrize("ranker", [luce.LinearRanker, luce.TreeRanker])
def test_categories_are_text_as_in_the_training_table(tmp_path, connect, ranker):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "query": np.repeat(np.arange(20), 10),
            "label": rng.integers(3, size=200),
            "color": rng.choice(["red", "blue", "green"], 200),
            "size": pa.array(rng.choice(["1", "2", "10"], 200)),
            "price": rng.random(200),
        }
    )
    data = luce.from_table(table, query="query", label="label")
    fitted = ranker(n_jobs=1).fit(data)
    fitted.save(tmp_path / "a.luce")
    given = [{"id": 1, "color": "red", "size": 2, "price": 0.5}, {"id": 2, "color": "pink", "size": "10", "price": 1}]
    answer = connect(tmp_path / "a.luce")[0].post("/rank", json={"documents": given, "explain": True}).json()
    with pytest.warns(luce.LuceWarning, match="'pink'"):
        expected = fitted.predict(pa.table({"color": ["red", "pink"], "size": ["2", "10"], "price": [0.5, 1]}))
    assert {each["id"]: each["score"] for each in answer["ranking"]} == {1: expected[0], 2: expected[1]}
    assert answer["unknown_values"] == {"color": ["pink"]}
    for each in answer["ranking"]:
        assert each["contributions"].keys() == {"color", "size", "price"}
        assert each["base"] + sum(each["contributions"].values()) == pytest.approx(each["score"])


def test_many_documents_are_not_explained_at_once(linear, connect):
    request = {"documents": documents(np.zeros((101, 3)).tolist()), "explain": True}
    assert "At most 100 documents can be explained" in connect(linear)[0].post("/rank", json=request).json()["error"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"docs": []}, "There is no field 'docs'. Did you mean 'documents'?"),
        ({}, "'documents' must be an array. Got null."),
        ({"documents": [1]}, "Document 1 must be an object. Got a number."),
        ({"documents": [{"id": 1, "rating": 1}, {"rating": 1}]}, "The 'id' of document 2 must be a string"),
        ({"documents": [{"id": 1, "rating": "high"}]}, "Feature 'rating' of document 1 must be a number, or null"),
        ({"documents": [{"id": 1, "ratin": 1}]}, "No document has a feature of this model, which are: 'rating'"),
        ({"documents": [], "top": 0}, "'top' must be at least 1. Got 0."),
        ({"documents": [], "explain": 1}, "'explain' must be true or false. Got a number."),
        ({"documents": [{}] * 10_001}, "at most 10,000 documents. Got 10,001."),
    ],
)
def test_what_is_not_valid_is_refused_with_its_reason(linear, connect, request_, words):
    answer = connect(linear)[0].post("/rank", content=json.dumps(request_))
    assert answer.status_code == 400 and words in answer.json()["error"], answer.text


def test_no_documents_are_an_empty_ranking(linear, connect):
    assert connect(linear)[0].post("/rank", json={"documents": [], "explain": True}).json()["ranking"] == []
