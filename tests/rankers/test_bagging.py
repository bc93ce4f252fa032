"""Bags: one ranker that is the mean of rankers of parts of the lists and features, whatever way it was fitted."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.errors import DataError, OptionError
from luce.rankers import Checkpoint, TreeRanker
from luce.rankers.training_data import TrainingData, masked

from .bags import SETTINGS, TOLERANCE, TREES, assert_same, bagged, column_changed, lists, with_bags, with_parts
from .made import ndcg, random_ndcg

KINDS = pytest.mark.parametrize("kind", SETTINGS)


@pytest.fixture(scope="module")
def train():
    return lists(missing=0.1)


@pytest.fixture(scope="module")
def test():
    return lists(seed=2, missing=0.1)


def forms(dataset):
    filled = np.nan_to_num(np.asarray(dataset.features))
    given = {"dense": dataset.features, "sparse": sparse.csr_array(filled), "sparse with holes": None}
    given["sparse with holes"] = sparse.csr_array(dataset.features)
    return {name: luce.Dataset(X, dataset.labels, dataset.offsets) for name, X in given.items()}


@KINDS
@pytest.mark.parametrize("form", ["dense", "sparse", "sparse with holes"])
def test_scores_are_the_mean_of_the_parts(kind, form, train, test):
    transforms = () if kind == "trees" else ("fill",)
    ranker, parts = with_parts(bagged(kind, transforms=transforms), forms(train)[form])
    assert len(parts) == 3
    found = [part.predict(forms(test)[form]) for part in parts]
    assert min(np.ptp(np.array(found), axis=0).max(), np.std(found[0])) > 1e-4, "the parts differ"
    tolerance = TOLERANCE[kind]
    scores = ranker.predict(forms(test)[form])
    np.testing.assert_allclose(scores, np.mean(found, axis=0), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_missing_values_outside_the_mask_are_0_too(form):
    X = np.array([[1, np.nan, 3], [np.nan, 5, 0]], dtype=np.float32)
    given = form(X)
    found = masked(given, np.array([True, False, True]))
    assert found.dtype == np.float32 and type(found) is type(given)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, [[1, 0, 3], [np.nan, 0, 0]])
    np.testing.assert_array_equal(given.toarray() if sparse.issparse(given) else given, X)


@KINDS
def test_several_outputs_and_a_grade_that_few_bags_have(kind, train, test):
    labels = np.minimum(train.labels, 2)
    labels[np.flatnonzero(train.labels > 1)[0]] = 4
    data = luce.Dataset(train.features, labels, train.offsets)
    ranker, parts = with_parts(bagged(kind, "mcrank"), data, validation=test)
    features = ranker.transform_features(test)
    outputs = [part.compute_outputs(features, test.offsets) for part in parts]
    assert outputs[0].shape == (test.n_rows, 5)
    tolerance = TOLERANCE[kind]
    np.testing.assert_allclose(
        ranker.compute_outputs(features, test.offsets), np.mean(outputs, axis=0), rtol=tolerance, atol=tolerance
    )
    assert ranker.best_score_ == pytest.approx(ranker.score(test), abs=1e-6)


@KINDS
def test_learned_parameters_of_the_objective_are_averaged(kind, train):
    ranker, parts = with_parts(bagged(kind, "pairties-davidson"), train)
    values = [next(iter(part.nuisance_.values())) for part in parts]
    assert np.ptp(values) > 0
    assert [*ranker.nuisance_.values()] == pytest.approx([np.mean(values)])


@pytest.mark.parametrize(
    ("kind", "more"),
    [("linear", {}), ("linear", {"optimizer": "coordinate-ascent"}), ("trees", {}), ("neural", {})],
)
def test_a_feature_that_no_bag_has_changes_nothing(kind, more, train, test):
    ranker, bags = with_bags(bagged(kind, n_bags=2, max_features=0.34, **more), train, validation=test)
    assert all(bag.mask.sum() == 2 for bag in bags)
    for bag in bags:
        scores = bag.ranker.predict(test)
        for column in range(6):
            same = np.array_equal(bag.ranker.predict(column_changed(test, column)), scores)
            assert same or bag.mask[column]
    unused = np.flatnonzero(~np.any([bag.mask for bag in bags], axis=0))
    assert len(unused)
    assert np.array_equal(ranker.predict(column_changed(test, unused[0])), ranker.predict(test))
    if kind == "linear":
        assert (ranker.coef_[unused] == 0).all()


def test_categories(train):
    X = np.array(train.features)
    X[:, 0] = np.random.default_rng(0).integers(0, 9, len(X))
    data = luce.Dataset(X, train.labels + (X[:, 0] % 3 == 0), train.offsets)
    settings = {"categorical_feature": [0], "max_features": 0.8, "lightgbm_params": {"min_data_per_group": 1}}
    ranker, parts = with_parts(bagged("trees", **settings), data)
    assert any((tree.decision_type & 1).any() for tree in ranker.forest_.trees)
    expected = np.mean([part.predict(data) for part in parts], axis=0)
    np.testing.assert_allclose(ranker.predict(data), expected, rtol=1e-12, atol=1e-14)


@KINDS
def test_scores_are_the_same_from_the_file_and_a_pickle(kind, train, test, tmp_path):
    ranker = bagged(kind).fit(train)
    ranker.save(tmp_path / "a.luce")
    loaded = luce.load(tmp_path / "a.luce")
    for again in (loaded, pickle.loads(pickle.dumps(ranker))):
        assert_same(again, ranker)
        np.testing.assert_allclose(again.predict(test), ranker.predict(test), rtol=1e-5, atol=1e-6)
    assert loaded.n_bags == 3 and len(loaded.history_) == 3


def test_trees_are_one_forest_for_lightgbm_explanations_and_importance(train, test):
    ranker, parts = with_parts(bagged("trees"), train)
    assert np.array_equal(ranker.to_lightgbm().predict(test.features, num_threads=1), ranker.predict(test))
    found = ranker.explain(test)
    np.testing.assert_allclose(found.scores, ranker.predict(test), atol=1e-12)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.scores, atol=1e-12)
    counts = [part.importance("split").values for part in parts]
    assert np.array_equal(ranker.importance("split").values, np.sum(counts, axis=0))


def test_linear_bags_are_explained(train, test):
    ranker = bagged("linear").fit(train)
    found = ranker.explain(test)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), ranker.predict(test), atol=1e-9)


@KINDS
def test_bags_have_their_share_of_the_informative_lists_and_features(kind, train):
    labels = np.array(train.labels)
    silent = np.arange(0, 30, 3)
    for q in silent:
        labels[train.rows(q)] = 1
    data = luce.Dataset(train.features, labels, train.offsets)
    _, bags = with_bags(bagged(kind, max_samples=0.25, max_features=0.34), data)
    informative = np.setdiff1d(np.arange(30), silent)
    for bag in bags:
        assert len(np.unique(bag.lists)) == len(bag.lists) == round(len(informative) / 4)
        assert np.isin(bag.lists, informative).all()
        assert bag.mask.sum() == 2
        if kind != "linear":
            assert np.array_equal(np.sort(np.r_[bag.lists, bag.held_out]), informative)
    assert len({tuple(bag.lists) for bag in bags}) == len({bag.ranker.random_state for bag in bags}) == 3


@KINDS
def test_more_bags_begin_with_the_same(kind, train, test):
    few, many = (with_parts(bagged(kind, n_bags=count), train)[1] for count in (2, 3))
    for one, other in zip(few, many, strict=False):
        assert np.array_equal(one.predict(test), other.predict(test))


@KINDS
def test_validation_data_judge_the_mean_of_the_bags_so_far(kind, train, test):
    ranker, parts = with_parts(bagged(kind), train, validation=test)
    assert [step["iteration"] for step in ranker.history_] == [1, 2, 3]
    assert [step["loss"] for step in ranker.history_] == [part.best_loss for part in parts]
    for step in ranker.history_:
        mean = np.mean([part.predict(test) for part in parts[: step["iteration"]]], axis=0)
        assert step["validation"] == pytest.approx(ndcg(mean, test), abs=1e-6)
    assert ranker.best_iteration_ == 3
    assert ranker.best_score_ == pytest.approx(ranker.score(test), abs=1e-6)


@pytest.mark.parametrize("kind", ["trees", "neural"])
def test_without_validation_data_lists_are_judged_by_the_bags_they_are_outside_of(kind):
    """Of labels at random nothing can be known: what was trained on a list would rank it far too well."""
    made = lists(60, mean_length=12)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(made.n_rows, 12))
    data = luce.Dataset(X, rng.integers(0, 3, made.n_rows), made.offsets)
    network = {"hidden_layer_sizes": (64,), "learning_rate": 0.03, "steps_per_epoch": 200, "epochs": 1}
    more = {"trees": {"n_estimators": 40, "num_leaves": 30, "learning_rate": 0.3}, "neural": network}
    chance = random_ndcg(data)
    ranker = bagged(kind, n_bags=4, max_features=1.0, **more[kind]).fit(data)
    assert ndcg(ranker.predict(data), data) > chance + 0.12
    assert all(abs(step["validation"] - chance) < 0.07 for step in ranker.history_)


def test_bags_of_all_lists_or_without_a_fraction_have_none_outside(train):
    for settings in ({"max_samples": 1.0}, {"validation_fraction": None}):
        ranker, parts = with_parts(bagged("trees", **settings), train)
        assert ranker.best_score_ is None
        assert [len(part.history_) for part in parts] == [8, 8, 8]


@KINDS
def test_weights_go_along(kind, train):
    given = {"list_weights": np.arange(30.0), "item_weights": np.arange(1.0, 1 + train.n_rows)}
    data = luce.Dataset(train.features, train.labels, train.offsets, **given)
    _, bags = with_bags(bagged(kind, "listnet", validation_fraction=None) if kind != "linear" else bagged(kind), data)
    for bag in bags:
        own = data.take(bag.lists)
        again = bag.ranker.unfitted_copy()
        features = np.where(bag.mask, again.transform_features(own), np.float32(0))
        again.train(TrainingData(own, features, None, None), callback=None, checkpoint=None)
        assert again.history_ == bag.ranker.history_


@pytest.mark.multiprocess
@KINDS
def test_bags_in_processes_are_the_same_bits(kind, train, tmp_path, monkeypatch):
    given = {"list_weights": np.arange(30.0), "item_weights": np.arange(1.0, 1 + train.n_rows)}
    data = luce.Dataset(train.features, train.labels, train.offsets, **given)
    luce.write(data, tmp_path / "a.arrow")
    stored = luce.read(tmp_path / "a.arrow")
    expected = bagged(kind).fit(data)
    monkeypatch.setattr("luce.rankers.bagging.WORTH_A_PROCESS", 0.0)
    asked = []

    def asking(self, bags, processes, whole=luce.rankers.bagging.Bagging.fitted_in_processes):
        asked.append((len(bags), processes))
        return whole(self, bags, processes)

    monkeypatch.setattr("luce.rankers.bagging.Bagging.fitted_in_processes", asking)
    for dataset in (data, stored):
        assert_same(bagged(kind, n_jobs=2).fit(dataset), expected)
    assert asked == [(2, 2)] * 2


class Cut(Exception):
    """The power fails."""


@KINDS
@pytest.mark.parametrize("saves", [1, 4, 9])
def test_resumed_bags_end_in_the_same_bits(kind, saves, train, tmp_path, monkeypatch):
    """Cut in the middle of the first bag, and later."""
    whole = bagged(kind).fit(train)
    path = tmp_path / "a.checkpoint"
    saved, count = Checkpoint.save, 0

    def save_and_fail(self, *arguments):
        nonlocal count
        saved(self, *arguments)
        count += 1
        if count == saves:
            raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_fail)
        with pytest.raises(Cut):
            bagged(kind).fit(train, checkpoint=Checkpoint(path, steps=2))
    with pytest.raises(DataError, match="is the checkpoint of an earlier training"):
        bagged(kind).fit(train, checkpoint=path)
    checkpoint = Checkpoint(path, resume=True)
    assert_same(bagged(kind).fit(train, checkpoint=checkpoint), whole)
    assert [file.name for file in checkpoint.files()] == [f"a.checkpoint.{number}" for number in range(3)]
    kept = tmp_path / "a.checkpoint.2.old"
    kept.touch()
    checkpoint.remove()
    assert list(tmp_path.iterdir()) == [kept]


WORK = {
    "linear": "luce.rankers.linear_problem.LinearProblem.value_and_gradient",
    "trees": "luce.rankers.trees.learner.TreeLearner.grow",
    "neural": "luce.rankers.neural.learner.NetworkLearner.step",
}


@KINDS
def test_finished_bags_are_not_trained_again(kind, train, tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    few = bagged(kind, n_bags=2).fit(train, checkpoint=path)
    monkeypatch.setattr(WORK[kind], lambda *_: pytest.fail("trained again"))
    assert_same(bagged(kind, n_bags=2).fit(train, checkpoint=Checkpoint(path, resume=True)), few)


def test_finished_bags_of_coordinate_ascent_are_not_climbed_again(train, tmp_path):
    settings = {"n_bags": 2, "optimizer": "coordinate-ascent", "restarts": 1}
    first = bagged("linear", **settings).fit(train, checkpoint=tmp_path / "a")
    files = {file: file.read_bytes() for file in sorted(tmp_path.iterdir())}
    assert [file.name for file in files] == ["a.0", "a.1"]
    assert_same(bagged("linear", **settings).fit(train, checkpoint=Checkpoint(tmp_path / "a", resume=True)), first)
    assert files == {file: file.read_bytes() for file in sorted(tmp_path.iterdir())}


@KINDS
def test_an_interrupt_keeps_the_bags_so_far(kind, train, test, tmp_path):
    ranker = bagged(kind)
    limit = ranker.iteration_limit // 3

    def interrupt(record):
        if record["iteration"] > 2 * limit:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit(train, callback=interrupt)
    expected = bagged(kind, n_bags=2).fit(train)
    assert_same(ranker, expected)
    ranker.save(tmp_path / "a.luce")
    np.testing.assert_allclose(
        luce.load(tmp_path / "a.luce").predict(test), expected.predict(test), rtol=1e-5, atol=1e-6
    )


@KINDS
def test_an_interrupt_of_the_first_bag_leaves_no_ranker(kind, train):
    def interrupt(_):
        raise KeyboardInterrupt

    ranker = bagged(kind)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(train, callback=interrupt)
    assert not ranker.__sklearn_is_fitted__()


def test_the_iterations_of_a_callback_run_on_over_the_bags(train):
    seen = []
    ranker = bagged("trees", validation_fraction=None).fit(train, callback=lambda step: seen.append(step["iteration"]))
    assert sorted(set(seen)) == list(range(1, 25)) and seen == sorted(seen)
    assert ranker.iteration_limit == 24


def test_a_random_state_is_drawn_from_once(train):
    states = [np.random.RandomState(3) for _ in range(2)]
    first, again = (bagged("trees", random_state=state).fit(train) for state in states)
    assert_same(first, again)
    assert states[0].randint(2**31) == np.random.RandomState(3).randint(2**31, size=2)[1]
    assert not np.array_equal(bagged("trees", random_state=states[0]).fit(train).predict(train), first.predict(train))


@KINDS
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_bags": 0}, "n_bags must be an integer ≥ 1. Got 0"),
        ({"n_bags": 2.5}, "n_bags must be an integer ≥ 1. Got 2.5"),
        ({"max_samples": 0}, "max_samples must be a number > 0 and ≤ 1. Got 0"),
        ({"max_samples": 1.5}, "max_samples must be a number > 0 and ≤ 1. Got 1.5"),
        ({"max_features": 0.0}, "max_features must be a number > 0 and ≤ 1. Got 0.0"),
    ],
)
def test_settings_are_checked(kind, settings, words, train):
    with pytest.raises(OptionError, match=words):
        bagged(kind, **settings).fit(train)


def test_what_goes_with_one_bag_alone(train):
    bags, one = bagged("trees").fit(train), TreeRanker(**TREES, n_jobs=1).fit(train)
    with pytest.raises(OptionError, match=r"init_model needs n_bags=1\. Got n_bags=3"):
        bagged("trees").fit(train, init_model=one)
    for call in (lambda: bags.truncate(1), lambda: bags.staged_predict(train)):
        with pytest.raises(OptionError, match=r"rounds of trees, which 3 bags do not share: use n_bags=1"):
            call()
    assert TreeRanker(**TREES, n_jobs=1).fit(train, init_model=bags).forest_.rounds > bags.forest_.rounds


def test_a_bag_in_which_nothing_can_be_learned(train, tmp_path):
    data = luce.Dataset(np.ones((train.n_rows, 2)), train.labels, train.offsets)
    with pytest.warns(luce.LuceWarning, match="No tree can split"):
        ranker = bagged("trees").fit(data)
    ranker.save(tmp_path / "a.luce")
    assert np.ptp(luce.load(tmp_path / "a.luce").predict(data)) == 0
