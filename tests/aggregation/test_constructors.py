"""Ranks, long tables, pairs, tops and choices become rankings."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from luce.aggregation import Rankings
from luce.errors import DataError, LuceWarning, OptionError


def written(rankings):
    """Each ranking as text, the items of a level sorted: `a>b=c`, an open end in braces, a pool as `>…`."""
    texts = []
    for q in range(len(rankings)):
        rows = slice(rankings.offsets[q], rankings.offsets[q + 1])
        places, items = rankings.places[rows], rankings.items[rows]
        levels = [sorted(str(rankings.names[code]) for code in items[places == p]) for p in range(places[-1] + 1)]
        parts = ["=".join(level) for level in levels]
        if rankings.open_end[q]:
            parts[-1] = "{" + ",".join(levels[-1]) + "}"
        if rankings.pool[q] >= 0:
            rest = np.setdiff1d(rankings.pools[rankings.pool[q]], items)
            parts.append("(" + ",".join(sorted(str(rankings.names[code]) for code in rest)) + ")")
        texts.append(">".join(parts))
    return texts


RANKS = [[2, 1, 0, 3], [1, 1, 2, 0], [0, 2.5, 2.5, 1]]


@pytest.mark.parametrize(
    "ranks",
    [
        RANKS,
        np.where(np.array(RANKS) == 0, np.nan, RANKS),
        sparse.coo_array(np.array(RANKS)),
        pd.DataFrame(RANKS, columns=list("abcd")),
        pl.DataFrame({name: [row[n] or None for row in RANKS] for n, name in enumerate("abcd")}, strict=False),
    ],
    ids=["lists", "NaN", "sparse", "pandas", "polars"],
)
def test_a_matrix_of_ranks(ranks):
    named = {} if hasattr(ranks, "columns") else {"names": "abcd"}
    rankings = Rankings.from_ranks(ranks, **named, weights=[1, 2, 3], rankers=["x", "y", "x"])
    assert written(rankings) == ["b>a>d", "a=b>c", "d>b=c"]
    assert rankings.names == tuple("abcd")
    assert rankings.weights.tolist() == [1, 2, 3] and rankings.rankers.tolist() == [0, 1, 0]


def test_ranks_without_names_are_numbered():
    assert Rankings.from_ranks([[2, 1]]).names == (0, 1)
    assert Rankings.from_ranks(pd.DataFrame({4: [2], 7: [1]})).names == (4, 7)


@pytest.mark.parametrize(
    ("ranks", "names", "words"),
    [
        ([[1, 2], [1, -2]], "ab", "Ranking 2 has -2 for 'b'"),
        ([[1, np.inf]], "ab", "Ranking 1 has inf for 'b'"),
        ([[1, 2]], "abc", "one entry per column of the ranks, 2. Got 3"),
        ([[1, 2]], "aa", "Got 'a' twice"),
        ([1, 2], "ab", r"Got shape \(2,\)"),
        ([["x", "y"]], "ab", "must be a table of numbers"),
        (pd.DataFrame({"a": ["x"]}), None, "Column 'a' must be numbers"),
        ([[0, 0]], "ab", "All 1 have fewer"),
        (np.empty((0, 3)), None, "Got no rankings"),
    ],
)
def test_bad_ranks(ranks, names, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_ranks(ranks, names=names)


LONG = {
    "race": ["x", "x", "y", "x", "y", "x"],
    "horse": ["a", "d", "b", "b", "a", "c"],
    "place": [2.0, None, 1.0, 1.0, 1.0, 7.5],
    "judge": [5, 5, 6, 5, 6, 5],
    "count": [2, 2, 3, 2, 3, 2],
}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_a_long_table_in_any_order(make):
    with pytest.warns(LuceWarning, match="Rows without a place are left out: 1"):
        rankings = Rankings.from_table(
            make(LONG), ranking="race", item="horse", place="place", weight="count", ranker="judge"
        )
    assert written(rankings) == ["b>a>c", "a=b"]
    assert rankings.weights.tolist() == [2, 3]
    assert rankings.ranker_names == (5, 6) and rankings.rankers.tolist() == [0, 1]
    assert rankings.names == ("a", "b", "c")


def test_a_long_table_does_not_depend_on_its_order():
    rng = np.random.default_rng(1)
    q, item = np.divmod(rng.permutation(2000 * 6), 6)
    table = pa.table({"ranking": q, "item": item, "place": rng.integers(0, 4, len(q))})
    order = rng.permutation(len(q))
    first, second = Rankings.from_table(table), Rankings.from_table(table.take(pa.array(order)))
    ids = [list(dict.fromkeys(t["ranking"].to_pylist())) for t in (table, table.take(pa.array(order)))]
    assert dict(zip(ids[0], written(first), strict=True)) == dict(zip(ids[1], written(second), strict=True))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ranking": "rase"}, "There is no column 'rase'. Did you mean 'race'"),
        ({"place": "horse"}, "Column 'horse' must be numbers"),
        ({"weight": "place"}, "Column 'place' must be the same in all rows of a ranking. Ranking x has"),
        ({"ranker": "horse"}, "Column 'horse' must be the same"),
        ({"item": "judge"}, "Ranking x has 5 twice"),
    ],
)
def test_bad_tables(changed, words):
    columns = {"ranking": "race", "item": "horse", "place": "place"}
    with pytest.raises((DataError, OptionError), match=words):
        Rankings.from_table(pa.table(LONG), **columns | changed)


def test_bad_cells():
    bad = pa.table({"ranking": [1, 1], "item": ["a", None], "place": [1, 2]})
    with pytest.raises(DataError, match="Row 2 has a missing value"):
        Rankings.from_table(bad)
    with pytest.raises(DataError, match="infinite at row 2"):
        Rankings.from_table(pa.table({"ranking": [1, 1], "item": ["a", "b"], "place": [1, np.inf]}))
    twice = pa.Table.from_arrays([pa.array([1])] * 4, names=["ranking", "item", "place", "place"])
    with pytest.raises(DataError, match="more than one column named 'place'"):
        Rankings.from_table(twice)
    with pytest.raises(DataError, match="Got no rankings"):
        Rankings.from_table(bad.slice(0, 0))


def test_pairs_of_winner_and_loser():
    rankings = Rankings.from_pairs(["a", "b", "a"], ["b", "c", "c"], weights=[1, 2, 3], rankers=[7, 8, 7])
    assert written(rankings) == ["a>b", "b>c", "a>c"]
    assert rankings.weights.tolist() == [1, 2, 3] and rankings.ranker_names == (7, 8)
    assert Rankings.from_pairs([2, 0], [1, 1], n_items=4).items.tolist() == [2, 1, 0, 1]


@pytest.mark.parametrize(
    "column",
    [list, np.array, pa.array, lambda v: pa.chunked_array([v[:1], v[1:]]), pd.Series, pl.Series, pd.Categorical],
    ids=["list", "numpy", "arrow", "chunked", "pandas", "polars", "categorical"],
)
def test_pairs_with_outcomes(column):
    first, second = column(["b", "a", "c", "a"]), column(["c", "b", "a", "d"])
    results = {"results": ("left", ("tie", "bad"), "right")}
    rankings = Rankings.from_pairs(first, second, column(["left", "right", "bad", "tie"]), **results)
    assert written(rankings) == ["b>c", "b>a", "a=c", "a=d"]
    assert set(rankings.names) == set("abcd") and all(type(name) is str for name in rankings.names)


@pytest.mark.parametrize(
    "outcome", [[1, 0.5, 0], np.array([1, 0.5, 0], dtype=np.float32), pa.array([1.0, 0.5, 0.0])], ids=type
)
def test_outcomes_in_numbers(outcome):
    assert written(Rankings.from_pairs([5, 6, 7], [6, 7, 5], outcome)) == ["5>6", "6=7", "5>7"]


def test_outcomes_of_true_and_false():
    assert written(Rankings.from_pairs(["a", "b"], ["b", "c"], [True, False])) == ["a>b", "c>b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["a", "b"], ["b", "b"]), "Pair 2 compares 'b' with itself"),
        ((["a", "b"], ["b"]), "the same number of rows. Got 2 and 1"),
        ((["a", None], ["b", "a"]), "Pair 2 has a missing value"),
        ((["a", "b"], ["b", None]), "Pair 2 has a missing value"),
        (
            (["a"], ["b"], [2]),
            r"one of 1, 0.5, 0 in all pairs, or in all the item that won \(here 'a' or 'b'\) or a tie. Pair 1 has 2",
        ),
        ((["a", "b"], ["b", "a"], [1, None]), "Pair 2 has None"),
        ((["a"], ["b"], [1, 0]), "one entry per pair, 1. Got 2"),
        (([], []), "Got no rankings"),
        ((np.array([1, 2]), pa.array(["a", "b"])), "all integers or all strings"),
    ],
)
def test_bad_pairs(arguments, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_pairs(*arguments)


@pytest.mark.parametrize("column", [list, np.array, pa.array, pd.Series, pl.Series, pd.Categorical])
def test_outcomes_are_names_of_winners(column):
    first, second, won = column(["b", "a", "ç", "a"]), column(["ç", "b", "a", "d"]), column(["b", "b", "a", "a"])
    assert written(Rankings.from_pairs(first, second, won)) == ["b>ç", "b>a", "a>ç", "a>d"]
    drawn = Rankings.from_pairs(["a", "b", "a"], ["b", "c", "c"], column(["b", "tie", "a"]), results=(1, "tie", 0))
    assert written(drawn) == ["b>a", "b=c", "a>c"]


def test_outcomes_are_codes_of_winners():
    assert Rankings.from_pairs([2, 0, 1], [1, 3, 2], [1, 3, 1], n_items=4).items.tolist() == [1, 2, 3, 0, 1, 2]
    named = Rankings.from_pairs([2, 0], [1, 3], [2.0, 3.0], n_items=4, names="abcd")
    assert written(named) == ["c>b", "d>a"]
    # Where all values are results they are read as such, whatever the items are.
    assert Rankings.from_pairs([0, 1], [1, 0], [1, 0]).items.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (["a", "c", "d"], "Pair 3 has 'd'"),
        (["a", "c", "b"], "Pair 3 has 'b'"),
        (["left", "c", "a"], "Pair 1 has 'left'"),
        (["a", None, "a"], "Pair 2 has None"),
    ],
)
def test_bad_winners(outcome, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_pairs(["a", "b", "c"], ["b", "c", "a"], outcome, results=("left", "tie", "right"))


def test_results_are_won_tied_and_lost():
    with pytest.raises(OptionError, match="results must have three entries"):
        Rankings.from_pairs(["a"], ["b"], [1], results=("left", "right"))
    with pytest.raises(OptionError, match="Got 'x' twice"):
        Rankings.from_pairs(["a"], ["b"], ["x"], results=("x", "x", "y"))


def test_the_top_of_one_shared_set_costs_what_it_names():
    rankings = Rankings.from_top([["b"], ["c", ["a", "d"]], list("abdc")], among=list("abcd"), weights=[1, 2, 3])
    assert written(rankings) == ["b>(a,c,d)", "c>a=d>(b)", "a>b>d>c"]
    assert rankings.n_rows == 8 and len(rankings.pools) == 1 and rankings.weights.tolist() == [1, 2, 3]
    assert rankings.names == tuple("abcd") and rankings.tied.tolist() == [False, True, False]


def test_a_top_among_part_of_the_items():
    rankings = Rankings.from_top([["b"]], among=["c", "b"], names="abcd")
    assert written(rankings) == ["b>(c)"] and rankings.names == tuple("abcd")
    assert not Rankings.from_top([["b"], ["c"]], among=list("abc")).tied.any()


@pytest.mark.parametrize("share", [True, False])
def test_the_top_of_sets_of_their_own(share):
    one, two = list("abc"), ["c", "d"]
    among = [one, two, one, two] if share else [list(one), list(two), list(one), list(two)]
    rankings = Rankings.from_top([["b"], ["d", "c"], [["b", "c"]], ["d"]], among)
    expected = ["b>(a,c)", "d>c", "b=c>(a)", "d>(c)"] if share else ["b>{a,c}", "d>c", "b=c>a", "d>c"]
    assert written(rankings) == expected


@pytest.mark.parametrize(
    ("orderings", "among", "words"),
    [
        ([["b"], ["e"]], list("abcd"), "Ranking 2 has 'e', which is not one of the 4 names"),
        ([["a"], ["a", "a"]], list("abcd"), "Ranking 2 has 'a' twice"),
        ([["b"], ["d"]], [list("abc"), list("abc")], "Ranking 2 contains 'd', which is not in its set"),
        ([["b"], ["a", "a"]], [list("abc"), list("abc")], "Ranking 2 has 'a' twice"),
        ([["b"], ["b"]], [list("abc"), list("abb")], "Ranking 2 has 'b' twice"),
        ([["b"]], list("abca"), "Got 4 items, 3 of them different"),
        ([["b"]], "abc", "among must be a list of items"),
        ([["b"]], [["a", "b"], ["b", "c"]], "for each of the 1 rankings. Got 2"),
    ],
)
def test_bad_tops(orderings, among, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_top(orderings, among)


def test_an_item_of_another_shared_set_is_told():
    one, two = list("abc"), list("cd")
    with pytest.raises(DataError, match="Ranking 4 contains 'a', which is not in the set"):
        Rankings.from_top([["b"], ["d"], ["b"], ["a"]], [one, two, one, two])
    with pytest.raises(DataError, match="'d' is not"):
        Rankings.from_top([["a"]], ["a", "d"], names="abc")


@pytest.mark.parametrize("among", [list("ab"), [["a", "b"], ["a", "b", "c"]]], ids=["shared", "own"])
def test_a_top_of_nothing_says_nothing(among):
    with pytest.warns(LuceWarning, match="left out: 1 of 2"):
        rankings = Rankings.from_top([[], ["b"]], among)
    assert len(rankings) == 1 and rankings.names[rankings.items[0]] == "b"


def test_choices():
    assert written(Rankings.from_choices(["b", "a"], list("abc"))) == ["b>(a,c)", "a>(b,c)"]
    own = Rankings.from_choices(["b", "a"], [["b", "a"], list("cab")])
    assert written(own) == ["b>a", "a>{b,c}"] and not own.tied.any()
    sets = np.array([[3, 5, 4], [5, 3, 1]])
    assert written(Rankings.from_choices(np.array([4, 5]), sets)) == ["4>{3,5}", "5>{1,3}"]
    assert written(Rankings.from_choices(pl.Series(["b"]), [pl.Series(["b", "a"]).to_list()])) == ["b>a"]
    with pytest.warns(LuceWarning, match="left out: 1 of 2"):
        assert written(Rankings.from_choices(["b", "a"], [["b"], ["a", "c"]])) == ["a>c"]
    with pytest.raises(DataError, match="Ranking 2 has 'd', which is not one of the 2 names"):
        Rankings.from_choices(pd.Series(["a", "d"], index=[5, 6]), ["a", "b"])
    with pytest.raises(DataError, match="Ranking 2 contains 4, which is not in its set"):
        Rankings.from_choices([4, 4], sets)
