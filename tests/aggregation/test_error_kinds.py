"""Which standard errors are the default, where rankers repeat; their warnings; items of few rankers; many items."""

import warnings

import numpy as np
import pytest

from luce.aggregation import NormalPrior, PlackettLuce, Rankings, clusters, error_kinds
from luce.aggregation.clusters import count_rankers, shortfall
from luce.aggregation.comparisons import critical_value, fit_quasi_variances, rank_intervals, tiers
from luce.aggregation.observed import observe
from luce.errors import DataError, LuceWarning, OptionError

from .ranking_data import pudding, strict


def by_rankers(n_rankers=40, each=5, taste=1.0, seed=0, n_items=6, copies=1, weights=None):
    """Each ranker orders three of the items some times, by log worths of its own."""
    rng, orderings = np.random.default_rng(seed), []
    for _ in range(n_rankers):
        own = np.linspace(-1, 1, n_items) + taste * rng.normal(size=n_items)
        for _ in range(each):
            items = rng.choice(n_items, 3, replace=False)
            orderings += [items[np.argsort(-(own[items] + rng.gumbel(size=3)))].tolist()] * copies
    rankers = np.repeat(np.arange(n_rankers), each * copies)
    return Rankings.from_orderings(orderings, n_items=n_items, rankers=rankers, weights=weights)


def quiet(function, *arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuceWarning)
        return function(*arguments, **settings)


def test_robust_errors_are_the_default_where_rankers_repeat():
    model = PlackettLuce(n_jobs=1).fit(by_rankers(taste=0.3))
    assert model.error_kind_ == "sandwich"
    calls = {
        "covariance": lambda kind: model.covariance(kind),
        "standard_errors": lambda kind: model.standard_errors(kind),
        "reference": lambda kind: model.standard_errors(kind, reference=2),
        "contrast": lambda kind: model.contrast(0, 3, kind),
        "quasi": lambda kind: model.quasi_standard_errors(kind).errors,
        "intervals": lambda kind: model.intervals(0.9, kind),
        "comparison_intervals": lambda kind: model.comparison_intervals(0.9, kind),
        "summary": lambda kind: model.summary(kind=kind)["standard_error"].to_numpy(),
        "to_elo": lambda kind: model.to_elo(kind=kind)["lower"].to_numpy(),
    }
    for name, call in calls.items():
        np.testing.assert_array_equal(call(None), call("sandwich"), err_msg=name)
        assert not np.allclose(call(None), call("observed"), rtol=1e-3), name
    np.testing.assert_array_equal(model.rank_intervals(), model.rank_intervals(kind="sandwich"))
    np.testing.assert_array_equal(model.tiers(), model.tiers(kind="sandwich"))


def test_parameters_have_robust_errors_by_default_too():
    pairs = pudding().take(np.repeat(np.arange(45), 4))
    rankers = np.random.default_rng(0).integers(0, 12, len(pairs))
    model = PlackettLuce("davidson", n_jobs=1).fit(pairs._with(rankers=rankers, ranker_names=tuple(range(12))))
    assert (
        quiet(model.tie_standard_errors)
        == model.tie_standard_errors("sandwich")
        != model.tie_standard_errors("observed")
    )
    featured = PlackettLuce(features=np.arange(6.0)[:, None], n_jobs=1).fit(by_rankers())
    errors = quiet(featured.coefficient_standard_errors)
    assert (
        errors == featured.coefficient_standard_errors("sandwich") != featured.coefficient_standard_errors("observed")
    )


def test_model_based_errors_are_the_default_without_rankers_or_with_a_ranking_each():
    rankings, _ = strict()
    assert PlackettLuce().fit(rankings).error_kind_ == "observed"
    alone = PlackettLuce().fit(by_rankers(60, 1))
    assert alone.error_kind_ == "observed"
    np.testing.assert_array_equal(alone.standard_errors(), alone.standard_errors("observed"))
    few = by_rankers(60, 1)._with(rankers=np.array([*range(58), 0, 1]))  # 4 of 60 rankings are by rankers of two
    assert PlackettLuce().fit(few).error_kind_ == "observed"


def test_a_ranking_of_weight_two_is_two_rankings_of_its_ranker():
    once = PlackettLuce(n_jobs=1).fit(by_rankers(60, 1, weights=np.full(60, 2.0)))
    twice = PlackettLuce(n_jobs=1).fit(by_rankers(60, 1, copies=2))
    assert once.error_kind_ == twice.error_kind_ == "sandwich"
    np.testing.assert_allclose(once.standard_errors(), twice.standard_errors(), rtol=1e-6)


