"""The linear ranker: it finds the optimum, keeps the best point, and does not care how its data came."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

import luce
from luce.errors import DataError, LuceError, OptionError
from luce.objectives import OBJECTIVES, Draw
from luce.rankers import LinearRanker
from luce.rankers.linear_problem import LinearProblem

from . import made
from .made import for_objective, ndcg, random_ndcg


@pytest.fixture(scope="module")
def parts():
    return made.parts()


def problem(ranker, features, dataset):
    given = features, dataset, ranker.get_objective(), Draw(ranker.random_state), ranker.reg_lambda, 1
    return LinearProblem(*given, max_grade=np.nanmax(dataset.labels))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_trains_it(parts, objective):
    train, test = for_objective(objective, parts["train"]), parts["test"]
    ranker = LinearRanker(objective, max_iter=30, n_jobs=1).fit(train, validation=parts["validation"])
    assert ndcg(ranker.predict(test), test) > random_ndcg(test) + 0.1


@pytest.mark.parametrize("objective", ["listmle", "p-listmle", "listnet", "rankcosine"])
def test_the_systems_of_2014_take_a_step_for_each_list(parts, objective):
    ranker = luce.preset(f"linear-{objective}", max_iter=2, n_jobs=1).fit(parts["train"])
    assert (ranker.get_objective().name, ranker.batch_size, ranker.reg_lambda) == (objective, 1, 0)
    assert ndcg(ranker.predict(parts["test"]), parts["test"]) > random_ndcg(parts["test"]) + 0.1


@pytest.mark.parametrize("objective", ["pl-partition", "listmle"])
def test_one_optimum_from_any_start(parts, objective, monkeypatch):
    """The penalised likelihood is convex: five random starts end at one loss."""
    losses = []
    for seed in range(5):
        start = np.random.default_rng(seed).normal(size=40)
        monkeypatch.setattr(LinearProblem, "start", lambda self, start=start: start)
        ranker = LinearRanker(objective, tol=1e-14, max_iter=1_000, n_jobs=1).fit(parts["train"])
        losses.append(ranker.history_[-1]["loss"])
    assert max(losses) - min(losses) < 1e-6 * min(losses)
    assert len(ranker.history_) > 10


def test_gradient_descent_reaches_the_optimum_of_lbfgs(parts):
    train = parts["train"]
    best = LinearRanker("listnet", reg_lambda=10, tol=1e-12, n_jobs=1).fit(train)
    settings = {"optimizer": "gradient-descent", "reg_lambda": 10, "learning_rate": 0.3, "n_jobs": 1}
    descended = LinearRanker("listnet", max_iter=400, **settings).fit(train)
    assert descended.history_[-1]["loss"] * train.n_lists == pytest.approx(best.history_[-1]["loss"], rel=1e-5)
    batches = LinearRanker("listnet", max_iter=60, batch_size=10, **settings).fit(train)
    assert batches.history_[-1]["loss"] == pytest.approx(descended.history_[-1]["loss"], rel=0.02)


def test_ties_are_shuffled_anew_in_each_iteration_of_gradient_descent(parts, monkeypatch):
    steps = []
    real = LinearProblem.value_and_gradient

    def spy(self, point):
        steps.append((self.draw.step, tuple(self.draw.lists)))
        return real(self, point)

    monkeypatch.setattr(LinearProblem, "value_and_gradient", spy)
    settings = {"optimizer": "gradient-descent", "max_iter": 2, "batch_size": 40, "n_jobs": 1}
    LinearRanker("listmle", **settings).fit(parts["train"])
    assert [step for step, _ in steps] == [0, 0, 1, 1]
    assert sorted(steps[0][1] + steps[1][1]) == list(range(60))
    assert steps[0][1] != steps[2][1]


def test_coordinate_ascent_maximises_the_metric(parts):
    train = parts["train"]
    settings = {"optimizer": "coordinate-ascent", "metric": "ndcg@5", "max_iter": 4, "n_jobs": 1}
    ranker = LinearRanker(**settings).fit(train)
    reached = luce.evaluate(ranker.predict(train), train, "ndcg@5", n_bootstrap=0).means["ndcg@5"]
    other = luce.evaluate(LinearRanker(n_jobs=1).fit(train).predict(train), train, "ndcg@5", n_bootstrap=0)
    assert reached > other.means["ndcg@5"]
    assert reached == pytest.approx(-min(step["loss"] for step in ranker.history_), abs=1e-12)
    chosen = LinearRanker(**settings).fit(train, validation=parts["validation"])
    best = max(chosen.history_, key=lambda step: step["validation"])
    assert chosen.best_iteration_ == best["iteration"]


def test_coordinate_ascent_keeps_the_best_of_its_climbs(parts, monkeypatch):
    best = np.arange(parts["train"].n_features, dtype=float)

    def climb(*_, watch, **others):
        watch(1, 0.9, best)
        watch(2, 0.5, -best)
        return best

    monkeypatch.setattr("luce.optimizers.coordinate_ascent.maximize", climb)
    ranker = LinearRanker(optimizer="coordinate-ascent", n_jobs=1).fit(parts["train"])
    np.testing.assert_array_equal(ranker.coef_, best)
    assert ranker.best_iteration_ == 1 and len(ranker.history_) == 2


def test_the_best_weights_survive_an_interrupt(parts):
    ranker = LinearRanker(n_jobs=1)

    def stop(record):
        if record["iteration"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit(parts["train"], callback=stop)
    np.testing.assert_array_equal(ranker.coef_, LinearRanker(max_iter=4, n_jobs=1).fit(parts["train"]).coef_)


def test_the_gradient_vanishes_at_the_optimum(parts):
    ranker = LinearRanker(tol=1e-15, max_iter=500, n_jobs=1).fit(parts["train"])
    features = luce.data.transforms.apply_transforms(
        ranker.transforms_, parts["train"].features, parts["train"].offsets
    )
    value, gradient = problem(ranker, features, parts["train"]).value_and_gradient(ranker.coef_)
    assert np.abs(gradient).max() < 1e-3 * value
    assert ranker.history_[-1]["loss"] == pytest.approx(value, rel=1e-12)


def test_history_falls_and_the_best_iteration_is_kept(parts):
    seen = []
    ranker = LinearRanker(early_stopping_rounds=5, n_jobs=1).fit(
        parts["train"], validation=parts["validation"], callback=seen.append
    )
    assert seen == ranker.history_
    losses = [step["loss"] for step in seen]
    assert all(a >= b for a, b in pairwise(losses))
    best = max(seen, key=lambda step: step["validation"])
    assert ranker.best_iteration_ == best["iteration"]
    assert ndcg(ranker.predict(parts["validation"]), parts["validation"]) == pytest.approx(best["validation"])
    assert len(seen) <= best["iteration"] + 5


@pytest.mark.parametrize("objective", ["mcrank", "squared-label", "pairties-davidson", "pairties-rao-kupper"])
def test_gradient_in_all_parameters_is_the_finite_difference(parts, objective):
    data = parts["train"].take(np.arange(5))
    ranker = LinearRanker(objective)
    function = problem(ranker, np.nan_to_num(data.features)[:, :3].copy(), data)
    point = np.random.default_rng(0).normal(size=len(function.start())) * 0.1
    gradient = function.value_and_gradient(point)[1]
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-6
        above, below = (function.value_and_gradient(point + d)[0] for d in (step, -step))
        assert gradient[i] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-5)


def test_what_is_learned_beside_the_weights_is_stored(parts, tmp_path):
    ranker = LinearRanker("pairties-davidson", n_jobs=1).fit(parts["train"])
    (name, start) = next(iter(OBJECTIVES["pairties-davidson"].nuisance.items()))
    assert ranker.nuisance_[name] != start
    ranker.save(tmp_path / "a.luce")
    assert luce.load(tmp_path / "a.luce").nuisance_ == ranker.nuisance_
    grades = LinearRanker("mcrank", n_jobs=1).fit(parts["train"])
    assert grades.coef_.shape == (40, 5)
    grades.save(tmp_path / "b.luce")
    np.testing.assert_array_equal(luce.load(tmp_path / "b.luce").predict(parts["test"]), grades.predict(parts["test"]))


def test_optimisers_that_do_not_fit_are_refused(parts):
    with pytest.raises(OptionError, match="no loss, which L-BFGS needs"):
        LinearRanker("lambdarank", optimizer="lbfgs").fit(parts["train"])
    with pytest.raises(OptionError, match="mcrank has several"):
        LinearRanker("mcrank", optimizer="coordinate-ascent").fit(parts["train"])
    with pytest.raises(OptionError, match="Did you mean 'lbfgs'"):
        LinearRanker(optimizer="bfgs").fit(parts["train"])
    with pytest.raises(LuceError, match=r"diverges at iteration 2, step 2\. Try a learning_rate below 1e\+200"):
        LinearRanker("squared-label", optimizer="gradient-descent", learning_rate=1e200).fit(parts["train"])


def test_the_prior_shrinks_the_weights(parts):
    norms = [
        np.linalg.norm(LinearRanker(reg_lambda=reg_lambda, n_jobs=1).fit(parts["train"]).coef_)
        for reg_lambda in (0.1, 100, 1e5)
    ]
    assert norms[0] > norms[1] > norms[2]


def test_a_list_of_weight_two_is_a_list_given_twice(parts):
    train = parts["train"]
    weights = np.ones(train.n_lists)
    weights[:20] = 2
    weighted = luce.Dataset(train.features, train.labels, train.offsets, list_weights=weights)
    repeated = luce.data.concatenate([train, train.take(np.arange(20))])
    point = np.random.default_rng(0).normal(size=train.n_features)
    ranker = LinearRanker("listnet", n_jobs=1)
    once, twice = (
        problem(ranker, np.nan_to_num(d.features), d).value_and_gradient(point) for d in (weighted, repeated)
    )
    assert once[0] == pytest.approx(twice[0], rel=1e-12)
    np.testing.assert_allclose(once[1], twice[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["arrays", "pandas", "polars", "sparse", "shuffled", "mapped"])
def test_the_form_of_the_data_does_not_matter(parts, form, tmp_path):
    train = parts["train"]
    X = np.nan_to_num(np.asarray(train.features))
    qid = np.repeat(np.arange(train.n_lists), train.sizes)
    expected = LinearRanker("listnet", n_jobs=1).fit(X, train.labels, qid)
    scores = expected.predict(X)
    if form == "shuffled":
        order = np.random.default_rng(0).permutation(len(X))
        ranker = LinearRanker("listnet", n_jobs=1).fit(X[order], train.labels[order], qid[order])
        np.testing.assert_allclose(ranker.predict(X[order], qid[order]), scores[order], atol=1e-3)
        return
    if form == "mapped":
        luce.write(luce.from_arrays(X, train.labels, qid), tmp_path / "x.luce-data")
        ranker = LinearRanker("listnet", n_jobs=1).fit(luce.read(tmp_path / "x.luce-data"))
        np.testing.assert_array_equal(ranker.predict(luce.read(tmp_path / "x.luce-data")), scores)
        return
    names = [f"f{i}" for i in range(X.shape[1])]
    given = {
        "arrays": X.tolist(),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
        "sparse": sparse.coo_array(X),
    }[form]
    ranker = LinearRanker("listnet", n_jobs=1).fit(given, train.labels, qid)
    # Sparse features are scaled and not centred, which moves all scores of a list alike.
    rank = ranker.rank(given, qid).column("row").to_pylist()
    assert rank == expected.rank(X, qid).column("row").to_pylist()
    assert list(getattr(ranker, "feature_names_in_", [])) == (names if form in ("pandas", "polars") else [])


def test_threads_and_seeds(parts):
    one, two = (LinearRanker("listmle", n_jobs=jobs, random_state=7).fit(parts["train"]).coef_ for jobs in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    other = LinearRanker("listmle", n_jobs=1, random_state=8).fit(parts["train"]).coef_
    assert not np.allclose(one, other, rtol=1e-3)


def test_follows_scikit_learn(parts):
    ranker = LinearRanker(luce.objective("listmle", depth=3), reg_lambda=2.5)
    copy = clone(ranker)
    assert copy.get_params()["reg_lambda"] == 2.5
    assert str(copy.get_params()["objective"]) == "listmle(depth=3)"
    assert "listmle(depth=3)" in repr(ranker)
    assert copy.set_params(reg_lambda=1.0).fit(parts["train"]) is copy


def test_list_wise_normalisation_needs_the_lists(parts):
    ranker = LinearRanker(transforms=["fill", "list-minmax"], n_jobs=1).fit(parts["train"])
    X, qid = parts["test"].features, np.repeat(np.arange(parts["test"].n_lists), parts["test"].sizes)
    with pytest.raises(DataError, match="pass qid"):
        ranker.predict(X)
    np.testing.assert_allclose(ranker.predict(X, qid), ranker.predict(parts["test"]))


def test_rank_table(parts):
    test = parts["test"]
    ranker = LinearRanker(n_jobs=1).fit(parts["train"])
    table = ranker.rank(test, top=3)
    scores = ranker.predict(test)
    assert table.column_names == ["query", "rank", "document", "score", "row"]
    assert table.num_rows == np.minimum(test.sizes, 3).sum()
    for row in table.slice(0, 9).to_pylist():
        assert scores[row["row"]] == row["score"]
        assert test.document_ids[row["row"]].as_py() == row["document"]
        members = scores[test.rows(test.query_ids.index(row["query"]).as_py())]
        assert (members > row["score"]).sum() == row["rank"] - 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: LinearRanker("listmel").fit(p["train"]), "Did you mean 'listmle'"),
        (lambda p: LinearRanker(metric="ndgc").fit(p["train"]), "Did you mean 'ndcg'"),
        (lambda p: LinearRanker(transforms=["standardise"]).fit(p["train"]), "Did you mean 'standardize'"),
        (lambda p: LinearRanker().fit(p["train"].features), "labels y and the query qid"),
        (lambda p: LinearRanker().fit(luce.from_arrays([[1.0]], None, [1])), "no item has a label"),
        (
            lambda p: LinearRanker().fit(p["train"]).predict([[1.0]]),
            "X has 1 features, but LinearRanker is expecting 40",
        ),
        (
            lambda p: LinearRanker().fit(p["train"], validation=luce.from_arrays(np.ones((2, 40)), [0, 0], [1, 1])),
            "ndcg@10 is undefined for every list",
        ),
        (
            lambda p: LinearRanker().fit(p["train"], validation=p["test"].features),
            r"validation must be a Dataset or a tuple \(X, y, qid\). Got ndarray",
        ),
        (lambda p: LinearRanker().fit(p["train"], validation=([[1.0]], [1])), "must be a Dataset or a tuple"),
        (lambda p: LinearRanker().fit(p["train"]).rank(p["test"], top=-1), "top must be an integer ≥ 1, or None"),
        (lambda p: LinearRanker().fit(p["train"]).rank(p["test"], top=1.5), "top must be an integer ≥ 1, or None"),
    ],
)
def test_bad_input_is_named(parts, call, words):
    with pytest.raises(LuceError, match=words):
        call(parts)


def test_other_feature_names_are_named():
    data = luce.from_table(pd.DataFrame({"query": [1, 1], "label": [0, 1], "price": [1.0, 2], "age": [3.0, 4]}))
    ranker = LinearRanker().fit(data)
    renamed = data.with_features(data.features, ("price", "year"))
    with pytest.raises(DataError, match="lack features that the model was trained on: 'age'"):
        ranker.predict(renamed)
    reordered = data.with_features(data.features[:, ::-1], ("age", "price"))
    np.testing.assert_array_equal(ranker.predict(reordered), ranker.predict(data))


def test_not_fitted_yet():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        LinearRanker().predict([[1.0]])


def test_data_that_teaches_nothing_gives_equal_scores():
    with pytest.warns(luce.LuceWarning, match="listmle has nothing to learn from"):
        ranker = LinearRanker("listmle").fit(luce.from_arrays([[1.0], [2.0]], [1, 1], [1, 1]))
    assert ranker.predict([[5.0], [7.0]]).tolist() == [0, 0]


def test_a_loss_beyond_numbers_is_told():
    from luce.optimizers.lbfgs import minimize

    with pytest.raises(LuceError, match="search has diverged"):
        minimize(lambda x: (np.nan, x), np.ones(2), max_iter=5, tol=0, watch=lambda *_: False)
    with pytest.raises(OptionError):
        LinearRanker().set_params(n_jobs=0).fit(luce.from_arrays(np.ones((9000, 1)), np.ones(9000), np.ones(9000)))


def test_predict_from_several_threads(parts):
    from concurrent.futures import ThreadPoolExecutor

    ranker = LinearRanker(n_jobs=2).fit(parts["train"])
    many = luce.data.concatenate([parts["test"]] * 12)  # enough rows for the threads of each call
    expected = ranker.predict(many)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: ranker.predict(many), range(16)):
            np.testing.assert_array_equal(scores, expected)


def test_training_is_logged(parts, caplog):
    with caplog.at_level("INFO", logger="luce"):
        LinearRanker("listnet", n_jobs=1, max_iter=2).fit(parts["train"])
    assert "listnet: {'iteration': 1, 'loss':" in caplog.text


def test_err_on_validation_uses_the_highest_grade_of_the_training_lists(parts):
    train, whole = parts["train"], parts["validation"]
    validation = luce.Dataset(whole.features, np.minimum(whole.labels, 1), whole.offsets)
    ranker = LinearRanker(metric="err", max_iter=3).fit(train, validation=validation)
    expected = luce.evaluate(ranker.predict(validation), validation, "err", max_grade=train.labels.max())
    assert ranker.history_[ranker.best_iteration_ - 1]["validation"] == pytest.approx(expected.means["err"])
