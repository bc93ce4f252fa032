"""The check of a fit against rankings drawn from it."""

import numpy as np
import pytest

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.aggregation.simulated_margins import rankings_to_draw, simulated_margins
from luce.errors import DataError, LuceWarning, OptionError
from tests.aggregation.ranking_data import mixed, pudding

TRUTH = np.linspace(1.5, -1.5, 6)


def orders(worths, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.argsort(-(worths + rng.gumbel(size=(count, len(worths)))), axis=1)


def rankings_of(*blocks, **settings):
    return Rankings.from_orderings(np.concatenate(blocks).tolist(), names=range(6), **settings)


def cycle(weight=10):
    winners, losers = ["rock", "paper", "scissors"], ["scissors", "rock", "paper"]
    return Rankings.from_pairs(winners + losers, losers + winners, weights=[3 * weight] * 3 + [weight] * 3)


def check(rankings, n_samples=99, **settings):
    return PlackettLuce(n_jobs=1, **settings).fit(rankings).goodness_of_fit(n_samples=n_samples)


def p_values(make, count=40, **settings):
    return np.array([check(make(seed), 39, **settings).p_value for seed in range(count)])


def shapes():
    def top(seed):
        return Rankings.from_top(orders(TRUTH, 150, seed)[:, :2].tolist(), among=range(6))

    def tied(seed):
        ranked = orders(TRUTH, 100, seed).tolist()
        return Rankings.from_orderings([[row[:2], row[2], row[3:5], row[5]] for row in ranked], names=range(6))

    def whole(seed):
        return rankings_of(orders(TRUTH, 60, seed))

    def few(seed):
        return rankings_of(orders(TRUTH, 15, seed))

    return {
        "whole": (whole, {}),
        "few, with a prior": (few, {"prior": NormalPrior(0, 1)}),
        "top": (top, {}),
        "tied": (tied, {"ties": "exact"}),
        "counted": (lambda seed: whole(seed).aggregate(), {}),
        "features": (whole, {"features": {item: [worth] for item, worth in enumerate(TRUTH)}}),
    }


@pytest.mark.parametrize("shape", shapes())
def test_rankings_of_the_model_pass_at_the_level(shape):
    make, settings = shapes()[shape]
    found = p_values(make, **settings)
    assert (found <= 0.05).sum() <= 6  # 2 of 40 expected; more than 6 has a probability of 0.3 %
    assert 0.3 < found.mean() < 0.7


def test_two_groups_of_rankers_do_not_pass():
    fit = check(rankings_of(orders(TRUTH, 100, 1), orders(-TRUTH, 50, 2)))
    assert fit.describes_data is False
    assert fit.pairs_p_value == fit.first_choices_p_value == fit.p_value == 0.01
    assert fit.mean_deviation > 1.5 * fit.chance_deviation


def test_a_cycle_shows_in_pairs_while_first_places_are_determined():
    fit = check(cycle())
    assert fit.describes_data is False and np.isnan(fit.first_choices_p_value)
    rows = fit.pairs.to_pylist()
    assert {(row["item"], row["other"]) for row in rows} == {
        ("rock", "scissors"),
        ("paper", "rock"),
        ("scissors", "paper"),
    }
    for row in rows:
        assert row["observed"] == 0.75 and row["n_comparisons"] == 40
        assert row["expected"] == pytest.approx(0.5, abs=0.02)


def test_pairs_of_a_table_with_ties_pass_in_both_models_of_ties():
    for ties in ("davidson", "rao-kupper"):
        assert check(pudding(), ties=ties).describes_data


def test_ties_that_are_half_wins_are_left_out():
    fit = check(pudding(), ties="half-wins")
    tied = pudding().weights[pudding().tied].sum()
    assert fit.n_rankings == pudding().weights.sum() - tied and "Ties are left out" in str(fit)
    assert 0.1 < fit.p_value < 1  # as if ties were lost and won by turns, pairs would deviate less than any draw


def test_expected_shares_are_those_of_the_model():
    rankings = rankings_of(orders(TRUTH, 400))
    model = PlackettLuce(n_jobs=1).fit(rankings)
    fit = model.goodness_of_fit()
    wins = model.win_matrix()
    for row in fit.pairs.to_pylist():
        assert row["expected"] == pytest.approx(wins[row["item"], row["other"]], abs=0.01)
    for row in fit.first_choices.to_pylist():
        assert row["expected"] == pytest.approx(model.worths_[row["item"]], abs=0.01)
        first = rankings.items[rankings.offsets[:-1]] == row["item"]
        assert row["observed"] == pytest.approx(first.mean())


def test_shrinkage_by_a_prior_is_no_misfit():
    rankings = rankings_of(orders(TRUTH, 400))
    strong = PlackettLuce(prior=NormalPrior(0, 0.25), n_jobs=1).fit(rankings)
    assert np.ptp(strong.log_worths_) < 0.95 * np.ptp(TRUTH)
    assert strong.goodness_of_fit().describes_data


def test_weights_are_repetitions():
    rankings = rankings_of(orders(TRUTH, 80))
    counted = rankings.aggregate()
    assert len(counted) < len(rankings)
    one, other = check(rankings, 19), check(counted, 19)
    assert one.n_rankings == other.n_rankings == 80
    assert one.pairs.num_rows == other.pairs.num_rows
    few, many = (np.mean(check(cycle(weight), 399).pairs["z"]) for weight in (2, 32))
    assert many / few == pytest.approx(4, rel=0.1)  # sixteen times the comparisons


def test_weights_that_are_not_whole_count_as_one_observation_each():
    rankings = rankings_of(orders(TRUTH, 80), weights=np.linspace(0.5, 1.5, 80))
    fit = check(rankings)
    assert fit.n_rankings == 80 and "whole numbers" in str(fit)


def test_large_data_are_checked_on_a_random_part(monkeypatch):
    monkeypatch.setattr("luce.aggregation.simulated_margins.MOST_ROWS", 19 * 1_000)
    fit = check(rankings_of(orders(TRUTH, 400)), 19)
    assert 60 < fit.n_rankings < 200
    assert f"{fit.n_rankings} of 400 rankings" in str(fit)
    with pytest.raises(OptionError, match="too long"):
        monkeypatch.setattr("luce.aggregation.simulated_margins.MOST_ROWS", 1e-9)
        check(rankings_of(orders(TRUTH, 40)), 19)


def test_rankings_are_drawn_as_often_as_they_weigh():
    model = PlackettLuce(n_jobs=1).fit(Rankings.from_pairs([0, 1], [1, 0], weights=[3, 1]))
    drawn, is_part = rankings_to_draw(model._posterior.likelihood.observed, 19, np.random.default_rng(0))
    assert not is_part and drawn.items.tolist() == [0, 1] * 3 + [1, 0]
    assert model._posterior.likelihood.observed.take(np.array([1, 1])).items.tolist() == [1, 0, 1, 0]


def test_pairs_of_many_items_are_those_of_the_most_frequent(monkeypatch):
    monkeypatch.setattr("luce.aggregation.goodness_of_fit.MOST_ITEMS", 3)
    block = orders(TRUTH, 100)
    fit = check(rankings_of(block, block[:, :0].reshape(0, 6)))
    assert fit.pairs.num_rows <= 3 and "3 items in most rankings" in str(fit)


def test_what_cannot_be_checked_is_said():
    saturated = check(Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10]))
    assert saturated.describes_data is None and np.isnan(saturated.p_value)
    assert saturated.pairs.num_rows == saturated.first_choices.num_rows == 0
    assert "cannot be checked" in str(saturated) and "the fit determines them" in str(saturated)
    few = check(Rankings.from_orderings([["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]]))
    assert few.describes_data is None


def test_nothing_is_drawn_where_nothing_can_be_checked(monkeypatch):
    def draw(*_):
        raise AssertionError("drawn")

    monkeypatch.setattr("luce.aggregation.simulated_margins.simulate_rankings", draw)
    item, rng = np.arange(40), np.random.default_rng(0)
    others = np.concatenate([(item + step) % 40 for step in range(1, 9)])  # no pair is compared twice
    left = np.tile(item, 8)
    swap = rng.random(len(left)) < 0.5
    pairs = Rankings.from_pairs(np.where(swap, others, left), np.where(swap, left, others))
    for prior in (None, NormalPrior(0, 1)):
        fit = check(pairs, prior=prior)
        assert fit.describes_data is None and fit.first_choices.num_rows == fit.pairs.num_rows == 0
    monkeypatch.setattr("luce.aggregation.goodness_of_fit.MOST_ITEMS", 3)
    assert "items in most rankings" not in str(check(pairs))  # of what was not checked, nothing more is said
    with pytest.raises(AssertionError, match="drawn"):
        check(rankings_of(orders(TRUTH, 40)))


def test_options_are_checked():
    model = PlackettLuce(n_jobs=1).fit(cycle())
    with pytest.raises(OptionError, match="at least 19"):
        model.goodness_of_fit(n_samples=5)
    by_rankers = Rankings.from_orderings([["a", "b"], ["b", "a"]] * 3, rankers=[0, 1] * 3)
    with pytest.raises(OptionError, match="adherence"):
        PlackettLuce(adherence=True, n_jobs=1).fit(by_rankers).goodness_of_fit()
    ties = Rankings.from_orderings([[["a", "b"]]])
    with pytest.warns(LuceWarning):
        unknown = PlackettLuce("exact", prior=NormalPrior(0, 1), n_jobs=1).fit(ties)
    with pytest.raises(DataError, match="all items are tied"):
        unknown.goodness_of_fit()
    with pytest.raises(DataError, match="all items are tied"):
        PlackettLuce("half-wins", n_jobs=1).fit(ties).goodness_of_fit()
    drawn = PlackettLuce("davidson", prior=NormalPrior(0, 1), n_jobs=1).fit(ties).goodness_of_fit(n_samples=19)
    assert drawn.describes_data is None


def test_it_repeats_with_its_seed():
    model = PlackettLuce(n_jobs=1).fit(rankings_of(orders(TRUTH, 60)))
    one, same, other = (model.goodness_of_fit(n_samples=39, random_state=seed) for seed in (1, 1, 2))
    assert one.pairs.equals(same.pairs) and not one.pairs.equals(other.pairs)


def test_the_text_names_the_largest_deviations_and_what_to_do():
    text = str(check(cycle()))
    assert text.startswith("One worth per item does not describe these rankings (p < 0.01): '")
    assert "stands above" in text and "in 75.0 % (expected " in text and "percentage points on average" in text
    assert "fit groups separately (command line: --by)" in text and "kind='sandwich', --errors sandwich" in text
    assert "describes these rankings: no significant deviation (p = " in str(check(pudding(), ties="davidson"))
    by_rankers = rankings_of(orders(TRUTH, 60), rankers=[q % 20 for q in range(60)])
    assert "taken as independent" in str(check(by_rankers))


def test_every_kind_of_ranking_is_counted():
    rankings = mixed(n_rankings=150)
    for ties in ("exact", "davidson"):
        fit = check(rankings, 39, ties=ties, prior=PseudoRankings(0.5))
        assert fit.describes_data is not None
        shares = np.concatenate([fit.pairs["observed"], fit.pairs["expected"], fit.first_choices["observed"]])
        assert ((shares >= 0) & (shares <= 1)).all()


def test_teams_and_features_are_called_by_name():
    teams = {item: [f"m{item}", "captain"] for item in range(6)}
    rankings = rankings_of(orders(TRUTH, 60))
    fit = check(rankings, 39, teams=teams, prior=NormalPrior(0, 2))
    assert "The sum of its members' worths describes" in str(fit)
    assert set(fit.first_choices["item"].to_pylist()) <= set(range(6))
    curved = {item: [worth**2] for item, worth in enumerate(TRUTH)}
    assert "A linear function of the features does not describe" in str(check(rankings, features=curved))


def test_a_tie_for_the_first_place_is_shared():
    orders = [[["a", "b"], "c"], ["b", "c", "a"], [["c", "a"], "b"], ["a", "c", "b"]]
    model, random = PlackettLuce("davidson").fit(orders), np.random.default_rng(0)
    drawn, _ = rankings_to_draw(model._posterior.likelihood.observed, 5, random)
    first = simulated_margins(model._posterior, model._point, drawn, np.arange(3), 5, random).first
    np.testing.assert_allclose(first[0], [2.0, 1.5, 0.5])
    np.testing.assert_allclose(first.sum(axis=1), 4)