def test_too_few_rankers_keep_model_based_errors_and_say_so_once():
    model = PlackettLuce(n_jobs=1).fit(by_rankers(2, 40))
    with pytest.warns(LuceWarning, match=r"need 3 rankers or more .* number is 2\. .*all rankings as independ"):
        errors = model.standard_errors()
    np.testing.assert_array_equal(errors, model.standard_errors("observed"))
    model.summary()  # says nothing more
    model.fit(by_rankers(2, 40))
    with pytest.warns(LuceWarning, match="need 3 rankers"):
        model.tiers()


def test_pools_too_large_for_robust_errors_keep_model_based_ones(monkeypatch):
    rng = np.random.default_rng(0)
    ballots = [rng.permutation(6)[:2].tolist() for _ in range(60)]
    rankings = Rankings.from_top(ballots, among=range(6), rankers=np.repeat(np.arange(20), 3))
    model = PlackettLuce(n_jobs=1).fit(rankings)
    assert model.error_kind_ == "sandwich"
    monkeypatch.setattr(clusters, "MOST_ROWS", 400)
    assert model.error_kind_ == "observed"
    with pytest.warns(LuceWarning, match=r"would take 480 rows .*; kind='sandwich' computes them"):
        model.standard_errors()


def test_the_number_of_rankers_is_that_of_rankers_of_equal_weight():
    orderings, rankers = [["a", "b"], ["b", "a"]] * 4, [0, 0, 0, 0, 1, 1, 2, 2]
    counted = count_rankers(observe(Rankings.from_orderings(orderings, rankers=rankers)), np.array(rankers))
    assert counted.repeated
    assert counted.number == pytest.approx(64 / (16 + 4 + 4))


def test_errors_that_differ_much_are_told_once_and_as_a_ratio():
    model = PlackettLuce(n_jobs=1).fit(by_rankers(copies=6, taste=0))
    with pytest.warns(LuceWarning, match=r"Robust standard errors are 2\.\d times .*of one ranker are not indep"):
        errors = model.standard_errors()
    model.summary()
    assert model.error_ratio_ == pytest.approx(np.median(errors / model.standard_errors("observed")))
    independent = PlackettLuce(n_jobs=1).fit(by_rankers(taste=0))
    independent.summary()
    assert independent.error_ratio_ == pytest.approx(1, abs=0.2)
    assert PlackettLuce().fit(strict(n_rankings=300)[0]).error_ratio_ == pytest.approx(1, abs=0.2)


def test_intervals_by_few_rankers_are_of_students_t():
    model = PlackettLuce(n_jobs=1).fit(by_rankers(8, 20, taste=0.2))
    freedom = count_rankers(model._posterior.likelihood.observed, model.rankings_.rankers).number - 1
    assert freedom == pytest.approx(7)
    reach = quiet(model.intervals)[:, 1] - model.log_worths_
    np.testing.assert_allclose(reach, critical_value(0.95, 1, 7) * quiet(model.standard_errors))
    assert critical_value(0.95, 1, 7) == pytest.approx(2.364624, abs=1e-6)
    observed = model.intervals(kind="observed")[:, 1] - model.log_worths_
    np.testing.assert_allclose(observed, critical_value(0.95) * model.standard_errors("observed"))


@pytest.mark.parametrize(("n_rankers", "each", "taste"), [(50, 4, 1.0), (50, 4, 0.0), (5, 25, 1.0)])
def test_default_intervals_of_differences_cover(n_rankers, each, taste):
    target = PlackettLuce(n_jobs=1).fit(by_rankers(3_000, 4, taste, seed=99)).log_worths_
    covered = []
    for seed in range(60):
        model = PlackettLuce(n_jobs=1).fit(by_rankers(n_rankers, each, taste, seed))
        reach = quiet(model._critical_value, 0.95, None)
        for i in range(5):
            difference, error = quiet(model.contrast, i, i + 1)
            covered.append(abs(difference - target[i] + target[i + 1]) < reach * error)
    assert 0.9 < np.mean(covered) < 0.985


