"""Adherence of rankers: fits against joint posteriors written out, standard errors, and other rankings."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from luce.aggregation import GammaPrior, NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.aggregation.observed import observe
from luce.errors import OptionError
from luce.kernels.davidson_ties.reference import davidson_ties

from .ranking_data import fruit, mixed


def judged(seed=0, n_items=6, n_rankers=5, n_rankings=60, size=4):
    """Rankings without ties by rankers of unlike adherence, one of whom prefers the opposite."""
    rng = np.random.default_rng(seed)
    truth, adherence = rng.normal(0, 1.5, n_items), rng.gamma(2, 0.5, n_rankers)
    adherence[0] = -1
    rankers = rng.integers(0, n_rankers, n_rankings)
    orderings = []
    for ranker in rankers:
        items = rng.choice(n_items, size, replace=False)
        noisy = adherence[ranker] * truth[items] + rng.gumbel(size=size)
        orderings.append(items[np.argsort(-noisy)].tolist())
    return Rankings.from_orderings(orderings, n_items=n_items, rankers=[f"r{ranker}" for ranker in rankers])


def compared(seed=0, tied=0.2, **settings):
    """Comparisons of two by the same, some of them tied."""
    rankings = judged(seed, size=2, **settings)
    winners, losers = rankings.items[::2], rankings.items[1::2]
    outcome = np.where(np.random.default_rng(seed).random(len(winners)) < tied, 0.5, 1.0)
    rankers = [rankings.ranker_names[ranker] for ranker in rankings.rankers]
    return Rankings.from_pairs(winners, losers, outcome, rankers=rankers, names=list(range(rankings.n_items)))


def of_every_kind():
    """Rankings with ties, open ends, pools and uneven weights by three rankers."""
    rankings = mixed(n_rankings=40)
    return replace(rankings, rankers=rankings.rankers % 3, ranker_names=("ann", "bob", "cy"))


def without_rankers(rankings):
    return Rankings.from_orderings([list(order) for order in rankings.items.reshape(len(rankings), -1)])


def split(model):
    """The log worths, tie parameters and adherence of a fit, one after another, and where each begins."""
    ties = np.array(list(model.tie_parameters_.values()))
    parts = model.log_worths_, ties if model.ties_ == "rao-kupper" else np.log(ties), list(model.adherence_.values())
    return np.concatenate(parts), np.cumsum([len(part) for part in parts])[:2]


def log_posterior(model, gamma):
    """A function of the log worths, tie parameters and adherence: each ranker as a model of his own, and the priors."""
    rankings = model.rankings_
    rankers = np.arange(len(rankings)) if rankings.rankers is None else rankings.rankers
    plain = PlackettLuce(model.ties_, prior=model.prior, n_jobs=1).fit(rankings)
    parts = [rankings.take(np.flatnonzero(rankers == ranker)) for ranker in range(len(model.adherence_))]
    _, bounds = split(model)

    def value(point):
        worths, ties, adherence = np.split(point, bounds)
        total = np.sum((gamma.shape - 1) * np.log(adherence) - gamma.rate * adherence)
        if isinstance(model.prior, NormalPrior):
            total -= np.sum((worths - model.prior.mean) ** 2) / (2 * model.prior.sd**2)
        for part, stretch in zip(parts, adherence, strict=True):
            if len(part):
                plain.log_worths_ = stretch * worths
                plain._point = np.concatenate([plain.log_worths_, ties])
                total += part.weights @ plain.log_prob(part)
        return total

    return value


def numeric_gradient(value, point, h=1e-5):
    return np.array([(value(point + u) - value(point - u)) / (2 * h) for u in np.eye(len(point)) * h])


def numeric_information(value, point, h=1e-3):
    units, information = np.eye(len(point)) * h, np.zeros((len(point), len(point)))
    for i, u in enumerate(units):
        for j, v in enumerate(units[: i + 1]):
            bend = value(point + u + v) - value(point + u - v) - value(point - u + v) + value(point - u - v)
            information[i, j] = information[j, i] = -bend / (4 * h * h)
    return information


def test_adherence_gives_weight_to_those_who_agree():
    orders, rng = list(permutations(range(4))), np.random.default_rng(0)
    careful = [[0, 1, 2, 3]] * 12
    careless = [list(orders[i]) for i in rng.integers(0, 24, 12)]
    rankings = Rankings.from_orderings(careful + careless, n_items=4, rankers=["ann"] * 12 + ["bob"] * 12)
    model = PlackettLuce(prior=NormalPrior(0, 2), adherence=True).fit(rankings)
    assert model.adherence_["ann"] > 1 > model.adherence_["bob"]
    assert model.convergence_.converged
    plain = PlackettLuce(prior=NormalPrior(0, 2)).fit(rankings)
    assert np.ptp(model.log_worths_) > np.ptp(plain.log_worths_)
    near = PlackettLuce(prior=NormalPrior(0, 2), adherence=GammaPrior(1e6, 1e6)).fit(rankings)
    np.testing.assert_allclose(near.log_worths_, plain.log_worths_, atol=1e-3)


def test_adherence_is_the_mode_of_its_posterior():
    rankings = fruit()
    model = PlackettLuce("davidson", prior=NormalPrior(0, 3), adherence=True).fit(rankings)
    seen = observe(rankings)

    def value(point):
        scores, ties, adherence = point[:4], point[4:6], np.exp(point[6:])
        total = -np.sum(scores**2) / 18 + np.sum(9 * np.log(adherence) - 10 * adherence)
        for q in range(6):
            rows = slice(seen.offsets[q], seen.offsets[q + 1])
            n = rows.stop - rows.start
            orders, deltas = np.arange(1, 4)[:n], np.append(0, ties)[:n]
            total += davidson_ties(adherence[q] * scores[seen.items[rows]], seen.places[rows], False, orders, deltas)[0]
        return -total

    found = minimize(value, np.zeros(12), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(list(model.adherence_.values()), np.exp(found.x[6:]), atol=1e-5)
    np.testing.assert_allclose(model.log_worths_, found.x[:4] - found.x[:4].mean(), atol=1e-5)
    # R ends its search early: near it, not at it.
    np.testing.assert_allclose(list(model.adherence_.values()), [0.889, 0.873, 0.888, 0.943, 0.882, 0.951], atol=0.01)


CASES = {
    "strict": (judged, "exact", None),
    "opposed": (lambda: judged(3, n_rankers=3), None, NormalPrior(0.5, 2.0)),
    "pairs": (lambda: compared(tied=0), "exact", None),
    "tied pairs": (compared, "davidson", None),
    "margin": (compared, "rao-kupper", None),
    "half wins": (compared, "half-wins", None),
    "unknown order": (of_every_kind, "exact", None),
    "tied sets": (of_every_kind, "davidson", NormalPrior(0, 1.5)),
    "one ranking each": (lambda: without_rankers(judged(1)), "exact", None),
}


@pytest.mark.parametrize("case", CASES)
def test_at_the_fit_the_joint_posterior_is_level_and_bent_down(case):
    rankings, ties, prior = CASES[case][0](), *CASES[case][1:]
    gamma = GammaPrior(4, 3)
    model = PlackettLuce(ties, prior=prior, adherence=gamma, n_jobs=1).fit(rankings)
    assert model.convergence_.converged
    point, bounds = split(model)
    value = log_posterior(model, gamma)
    shift = 0 if prior is None else model._posterior.split(model._point)[0].mean()
    point[: bounds[0]] += shift  # with a prior the mean of the worths is not 0
    np.testing.assert_allclose(numeric_gradient(value, point), 0, atol=2e-5)
    if prior is None:
        adherence = point[bounds[1] :]
        assert adherence.mean() == pytest.approx((4 - 1) / 3)  # a common factor is for the prior alone to tell
        np.testing.assert_allclose(model.log_likelihood_ + np.sum(3 * np.log(adherence) - 3 * adherence), value(point))
    if len(point) > 30:
        return
    inverse = np.linalg.pinv(numeric_information(value, point), rcond=1e-7)
    centre = np.eye(len(point))[: bounds[1]]
    centre[: bounds[0], : bounds[0]] -= 1 / bounds[0]
    np.testing.assert_allclose(model.covariance("observed"), centre @ inverse @ centre.T, rtol=2e-3, atol=1e-5)


def test_pseudo_wins_are_those_of_an_adherence_of_one():
    rankings = judged(2)
    model = PlackettLuce(prior=PseudoRankings(0.5), adherence=True, n_jobs=1).fit(rankings)
    likelihood = log_posterior(model, GammaPrior())

    def value(point):
        against = point[:6] - point[-1]
        return likelihood(point[:-1]) - 0.5 * np.sum(np.logaddexp(0, against) + np.logaddexp(0, -against))

    worths = model._posterior.split(model._point)[0]
    point = np.concatenate([worths[:6], list(model.adherence_.values()), worths[6:]])
    np.testing.assert_allclose(numeric_gradient(value, point), 0, atol=2e-5)


@pytest.mark.parametrize("seed", range(3))
def test_no_search_from_the_fit_without_adherence_ends_higher(seed):
    rankings, gamma = judged(seed, n_rankings=30), GammaPrior(2, 2)
    model = PlackettLuce(prior=NormalPrior(0, 2.0), adherence=gamma, n_jobs=1).fit(rankings)
    value = log_posterior(model, gamma)
    start = np.concatenate([PlackettLuce(prior=NormalPrior(0, 2.0)).fit(rankings).log_worths_, np.zeros(5)])
    found = minimize(lambda x: -value(np.concatenate([x[:6], np.exp(x[6:])])), start, method="BFGS")
    assert value(split(model)[0]) >= -found.fun - 1e-8


@pytest.mark.parametrize("option", ["features", "teams"])
def test_adherence_with_features_or_teams(option):
    rankings, gamma = judged(4), GammaPrior()
    X = np.random.default_rng(0).normal(size=(6, 2))
    teams = {0: ["a", "b"], 1: ["a", "c"], 2: ["d"], 3: ["b", "d"], 4: ["c"], 5: ["e"]}
    given = {"features": X} if option == "features" else {"teams": teams}
    prior = NormalPrior(0, 1.0) if option == "teams" else None
    model = PlackettLuce(prior=prior, adherence=True, n_jobs=1, **given).fit(rankings)
    reference = PlackettLuce(adherence=True, n_jobs=1).fit(rankings)
    likelihood = log_posterior(reference, gamma)
    names = [sorted(teams[item]) for item in range(6)]

    def value(point):
        if option == "features":
            return likelihood(np.concatenate([X @ point[:2], point[2:]]))
        member = dict(zip(model.names_, point[:5], strict=True))
        worths = [np.log(sum(np.exp(member[name]) for name in team)) for team in names]
        return likelihood(np.concatenate([worths, point[5:]])) - np.sum(point[:5] ** 2) / 2

    point = np.concatenate([model._point, list(model.adherence_.values())])
    np.testing.assert_allclose(numeric_gradient(value, point), 0, atol=2e-5)
    own = len(model._point)
    expected = np.linalg.inv(numeric_information(value, point))[:own, :own]
    if option == "features":
        found = model._covariance("observed").parameters
    else:
        centre = np.eye(own) - 1 / own
        found, expected = model.covariance("observed"), centre @ expected @ centre
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_many_items_are_fitted_without_a_matrix():
    rankings = judged(5, n_items=300, n_rankers=20, n_rankings=4_000, size=5)
    model = PlackettLuce(adherence=True, n_jobs=1).fit(rankings)
    assert model.convergence_.converged
    assert model.convergence_.products > 0
    point = np.concatenate([model.log_worths_, list(model.adherence_.values())])
    value = log_posterior(model, GammaPrior())
    directions = np.random.default_rng(0).normal(size=(4, len(point)))
    directions[:, 300:] *= point[300:]
    for direction in 1e-3 * directions:
        above, below = value(point + direction), value(point - direction)
        assert max(above, below) < value(point)
        assert above == pytest.approx(below, abs=1e-3 * (2 * value(point) - above - below))


@pytest.mark.parametrize("ties", ["exact", "davidson", "rao-kupper"])
@pytest.mark.parametrize("kind", ["observed", "expected", "sandwich"])
def test_a_prior_that_holds_the_adherence_at_one_gives_the_fit_without_it(ties, kind):
    rankings = compared(1, n_rankings=100) if ties == "rao-kupper" else mixed(n_rankings=120)
    plain = PlackettLuce(ties, n_jobs=1).fit(rankings)
    model = PlackettLuce(ties, adherence=GammaPrior(1e9, 1e9), n_jobs=1).fit(rankings)
    assert model.convergence_.converged
    np.testing.assert_allclose(model.log_worths_, plain.log_worths_, atol=1e-6)
    np.testing.assert_allclose(model.covariance(kind), plain.covariance(kind), rtol=1e-4, atol=1e-7)


def test_expected_errors_have_no_part_of_the_outcomes():
    rankings, gamma = judged(6), GammaPrior()
    model = PlackettLuce(adherence=gamma, n_jobs=1).fit(rankings)
    worths, adherence = model.log_worths_, np.array(list(model.adherence_.values()))
    total = np.zeros((11, 11))
    for ranker in range(5):
        part = rankings.take(np.flatnonzero(rankings.rankers == ranker))
        information = PlackettLuce(prior=NormalPrior(0, 1e6), n_jobs=1).fit(part)._posterior.likelihood.terms[0]
        jacobian = np.zeros((6, 11))
        jacobian[:, :6] = adherence[ranker] * np.eye(6)
        jacobian[:, 6 + ranker] = worths
        own = information.information(adherence[ranker] * worths, np.zeros(0)).matrix()
        total += jacobian.T @ own @ jacobian
    total[range(6, 11), range(6, 11)] += (gamma.shape - 1) / adherence**2
    centre = np.eye(6, 11)
    centre[:, :6] -= 1 / 6
    expected = centre @ np.linalg.pinv(total, rcond=1e-9) @ centre.T
    np.testing.assert_allclose(model.covariance("expected"), expected, rtol=1e-6, atol=1e-9)
    assert np.abs(model.covariance("expected") - model.covariance()).max() > 1e-4


@pytest.mark.parametrize("ties", ["exact", "davidson"])
def test_robust_errors_follow_the_estimates_as_the_weight_of_a_ranker_changes(ties):
    rankings = compared(3, tied=0 if ties == "exact" else 0.2, n_rankings=120)
    settings = {"ties": ties, "adherence": GammaPrior(3, 3), "tol": 1e-11, "n_jobs": 1}
    model, h = PlackettLuce(**settings).fit(rankings), 1e-3
    slopes = []
    for ranker in range(5):
        weights = [1 + sign * h * (rankings.rankers == ranker) for sign in (1, -1)]
        above, below = (
            PlackettLuce(**settings).fit(
                Rankings.from_pairs(
                    rankings.items[::2],
                    rankings.items[1::2],
                    np.where(rankings.tied, 0.5, 1.0),
                    rankers=[rankings.ranker_names[each] for each in rankings.rankers],
                    weights=weight,
                    names=rankings.names,
                )
            )
            for weight in weights
        )
        slopes.append((above.log_worths_ - below.log_worths_) / (2 * h))
    expected = np.sqrt(np.sum(np.square(slopes), axis=0) * 5 / 4)
    np.testing.assert_allclose(model.standard_errors("sandwich"), expected, rtol=1e-3)


def test_adherence_with_an_estimated_prior():
    rankings = judged(8)
    model = PlackettLuce(prior=NormalPrior(sd="estimate"), adherence=True, n_jobs=1).fit(rankings)
    again = PlackettLuce(prior=model.prior_, adherence=True, n_jobs=1).fit(rankings)
    np.testing.assert_allclose(model.log_worths_, again.log_worths_, atol=1e-7)
    assert model.adherence_ == pytest.approx(again.adherence_, abs=1e-7)


def test_a_ranker_without_rankings_has_the_most_likely_adherence_of_the_prior():
    rankings = Rankings.from_orderings(
        [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2]], n_items=3, rankers=["ann", "ann", "bob", "cy"], weights=[1, 1, 1, 0]
    )
    model = PlackettLuce(prior=NormalPrior(0, 1), adherence=GammaPrior(5, 8)).fit(rankings)
    assert model.adherence_["cy"] == pytest.approx(4 / 8)


def test_other_rankings_of_known_rankers_have_their_adherence():
    rankings = mixed(n_rankings=80)
    for ties in ("exact", "davidson"):
        model = PlackettLuce(ties, adherence=True, n_jobs=1).fit(rankings)
        assert rankings.weights @ model.log_prob(rankings) == pytest.approx(model.log_likelihood_)
        assert model.score(rankings) < 0
        assert model.simulate(rankings).names == rankings.names
    clear, model = judged(7), PlackettLuce(adherence=True, n_jobs=1).fit(judged(7))
    plain = PlackettLuce(n_jobs=1).fit(clear)
    plain.log_worths_ = model.log_worths_
    for others in (without_rankers(clear), Rankings.from_orderings([[0, 1, 2]], rankers=["stranger"], n_items=6)):
        np.testing.assert_allclose(model.log_prob(others), plain.log_prob(others))
    sets = [[0, 1, 2, 3, 4, 5]] * 400
    best = int(np.argmax(model.log_worths_))
    first = {}
    for name in (min(model.adherence_, key=model.adherence_.get), max(model.adherence_, key=model.adherence_.get)):
        drawn = model.simulate(Rankings.from_orderings(sets, rankers=[name] * 400))
        first[name] = np.mean(drawn.items.reshape(400, 6)[:, 0] == best)
    low, high = first.values()
    assert high > low + 0.1


def test_refits_of_rankings_without_rankers_keep_an_adherence_for_each():
    # Merged, 30 equal rankings would be those of one ranker, whose adherence could grow.
    orderings = [[0, 1, 2, 3]] * 30 + [[3, 2, 1, 0]] * 10 + [[1, 3, 0, 2]] * 10
    model = PlackettLuce(adherence=GammaPrior(2, 2), n_jobs=1).fit(orderings)
    refits = model.bootstrap(60)
    spread = refits.std(axis=0) / np.sqrt(60)
    assert (np.abs(refits.mean(axis=0) - model.log_worths_) < 5 * spread + 0.05).all()


@pytest.mark.parametrize("prior", [(1, 1), (0.5, 1), (2, 0), (np.inf, 1)])
def test_priors_without_a_most_likely_adherence(prior):
    with pytest.raises(OptionError, match="GammaPrior needs a shape above 1 and a rate above 0"):
        GammaPrior(*prior)


def test_adherence_with_a_ranking_of_weight_two_is_that_ranking_given_twice():
    orderings, rankers = [[0, 1, 2], [1, 0, 2], [2, 1, 0]], ["ann", "ann", "bob"]
    weighted = Rankings.from_orderings(orderings, n_items=3, rankers=rankers, weights=[2, 1, 1])
    repeated = Rankings.from_orderings([orderings[0], *orderings], n_items=3, rankers=["ann", *rankers])
    found, expected = (PlackettLuce(prior=NormalPrior(0, 1), adherence=True).fit(each) for each in (weighted, repeated))
    assert found.adherence_ == pytest.approx(expected.adherence_, abs=1e-6)
