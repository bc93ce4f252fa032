"""The comparison of ranking quality: its statistics, its bags of peers, its cache, and a short run of all of it."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import quality
import quality_statistics
import quality_systems
from luce.data import Dataset, parts, write
from luce.data.synthetic import web_search
from quality import Cache, Record, Task, collect, complete, folds
from quality_report import show
from quality_statistics import crossed
from quality_systems import BaggedPeer, OnePassEpochs, System, Tuned, all_systems, draws

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "quality.py"


@pytest.mark.parametrize("module", [quality_statistics, quality_systems])
def test_examples(module):
    assert doctest.testmod(module).failed == 0 < doctest.testmod(module).attempted


def test_the_crossed_error_is_that_of_the_mean_and_counts_the_interaction_twice():
    rng = np.random.default_rng(0)
    n_lists, n_rotations, repeats = 12, 4, 4000
    of_list, of_rotation, of_value = 2.0, 0.5, 1.5
    values = (
        rng.normal(scale=of_list, size=(repeats, n_lists, 1))
        + rng.normal(scale=of_rotation, size=(repeats, 1, n_rotations))
        + rng.normal(scale=of_value, size=(repeats, n_lists, n_rotations))
    )
    found = [crossed(each) for each in values]
    interaction = of_value**2 / (n_lists * n_rotations)
    squared_errors = np.mean([one.standard_error**2 for one in found])
    assert squared_errors == pytest.approx(np.var([one.mean for one in found]) + interaction, rel=0.05)


def test_lists_without_a_relevant_item_are_left_out():
    values = np.array([[1.0], [np.nan], [3.0]])
    assert crossed(values) == (2.0, 1.0)  # one rotation: the error over lists alone


class Remembering(BaseEstimator):
    """Scores are the number of training lists plus the sum of the columns it was trained with."""

    packages = ()

    def __init__(self, num_leaves=7, learning_rate=0.1, random_state=0):
        self.num_leaves, self.learning_rate, self.random_state = num_leaves, learning_rate, random_state

    def fit(self, dataset, *, validation):
        features = dataset.features.toarray() if dataset.is_sparse else dataset.features
        self.lists_, self.validation_ = dataset.query_ids.to_pylist(), validation
        self.columns_ = np.flatnonzero(features.any(axis=0))
        return self

    def predict(self, dataset):
        return len(self.lists_) + dataset.features[:, self.columns_].sum(axis=1)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_bagged_peer_learns_from_shares_of_lists_and_features(kind):
    rng = np.random.default_rng(0)
    data = Dataset(kind(rng.uniform(1, 2, (60, 8))), rng.integers(3, size=60), np.arange(0, 61, 3))
    bagged = BaggedPeer(Remembering(), max_samples=0.5, max_features=0.5, random_state=3).fit(data, validation=data)
    assert len(bagged.rankers_) == 5
    assert all(len(one.lists_) == len({*one.lists_}) == 10 and len(one.columns_) == 4 for one in bagged.rankers_)
    assert (
        len({tuple(one.lists_) for one in bagged.rankers_}) == 5 == len({one.random_state for one in bagged.rankers_})
    )
    assert len({tuple(one.columns_) for one in bagged.rankers_}) > 1
    assert all(one.validation_ is data for one in bagged.rankers_)
    np.testing.assert_allclose(bagged.predict(data), np.mean([one.predict(data) for one in bagged.rankers_], axis=0))
    again = BaggedPeer(Remembering(), max_samples=0.5, max_features=0.5, random_state=4).fit(data, validation=data)
    assert again.rankers_[0].lists_ != bagged.rankers_[0].lists_


class Rated(Remembering):
    """Ranks by the labels if its learning rate is the wanted one, else against them."""

    def predict(self, dataset):
        return dataset.labels * (1 if self.learning_rate == draws(4)[2]["learning_rate"] else -1)


def test_tuning_takes_the_draw_that_is_best_on_the_validation_lists():
    data = Dataset(np.ones((4, 1)), [0, 2, 1, 0], [0, 4])
    tuned = Tuned(Rated(), n_draws=4, random_state=5).fit(data, validation=data)
    assert tuned.ranker_.get_params() == {**draws(4)[2], "random_state": 5}
    assert all(4 <= draw["num_leaves"] <= 64 and 0.03 <= draw["learning_rate"] <= 0.3 for draw in draws(50))


def test_the_settings_of_a_system_are_its_parameters():
    first, same, other = (System("peer", BaggedPeer(Remembering(leaves))).settings() for leaves in (7, 7, 31))
    assert first == same != other


def test_the_cache_resumes_after_an_interrupted_line(tmp_path):
    path, records = tmp_path / "cache.jsonl", [Record([0, 1], [0.5, None], 1.0), Record([2], [0.25], 2.0)]
    Cache(path).add("a", "settings", records[0])
    path.write_text(path.read_text() + '{"key": "b", "sett')
    Cache(path).add("b", "settings", records[1])
    assert Cache(path).records == {("a", "settings"): records[0], ("b", "settings"): records[1]}


def write_data(folder):
    """Small datasets in the files of the real ones."""
    for seed, (name, files) in enumerate(quality.FILES.items()):
        (folder / name).mkdir()
        shares = parts(web_search(n_lists=40, n_features=6, seed=seed).dataset, len(files))
        for file, share in zip(files, shares, strict=True):
            write(share, folder / name / file)


def test_a_rotation_tests_every_list_once(tmp_path):
    write_data(tmp_path)
    carved = [folds(tmp_path, "mq2008", rotation) for rotation in (0, 1)]
    tested = [[each for fold in one for each in fold.test.query_ids.to_pylist()] for one in carved]
    assert sorted(tested[0]) == sorted(tested[1]) == list(range(40)) and tested[0] != tested[1]
    for train, validation, test in carved[0]:
        ids = [each.query_ids.to_pylist() for each in (train, validation, test)]
        assert sorted([*ids[0], *ids[1], *ids[2]]) == list(range(40)) and [*map(len, ids)] == [24, 8, 8]


def test_only_complete_rotations_are_reported():
    a, b = System("a", None), System("b", None)
    tasks = [Task("mq2008", rotation, 0, rotation, system) for rotation in (0, 1) for system in (a, b)]
    done = {task: Record([0, 2], [0.25 + task.rotation, None], 1.0) for task in tasks}
    assert complete(tasks, done) == tasks
    assert complete(tasks, {task: done[task] for task in tasks[:3]}) == tasks[:2]
    assert complete(tasks, {task: done[task] for task in tasks[1:2]}) == tasks[1:2]
    values = collect(tasks, done, {"mq2008": 3})["mq2008"]
    np.testing.assert_array_equal(values["a"], [[0.25, 1.25], [np.nan, np.nan], [np.nan, np.nan]])


def test_the_values_of_several_seeds_are_averaged():
    system = System("a", None)
    tasks = [Task("mq2008", 4, 0, seed, system) for seed in (0, 1)]
    done = {task: Record([1, 0], [0.25 * (1 + task.seed), None], 1.0) for task in tasks}
    np.testing.assert_array_equal(collect(tasks, done, {"mq2008": 2})["mq2008"]["a"], [[np.nan], [0.375]])


def planted_results(**shifts):
    """Two datasets in which each system differs from the first by a shift and a little noise."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.6, (30, 3))
    noisy = {name: base + shift + rng.normal(scale=0.005, size=base.shape) for name, shift in shifts.items()}
    return {"one": noisy, "two": noisy}


