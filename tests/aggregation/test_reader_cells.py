"""Cells of tables of rankings: words for a missing value, outcomes of comparisons, columns that are no choices."""

import warnings

import pandas as pd
import pyarrow as pa
import pytest

from luce.aggregation import read_rankings
from luce.errors import DataError, LuceWarning, OptionError

from .ranking_data import orders


def ballots(n=12):
    """Complete orders of three items in columns that are not numbered, every item in every column."""
    rows = [["ann", "bob", "cy"], ["bob", "cy", "ann"], ["cy", "ann", "bob"]] * (n // 3)
    return pd.DataFrame(rows, columns=["best", "middle", "worst"])


def test_words_for_a_missing_choice_are_skipped_and_counted():
    table = pa.table(
        {
            "rank1": ["ann", "Overvote", "overvote", "NA", "\\N", "ann"],
            "rank2": ["skipped", "ann", "bob", "bob", "bob", "Nan"],
            "rank3": ["bob", "bob", "ann", "ann", "ann", ""],
        }
    )
    rankings = read_rankings(table)
    found = [[["ann"], ["bob"]], [["ann"], ["bob"]], *[[["bob"], ["ann"]]] * 3, [["ann"], ["Nan"]]]
    assert orders(rankings) == found  # the name of a person is not NaN
    expected = {"overvote cells": 2, "skipped cells": 1, "NA cells": 1, "\\N cells": 1}
    assert rankings.left_out == expected


def test_ids_beyond_what_a_float_holds_are_an_error(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("rank1,rank2\n12345678901234567890123,7\n7,12345678901234567890124\n")
    with pytest.raises(DataError, match=r"votes.csv: Numbers beyond 2\^53 are not exact.*Give them as text"):
        read_rankings([path])
    path.write_text("rank1,rank2\n9007199254740993,9007199254740992\n9007199254740992,7\n")
    assert read_rankings(path).names == (9007199254740993, 9007199254740992, 7)


def test_given_words_replace_the_usual_ones():
    table = pa.table({"rank1": ["NA", "x"], "rank2": ["x", "-"], "rank3": ["-", "NA"]})
    rankings = read_rankings(table, nulls="-")
    assert orders(rankings) == [[["NA"], ["x"]], [["x"], ["NA"]]]
    assert rankings.left_out == {"- cells": 2}
    with pytest.raises(DataError, match=r"There are no items"):
        read_rankings(table, nulls=["-", "NA", "x"])
    assert orders(read_rankings(table, nulls=""))[0] == [["NA"], ["x"], ["-"]]
    numbers = pd.DataFrame({"rank1": [1, 2], "rank2": [99, 1], "rank3": [2, 99]})
    assert orders(read_rankings(numbers, nulls=99)) == [[[1], [2]], [[2], [1]]]
    ranks = pd.DataFrame({"a": [1, 99], "b": [2, 1], "c": [99, 2]})
    found = read_rankings(ranks, format="ranks", nulls="99")
    assert orders(found) == [[["a"], ["b"]], [["b"], ["c"]]] and found.left_out == {"99 cells": 2}


@pytest.mark.parametrize("word", ["\\N", "DNF", "dns", "DSQ", "DNQ", "NA", ""])
def test_words_in_places_and_ranks_are_missing_values(tmp_path, word):
    path = tmp_path / "races.csv"
    path.write_text(f"raceId,driverId,position\n1,44,1\n1,16,2\n1,1,{word}\n2,1,2\n2,44,1\n2,16,{word}\n")
    with pytest.warns(LuceWarning, match=r"Rows without a place are left out: 2\. .* missing='last'"):
        rankings = read_rankings(path, ranking="raceId", item="driverId")
    assert orders(rankings) == [[[44], [16]], [[44], [1]]] and rankings.left_out == {"rows without a place": 2}
    last = read_rankings(path, ranking="raceId", item="driverId", missing="last")
    assert orders(last) == [[[44], [16], [1]], [[44], [1], [16]]] and not last.left_out
    path.write_text(f"ann,bob,cy\n1,2,{word}\n2,{word},1\n")
    rankings = read_rankings(path, format="ranks")
    assert orders(rankings) == [[["ann"], ["bob"]], [["cy"], ["ann"]]]
    assert rankings.left_out == ({f"{word.upper()} cells": 2} if word else {})


def test_other_words_in_places_are_an_error_with_the_row_and_the_remedy(tmp_path):
    path = tmp_path / "races.csv"
    path.write_text("ranking,item,place\n1,a,1\n1,b,\\N\n1,c,R\n1,d,2\n")
    words = r"Column 'place' must be numbers. Row 3 has 'R'.*nulls=\['\\\\N', 'R'\], .*--read 'nulls=\\N,R'"
    with pytest.raises(DataError, match=words):
        read_rankings(path)
    with pytest.warns(LuceWarning, match="Rows without a place are left out: 2"):
        assert orders(read_rankings(path, nulls=["\\N", "R"])) == [[["a"], ["d"]]]
    with pytest.raises(
        DataError, match=r"Column 'item' must be numbers. Row 1 has 'a'. Name the column of the places by"
    ):
        read_rankings(path, place="item")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("precinct", [f"Precinct {row % 4}" for row in range(12)]),
        ("ballot", range(1000, 1012)),
        ("date", pd.date_range("2024-11-05", periods=12)),
        ("contest", ["mayor"] * 12),
    ],
)
def test_a_column_that_is_no_choice_is_named(column, values):
    frame = ballots()
    frame.insert(0, column, values)
    words = f"probably no choices: '{column}'.*--read 'columns=best,middle,worst'"
    with pytest.raises(DataError, match=words):
        read_rankings(frame, format="orders")
    rankings = read_rankings(frame, format="orders", columns=["best", "middle", "worst"])
    assert orders(rankings)[0] == [["ann"], ["bob"], ["cy"]]
    assert rankings.n_items == 3
    assert read_rankings(frame, format="orders", columns="*").n_items > 3
    assert read_rankings(frame, format="orders", ranker=column).ranker_names is not None


