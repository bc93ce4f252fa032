"""Comparisons: the values are those of fits by hand, results are cached, and a failure is one row's alone."""

import itertools
import json
import multiprocessing
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import luce
from luce.data import Dataset, concatenate, parts, rotations
from luce.data.fingerprint import fingerprint
from luce.data.synthetic import web_search
from luce.errors import DataError, LuceWarning, OptionError
from luce.experiments import workers
from luce.experiments.comparison import compare_rankers, seconds_left
from luce.experiments.cost import forget_peak, peak_bytes, present_bytes
from luce.metrics import compare_results
from luce.storage import open_model, save_model

METRICS = "ndcg@5,arp"


@pytest.fixture(scope="module")
def data():
    return web_search(30, n_features=6, mean_length=10, seed=1).dataset


@pytest.fixture
def rankers():
    return {"a": luce.LinearRanker("listmle", n_jobs=1), "b": luce.LinearRanker("listnet", reg_lambda=5.0, n_jobs=1)}


@pytest.fixture
def fits(monkeypatch):
    """How often something is fitted."""
    done, run = [], workers.run_fit

    def counted(estimator, fold, seed, **settings):
        done.append((repr(estimator), seed))
        return run(estimator, fold, seed, **settings)

    monkeypatch.setattr(workers, "run_fit", counted)
    return done


def alike(one, other):
    for name in one.results:
        np.testing.assert_array_equal(one.scores[name], other.scores[name])
        assert one.results[name].means == other.results[name].means
    assert one.tests == other.tests


def test_the_figures_are_those_of_fits_by_hand(data, rankers):
    found = compare_rankers(rankers, data, METRICS, folds=3, seed=7, baseline="b")
    turns = list(rotations(parts(data, 3, 7)))
    judged = concatenate([turn.test for turn in turns])
    results = {}
    for name, ranker in rankers.items():
        own = clone(ranker).set_params(random_state=7)
        scores = np.concatenate([own.fit(turn.train, validation=turn.validation).predict(turn.test) for turn in turns])
        np.testing.assert_array_equal(found.scores[name], scores)
        results[name] = luce.evaluate(scores, judged, METRICS, random_state=7)
        assert found.results[name].means == results[name].means
        assert found.results[name].intervals == results[name].intervals
    assert found.tests == {metric: compare_results(results, metric, "b") for metric in ("ndcg@5", "arp")}
    first = clone(rankers["a"]).set_params(random_state=7).fit(turns[0].train, validation=turns[0].validation)
    assert found.histories["a"] == first.history_
    np.testing.assert_array_equal(found.importances["a"].values, np.abs(first.coef_))
    assert not hasattr(rankers["a"], "coef_")


def test_folds_may_be_given_and_lists_keep_their_names(data, rankers):
    train, validation, test = parts(data, 3, 0)
    found = compare_rankers(rankers, [(train, validation, test)], METRICS)
    own = clone(rankers["a"]).fit(train, validation=validation).predict(test)
    np.testing.assert_array_equal(found.scores["a"], own)
    assert found.results["a"].query_ids.equals(test.query_ids)
    assert found.test_data.document_ids == test.document_ids
    with pytest.raises(DataError, match="At least one fold"):
        compare_rankers(rankers, [])
    for wrong in ([train, test], [(train, test)], [(train, validation, None)]):
        with pytest.raises(DataError, match="A fold must be"):
            compare_rankers(rankers, wrong)


