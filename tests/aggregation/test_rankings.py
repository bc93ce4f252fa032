"""Rankings are checked once, frozen, taken from, put together when equal, and told in words."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from luce.aggregation import Rankings
from luce.errors import DataError, LuceWarning, OptionError


def levels(rankings, q):
    """The levels of one ranking as sorted lists of names, the best first."""
    rows = slice(rankings.offsets[q], rankings.offsets[q + 1])
    places, items = rankings.places[rows], rankings.items[rows]
    return [sorted(rankings.names[code] for code in items[places == place]) for place in range(places[-1] + 1)]


def all_levels(rankings):
    return [levels(rankings, q) for q in range(len(rankings))]


def test_orderings_become_rows_places_and_offsets():
    rankings = Rankings.from_orderings([["b", ["a", "c"], "d"], ("d", "b"), [{"c", "a"}, "b"]])
    assert rankings.names == ("b", "a", "c", "d")
    assert rankings.items.tolist() == [0, 1, 2, 3, 3, 0, 1, 2, 0]
    assert rankings.places.tolist() == [0, 1, 1, 2, 0, 1, 0, 0, 1]
    assert rankings.offsets.tolist() == [0, 4, 6, 9]
    assert rankings.tied.tolist() == [True, False, True]
    assert not rankings.open_end.any() and rankings.pool.tolist() == [-1] * 3 and rankings.pools == ()
    assert (rankings.n_items, rankings.n_rankings, rankings.n_rows, len(rankings)) == (4, 3, 9, 3)
    assert rankings.weights.tolist() == [1, 1, 1] and rankings.rankers is None and rankings.ranker_names is None


def test_codes_as_choix_has_them():
    data = [(2, 0), [0, 3, 1]]
    rankings = Rankings.from_orderings(data, n_items=5)
    assert rankings.items.tolist() == [2, 0, 0, 3, 1] and rankings.names == (0, 1, 2, 3, 4)
    assert Rankings.from_orderings(data, n_items=5, names="vwxyz").names == tuple("vwxyz")
    array = np.array([[3, 1], [0, 2]], dtype=np.int16)
    assert Rankings.from_orderings(array, n_items=4).items.tolist() == [3, 1, 0, 2]
    assert Rankings.from_orderings(array).names == (3, 1, 0, 2)
    with pytest.raises(DataError, match=r"must be 0 … 2. Ranking 2 has 3"):
        Rankings.from_orderings(data, n_items=3)
    with pytest.raises(DataError, match="must be integers"):
        Rankings.from_orderings([[0.5, 1.0]], n_items=3)
    with pytest.raises(OptionError, match="n_items must be an integer ≥ 1"):
        Rankings.from_orderings(data, n_items=0)
    with pytest.raises(OptionError, match=r"names must have n_items = 5 entries. Got 2"):
        Rankings.from_orderings(data, n_items=5, names="ab")


def test_names_are_of_any_kind_and_may_hold_more_items():
    rankings = Rankings.from_orderings([["b", 7, None.__class__], [7, 2.5]])
    assert rankings.names == ("b", 7, None.__class__, 2.5)
    rankings = Rankings.from_orderings([["b", "a"]], names=["a", "b", "c"])
    assert rankings.items.tolist() == [1, 0] and rankings.n_items == 3
    numpy_names = Rankings.from_orderings([[np.str_("x"), np.int64(3)]]).names
    assert numpy_names == ("x", 3) and [type(name) for name in numpy_names] == [str, int]


@pytest.mark.parametrize(
    ("orderings", "words"),
    [
        ([["a", "b"], ["b", "c", "b"]], "Ranking 2 has 'b' twice"),
        ([["a"], ["b", "c"], ["b", ["c", "b"]]], "Ranking 3 has 'b' twice"),
        ([], "Got no rankings"),
        ([["a"], []], "All 2 have fewer"),
        (["ab"], "Ranking 1 is 'ab'"),
        ([["a", "b"], 3], "Ranking 2 is 3"),
        ([["a", "b"], {"a", "b"}], "Ranking 2 is {"),
        ([["a", "b"], ["a", [], "c"]], "Ranking 2 has an empty one"),
        ([["a", ["b", "c"]], ["a", ["b", ["d"]]]], r"Ranking 2 has \['d'\] inside a tie"),
        ([["a", "b"], ["a", None]], "Ranking 2 has a missing value"),
        ([["a", "b"], ["a", float("nan")]], "Ranking 2 has a missing value"),
        ([["a", {}]], "must be hashable"),
    ],
)
def test_bad_orderings_are_told_by_ranking_and_item(orderings, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_orderings(orderings)


def test_names_are_checked():
    with pytest.raises(DataError, match=r"Ranking 2 has 'd', which is not one of the 3 names: 'a', 'b', 'c'"):
        Rankings.from_orderings([["a", "b"], ["a", "d"]], names="abc")
    with pytest.raises(DataError, match="Got 'b' twice"):
        Rankings.from_orderings([["a", "b"]], names=["a", "b", "c", "b"])


def test_rankings_of_one_item_are_left_out_with_their_weight_and_ranker():
    with pytest.warns(LuceWarning, match="left out: 2 of 4") as caught:
        rankings = Rankings.from_orderings(
            [["a"], ["a", "b"], [], ["b", "c"]], weights=[1, 2, 3, 4], rankers=["eve", "joe", "eve", "eve"]
        )
    assert caught[0].filename == __file__
    assert all_levels(rankings) == [[["a"], ["b"]], [["b"], ["c"]]]
    assert rankings.weights.tolist() == [2, 4]
    assert [rankings.ranker_names[code] for code in rankings.rankers] == ["joe", "eve"]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -2], "Got -2.0 for ranking 2"),
        ([np.nan, 1], "must not be NaN"),
        ([np.inf, 1], "Got inf for ranking 1"),
        ([1], "must have 2 entries"),
        (["x", "y"], "must be numbers"),
    ],
)
def test_bad_weights(weights, words):
    with pytest.raises(DataError, match=words):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], weights=weights)


def test_bad_rankers():
    with pytest.raises(DataError, match=r"rankers must have 2 entries, one per ranking. Got 1"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["eve"])
    with pytest.raises(DataError, match="rankers must not be missing"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["eve", None])
    with pytest.raises(DataError, match="indices of the 1 ranker names"):
        Rankings([0, 1], [0, 1], [0, 2], rankers=[1], ranker_names=["eve"])


FIELDS = {"items": [0, 1, 2, 1], "places": [0, 1, 1, 0], "offsets": [0, 3, 4], "pool": [-1, 0], "pools": [[0, 1]]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"items": [0, 1, 3, 1], "names": "abc"}, "Ranking 1 has 3"),
        ({"items": [0, -1, 2, 1]}, "Ranking 1 has -1"),
        ({"items": [0.0, 1, 2, 1]}, "items must be a one-dimensional array of integers"),
        ({"items": [0, 2, 2, 1]}, "Ranking 1 has 2 twice"),
        ({"places": [1, 1, 2, 0]}, "Ranking 1 has .* wrong at 0"),
        ({"places": [-1, 0, 0, 0]}, "Ranking 1 has .* wrong at 0"),
        ({"places": [0, 2, 2, 0]}, "Ranking 1 has .* wrong at 1"),
        ({"places": [0, 1, 0, 0]}, "Ranking 1 has .* wrong at 2"),
        ({"places": [0, 1, 1]}, "places must have 4 entries"),
        ({"pool": [-1, 1]}, "one of the 1 pools"),
        ({"pool": [-1, -1]}, "Ranking 2 has 1 alone"),
        ({"pool": [-1]}, "pool must have 2 entries"),
        ({"pools": [[1, 0]]}, "Pool 0 does not"),
        ({"pools": [[0, 3]]}, "Pool 0 does not"),
        ({"pools": [[0, 2]]}, "Ranking 2 contains 1, which is not in the set"),
        ({"open_end": [False, True]}, "Ranking 2 has both"),
        ({"open_end": [True]}, "open_end must have 2 entries"),
        ({"places": [0, 0, 0, 0], "open_end": [True, False]}, "An open end must have a level above it. Ranking 1"),
        ({"offsets": [0, 0, 4]}, "Ranking 1 has none"),
        ({"offsets": [0, 3]}, "offsets must run from 0"),
    ],
)
def test_arrays_that_are_no_rankings(changed, words):
    assert repr(Rankings(**FIELDS)) == "Rankings(2 rankings of 3 items, 1 to 3 each, ties in 1, pools in 1)"
    with pytest.raises(DataError, match=words):
        Rankings(**FIELDS | changed)


def test_nothing_can_be_changed_and_what_was_given_stays_writable():
    items = np.array([0, 1])
    rankings = Rankings(items, [0, 1], [0, 2], rankers=[0])
    items[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        rankings.items = items
    for field in dataclasses.fields(rankings):
        value = getattr(rankings, field.name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, field.name
            assert not getattr(rankings.take([0]), field.name).flags.writeable, field.name


def test_a_pool_that_is_named_whole_is_none():
    rankings = Rankings([0, 1, 1], [0, 1, 0], [0, 2, 3], pool=[0, 0], pools=[[0, 1]])
    assert rankings.pool.tolist() == [-1, 0]


def test_take_keeps_all_that_belongs_to_a_ranking():
    rankings = Rankings(
        **FIELDS | {"open_end": [True, False]}, weights=[2, 3], rankers=[1, 0], ranker_names=["eve", "joe"], names="abc"
    )
    taken = rankings.take([1, 0, 1])
    assert taken.items.tolist() == [1, 0, 1, 2, 1] and taken.places.tolist() == [0, 0, 1, 1, 0]
    assert taken.offsets.tolist() == [0, 1, 4, 5] and taken.weights.tolist() == [3, 2, 3]
    assert taken.pool.tolist() == [0, -1, 0] and taken.open_end.tolist() == [False, True, False]
    assert taken.rankers.tolist() == [0, 1, 0] and taken.names == rankings.names and taken.pools is rankings.pools
    assert rankings.take([False, True]).weights.tolist() == [3]
    assert len(rankings.take([])) == 0
    assert rankings[-1].weights.tolist() == [3] and rankings[:1].weights.tolist() == [2]
    assert [one.weights.tolist() for one in rankings] == [[2], [3]]
    with pytest.raises(IndexError):
        rankings.take([2])


def test_scikit_learn_splits_rankings():
    class Counts(BaseEstimator):
        def fit(self, X, y=None):
            self.n_ = len(X)
            return self

        def score(self, X, y=None):
            return 100 * self.n_ + X.n_rows

    rankings = Rankings.from_orderings([[0, 1, 2]] * 4 + [[1, 2]] * 2)
    assert cross_val_score(Counts(), rankings, cv=3).tolist() == [406, 406, 404]


def test_told_in_words():
    rankings = Rankings(
        [0, 1, 2, 3, 4, *range(11)],
        [0, 0, 1, 2, 2, *range(11)],
        [0, 5, 16],
        open_end=[True, False],
        weights=[2.5, 1],
        names="abcdefghijk",
    )
    assert str(rankings) == (
        "2 rankings of 11 items, 5 to 11 each, ties in 1, open ends in 1, weights 3.5 in total\n"
        "  a = b > c > {d, e}   ×2.5\n"
        "  a > b > c > d > e … (11 items)"
    )
    many = Rankings.from_orderings([[0, 1]] * 7, rankers=list("abababa"))
    assert str(many) == "7 rankings of 2 items, 2 each, 2 rankers\n" + "  0 > 1\n" * 5 + "  … 2 more"
    assert repr(many.take([])) == "Rankings(0 rankings of 2 items, 2 rankers)"


def test_equal_rankings_become_one():
    rankings = Rankings.from_orderings(
        [["a", ["b", "c"]], ["a", "b", "c"], ["a", ["c", "b"]], ["a", "b"], ["a", "b", "c"], [["a", "b"], "c"]],
        weights=[1, 2, 4, 8, 16, 32],
    )
    together = rankings.aggregate()
    assert together.weights.tolist() == [5, 18, 8, 32]
    assert all_levels(together) == [all_levels(rankings)[q] for q in (0, 1, 3, 5)]


def test_what_tells_rankings_apart():
    base = {"items": [0, 1, 2] * 2, "places": [0, 1, 1] * 2, "offsets": [0, 3, 6], "names": range(4)}
    assert len(Rankings(**base).aggregate()) == 1
    assert len(Rankings(**base | {"places": [0, 1, 1, 0, 1, 2]}).aggregate()) == 2
    assert len(Rankings(**base, open_end=[True, False]).aggregate()) == 2
    assert len(Rankings(**base, pool=[-1, 0], pools=[range(4)]).aggregate()) == 2
    assert len(Rankings(**base, rankers=[0, 1]).aggregate()) == 2
    assert len(Rankings(**base, rankers=[1, 1]).aggregate()) == 1


def test_aggregate_agrees_with_a_dictionary():
    rng = np.random.default_rng(5)
    orderings = [rng.permutation(6)[: rng.integers(2, 6)].tolist() for _ in range(5000)]
    orderings = [o if rng.random() < 0.5 else [o[0], o[1:]] for o in orderings]
    weights = rng.integers(1, 5, 5000)
    counts: dict[str, float] = {}
    for ordering, weight in zip(orderings, weights, strict=True):
        key = str([sorted(level) if isinstance(level, list) else [level] for level in ordering])
        counts[key] = counts.get(key, 0) + weight
    together = Rankings.from_orderings(orderings, n_items=6, weights=weights).aggregate()
    assert len(together) > 1000
    assert {str(levels(together, q)): together.weights[q] for q in range(len(together))} == counts


def test_an_open_end_is_not_taken_for_another_ranker():
    base = {"items": [0, 1] * 2, "places": [0, 1] * 2, "offsets": [0, 2, 4], "names": range(3)}
    assert len(Rankings(**base, open_end=[True, False], rankers=[0, 1]).aggregate()) == 2
