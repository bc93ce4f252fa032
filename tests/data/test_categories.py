"""Columns that are not numbers: what they become, in every way that a table is read, kept and written."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from luce.data import Dataset, concatenate, from_arrays, from_table, read, write
from luce.data.alignment import aligned
from luce.data.fingerprint import fingerprint
from luce.data.memory_mapped import read_mapped, write_mapped
from luce.errors import DataError, LuceWarning

TEXT = """query,label,brand,price,price,fresh,on,at,weekday,constant,gaps
q1,1,bolt,9.5,1,true,2024-01-02,2024-01-02 12:00:00,Mon,7,
q1,0,acme,NA,2,false,2024-01-03,2024-01-03 06:00:00,Tue,7,4
q2,2,,3.5,3,true,,2024-01-01 00:00:00,Mon,7,null
q2,0,bolt,None,4,,2024-01-01,,N/A,7,5
"""
NAMES = ("brand", "price", "price.1", "fresh", "on", "at", "weekday", "constant", "gaps")
VALUES = (("acme", "bolt"), None, None, None, None, None, ("Mon", "Tue"), None, None)
nan = np.nan
FEATURES = [
    [1, 9.5, 1, 1, 19724, 19724.5, 0, 7, nan],
    [0, nan, 2, 0, 19725, 19725.25, 1, 7, 4],
    [nan, 3.5, 3, 1, nan, 19723, 0, 7, nan],
    [1, nan, 4, nan, 19723, nan, nan, 7, 5],
]


def mixed():
    """The same table in memory."""
    return pa.table(
        {
            "query": ["q1", "q1", "q2", "q2"],
            "label": [1, 0, 2, 0],
            "brand": pa.array(["bolt", "acme", None, "bolt"]),
            "price": pa.array([9.5, None, 3.5, None]),
            "price.1": [1, 2, 3, 4],
            "fresh": pa.array([True, False, True, None]),
            "on": pa.array([19724, 19725, None, 19723], pa.date32()),
            "at": pa.array([1704196800, 1704261600, 1704067200, None], pa.timestamp("s")),
            "weekday": pa.array(["Mon", "Tue", "Mon", None]).dictionary_encode(),
            "constant": [7, 7, 7, 7],
            "gaps": pa.array([None, 4, None, 5]),
        }
    )


def check(data):
    assert data.feature_names == NAMES
    assert data.categories == VALUES
    np.testing.assert_array_equal(data.features, np.array(FEATURES, np.float32))


def test_a_csv_file_of_mixed_columns(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    with pytest.warns(LuceWarning, match=r"several columns with the same name; .* renamed to 'price\.1'"):
        check(read(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_text(TEXT.replace("brand,price,price", "query,price,other"))
    with pytest.raises(DataError, match="more than one column named 'query'"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "pandas arrays"])
def test_tables_in_memory(kind):
    table = mixed()
    if kind == "arrow":
        check(from_table(table))
    elif kind == "pandas":
        check(from_table(table.to_pandas()))
    elif kind == "polars":
        check(from_table(pl.from_arrow(table)))
    else:
        frame = table.to_pandas()
        check(from_arrays(frame[list(NAMES)], frame["label"], frame["query"]))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow", "a.luce-data"])
def test_files_keep_categories(name, tmp_path):
    write(from_table(mixed()), tmp_path / name)
    check(read(tmp_path / name))


def test_the_order_of_categories(tmp_path):
    sizes = pd.Categorical(["L", "S", "L"], ["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"query": [1, 1, 1], "label": [0, 1, 2], "size": sizes, "color": ["red", "blue", "red"]})
    data = from_table(frame)
    assert data.categories == (("S", "M", "L"), ("blue", "red"))
    assert data.features.tolist() == [[2, 1], [0, 0], [2, 1]]
    assert from_table(frame.iloc[::-1]).categories == data.categories
    write(data, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").categories == data.categories


def test_rows_brought_together_keep_their_values():
    data = from_table(pa.table({"query": [2, 1, 2], "label": [0, 1, 2], "color": ["c", "a", "b"], "x": [1.0, 2, 3]}))
    assert [data.feature_value(row, 0) for row in range(3)] == ["c", "b", "a"]
    assert [data.feature_value(row, 1) for row in range(3)] == [1, 3, 2]


def test_numbers_that_are_codes(tmp_path):
    table = pa.table({"query": [1, 1], "label": [0, 1], "zip": pa.array([20.0, None]), "floor": [3, 1]})
    assert from_table(table, categorical=["zip", "floor"]).categories == (("20",), ("1", "3"))
    (tmp_path / "a.csv").write_text("query,label,zip\n1,0,01\n1,1,1\n")
    assert read(tmp_path / "a.csv", categorical=["zip"]).categories == (("01", "1"),)


def test_durations_and_times_of_day():
    times = {"long": pa.array([1_500, None], pa.duration("ms")), "hour": pa.array([5_400, 0], pa.time32("s"))}
    data = from_table(pa.table({"query": [1, 1], "label": [0, 1], **times}))
    np.testing.assert_array_equal(data.features, [[1.5, 1.5], [nan, 0]])


def test_free_text_is_left_out_unless_named():
    n = 300
    columns = {"title": [f"no. {i}" for i in range(n)], "x": [1] * n}
    table = pa.table({"query": [1] * n, "label": [0, 1, 2] * 100, **columns})
    with pytest.warns(LuceWarning, match="not used as features, .* ids: 'title'.* --read document=title"):
        assert from_table(table).feature_names == ("x",)
    with pytest.warns(LuceWarning, match="free text and ids: 'title'"):
        assert from_arrays(pd.DataFrame(columns), table["label"], group=[n]).feature_names == ("x",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(from_table(table, features=["title", "x"]).categories[0]) == n
        assert len(from_table(table, categorical=["title"]).categories[0]) == n
        assert from_table(table.slice(0, 100)).n_features == 2


def test_text_of_the_query_is_left_out_unless_named():
    queries = np.tile(np.arange(120), 3)  # the rows of a query are apart
    texts = np.array([f"query {q}" for q in queries], dtype=object)
    table = pa.table({"query": queries, "label": [0, 1, 2] * 120, "asked": texts, "x": [1] * 360})
    with pytest.warns(LuceWarning, match="every list has a different value, .*: 'asked'"):
        assert from_table(table).feature_names == ("x",)
    texts[0] = "query 1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_table(table, features=["asked"]).n_features == 1
        assert from_table(table.set_column(2, "asked", pa.array(texts))).n_features == 2


def test_text_among_numbers_is_a_mistake_that_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("query,label,x\n1,0,1.5\n1,1,?\n1,1,-3e2\n")
    with pytest.raises(DataError, match=r"column 'x': Row #3: .*'\?'.*--read categorical=x"):
        read(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv", categorical=["x"]).categories == (("-3e2", "1.5", "?"),)


def test_numbers_with_a_comma_are_not_taken_for_text(tmp_path):
    (tmp_path / "a.csv").write_text("query;label;x\n1;0;1,5\n1;1;\n1;1;-30,25\n")
    with pytest.raises(DataError, match=r"column 'x' has numbers with a comma, such as '1,5'.*--read categorical=x"):
        read(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv", categorical=["x"]).categories == (("-30,25", "1,5"),)


def test_a_column_without_a_name_is_called_as_in_pandas(tmp_path):
    pd.DataFrame({"query": [1, 1], "label": [0, 1], "x": [2.0, 3.0]}).to_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").feature_names == ("Unnamed: 0", "x")
    assert read(tmp_path / "a.csv", exclude=["Unnamed*"]).features.tolist() == [[2.0], [3.0]]


def test_every_part_of_a_dataset_has_its_categories():
    data = from_table(mixed())
    check(pickle.loads(pickle.dumps(data)))
    assert data.take([1]).categories == data.observed().categories == VALUES
    assert data.with_features(data.features).categories is None
    one, other = (Dataset([[0.0]], [0], [0, 1], categories=[(value,)]) for value in "ab")
    assert fingerprint(one) != fingerprint(other)
    assert Dataset([[0.0]], [0], [0, 1], categories=[None]).categories is None


def test_datasets_put_together_have_all_values():
    first = Dataset([[0, 5], [1, 6]], [0, 1], [0, 2], categories=[("b", "c"), None])
    second = Dataset([[1, 7], [nan, 8]], [0, 1], [0, 2], categories=[("a", "b"), None])
    both = concatenate([first, second])
    assert both.categories == (("a", "b", "c"), None)
    np.testing.assert_array_equal(both.features, [[1, 5], [2, 6], [1, 7], [nan, 8]])


@pytest.mark.parametrize(
    ("values", "categories", "text"),
    [
        (
            [[2.0]],
            [("a", "b")],
            "Feature 1 must have category codes from 0 to 1, or NaN where missing. Got 2",
        ),
        ([[0.5]], [("a", "b")], "Got 0.5 at row 1"),
        ([[-1.0]], [("a", "b")], "Got -1 at row 1"),
        ([[0.0]], [("a", "a")], "must be distinct"),
        ([[0.0]], [(1, 2)], "must be strings"),
        ([[0.0]], ["ab"], "must be strings"),
        ([[0.0]], [None, None], "must have 1 entries, one per feature. Got 2"),
    ],
)
def test_wrong_categories_are_refused(values, categories, text):
    with pytest.raises(DataError, match=text):
        Dataset(values, [0], [0, 1], categories=categories)


def test_a_damaged_file_of_categories_is_refused(tmp_path):
    data = Dataset([[1.0], [0.0]], [0, 1], [0, 2], categories=[("a", "b")])
    write_mapped(Dataset.unchecked(**{**vars(data), "categories": (("a",),)}), tmp_path / "a.luce-data")
    with pytest.raises(DataError, match=r"category codes from 0 to 0"):
        read_mapped(tmp_path / "a.luce-data").features  # noqa: B018


def test_letor_text_says_that_it_has_codes(tmp_path):
    with pytest.warns(LuceWarning, match="category values"):
        write(Dataset([[1.0]], [0], [0, 1], categories=[("a", "b")]), tmp_path / "a.txt")
    assert read(tmp_path / "a.txt").features.tolist() == [[1]]


def test_alignment_by_name_and_value():
    names, values = ("color", "size"), (("blue", "red"), None)
    given = Dataset(
        [[5, 0, 1], [6, 1, 2], [7, nan, nan]],
        [0, 1, 2],
        [0, 3],
        feature_names=("size", "color", "more"),
        categories=(None, ("green", "red"), ("x", "y", "z")),
    )
    with pytest.warns(LuceWarning, match=r"treated as missing: 'green' in feature 'color' \(1 row\)") as said:
        found = aligned(given, names, values)
    assert len(said) == 1
    np.testing.assert_array_equal(found.features, [[nan, 5], [1, 6], [nan, 7]])
    assert (found.feature_names, found.categories) == (names, values)
    with pytest.raises(DataError, match="The data lack features that the model was trained on: 'weight'"):
        aligned(given, ("color", "weight"), None)


def test_alignment_of_numbers_with_categories():
    numbers = Dataset([[20.0], [nan], [7.0]], [0, 1, 2], [0, 3])
    found = aligned(numbers, None, (("20", "7"),))
    np.testing.assert_array_equal(found.features, [[0], [nan], [1]])
    np.testing.assert_array_equal(aligned(found, None, None).features, numbers.features)
    texts = Dataset([[0.0]], [0], [0, 1], categories=[("red",)])
    with pytest.raises(DataError, match="Feature '1' was numeric in the training data, but is text here: 'red'"):
        aligned(texts, None, None)