def test_scores_that_are_there_already_are_one_more_row(data, rankers, fits):
    folds = list(rotations(parts(data, 3, 0)))
    labels = np.concatenate([fold.test.labels for fold in folds])
    found = compare_rankers(rankers, folds, METRICS, seeds=2, scores={"mine": labels})
    assert list(found.results) == ["mine", "a", "b"]
    assert found.results["mine"].means["ndcg@5"] == 1
    assert [test.baseline for test in found.tests["ndcg@5"]] == ["mine", "mine"]
    assert np.isnan(found.costs["mine"]).all() and found.spreads["mine"]["ndcg@5"] == 0
    own = found.table.to_pandas().query("method == 'mine'")
    assert len(own) == 2 * 30 * 2 and own["fit_seconds"].isna().all()
    fits.clear()
    for wrong, error, said in (
        ({"scores": {"mine": labels[1:]}}, DataError, "The scores of mine must have 331 entries"),
        ({"scores": {"mine": np.where(labels == 0, np.nan, 1)}}, DataError, "Got nan at row"),
        ({"scores": {"a": labels}}, OptionError, "Got 'a' as both"),
        ({"scores": {"mine": labels}, "data": data}, OptionError, "give data as folds"),
        ({"scores": {"mine": labels}, "baseline": "yours"}, OptionError, "must be one of mine, a, b"),
    ):
        with pytest.raises(error, match=said):
            compare_rankers(**{"rankers": rankers, "data": folds, "metrics": METRICS, **wrong})
    assert not fits


def test_values_of_a_list_are_averaged_over_seeds(data, rankers):
    found = compare_rankers(rankers, data, METRICS, folds=3, seeds=3)
    table = found.table.to_pandas()
    assert found.seeds == (0, 1, 2)
    one = table[(table["method"] == "a") & (table["metric"] == "ndcg@5")]
    by_seed = one.groupby("seed")["value"].mean()
    assert by_seed.nunique() == 3  # ties are shuffled by the seed
    assert found.spreads["a"]["ndcg@5"] == pytest.approx(by_seed.std(ddof=1))
    assert found.results["a"].means["ndcg@5"] == pytest.approx(by_seed.mean())
    by_list = one.groupby("query", sort=False)["value"].mean()
    expected = dict(zip(found.test_data.query_ids.to_pylist(), found.results["a"].values["ndcg@5"], strict=True))
    assert by_list.to_dict() == pytest.approx(expected, nan_ok=True)
    assert np.isnan(compare_rankers(rankers, data, METRICS, folds=3).spreads["a"]["ndcg@5"])


def test_the_long_table_holds_everything_once(data, rankers):
    found = compare_rankers(rankers, data, METRICS, folds=3, seeds=2)
    table = found.table.to_pandas()
    assert len(table) == 2 * 2 * 30 * 2
    assert not table.duplicated(["method", "seed", "query", "metric"]).any()
    assert sorted(table["fold"].unique()) == [1, 2, 3]
    assert (table.groupby("query")["fold"].nunique() == 1).all()
    assert table["value"].isna().sum() == 4 * sum(found.results["a"].n_empty.values())
    assert (table["fit_seconds"] > 0).all()
    medians = table.drop_duplicates(["method", "fold", "seed"]).groupby("method", observed=True)["fit_seconds"].median()
    assert medians.to_dict() == pytest.approx({name: cost.fit_seconds for name, cost in found.costs.items()})


def test_results_are_cached_and_only_what_changed_is_fitted_again(data, rankers, fits, tmp_path):
    first = compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path)
    assert len(fits) == 6
    assert len(list(tmp_path.iterdir())) == 6  # and no copy of the data is left
    alike(first, compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path))
    again = compare_rankers(rankers, data, "err,ndcg", folds=3, cache_dir=tmp_path)
    assert len(fits) == 6
    assert (again.costs, again.histories) == (first.costs, first.histories)
    np.testing.assert_array_equal(again.importances["b"].values, first.importances["b"].values)
    compare_rankers(
        rankers | {"b": luce.LinearRanker("listnet", reg_lambda=6.0, n_jobs=1)}, data, folds=3, cache_dir=tmp_path
    )
    assert [name for name, _ in fits[6:]] == [repr(luce.LinearRanker("listnet", reg_lambda=6.0, n_jobs=1))] * 3
    compare_rankers(rankers, data, folds=3, seeds=2, cache_dir=tmp_path)
    assert [seed for _, seed in fits[9:]] == [1] * 6
    other = Dataset(data.features, np.where(np.arange(data.n_rows) == 0, 4, data.labels), data.offsets)
    compare_rankers(rankers, other, folds=3, cache_dir=tmp_path)
    assert len(fits) == 15 + 6
    compare_rankers({"a": luce.LinearRanker("listmle", n_jobs=2)}, data, folds=3, cache_dir=tmp_path)
    assert len(fits) == 21 + 3  # it takes another time


