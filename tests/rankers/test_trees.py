"""The tree ranker: every objective trains it, its leaves are Newton's steps, LightGBM opens its files."""

import lightgbm
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import luce
from luce.errors import DataError, OptionError
from luce.objectives import OBJECTIVES, Draw
from luce.rankers import LinearRanker
from luce.rankers.trees import grower as grower_module
from luce.rankers.trees import settings as settings_module

from .growing import learner_of, quick
from .made import for_objective, ndcg, parts, random_ndcg

EXACT = [("listmle", {}), ("p-listmle", {}), ("p-listmle", {"permutations": 3}), ("pl-topk", {}), ("pl-partition", {})]


@pytest.fixture(scope="module")
def data():
    return parts()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_trains_it(data, objective, tmp_path):
    train, test = for_objective(objective, data["train"]), data["test"]
    ranker = quick(objective).fit(train, validation=data["validation"])
    scores = ranker.predict(test)
    assert ndcg(scores, test) > random_ndcg(test) + 0.07
    ranker.save(tmp_path / "a.luce")
    np.testing.assert_array_equal(luce.load(tmp_path / "a.luce").predict(test), scores)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "pl-partition", "split_hessian": "diagonal", "reg_lambda": 1.0},
        {"objective": "mcrank"},
        {"objective": "squared-label"},
        {"objective": "pairties-davidson"},
        {"subsample": 0.5, "colsample_bytree": 0.5},
        {"lightgbm_objective": "lambdarank"},
        {"lightgbm_objective": "rank_xendcg"},
        {"transforms": ("list-zscore",)},
        {"lightgbm_params": {"max_bin": 15, "extra_trees": True}},
    ],
    ids=str,
)
def test_predictions_are_the_training_scores_to_the_bit(data, settings, tmp_path):
    train, validation = data["train"], data["validation"]
    if "transforms" in settings:
        train, validation = (part.with_features(np.nan_to_num(part.features)) for part in (train, validation))
    ranker = quick(**settings)
    learner = learner_of(ranker, train, validation=validation)
    rounds = len(learner.trees) // learner.grower.outputs
    assert rounds == 20
    ranker.best_iteration_ = rounds
    ranker._set_forest(learner.forest(rounds))
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    (tmp_path / "a.txt").write_bytes(again.state_dict()["model"].tobytes())
    opened = lightgbm.Booster(model_file=tmp_path / "a.txt")
    for part, dataset in enumerate((train, validation)):
        grown = learner._shaped(learner.scores[part])
        features = ranker.transform_features(dataset)
        for booster in (opened, again.to_lightgbm(), lightgbm.Booster(model_str=opened.model_to_string())):
            np.testing.assert_array_equal(booster.predict(features, raw_score=True, num_threads=1), grown)
        np.testing.assert_array_equal(again.predict(dataset), ranker.combine_outputs(grown))
        assert np.ptp(grown) > 0.1
    contributions = opened.predict(features, pred_contrib=True, num_threads=1)
    np.testing.assert_allclose(contributions.reshape(*grown.shape, -1).sum(axis=-1), grown, atol=1e-9)


def by_hand(objective, scores, dataset, leaves, draw):
    """Newton's step of each leaf by differences of the loss, and its gradient."""

    def loss(step, leaf):
        moved = scores + step * (leaves == leaf)
        return objective.value_and_gradient(moved, dataset.labels, dataset.offsets, draw=draw).loss.sum()

    steps = []
    for leaf in range(leaves.max() + 1):
        values = {k: loss(k * 1e-2, leaf) for k in range(-4, 5)}
        gradient = (
            672 * (values[1] - values[-1])
            - 168 * (values[2] - values[-2])
            + 32 * (values[3] - values[-3])
            - 3 * (values[4] - values[-4])
        ) / 840e-2
        hessian = (
            -14350 * values[0]
            + 8064 * (values[1] + values[-1])
            - 1008 * (values[2] + values[-2])
            + 128 * (values[3] + values[-3])
            - 9 * (values[4] + values[-4])
        ) / 5040e-4
        steps.append(-gradient / hessian)
    return np.array(steps)


@pytest.mark.parametrize(("name", "options"), EXACT, ids=str)
def test_a_leaf_steps_as_newton_would(data, name, options):
    train, objective = for_objective(name, data["train"]).take(np.arange(12)), luce.objective(name, **options)
    ranker = quick(objective, n_estimators=3, learning_rate=1.0, min_child_samples=15, random_state=5).fit(train)
    booster = ranker.to_lightgbm()
    for tree in range(3):
        before = booster.predict(train.features, num_iteration=tree, num_threads=1) if tree else np.zeros(train.n_rows)
        leaves = booster.predict(train.features, start_iteration=tree, num_iteration=1, pred_leaf=True, num_threads=1)
        expected = by_hand(objective, before, train, leaves.ravel(), Draw(5, tree))
        np.testing.assert_allclose(ranker.forest_.trees[tree].leaf_value, expected, rtol=1e-5, atol=1e-6)


