"""A part of the lists held out to choose the number of iterations: chosen by it, and then trained on all lists."""

import numpy as np
import pytest

import luce
from luce.errors import DataError, OptionError
from luce.experiments.cross_validation import CrossValidation
from luce.experiments.tuning import tune
from luce.rankers import Checkpoint, LabelRanker, NeuralRanker, TreeRanker

from .bags import NETWORK, TREES, assert_same, bagged, lists
from .made import ndcg
from .tagged import tagged

STEPS = NETWORK | {"epochs": 12, "early_stopping_rounds": 3, "learning_rate": 0.05}
SETTINGS = {
    "trees": (TreeRanker, TREES | {"n_estimators": 30, "early_stopping_rounds": 5, "learning_rate": 0.3}),
    "neural": (NeuralRanker, STEPS | {"objective": "listmle"}),
    "labels": (LabelRanker, STEPS),
}
ITERATIONS = {"trees": "n_estimators", "neural": "epochs", "labels": "epochs"}
KINDS = pytest.mark.parametrize("kind", SETTINGS)


def ranker_of(kind, **settings):
    made, small = SETTINGS[kind]
    return made(**{**small, "n_jobs": 1, **settings})


@pytest.fixture(scope="module")
def data():
    ranked = lists(50)
    ranked = ranked.take(np.flatnonzero(TreeRanker().informative_lists(ranked))[:40])
    return {"trees": ranked, "neural": ranked, "labels": tagged(n_rows=60, n_labels=12)}