def test_numbered_columns_are_the_choices():
    frame = ballots().set_axis(["rank1", "rank2", "rank3"], axis=1).assign(winner="ann")
    with pytest.raises(DataError, match=r"has columns rank1, rank2, …, .*columns='rank\*'"):
        read_rankings(frame)
    with pytest.raises(DataError, match=r"probably no choices: 'winner' .rank1 and rank2 are.*columns='rank\*'"):
        read_rankings(frame, format="orders")
    assert read_rankings(frame, columns="rank*").n_rankings == 12
    other = frame.rename(columns={"winner": "precinct_2"})
    with pytest.raises(DataError, match=r"probably no choices: 'precinct_2' .rank1"):
        read_rankings(other, format="orders")
    scored = frame.drop(columns="winner").assign(score1=7, score2=8)
    with pytest.raises(DataError, match=r"probably no choices: 'score1', 'score2' .hardly"):
        read_rankings(scored, format="orders")
    alike = frame.assign(rank1="dan").drop(columns="winner")
    assert orders(read_rankings(alike))[0] == [["dan"], ["bob"], ["cy"]]


@pytest.mark.parametrize(
    "rows",
    [
        [["ann", "bob", "cy"], ["ann", "cy", "bob"]],  # one who always wins
        [["ann", "bob"]] * 30,
        [["ann", "bob"], ["cy", "dan"]] * 20,
        [["ann"], ["bob"]],
        [["ann", "bob", "cy", ""], ["bob", "cy", "ann", ""], ["cy", "ann", "bob", ""]] * 10
        + [["ann", "bob", "cy", "eve"]] * 11,
        [["1", "2", "3"], ["1", "3", "2"]],
        [["dan", "bob", "cy"]] * 8 + [["bob", "cy", "ann"], ["cy", "ann", "bob"]] * 2,  # one who is first or nothing
    ],
)
def test_choices_that_only_look_strange_are_read(rows):
    frame = pd.DataFrame(rows, columns=["best", "next", "third", "last"][: len(rows[0])])
    assert read_rankings(frame, format="orders", unlisted="below").n_rankings == len(rows)


def test_a_number_among_names_is_no_choice_even_in_two_rankings():
    frame = pd.DataFrame([[12, "ann", "bob"], [13, "bob", "ann"]], columns=["precinct", "best", "worst"])
    with pytest.raises(DataError, match=r"probably no choices: 'precinct'"):
        read_rankings(frame, format="orders")


@pytest.mark.parametrize(
    ("column", "values"), [("id", range(101, 113)), ("year", [2015] * 12), ("place", ["north", "south"] * 6)]
)
def test_a_column_that_is_no_rank_is_named(column, values):
    frame = pd.DataFrame([[1, 2, 3], [2, 3, 1], [3, 1, 0]] * 4, columns=["ann", "bob", "cy"])
    frame.insert(1, column, values)
    with pytest.raises(DataError, match=f"probably no ranks: '{column}'.*--read 'columns=ann,bob,cy'"):
        read_rankings(frame, format="ranks")
    assert read_rankings(frame, format="ranks", columns=["ann", "bob", "cy"]).names == ("ann", "bob", "cy")
    assert read_rankings(frame, format="ranks", ranker=column).names == ("ann", "bob", "cy")


