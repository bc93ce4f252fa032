"""The Plackett-Luce model: optima, R's published figures, ties against enumeration, priors, features, teams."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings, ordered_partition
from luce.aggregation.likelihood import Likelihood
from luce.aggregation.observed import observe
from luce.errors import DataError, LuceWarning, OptionError
from luce.kernels.davidson_ties.reference import davidson_ties
from luce.kernels.enumeration import consistent_orders, log_probability

from .ranking_data import PUDDING, fruit, mixed, pudding, strict

PRIORS = [None, PseudoRankings(0.5), NormalPrior(0, 2)]


def relative(model, name):
    """Log worths less that of an item, as R prints them."""
    return model.log_worths_ - model.log_worths_[model.names_.index(name)]


def log_ties(model):
    return [np.log(value) for value in model.tie_parameters_.values()]


@pytest.mark.parametrize(
    ("prior", "worths", "ties"),
    [
        (None, [0.0, 0.2942875, -0.7335113, -0.1190960], [-1.8619467, -0.7369735]),
        (PseudoRankings(0.5), [0.0, 0.25287379, -0.61350684, -0.08688475], [-2.15068111, -0.79245358]),
        (NormalPrior(0, 3), [0.0, 0.27536, -0.67730, -0.10302], [-1.86796, -0.74530]),  # R's own search ends early here
    ],
)
def test_figures_of_r_with_ties(prior, worths, ties):
    model = PlackettLuce("davidson", prior=prior).fit(fruit())
    tol = 2e-5 if isinstance(prior, NormalPrior) else 2e-7
    np.testing.assert_allclose(relative(model, "apple"), worths, atol=tol)
    np.testing.assert_allclose(log_ties(model), ties, atol=tol)


def test_figures_of_r_for_pairs():
    model = PlackettLuce("davidson").fit(pudding())
    np.testing.assert_allclose(
        model.worths_, [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855], atol=3e-5
    )  # printed after seven iterations
    assert model.tie_parameters_["tie2"] == pytest.approx(0.7468147, abs=2e-5)
    assert -2 * model.log_likelihood_ == pytest.approx(1619.4, abs=0.05)
    assert model.aic_ == pytest.approx(1631.4, abs=0.05)
    assert model.bic_ == pytest.approx(-2 * model.log_likelihood_ + 6 * np.log(pudding().weights.sum()))


def test_figures_of_r_for_a_small_network():
    rankings = Rankings.from_orderings([["A", "B"], ["C", "A"], ["A", "D"], ["B", "A"], ["B", "C"]])
    with pytest.warns(LuceWarning, match="1 item of 4 cannot be estimated.*never placed above another item: 'D'"):
        model = PlackettLuce().fit(rankings)
    worths = dict(zip(model.names_, relative(model, "A").round(4).tolist(), strict=True))
    assert {name: worths[name] for name in "ABC"} == {"A": 0, "B": 0.8392, "C": 0.4196}
    assert np.isnan(worths["D"])
    assert -2 * model.log_likelihood_ == pytest.approx(5.1356, abs=5e-5)
    assert model.not_estimable_ == {"D": "never placed above another item"}
    assert model.estimable_.tolist() == [name != "D" for name in model.names_]
    shrunk = PlackettLuce(prior=PseudoRankings(0.5)).fit(rankings)
    worths = dict(zip(shrunk.names_, relative(shrunk, "A"), strict=True))
    np.testing.assert_allclose([worths[n] for n in "BCD"], [0.5184180, 0.1354701, -1.1537567], atol=1e-6)


def negative_log_posterior(rankings, ties, prior):
    """Of log worths and tie parameters, by enumeration: every order of a tie, or every subset for Davidson."""
    n, seen = rankings.n_items, observe(rankings).expand_pools()
    levels = [seen.places[seen.offsets[q] : seen.offsets[q + 1]] for q in range(seen.n_rankings)]
    possible = [list(consistent_orders((-places).tolist())) for places in levels]

    def value(point):
        scores, extra = point[:n], point[n:]
        total = 0.0
        for q in range(seen.n_rankings):
            rows = slice(seen.offsets[q], seen.offsets[q + 1])
            s = scores[seen.items[rows]]
            if ties == "davidson":
                orders = np.arange(1, len(extra) + 2)
                orders = orders[orders <= len(s)]
                deltas = np.append(0.0, extra)[: len(orders)]
                total += seen.weights[q] * davidson_ties(s, levels[q], seen.open_end[q], orders, deltas)[0]
            else:
                logs = [log_probability(s, order) for order in possible[q]]
                total += seen.weights[q] * logsumexp(logs)
        if isinstance(prior, NormalPrior):
            total -= 0.5 * np.sum((scores / prior.sd) ** 2)
        return -total

    return value


@pytest.mark.parametrize("prior", [None, NormalPrior(0, 2)])
@pytest.mark.parametrize("ties", ["exact", "davidson"])
def test_equal_an_independent_optimiser_on_enumerated_likelihoods(ties, prior):
    orderings = [[0, [1, 2], 3], [[3, 0], 1], [2, [0, 1, 3]], [1, 3, 2, 0], [[1, 3], [0, 2]], [2, 1]]
    rankings = Rankings.from_orderings(orderings, n_items=4, weights=[1, 2, 1, 0.5, 1, 1])
    model = PlackettLuce(ties, prior=prior).fit(rankings)
    n_ties = len(model.tie_parameters_)
    value = negative_log_posterior(rankings, ties, prior)
    start = np.zeros(4 + n_ties)
    found = minimize(value, start, method="BFGS", options={"gtol": 1e-9})
    worths = found.x[:4] - found.x[:4].mean()
    np.testing.assert_allclose(model.log_worths_, worths, atol=2e-5)
    np.testing.assert_allclose(log_ties(model), found.x[4:], atol=2e-5)
    at_ours = value(np.concatenate([model._point[:4], log_ties(model)]))
    assert at_ours <= found.fun + 1e-10
    if prior is None:
        assert model.log_likelihood_ == pytest.approx(-at_ours, abs=1e-9)


@pytest.mark.parametrize("ties", ["exact", "davidson", None])
@pytest.mark.parametrize("prior", PRIORS)
def test_the_gradient_and_the_hessian_are_derivatives(ties, prior):
    rankings = mixed(ties=ties is not None)
    posterior = PlackettLuce(ties, prior=prior, n_jobs=1)._set_up(rankings).posterior
    rng = np.random.default_rng(0)
    size = posterior.parametrization.n_parameters + posterior.likelihood.n_ties
    point, direction, h = rng.normal(0, 1.5, size), rng.normal(size=size), 1e-5
    above, below = (posterior.value_and_gradient(point + step * direction) for step in (h, -h))
    value, gradient = posterior.value_and_gradient(point)
    assert np.isfinite(value)
    assert gradient @ direction == pytest.approx((above[0] - below[0]) / (2 * h), rel=1e-6)
    here = posterior.hessian(point)
    expected = (above[1] - below[1]) / (2 * h)
    np.testing.assert_allclose(here.product(direction), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(here.matrix() @ direction, expected, rtol=1e-5, atol=1e-6)
    assert (here.diagonal() > 0).all()


@pytest.mark.parametrize("ties", ["exact", "davidson"])
def test_pools_are_what_they_stand_for(ties):
    rankings = mixed(seed=3)
    written = observe(rankings).expand_pools()
    explicit = Rankings(
        **{name: getattr(written, name) for name in ("items", "places", "offsets", "open_end", "weights")},
        names=rankings.names,
    )
    one, other = (PlackettLuce(ties).fit(given) for given in (rankings, explicit))
    np.testing.assert_allclose(one.log_worths_, other.log_worths_, atol=1e-7)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-8)


@pytest.mark.parametrize("ties", ["davidson", None])
def test_expected_wins(ties):
    # At the optimum without a prior every item is chosen as often as expected; all choices are somebody's.
    rankings = mixed(ties=ties is not None)
    model = PlackettLuce(ties).fit(rankings)
    likelihood = model._posterior.likelihood
    terms, extra = likelihood.terms, model._posterior.split(model._point)[1]
    wins = sum(term.wins for term in terms)
    expected = wins - sum(term.value_and_gradient(model.log_worths_, extra)[1] for term in terms)
    np.testing.assert_allclose(wins, expected, atol=1e-7)
    assert wins.sum() == pytest.approx(rankings.weights @ likelihood.observed.n_choices)
    elsewhere = np.linspace(-1, 1, 8)
    expected = wins - sum(term.value_and_gradient(elsewhere, extra)[1] for term in terms)
    assert expected.sum() == pytest.approx(wins.sum())
    assert (expected > 0).all()


def test_scores_too_far_apart_for_one_scale():
    rankings, rng = mixed(ties=False), np.random.default_rng(1)
    likelihood = Likelihood(observe(rankings), None, 1)
    scores = rng.normal(0, 1e3, 8)
    value, gradient, _ = likelihood.value_and_gradient(scores, np.zeros(0))
    whole = Likelihood(observe(rankings).expand_pools(), "exact", 1)
    assert value == pytest.approx(whole.value_and_gradient(scores, np.zeros(0))[0], rel=1e-12)
    assert np.isfinite(gradient).all()
    for term in likelihood.terms:
        product = term.information(scores, np.zeros(0)).product(rng.normal(size=8), np.zeros(0))[0]
        assert np.isfinite(product).all()


def test_without_ties_every_model_is_the_same():
    rankings, _ = strict()
    models = [PlackettLuce(ties).fit(rankings) for ties in ("exact", "davidson", None)]
    for model in models[1:]:
        np.testing.assert_allclose(model.log_worths_, models[0].log_worths_, atol=1e-9)
        assert model.tie_parameters_ == {}
    pairs, _ = strict(sizes=(2, 3))
    ours, theirs = PlackettLuce("rao-kupper").fit(pairs), PlackettLuce(None).fit(pairs)
    np.testing.assert_allclose(ours.log_worths_, theirs.log_worths_, atol=1e-9)


def test_rao_kupper_maximises_its_likelihood():
    model = PlackettLuce("rao-kupper").fit(pudding())
    i, j, won, lost, tied = map(np.array, zip(*PUDDING, strict=True))

    def value(point):
        scores, margin = point[:6], point[6]
        gap = scores[i - 1] - scores[j - 1]
        win, loss = -np.logaddexp(0, margin - gap), -np.logaddexp(0, margin + gap)
        return -(won @ win + lost @ loss + tied @ (win + loss + np.log(np.expm1(2 * margin))))

    found = minimize(value, np.append(np.zeros(6), 0.5), method="BFGS", options={"gtol": 1e-8})
    assert model.tie_parameters_["margin"] == pytest.approx(found.x[6], abs=1e-6)
    np.testing.assert_allclose(model.log_worths_, found.x[:6] - found.x[:6].mean(), atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-8)


def test_weights_are_repetitions_and_order_means_nothing():
    rankings = mixed(n_rankings=20)
    counts = np.arange(20) % 3 + 1
    repeated = rankings.take(np.repeat(np.arange(20), counts))
    weighted = replace(rankings, weights=counts.astype(float))
    repeated = replace(repeated, weights=np.ones(counts.sum()))
    shuffled = repeated.take(np.random.default_rng(0).permutation(counts.sum()))
    for ties in ("exact", "davidson"):
        models = [PlackettLuce(ties, prior=NormalPrior(0, 3)).fit(given) for given in (weighted, repeated, shuffled)]
        for model in models[1:]:
            np.testing.assert_allclose(model.log_worths_, models[0].log_worths_, atol=1e-8)
            assert model.log_likelihood_ == pytest.approx(models[0].log_likelihood_, abs=1e-8)


def test_rankings_of_weight_zero_are_as_good_as_absent():
    rankings, _ = strict()
    weights = np.ones(len(rankings))
    weights[::3] = 0
    ours = PlackettLuce().fit(replace(rankings, weights=weights))
    np.testing.assert_allclose(ours.log_worths_, PlackettLuce().fit(rankings.take(weights > 0)).log_worths_, atol=1e-9)


def test_many_items_by_conjugate_gradients_and_threads():
    rankings, truth = strict(n_items=300, n_rankings=6_000, sizes=(5, 9))
    models = [PlackettLuce(n_jobs=n, tol=1e-9).fit(rankings) for n in (1, 2)]
    assert models[0].convergence_.products > 0
    assert models[0].convergence_.gradient <= 1e-9
    np.testing.assert_allclose(models[0].log_worths_, models[1].log_worths_, atol=1e-8)
    assert np.corrcoef(models[0].log_worths_, truth)[0, 1] > 0.97


def test_a_chain_of_comparisons():
    # Item k beats k + 1 three times of four: differences of log 3, far from what a few gradients could find.
    n = 400
    better = np.concatenate([np.arange(n - 1), np.arange(1, n)])
    worse = np.concatenate([np.arange(1, n), np.arange(n - 1)])
    pairs = Rankings.from_pairs(better, worse, weights=np.repeat([3.0, 1.0], n - 1), n_items=n)
    model = PlackettLuce().fit(pairs)
    assert model.convergence_.converged
    np.testing.assert_allclose(np.diff(model.log_worths_), -np.log(3), atol=1e-6)


def test_a_prior_reaches_every_item():
    lonely = Rankings.from_orderings([["a", "b"], ["c", "d"]], names=["a", "b", "c", "d", "e"])
    for prior in (PseudoRankings(0.5), NormalPrior(0, 1)):
        model = PlackettLuce(prior=prior).fit(lonely)
        assert np.isfinite(model.log_worths_).all()
        assert model.log_worths_[4] == pytest.approx(0, abs=1e-9)
        assert model.log_worths_[0] == pytest.approx(model.log_worths_[2], abs=1e-9) != 0
    # The mode of σ(θ_a − θ_b) with a normal prior of sd 1: θ_a − θ_b = 2 (1 − σ(θ_a − θ_b)).
    gap = model.log_worths_[0] - model.log_worths_[1]
    assert gap == pytest.approx(2 / (1 + np.exp(gap)), abs=1e-8)


def test_a_normal_prior_has_a_mean_and_a_spread_for_each_item():
    rankings, _ = strict(n_items=3, n_rankings=4, sizes=(2, 4))
    strong = PlackettLuce(prior=NormalPrior(mean={0: 0, 1: 2, 2: 1}, sd=[1e-4, 1e-4, 1e-4])).fit(rankings)
    np.testing.assert_allclose(strong.log_worths_, [-1, 1, 0], atol=1e-3)
    with pytest.raises(DataError, match="The mean of the prior has no entry for 2"):
        PlackettLuce(prior=NormalPrior(mean={0: 0, 1: 2})).fit(rankings)
    with pytest.raises(OptionError, match="standard deviations above 0"):
        PlackettLuce(prior=NormalPrior(sd=0)).fit(rankings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ties": "both"}, "ties must be one of 'auto', 'exact', .*'half-wins', None. Got 'both'"),
        ({"prior": 3}, "prior must be None, 'auto', luce.aggregation.NormalPrior"),
        ({"adherence": 2.0}, "adherence must be None, True or luce.aggregation.GammaPrior"),
        ({"teams": {}, "features": {}}, "cannot be combined"),
        ({"teams": [1]}, "teams must map"),
        ({"tol": 0}, "tol must be above 0 and max_iter at least 1"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(OptionError, match=message):
        PlackettLuce(**settings).fit(fruit())


def test_ties_where_none_are_taken():
    message = r"ties=None \(--ties none\) allows no ties, but ranking 3 has a tie \(2 in total\)\. Use ties='davidson'"
    with pytest.raises(DataError, match=message):
        PlackettLuce(None).fit(fruit())
    unused = replace(fruit(), weights=np.array([1, 0, 1, 1, 1, 1.0]))
    with pytest.raises(DataError, match=r"needs comparisons of two items, but ranking 3 has 4 items \(4 in total\)"):
        PlackettLuce("rao-kupper").fit(unused)


def test_nothing_to_learn_from():
    rankings, _ = strict()
    for given in (rankings.take([]), replace(rankings, weights=np.zeros(len(rankings)))):
        with pytest.raises(DataError, match="There is nothing to learn from in Rankings"):
            PlackettLuce(prior=PseudoRankings(0.5)).fit(given)


def test_a_fit_that_fails_leaves_the_last_one_whole():
    model = PlackettLuce(features=np.arange(3.0)[:, None])
    model.fit(Rankings.from_orderings([[0, 1, 2], [2, 1, 0]], n_items=3))
    before = model.convergence_, model.log_worths_.copy(), model.rankings_
    with pytest.raises(DataError, match="do not determine a finite value"):
        model.fit(Rankings.from_orderings([[2, 1, 0], [2, 0]], n_items=3))
    assert model.convergence_ is before[0]
    assert model.rankings_ is before[2]
    np.testing.assert_array_equal(model.log_worths_, before[1])


def test_an_early_end_is_told_and_progress_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="luce"), pytest.warns(LuceWarning, match="NOT converged after 1 iter"):
        model = PlackettLuce(max_iter=1, tol=1e-15).fit(strict(spread=3)[0])
    assert not model.convergence_.converged
    assert any("iteration 1: log posterior" in record.message for record in caplog.records)


def test_follows_scikit_learn():
    model = PlackettLuce("davidson", prior=PseudoRankings(1.0), tol=1e-6)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert "PseudoRankings(npseudo=1.0)" in repr(model)
    fitted = copy.fit([["a", ["b", "c"]], ["c", "a", "b"]])
    assert fitted is copy
    assert fitted.names_ == ("a", "b", "c")


def test_a_start_saves_steps():
    rankings, _ = strict(n_items=30, n_rankings=300)
    first = PlackettLuce().fit(rankings)
    again = PlackettLuce().fit(rankings, start=first.log_worths_)
    assert again.convergence_.iterations <= 1
    np.testing.assert_allclose(again.log_worths_, first.log_worths_, atol=1e-8)


def test_generalised_rank_breaking():
    rng = np.random.default_rng(0)
    truth = np.array([1.5, 0.5, 0, -0.5, -1.5])
    votes = []
    for _ in range(1500):
        order = np.argsort(-(truth + rng.gumbel(size=5)))
        edges = [(a, b) for i, a in enumerate(order[:2]) for b in order[2:]]  # the best two above the others
        votes.append(ordered_partition(np.array(edges)))
    model = PlackettLuce("exact").fit(Rankings.from_orderings(votes, n_items=5))
    assert all(len(levels) == 2 for levels in votes)
    np.testing.assert_allclose(model.log_worths_, truth, atol=0.25)
