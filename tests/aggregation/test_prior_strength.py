"""A prior whose standard deviation the rankings decide: its likelihood, what it finds, and when it is used."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

from luce.aggregation import ItemScores, NormalPrior, PlackettLuce, PseudoRankings, Rankings, prior_strength
from luce.errors import OptionError

from .ranking_data import fruit, mixed, pudding, strict

ESTIMATE = NormalPrior(sd="estimate")


def races(n_drivers=40, n_races=80, sd=1.0, seed=0):
    """Races of ten, in which some drivers start often and others once or never; and the log worths."""
    rng = np.random.default_rng(seed)
    truth, starts = rng.normal(0, sd, n_drivers), 2 * rng.normal(size=n_drivers)
    fields = [np.argsort(-(starts + rng.gumbel(size=n_drivers)))[:10] for _ in range(n_races)]
    orderings = [field[np.argsort(-(truth[field] + rng.gumbel(size=10)))].tolist() for field in fields]
    return Rankings.from_orderings(orderings, n_items=n_drivers), truth


def laplace(model, rankings, sd):
    """The log-likelihood of σ: worths and tie parameters integrated out by Laplace's approximation."""
    found = PlackettLuce(model.ties, prior=NormalPrior(0, sd), features=model.features, tol=1e-12).fit(rankings)
    value = -found._posterior.value_and_gradient(found._point)[0]
    information = found._posterior.hessian(found._point).matrix()
    return value - len(found.names_) * np.log(sd) - np.linalg.slogdet(information)[1] / 2


@pytest.mark.parametrize(
    ("rankings", "settings"),
    [
        (strict()[0], {}),
        (pudding(), {"ties": "davidson"}),
        (mixed(), {"ties": "exact"}),
        (strict()[0], {"features": np.arange(6.0)[:, None]}),
    ],
)
def test_the_gradient_is_that_of_the_likelihood_of_the_standard_deviation(rankings, settings):
    for sd in (0.4, 1.5):
        model = PlackettLuce(prior=NormalPrior(0, sd), tol=1e-12, **settings).fit(rankings)
        above, below = (laplace(model, rankings, sd * np.exp(h)) for h in (1e-3, -1e-3))
        assert prior_strength._log_sd_gradient(model._posterior, model._point) == pytest.approx(
            (above - below) / 2e-3, abs=1e-4
        )


def test_the_estimate_is_most_likely_and_is_the_prior_that_is_used():
    rankings, truth = races()
    model = PlackettLuce(prior=ESTIMATE).fit(rankings)
    sd = model.prior_.sd
    assert model.prior_ == NormalPrior(0.0, float(f"{sd:.4g}"))
    assert sd == pytest.approx(truth.std(), rel=0.25)
    here, above, below = (
        laplace(model, rankings, sd * factor) - np.log(sd * factor) ** 2 / 2 for factor in (1, 1.05, 1 / 1.05)
    )
    assert here > max(above, below)
    again = PlackettLuce(prior=model.prior_).fit(rankings)
    np.testing.assert_allclose(model.log_worths_, again.log_worths_, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors(), again.standard_errors(), atol=1e-8)
    assert model.bootstrap(2).shape == (2, 40)
    assert model.prior_.sd == sd


@pytest.mark.parametrize("sd", [0.3, 2.0])
def test_many_items_need_no_matrix(sd, monkeypatch):
    rankings, _ = races(n_drivers=150, n_races=150, sd=sd)
    exact = PlackettLuce(prior=ESTIMATE).fit(rankings).prior_.sd
    assert exact == pytest.approx(sd, rel=0.25)
    monkeypatch.setattr(prior_strength, "FEW", 0)
    assert PlackettLuce(prior=ESTIMATE).fit(rankings).prior_.sd == pytest.approx(exact, rel=0.05)


