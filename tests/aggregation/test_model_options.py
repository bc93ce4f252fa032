"""Worths from features and from teams, other objectives: what a fit takes beside rankings."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from luce.aggregation import ItemScores, NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.aggregation.observed import observe
from luce.errors import DataError, LuceWarning, OptionError
from luce.kernels.enumeration import log_probability

from .ranking_data import strict


@pytest.mark.parametrize("form", ["mapping", "table", "array"])
def test_worths_from_features(form):
    rankings, _ = strict(n_items=6, n_rankings=40)
    X = np.random.default_rng(5).normal(size=(6, 2))
    given = {
        "mapping": {item: X[item] for item in (3, 1, 0, 2, 5, 4)},
        "table": pd.DataFrame(
            {"item": [3, 1, 0, 2, 5, 4], "x": X[[3, 1, 0, 2, 5, 4], 0], "y": X[[3, 1, 0, 2, 5, 4], 1]}
        ),
        "array": X,
    }[form]
    model = PlackettLuce(features=given).fit(rankings)
    seen = observe(rankings)

    def value(beta):
        scores = X @ beta
        return -sum(log_probability(scores, seen.items[a:b]) for a, b in pairwise(seen.offsets))

    found = minimize(value, np.zeros(2), method="BFGS")
    np.testing.assert_allclose(list(model.coefficients_.values()), found.x, atol=1e-4)
    assert list(model.coefficients_) == (["x", "y"] if form == "table" else ["feature 1", "feature 2"])
    expected = X @ list(model.coefficients_.values())
    np.testing.assert_allclose(model.log_worths_, expected - expected.mean(), atol=1e-9)
    assert model.n_parameters_ == 2


def test_item_effects_beside_features():
    rankings, _ = strict(n_items=6, n_rankings=200)
    X = np.random.default_rng(5).normal(size=(6, 1))
    tight, loose = (PlackettLuce(features=X, prior=NormalPrior(sd=sd)).fit(rankings) for sd in (1e-4, 100))
    alone, free = PlackettLuce(features=X).fit(rankings), PlackettLuce().fit(rankings)
    np.testing.assert_allclose(tight.log_worths_, alone.log_worths_, atol=1e-3)
    np.testing.assert_allclose(loose.log_worths_, free.log_worths_, atol=1e-3)
    pseudo = PlackettLuce(features=X, prior=PseudoRankings(0.5)).fit(rankings)
    assert 0 < abs(pseudo.coefficients_["feature 1"]) < abs(alone.coefficients_["feature 1"])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((6, 1)), "is the same for all items"),
        (np.column_stack([np.arange(6), 2 * np.arange(6)]), "are linearly dependent"),
        (np.eye(6)[:, [0, 1, 2, 3, 4, 5]], "The 6 features of 6 items are linearly dependent"),
        (np.full((6, 1), np.nan), "must be finite. Item 0 has nan"),
        (np.zeros((5, 1)), "one row of features for each of 6 items"),
        ({0: [1.0]}, "no features for 1"),
    ],
)
def test_useless_features(features, message):
    with pytest.raises(DataError, match=message):
        PlackettLuce(features=features).fit(strict()[0])


def team_games(n_games=4_000, seed=0):
    rng = np.random.default_rng(seed)
    worths, teams, orderings = np.exp(rng.normal(0, 0.8, 7)), {}, []
    for _ in range(n_games):
        players = rng.permutation(7)
        sides = [sorted(side.tolist()) for side in np.split(players, [2, 5])]
        names = ["+".join(map(str, side)) for side in sides]
        teams |= dict(zip(names, sides, strict=True))
        total = np.log([worths[side].sum() for side in sides])
        orderings.append([names[i] for i in np.argsort(-(total + rng.gumbel(size=len(sides))))])
    return Rankings.from_orderings(orderings), teams, worths / worths.sum()


@pytest.mark.parametrize("prior", [None, PseudoRankings(0.5), NormalPrior(0, 2)])
def test_teams_are_the_sum_of_their_members(prior):
    rankings, teams, worths = team_games()
    model = PlackettLuce(teams=teams, prior=prior).fit(rankings)
    assert model.convergence_.converged
    order = np.argsort(model.names_)
    np.testing.assert_allclose(model.worths_[order], worths, atol=0.03)
    name, other = rankings.names[:2]
    mine, theirs = (model.worths_[[model.names_.index(m) for m in teams[team]]].sum() for team in (name, other))
    assert model.predict_proba([[name, other]])[0][0] == pytest.approx(mine / (mine + theirs))
    posterior, rng = model._posterior, np.random.default_rng(1)
    point, direction = rng.normal(size=(2, len(model._point)))
    above, below = (posterior.value_and_gradient(point + h * direction) for h in (1e-5, -1e-5))
    assert posterior.value_and_gradient(point)[1] @ direction == pytest.approx((above[0] - below[0]) / 2e-5, rel=1e-6)
    here = posterior.hessian(point)
    np.testing.assert_allclose(here.product(direction), (above[1] - below[1]) / 2e-5, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(here.matrix() @ direction, here.product(direction), rtol=1e-9, atol=1e-8)


def test_teams_that_tell_nothing_apart():
    games = Rankings.from_orderings([["red", "blue"], ["blue", "red"]])
    with pytest.raises(DataError, match="'ann' and 'bob' are always in the same teams"):
        PlackettLuce(teams={"red": ["ann", "bob"], "blue": ["cy"]}).fit(games)
    fitted = PlackettLuce(teams={"red": ["ann", "bob"], "blue": ["cy"]}, prior=NormalPrior(0, 1)).fit(games)
    assert fitted.names_ == ("ann", "bob", "cy")
    with pytest.raises(DataError, match="A team must have members"):
        PlackettLuce(teams={"red": []}).fit(games)


def test_values_that_run_to_infinity_are_refused_or_told():
    separated = Rankings.from_orderings([[0, 1, 2], [0, 2, 1], [0, 1], [1, 2], [2, 1]], n_items=3)
    features = np.array([[5.0, 0.3], [0, 0.1], [0, 0.8]])
    with pytest.raises(
        DataError, match="do not determine a finite value of 'feature 1': the further from 0, the better the fit"
    ):
        PlackettLuce(features=features).fit(separated)
    for prior in (NormalPrior(0, 1), NormalPrior(sd="estimate")):
        with pytest.raises(
            DataError, match=r"'feature 1'.*holds the effects of items.*use prior=.*PseudoRankings\(0\.5\)"
        ):
            PlackettLuce(features=features, prior=prior).fit(separated)
    held = PlackettLuce(features=features, prior=PseudoRankings(0.5)).fit(separated)
    assert abs(held.coefficients_["feature 1"]) < 10
    games = Rankings.from_orderings([["red", "blue"], ["red", "green"], ["blue", "green"], ["green", "blue"]])
    with pytest.raises(DataError, match="do not determine a finite value of"):
        PlackettLuce(teams={"red": ["ann"], "blue": ["bob", "cy"], "green": ["bob"]}).fit(games)
    always = [["a", "b"], ["b", "a"], ["b", "c"], ["c", "b"], ["c", "a"], [["a", "b", "c"]], [["a", "b", "c"]]]
    with pytest.warns(LuceWarning, match="tie3 has no finite estimate"):
        PlackettLuce("davidson").fit(always)
    tied = Rankings.from_pairs(["a", "b", "a"], ["b", "c", "c"], [0.5, 0.5, 0.5])
    with pytest.warns(LuceWarning, match="margin has no finite estimate"):
        PlackettLuce("rao-kupper").fit(tied)


@pytest.mark.parametrize("objective", ["pl-partition", "ranknet", "listnet", "pairties-davidson", "rankcosine"])
def test_other_objectives_on_free_scores(objective):
    rankings, truth = strict(n_rankings=400)
    found = ItemScores(objective, n_jobs=1).fit(rankings)
    assert np.corrcoef(found.scores_, truth)[0, 1] > 0.9
    if objective == "pl-partition":
        exact = PlackettLuce(prior=NormalPrior(0, 3)).fit(rankings)
        np.testing.assert_allclose(found.scores_, exact.log_worths_, atol=1e-3)
        assert -found.loss_ == pytest.approx(exact.log_likelihood_, abs=1e-3)
    assert set(found.nuisance_) == ({"beta"} if objective == "pairties-davidson" else set())


@pytest.mark.parametrize("objective", ["ranknet", "pairties-davidson"])
def test_weights_of_other_objectives_are_repetitions(objective):
    orderings = [["a", "b", "c"], ["c", "a"], ["b", "c"], [["a", "b"]]]
    weighted = Rankings.from_orderings(orderings, weights=[1, 3, 2, 2])
    repeated = Rankings.from_orderings([orderings[q] for q in (0, 1, 1, 1, 2, 2, 3, 3)])
    found = [ItemScores(objective, n_jobs=1).fit(given) for given in (weighted, repeated)]
    np.testing.assert_allclose(found[0].scores_, found[1].scores_, atol=1e-5)
    assert found[0].nuisance_ == pytest.approx(found[1].nuisance_, abs=1e-4)
    assert found[0].loss_ == pytest.approx(found[1].loss_, abs=1e-6)


def test_objectives_without_a_loss_for_free_scores():
    for objective, message in (("lambdarank", "gradient but no loss"), ("mcrank", "one score per grade")):
        with pytest.raises(OptionError, match=message):
            ItemScores(objective).fit([["a", "b"]])
    with pytest.raises(OptionError, match="prior must be None, 'auto' or"):
        ItemScores(prior="wide").fit([["a", "b"]])


def test_bic_counts_the_rankings_that_say_something():
    orders = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    with pytest.warns(LuceWarning, match="All items are tied"):
        tied = PlackettLuce("exact").fit(Rankings.from_orderings([*orders, [["a", "b", "c"]]], weights=[1, 1, 1, 50]))
    assert tied.bic_ == pytest.approx(PlackettLuce().fit(orders).bic_)


@pytest.mark.parametrize("weight", [1e-12, 1e-6, 1e6])
def test_the_scale_of_the_weights_does_not_change_worths(weight):
    orders = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "c", "b"]]
    scaled = PlackettLuce().fit(Rankings.from_orderings(orders, weights=[weight] * 4))
    np.testing.assert_allclose(scaled.log_worths_, PlackettLuce().fit(orders).log_worths_, atol=1e-6)