def test_a_diagonal_leaf_is_the_mean_gradient_over_the_mean_second_derivative(data):
    train = data["train"]
    ranker = quick("listnet", n_estimators=1, reg_lambda=0.5, learning_rate=0.3).fit(train)
    at_zero = luce.objective("listnet").value_and_gradient(
        np.zeros(train.n_rows), train.labels, train.offsets, hessian=True
    )
    leaves = ranker.to_lightgbm().predict(train.features, pred_leaf=True, num_threads=1).ravel()
    for leaf, value in enumerate(ranker.forest_.trees[0].leaf_value):
        rows = leaves == leaf
        expected = -0.3 * at_zero.gradient[rows].sum() / (at_zero.hessian[rows].sum() + 0.5)
        assert value == pytest.approx(expected, rel=1e-9)


def test_squared_errors_begin_at_the_mean_label(data):
    train = data["train"]
    ranker = quick("squared-label", n_estimators=1, learning_rate=0.25).fit(train)
    leaves = ranker.to_lightgbm().predict(train.features, pred_leaf=True, num_threads=1).ravel()
    for leaf, value in enumerate(ranker.forest_.trees[0].leaf_value):
        assert value == pytest.approx(0.75 * train.labels.mean() + 0.25 * train.labels[leaves == leaf].mean())


@pytest.mark.parametrize("objective", ["listmle", "pl-partition"])
@pytest.mark.parametrize("split_hessian", ["constant", "diagonal"])
def test_the_likelihood_rises_in_every_round(data, objective, split_hessian):
    ranker = quick(
        objective, n_estimators=150, learning_rate=0.05, split_hessian=split_hessian, resample_each_round=False
    ).fit(data["train"])
    losses = [step["loss"] for step in ranker.history_]
    assert len(losses) == 150
    assert (np.diff(losses) < 0).all()


def test_small_data_are_trained_on_one_thread(data):
    assert learner_of(quick(n_estimators=1, n_jobs=2), data["train"]).grower.n_jobs == 1


def test_row_order_feature_order_and_threads_play_little_part(data, monkeypatch):
    monkeypatch.setattr(settings_module, "VALUES_PER_THREAD", 1)
    train, test = data["train"], data["test"]
    X, qid = np.asarray(train.features), np.repeat(np.arange(train.n_lists), train.sizes)
    base = quick("pl-partition", n_estimators=40).fit(train)
    expected = ndcg(base.predict(test), test)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(train.n_rows), rng.permutation(train.n_features)
    shuffled = quick("pl-partition", n_estimators=40).fit(X[rows], train.labels[rows], qid[rows])
    assert ndcg(shuffled.predict(test), test) == pytest.approx(expected, abs=0.03)
    turned = quick("pl-partition", n_estimators=40).fit(X[:, columns], train.labels, qid)
    moved = test.with_features(np.asarray(test.features)[:, columns])
    assert ndcg(turned.predict(moved), test) == pytest.approx(expected, abs=0.03)
    threads = quick("pl-partition", n_estimators=40, n_jobs=2)
    assert learner_of(threads, train).grower.n_jobs == 2
    assert ndcg(threads.predict(test), test) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.6, "colsample_bytree": 0.4}], ids=str)
def test_a_seed_repeats_the_model_text(data, settings):
    one, two, other = (quick(random_state=seed, **settings).fit(data["train"]).forest_.text() for seed in (3, 3, 4))
    assert one == two
    assert one != other


def test_ties_are_shuffled_anew_or_not(data):
    fixed = learner_of(quick(resample_each_round=False), data["train"])
    anew = learner_of(quick(), data["train"])
    assert fixed.trees[0] == anew.trees[0]
    assert fixed.trees[1] != anew.trees[1]


def test_every_round_draws_other_lists(data):
    learner = learner_of(quick(n_estimators=1, subsample=0.5), data["train"])
    drawn = [learner._weights(number).lists for number in range(2)]
    assert (drawn[0] != drawn[1]).any()


def test_early_stopping_keeps_the_best_rounds(data):
    seen = []
    ranker = quick("lambdarank", n_estimators=200, early_stopping_rounds=6, learning_rate=0.3)
    ranker.fit(data["train"], validation=data["validation"], callback=seen.append)
    assert seen == ranker.history_
    best = max(seen, key=lambda record: record["validation"])
    assert ranker.best_iteration_ == best["iteration"]
    assert len(seen) == best["iteration"] + 6
    assert ranker.forest_.rounds == best["iteration"]
    assert ndcg(ranker.predict(data["validation"]), data["validation"]) == pytest.approx(best["validation"], abs=1e-12)


