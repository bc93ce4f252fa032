"""Items that cannot be estimated are named, with the reason; a prior gives them a worth; the rest is not disturbed."""

import dataclasses
import warnings

import numpy as np
import pytest

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings, connectivity
from luce.aggregation.connectivity import estimable_items
from luce.aggregation.observed import observe
from luce.errors import DataError, LuceWarning

from .ranking_data import mixed, strict

OFFER = r"Fit with prior='auto' \(--prior auto\), which gives every item a worth\."


@pytest.mark.parametrize(
    ("orderings", "message"),
    [
        ([["a", "b", "c"]], r"no two items .* Never placed below another: 'a'\. Never placed above another: 'c'\."),
        (
            [["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]],
            r"never compared with each other: \{'a', 'b'\}, \{'c', 'd'\}",
        ),
        (
            [["a", "b"], ["b", "a"], ["a", "c"], ["c", "d"], ["d", "c"]],
            r"wins one way only: \{'a', 'b'\}, \{'c', 'd'\}",
        ),
    ],
)
def test_nothing_to_estimate(orderings, message):
    with pytest.raises(DataError, match=message) as caught:
        PlackettLuce().fit(orderings)
    assert "prior='auto' (--prior auto)" in str(caught.value)
    for prior in ("auto", PseudoRankings(0.5), NormalPrior(0, 2)):
        model = PlackettLuce(prior=prior).fit(orderings)
        assert np.isfinite(model.log_worths_).all()
        assert model.not_estimable_ == {}


@pytest.mark.parametrize(
    ("orderings", "name", "why"),
    [
        ([["a", "b", "c"], ["a", "c", "b"]], "a", "never placed below another item"),
        ([["b", "c", "a"], ["c", "b", "a"]], "a", "never placed above another item"),
        ([["b", "c"], ["c", "b"]], "a", "in no comparison"),
        ([["b", "c"], ["c", "b"], ["b", "a"], ["a", "d"]], "a", "no chain of wins both ways"),
    ],
)
def test_one_item_is_left_out_and_the_others_do_not_notice(orderings, name, why):
    rankings = Rankings.from_orderings(
        orderings, names=["a", "b", "c", "d"] if "d" in str(orderings) else ["a", "b", "c"]
    )
    with pytest.warns(LuceWarning, match=rf"left out: .*{why}.*'{name}'.* {OFFER}"):
        model = PlackettLuce().fit(rankings)
    assert model.not_estimable_[name].startswith(why)
    assert np.isnan(model.log_worths_[0])
    assert model.worths_[model.estimable_].sum() == pytest.approx(1)
    np.testing.assert_allclose(model.log_worths_[1:3], 0, atol=1e-8)


def test_the_fit_without_them_is_the_limit_of_the_fit_with_them():
    rankings, _ = strict(n_items=6, n_rankings=60)
    last = Rankings.from_orderings(
        [[0, 1, 2, "z"], [3, "z", "y"], *([[*order] for order in orderings_of(rankings)])],
        names=[0, 1, 2, 3, 4, 5, "z", "y"],
    )
    with pytest.warns(LuceWarning, match="2 items of 8 cannot be estimated and are left out"):
        model = PlackettLuce().fit(last)
    wide = PlackettLuce(prior=NormalPrior({**dict.fromkeys(range(6), 0), "z": -40, "y": -80}, 1e3)).fit(last)
    shown = wide.log_worths_[:6] - wide.log_worths_[:6].mean()
    np.testing.assert_allclose(model.log_worths_[:6], shown, atol=1e-4)


def orderings_of(rankings):
    return [rankings.items[a:b].tolist() for a, b in zip(rankings.offsets, rankings.offsets[1:], strict=False)]


def test_ties_link_items_where_they_are_outcomes():
    tied = Rankings.from_orderings([["a", "b"], [["a", "b"]]])
    assert np.isfinite(PlackettLuce("davidson").fit(tied).log_worths_).all()
    with pytest.raises(DataError, match="no two items"):
        PlackettLuce("exact").fit(tied)


def test_connected_data_are_not_warned_about():
    rankings, _ = strict(n_items=4, n_rankings=5_000, sizes=(2, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep, why = estimable_items(rankings, ties=False)
    assert keep.all()
    assert why == {}


def test_a_few_rankings_that_link_too_little_do_not_decide():
    # Item 3 wins once in 6,000 comparisons: a sample misses it, all of them do not.
    better = np.concatenate([np.tile([0, 1, 2, 0, 1], 1_200), [3]])
    worse = np.concatenate([np.tile([1, 2, 0, 3, 3], 1_200), [0]])
    keep, _ = estimable_items(Rankings.from_pairs(better, worse, n_items=4), ties=False)
    assert keep.all()


def test_many_rankings_are_looked_at_no_less_closely():
    better, worse = np.tile([0, 1, 2, 3, 3], 1_200), np.tile([1, 2, 0, 1, 2], 1_200)
    with pytest.warns(LuceWarning, match="never placed below another item: 3"):
        keep, _ = estimable_items(Rankings.from_pairs(better, worse, n_items=4), ties=False)
    assert keep.tolist() == [True, True, True, False]


def test_the_connectivity_of_some_of_the_rankings_is_that_of_all():
    rankings, _ = strict(n_items=4, n_rankings=5_000, sizes=(2, 5))
    some, every = connectivity.connectivity_of(rankings, False), connectivity._connectivity(rankings, False)
    for field in dataclasses.fields(every):
        np.testing.assert_array_equal(getattr(some, field.name), getattr(every, field.name))


def test_the_connectivity_is_worked_out_once():
    rankings = Rankings.from_orderings([["a", "b", "c"], ["b", ["a", "c"]], ["c", "a"], ["a", "b"]])
    for ties in ("exact", "davidson"):
        assert PlackettLuce(ties).fit(rankings).connectivity_ is rankings.connectivity(ties=ties == "davidson")
    assert rankings.connectivity() is not rankings.connectivity(ties=True)
    assert not rankings.take([0]).connectivity().is_connected


def test_items_taken_out_of_rankings_and_pools():
    rankings = Rankings(
        items=np.array([0, 1, 2, 3, 1, 0, 2, 3, 1, 0, 3]),
        places=np.array([0, 1, 2, 2, 0, 0, 1, 0, 0, 1, 2]),
        offsets=np.array([0, 4, 7, 8, 11]),
        open_end=np.array([True, False, False, False]),
        pool=np.array([-1, -1, 0, -1]),
        pools=[np.arange(4)],
        names=list("abcd"),
    )
    seen = observe(rankings, np.array([True, True, False, False]))
    assert seen.n_items == 2
    # a > b > {c, d} and b > a > d become a > b and b > a, a = b > c a tie; d > the rest names nothing that is left.
    assert [seen.items[a:b].tolist() for a, b in zip(seen.offsets, seen.offsets[1:], strict=False)] == [
        [0, 1],
        [1, 0],
        [1, 0],
    ]
    assert seen.places.tolist() == [0, 1, 0, 0, 0, 1]
    assert seen.open_end.tolist() == [False] * 3
    assert seen.indices.tolist() == [0, 1, 3]
    other = observe(rankings, np.array([True, False, True, True]))
    assert other.pool.tolist() == [-1, -1, 0, -1]
    assert other.pool_items.tolist() == [0, 1, 2]
    assert other.open_end.tolist() == [True, False, False, False]


def test_a_pool_of_which_nothing_is_left_is_none():
    top = Rankings.from_top([["a", "b"], ["b", "a"]], among=["a", "b", "z"])
    seen = observe(top, np.array([True, True, False]))
    assert seen.pool.tolist() == [-1, -1]
    with pytest.warns(LuceWarning, match="never placed above another item: 'z'"):
        model = PlackettLuce().fit(top)
    np.testing.assert_allclose(model.log_worths_[:2], 0, atol=1e-9)
    assert model.log_likelihood_ == pytest.approx(2 * np.log(0.5))


def test_what_is_left_of_pools_expand_pools():
    rankings = mixed(seed=5)
    seen = observe(rankings)
    whole = seen.expand_pools()
    assert (whole.pool == -1).all()
    for q in range(seen.n_rankings):
        rows, longer = (slice(part.offsets[q], part.offsets[q + 1]) for part in (seen, whole))
        if seen.pool[q] < 0:
            np.testing.assert_array_equal(whole.items[longer], seen.items[rows])
            continue
        assert whole.open_end[q]
        assert set(whole.items[longer].tolist()) == set(rankings.pools[seen.pool[q]].tolist())
        k = rows.stop - rows.start
        np.testing.assert_array_equal(whole.items[longer][:k], seen.items[rows])
        assert (whole.places[longer][k:] == seen.places[rows][-1] + 1).all()


def test_levels_choices_and_ties_are_counted():
    rankings = Rankings(
        items=np.array([0, 1, 2, 0, 1, 2, 3, 1, 2, 0, 1]),
        places=np.array([0, 1, 2, 0, 0, 1, 1, 0, 0, 0, 1]),
        offsets=np.array([0, 3, 7, 9, 11]),
        open_end=np.array([False, True, False, False]),
        pool=np.array([-1, -1, -1, 0]),
        pools=[np.arange(3)],
        names=list("abcd"),
    )
    seen = observe(rankings)
    assert seen.n_levels.tolist() == [3, 2, 1, 2]
    assert seen.last_size.tolist() == [1, 2, 2, 1]
    assert seen.n_chosen.tolist() == [3, 2, 2, 2]
    assert seen.tied.tolist() == [False, True, True, False]
    assert seen.n_choices.tolist() == [2, 1, 1, 2]