def test_an_item_that_one_ranker_compared_has_at_least_the_model_based_error():
    rankings = by_rankers(40, 5, taste=0.3, n_items=7)
    keep = (rankings.rankers == 0) | ~(rankings.items.reshape(-1, 3) == 6).any(axis=1)
    extra = Rankings.from_orderings([[6, 3, 1], [2, 6, 4], [5, 6, 0]] * 2, n_items=7, rankers=[0] * 6)
    parts = [rankings.take(keep), extra]
    joined = Rankings(
        items=np.concatenate([part.items for part in parts]),
        places=np.concatenate([part.places for part in parts]),
        offsets=np.arange(sum(map(len, parts)) + 1) * 3,
        rankers=np.concatenate([part.rankers for part in parts]),
        names=list(range(7)),
    )
    model = PlackettLuce(n_jobs=1).fit(joined)
    robust, observed = quiet(model.standard_errors), model.standard_errors("observed")
    assert robust[6] >= observed[6]
    assert robust[6] == pytest.approx(max(model.error_ratio_, 1) * observed[6])
    assert model.contrast(6, 0, "sandwich")[1] > 0.7 * model.contrast(6, 0, "observed")[1]


def test_what_is_added_for_items_of_few_rankers():
    robust, model_based = np.array([4.0, 9.0, 0.1, 50.0]), np.array([2.0, 4.5, 1.0, 1.0])
    added, ratio = shortfall(robust, model_based, np.array([20, 20, 1.5, 1.5]))
    np.testing.assert_allclose(added, [0, 0, 2 * 1 - 0.1, 0])
    assert ratio == pytest.approx(np.sqrt(2))
    assert not shortfall(robust, model_based, np.array([3, 3.5, 4, 3])).added.any()  # few in all


def test_a_prior_is_part_of_robust_errors():
    # Of each item the prior knows as much as its rankings, or far more.
    model = PlackettLuce(prior=NormalPrior(0, 0.5), n_jobs=1).fit(by_rankers(30, 3, taste=0, n_items=20))
    assert 0.85 < model.error_ratio_ < 1.15
    model = PlackettLuce(prior=NormalPrior(0, 0.1), n_jobs=1).fit(by_rankers(30, 3, taste=0, n_items=20))
    np.testing.assert_allclose(model.standard_errors("sandwich"), 0.1, rtol=0.1)


def test_robust_contrasts_of_many_items_need_no_matrix(monkeypatch):
    rankings = by_rankers(30, 40, n_items=12)
    for settings in ({}, {"prior": NormalPrior(0, 0.2)}):
        model = PlackettLuce(n_jobs=1, **settings).fit(rankings)
        exact = quiet(model.contrast, 3, 4), quiet(model.standard_errors), model.error_ratio_
        with monkeypatch.context() as patch:
            patch.setattr(error_kinds, "LARGEST_MATRIX", 5)
            assert quiet(model.contrast, 3, 4) == pytest.approx(exact[0], rel=1e-4)
            np.testing.assert_allclose(quiet(model.standard_errors), exact[1], rtol=0.2)
            assert model.error_ratio_ == pytest.approx(exact[2], rel=0.15)
            with pytest.raises(OptionError, match=r"must be one of observed, expected, sandwich\. Got 'robust'"):
                model.standard_errors("robust")


def test_robust_errors_of_many_items_know_of_tie_parameters(monkeypatch):
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 6, 600), rng.integers(1, 6, 600)
    right = (left + right) % 6
    outcome = rng.choice([1, 0.5, 0], 600, p=[0.5, 0.3, 0.2])  # the left one is favored, so ties and worths correlate
    rankings = Rankings.from_pairs(left, right, outcome, rankers=rng.integers(0, 30, 600))
    model = PlackettLuce("davidson", n_jobs=1).fit(rankings)
    exact = model.contrast(0, 1, "sandwich")[1]
    monkeypatch.setattr(error_kinds, "LARGEST_MATRIX", 5)
    assert model.contrast(0, 1, "sandwich")[1] == pytest.approx(exact, rel=1e-4)


def test_expected_errors_of_many_items_are_not_the_observed(monkeypatch):
    model = PlackettLuce("rao-kupper", n_jobs=1).fit(pudding())
    exact = model.contrast(1, 2, "expected")[1]
    monkeypatch.setattr(error_kinds, "LARGEST_MATRIX", 5)
    assert model.contrast(1, 2, "expected")[1] == pytest.approx(exact, rel=1e-5)
    assert model.contrast(1, 2, "observed")[1] != pytest.approx(exact, rel=1e-5)


