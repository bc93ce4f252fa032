"""What a tie counts for: the choice of a model of ties, half wins, and rankings that a fit cannot use."""

from dataclasses import replace

import numpy as np
import pytest

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.aggregation.likelihood import ranking_log_probabilities, ranking_scores
from luce.errors import DataError, LuceWarning

from .ranking_data import fruit, pudding, strict

ALL_TIED = "all items tied (their order is unknown)"


def models():
    """Comparisons of three language models, in which z loses to x, but mostly ties with y, which loses to x as well."""
    orderings = [["x", "y"], ["y", "x"], ["x", "z"], ["z", "x"], ["y", "z"], ["z", "y"], [["y", "z"]]]
    return Rankings.from_orderings(orderings, weights=[12, 4, 3, 1, 3, 1, 30])


def games(seed=0):
    """Comparisons of two with ties, rankings of several without, and uneven weights."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 5, 60)
    right = (left + rng.integers(1, 5, 60)) % 5
    pairs = [[a, b] if won else [[a, b]] for a, b, won in zip(left, right, rng.random(60) < 0.6, strict=True)]
    return Rankings.from_orderings(
        [*pairs, [3, 1, 0], [2, 4, 3, 1], [0, 4]], n_items=5, weights=rng.random(63) + 0.5, rankers=np.arange(63) % 7
    )


def split_ties(rankings):
    """The same with every tie as a win and a loss of weight ½."""
    tied = np.flatnonzero(rankings.tied)
    items, places, weights = rankings.items.copy(), rankings.places.copy(), rankings.weights.copy()
    first = rankings.offsets[tied]
    places[first + 1] = 1
    weights[tied] /= 2
    one = replace(rankings, places=places, weights=weights)
    items[first], items[first + 1] = rankings.items[first + 1], rankings.items[first]
    other = replace(one, items=items).take(tied)
    return Rankings.from_orderings(
        [
            [part.names[item] for item in part.items[a:b]]
            for part in (one, other)
            for a, b in zip(part.offsets[:-1], part.offsets[1:], strict=True)
        ],
        names=rankings.names,
        weights=np.concatenate([one.weights, other.weights]),
    )


def test_ties_of_pairs_count_by_default():
    rankings = models()
    auto = PlackettLuce().fit(rankings)
    assert (auto.ties_, auto.unused_) == ("davidson", {})
    np.testing.assert_array_equal(auto.log_worths_, PlackettLuce("davidson").fit(rankings).log_worths_)
    with pytest.warns(
        LuceWarning, match=r"tied in 1 of 7 rankings, not used with ties='exact' \(--ties exact\); ties="
    ):
        exact = PlackettLuce("exact").fit(rankings)
    assert exact.unused_ == {ALL_TIED: 1}
    without = PlackettLuce("exact").fit(rankings.take(np.arange(6)))
    np.testing.assert_array_equal(exact.log_worths_, without.log_worths_)
    assert exact.contrast("y", "z")[0] > 0.5 > auto.contrast("y", "z")[0] > 0
    assert auto.contrast("y", "z")[1] < exact.contrast("y", "z")[1]


@pytest.mark.parametrize(
    ("rankings", "used"),
    [
        (fruit(), "exact"),
        (strict()[0], "exact"),
        (pudding(), "davidson"),
        (Rankings.from_orderings([["a", "b"], ["b", "a"]]), "exact"),
        (
            Rankings.from_orderings([["a", "b"], ["b", "a"], [["a", "b"]], ["a", "b", "c"]], weights=[1, 1, 1, 0]),
            "davidson",
        ),
        (Rankings.from_top([["a"], ["b"], [["a", "b"]]], among=["a", "b", "c"]), "exact"),
    ],
)
def test_auto_chooses_by_the_rankings_of_positive_weight(rankings, used):
    assert PlackettLuce(prior=PseudoRankings(0.5)).fit(rankings).ties_ == used


@pytest.mark.parametrize("prior", [None, PseudoRankings(0.5), NormalPrior(0, 2)])
def test_half_wins_are_a_win_and_a_loss_of_half_the_weight(prior):
    rankings = games()
    half = PlackettLuce("half-wins", prior=prior).fit(rankings)
    split = PlackettLuce(None, prior=prior).fit(split_ties(rankings))
    np.testing.assert_allclose(half.log_worths_, split.log_worths_, atol=1e-9)
    assert half.log_likelihood_ == pytest.approx(split.log_likelihood_, abs=1e-9)
    for kind in ("observed", "expected"):
        np.testing.assert_allclose(half.standard_errors(kind), split.standard_errors(kind), atol=1e-9)
    assert half.tie_parameters_ == {}
    assert rankings.weights @ half.log_prob(rankings) == pytest.approx(half.log_likelihood_, abs=1e-9)
    tie, win, loss = half.log_prob([[[3, 1]], [3, 1], [1, 3]])
    assert tie == pytest.approx((win + loss) / 2)


def test_the_score_of_a_half_win_is_its_slope():
    model = PlackettLuce("half-wins").fit(games())
    likelihood, rng = model._posterior.likelihood, np.random.default_rng(0)
    scores, none = rng.normal(size=5), np.zeros(0)
    found = ranking_scores(likelihood, scores, none).toarray()
    for item, step in enumerate(np.eye(5) * 1e-6):
        above, below = (ranking_log_probabilities(likelihood, scores + h * step, none) for h in (1, -1))
        np.testing.assert_allclose(found[:, item], (above - below) / 2e-6, atol=1e-8)
    np.testing.assert_allclose(
        likelihood.observed.weights @ found, likelihood.value_and_gradient(scores, none)[1], atol=1e-9
    )
    spread = model.bootstrap(400).std(axis=0)
    np.testing.assert_allclose(spread, model.standard_errors("sandwich"), rtol=0.35)


def test_half_wins_are_drawn_without_ties():
    model = PlackettLuce("half-wins").fit(games())
    drawn = model.simulate(games())
    assert not drawn.tied.any()
    np.testing.assert_array_equal(drawn.offsets, games().offsets)
    many = model.simulate(Rankings.from_orderings([[[0, 1]]] * 4_000, n_items=5))
    assert np.mean(many.items[::2] == 0) == pytest.approx(model.win_matrix()[0, 1], abs=0.03)


def test_a_half_win_links_both_ways():
    tied = Rankings.from_orderings([["a", "b"], ["b", "a"], [["b", "c"]]])
    model = PlackettLuce("half-wins").fit(tied)
    np.testing.assert_allclose(model.log_worths_, 0, atol=1e-9)
    assert model.connectivity_.is_connected


def test_half_wins_of_longer_ties_are_refused():
    message = (
        r"ties='half-wins' \(--ties half-wins\) counts ties in comparisons of two items, but ranking 2 has 3 items"
    )
    with pytest.raises(DataError, match=message):
        PlackettLuce("half-wins").fit([["a", "b", "c"], ["a", ["b", "c"]], ["c", "a"]])
    model = PlackettLuce("half-wins").fit([["a", "b", "c"], ["c", "b", "a"]])
    with pytest.raises(DataError, match="but ranking 1 has 3 items"):
        model.log_prob([[["a", "b"], "c"]])


def test_a_tie_has_probability_zero_where_none_was_seen():
    pairs = [["a", "b"], ["b", "a"]]
    for ties in ("davidson", "rao-kupper"):
        assert PlackettLuce(ties).fit(pairs).log_prob([[["a", "b"]]])[0] == -np.inf


def test_rankings_that_are_not_used_are_counted_by_reason():
    orderings = [["a", "b"], ["b", "a"], ["a", "z"], [["a", "b"], "z"], [["a", "b"]], [["a", "b", "z"]], ["b", "a"]]
    rankings = Rankings.from_orderings(orderings, weights=[1, 1, 5, 1, 3, 1, 0])
    with pytest.warns(LuceWarning) as told:
        model = PlackettLuce("exact").fit(rankings)
    assert model.unused_ == {ALL_TIED: 2, "weight 0": 1, "fewer than two items that can be estimated": 2}
    assert any("All items are tied in 2 of 7 rankings" in str(each.message) for each in told)
    assert PlackettLuce("davidson", prior=NormalPrior()).fit(rankings).unused_ == {"weight 0": 1}
    noted = replace(rankings, left_out={"rankings of fewer than two items": 4})
    used = PlackettLuce("davidson", prior=NormalPrior()).fit(noted).unused_
    assert used == {"rankings of fewer than two items": 4, "weight 0": 1}
