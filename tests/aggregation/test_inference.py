"""How sure a fit is: standard errors against formulas, R and simulation; quasi-errors, ranks, tiers, the bootstrap."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from luce.aggregation import (
    NormalPrior,
    PlackettLuce,
    PseudoRankings,
    Rankings,
    covariance,
    error_kinds,
    large_covariance,
)
from luce.aggregation.comparisons import critical_value, fit_quasi_variances, rank_intervals, tiers
from luce.aggregation.likelihood import ranking_log_probabilities, ranking_scores
from luce.errors import DataError, LuceWarning, OptionError

from .ranking_data import fruit, mixed, pudding, strict


def test_figures_of_r():
    model = PlackettLuce("davidson").fit(pudding())
    errors = model.standard_errors(reference=1)
    np.testing.assert_allclose(errors, [0, 0.1872, 0.1935, 0.1882, 0.1927, 0.1924], atol=6e-5)
    assert model.tie_standard_errors()["tie2"] == pytest.approx(0.0825, abs=5e-6)
    to_mean = [0.121939, 0.121813, 0.126818, 0.121998, 0.127049, 0.126580]
    np.testing.assert_allclose(model.standard_errors(), to_mean, atol=2e-5)
    quasi = [0.1328834, 0.1327324, 0.1395693, 0.1330195, 0.1399200, 0.1391874]  # printed after seven iterations
    np.testing.assert_allclose(model.quasi_standard_errors().errors, quasi, atol=3e-5)


def test_figures_of_r_with_pseudo_wins_which_are_no_evidence():
    model = PlackettLuce("davidson", prior=PseudoRankings(0.5)).fit(fruit())
    np.testing.assert_allclose(model.standard_errors(reference="apple"), [0, 1.042049, 1.115181, 1.067688], atol=1e-6)
    quasi = model.quasi_standard_errors()
    np.testing.assert_allclose(quasi.errors, [0.6655053, 0.8372194, 0.8320735, 0.8632849], atol=5e-7)
    assert quasi.worst[0] < 0 < quasi.worst[1] < 0.05


@pytest.mark.parametrize("ties", ["exact", "davidson"])
@pytest.mark.parametrize("prior", [None, NormalPrior(0, 1)])
def test_observed_errors_are_the_inverse_of_the_hessian(ties, prior):
    model = PlackettLuce(ties, prior=prior).fit(mixed(n_rankings=120))
    point, h = model._point, 1e-5
    columns = [
        (model._posterior.value_and_gradient(point + u)[1] - model._posterior.value_and_gradient(point - u)[1])
        / (2 * h)
        for u in np.eye(len(point)) * h
    ]
    inverse = np.linalg.pinv(np.array(columns), rcond=1e-8)
    centre = np.eye(len(point))
    centre[:8, :8] -= 1 / 8
    np.testing.assert_allclose(model.covariance("observed"), centre @ inverse @ centre, rtol=1e-4, atol=1e-6)
    difference, error = model.contrast("a", "c", "observed")
    expected = inverse[0, 0] + inverse[2, 2] - 2 * inverse[0, 2]
    assert error == pytest.approx(np.sqrt(expected), rel=1e-4)
    assert difference == pytest.approx(model.log_worths_[0] - model.log_worths_[2])
    roots = np.sqrt(np.diag(centre @ inverse @ centre))[8:]
    np.testing.assert_allclose(list(model.tie_standard_errors("observed").values()), roots, rtol=1e-4)


def test_expected_errors():
    davidson = PlackettLuce("davidson").fit(pudding())
    np.testing.assert_allclose(davidson.covariance("expected"), davidson.covariance())
    model = PlackettLuce("rao-kupper").fit(pudding())
    margin, scores = model.tie_parameters_["margin"], model.log_worths_
    information = np.zeros((7, 7))
    for i, j, n in pair_totals():
        gap, signs = scores[i] - scores[j], np.zeros(7)
        signs[i], signs[j] = 1, -1
        win, loss = expit(gap - margin), expit(-gap - margin)
        unit = np.eye(7)[6]
        slopes = [
            (win, (1 - win) * (signs - unit)),
            (loss, (1 - loss) * (-signs - unit)),
            (1 - win - loss, (loss - win) * signs + (2 / -np.expm1(-2 * margin) - 2 + win + loss) * unit),
        ]
        information += n * sum(p * np.outer(s, s) for p, s in slopes)
    inverse = np.linalg.pinv(information, rcond=1e-9)
    np.testing.assert_allclose(model.covariance("expected"), inverse, atol=1e-9)
    assert np.abs(model.covariance() - inverse).max() > 1e-5


def pair_totals():
    rankings = pudding()
    table = {}
    for q in range(len(rankings)):
        pair = tuple(sorted(rankings.items[2 * q : 2 * q + 2].tolist()))
        table[pair] = table.get(pair, 0) + rankings.weights[q]
    return [(*pair, n) for pair, n in table.items()]


def test_expected_errors_of_ties_in_unknown_order_are_near_the_observed():
    rankings = mixed(n_rankings=400)
    model = PlackettLuce("exact").fit(rankings)
    ratio = model.standard_errors("expected") / model.standard_errors("observed")
    assert (np.abs(ratio - 1) < 0.15).all()
    assert (ratio != 1).all()


@pytest.mark.parametrize("clustered", [False, True])
def test_robust_errors(clustered):
    rankings = mixed(n_rankings=150)
    if not clustered:
        rankings = Rankings(
            **{
                name: getattr(rankings, name)
                for name in ("items", "places", "offsets", "open_end", "pool", "pools", "weights", "names")
            }
        )
    model = PlackettLuce("davidson").fit(rankings)
    own = np.empty((150, len(model._point)))
    h = 1e-5
    for k, unit in enumerate(np.eye(len(model._point)) * h):
        for sign in (1, -1):
            moved = PlackettLuce("davidson").fit(rankings)
            moved._point = model._point + sign * unit
            moved.log_worths_ = moved._point[:8]
            own[:, k] = moved.log_prob(rankings) if sign == 1 else (own[:, k] - moved.log_prob(rankings)) / (2 * h)
    weights = rankings.weights
    if clustered:
        sums = np.zeros((7, own.shape[1]))
        np.add.at(sums, rankings.rankers, weights[:, None] * own)
        middle = sums.T @ sums * 7 / 6
    else:
        middle = (own.T * weights) @ own * weights.sum() / (weights.sum() - 1)
    bread = model.covariance("observed")
    np.testing.assert_allclose(model.covariance("sandwich"), bread @ middle @ bread, rtol=1e-4, atol=1e-7)


def test_slopes_of_single_comparisons_under_rao_and_kupper():
    model = PlackettLuce("rao-kupper").fit(pudding())
    likelihood, point, h = model._posterior.likelihood, model._point, 1e-6
    slopes = ranking_scores(likelihood, point[:6], point[6:]).toarray()
    for k, unit in enumerate(np.eye(7) * h):
        above, below = (ranking_log_probabilities(likelihood, *np.split(point + sign * unit, [6])) for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, k], (above - below) / (2 * h), atol=1e-8)


def test_errors_of_features():
    rankings, _ = strict(n_items=5, n_rankings=60)
    X = np.random.default_rng(0).normal(size=(5, 2))
    model = PlackettLuce(features=X).fit(rankings)
    errors = np.array(list(model.coefficient_standard_errors().values()))
    point, h = model._point, 1e-5
    slopes = [model._posterior.value_and_gradient(point + sign * u)[1] for u in np.eye(2) * h for sign in (1, -1)]
    hessian = np.array([slopes[0] - slopes[1], slopes[2] - slopes[3]]) / (2 * h)
    covariance = np.linalg.inv(hessian)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-5)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.covariance(), centred @ covariance @ centred.T, rtol=1e-4, atol=1e-8)


def test_intervals_cover():
    # 300 data sets of the same truth: 3,000 intervals, of which about 95 in 100 hold it.
    rng, covered = np.random.default_rng(0), []
    truth = np.linspace(-1, 1, 10)
    sets = [rng.choice(10, 4, replace=False) for _ in range(150)]
    for _ in range(300):
        orderings = [items[np.argsort(-(truth[items] + rng.gumbel(size=4)))].tolist() for items in sets]
        model = PlackettLuce(None, n_jobs=1).fit(Rankings.from_orderings(orderings, n_items=10))
        bounds = model.intervals(0.95)
        covered.append((bounds[:, 0] < truth) & (truth < bounds[:, 1]))
    assert 0.93 < np.mean(covered) < 0.97


def test_clustered_intervals_cover_where_rankers_repeat_themselves():
    # Each of 60 rankers compares the six items once, and says everything five times over.
    rng, covered = np.random.default_rng(1), {"observed": [], "sandwich": []}
    truth = np.linspace(-0.75, 0.75, 6)
    for _ in range(150):
        said = [np.argsort(-(truth + rng.gumbel(size=6))).tolist() for _ in range(60)]
        rankers = np.repeat(np.arange(60), 5)
        rankings = Rankings.from_orderings([said[r] for r in rankers], n_items=6, rankers=rankers)
        model = PlackettLuce(None, n_jobs=1).fit(rankings)
        for kind, found in covered.items():
            bounds = model.intervals(0.95, kind)
            found.append((bounds[:, 0] < truth) & (truth < bounds[:, 1]))
    assert 0.92 < np.mean(covered["sandwich"]) < 0.975
    assert np.mean(covered["observed"]) < 0.75


def test_quasi_errors_are_the_best_fit():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(7, 7))
    covariance = root @ root.T + np.diag(rng.random(7) * 3)
    found = fit_quasi_variances(covariance)
    i, j = np.triu_indices(7, 1)
    variances = np.diag(covariance)[i] + np.diag(covariance)[j] - 2 * covariance[i, j]

    def loss(q):
        sums = q[i] + q[j]
        return np.sum(np.log(sums / variances) ** 2) if (sums > 0).all() else np.inf

    options = {"maxiter": 50_000, "maxfev": 50_000, "xatol": 1e-9, "fatol": 1e-14}
    best = minimize(loss, np.full(7, variances.mean() / 2), method="Nelder-Mead", options=options)
    assert loss(found.errors**2) <= best.fun + 1e-9
    relative = np.sqrt((found.errors[i] ** 2 + found.errors[j] ** 2) / variances) - 1
    assert found.worst == pytest.approx((relative.min(), relative.max()))


def test_quasi_errors_of_one_two_and_independent_items():
    assert fit_quasi_variances(np.zeros((1, 1))).errors.tolist() == [0]
    np.testing.assert_allclose(fit_quasi_variances(np.array([[1.0, -1], [-1, 1]])).errors, np.sqrt([2, 2]))
    exact = fit_quasi_variances(np.diag([1.0, 4, 9, 16]) + 5)
    np.testing.assert_allclose(exact.errors, [1, 2, 3, 4])
    assert exact.worst == pytest.approx((0, 0), abs=1e-12)


def test_many_items_need_no_matrix(monkeypatch):
    rankings, _ = strict(n_items=60, n_rankings=600, sizes=(5, 9))
    for settings in ({}, {"prior": NormalPrior(0, 1)}, {"prior": PseudoRankings(0.5)}):
        model = PlackettLuce(**settings).fit(rankings)
        exact = {kind: model.standard_errors(kind) for kind in ("observed", "sandwich")}
        contrast = model.contrast(3, 4)
        with monkeypatch.context() as patch:
            patch.setattr(error_kinds, "LARGEST_MATRIX", 50)
            for kind, errors in exact.items():
                np.testing.assert_allclose(model.standard_errors(kind), errors, rtol=0.15)
                assert 0 < model.standard_error_noise_ < 0.1
            assert model.contrast(3, 4) == pytest.approx(contrast, rel=1e-4)
            assert model.rank_intervals().shape == (60, 2)
            np.testing.assert_array_equal(model.quasi_standard_errors().errors, model.standard_errors())
            with pytest.raises(OptionError, match="one pair at a time"):
                model.standard_errors(reference=0)


def test_more_probes_come_nearer(monkeypatch):
    rankings, _ = strict(n_items=8, n_rankings=200, sizes=(4, 8))
    model = PlackettLuce().fit(rankings)
    exact = {kind: model.standard_errors(kind) for kind in ("observed", "sandwich")}
    monkeypatch.setattr(error_kinds, "LARGEST_MATRIX", 5)
    monkeypatch.setattr(large_covariance, "PROBES", 400)
    for kind, errors in exact.items():
        np.testing.assert_allclose(model.standard_errors(kind), errors, rtol=0.04)


def test_a_matrix_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(covariance, "LARGEST_MATRIX", 5)
    with pytest.raises(OptionError, match=r"A covariance matrix is computed for up to 5 items\. Got 6"):
        PlackettLuce().fit(strict()[0]).covariance()


def test_ranks_and_tiers():
    log_worths = np.array([0.0, 2.0, 1.9, -3.0, 0.1])
    same = lambda rows: np.full((len(range(*rows.indices(5))), 5), 0.01)  # noqa: E731
    ranks = rank_intervals(log_worths, same, 0.95)
    assert ranks.tolist() == [[3, 4], [1, 2], [1, 2], [5, 5], [3, 4]]
    assert tiers(log_worths, same, 0.95).tolist() == [2, 1, 1, 3, 2]
    vague = lambda rows: np.full((len(range(*rows.indices(5))), 5), 100.0)  # noqa: E731
    assert rank_intervals(log_worths, vague, 0.95).tolist() == [[1, 5]] * 5
    assert tiers(log_worths, vague, 0.95).tolist() == [1] * 5


def test_an_item_that_nothing_is_known_of_does_not_hold_a_tier_open():
    # The best by far is seldom seen; the next is surely better than the last, which falls to a tier of its own.
    log_worths, own = np.array([5.0, 2.0, -2.0]), np.array([100.0, 0.01, 0.01])
    assert tiers(log_worths, lambda rows: own[rows, None] + own, 0.95).tolist() == [1, 1, 2]


def test_rank_intervals_hold_the_true_ranks():
    rng, held = np.random.default_rng(2), []
    truth = np.linspace(-1, 1, 8)
    for _ in range(100):
        orderings = [np.argsort(-(truth + rng.gumbel(size=8))).tolist() for _ in range(40)]
        ranks = PlackettLuce(None, n_jobs=1).fit(Rankings.from_orderings(orderings, n_items=8)).rank_intervals(0.9)
        held.append((ranks[:, 0] <= np.arange(8, 0, -1)) & (np.arange(8, 0, -1) <= ranks[:, 1]))
        assert (ranks[:, 1] - ranks[:, 0]).max() < 7
    assert np.mean(held) > 0.9


def test_critical_values():
    assert critical_value(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical_value(0.95, 2) == pytest.approx(critical_value(np.sqrt(0.95)))


def test_the_bootstrap_agrees_with_the_errors():
    rankings, _ = strict(n_items=5, n_rankings=250, sizes=(3, 6))
    model = PlackettLuce(n_jobs=1).fit(rankings)
    draws = model.bootstrap(120)
    assert draws.shape == (120, 5)
    np.testing.assert_allclose(draws.std(axis=0), model.standard_errors("sandwich"), rtol=0.2)
    np.testing.assert_allclose(draws.mean(axis=0), model.log_worths_, atol=0.05)
    np.testing.assert_array_equal(draws[:3], model.bootstrap(3))
    assert not np.array_equal(draws[:3], model.bootstrap(3, random_state=1))
    with pytest.raises(OptionError, match="n_samples must be at least 1"):
        model.bootstrap(0)


def test_the_bootstrap_keeps_rankers_together():
    # Each of 80 rankers orders four items, and says so by the whole and by its pairs: one voice, not seven.
    rng, orderings, rankers = np.random.default_rng(0), [], []
    for ranker in range(80):
        order = np.argsort(-(np.array([0.5, 0.2, 0, -0.7]) + rng.gumbel(size=4))).tolist()
        said = [order, *([a, b] for i, a in enumerate(order) for b in order[i + 1 :])]
        orderings += said
        rankers += [ranker] * len(said)
    model = PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(orderings, n_items=4, rankers=rankers))
    errors = model.bootstrap(120).std(axis=0)
    np.testing.assert_allclose(errors, model.standard_errors("sandwich"), rtol=0.2)
    assert (errors > 1.3 * model.standard_errors("observed")).all()


def test_the_bootstrap_leaves_out_what_cannot_be_estimated():
    rankings = Rankings.from_orderings([["a", "b", "c", "z"], ["b", "c", "a"], ["c", "a", "b", "z"]])
    with pytest.warns(LuceWarning):
        model = PlackettLuce("davidson", n_jobs=1).fit(rankings)
    draws = model.bootstrap(5)
    at = model.names_.index("z")
    assert np.isnan(draws[:, at]).all()
    assert np.isfinite(np.delete(draws, at, axis=1)).all()
    assert np.isnan(model.standard_errors()[at])
    assert model.rank_intervals()[at].tolist() == [0, 0]
    assert np.isnan(model.covariance()[at]).all()
    with pytest.raises(DataError, match="'z' has no worth: never placed above another item"):
        model.contrast("a", "z")


def test_pseudo_wins_count_where_the_rankings_alone_link_nothing():
    model = PlackettLuce(prior=PseudoRankings(0.5)).fit([["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]])
    with pytest.warns(LuceWarning, match="the pseudo-wins are counted"):
        errors = model.standard_errors()
    assert np.isfinite(errors).all()


def test_asking_for_what_is_not_there():
    model = PlackettLuce().fit(strict()[0])
    with pytest.raises(OptionError, match=r"must be one of observed, expected, sandwich\. Got 'robust'"):
        model.standard_errors("robust")
    with pytest.raises(OptionError, match="level must lie between 0 and 1"):
        model.intervals(95)
    with pytest.raises(DataError, match=r"There is no item 'zed' in this model\. Known: 0, 1"):
        model.contrast("zed", 0)


def test_an_item_whose_quasi_variance_is_below_0_has_no_quasi_error():
    # The differences a − b and b − c have variance 1 and covariance ½: q_b = (1 + 1 − 3) / 2.
    quasi = fit_quasi_variances(np.array([[1, 0, -0.5], [0, 0, 0], [-0.5, 0, 1]]))
    np.testing.assert_allclose(quasi.errors, [np.sqrt(1.5), np.nan, np.sqrt(1.5)])
    np.testing.assert_allclose(quasi.worst, 0, atol=1e-9)


def test_rank_intervals_allow_for_all_comparisons_of_an_item():
    unit = lambda rows: np.ones((len(range(*rows.indices(11))), 11))  # noqa: E731
    for lead, lowest in ((2.7, 11), (2.9, 1)):  # of ten differences together, one of 2.8 standard errors is significant
        log_worths = np.array([lead] + [0.0] * 10)
        assert rank_intervals(log_worths, unit, 0.95)[0].tolist() == [1, lowest]


def test_errors_from_a_reference_that_follows_an_item_that_is_not_estimable():
    orderings = [["a", "b", "c"], ["b", "c", "a"], ["c", "b"], ["c", "a", "b"]]
    with pytest.warns(LuceWarning, match="cannot be estimated"):
        model = PlackettLuce().fit(Rankings.from_orderings([*orderings, ["a", "z"]], names=["z", "a", "b", "c"]))
    alone = PlackettLuce().fit(Rankings.from_orderings(orderings, names=["a", "b", "c"]))
    for reference in "abc":
        errors = model.standard_errors(reference=reference)
        np.testing.assert_allclose(errors, [np.nan, *alone.standard_errors(reference=reference)], atol=1e-6)


def test_the_bootstrap_keeps_the_weights_of_the_rankings_of_a_ranker():
    orderings, rankers = [["a", "b"], ["b", "a"]] * 2, ["ann", "ann", "bob", "bob"]
    rankings = Rankings.from_orderings(orderings, weights=[3, 1, 3, 1], rankers=rankers)
    draws = PlackettLuce().fit(rankings).bootstrap(3)  # three to one, however much either ranker counts
    np.testing.assert_allclose(draws[:, 0] - draws[:, 1], np.log(3), atol=1e-6)