@pytest.mark.parametrize("damage", ["cut", "empty", "other key", "other rows", "not a number", "not a name"])
def test_a_damaged_result_is_computed_again_with_a_warning(data, rankers, fits, tmp_path, damage):
    first = compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path)
    files = sorted(tmp_path.iterdir())
    manifest, arrays = open_model(files[0], ("fit",))
    if damage in ("cut", "empty"):
        files[0].write_bytes(files[0].read_bytes()[: 100 if damage == "cut" else 0])
    elif damage == "other key":
        lists = manifest["key"]["data"]
        twin = next(file for file in files[1:] if open_model(file, ("fit",))[0]["key"]["data"] == lists)
        files[0].write_bytes(twin.read_bytes())  # of the other ranker on the same lists
    elif damage == "not a name":
        names = [10**30, *manifest["importance"]["names"][1:]]
        save_model(files[0], manifest | {"importance": manifest["importance"] | {"names": names}}, arrays)
    else:
        scores = arrays["scores"][1:] if damage == "other rows" else arrays["scores"] * np.nan
        save_model(files[0], manifest, arrays | {"scores": scores})
    with pytest.warns(LuceWarning, match="A cached result of . is computed again"):
        alike(first, compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path))
    assert len(fits) == 7
    compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path)
    assert len(fits) == 7


def test_an_interrupted_comparison_goes_on(data, rankers, fits, tmp_path, monkeypatch):
    unbroken = compare_rankers(rankers, data, METRICS, folds=3)
    run = workers.run_fit

    def interrupted(*arguments, **settings):
        if len(fits) == 6 + 4:
            raise KeyboardInterrupt
        return run(*arguments, **settings)

    monkeypatch.setattr(workers, "run_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path)
    assert len(list(tmp_path.glob("*.fit"))) == len(list(tmp_path.iterdir())) == 4
    monkeypatch.setattr(workers, "run_fit", run)
    alike(unbroken, compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path))
    assert len(fits) == 12


def test_a_failure_is_that_of_one_row(data, rankers, fits):
    features = np.array(data.features)
    features[0, 0] = np.nan
    holes = Dataset(features, data.labels, data.offsets)
    bad = luce.LinearRanker(transforms=())
    found = compare_rankers({"bad": bad, **rankers}, holes, METRICS, folds=3, baseline="bad")
    assert list(found.results) == ["a", "b"]
    assert "missing" in found.failures["bad"]
    assert found.tests["ndcg@5"][0].baseline == "a"
    with pytest.raises(DataError, match=r"Every ranker failed. bad: .*missing"):
        compare_rankers({"bad": bad}, holes, METRICS, folds=3)
    for wrong, said in (
        ({"rankers": {}}, "with at least one"),
        ({"seeds": 0}, "seeds must be an integer ≥ 1"),
        ({"baseline": "c"}, "baseline must be one of a, b"),
        ({"rankers": {"x": luce.LabelRanker()}}, "x is trained on tagged rows"),
        ({"rankers": {"x": "listmle"}}, "x must be a ranker such as"),
        ({"rankers": {"x": luce.PlackettLuce()}}, "x must be a ranker such as"),
        ({"rankers": [luce.LinearRanker()]}, "must map names to rankers"),
        ({"rankers": {"x": luce.LinearRanker(reg_lambda=-1)}}, "x: reg_lambda must be a number ≥ 0"),
        ({"folds": 2.5}, "folds must be an integer ≥ 2"),
        ({"metrics": "ndgc"}, "Did you mean 'ndcg'"),
        ({"gain": "cubic"}, "no gain 'cubic'"),
        ({"empty": 2}, "empty must be 'skip', 0 or 1"),
    ):
        fits.clear()
        with pytest.raises(OptionError, match=said):
            compare_rankers(**{"rankers": rankers, "data": data, **wrong})
        assert not fits


