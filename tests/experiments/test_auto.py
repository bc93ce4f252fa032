"""The choice of a ranker: the simplest within one standard error of the best, within the time there is."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.experiments import auto
from luce.experiments.auto import Candidate, choose_ranker
from luce.rankers import LinearRanker

NAMES = ["linear", "trees", "bagged trees", "linear and trees"]


@pytest.fixture(scope="module")
def data():
    return web_search(30, n_features=4, mean_length=8, seed=1).dataset


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where a test says so."""
    now = [0.0]
    monkeypatch.setattr(auto.time, "monotonic", lambda: now[0])
    return now


class Told(LinearRanker):
    """Scores each item by its label plus noise of a given size, and takes a given time."""

    def __init__(self, noise=0.0, seconds=0.0, clock=None, metric="ndcg@10", random_state=0, n_jobs=None):
        super().__init__(metric=metric, random_state=random_state, n_jobs=n_jobs)
        self.noise, self.seconds, self.clock = noise, seconds, clock

    def fit(self, X, *, validation=None, callback=None):
        self.seen_, self.history_ = (X, validation), []
        if self.clock is not None and validation is not X:
            self.clock[0] += self.seconds
        callback({"iteration": 1, "loss": 0.0})
        return self

    def predict(self, X):
        order = np.random.default_rng(round(1e6 * self.noise)).normal(size=X.n_rows)
        return X.labels + self.noise * order


def candidates(monkeypatch, noises, clock=None, seconds=(1, 2, 2, 6)):
    made = {}
    for name, noise, each in zip(NAMES, noises, seconds, strict=True):

        def make(noise=noise, each=each, name=name, **params):
            made[name] = Told(noise, each, clock, **params)
            return made[name]

        monkeypatch.setitem(auto.CANDIDATES, name, Candidate(make, ""))
    monkeypatch.setattr(auto, "clone", lambda ranker: ranker)
    return made


@pytest.mark.parametrize(
    ("noises", "chosen", "words"),
    [
        ((0.0, 0.0, 0.0, 0.0), "linear", "linear has the best mean"),
        ((9.0, 0.0, 0.0, 0.0), "trees", "no simpler candidate is within one standard error"),
        ((9.0, 9.0, 9.0, 0.0), "linear and trees", "linear and trees has the best mean"),
    ],
)
def test_the_simplest_within_one_standard_error_of_the_best(data, monkeypatch, noises, chosen, words):
    made = candidates(monkeypatch, noises)
    found = choose_ranker(data, random_state=3)
    assert found.name == chosen
    assert words in found.reason
    assert found.ranker is made[chosen]
    assert [each.name for each in found.candidates] == NAMES


@pytest.mark.parametrize(("steady", "chosen"), [(True, "trees"), (False, "linear")])
def test_the_error_is_that_of_paired_differences(data, monkeypatch, steady, chosen):
    """Trees are better by less than the error of either mean, the same way in every list or in some of them."""
    made = candidates(monkeypatch, (0.0, 0.0, 0.0, 0.0))
    values = np.random.default_rng(0).uniform(0.2, 0.8, 10)
    better = np.full(10, 0.01) if steady else np.array([0.2] * 5 + [-0.18] * 5)

    def evaluate(scores, test, metric, **_):
        return type("Found", (), {"values": {metric: values + scores}})

    monkeypatch.setattr(auto, "evaluate", evaluate)
    monkeypatch.setattr(Told, "predict", lambda self, X: better if self is made["trees"] else np.zeros(10))
    found = choose_ranker(data)
    first, second = found.candidates[:2]
    assert second.mean - first.mean == pytest.approx(0.01)
    assert first.error > 0.02
    assert found.name == chosen
    assert ("within one standard error of the best, trees" in found.reason) == (not steady)


