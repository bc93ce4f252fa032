"""Which columns of a table are features, and what is proposed where a name is not found."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from luce.data import from_table, read
from luce.errors import DataError, OptionError

NAMES = ["query", "label", "bm25_title", "bm25_body", "tfidf_title", "price[EUR]", "click_count", "doc_id"]
TABLE = pa.table({name: [1, 0] for name in NAMES} | {"title": ["a", "b"]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"exclude": ["title", "click*", "*_id"]}, "bm25_title bm25_body tfidf_title price[EUR]"),
        ({"features": ["tfidf_*", "bm25*"]}, "tfidf_title bm25_title bm25_body"),
        ({"features": ["bm25_body", "bm25*"]}, "bm25_body bm25_title"),
        ({"features": ["bm25*"], "exclude": ["*_body"]}, "bm25_title"),
        ({"features": ["price[EUR]"]}, "price[EUR]"),
        ({"features": ["*_i[ad]"], "exclude": ["q*"]}, "doc_id"),
        ({"features": ["b*"], "exclude": ["*"]}, ""),
        ({"features": []}, ""),
        ({"exclude": ["*_title", "l*", "title", "c*", "doc_id"]}, "bm25_body price[EUR]"),
    ],
)
def test_features_are_named_by_patterns_and_left_out(options, expected, tmp_path):
    data = from_table(TABLE, document=None, **options)
    assert (data.feature_names or ()) == tuple(expected.split())
    csv.write_csv(TABLE, tmp_path / "a.csv")
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        assert read(tmp_path / name, document=None, **options).feature_names == data.feature_names


def test_a_pattern_for_features_leaves_out_what_has_a_role():
    data = from_table(TABLE, features=["*"], exclude=["title"])
    assert data.feature_names == ("bm25_title", "bm25_body", "tfidf_title", "price[EUR]", "click_count")
    assert data.document_ids.to_pylist() == ["1", "0"]
    assert np.array_equal(data.labels, [1, 0])


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"exclude": ["clicks_*"]}, DataError, r"no column that matches 'clicks_\*' for exclude=. Columns: query"),
        ({"features": ["BM25*"]}, DataError, r"no column that matches 'BM25\*' for features=. Columns: query"),
        (
            {"exclude": ["clickcount"]},
            DataError,
            r"no column 'clickcount' for exclude=. Did you mean 'click_count'\?",
        ),
        ({"features": ["clickcount"]}, DataError, r"no column 'clickcount' for features=. Columns: "),
        ({"exclude": "title"}, OptionError, "exclude must be a list of column names. Got the one string 'title'"),
        ({"features": ["label"]}, OptionError, "Column 'label' cannot be a feature"),
    ],
)
def test_a_name_or_pattern_that_matches_nothing_is_an_error(options, kind, text):
    with pytest.raises(kind, match=text):
        from_table(TABLE, **options)


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        ("query_text query_len label", {}, " Columns: "),
        ("query_text search_id label", {}, " Did you mean 'search_id'? Columns: "),
        ("sessionID click_id label", {}, " Did you mean 'sessionID'? Columns: "),
        ("Query_ID label", {}, " Did you mean 'Query_ID'? Columns: "),
        ("query_len query_text label", {"query": "query_id"}, " Columns: "),
        ("qry queries label", {"query": "query"}, " Did you mean 'qry'? Columns: "),
        ("query relevance_label clicks", {}, " Did you mean 'relevance_label'? Columns: "),
        ("query rating position", {}, " Did you mean 'rating'? Columns: "),
        ("query table clicks lab_id", {}, " Columns: "),
        ("query click_label_time position", {"label": "labels"}, " Columns: "),
        ("query clicks position", {}, " Columns: "),
        ("query label docid", {"document": "doc_id"}, " Did you mean 'docid'? Columns: "),
        ("query label doc_title", {"document": "doc_id"}, " Columns: "),
    ],
)
def test_only_a_plausible_column_is_proposed(names, options, expected):
    with pytest.raises(DataError) as raised:
        from_table(pa.table({name: [1] for name in names.split()}), **options)
    assert f".{expected}" in str(raised.value) or f"){expected}" in str(raised.value)


def test_no_hint_proposes_a_suspicious_feature():
    table = pa.table({"query": [1], "label": [1], "terms": [[1, 2]], "price": [2.5], "position": [1], "user_id": [7]})
    with pytest.raises(DataError, match=r"by features=\['price'\], on the command line --read features=price,"):
        from_table(table)
