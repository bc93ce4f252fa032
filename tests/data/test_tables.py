"""Tables and arrays in memory: every kind of frame gives the same dataset."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from luce.data import from_arrays, from_table, group_rows
from luce.data.tables import BLOCK
from luce.errors import DataError, OptionError

COLUMNS = {
    "query": ["b", "a", "c", "b", "a"],
    "label": [1.5, None, 0.0, 2.0, 1.0],
    "document": ["d1", "d2", "d3", "d4", "d5"],
    "weight": [1.0, 2.0, 3.0, 4.0, 5.0],
    "list_weight": [0.5, 1.0, 2.0, 0.5, 1.0],
    "length": [10, 20, 30, 40, None],
    "fresh": [True, False, None, True, False],
}


class Stream:
    """Anything that speaks the Arrow C interface, and only once, as a database cursor does."""

    def __init__(self, table):
        self.tables = [table]

    def __arrow_c_stream__(self, requested_schema=None):
        return self.tables.pop().__arrow_c_stream__(requested_schema)


KINDS = {
    "pyarrow": pa.table,
    "chunked": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 2), pa.table(columns).slice(2)]),
    "batch": lambda columns: pa.RecordBatch.from_pydict(columns),
    "reader": lambda columns: pa.table(columns).to_reader(2),
    "pandas": lambda columns: pd.DataFrame(columns, index=[9, 8, 7, 6, 5]),
    "polars": pl.DataFrame,
    "stream": lambda columns: Stream(pa.table(columns)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_dataset(kind):
    data = from_table(KINDS[kind](COLUMNS))
    assert data.query_ids.to_pylist() == ["b", "a", "c"]
    assert data.offsets.tolist() == [0, 2, 4, 5]
    assert np.array_equal(data.labels, [1.5, 2, np.nan, 1, 0], equal_nan=True)
    assert data.document_ids.to_pylist() == ["d1", "d4", "d2", "d5", "d3"]
    assert data.item_weights.tolist() == [1, 4, 2, 5, 3]
    assert data.list_weights.tolist() == [0.5, 1, 2]
    assert data.feature_names == ("length", "fresh")
    expected = [[10, 1], [40, 1], [20, 0], [np.nan, 0], [30, np.nan]]
    assert np.array_equal(data.features, np.array(expected, np.float32), equal_nan=True)


def test_columns_can_be_named():
    table = pa.table({"q": [2, 1], "y": [0, 1], "x": [5, 6], "z": [7, 8], "title": ["a", "b"]})
    data = from_table(table, query="q", label="y", features=["z", "x"])
    assert data.query_ids.to_pylist() == [2, 1]
    assert data.features.tolist() == [[7, 5], [8, 6]]
    assert data.feature_names == ("z", "x")
    unlabelled = from_table(table, query="q", label=None, features=["x"], document="title")
    assert np.isnan(unlabelled.labels).all()
    assert unlabelled.document_ids.to_pylist() == ["a", "b"]
    assert from_table(table, query="title", label="y").query_ids.to_pylist() == ["a", "b"]


def test_columns_named_by_number_are_numbered_features():
    assert from_table(pa.table({"qid": [1], "label": [0], "1": [0.5], "2": [1.5]})).feature_names is None
    assert from_table(pa.table({"qid": [1], "label": [0], "0": [0.5], "1": [1.5]})).feature_names == ("0", "1")


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ({"quer": [1], "label": [1]}, {}, r"no query column \(query, qid, query_id\).*Did you mean 'quer'\?"),
        ({"query": [1], "x": [1]}, {}, r"no label column.*label=None where there are no labels.*Columns: query, x"),
        ({"query": [1], "label": [1]}, {"query": "qry"}, "no column 'qry' for query=. Did you mean 'query'"),
        ({"query": [1], "label": [1], "size": [1]}, {"features": ["sise"]}, "no column 'sise' for features=.*'size'"),
        (
            {"query": [1], "qid": [1], "label": [1]},
            {},
            "columns 'query' and 'qid': choose one .*--read query=query",
        ),
        ({"query": [1], "label": [1], "t": [[1]], "u": [b"b"]}, {}, r"2 column\(s\) of other types: 't' \(list<.*'u'"),
        ({"query": [1], "label": [1], "t": [[1]]}, {"features": ["t"]}, "must be numbers, text, dates or booleans"),
        ({"query": [1], "label": ["high"]}, {}, "column 'label' must be numbers. It is string"),
        (
            {"query": [1, None], "label": [1, 2]},
            {},
            r"query column 'query' must be given.*missing at row 2 \(1 in total\)",
        ),
        ({"query": [1.5], "label": [1]}, {}, "query column 'query' must be integers or strings. Got double"),
        ({"query": [1, 1], "label": [1, 2], "list_weight": [1, 2]}, {}, "'list_weight' must be the same.*Query 1 has"),
        (
            {"query": [2, 1], "label": [0, 1], "x": [0.0, np.inf]},
            {},
            "column 'x' must be finite. It is infinite at row 2",
        ),
        ({"query": [2], "label": [0], "x": [1e300]}, {}, "column 'x' must be finite. It is infinite at row 1"),
        ({"query": [2, 2], "label": [0, -np.inf]}, {}, "column 'label' must be finite. It is infinite at row 2"),
    ],
)
def test_a_column_that_does_not_fit_is_named(columns, options, text):
    with pytest.raises(DataError, match=text):
        from_table(pa.table(columns), **options)


def test_wrong_options_are_named():
    table = pa.table({"query": [1], "label": [1], "x": [1]})
    with pytest.raises(OptionError, match="categorical contains 'u', which is not a feature column"):
        from_table(table, categorical=["u"])
    with pytest.raises(OptionError, match=r"categorical must be a list of column names. Got the one string 'x'"):
        from_table(table, categorical="x")
    with pytest.raises(OptionError, match=r"features must be a list of column names. Got the one string 'x'"):
        from_table(table, features="x")
    with pytest.raises(OptionError, match="Column 'label' cannot be a feature"):
        from_table(table, features=["label"])
    with pytest.raises(OptionError, match="query must name a column"):
        from_table(table, query=None)
    with pytest.raises(DataError, match=r"have its C stream interface. Got <class 'dict'>"):
        from_table({"query": [1]})
    with pytest.raises(DataError, match=r"Call its collect\(\) first"):
        from_table(pl.DataFrame({"query": [1]}).lazy())
    twice = pa.table([[1], [1], [1]], names=["query", "label", "label"])
    with pytest.raises(DataError, match="more than one column named 'label'"):
        from_table(twice)
    with pytest.raises(DataError, match=r"cannot be read: .*[Dd]uplicate"):
        from_table(pd.DataFrame([[1, 2]], columns=["label", "label"]))


def test_many_blocks_out_of_order_land_in_their_rows():
    n_rows = 2 * BLOCK + 17
    random = np.random.default_rng(0)
    query = random.integers(0, 50, n_rows)
    columns = {"query": query, "label": query % 3, "row": np.arange(n_rows), "half": np.arange(n_rows) / 2}
    data = from_table(pa.table(columns))
    rows = data.features[:, 0].astype(int)
    assert sorted(rows) == list(range(n_rows))
    assert np.array_equal(data.features[:, 1], (rows / 2).astype(np.float32))
    lists = np.repeat(data.query_ids.to_numpy(), data.sizes)
    assert np.array_equal(query[rows], lists)
    assert np.array_equal(data.labels, lists % 3)
    assert all(np.all(np.diff(rows[data.rows(q)]) > 0) for q in range(data.n_lists))


def test_numbers_of_every_type_become_features():
    table = pa.table(
        {
            "query": pa.array([1, 1]),
            "label": pa.array([True, None]),
            "small": pa.array([1, 255], pa.uint8()),
            "half": pa.array(np.array([0.5, 2], np.float16)),
            "exact": pa.array([decimal.Decimal("1.25"), None]),
            "none": pa.nulls(2),
        }
    )
    data = from_table(table)
    expected = [[1, 0.5, 1.25, np.nan], [255, 2, np.nan, np.nan]]
    assert np.array_equal(data.features, np.array(expected, np.float32), equal_nan=True)
    assert np.array_equal(data.labels, [1, np.nan], equal_nan=True)


# ---- arrays

X, Y, QID = np.array([[1, 0], [2, 0], [0, 3], [4, 4]], np.float64), [0, 1, 2, 0], ["b", "a", "a", "b"]


@pytest.mark.parametrize(
    "given",
    [X, X.astype(np.float32), X.astype(int), X.tolist(), np.asfortranarray(X), pd.DataFrame(X), pl.DataFrame(X)],
    ids=lambda given: type(given).__name__,
)
def test_arrays_of_every_kind_give_the_same_dataset(given):
    data = from_arrays(given, Y, QID, document_ids=[1, 2, 3, 4], item_weights=[1, 2, 3, 4], list_weights=[5, 6])
    assert data.features.tolist() == [[1, 0], [4, 4], [2, 0], [0, 3]]
    assert data.labels.tolist() == [0, 0, 1, 2]
    assert data.query_ids.to_pylist() == ["b", "a"]
    assert data.document_ids.to_pylist() == ["1", "4", "2", "3"]
    assert data.item_weights.tolist() == [1, 4, 2, 3]
    assert data.list_weights.tolist() == [5, 6]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices_of_every_kind_are_taken(kind, make):
    data = from_arrays(make(X).asformat(kind), Y, QID)
    assert data.is_sparse
    assert data.features.toarray().tolist() == [[1, 0], [4, 4], [2, 0], [0, 3]]


def test_names_of_a_frame_are_kept_and_can_be_given():
    frame = pd.DataFrame(X, columns=["x", "y"], index=[4, 3, 2, 1])
    assert from_arrays(frame, Y, QID).feature_names == ("x", "y")
    assert from_arrays(pl.DataFrame(frame), Y, QID).feature_names == ("x", "y")
    assert from_arrays(pd.DataFrame(X), Y, QID).feature_names is None
    assert from_arrays(X, Y, QID, feature_names=["u", "v"]).feature_names == ("u", "v")
    with pytest.raises(DataError, match=r"X has 1 column\(s\) of other types: 'y'"):
        from_arrays(pd.DataFrame({"x": [1], "y": [[1]]}), [0], [0])


def test_labels_may_be_missing_or_in_a_column():
    assert np.isnan(from_arrays(X, None, QID).labels).all()
    for labels in ([0, None, 2, 0], pd.Series([0, None, 2, 0], dtype="Int64"), pl.Series([0, None, 2, 0])):
        assert np.array_equal(from_arrays(X, labels, QID).labels, [0, 0, np.nan, 2], equal_nan=True)
    assert from_arrays(X, np.array(Y)[:, None], QID).labels.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": [0, 1]}, "X and y must have the same number of rows. Got 4 and 2"),
        ({"qid": [1, 1]}, "X and qid must have the same number of rows. Got 4 and 2"),
        ({"document_ids": ["a"]}, "X and document_ids must have the same number of rows. Got 4 and 1"),
        ({"item_weights": [1]}, "X and item_weights must have the same number of rows. Got 4 and 1"),
        ({"list_weights": [1]}, "list_weights must have 2 entries. Got 1"),
        ({"X": [1, 2, 3, 4]}, r"X must be two-dimensional, rows by features. Got shape \(4,\)"),
        ({"X": [[1], [1, 2], [1], [1]]}, "X must have the same number of features in every row"),
        ({"y": ["a", "b", "c", "d"]}, "y must be numbers"),
        ({"y": pl.Series(["a", "b", "c", "d"])}, "y must be numbers"),
        ({"qid": [1, 2, "a", 3]}, "qid must be all integers or all strings"),
        ({"qid": [[1], [2], [3], [4]]}, "qid must be integers or strings. Got list"),
        ({"qid": np.ones((4, 1))}, r"qid must be one-dimensional, one id per row. Got shape \(4, 1\)"),
        ({"qid": 7}, "qid must be one-dimensional"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, text):
    with pytest.raises(DataError, match=text):
        from_arrays(**{"X": X, "y": Y, "qid": QID, **changes})


@pytest.mark.parametrize(
    ("qid", "ids"),
    [
        (np.array([3, 1, 3], np.uint16), [3, 1]),
        (np.array([3.0, 1.0, 3.0]), [3, 1]),
        (np.array([2**64 - 1, 1, 2**64 - 1], np.uint64), ["18446744073709551615", "1"]),
        (pd.Series(["x", "y", "x"], index=[7, 8, 9]), ["x", "y"]),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y"]),
        (pd.Series([3, 1, 3], dtype="category"), [3, 1]),
        (pl.Series(["x", "y", "x"]), ["x", "y"]),
        (np.array(["x", "y", "x"]), ["x", "y"]),
        (
            [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
            ["2020-01-02", "2020-01-01"],
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_ids_of_every_kind_group_rows(qid, ids):
    grouping = group_rows(qid)
    assert grouping.query_ids.to_pylist() == ids
    assert grouping.order.tolist() == [0, 2, 1]
    assert grouping.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda sizes: np.array(sizes, np.uint8)])
def test_list_sizes_group_rows(kind):
    data = from_arrays([[1], [2], [3], [4]], [0, 1, 2, 3], group=kind([1, 3]), document_ids=list("abcd"))
    assert data.offsets.tolist() == [0, 1, 4]
    assert data.query_ids.to_pylist() == [1, 2]
    assert data.document_ids.to_pylist() == list("abcd")


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ([1, 2], "group must sum to the 4 rows of X. Its sum is 3"),
        ([4, 1], "group must sum to the 4 rows of X. Its sum is 5"),
        ([4, 0], "group must be positive, the size of each list. Got 0 for list 2"),
        ([5, -1], "must be positive, the size of each list. Got -1 for list 2"),
        ([2**63 - 1, 2**63 - 1, 6], "group must sum to the 4 rows of X"),
        ([2.0, 2.0], "group must be a one-dimensional array of integers. Got float64 of shape"),
        ([[2, 2]], "group must be a one-dimensional array of integers"),
        ([True] * 4, "group must be a one-dimensional array of integers. Got bool"),
        ([], "group must be a one-dimensional array of integers"),
    ],
)
def test_list_sizes_that_do_not_fit_are_refused(group, text):
    with pytest.raises(DataError, match=text):
        from_arrays(np.zeros((4, 1)), None, group=group)


def test_either_queries_or_list_sizes_are_given():
    with pytest.raises(OptionError, match="Got neither"):
        from_arrays([[1]], [0])
    with pytest.raises(OptionError, match="Got both"):
        from_arrays([[1]], [0], qid=[1], group=[1])


def test_scores_find_the_way_back_to_the_given_rows():
    qid = np.random.default_rng(0).integers(0, 30, 500)
    grouping = group_rows(qid)
    rows = np.arange(500)
    assert np.array_equal(rows[grouping.order][grouping.position], rows)
    assert group_rows(np.sort(qid)).position is None
    assert group_rows([]).offsets.tolist() == [0]
