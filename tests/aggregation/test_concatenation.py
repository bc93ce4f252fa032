"""Rankings put together, renamed, pickled; what was left out is kept."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from luce.aggregation import PlackettLuce, Rankings
from luce.errors import DataError, LuceWarning, OptionError

from .ranking_data import mixed

FEW = "rankings of fewer than two items"


def short(orderings, **settings):
    """Rankings, some of which are left out."""
    with pytest.warns(LuceWarning, match="left out"):
        return Rankings.from_orderings(orderings, **settings)


def test_what_is_left_out_is_counted_and_shown():
    rankings = short([["a"], ["a", "b"], [], ["b", "a"]])
    assert rankings.left_out == {FEW: 2}
    assert str(rankings).endswith("  a > b\n  b > a\nLeft out: rankings of fewer than two items (2)")
    assert (
        rankings[:1].left_out == rankings.aggregate().left_out == rankings.with_names({"a": "c"}).left_out == {FEW: 2}
    )
    assert Rankings.from_orderings([["a", "b"]]).left_out == {}
    with pytest.raises(TypeError):
        rankings.left_out[FEW] = 0


def test_items_and_rankers_are_united_by_name():
    first = short([["a", ["b", "c"]], ["c"]], weights=[2, 1], rankers=["eve", "joe"])
    second = short([["d", "b"], [], ["a"], ["c", "d"]], rankers=["kim", "kim", "kim", "eve"])
    both = Rankings.concat([first, second])
    assert both.names == tuple("abcd") and both.left_out == {FEW: 3}
    assert both.items.tolist() == [0, 1, 2, 3, 1, 2, 3] and both.places.tolist() == [0, 1, 1, 0, 1, 0, 1]
    assert both.offsets.tolist() == [0, 3, 5, 7] and both.weights.tolist() == [2, 1, 1]
    assert [both.ranker_names[code] for code in both.rankers] == ["eve", "kim", "eve"]


def test_concat_keeps_ends_and_shares_pools():
    rankings = mixed(3)
    both = Rankings.concat([rankings.take(range(25)), rankings.take(range(25, 60))])
    for field in dataclasses.fields(rankings):
        expected = getattr(rankings, field.name)
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(getattr(both, field.name), expected, err_msg=field.name)
    np.testing.assert_array_equal(np.concatenate(both.pools), np.concatenate(rankings.pools))
    assert both.names == rankings.names and both.ranker_names == rankings.ranker_names


def test_pools_keep_their_items():
    first = Rankings.from_top([["b"]], among=["a", "b", "c"])
    second = Rankings.from_top([["d"], ["c"]], among=["d", "c", "b"])
    third = Rankings.from_orderings([["a", "d"]])
    both = Rankings.concat([first, second, third, first])
    assert [pool.tolist() for pool in both.pools] == [[0, 1, 2], [1, 2, 3]]
    assert both.pool.tolist() == [0, 1, 1, -1, 0]
    assert str(Rankings.concat(iter([first]))) == str(first)


def test_what_cannot_be_concatenated():
    plain, judged = Rankings.from_orderings([[0, 1]]), Rankings.from_orderings([[0, 1]], rankers=["eve"])
    with pytest.raises(DataError, match="Part 2 has none"):
        Rankings.concat([judged, plain])
    with pytest.raises(DataError, match="Got an empty list"):
        Rankings.concat([])
    with pytest.raises(DataError, match=r"Got \[\[0, 1\]\]"):
        Rankings.concat([plain, [[0, 1]]])


def test_items_get_other_names():
    rankings = Rankings.from_orderings([[1, 2], [2, "x"]])
    renamed = rankings.with_names({1: 2, 2: 1, 99: "no item"})
    assert renamed.names == (2, 1, "x") and renamed.items is rankings.items and rankings.names == (1, 2, "x")
    assert rankings.with_names({}).names == rankings.names
    assert type(rankings.with_names({1: np.str_("a")}).names[0]) is str
    with pytest.raises(DataError, match="1 and 'x' would both be 'x'"):
        rankings.with_names({1: "x"})
    with pytest.raises(DataError, match=r"No key of names is an item. The items are 1, 2, x; got 1, 2"):
        rankings.with_names({"1": "a", "2": "b"})
    with pytest.raises(DataError, match="The new name of 2 is None"):
        rankings.with_names({1: "a", 2: None})
    with pytest.raises(OptionError, match=r"names must map items to their new names.* Got \['a', 'b', 'c'\]"):
        rankings.with_names(["a", "b", "c"])


@pytest.mark.parametrize(
    "again", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_pickled_rankings_are_the_same_and_frozen(again):
    rankings = Rankings.concat([mixed(1), short([["a", "b"], ["c"]], rankers=["eve", "joe"])])
    connectivity = rankings.connectivity()
    loaded = again(rankings)
    for field in dataclasses.fields(rankings):
        value = getattr(loaded, field.name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(rankings, field.name))
            assert not value.flags.writeable, field.name
    assert not any(pool.flags.writeable for pool in loaded.pools)
    assert loaded.left_out == {FEW: 1} and str(loaded) == str(rankings)
    with pytest.raises(TypeError):
        loaded.left_out["x"] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.items = value
    assert str(loaded.connectivity()) == str(connectivity)


def test_a_fit_of_pickled_rankings():
    rankings = mixed(2)
    rankings.connectivity(ties=True)
    first, second = (PlackettLuce(n_jobs=1).fit(data) for data in (rankings, pickle.loads(pickle.dumps(rankings))))
    np.testing.assert_allclose(first.log_worths_, second.log_worths_, atol=1e-9)
