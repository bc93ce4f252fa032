"""Where rankings are read from: frames, lists of files and tables, parts of a table, compressed PrefLib files."""

import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from luce.aggregation import read_rankings, read_rankings_by
from luce.aggregation.readers import READ_OPTIONS
from luce.cli.options import pairs
from luce.errors import DataError, LuceWarning, OptionError

from .ranking_data import orders

PREFLIB = """# DATA TYPE: soi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 3
# NUMBER UNIQUE ORDERS: 1
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: rum
# ALTERNATIVE NAME 3: gin
3: 2,1
"""


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pa.table(columns).to_batches()[0]]
)
def test_tables_in_memory_are_read_as_files_are(kind):
    table = kind(
        {"model_a": ["a", "b"], "model_b": ["b", "c"], "winner": ["model_a", "tie"], "judge": ["x", "y"], "n": [2, 3]}
    )
    rankings = read_rankings(table, ranker="judge", weight="n")
    assert orders(rankings) == [[["a"], ["b"]], [["b", "c"]]]
    assert rankings.ranker_names == ("x", "y") and rankings.weights.tolist() == [2, 3]
    with pytest.raises(DataError, match=r"format of the table cannot be inferred from its columns \(x, y\)"):
        read_rankings(kind({"x": [1], "y": [2]}))
    with pytest.raises(OptionError, match=r"format preflib is for files only"):
        read_rankings(table, format="preflib")


def test_what_several_files_leave_out_is_said_once(tmp_path):
    paths = [tmp_path / f"{year}.csv" for year in (2022, 2023, 2024)]
    for n_missing, path in enumerate(paths, 1):
        rows = [f"{q},{who},{place}" for q in range(n_missing) for who, place in (("a", 1), ("b", 2), ("c", ""))]
        path.write_text("\n".join(["ranking,item,place,votes", *(f"{row},1" for row in rows)]))
    with pytest.warns(LuceWarning) as caught:
        rankings = read_rankings(paths)
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2 and all(text.startswith(f"{paths[0]}: ") for text in texts)
    assert "'votes' is not used" in texts[0] and "place are left out: 1. " in texts[1]
    assert all(text.endswith("The same kind in 2 more of the 3.") for text in texts)
    assert {each.filename for each in caught} == {__file__} and rankings.left_out == {"rows without a place": 6}
    with pytest.raises(DataError, match=r"2022.csv is given twice"):
        read_rankings([paths[0], paths[1], str(paths[0])])


def test_rows_numbered_by_pandas_are_no_items():
    frame = pd.DataFrame({"Unnamed: 0": [0, 1], "a": [1, 2], "b": [2, 1]})
    assert read_rankings(frame, format="ranks").names == ("a", "b")


def test_a_category_without_rows_is_no_item():
    frame = pd.DataFrame({"rank1": pd.Categorical(["a", "b"], ["a", "b", "c"]), "rank2": ["b", "a"]})
    assert read_rankings(frame).names == ("a", "b")


def test_columns_whose_names_are_numbers():
    frame = pd.DataFrame({2023: [1, 2], 2024: [2, 1], 7: [5, 6]})
    rankings = read_rankings(frame, format="ranks", columns=[2023, 2024], weight=7)
    assert rankings.names == ("2023", "2024") and rankings.weights.tolist() == [5, 6]
    given = pairs(["weight=07", "columns=2023,20*", "nulls="], "--read", texts=READ_OPTIONS)
    assert given == {"weight": "07", "columns": ["2023", "20*"], "nulls": ""}
    assert read_rankings(frame.rename(columns={7: "07"}), format="ranks", **given).names == ("2023", "2024")


def test_several_sources_are_put_together(tmp_path):
    (tmp_path / "a.csv").write_text("winner,loser\na,b\n")
    (tmp_path / "b.soi.gz").write_bytes(gzip.compress(PREFLIB.encode()))
    frame = pd.DataFrame({"rank1": ["a", "tea"], "rank2": ["overvote", "a"], "rank3": ["rum", ""]})
    rankings = read_rankings([tmp_path / "a.csv", str(tmp_path / "b.soi.gz"), frame])
    assert orders(rankings) == [[["a"], ["b"]], [["rum"], ["tea"]], [["a"], ["rum"]], [["tea"], ["a"]]]
    assert rankings.weights.tolist() == [1, 3, 1, 1] and rankings.left_out == {"overvote cells": 1}


def test_the_same_number_of_a_ranking_in_two_files_is_two_rankings(tmp_path):
    for year, winner in ((2023, 7), (2024, "x")):
        (tmp_path / f"{year}.csv").write_text(f"ranking,item,place\n1,{winner},1\n1,8,2\n")
    rankings = read_rankings([tmp_path / "2023.csv", tmp_path / "2024.csv"])
    assert orders(rankings) == [[["7"], ["8"]], [["x"], ["8"]]]  # a number in one file, text in the other


def test_errors_name_the_source(tmp_path):
    (tmp_path / "a.csv").write_text("winner,loser\na,b\n")
    (tmp_path / "b.csv").write_text("winner,loser\na,\n")
    with pytest.raises(DataError, match=r"b.csv: Column 'loser' has no item in row 1"):
        read_rankings([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(DataError, match=r"Table 2: Column 'loser' has no item in row 1"):
        read_rankings((tmp_path / "a.csv", pd.DataFrame({"winner": ["a"], "loser": [None]})))
    with pytest.raises(DataError, match=r"Got an empty list"):
        read_rankings([])
    with pytest.raises(DataError, match=r"Table 1: .* Got a list: Rankings.from_orderings"):
        read_rankings([["a", "b"], ["b", "a"]])
    with pytest.raises(DataError, match=r"A table must be of pandas"):
        read_rankings(5)


def test_rankings_of_each_value_of_a_column(tmp_path):
    table = pa.table(
        {"year": [2024, 2023, 2024], "rank1": ["a", "b", "b"], "rank2": ["b", "skipped", "a"], "rank3": ["c", "c", ""]}
    )
    parts = read_rankings_by(table, "year")
    assert {year: orders(part) for year, part in parts.items()} == {
        2024: [[["a"], ["b"], ["c"]], [["b"], ["a"]]],
        2023: [[["b"], ["c"]]],
    }
    assert parts[2023].left_out == {"skipped cells": 1} and not parts[2024].left_out
    twice = read_rankings_by([table, table], "year", ranker="year")
    assert twice[2023].n_rankings == 2 and twice[2023].ranker_names == (2023,)
    with pytest.raises(OptionError, match=r"no column 'yaer'. Did you mean 'year'"):
        read_rankings_by(table, "yaer")
    with pytest.raises(DataError, match=r"year = 2023: At least one ranking"):
        read_rankings_by(table, "year", nulls=["c", "skipped"])
    with pytest.raises(DataError, match=r"Column 'rank3' must be given for every row. It is missing at row 3"):
        read_rankings_by(table, "rank3")
    (tmp_path / "b.soi").write_text(PREFLIB)
    with pytest.raises(OptionError, match=r"b.soi cannot be split by 'year': PrefLib files have no columns"):
        read_rankings_by(tmp_path / "b.soi", "year")
