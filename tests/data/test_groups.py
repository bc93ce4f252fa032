"""The group of each item: read from tables, kept through files, splits and parts, and refused where it is missing."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from luce.data import Dataset, concatenate, from_arrays, from_table, read, split, write
from luce.errors import DataError, OptionError

TABLE = {"query": ["b", "a", "a", "b"], "label": [1, 0, 2, 0], "length": [1.0, 2, 3, 4]}


def write_table(table, path):
    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)


def sellers(groups=("x", "y", "y", "é")):
    return Dataset(np.eye(4), [1, 0, 2, 0], [0, 2, 4], ["q", "r"], item_groups=groups)


def test_groups_are_strings_or_integers():
    assert sellers().item_groups.to_pylist() == ["x", "y", "y", "é"]
    assert sellers().item_group_numbers().tolist() == [0, 1, 1, 2]
    assert sellers(np.array([7, 3, 7, 7], dtype=np.int32)).item_groups.to_pylist() == [7, 3, 7, 7]
    assert sellers(None).item_groups is None and sellers(None).item_group_numbers() is None


def test_groups_are_found_by_the_name_of_their_column():
    table = pa.table({**TABLE, "seller": [5, 6, 7, 8]})
    data = from_table(table, item_group="seller")
    assert data.item_groups.to_pylist() == [5, 8, 6, 7] and data.feature_names == ("length",)
    assert from_table(pa.table({**TABLE, "item_group": list("stuv")})).item_groups.to_pylist() == ["s", "v", "t", "u"]
    assert from_table(pa.table(TABLE)).item_groups is None
    with pytest.raises(DataError, match=r"has no column 'sellr' for item_group=\. Did you mean 'seller'"):
        from_table(table, item_group="sellr")
    with pytest.raises(OptionError, match=r"'query' cannot be a feature: it is already the query, label, document or"):
        from_table(table, features=["length", "query"])


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@pytest.mark.parametrize(("values", "codes"), [(list("yxyz"), [1, 2, 0, 1]), ([7, 5, 7, 6], [7, 6, 5, 7])])
def test_a_group_is_also_a_feature_where_features_names_it(tmp_path, name, values, codes):
    """A model that uses the region of an item is audited by region."""
    table = pa.table({**TABLE, "region": values})
    write_table(table, tmp_path / name)
    for data in (
        from_table(table, item_group="region", features=["length", "region"]),
        read(tmp_path / name, item_group="region", features=["length", "region"]),
    ):
        assert data.feature_names == ("length", "region") and data.features[:, 1].tolist() == codes
        assert data.item_groups.to_pylist() == [values[row] for row in (0, 3, 1, 2)]
    assert read(tmp_path / name, item_group="region", features=["*e*", "length"]).feature_names == ("length",)


def test_arrays():
    data = from_arrays([[0.0], [1], [2]], [1, 0, 2], ["b", "a", "b"], item_groups=["x", "y", "z"])
    assert data.item_groups.to_pylist() == ["x", "z", "y"]
    with pytest.raises(DataError, match=r"X and item_groups must have the same number of rows. Got 3 and 2"):
        from_arrays([[0.0], [1], [2]], [1, 0, 2], ["b", "a", "b"], item_groups=["x", "y"])


@pytest.mark.parametrize("name", ["data.luce-data", "data.parquet", "data.arrow", "data.csv", "data.tsv.gz"])
@pytest.mark.parametrize("groups", [("x", "y", "y", "é"), (4, 5, 4, 4)])
def test_files_keep_them(tmp_path, name, groups):
    write(sellers(groups), tmp_path / name)
    back = read(tmp_path / name)
    assert back.item_groups.to_pylist() == list(groups) and back.n_features == 4
    assert back.take([1]).item_groups.to_pylist() == list(groups[2:])


def test_parts_and_sums_keep_them():
    data = sellers()
    assert data.take([1, 0]).item_groups.to_pylist() == ["y", "é", "x", "y"]
    halves = split(data, (0.5, 0.5))
    assert sorted(group for half in halves for group in half.item_groups.to_pylist()) == ["x", "y", "y", "é"]
    assert concatenate([data, data]).item_groups.to_pylist() == 2 * ["x", "y", "y", "é"]
    assert concatenate([data, sellers(None)]).item_groups is None
    assert data.with_features(np.zeros((4, 2))).item_groups.to_pylist() == ["x", "y", "y", "é"]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (
            ["x", None, "y", None],
            r"item_groups must be given for every row\. Missing at row 2 \(2 in total\).*'unknown'",
        ),
        (["x"], "item_groups must have 4 entries. Got 1"),
        (["x", 1, 2, 3], "item_groups must be all integers or all strings"),
    ],
)
def test_bad_groups_are_named(groups, words):
    with pytest.raises(DataError, match=words):
        sellers(groups)


@pytest.mark.parametrize(("ending", "row"), [("csv", r"row 3 \(row 1 is the header\)"), ("parquet", "row 2")])
def test_a_group_that_is_missing_in_a_file_is_named_by_its_row(tmp_path, ending, row):
    path = tmp_path / f"data.{ending}"
    if ending == "csv":
        path.write_text("query,label,seller,f\n1,2,s,0.5\n2,1,,0.1\n1,0,t,0.2\n")
    else:
        parquet.write_table(pa.table({**TABLE, "seller": ["s", None, "t", "t"]}), path)
    with pytest.raises(DataError, match=rf"column 'seller' must name the group of every row.*at {row}\..*'unknown'"):
        read(path, item_group="seller")
