"""Rows without a place, and items that a ranking names twice."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings, read_rankings
from luce.errors import DataError, LuceWarning, OptionError

from .test_constructors import written

RACES = {
    "ranking": ["x", "y", "x", "x", "y", "z", "x", "y", "z"],
    "item": ["a", "b", "b", "c", "a", "e", "d", "ç", "a"],
    "place": [2.0, 1.0, None, 1.0, None, None, None, 2.0, None],
}
RANKINGS, ROWS = "Rankings without a place are left out: 1.", "Rows without a place are left out: 3."
HINT = " If they belong below those with a place, give missing='last' (--read missing=last)."


def races(make=pa.table, read=Rankings.from_table, **settings):
    with pytest.warns(LuceWarning) as caught:
        rankings = read(make(RACES), **settings)
    absent = settings.keys().isdisjoint(["missing", "unlisted"])
    assert [str(each.message) for each in caught] == [RANKINGS, ROWS + HINT][: 1 + absent]
    assert {each.filename for each in caught} == {__file__}
    assert rankings.left_out == {"rankings without a place": 1} | ({"rows without a place": 3} if absent else {})
    return rankings


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_a_row_without_a_place_is_absent_or_last(make):
    absent = races(make)
    assert written(races(make, read_rankings)) == written(absent)
    assert written(absent) == ["c>a", "b>ç"] and absent.names == ("a", "b", "c", "ç")
    last = races(make, missing="last")
    assert written(last) == ["c>a>{b,d}", "b>ç>a"]
    assert last.open_end.tolist() == [True, False] and last.names == ("a", "b", "c", "d", "ç")


@pytest.mark.parametrize("missing", ["absent", "last"])
def test_with_a_pool_the_missing_are_among_the_others(missing):
    below = races(missing=missing, unlisted="below")
    assert below.names == ("a", "b", "c", "e", "d", "ç")
    assert written(below) == ["c>a>(b,d,e,ç)", "b>ç>(a,c,d,e)"] and not below.open_end.any()
    names = ["ç", "b", "a", "c", "d", "e", 7, "ghost"]
    with pytest.raises(DataError, match="Row 1 has 'a', which is not one of the 1 names"):
        Rankings.from_table(pa.table(RACES), names=["b"])
    assert races(missing=missing, unlisted="below", names=names).pools[0].tolist() == list(range(8))
    assert races(names=names).names == tuple(names)


def test_a_table_equals_its_orderings():
    rng = np.random.default_rng(4)
    orderings = [rng.permutation(6)[: rng.integers(1, 6)].tolist() for _ in range(200)]
    q = np.repeat(np.arange(200), [len(ordering) for ordering in orderings])
    place = np.concatenate([np.arange(len(ordering)) for ordering in orderings])
    order = np.lexsort([rng.random(len(q)), q])  # the rankings stay in their order
    table = pa.table({"ranking": q, "item": np.concatenate(orderings), "place": place}).take(pa.array(order))
    below = Rankings.from_table(table, names=range(6), unlisted="below")
    expected = Rankings.from_orderings(orderings, n_items=6, unlisted="below")
    for field in ("items", "places", "offsets", "pool"):
        np.testing.assert_array_equal(getattr(below, field), getattr(expected, field))


def test_last_in_unknown_order_fits_as_an_open_end():
    rng = np.random.default_rng(2)
    orders = np.argsort(rng.random((30, 5)), axis=1)
    finished = rng.integers(1, 5, 30)
    place = np.where(np.arange(5) < finished[:, None], np.arange(5.0), np.nan)
    table = pa.table({"ranking": np.repeat(np.arange(30), 5), "item": orders.ravel(), "place": place.ravel()})
    last = Rankings.from_table(table, missing="last")
    top = Rankings.from_top([order[:k].tolist() for order, k in zip(orders, finished, strict=True)], among=range(5))
    models = [PlackettLuce(prior=PseudoRankings(0.5), n_jobs=1).fit(rankings) for rankings in (last, top)]
    worths = [dict(zip(model.names_, model.log_worths_, strict=True)) for model in models]
    assert worths[0] == pytest.approx(worths[1], abs=1e-6)


def test_rankers_and_weights_of_rankings_with_a_place():
    judged = RACES | {"who": ["eve", "joe", "eve", "eve", "joe", None, "eve", "joe", None], "n": [1, 2] * 4 + [9]}
    judged["n"] = [{"x": 2, "y": 3, "z": None}[ranking] for ranking in RACES["ranking"]]
    with pytest.warns(LuceWarning, match="without a place"):
        rankings = Rankings.from_table(pa.table(judged), ranker="who", weight="n", missing="last")
    assert rankings.weights.tolist() == [2, 3] and rankings.ranker_names == ("eve", "joe")
    judged["n"][3] = None
    with pytest.raises(DataError, match=r"Column 'n' must not be missing. Row 4 is"):
        Rankings.from_table(pa.table(judged), weight="n")
    judged["who"][4] = None
    with pytest.raises(DataError, match="Row 5 has a missing value"):
        Rankings.from_table(pa.table(judged), ranker="who", missing="last")


def test_a_table_without_any_place():
    table = pa.table({"ranking": [1, 1], "item": ["a", "b"], "place": pa.array([None, None], pa.int64())})
    for missing in ("absent", "last"):
        with pytest.raises(DataError, match=r"Column 'place' must have places. All its 2 rows are null or NaN"):
            Rankings.from_table(table, missing=missing)


def test_the_row_of_a_missing_ranking_is_counted_in_the_table():
    table = pa.table({"ranking": ["x", "x", None], "item": ["a", "b", "c"], "place": [None, 1, 2]})
    with pytest.raises(DataError, match="missing at row 3"):
        Rankings.from_table(table)


def test_a_place_0_beside_rankings_that_start_at_1_may_be_a_missing_one():
    table = pa.table({"ranking": [1, 1, 1, 2, 2], "item": [*"abcab"], "place": [1, 2, 0, 2, 1]})
    with pytest.warns(LuceWarning, match=r"Column 'place' is 0 in 1 of 2 rankings.*\(--read nulls=0\)") as caught:
        assert written(Rankings.from_table(table)) == ["c>a>b", "b>a"]
    assert caught[0].filename == __file__
    with pytest.warns(LuceWarning, match="Rows without a place are left out: 1"):
        assert written(read_rankings(table, nulls=0)) == ["a>b", "b>a"]
    counted_from_0 = table.set_column(2, "place", pa.array([1, 2, 0, 1, 0]))
    assert written(Rankings.from_table(counted_from_0)) == ["c>a>b", "b>a"]


TWICE = [["a", "b", "a"], ["c", ["a", "c"], "c", "b"], [["b", "b"], "a"], ["a", "b", "c"], ["c", "c"]]


def test_an_item_twice_is_an_error_that_says_what_to_do():
    remedy = r"If its best place counts, give repeated='best' \(--read repeated=best\)"
    with pytest.raises(DataError, match=f"Ranking 2 has 'c' twice. {remedy}"):
        Rankings.from_orderings([["a", "b"], *TWICE[1:]])
    table = pa.table({"ranking": ["r7", "r7", "r7"], "item": ["a", "b", "a"], "place": [1, 2, 3]})
    with pytest.raises(DataError, match=f"Ranking r7 has 'a' twice. {remedy}"):
        Rankings.from_table(table)


def test_the_best_place_of_an_item_counts():
    with pytest.warns(LuceWarning) as caught:
        best = Rankings.from_orderings(TWICE, repeated="best", weights=[1, 2, 3, 4, 5])
    assert [str(each.message) for each in caught] == [
        "Repeated items are left out: 5.",
        "Rankings of fewer than two items carry no information and are left out: 1 of 5. If the items that a ranking "
        "does not list are below it, unlisted='below' (--read unlisted=below) makes rankings of one item count.",
    ]
    assert {each.filename for each in caught} == {__file__}
    assert written(best) == ["a>b", "c>a>b", "b>a", "a>b>c"] and best.weights.tolist() == [1, 2, 3, 4]
    assert best.left_out == {"repeated items": 5, "rankings of fewer than two items": 1}
    with pytest.warns(LuceWarning, match="Repeated items are left out: 5"):
        below = Rankings.from_orderings(TWICE, repeated="best", unlisted="below")
    assert written(below) == ["a>b>(c)", "c>a>b", "b>a>(c)", "a>b>c", "c>(a,b)"]
    assert not Rankings.from_orderings([["a", "b"]], repeated="best").left_out


def test_the_best_place_in_a_table():
    table = pa.table(
        {
            "ranking": [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3],
            "item": ["a", "b", "a", "c", "a", "b", "a", "a", "b", "b", "c"],
            "place": [3, 1, 2, None, None, 1, 2, 1, None, None, None],
        }
    )
    with pytest.warns(LuceWarning, match="(Repeated items|Rows without a place) are left out: [12]"):
        assert written(Rankings.from_table(table.slice(0, 7), repeated="best")) == ["b>a", "b>a"]
    with pytest.warns(LuceWarning, match="Repeated items are left out: 3"):
        last = Rankings.from_table(table, repeated="best", missing="last")
    assert written(last) == ["b>a>c", "b>a", "a>{b,c}"]


@pytest.mark.parametrize("seed", range(3))
def test_best_places_agree_with_a_loop(seed):
    rng = np.random.default_rng(seed)
    orderings = rng.integers(0, 8, (300, 6))
    expected = [list(dict.fromkeys(ordering)) for ordering in orderings.tolist()]
    with pytest.warns(LuceWarning, match="Repeated items are left out"):
        best = Rankings.from_orderings(orderings, n_items=8, repeated="best", unlisted="below")
    same = Rankings.from_orderings(expected, n_items=8, unlisted="below")
    for field in ("items", "places", "offsets", "pool"):
        np.testing.assert_array_equal(getattr(best, field), getattr(same, field))
    assert best.left_out == {"repeated items": orderings.size - sum(map(len, expected))}


@pytest.mark.parametrize(
    ("option", "values"),
    [("unlisted", "'absent' or 'below'"), ("missing", "'absent' or 'last'"), ("repeated", "'error' or 'best'")],
)
def test_other_values_are_refused(option, values):
    with pytest.raises(OptionError, match=f"{option} must be {values}. Got 'first'"):
        Rankings.from_table(pa.table(RACES), **{option: "first"})