def with_trainings(ranker, *given, **more):
    """The fitted ranker and, of each training, the ranker and what it was trained on."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        train = type(ranker).train

        def watched(self, training, **settings):
            seen.append((self, training))
            return train(self, training, **settings)

        patch.setattr(type(ranker), "train", watched)
        return ranker.fit(*given, **more), seen


@KINDS
def test_as_many_iterations_on_all_lists_as_the_held_out_part_chose(kind, data):
    given = data[kind]
    ranker, trainings = with_trainings(ranker_of(kind), given)
    (search, part), (_, everything) = trainings
    assert part.validation.n_lists == round(ranker.validation_fraction * (given.n_lists - 3 * (kind == "labels")))
    assert part.dataset.n_lists + part.validation.n_lists == given.n_lists
    assert everything.dataset is given and everything.validation is None
    best = max(search.history_, key=lambda step: step["validation"])
    assert 0 < ranker.best_iteration_ == best["iteration"] < len(search.history_) + 1
    assert ranker.history_ == search.history_
    assert ranker.best_score_ == best["validation"]
    settings = {ITERATIONS[kind]: ranker.best_iteration_, "validation_fraction": None}
    alone = ranker_of(kind, **settings).fit(given)
    for name, array in alone.state_dict().items():
        np.testing.assert_array_equal(ranker.state_dict()[name], array)
    assert np.array_equal(ranker.predict(given), alone.predict(given))


@KINDS
def test_each_list_is_held_out_or_trained_on(kind, data):
    _, ((_, part), _) = with_trainings(ranker_of(kind), data[kind])
    sums = [np.asarray(each.features.sum(axis=1)).ravel() for each in (part.dataset, part.validation, data[kind])]
    np.testing.assert_array_equal(np.sort(np.concatenate(sums[:2])), np.sort(sums[2]))


def test_features_are_transformed_once_for_all(data):
    _, ((_, part), (_, everything)) = with_trainings(ranker_of("neural"), data["neural"])
    together = np.concatenate([part.features, part.validation_features])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(everything.features, axis=0))


@KINDS
def test_of_few_lists_none_are_held_out(kind, data):
    for count, trainings in ((9, 1), (10, 2)):
        first = 0 if kind == "labels" else 3  # its first three rows have no labels, and do not count
        given = data[kind].take(np.arange(first, 3 + count))
        assert len(with_trainings(ranker_of(kind), given)[1]) == trainings


@KINDS
def test_with_validation_data_nothing_is_held_out(kind, data):
    ranker, trainings = with_trainings(ranker_of(kind), data[kind], validation=data[kind])
    assert [each for each, _ in trainings] == [ranker]
    assert trainings[0][1].dataset is trainings[0][1].validation is data[kind]


def test_a_training_for_fairness_is_not_stopped_by_relevance(data):
    ranker, trainings = with_trainings(ranker_of("neural", objective="fair-policy", epochs=2), data["neural"])
    assert len(trainings) == 1 and "validation" not in ranker.history_[0]


@KINDS
def test_nearly_all_lists_may_be_held_out_but_not_all(kind, data):
    _, ((_, part), _) = with_trainings(ranker_of(kind, validation_fraction=0.999), data[kind])
    assert part.dataset.n_lists == (4 if kind == "labels" else 1)


@pytest.mark.parametrize("kind", ["trees", "neural"])
def test_lists_that_teach_or_measure_nothing_are_not_held_out(kind, data):
    given = data[kind]
    labels, weights = np.array(given.labels), np.ones(40)
    for q in range(0, 20, 2):
        labels[given.rows(q)] = 2  # no order
    for q in range(1, 20, 2):
        labels[given.rows(q)] -= 5  # an order, and nothing that ndcg counts
    weights[20:24] = 0
    mixed = luce.Dataset(given.features, labels, given.offsets, list_weights=weights)
    _, ((_, part), _) = with_trainings(ranker_of(kind, validation_fraction=0.9), mixed)
    assert part.validation.n_lists == 14
    assert part.validation.labels.min() == 0 and (part.validation.list_weights == 1).all()
    ranks = luce.Dataset(given.features, -given.labels - 1, given.offsets)
    ranker, trainings = with_trainings(ranker_of(kind), ranks)
    assert len(trainings) == 1 and len(ranker.history_) == ranker.iteration_limit
    bags = bagged(kind).fit(ranks)
    assert bags.best_score_ is None


@pytest.mark.parametrize("kind", ["neural", "labels"])
def test_the_held_out_part_chooses_between_learning_rates(kind, data):
    ranker, ((search, _), (final, _)) = with_trainings(ranker_of(kind, learning_rate=[1e-6, 0.05]), data[kind])
    assert ranker.learning_rate_ == search.learning_rate_ == final.learning_rate == 0.05
    assert list(ranker.learning_rate) == [1e-6, 0.05]
    alone = ranker_of(kind, learning_rate=0.05, epochs=ranker.best_iteration_, validation_fraction=None)
    assert np.array_equal(alone.fit(data[kind]).predict(data[kind]), ranker.predict(data[kind]))
    with pytest.raises(OptionError, match="give validation data, or a validation_fraction"):
        ranker_of(kind, learning_rate=[1e-6, 0.05], validation_fraction=None).fit(data[kind])


@KINDS
def test_a_random_state_is_drawn_from_once(kind, data):
    state = np.random.RandomState(3)
    ranker, trainings = with_trainings(ranker_of(kind, random_state=state), data[kind])
    drawn = np.random.RandomState(3).randint(2**31, size=2)
    assert [each.random_state for each, _ in trainings] == [drawn[0], drawn[0]]
    assert state.randint(2**31) == drawn[1]
    assert ranker.random_state is state
    assert_same(ranker_of(kind, random_state=int(drawn[0])).fit(data[kind]), ranker)


def test_trees_that_begin_with_others(data):
    first = ranker_of("trees", n_estimators=3, validation_fraction=None).fit(data["trees"])
    ranker = ranker_of("trees").fit(data["trees"], init_model=first)
    assert ranker.forest_.rounds == 3 + ranker.best_iteration_
    assert ranker.forest_.first(3) == first.forest_
    settings = {"n_estimators": ranker.best_iteration_, "validation_fraction": None}
    assert ranker_of("trees", **settings).fit(data["trees"], init_model=first).forest_ == ranker.forest_


class Cut(Exception):
    """The power fails."""


@KINDS
@pytest.mark.parametrize("saves", [2, -1])
def test_a_resumed_search_or_refit_ends_in_the_same_bits(kind, saves, data, tmp_path, monkeypatch):
    """Cut in the search, and before the end of the training on all lists."""
    given, path, saved, count = data[kind], tmp_path / "a", Checkpoint.save, 0

    def counted(self, *arguments):
        nonlocal count
        saved(self, *arguments)
        count += 1
        if count == saves:
            raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", counted)
        if saves < 0:
            ranker_of(kind).fit(given, checkpoint=Checkpoint(tmp_path / "b", steps=1))
            assert {file.name for file in Checkpoint(tmp_path / "b").files()} == {"b", "b.0"}
            saves, count = count - 1, 0
        with pytest.raises(Cut):
            ranker_of(kind).fit(given, checkpoint=Checkpoint(path, steps=1))
        assert path.exists() == (saves > 2)
    assert_same(ranker_of(kind).fit(given, checkpoint=Checkpoint(path, resume=True)), ranker_of(kind).fit(given))
    with pytest.raises(DataError, match=r"a\.0 is the checkpoint of an earlier training"):
        ranker_of(kind).fit(given, checkpoint=path)


@KINDS
@pytest.mark.parametrize("where", ["search", "refit"])
def test_an_interrupt_keeps_the_search(kind, where, data, tmp_path):
    whole, ((search, _), _) = with_trainings(ranker_of(kind), data[kind])
    n_search, ranker, count = len(whole.history_), ranker_of(kind), 0

    def interrupt(record):
        nonlocal count
        count += record["iteration"] % 1 == 0
        if count == (n_search if where == "search" else n_search + 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data[kind], callback=interrupt)
    assert ranker.history_ == search.history_ and ranker.best_iteration_ == search.best_iteration_
    ranker.save(tmp_path / "a.luce")
    loaded = luce.load(tmp_path / "a.luce")
    np.testing.assert_allclose(loaded.predict(data[kind]), search.predict(data[kind]), rtol=1e-5, atol=1e-6)
    assert not np.array_equal(loaded.predict(data[kind]), whole.predict(data[kind]))


@KINDS
@pytest.mark.parametrize("fraction", [0, 1, "half"])
def test_the_fraction_is_checked(kind, fraction, data):
    with pytest.raises(OptionError, match=r"validation_fraction must be a number > 0 and < 1, or None\. Got"):
        ranker_of(kind, validation_fraction=fraction).fit(data[kind])


@KINDS
def test_a_search_refits_without_a_held_out_part(kind, data):
    folds = CrossValidation(ranker_of(kind), data[kind], None, 3, 0)
    refitted = folds.refit({}, 2)
    expected = ranker_of(kind, **{ITERATIONS[kind]: 2, "validation_fraction": None}).fit(data[kind])
    assert_same(refitted, expected)


@pytest.mark.parametrize("kind", ["linear", "trees", "neural"])
def test_a_search_refits_bags_as_they_are(kind, data):
    given = data["trees"]
    folds = CrossValidation(bagged(kind), given, None, 2, 0)
    scores, iterations = folds.scores({}, lambda *_: None)
    assert iterations == [3, 3] and all(0 < score <= 1 for score in scores)
    assert_same(folds.refit({}, 3), bagged(kind).fit(given))
    judged = CrossValidation(bagged(kind), given, lists(20, seed=5), 2, 0)
    assert_same(judged.refit({}, 3), bagged(kind).fit(given, validation=lists(20, seed=5)))


def test_bags_and_held_out_parts_are_tuned(data):
    for ranker in (bagged("trees"), ranker_of("trees")):
        found = tune(ranker, data["trees"], trials=2, folds=2, vary={"num_leaves": luce.Range(3, 6)})
        assert found.best.state == "complete" and found.best_ranker.n_bags == ranker.n_bags
        assert found.best_ranker.validation_fraction == (0.2 if ranker.n_bags > 1 else None)
        assert ndcg(found.best_ranker.predict(data["trees"]), data["trees"]) > 0.5


def test_where_the_rest_is_too_little_for_a_tree_one_round_is_grown_on_all_lists(data):
    few = int(0.45 * data["trees"].n_rows)
    ranker, ((search, _), _) = with_trainings(ranker_of("trees", min_child_samples=few), data["trees"])
    assert search.best_iteration_ == 0 and not ranker.history_
    assert ranker.best_iteration_ == ranker.forest_.rounds == 1
    with pytest.warns(luce.LuceWarning, match="No tree can split") as told:
        ranker_of("trees", min_child_samples=data["trees"].n_rows).fit(data["trees"])
    assert len(told) == 1
