"""What the rankings leave without an estimate is called what it is, with advice that helps, with or without a prior."""

import numpy as np
import pytest

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.errors import DataError, LuceWarning

PRIORS = (None, NormalPrior(sd=2), NormalPrior(sd="estimate"), PseudoRankings(0.5))
TWO_GROUPS = Rankings.from_orderings([[0, 1], [1, 0], [1, 0], [2, 3], [3, 2], [2, 3]], n_items=4)


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e5])
def test_a_feature_that_never_differs_where_items_were_compared(scale):
    features = scale * np.array([[1.0, 0.3], [1, 0.1], [2, 0.8], [2, 0.4]])
    message = r"carry no information about 'feature 1': items that were compared do not differ in it\. Leave it out\."
    for prior in PRIORS[:3]:
        with pytest.raises(DataError, match=message):
            PlackettLuce(features=features, prior=prior).fit(TWO_GROUPS)
        assert np.isfinite(PlackettLuce(features=features[:, 1:], prior=prior).fit(TWO_GROUPS).log_worths_).all()
    assert np.isfinite(PlackettLuce(features=features, prior=PRIORS[3]).fit(TWO_GROUPS).log_worths_).all()


def test_a_combination_of_features_that_never_differs():
    features = np.array([[1.0, 0], [0, 1], [3, 2], [2, 3]])
    with pytest.raises(
        DataError, match=r"about 'feature 1', 'feature 2': .* combination of them\. Leave one of them out"
    ):
        PlackettLuce(features=features).fit(TWO_GROUPS)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_a_feature_on_any_scale_is_no_flat_direction(scale):
    rankings = Rankings.from_orderings([[0, 1, 2], [2, 1, 0], [0, 2, 1]], n_items=3)
    features = np.array([[0.0], [1], [3]])
    model, scaled = (PlackettLuce(features=each).fit(rankings) for each in (features, scale * features))
    np.testing.assert_allclose(scaled.log_worths_, model.log_worths_, atol=1e-6)


def test_teams_that_were_never_compared():
    games = [["red", "blue"], ["blue", "red"], ["pink", "grey"], ["grey", "pink"]]
    teams = {"red": ["ann"], "blue": ["bob"], "pink": ["cy"], "grey": ["dan"]}
    with pytest.raises(
        DataError, match=r"carry no information about 'ann', 'bob', 'cy', 'dan', compared .* Use prior=luce\.agg"
    ):
        PlackettLuce(teams=teams).fit(games)
    for prior in PRIORS[1:]:
        assert np.isfinite(PlackettLuce(teams=teams, prior=prior).fit(games).log_worths_).all()


def test_a_team_that_always_wins():
    games = [["red", "blue"], ["red", "green"], ["blue", "green"], ["green", "blue"]]
    teams = {"red": ["ann"], "blue": ["bob"], "green": ["cy"]}
    with pytest.raises(
        DataError, match=r"finite value of .*'ann'.*: the further from 0, the better the fit\. Use prior="
    ):
        PlackettLuce(teams=teams).fit(games)
    for prior in PRIORS[1:]:
        assert np.isfinite(PlackettLuce(teams=teams, prior=prior).fit(games).log_worths_).all()


@pytest.mark.parametrize(
    ("teams", "message"),
    [
        (
            {"red": ["ann", "bob"], "blue": ["cy"]},
            r"'ann' and 'bob' are always .* without a prior\. Use prior=luce\.agg",
        ),
        (
            {"red": ["ann"], "blue": ["cy"], "grey": ["dan"]},
            r"No ranking has a team of 'dan': leave it out of teams, or",
        ),
    ],
)
def test_members_that_no_ranking_tells_apart(teams, message):
    games = Rankings.from_orderings([["red", "blue"], ["blue", "red"]], names=list(teams))
    with pytest.raises(DataError, match=message):
        PlackettLuce(teams=teams).fit(games)
    for prior in PRIORS[1:]:
        assert np.isfinite(PlackettLuce(teams=teams, prior=prior).fit(games).log_worths_).all()


@pytest.mark.filterwarnings("ignore:The rankings alone do not link")
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (NormalPrior(sd=1e9), r"or the sd of the prior is too large: NormalPrior\(sd=3\)"),
        (PseudoRankings(1e-14), r"or npseudo is too small: PseudoRankings\(0\.5\)"),
    ],
)
def test_a_prior_too_weak_for_standard_errors_is_what_is_blamed(prior, message):
    model = PlackettLuce(prior=prior).fit([["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]])
    with pytest.raises(DataError, match=message):
        model.standard_errors()


def test_items_linked_too_weakly_for_standard_errors():
    pairs = [["a", "b"], ["b", "a"], ["b", "c"], ["c", "b"], ["c", "d"], ["d", "c"]]
    rankings = Rankings.from_orderings(pairs, weights=[1e14, 1e14, 1, 1, 1e14, 1e14])
    model = PlackettLuce(tol=1e-3).fit(rankings)
    with pytest.raises(DataError, match=r"The weights of the rankings are too far apart to link all items, or"):
        model.standard_errors()
    ties = PlackettLuce().fit(Rankings.from_orderings([[["a", "b"]], [["b", "c"]]]))
    with pytest.raises(DataError, match="every ranking is a tie, which says nothing"):
        ties.standard_errors()


def test_an_item_without_a_worth_is_offered_a_prior_that_gives_it_one():
    beaten = [["ant", "bee", "cat"], ["bee", "ant", "cat"]]
    with pytest.warns(LuceWarning, match=r"Fit with prior='auto' \(--prior auto\)"):
        model = PlackettLuce().fit(beaten)
    for ask in (lambda: model.contrast("ant", "cat"), lambda: model.predict_proba([["ant", "cat"]])):
        with pytest.raises(DataError, match=r"'cat' has no worth: never placed above .*\. Fit with prior='auto'"):
            ask()
    assert PlackettLuce(prior="auto").fit(beaten).contrast("ant", "cat")[0] > 0


def test_rankings_that_tie_all_items_are_told_to_count_ties():
    tied = [[["a", "b", "c"]], [["a", "c"]]]
    with pytest.raises(DataError, match=r"carry no information: each ties all its items.* Use ties='davidson'"):
        PlackettLuce("exact").fit(tied)
    with pytest.warns(LuceWarning, match="All items are tied in 2 of 2 rankings"):
        np.testing.assert_allclose(PlackettLuce("exact", prior="auto").fit(tied).log_worths_, 0, atol=1e-9)