def test_other_metrics_may_decide(data):
    ranker = quick(metric="arp", n_estimators=60, early_stopping_rounds=5).fit(
        data["train"], validation=data["validation"]
    )
    values = [step["validation"] for step in ranker.history_]
    assert ranker.best_iteration_ == 1 + int(np.argmin(values))


def test_equal_leaf_values_are_told_apart_by_prediction(data, monkeypatch):
    """Two leaves of one value cannot be told apart by the change of a score."""
    expected = learner_of(quick(), data["train"])
    asked = []
    whole = grower_module.TreeGrower._predicted_leaves
    monkeypatch.setattr(grower_module.TreeGrower, "_predicted_leaves", lambda *a: asked.append(a) or whole(*a))
    monkeypatch.setattr(grower_module, "ROUNDING", 1.0)
    found = learner_of(quick(), data["train"])
    assert len(asked) == 20
    assert found.trees == expected.trees
    monkeypatch.setattr(grower_module, "ROUNDING", 16 * np.finfo(float).eps)
    asked.clear()
    twins = luce.Dataset([[0.0], [1], [2], [3]] * 30, [1, 0, 0, 1] * 30, np.arange(0, 121, 4))
    ranker = quick("squared-label", n_estimators=2, num_leaves=4)
    learner = learner_of(ranker, twins)
    assert asked
    np.testing.assert_array_equal(ranker.predict(twins), learner.scores[0][0])


def test_without_the_private_calls_the_trees_are_the_same(data, monkeypatch):
    for objective in ("listmle", "mcrank"):
        expected = quick(objective).fit(data["train"], validation=data["validation"])
        with monkeypatch.context() as patch:
            patch.setattr(grower_module, "_has_private_calls", lambda booster: False)
            patch.delattr(lightgbm.basic._LIB, "LGBM_BoosterUpdateOneIterCustom", raising=False)
            found = quick(objective).fit(data["train"], validation=data["validation"])
        assert found.forest_.text() == expected.forest_.text()
        assert found.history_ == expected.history_


def test_adaptation_continuation_and_truncation(data):
    train, test = data["train"], data["test"]
    whole = learner_of(quick("pl-partition", n_estimators=12), train)
    first = quick("pl-partition", n_estimators=5).fit(train)
    more = quick("pl-partition", n_estimators=7).fit(train, init_model=first)
    assert more.forest_.rounds == 12
    assert more.forest_.trees == tuple(whole.trees)
    assert first.forest_.rounds == 5
    np.testing.assert_array_equal(more.truncate(5).predict(test), first.predict(test))
    assert [more.truncate(rounds).best_iteration_ for rounds in (3, 5, 8, 12)] == [0, 0, 3, 7]
    assert more.forest_.rounds == 12 and more.best_iteration_ == 7
    builtin = quick("listnet", n_estimators=4, lightgbm_objective="lambdarank")
    together = builtin.fit(train).forest_.trees
    halves = quick("listnet", n_estimators=2, lightgbm_objective="lambdarank").fit(train)
    assert (
        quick("listnet", n_estimators=2, lightgbm_objective="lambdarank").fit(train, init_model=halves).forest_.trees
        == together
    )
    with pytest.raises(NotFittedError):
        quick().fit(train, init_model=LinearRanker())
    with pytest.raises(
        DataError, match="init_model scores 40 features by 1 trees per round; here there are 40 features and 5"
    ):
        quick("mcrank").fit(train, init_model=first)
    for wrong in (0, 13):
        with pytest.raises(OptionError, match="from 1 to 12, the number of rounds"):
            more.truncate(wrong)


def test_an_adapted_ranker_that_gets_no_better_is_the_one_it_was(data):
    first = quick(n_estimators=60).fit(data["train"], validation=data["validation"])
    noise = luce.Dataset(
        data["train"].features, np.random.default_rng(0).permutation(data["train"].labels), data["train"].offsets
    )
    adapted = quick(n_estimators=3, learning_rate=1.0).fit(noise, init_model=first, validation=data["validation"])
    assert adapted.forest_.trees[: first.forest_.rounds] == first.forest_.trees


def test_an_interrupt_keeps_the_best_so_far(data):
    ranker = quick(n_estimators=30)

    def stop(record):
        if record["iteration"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data["train"], validation=data["validation"], callback=stop)
    whole = quick(n_estimators=4).fit(data["train"], validation=data["validation"])
    assert ranker.forest_ == whole.forest_
    assert len(ranker.history_) == 4
