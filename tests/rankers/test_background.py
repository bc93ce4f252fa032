"""Trees that start from the scores of a linear or neural ranker: one model with both."""

import pickle

import numpy as np
import pytest

import luce
from luce.errors import DataError, OptionError

from .growing import learner_of, quick
from .made import ndcg, pages, parts


@pytest.fixture(scope="module")
def data():
    return parts()


@pytest.fixture(scope="module")
def backgrounds(data):
    neural = luce.NeuralRanker("listmle", hidden_layer_sizes=(4,), epochs=3, n_jobs=1, validation_fraction=None)
    return {"linear": luce.LinearRanker(n_jobs=1).fit(data["train"]), "neural": neural.fit(data["train"])}


EVERY = pytest.mark.parametrize("kind", ["linear", "neural"])


@EVERY
@pytest.mark.parametrize("objective", ["pl-partition", "squared-label", "lambdarank"])
def test_trees_are_added_to_the_scores_they_start_from(data, backgrounds, kind, objective):
    train, test, background = data["train"], data["test"], backgrounds[kind]
    learner = learner_of(ranker := quick(objective, n_estimators=5), train, init_model=background)
    np.testing.assert_allclose(learner.scores[0][0], ranker.predict(train), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(list(ranker.staged_predict(test))[-1], ranker.predict(test))
    trees = ranker.predict(test) - background.predict(test)
    assert np.abs(trees).max() > 1e-3
    np.testing.assert_allclose(ranker.forest_.scores(test.features), trees, rtol=1e-9, atol=1e-9)
    first = quick(objective, n_estimators=1, learning_rate=1e-9).fit(train, init_model=background)
    np.testing.assert_allclose(first.predict(test), background.predict(test), atol=1e-6)


@EVERY
def test_the_first_gradient_is_that_at_the_scores_of_the_background(data, backgrounds, kind):
    train, background = data["train"], backgrounds[kind]
    seen = []
    quick("pl-partition", n_estimators=1).fit(train, init_model=background, callback=seen.append)
    objective = luce.objective("pl-partition")
    informative = objective.has_signal(train.labels, train.offsets)
    at_start, at_zero = (
        objective.value_and_gradient(scores, train.labels, train.offsets).loss[informative].mean()
        for scores in (background.predict(train), np.zeros(train.n_rows))
    )
    assert seen[0]["loss"] < at_start < at_zero


@EVERY
def test_the_model_file_and_a_pickle_have_both(data, backgrounds, kind, tmp_path):
    ranker = quick(n_estimators=4).fit(data["train"], init_model=backgrounds[kind])
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    again.save(tmp_path / "b.luce")
    assert (tmp_path / "a.luce").read_bytes() == (tmp_path / "b.luce").read_bytes()
    for other in (again, pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(other.predict(data["test"]), ranker.predict(data["test"]))
    more = quick(n_estimators=3).fit(data["train"], init_model=again)
    assert more.forest_.rounds == 7 and more.init_model_ is again.init_model_
    np.testing.assert_array_equal(more.truncate(4).predict(data["test"]), ranker.predict(data["test"]))
    assert ranker.fit(data["train"]).init_model_ is None


def test_a_file_whose_parts_do_not_fit_is_refused(data, backgrounds):
    ranker = quick(n_estimators=2).fit(data["train"], init_model=backgrounds["linear"])
    manifest, arrays = ranker.to_manifest()
    member = manifest["members"][0]
    fewer = {**member, "features": {**member["features"], "names": list(map(str, range(40)))}}
    for members in ([], [member, member], [fewer]):
        with pytest.raises(DataError, match="does not contain trees that fit their init_model"):
            luce.TreeRanker.from_manifest(manifest | {"members": members}, arrays)


def test_a_resumed_training_ends_in_the_same_trees(data, backgrounds, tmp_path):
    fits = {"validation": data["validation"], "init_model": backgrounds["linear"]}
    whole = quick(n_estimators=6).fit(data["train"], **fits)
    quick(n_estimators=3).fit(data["train"], checkpoint=tmp_path / "c", **fits)
    saved = luce.Checkpoint(tmp_path / "c", resume=True)
    resumed = quick(n_estimators=6).fit(data["train"], checkpoint=saved, **fits)
    assert resumed.forest_.text() == whole.forest_.text()
    assert resumed.history_ == whole.history_
    with pytest.raises(DataError, match="init_model gives other scores"):
        quick(n_estimators=9).fit(data["train"], checkpoint=saved, validation=data["validation"])


def test_a_linear_background_is_explained_with_the_trees_and_a_network_is_not(data, backgrounds):
    train, test = data["train"], data["test"]
    ranker = quick(n_estimators=4).fit(train, init_model=backgrounds["linear"])
    np.testing.assert_allclose(ranker.explain(test).scores, ranker.predict(test), rtol=1e-9, atol=1e-9)
    deep = quick(n_estimators=4).fit(train, init_model=backgrounds["neural"])
    with pytest.raises(OptionError, match=r"scores of a NeuralRanker, which are not sums .* permutation_importance"):
        deep.explain(test)
    for each in (ranker, deep):
        with pytest.raises(OptionError, match=r"added to the scores of a .*Ranker, which LightGBM cannot contain"):
            each.to_lightgbm()


def test_a_background_that_normalizes_lists_needs_them(data):
    background = luce.LinearRanker(transforms=("fill", "list-zscore"), n_jobs=1).fit(data["train"])
    ranker = quick(n_estimators=2).fit(data["train"], init_model=background)
    with pytest.raises(DataError, match="normalizes features within lists: pass qid or group"):
        ranker.predict(data["test"].features)
    assert np.isfinite(ranker.predict(data["test"])).all()


def test_what_cannot_be_a_background(data, backgrounds):
    train, linear = data["train"], backgrounds["linear"]
    with pytest.raises(OptionError, match="init_model must be a fitted TreeRanker, LinearRanker or NeuralRanker"):
        quick().fit(train, init_model=luce.EnsembleRanker())
    with pytest.raises(OptionError, match="mcrank has one score per grade, and LinearRanker gives one per row"):
        quick("mcrank").fit(train, init_model=linear)
    with pytest.raises(OptionError, match=r"trees need transforms=\(\)"):
        quick(transforms=("fill",)).fit(train, init_model=linear)
    fewer = train.with_features(train.features[:, :7].copy())
    with pytest.raises(DataError, match="fitted on other features than the 7 here"):
        quick().fit(fewer, init_model=linear)


def test_trees_on_a_background_are_better_than_it():
    few, test = pages(60, 2, 5, 7, 0.8), pages(300, 3, 5, 7, 0.8)
    background = luce.LinearRanker(n_jobs=1).fit(pages(300, 1))
    adapted = quick("pl-partition", n_estimators=20).fit(few, init_model=background)
    assert ndcg(adapted.predict(test), test) > ndcg(background.predict(test), test) + 0.01
