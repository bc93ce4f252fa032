"""The scores of trees round by round: those of `predict` at the best round, and of all that were grown after it."""

import pickle

import numpy as np
import pytest

import luce
from luce.rankers import TreeRanker

from .bags import TREES, lists
from .made import ndcg


@pytest.fixture(scope="module")
def data():
    return {name: lists(40, seed=seed, missing=0.1) for seed, name in enumerate(("train", "validation"), 1)}


def quick(objective="listmle", **settings):
    early = {"n_estimators": 40, "early_stopping_rounds": 5, "learning_rate": 0.4}
    return TreeRanker(objective, **{**TREES, **early, "n_jobs": 1, **settings})


@pytest.mark.parametrize("settings", [{}, {"transforms": ["list-zscore"]}, {"subsample": 0.5}], ids=str)
@pytest.mark.parametrize("objective", ["listmle", "mcrank", "pairties-davidson"])
def test_scores_of_each_round(data, objective, settings):
    validation = data["validation"]
    ranker = quick(objective, **settings).fit(data["train"], validation=validation)
    stages = list(ranker.staged_predict(validation))
    assert len(stages) == len(ranker.history_) > ranker.best_iteration_
    for step, scores in zip(ranker.history_, stages, strict=True):
        assert scores.shape == (validation.n_rows,)
        assert ndcg(scores, validation) == pytest.approx(step["validation"], abs=1e-12)
    assert np.array_equal(stages[ranker.best_iteration_ - 1], ranker.predict(validation))
    for rounds in (1, ranker.best_iteration_):
        assert np.array_equal(ranker.truncate(rounds).predict(validation), stages[rounds - 1])


def test_rows_of_mixed_queries_come_back_in_their_order(data):
    made = data["validation"]
    order = np.random.default_rng(0).permutation(made.n_rows)
    X, qid = np.asarray(made.features)[order], np.repeat(np.arange(made.n_lists), made.sizes)[order]
    ranker = quick(transforms=["list-zscore"]).fit(data["train"], validation=made)
    stages = list(ranker.staged_predict(X, qid))
    assert np.array_equal(stages[ranker.best_iteration_ - 1], ranker.predict(X, qid))
    assert np.array_equal(stages[0], next(ranker.staged_predict(made))[order])


def test_a_change_of_the_scores_does_not_reach_the_next(data):
    ranker = quick().fit(data["train"], validation=data["validation"])
    stages = ranker.staged_predict(data["validation"])
    next(stages)[:] = np.nan
    assert np.array_equal(next(stages), ranker.truncate(2).predict(data["validation"]))


def test_a_file_ends_with_the_best_round_and_a_pickle_does_not(data, tmp_path):
    ranker = quick().fit(data["train"], validation=data["validation"])
    ranker.save(tmp_path / "a.luce")
    loaded, pickled = luce.load(tmp_path / "a.luce"), pickle.loads(pickle.dumps(ranker))
    stages = list(ranker.staged_predict(data["validation"]))
    assert np.array_equal(list(pickled.staged_predict(data["validation"])), stages)
    assert np.array_equal(list(loaded.staged_predict(data["validation"])), stages[: ranker.best_iteration_])
    shorter = ranker.truncate(2)
    assert np.array_equal(list(shorter.staged_predict(data["validation"])), stages[:2])
    held_out = quick().fit(data["train"])
    assert len(list(held_out.staged_predict(data["validation"]))) == held_out.best_iteration_


def test_trees_of_another_ranker_are_in_every_stage(data):
    first = quick(n_estimators=3, validation_fraction=None).fit(data["train"])
    ranker = quick().fit(data["train"], validation=data["validation"], init_model=first)
    stages = list(ranker.staged_predict(data["validation"]))
    assert len(stages) == len(ranker.history_)
    assert np.array_equal(stages[ranker.best_iteration_ - 1], ranker.predict(data["validation"]))
    added = stages[0] - first.predict(data["validation"])
    assert 0 < np.abs(added).max() < 1


def test_an_interrupt_leaves_whole_rounds(data):
    def interrupt(record):
        if record["iteration"] == 7:
            raise KeyboardInterrupt

    ranker = quick("mcrank")
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data["train"], validation=data["validation"], callback=interrupt)
    assert len(list(ranker.staged_predict(data["validation"]))) == 7


def test_without_rounds_there_are_no_stages(data):
    train = data["train"]
    with pytest.warns(luce.LuceWarning, match="No tree can split"):
        ranker = quick(validation_fraction=None).fit(train.with_features(np.ones((train.n_rows, 6), np.float32)))
    assert list(ranker.staged_predict(train)) == []


def test_errors_come_with_the_call(data):
    with pytest.raises(luce.DataError, match="X has 2 features"):
        quick().fit(data["train"]).staged_predict(np.ones((3, 2)))