def test_metrics_may_come_one_by_one(data, rankers):
    found = compare_rankers(rankers, data, iter(["ndcg@5", "arp"]), folds=3)
    assert list(found.results["a"].means) == ["ndcg@5", "arp"]


def test_a_list_is_tested_once_and_unseen(data, rankers, fits):
    one, two, three = parts(data, 3, 0)
    for turns in ([(one, two, three), (two, one, three)], [(one, two, one)], [(one, two, two)], rotations([one, one])):
        with pytest.raises(DataError, match="must be tested once, by rankers that were not trained on it"):
            compare_rankers(rankers, turns, METRICS)
    nothing = Dataset(three.features, np.zeros(three.n_rows), three.offsets)
    with pytest.raises(DataError, match="ndcg@5 is undefined for every test list"):
        compare_rankers(rankers, [(one, two, nothing)], METRICS)
    assert not fits


def test_copies_of_the_data_go_with_the_last_that_uses_them(data, rankers, tmp_path):
    def broken():
        yield next(rotations(parts(data, 3, 0)))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        compare_rankers(rankers, broken(), cache_dir=tmp_path / "broken")
    assert not list(tmp_path.iterdir())
    (tmp_path / "data-of-a-run-that-was-killed.luce-data").touch()
    inside = []

    def meanwhile(news):
        if not inside:
            inside.append(compare_rankers({"b": rankers["b"]}, data, METRICS, folds=3, cache_dir=tmp_path))

    found = compare_rankers({"a": rankers["a"]}, data, METRICS, folds=3, cache_dir=tmp_path, callback=meanwhile)
    assert (list(found.results), list(inside[0].results)) == (["a"], ["b"])
    assert len(list(tmp_path.glob("*.fit"))) == len(list(tmp_path.iterdir())) == 6
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cache folder .*file cannot be created"):
        compare_rankers(rankers, data, folds=3, cache_dir=tmp_path / "file")


def test_warnings_are_given_once_with_the_name(data):
    flat = Dataset(np.ones_like(data.features), data.labels, data.offsets)
    with pytest.warns(LuceWarning) as caught:
        compare_rankers({"trees": luce.TreeRanker(n_estimators=3, n_jobs=1)}, flat, folds=3)
    texts = [str(warning.message) for warning in caught]
    assert len(set(texts)) == len(texts)
    assert all(text.startswith("trees: No tree can split") for text in texts)


def test_processes_of_their_own_give_the_same_and_a_killed_one_is_reported(data, rankers, tmp_path):
    here = compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path)
    seen, others = [], multiprocessing.active_children()

    def kill(news):
        seen.append(news)
        for child in set(multiprocessing.active_children()) - set(others):
            if sys.platform == "linux":  # Ctrl-C does not reach it, from its start on
                status = Path(f"/proc/{child.pid}/status").read_text()
                blocked = int(status.partition("SigBlk:")[2].split()[0], 16) >> (signal.SIGINT - 1) & 1
                assert blocked or not child.is_alive()
            if news.ranker == "b":
                child.kill()

    # Cached results whose memory is not known are computed again where it can be measured.
    isolated = compare_rankers(rankers, data, METRICS, folds=3, cache_dir=tmp_path, isolate=True, callback=kill)
    np.testing.assert_array_equal(here.scores["a"], isolated.scores["a"])
    assert list(isolated.results) == ["a"]
    assert "SIGKILL" in isolated.failures["b"] and "memory" in isolated.failures["b"]
    assert np.isnan(here.costs["a"].peak_bytes)
    assert {news.total for news in seen} == {6}
    assert max(news.done for news in seen) == 3
    if sys.platform in ("linux", "darwin"):
        assert 1e6 < isolated.costs["a"].peak_bytes < 1e9