@pytest.mark.parametrize(
    "rows", [[[1, 20], [2, 30]], [[1, 2, 9], [7, 1, 9]], [[1, 2, 4], [2, 1, 3]] * 10, [[10, 20, 30]]]
)
def test_ranks_with_gaps_are_read(rows):
    assert read_rankings(pd.DataFrame(rows).add_prefix("item "), format="ranks").n_rankings == len(rows)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ([["ann"], ["bob"]], ["model_a", "Model A", "MODEL-A", "left", "Left", "A", "a", 1, "1", 1.0, "ann"]),
        ([["bob"], ["ann"]], ["model_b", "right", "B", "b", 0, "0", "bob"]),
        ([["ann", "bob"]], ["tie", "Tie", "tie (bothbad)", "both_bad", "bothbad", "Both bad", "draw", 0.5]),
    ],
)
def test_words_for_outcomes(expected, words):
    for word in words:
        frame = pd.DataFrame({"model_a": ["ann"], "model_b": ["bob"], "winner": [word]})
        assert orders(read_rankings(frame)) == [expected], word


def test_an_outcome_that_is_a_word_and_a_name():
    named = pa.table({"left": ["A", "B", "C"], "right": ["B", "A", "A"], "winner": ["A", "A", "tie"]})
    assert orders(read_rankings(named)) == [[["A"], ["B"]], [["A"], ["B"]], [["A", "C"]]]
    sides = pa.table({"left": ["A", "B", "C"], "right": ["B", "A", "B"], "winner": ["A", "A", "A"]})
    assert orders(read_rankings(sides)) == [[["A"], ["B"]], [["B"], ["A"]], [["C"], ["B"]]]
    with pytest.raises(DataError, match=r"has 'A' in row 2: is it a side or the name of an item"):
        read_rankings(named.slice(0, 2))
    swapped = pa.table({"model_b": ["x"], "model_a": ["y"], "who": ["model_b"]})
    assert orders(read_rankings(swapped, left="model_b", right="model_a", outcome="who")) == [[["x"], ["y"]]]


def test_other_words_for_outcomes():
    frame = pd.DataFrame({"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": [1, 2, 0]})
    with pytest.raises(DataError, match=r"Row 2 has '2', expected b or c, or a side .left, right., or tie"):
        read_rankings(frame)
    expected = [[["a"], ["b"]], [["c"], ["b"]], [["a", "c"]]]
    assert orders(read_rankings(frame, results=[1, 0, 2])) == expected
    assert orders(read_rankings(frame, results=["1", ["0", "3"], "2"])) == expected
    with pytest.raises(OptionError, match=r"must differ. Got '1' twice"):
        read_rankings(frame, results=[1, 0, 1])
    with pytest.raises(DataError, match=r"Row 2 has '2', expected one of"):
        read_rankings(frame, results=[1, 0.5, 0])


@pytest.mark.parametrize("columns", [{"winner": ["a"], "loser": ["b"]}, {"rank1": ["a"], "rank2": ["b"]}])
def test_weights_that_are_not_used(columns):
    frame = pd.DataFrame(columns | {"Votes": [5]})
    given = {"columns": "rank*"} if "rank1" in columns else {}
    with pytest.warns(LuceWarning, match=r"Column 'Votes' is not used as weights.*--read weight=Votes"):
        assert read_rankings(frame, **given).weights.tolist() == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_rankings(frame, **given, weight="Votes").weights.tolist() == [5]
        assert read_rankings(frame, **given, weight=None).weights.tolist() == [1]


def test_a_missing_outcome():
    table = pa.table(
        {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["a", None, "N/A"], "n": [1, None, 3]}
    )
    with pytest.raises(DataError, match=r"no outcome in row 2 \(2 in total\).*--read missing=absent"):
        read_rankings(table)
    rankings = read_rankings(table, missing="absent", ranker="right")
    assert orders(rankings) == [[["a"], ["b"]]]
    assert rankings.left_out == {"comparisons without an outcome": 2} and rankings.ranker_names == ("b",)
    with pytest.raises(OptionError, match=r"no value of missing 'last'"):
        read_rankings(table, missing="last")


def test_items_that_some_columns_have_as_text_are_one_item():
    frame = pd.DataFrame({"rank1": [3, 1], "rank2": ["1", "skipped"], "rank3": [2.0, None], "rank4": [None, "3.0"]})
    assert orders(read_rankings(frame)) == [[[3], [1], [2]], [[1], [3]]]
    assert read_rankings(frame.assign(rank4=["eve", "x"])).names == ("3", "1", "2", "eve", "x")
    assert read_rankings(pd.DataFrame({"rank1": ["1", "2"], "rank2": ["2", "1"]})).names == ("1", "2")


def test_repeated_choices():
    table = pa.table({"rank1": ["a", "a"], "rank2": ["a", "b"], "rank3": ["b", "overvote"]})
    with pytest.raises(DataError, match=r"Ranking 1 has 'a' twice"):
        read_rankings(table)
    with pytest.warns(match=r"Repeated items"):
        rankings = read_rankings(table, repeated="best")
    assert orders(rankings) == [[["a"], ["b"]]] * 2
    assert rankings.left_out == {"repeated items": 1, "overvote cells": 1}