def test_a_driver_of_one_race_does_not_lead():
    rng = np.random.default_rng(1)
    truth = np.linspace(-1, 1, 20)
    orderings = [(order := np.argsort(-(truth + rng.gumbel(size=20)))).tolist() for _ in range(60)]
    rankings = Rankings.from_orderings(
        [*orderings, [20, *order[order != 5].tolist()]], n_items=21
    )  # 20 wins its only one
    auto = PlackettLuce(prior="auto").fit(rankings)
    assert auto.prior_.sd == pytest.approx(truth.std(), rel=0.3)
    assert np.argmax(auto.log_worths_) != 20
    assert np.argmax(PlackettLuce(prior=PseudoRankings(0.5)).fit(rankings).log_worths_) == 20


def test_auto_uses_a_prior_only_where_it_is_needed():
    linked = [["a", "b", "c"], ["c", "b", "a"]]
    model = PlackettLuce(prior="auto").fit(linked)
    assert model.prior_ is None
    np.testing.assert_array_equal(model.log_worths_, PlackettLuce().fit(linked).log_worths_)
    apart = PlackettLuce(prior="auto").fit([["a", "b", "c"]])
    assert isinstance(apart.prior_, NormalPrior)
    assert np.isfinite(apart.log_worths_).all()
    tied = Rankings.from_pairs(["a", "a"], ["b", "b"], [1, 0.5])
    assert PlackettLuce(prior="auto").fit(tied).prior_ is None  # a tie links them, if it counts
    for settings in ({"features": np.eye(4)[:, :1]}, {"teams": {"apple": ["ann"]}}):
        with pytest.raises(OptionError, match="prior='auto' goes without features and teams"):
            PlackettLuce(prior="auto", **settings).fit(fruit())


@pytest.mark.parametrize("settings", [{"adherence": True}, {"teams": {0: ["ann", "bob"], 1: ["ann"]}}])
def test_adherence_and_teams_have_an_estimate_too(settings):
    model = PlackettLuce(prior=ESTIMATE, **settings).fit(strict()[0])
    assert 0.2 < model.prior_.sd < 3
    assert model.convergence_.converged


def test_extreme_rankings_have_a_finite_estimate():
    one_order = PlackettLuce(prior=ESTIMATE).fit([["a", "b", "c"]] * 1000).prior_.sd
    all_equal = PlackettLuce(prior=ESTIMATE).fit([["a", "b"], ["b", "a"]] * 1000).prior_.sd
    assert all_equal < 0.5 < 2 < one_order < 20


def test_what_a_standard_deviation_cannot_be():
    with pytest.raises(OptionError, match=r"must be numbers above 0 or 'estimate'\. Got 'wide'"):
        PlackettLuce(prior=NormalPrior(sd="wide")).fit(fruit())
    with pytest.raises(OptionError, match="goes with PlackettLuce; give a number here"):
        ItemScores(prior=ESTIMATE).fit(fruit())
    model = PlackettLuce(prior=ESTIMATE)
    assert clone(model).get_params() == model.get_params()
    assert model.fit(fruit()).get_params()["prior"] is ESTIMATE


def test_a_very_wide_prior_has_the_errors_of_no_prior():
    rankings = Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "c", "b"]])
    plain = PlackettLuce().fit(rankings)
    for sd in (1e4, 1e8):
        wide = PlackettLuce(prior=NormalPrior(sd=sd)).fit(rankings)
        for kind in ("observed", "sandwich"):
            np.testing.assert_allclose(wide.standard_errors(kind), plain.standard_errors(kind), rtol=1e-7)


def test_the_estimated_standard_deviation_is_that_of_quadrature():
    wins, losses, gap = 300, 20, np.linspace(-40, 40, 100_001)
    log_likelihood = -wins * np.logaddexp(0, -gap) - losses * np.logaddexp(0, gap)
    log_sd = np.linspace(-1, 2, 301)
    # The difference of two log worths of standard deviation σ has variance 2 σ².
    logs = [logsumexp(log_likelihood - gap**2 / (4 * np.exp(2 * x))) - x - x**2 / 2 for x in log_sd]
    rankings = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[wins, losses])
    found = PlackettLuce(prior=NormalPrior(sd="estimate")).fit(rankings).prior_.sd
    assert found == pytest.approx(np.exp(log_sd[np.argmax(logs)]), rel=0.01)
