"""What a fit says of other rankings: probabilities that sum to one, draws that have them, tables, cross-validation."""

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2
from sklearn.model_selection import cross_val_score

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.errors import DataError, LuceWarning, OptionError
from luce.kernels.enumeration import ordered_partitions, orders

from .ranking_data import FRUIT, fruit, mixed, pudding, strict


def as_orderings(labels, names):
    return [[name for name, label in zip(names, labels, strict=True) if label == k] for k in range(max(labels) + 1)]


def test_probabilities_of_all_outcomes_sum_to_one():
    outcomes = [as_orderings(labels, FRUIT) for labels in ordered_partitions(4) if np.bincount(labels).max() < 4]
    davidson = PlackettLuce("davidson").fit(fruit())
    every = Rankings.from_orderings(outcomes, names=FRUIT)
    assert np.exp(davidson.log_prob(every)).sum() == pytest.approx(1, abs=1e-10)
    exact = PlackettLuce("exact").fit(fruit())
    strict_orders = Rankings.from_orderings([[FRUIT[i] for i in order] for order in orders(4)], names=FRUIT)
    assert np.exp(exact.log_prob(strict_orders)).sum() == pytest.approx(1, abs=1e-10)
    pairs = Rankings.from_orderings([[1, 2], [2, 1], [[1, 2]]], names=[1, 2, 3, 4, 5, 6])
    for ties in ("davidson", "rao-kupper"):
        assert np.exp(PlackettLuce(ties).fit(pudding()).log_prob(pairs)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("ties", ["exact", "davidson"])
def test_log_probabilities_add_up_to_the_log_likelihood(ties):
    rankings = mixed()
    model = PlackettLuce(ties, prior=PseudoRankings(0.5)).fit(rankings)
    assert rankings.weights @ model.log_prob(rankings) == pytest.approx(model.log_likelihood_, abs=1e-8)
    again = rankings.take(np.arange(len(rankings))[::-1])
    np.testing.assert_allclose(model.log_prob(again), model.log_prob(rankings)[::-1], atol=1e-10)


def test_the_score_is_a_mean_over_choices():
    model = PlackettLuce().fit(strict()[0])
    given = Rankings.from_orderings([[0, 1, 2], [3, 4]], n_items=6, weights=[2, 1])
    expected = given.weights @ model.log_prob(given) / (2 * 2 + 1)
    assert model.score(given) == pytest.approx(expected)
    with pytest.raises(DataError, match="nothing to score"):
        PlackettLuce("exact").fit(fruit()).score(Rankings.from_orderings([[list(FRUIT)]]).take([]))


def test_cross_validation_of_scikit_learn():
    rankings, _ = strict(n_items=5, n_rankings=200, sizes=(3, 6))
    scores = cross_val_score(PlackettLuce(prior=PseudoRankings(0.5), n_jobs=1), rankings, cv=4)
    assert scores.shape == (4,)
    flat = PlackettLuce(prior=NormalPrior(0, 1e-3), n_jobs=1)
    assert (scores > cross_val_score(flat, rankings, cv=4)).all()


@pytest.mark.parametrize("ties", ["exact", "davidson"])
def test_first_places(ties):
    model = PlackettLuce(ties).fit(fruit())
    (chances,) = model.predict_proba([["pear", "apple", "orange"]])
    for name, chance in zip(("pear", "apple", "orange"), chances, strict=True):
        rest = [other for other in ("pear", "apple", "orange") if other != name]
        first = Rankings.from_choices([name], among=[[name, *rest]])
        assert np.exp(model.log_prob(first))[0] == pytest.approx(chance, abs=1e-12)
    assert (chances.sum() < 0.99) == (ties == "davidson")
    assert model.predict_proba([["apple"]])[0].tolist() == [1]


@pytest.mark.filterwarnings("ignore:All items are tied")
@pytest.mark.parametrize("ties", ["exact", "davidson", "rao-kupper"])
def test_the_win_matrix(ties):
    model = PlackettLuce(ties).fit(pudding())
    matrix = model.win_matrix()
    assert matrix.shape == (6, 6)
    assert np.isnan(np.diag(matrix)).all()
    chances = model.predict_proba([[2, 5]])[0]
    np.testing.assert_allclose([matrix[1, 4], matrix[4, 1]], chances, atol=1e-12)
    np.testing.assert_allclose(model.win_matrix([5, 2])[0, 1], chances[1], atol=1e-12)
    ties_left = 1 - matrix[1, 4] - matrix[4, 1]
    assert ties_left == pytest.approx(0, abs=1e-12) if ties == "exact" else ties_left > 0.1


@pytest.mark.parametrize("ties", ["exact", "davidson", "rao-kupper"])
def test_draws_have_the_probabilities_of_the_model(ties):
    count = 8_000
    if ties == "exact":
        model = PlackettLuce().fit(strict(n_rankings=300, spread=2.0)[0])
        names = np.argsort(model.log_worths_)[[0, 2, 5]].tolist()  # far apart, or other noise would look the same
    elif ties == "davidson":
        model, names = PlackettLuce(ties).fit(fruit()), ["apple", "orange", "pear"]
    else:
        model, names = PlackettLuce(ties).fit(pudding()), [1, 6]
    drawn = model.simulate([names] * count, random_state=5)
    places = np.empty((count, len(names)), int)
    np.put_along_axis(places, drawn.items.reshape(count, -1), drawn.places.reshape(count, -1), axis=1)
    seen = Counter(map(tuple, places.tolist()))
    statistic, n_outcomes = 0.0, 0
    for labels in ordered_partitions(len(names)):
        if ties == "exact" and max(labels) < len(names) - 1:
            continue
        given = Rankings.from_orderings([as_orderings(labels, names)], names=names)
        expected = count * np.exp(model.log_prob(given)[0])
        statistic += (seen.pop(labels, 0) - expected) ** 2 / expected
        n_outcomes += 1
    assert not seen
    assert chi2.sf(statistic, n_outcomes - 1) > 1e-4
    assert drawn.names == tuple(names)


def test_draws_in_the_shape_of_given_rankings():
    rankings = mixed()
    model = PlackettLuce("exact", prior=PseudoRankings(0.5)).fit(rankings)
    drawn = model.simulate(rankings, random_state=1)
    for name in ("places", "offsets", "open_end", "pool"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(rankings, name))
    assert (drawn.items != rankings.items).any()
    np.testing.assert_array_equal(model.simulate(rankings, random_state=1).items, drawn.items)
    np.testing.assert_array_equal(drawn.rankers, rankings.rankers)
    tied = PlackettLuce("davidson", prior=PseudoRankings(0.5)).fit(rankings).simulate(rankings, random_state=1)
    assert tied.tied.any()
    assert (tied.pool == -1).all()  # what is left of a pool is written out
    assert len(model.simulate(3)) == 3


def test_refits_of_draws_find_the_model_again():
    rankings, _ = strict(n_items=6, n_rankings=3_000, sizes=(3, 6))
    model = PlackettLuce().fit(rankings)
    again = PlackettLuce().fit(model.simulate(rankings, random_state=2))
    assert np.abs(again.log_worths_ - model.log_worths_).max() < 5 * model.standard_errors().max()
    davidson = PlackettLuce("davidson").fit(pudding())
    games = [list(pair) for pair in product(range(1, 7), repeat=2) if pair[0] < pair[1]] * 300
    ties = PlackettLuce("davidson").fit(davidson.simulate(games)).tie_parameters_["tie2"]
    assert ties == pytest.approx(davidson.tie_parameters_["tie2"], rel=0.15)


def test_what_is_no_set_and_no_anchor():
    model = PlackettLuce().fit(fruit())
    with pytest.raises(DataError, match=r"a list of sets, as in \[\['a', 'b'\]\]\. Got 'apple' as a set"):
        model.predict_proba(["apple", "orange"])
    with pytest.raises(OptionError, match=r"an item and its rating: \('apple', 1000\)"):
        model.to_elo("apple")


def test_items_without_a_worth():
    with pytest.warns(LuceWarning):
        model = PlackettLuce().fit([["a", "b", "z"], ["b", "a", "z"]])
    with pytest.raises(DataError, match="'z' has no worth: never placed above another item"):
        model.predict_proba([["a", "z"]])
    with pytest.raises(DataError, match=r"no worth for 'new'\. The model knows 3 items: 'a', 'b', 'z'"):
        model.log_prob([["a", "new"]])
    with pytest.raises(DataError, match="A set must have items"):
        model.predict_proba([[]])
    assert np.isnan(model.win_matrix()[2]).all()
    assert model.simulate(2).names == ("a", "b")


def test_ties_that_the_model_does_not_know():
    tied = [["a", "b"], [["a", "b"], "c"]]
    strict_model = PlackettLuce("davidson", prior=PseudoRankings(0.5)).fit([["a", "b", "c"], ["c", "a", "b"]])
    assert strict_model.log_prob(tied)[1] == -np.inf
    assert np.isfinite(PlackettLuce("exact", prior=PseudoRankings(0.5)).fit([["a", "b", "c"]]).log_prob(tied)).all()
    with pytest.raises(DataError, match="allows no ties"):
        PlackettLuce(None, prior=PseudoRankings(0.5)).fit([["a", "b", "c"]]).log_prob(tied)
    with pytest.raises(DataError, match=r"compares two items\. Got a set of 3"):
        PlackettLuce("rao-kupper").fit(pudding()).predict_proba([[1, 2, 3]])


def test_elo_ratings():
    model = PlackettLuce("davidson").fit(pudding())
    table = model.to_elo((3, 1000))
    ratings = dict(zip(table["item"].to_pylist(), table["rating"].to_pylist(), strict=True))
    assert ratings[3] == pytest.approx(1000)
    assert list(ratings.values()) == sorted(ratings.values(), reverse=True)
    odds = model.worths_[5] / model.worths_[0]
    assert ratings[6] - ratings[1] == pytest.approx(400 * np.log10(odds))
    widths = np.array(table["upper"]) - np.array(table["lower"])
    quasi = dict(zip(model.names_, model.quasi_standard_errors().errors, strict=True))
    expected = [2 * 1.959964 * quasi[item] * 400 / np.log(10) for item in ratings]
    np.testing.assert_allclose(widths, expected, rtol=1e-6)
    other = model.to_elo((1, 0), base=2, scale=100)
    np.testing.assert_allclose(np.array(other["upper"]) - np.array(other["lower"]), widths / 4 * np.log2(10))
    assert np.mean(model.to_elo(1500)["rating"].to_pylist()) == pytest.approx(1500)
    with pytest.raises(OptionError, match="base above 1"):
        model.to_elo(base=1)


def test_the_summary():
    with pytest.warns(LuceWarning):
        model = PlackettLuce().fit([["a", "b", "c", "z"], ["b", "c", "a"], ["c", "b", "a", "z"]])
    table = model.summary(level=0.9)
    assert isinstance(table, pa.Table)
    assert table["item"].to_pylist()[-1] == "z"
    assert table["note"].to_pylist() == [None, None, None, "never placed above another item"]
    last = table.slice(3).to_pylist()[0]
    assert {name for name, value in last.items() if value is None} == set(table.column_names) - {
        "item",
        "n_rankings",
        "note",
    }
    known = table.slice(0, 3)
    worths = dict(zip(model.names_, model.worths_, strict=True))
    np.testing.assert_allclose(known["worth"], [worths[name] for name in known["item"].to_pylist()])
    assert known["rank"].to_pylist() == [1, 2, 3]
    half = (np.array(known["upper"]) - np.array(known["lower"])) / 2
    np.testing.assert_allclose(half, 1.6448536 * np.array(known["standard_error"]), rtol=1e-6)
    assert np.nansum(model.worths_) == pytest.approx(1)
    assert np.nanmean(model.log_worths_) == pytest.approx(0, abs=1e-12)
    mixed_names = PlackettLuce(prior=PseudoRankings(0.5)).fit(Rankings.from_orderings([["a", 1], [1, "a"]]))
    assert sorted(mixed_names.summary()["item"].to_pylist()) == ["1", "a"]
