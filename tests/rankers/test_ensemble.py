"""Ensembles: weights found on held-out lists, members added up to one model, one file, one explanation."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import luce
from luce.errors import DataError, OptionError
from luce.metrics import measure
from luce.objectives import OBJECTIVES
from luce.rankers import Checkpoint, EnsembleRanker, LinearRanker, NeuralRanker, Ranker
from luce.rankers.ensemble_weights import find_weights, spread
from luce.rankers.importance import permutation_importance
from luce.rankers.trees import TreeRanker
from luce.scoring.models import LinearModel, TreeModel

from .growing import quick
from .made import ndcg, parts

NETWORK = {"hidden_layer_sizes": (4,), "epochs": 2, "device": "cpu", "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=40, n_features=8)


def ensemble(*members, **settings):
    given = members or (LinearRanker(n_jobs=1), quick("pl-partition"))
    return EnsembleRanker([(f"m{i}", member) for i, member in enumerate(given)], **{"n_jobs": 1, **settings})


@pytest.fixture(scope="module")
def fitted(data):
    return ensemble().fit(data["train"], validation=data["validation"])


class Column(Ranker):
    """Scores by one feature, on a scale that grows with the number of training lists."""

    def __init__(self, column=0, objective="listmle", metric="ndcg@10", early_stopping_rounds=1, transforms=("fill",),
                 random_state=0, n_jobs=None):  # fmt: skip
        self.column, self.objective, self.metric, self.n_jobs = column, objective, metric, n_jobs
        self.early_stopping_rounds, self.transforms, self.random_state = early_stopping_rounds, transforms, random_state

    def fit(self, X, y=None, qid=None, *, group=None, validation=None, callback=None, checkpoint=None):
        self.factor_ = self.prepare_training_data(X, y, qid, group, validation).dataset.n_lists ** 2
        self.history_, self.best_iteration_ = [], 0
        return self

    def compute_scores(self, features, offsets):
        return self.factor_ * features[:, self.column].astype(np.float64)


def loss(weights, scores, lists, objective="pl-partition"):
    found = OBJECTIVES[objective].value_and_gradient(scores @ weights, lists.labels, lists.offsets, n_jobs=1)
    return found.loss.mean()


@pytest.mark.parametrize("objective", ["pl-partition", "listnet", "pairties-davidson", "squared-label"])
def test_the_weights_have_the_least_loss(data, objective):
    lists, random = data["validation"], np.random.default_rng(0)
    noise = random.normal(size=(lists.n_rows, 2))
    scores = np.column_stack([100 * (lists.labels + noise[:, 0]), 0.01 * (lists.labels + noise[:, 1]), -lists.labels])
    found = find_weights(scores, lists, OBJECTIVES[objective], 0, 1)
    assert (found.weights >= 0).all() and (found.weights[:2] > 0).all()
    assert found.weights[2] * 1 < 0.02 * found.weights[0] * 100
    if objective in ("pl-partition", "listnet"):  # the others have an intercept, or a parameter of ties
        assert found.loss == pytest.approx(loss(found.weights, scores, lists, objective), rel=1e-9)
        for other in (*(found.weights * np.exp(0.1 * random.normal(size=3)) for _ in range(20)), np.zeros(3)):
            assert loss(other, scores, lists, objective) > found.loss - 1e-5


def test_weights_stay_finite_and_are_never_all_zero(data):
    lists = data["validation"]
    assert np.isfinite(find_weights(lists.labels[:, None], lists, OBJECTIVES["pl-partition"], 0, 1).weights).all()
    wrong = np.column_stack([-lists.labels, -2 * lists.labels])
    weights = find_weights(wrong, lists, OBJECTIVES["pl-partition"], 0, 1).weights
    np.testing.assert_allclose(weights[0], 2 * weights[1])
    assert weights[0] > 0


def test_list_weights_count(data):
    lists = data["validation"]
    scores = np.random.default_rng(0).normal(size=(lists.n_rows, 2)) + lists.labels[:, None]
    weight = np.arange(lists.n_lists) % 3.0
    weighted = luce.Dataset(lists.features, lists.labels, lists.offsets, list_weights=weight)
    repeated = lists.take(np.repeat(np.arange(lists.n_lists), weight.astype(int)))
    rows = np.concatenate([np.arange(lists.n_rows)[lists.rows(q)] for q in range(lists.n_lists) for _ in range(q % 3)])
    one = find_weights(scores, weighted, OBJECTIVES["pl-partition"], 0, 1)
    other = find_weights(scores[rows], repeated, OBJECTIVES["pl-partition"], 0, 1)
    np.testing.assert_allclose(one.weights, other.weights, rtol=0.01)


def test_scores_are_the_weighted_sum_and_the_blend_is_no_worse(data, fitted):
    test, judge = data["test"], data["validation"]
    members = [member for _, member in fitted.estimators_]
    expected = sum(weight * member.predict(test) for weight, member in zip(fitted.weights_, members, strict=True))
    np.testing.assert_allclose(fitted.predict(test), expected, rtol=1e-12)
    alone = [
        find_weights(member.predict(judge)[:, None], judge, OBJECTIVES["pl-partition"], 0, 1) for member in members
    ]
    assert fitted.history_[-1]["loss"] <= min(one.loss for one in alone) + 1e-9
    assert [record["iteration"] for record in fitted.history_] == [1, 2]
    assert fitted.best_score_ == pytest.approx(ndcg(fitted.predict(judge), judge))
    assert fitted.best_iteration_ == 2


def test_members_stop_by_the_validation_lists(data, fitted):
    train, validation = data["train"], data["validation"]
    for (_, member), alone in zip(fitted.estimators_, (LinearRanker(n_jobs=1), quick("pl-partition")), strict=True):
        alone.fit(train, validation=validation)
        assert alone.best_iteration_ == member.best_iteration_
        np.testing.assert_array_equal(alone.predict(validation), member.predict(validation))


def test_without_validation_lists_some_are_held_out_and_all_are_learned_from(data):
    train = data["train"]
    found = ensemble(validation_fraction=0.25, random_state=3).fit(train)
    first, judge = luce.split(train, (0.75, 0.25), 3)
    members = [LinearRanker(n_jobs=1).fit(first), quick("pl-partition").fit(first)]
    blend = find_weights(np.column_stack([m.predict(judge) for m in members]), judge, OBJECTIVES["pl-partition"], 3, 1)
    assert found.history_[-1] == {"iteration": 2, "loss": pytest.approx(blend.loss)}
    assert found.best_score_ is None
    for (_, member), before, old, new in zip(found.estimators_, members, blend.weights, found.weights_, strict=True):
        np.testing.assert_array_equal(member.predict(train), clone(member).fit(train).predict(train))
        ratio = spread(before.predict(first), first.offsets) / spread(member.predict(train), train.offsets)
        assert new == pytest.approx(old * ratio)


def test_weights_follow_the_scale_of_the_refitted_members(data):
    """A member that scores 1,600 / 1,024 times as high once it has seen all lists weighs so much less."""
    train, best = data["train"], int(LinearRanker(n_jobs=1).fit(data["train"]).coef_.argmax())
    found = ensemble(Column(best)).fit(train)
    first, judge = luce.split(train, (0.8, 0.2), 0)
    blend = find_weights(Column(best).fit(first).predict(judge)[:, None], judge, OBJECTIVES["pl-partition"], 0, 1)
    assert found.weights_[0] / blend.weights[0] == pytest.approx((first.n_lists / train.n_lists) ** 2, rel=0.05)


def test_default_members_have_the_metric_and_the_seed():
    assert [name for name, _ in EnsembleRanker()._named(7)] == ["linear", "trees"]
    given = dict(EnsembleRanker(metric="ndcg@3")._named(7))
    assert {(each.metric, each.random_state) for each in given.values()} == {("ndcg@3", 7)}
    assert isinstance(given["trees"], TreeRanker)


def test_members_of_a_kind_are_added_up(data, tmp_path):
    test = data["test"]
    found = ensemble(
        quick("listnet"), LinearRanker(n_jobs=1), quick("pl-partition"), LinearRanker("listnet", n_jobs=1),
        quick(transforms=("fill",)),
    ).fit(data["train"], validation=data["validation"])  # fmt: skip
    found.weights_ = np.arange(1.0, 6.0)
    found._set_members(found.estimators_, found.weights_)
    parts = [part for part, _ in found.scoring_model().parts]
    assert [type(part) for part in parts] == [TreeModel, LinearModel, TreeModel]
    assert parts[0].forest.rounds == sum(found.estimators_[i][1].forest_.rounds for i in (0, 2))
    expected = found.weights_ @ [member.predict(test) for _, member in found.estimators_]
    np.testing.assert_allclose(found.predict(test), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.explain(test).scores, expected, atol=1e-9)


def test_members_without_weight_are_left_out(data, fitted):
    found = pickle.loads(pickle.dumps(fitted))
    found._set_members(found.estimators_, np.array([0.0, 2.0]))
    np.testing.assert_allclose(found.predict(data["test"]), 2 * found.estimators_[1][1].predict(data["test"]))
    assert len(found.scoring_model().parts) == 1


def test_categories_and_numbers_are_not_added_up(data):
    whole = {name: each.with_features(np.abs(np.round(np.nan_to_num(each.features)))) for name, each in data.items()}
    found = ensemble(quick(), quick(categorical_feature=[0])).fit(whole["train"], validation=whole["validation"])
    found._set_members(found.estimators_, np.ones(2))
    assert len(found.scoring_model().parts) == 2


def test_explanations_add_up_and_are_those_of_the_members(data, fitted):
    test = data["test"]
    found = fitted.explain(test)
    np.testing.assert_allclose(found.scores, fitted.predict(test), atol=1e-9)
    members = [member.explain(test) for _, member in fitted.estimators_]
    expected = np.tensordot(fitted.weights_, [one.contributions for one in members], axes=1)
    np.testing.assert_allclose(found.contributions, expected, atol=1e-9)
    lost = permutation_importance(fitted, test, repeats=1)
    assert lost.values.max() > 0


def test_what_cannot_be_explained_says_why(data):
    test = data["test"]
    for other, words in (
        (NeuralRanker(**NETWORK), "member 'm1' is not a sum of contributions"),
        (quick("mcrank", n_estimators=2), "member 'm1' is not a sum of contributions"),
        (LinearRanker(transforms=("fill", "second-order"), n_jobs=1), r"different features .* \(m0 8, m1 "),
    ):
        found = ensemble(LinearRanker(n_jobs=1), other).fit(data["train"], validation=data["validation"])
        with pytest.raises(OptionError, match=words):
            found.explain(test)
        assert np.isfinite(found.predict(test)).all()


def test_members_that_look_at_the_list(data):
    test = data["test"]
    found = ensemble(LinearRanker(transforms=("fill", "list-zscore"), n_jobs=1), quick()).fit(data["train"])
    assert "within lists" in found.list_context
    with pytest.raises(DataError, match="pass qid"):
        found.predict(test.features)
    expected = found.weights_ @ [member.predict(test) for _, member in found.estimators_]
    np.testing.assert_allclose(found.predict(test), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.explain(test).scores, expected, atol=1e-6)


def test_files_and_pickles_hold_the_same_model(data, tmp_path):
    test = data["test"]
    members = (
        LinearRanker(transforms=("fill", "second-order"), n_jobs=1),
        quick(),
        NeuralRanker(**NETWORK),
    )
    found = ensemble(*members, objective="pairties-davidson").fit(data["train"], validation=data["validation"])
    found.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    assert isinstance(again, EnsembleRanker)
    np.testing.assert_array_equal(again.predict(test), found.predict(test))
    np.testing.assert_array_equal(again.weights_, found.weights_)
    assert again.nuisance_ == found.nuisance_ and len(found.nuisance_) == 1
    assert (again.history_, again.best_score_) == (found.history_, found.best_score_)
    assert [name for name, _ in again.estimators_] == ["m0", "m1", "m2"]
    refitted = clone(again).fit(data["train"], validation=data["validation"])
    np.testing.assert_allclose(refitted.predict(test), found.predict(test), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(test), found.predict(test))
    again.save(tmp_path / "b.luce")
    assert (tmp_path / "b.luce").read_bytes() == (tmp_path / "a.luce").read_bytes()


def test_what_a_file_cannot_hold_is_refused(data, tmp_path):
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    own = NeuralRanker(module=module, **NETWORK)
    for other, words in ((Column(), "could not restore a Column"), (own, "'m1' has a custom module")):
        found = ensemble(LinearRanker(n_jobs=1), other).fit(data["train"])
        with pytest.raises(OptionError, match=words):
            found.save(tmp_path / "a.luce")


def test_parameters_of_members(data):
    found = ensemble()
    assert found.get_params()["m0__reg_lambda"] == LinearRanker().reg_lambda
    found.set_params(m0__reg_lambda=5.0, m1=quick("listnet"))
    assert found.estimators[0][1].reg_lambda == 5.0
    assert found.estimators[1][1].objective == "listnet"
    given = found.estimators[0][1]
    found.fit(data["train"], validation=data["validation"])
    assert not hasattr(given, "history_")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"estimators": []}, r"estimators must be \(name, ranker\) pairs"),
        ({"estimators": [("a", LinearRanker()), ("a", LinearRanker())]}, "different names"),
        ({"estimators": [("a__b", LinearRanker())]}, "without __"),
        ({"estimators": [("a", EnsembleRanker())]}, "that are not ensembles"),
        ({"estimators": [("a", luce.LabelRanker())]}, "rankers of lists that are not ensembles"),
        ({"estimators": [("a", LinearRanker(max_iter=0))]}, "a: max_iter must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number > 0 and < 1. Got 1.0"),
        ({"objective": "mcrank"}, "mcrank has several scores per row"),
        ({"objective": "lambdarank"}, "lambdarank has a gradient but no loss"),
        ({"metric": "ndgc"}, "ndgc"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(data, settings, words):
    with pytest.raises(OptionError, match=words):
        EnsembleRanker(**settings).fit(data["train"])


def test_one_list_alone_cannot_be_held_out(data):
    with pytest.raises(DataError, match=r"2 parts need at least 2 lists\. Got 1"):
        ensemble().fit(data["train"].take([0]))


def test_an_interrupt_keeps_the_members_so_far(data, monkeypatch):
    found = ensemble(LinearRanker(n_jobs=1), quick())

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(TreeRanker, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        found.fit(data["train"], validation=data["validation"])
    assert [name for name, _ in found.estimators_] == ["m0"] and found.best_iteration_ == 1
    assert np.isfinite(found.predict(data["test"])).all()


@pytest.mark.parametrize("held_out", [False, True], ids=["refitted", "with validation lists"])
def test_a_resumed_training_ends_in_the_same_bits(data, held_out, tmp_path, monkeypatch):
    path, saved = tmp_path / "a.checkpoint", Checkpoint.save
    given = {"validation": data["validation"]} if held_out else {}
    members = LinearRanker(max_iter=4, n_jobs=1), quick(n_estimators=4)
    whole = ensemble(*members).fit(data["train"], **given)
    for after in (1, 3, 7):  # the power fails in the first member, in the second, in the refit
        count = 0

        def save_and_fail(self, *arguments, after=after):
            nonlocal count
            saved(self, *arguments)
            count += 1
            if count == after:
                raise OSError("no power")

        monkeypatch.setattr(Checkpoint, "save", save_and_fail)
        try:
            checkpoint = Checkpoint(path, steps=2, resume=path.exists())
            ensemble(*members).fit(data["train"], checkpoint=checkpoint, **given)
        except OSError:
            pass
    monkeypatch.setattr(Checkpoint, "save", saved)
    again = ensemble(*members).fit(data["train"], checkpoint=Checkpoint(path, resume=True), **given)
    for name, array in whole.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], array)
    assert again.history_ == whole.history_
    with pytest.raises(DataError, match="its members was"):
        other = ensemble(LinearRanker(max_iter=4, reg_lambda=9, n_jobs=1), members[1])
        other.fit(data["train"], checkpoint=Checkpoint(path, resume=True), **given)
    with pytest.raises(DataError, match="earlier training"):
        ensemble(*members).fit(data["train"], checkpoint=path, **given)
    Checkpoint(path).remove()
    assert not list(tmp_path.iterdir())


def test_threads_reach_the_members(data, fitted):
    found = pickle.loads(pickle.dumps(fitted)).set_params(n_jobs=2)
    expected = measure(fitted.predict(data["test"]), data["test"].labels, data["test"].offsets, "ndcg@10")["ndcg@10"]
    found.predict(data["test"])
    assert {part.n_jobs for part, _ in found.scoring_model().parts} == {2}
    assert np.nanmean(expected) > 0