def test_the_report_takes_each_peer_at_its_better_size_and_leaves_out_what_is_not_there(capsys):
    names = "luce trees", "luce trees, 5 bags", "xgboost, 7 leaves", "xgboost, 31 leaves", "lightgbm-xendcg, 7 leaves"
    results = planted_results(**dict(zip(names, (0, 0.1, -0.1, 0.05, 0), strict=True)))
    show(results, {dataset: dict.fromkeys(names, 2.0) for dataset in results})
    words = {line.strip()[:50].rstrip(" +-.0123456789±"): line.split() for line in capsys.readouterr().out.splitlines()}
    assert words["luce trees − xgboost, 31 leaves"][-2:] == ["behind", "below"]
    assert words["luce trees, 5 bags − xgboost, 31 leaves"][-3:] == ["ahead", "not", "below"]
    assert float(words["luce trees, 5 bags − luce trees"][-3]) == pytest.approx(10, abs=0.5)
    assert not [text for text in words if "− xgboost, 7 leaves" in text or "− lightgbm" in text or "old" in text]


def test_peers_that_are_not_installed_are_left_out(monkeypatch):
    everything = [system.name for system in all_systems(tune=0)]
    monkeypatch.setattr(quality_systems, "is_installed", lambda name: name.startswith("lightgbm"))
    assert [system.name for system in all_systems(tune=0)] == [name for name in everything if "boost" not in name]