def test_a_process_that_ends_without_a_message_is_reported(data, rankers, monkeypatch):
    monkeypatch.setattr(workers, "_child", itertools.chain)  # takes the arguments and does nothing
    with pytest.raises(DataError, match="a: Its process ended prematurely with status 0"):
        compare_rankers({"a": rankers["a"]}, data, METRICS, folds=3, isolate=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is resident now, and forgets a peak")
def test_the_peak_is_what_was_held_since_it_was_forgotten():
    big = np.ones(30_000_000)
    before = present_bytes()
    assert peak_bytes() >= before > big.nbytes
    del big
    forget_peak()
    assert peak_bytes() < before - 150e6
    more = np.ones(10_000_000)
    assert peak_bytes() - present_bytes() < more.nbytes


def test_time_left_is_that_of_the_rankers_own_fits(data, rankers, tmp_path):
    totals, seen = {"quick": 2, "slow": 3}, []
    assert np.isnan(seconds_left({"quick": [], "slow": []}, totals))
    assert seconds_left({"quick": [1.0], "slow": []}, totals) == 1 + 3 * 1
    assert seconds_left({"quick": [1.0], "slow": [11.0]}, totals) == 1 + 2 * 11
    assert seconds_left({"quick": [1.0], "slow": [11.0]}, totals | {"slow": 1}) == 1
    compare_rankers({"a": rankers["a"]}, data, folds=3, cache_dir=tmp_path)
    compare_rankers(rankers, data, folds=3, cache_dir=tmp_path, callback=seen.append)
    assert [(news.done, news.total, news.ranker) for news in seen] == [(done, 6, "b") for done in (3, 4, 5)]
    assert 0 < seen[0].seconds_left < 60


def test_a_fingerprint_sees_all_that_is_learned_from():
    full = {
        "features": [[0.5, 1], [0.1, 2], [0.3, 3]],
        "labels": [2, 0, 1],
        "offsets": [0, 2, 3],
        "item_weights": [1, 1, 2],
        "list_weights": [1, 3],
        "feature_names": ["a", "b"],
        "item_groups": [1, 2, 2],
    }
    others = {
        "features": [[0.5, 1], [0.1, 2], [0.3, 4]],
        "labels": [2, 0, 2],
        "offsets": [0, 1, 3],
        "item_weights": [1, 1, 1],
        "list_weights": [3, 1],
        "feature_names": ["a", "c"],
        "item_groups": [1, 2, 1],
    }
    marks = {fingerprint(Dataset(**full))} | {fingerprint(Dataset(**full | {k: v})) for k, v in others.items()}
    marks |= {fingerprint(Dataset(**{k: v for k, v in full.items() if k != name})) for name in list(others)[3:]}
    assert len(marks) == 1 + len(others) + 4
    named = Dataset(**full, query_ids=["x", "y"], document_ids=["1", "2", "3"])
    assert fingerprint(named) == fingerprint(Dataset(**full))


@pytest.mark.parametrize("name", ["listmle", "pl-partition", "mcrank", "pl-rank-2"])
def test_rankers_go_to_other_processes(name):
    options = {"depth": 7} if name == "listmle" else {}
    goal = luce.objective(name, **options)
    again = pickle.loads(pickle.dumps(luce.LinearRanker(goal, reg_lambda=3.0)))
    assert (str(again.objective), again.objective.compute, again.reg_lambda) == (str(goal), goal.compute, 3.0)
    assert json.dumps(dict(again.objective.options)) == json.dumps(dict(goal.options))