def test_each_list_is_measured_by_a_fit_that_has_not_seen_it(data, monkeypatch):
    seen = []
    fit = Told.fit

    def watched(self, X, *, validation=None, callback=None):
        if validation is not X:
            seen.append((self, X, validation))
        return fit(self, X, validation=validation, callback=callback)

    monkeypatch.setattr(Told, "fit", watched)
    made = candidates(monkeypatch, (0.0, 1.0, 1.0, 1.0))
    found = choose_ranker(data, validation=data, metric="ndcg@3")
    assert len(seen) == 3 * len(made)
    assert all(given is data and X.n_lists == 20 for _, X, given in seen)
    assert found.metric == "ndcg@3" and found.candidates[0].mean == 1.0


def test_candidates_that_do_not_fit_into_the_budget(data, monkeypatch, clock):
    candidates(monkeypatch, (1.0, 0.0, 0.0, 0.0), clock, seconds=(1, 2, 4, 6))
    found = choose_ranker(data, budget=100)
    assert [each.seconds for each in found.candidates] == [3, 6, 12, 18]
    assert not any(each.note for each in found.candidates)
    found = choose_ranker(data, budget=20)
    assert [bool(each.note) for each in found.candidates] == [False, False, True, True]
    assert found.candidates[2].note == "not tried: it would take about 12 s, and 11 s of the 20 s are left"
    assert found.candidates[3].note == "not tried: it would take about 18 s, and 11 s of the 20 s are left"
    assert found.name == "trees"
    found = choose_ranker(data, budget=6)
    assert found.candidates[1].note == "stopped: the budget of 6 s is used up"
    assert found.candidates[2].note == "not tried: the budget of 6 s is used up"
    assert found.name == "linear" and found.reason == "linear is the only candidate that was completed"
    found = choose_ranker(data, budget=0)
    assert found.name == "linear" and found.reason == "linear is the simplest (not tried: the budget of 0 s is used up)"


def test_the_first_use_does_not_count(data, monkeypatch, clock):
    def fit(self, X, *, validation=None, callback=None):
        clock[0] += 1000.0 if validation is X else 1.0
        self.history_ = []
        callback({})
        return self

    candidates(monkeypatch, (0.0, 0.0, 0.0, 0.0), clock)
    monkeypatch.setattr(Told, "fit", fit)
    assert [each.seconds for each in choose_ranker(data, budget=30).candidates] == [3, 3, 3, 3]


def test_a_candidate_that_fails_is_left_out(data, monkeypatch):
    made = candidates(monkeypatch, (1.0, 0.0, 1.0, 1.0))
    fit = Told.fit

    def failing(self, X, **more):
        if self is made["trees"]:
            raise luce.MissingPackageError("lightgbm is missing")
        return fit(self, X, **more)

    monkeypatch.setattr(Told, "fit", failing)
    found = choose_ranker(data)
    assert found.candidates[1].note == "failed: lightgbm is missing"
    assert found.name != "trees"


def test_lists_that_tell_nothing(data):
    found = choose_ranker(data.take(np.arange(5)))
    assert found.name == "linear" and "6 lists are needed for 3 folds, and there are 5" in found.reason
    nothing = luce.Dataset(data.features, np.zeros(data.n_rows), data.offsets)
    with pytest.raises(DataError, match=r"ndcg@10 is undefined for every list"):
        choose_ranker(nothing)
    with pytest.raises(OptionError, match="budget must be"):
        choose_ranker(data, budget=-1)


def test_the_real_candidates(data):
    """All four end, and the choice can be fitted."""
    few = {"linear": {"max_iter": 3}, "trees": {"n_estimators": 3}, "bagged trees": {"n_estimators": 3}}
    with pytest.MonkeyPatch.context() as patch:
        for name, settings in few.items():
            make = auto.CANDIDATES[name].make
            changed = lambda make=make, settings=settings, **params: make(**params, **settings)  # noqa: E731
            patch.setitem(auto.CANDIDATES, name, Candidate(changed, ""))
        found = choose_ranker(data, budget=300, n_jobs=1)
    assert not any(each.note for each in found.candidates)
    assert all(0 < each.mean < 1 and 0 < each.error < 0.5 for each in found.candidates)
    assert np.isfinite(found.ranker.fit(data).predict(data)).all()