def test_a_summary_counts_rankings_and_names_the_errors():
    orderings = [["a", "b", "c"], ["b", "a"], ["c", "b"], ["a", "z"]]
    with pytest.warns(LuceWarning, match="cannot be estimated"):
        model = PlackettLuce().fit(Rankings.from_orderings(orderings, weights=[2, 1, 0.5, 1]))
    table = model.summary()
    assert dict(zip(table["item"].to_pylist(), table["n_rankings"].to_pylist(), strict=True)) == {
        "a": 4,
        "b": 3.5,
        "c": 2.5,
        "z": 1,
    }
    assert table.schema.metadata == {b"errors": b"observed", b"prior": b"None"}
    table = PlackettLuce(n_jobs=1).fit(by_rankers(taste=0)).summary()
    expected = b"sandwich, clustered by ranker, Student's t with 39 degrees of freedom"
    assert table.schema.metadata[b"errors"] == expected


def test_a_summary_of_teams_counts_the_rankings_of_members():
    rankings = Rankings.from_orderings([["x", "y"], ["y", "x"], ["x", "z"], ["z", "x"]])
    teams = {"x": ["ann", "bob"], "y": ["cy"], "z": ["bob", "cy"]}
    model = PlackettLuce(teams=teams, prior=NormalPrior(0, 1)).fit(rankings)
    table = model.summary()
    counts = dict(zip(table["item"].to_pylist(), table["n_rankings"].to_pylist(), strict=True))
    assert counts == {"ann": 4, "bob": 6, "cy": 4}


def test_items_of_equal_features_have_quasi_errors():
    features = np.array([[0.0, 1], [1, 0], [1, 0], [2, 1], [0, 3], [1, 1]])  # the second and third are alike
    quasi = PlackettLuce(features=features).fit(strict()[0]).quasi_standard_errors()
    assert np.isfinite(quasi.errors[[0, 3, 4, 5]]).all()
    assert quasi.errors[1] == pytest.approx(quasi.errors[2], nan_ok=True)
    assert np.isfinite(quasi.worst).all()
    alone = fit_quasi_variances(np.diag([1.0, 4, 9, 0, 0]))  # the last two have no variance at all
    np.testing.assert_allclose(alone.errors[:3], [1, 2, 3], rtol=1e-6)


def test_equal_worths_are_never_significantly_different():
    # The last two are equal but for rounding, and their difference has no variance, as with equal features.
    log_worths = np.array([1.0, 0.1 + 0.2, 0.3])
    variances = np.array([[0, 0.01, 0.01], [0.01, 0, 0], [0.01, 0, 0]])
    of = lambda rows: variances[rows]  # noqa: E731
    assert rank_intervals(log_worths, of, 0.95).tolist() == [[1, 1], [2, 3], [2, 3]]
    assert tiers(log_worths, of, 0.95).tolist() == [1, 2, 2]


def test_rankings_that_weigh_less_than_two_do_not_vary():
    votes = Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]], weights=[0.4] * 3)
    model = PlackettLuce().fit(votes)
    for method in (lambda: model.standard_errors("sandwich"), lambda: model.bootstrap(2)):
        with pytest.raises(DataError, match=r"These weigh 1\.2"):
            method()


def test_rankers_of_two_rankings_of_half_a_weight_repeat():
    votes = Rankings.from_orderings([["a", "b"], ["b", "a"]] * 4, rankers=[0, 0, 1, 1, 2, 2, 3, 3], weights=[0.5] * 8)
    assert count_rankers(observe(votes), votes.rankers).repeated


def test_raised_errors_are_those_of_the_covariance_matrix(monkeypatch):
    orders = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "c", "b"]] * 5
    rankers = [number // 2 for number in range(20)]
    rare = Rankings.from_orderings([*orders, ["d", "a"], ["b", "d"]], rankers=[*rankers, 0, 0])
    model = quiet(PlackettLuce().fit, rare)
    matrix = quiet(model.covariance)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert matrix[3, 3] >= model.covariance("observed")[3, 3] - 1e-12
    contrast = matrix[0, 0] + matrix[3, 3] - 2 * matrix[0, 3]
    assert model.contrast("a", "d", "sandwich")[1] ** 2 == pytest.approx(contrast)
    np.testing.assert_array_equal(matrix, model.covariance("sandwich"))
    monkeypatch.setattr(error_kinds, "LARGEST_MATRIX", 3)  # whichever of the two was raised
    assert model.contrast("a", "d", "sandwich")[1] == pytest.approx(model.contrast("d", "a", "sandwich")[1])


def test_tiers_by_few_rankers_are_of_students_t():
    log_worths, variances = np.array([0.0, 0.25]), lambda rows: np.full((1, 2), 0.01)
    assert tiers(log_worths, variances, 0.95).tolist() == [2, 1]
    assert tiers(log_worths, variances, 0.95, degrees_of_freedom=2).tolist() == [1, 1]