def test_the_former_epoch_is_one_pass():
    data = web_search(n_lists=70, n_features=4, seed=0).dataset
    ranker = OnePassEpochs(batch_size=20, epochs=1, device="cpu", n_jobs=1).fit(data)
    assert ranker.steps_per_epoch == 4


@pytest.mark.slow
def test_a_short_run_prints_its_tables_and_resumes(tmp_path):
    write_data(tmp_path)
    command = [sys.executable, SCRIPT, "--data", tmp_path, "--quick", "--tune", "2", "--cache", tmp_path / "cache"]
    first, second = (subprocess.run(command, capture_output=True, text=True, timeout=600) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout and "compiling" in first.stderr and "compiling" not in second.stderr
    assert "luce trees − luce trees, old defaults" in first.stdout
    n_tasks = len((tmp_path / "cache").read_text().splitlines())
    assert f"{n_tasks} of {n_tasks} fits are done" in first.stdout


ROWS = {
    "five bags of LightGBM's lambdarank": "lightgbm-lambdarank, 7 leaves, 5 bags",
    "five bags of CatBoost's YetiRank": "catboost-yetirank, 7 leaves, 5 bags",
    "`EnsembleRanker()`, linear and trees": "luce linear and trees",
    "`TreeRanker(n_bags=5)`": "luce trees, 5 bags",
    "LightGBM's lambdarank": "lightgbm-lambdarank, 7 leaves",
    "CatBoost's YetiRank": "catboost-yetirank, 7 leaves",
    "CatBoost's QuerySoftMax": "catboost-softmax, 7 leaves",
    "`NeuralRanker()`": "luce neural",
    "`TreeRanker()`": "luce trees",
    "LightGBM's rank_xendcg": "lightgbm-xendcg, 7 leaves",
    "XGBoost's rank:ndcg": "xgboost, 7 leaves",
    "`LinearRanker()`": "luce linear",
}


def test_the_page_of_the_defaults_states_what_was_measured():
    folder = Path(__file__).parents[1]
    kept, page = (
        (folder / file).read_text(encoding="utf-8") for file in ("benchmarks/results/quality.txt", "docs/defaults.md")
    )
    rows = re.findall(r"^  (\S.*?)  +(\d\d\.\d\d) .*?(?: (\d+\.\d\d) s)?$", kept, re.MULTILINE)
    found = {name: [each for each in rows if each[0] == name] for name in ROWS.values()}
    table = re.findall(r"^\| (.*?) \| (\d\d\.\d\d) \| (.*?) \|$", page, re.MULTILINE)
    assert [words for words, *_ in table] == list(ROWS)
    for words, mean, seconds in table:
        *datasets, last = found[ROWS[words]]
        assert mean == last[1] and seconds.split(", ") == [cost for *_, cost in datasets]
