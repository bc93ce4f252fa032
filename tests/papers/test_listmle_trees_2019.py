"""The 2019 paper: its published tables, its systems and lists, verdicts, and one small run of everything."""

from dataclasses import replace

import numpy as np
import pytest

from luce.data.letor import write_letor
from luce.data.synthetic import web_search
from luce.objectives import objective
from papers import datasets, listmle_trees_2019
from papers.datasets import DatasetSpec, PartSize, SyntheticShape
from papers.listmle_trees_2019 import FULL, TreeExperiment, best_of_grid, results
from papers.listmle_trees_2019.claims import claims
from papers.listmle_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4, TABLE_5
from papers.listmle_trees_2019.results import MSLR, YAHOO, SystemScores, TreeResults, TunedSystem
from papers.listmle_trees_2019.systems import (
    PRESET_OF,
    fit,
    load_fold,
    random_features,
    round_seconds,
    synthetic_lists,
    system,
    tune,
)
from papers.paired_differences import Difference
from papers.runner import Run

TINY = SyntheticShape(12, 8, validation=6, test=10, documents=9)
DATASET = DatasetSpec(YAHOO, None, TINY, 3)
TINY_EXPERIMENT = TreeExperiment({YAHOO: TINY, MSLR: TINY}, 2, 1, (3, 8), (3,), (0.1,), 2, 2, 30)


def test_published_tables_are_complete():
    assert list(TABLE_1[YAHOO]) == list(PRESET_OF)
    assert TABLE_1[MSLR].keys() < PRESET_OF.keys()
    assert all(len(row) == len(METRICS) for table in TABLE_1.values() for row in table.values())
    assert all(list(row.values()) == sorted(row.values(), reverse=True) for row in TABLE_3.values())
    assert list(TABLE_4.values()) == sorted(TABLE_4.values())
    assert TABLE_4.keys() < PRESET_OF.keys()
    assert len(TABLE_5) == 3
    # What the text says of them.
    assert max(TABLE_1[YAHOO], key=lambda name: TABLE_1[YAHOO][name][2]) == "PLRank(obj=9)"
    assert round(TABLE_1[MSLR]["CA"][0] - TABLE_1[MSLR]["l-ListMLE"][0], 3) == 0.076


def test_systems_are_as_the_paper_sets_them():
    several = system("PLRank(obj=9)", FULL.trees, n_jobs=1, seed=0)
    assert str(several.objective) == str(objective("listmle", depth=10, permutations=9))
    assert (several.n_estimators, several.num_leaves, several.learning_rate) == (1_000, 30, 0.1)
    assert system("McRank", 1_000, n_jobs=1, seed=0).n_estimators == 2_500
    assert system("CA", 1_000, n_jobs=1, seed=0).optimizer == "coordinate-ascent"
    assert system("l-ListMLE", 1_000, n_jobs=1, seed=0).reg_lambda == 1.0


def test_synthetic_lists_have_the_grades_of_their_set_and_folds_share_no_list():
    lists = synthetic_lists(YAHOO, 800, TINY, 0)
    assert np.bincount(lists.labels.astype(int)) / lists.n_rows == pytest.approx(
        (0.22, 0.5, 0.22, 0.04, 0.02), abs=2e-3
    )
    fold = load_fold(DATASET, 0)
    assert [part.n_lists for part in fold] == [12, 6, 10]
    ids = [set(part.query_ids.to_pylist()) for part in fold]
    assert not ids[0] & ids[2] and not ids[0] & ids[1]
    thirds = [load_fold(DATASET, number, thirds=True) for number in range(3)]
    tested = [set(one.test.query_ids.to_pylist()) for one in thirds]
    assert set.union(*tested) == ids[0]
    assert all(not set(one.train.query_ids.to_pylist()) & some for one, some in zip(thirds, tested, strict=True))


def test_fewer_features_are_a_part_of_more_and_vary():
    lists = load_fold(DATASET, 0).train
    flat = lists.with_features(np.hstack([np.zeros((lists.n_rows, 3), np.float32), lists.features]))
    few, many = (random_features(flat, count, 1) for count in (3, 6))
    assert len(few) == 3
    assert set(few) < set(many)
    assert many.min() >= 3


def test_a_training_measures_the_test_lists():
    given = {"trees": 2, "sweeps": 1, "count": 0, "dataset": DATASET, "n_jobs": 1, "fold": 0}
    one = fit(system_name="MART-2", **given)
    assert len(one["lists"]["ndcg@10"]) == 10
    scores = results.pool_folds([one])
    assert scores.by_depth[[0, 2, 9]] == pytest.approx([scores.mean(m) for m in METRICS[:3]], abs=1e-5)
    assert fit(system_name="l-ListMLE", **{**given, "count": 3}) != fit(system_name="l-ListMLE", **given)
    tuned = tune(system_name="LambdaMART", leaves=3, rate=0.1, trees=3, dataset=DATASET, n_jobs=1)
    assert 0 < tuned["validation"] <= 1
    times = round_seconds(system_name="McRank", rounds=4, repeat=0, dataset=DATASET)
    assert len(times) == 4 and min(times) >= 0


def test_leaves_and_rate_are_chosen_by_the_validation_lists():
    lists = [{metric: [level, None] for metric in METRICS} for level in (0.9, 0.3, 0.6)]
    points = [
        {"validation": value, "lists": one, "by depth": [0.5] * 10}
        for value, one in zip((0.1, 0.8, 0.2), lists, strict=True)
    ]
    best = best_of_grid([(10, 0.1), (30, 0.04), (30, 0.1)], points)
    assert (best.leaves, best.rate, best.scores.mean("err")) == (30, 0.04, 0.3)


def scores_around(level):
    """Lists about a level, or about one for each metric."""
    random, levels = np.random.default_rng(0), np.broadcast_to(level, len(METRICS))
    lists = {metric: one + 0.01 * random.normal(size=50) for metric, one in zip(METRICS, levels, strict=True)}
    return SystemScores(lists, np.full(10, levels[2]))


def invented(main, *, is_synthetic=True, ratio=0.0, few=-0.1, many=0.1, tuned=0.1, seconds=None):
    """What would be found if systems had these levels; the noise of all lists is the same, so differences are sure."""
    table = {data: {name: scores_around(level) for name, level in levels.items()} for data, levels in main.items()}
    features = {(n, "l-ListMLE"): scores_around(0.5 + by) for n, by in ((5, few), (9, many))}
    features |= {(n, "CA"): scores_around(0.5) for n in (5, 9)}
    search = {
        name: TunedSystem(30, 0.1, scores_around(0.5 + by))
        for name, by in (("PLRank(obj=1)", tuned), ("LambdaMART", 0.0))
    }
    ratios = {data: {orders: one + ratio for orders, one in row.items()} for data, row in TABLE_3.items()}
    hours = TABLE_4 if seconds is None else seconds
    times = {name: hours[name] * np.array([1.0, 1.001, 0.999]) for name in TABLE_4}
    synthetic = dict.fromkeys(TABLE_1, is_synthetic)
    return TreeResults(table, {"MART-2": scores_around(0.5)}, features, search, ratios, times, synthetic)


def verdicts(found):
    return [claim.verdict for claim in claims(found)]


PUBLISHED = {data: {name: np.array(row) for name, row in rows.items()} for data, rows in TABLE_1.items()}


def test_the_published_values_hold_by_our_rules():
    found = verdicts(invented(PUBLISHED, is_synthetic=False))
    # On Yahoo LambdaMART is below c-MART-1, though the text says otherwise.
    assert found == [*["held"] * 6, "held in part", *["held"] * 7]


def test_the_contrary_does_not_hold():
    contrary = {data: {name: 1 - level for name, level in levels.items()} for data, levels in PUBLISHED.items()}
    slow = dict(zip(TABLE_4, reversed(TABLE_4.values()), strict=True))
    found = verdicts(invented(contrary, is_synthetic=False, ratio=0.3, few=0.1, many=-0.1, tuned=-0.1, seconds=slow))
    assert found[0] == found[6] == "held in part"  # McRank and PLRank(obj=1) match on Microsoft either way
    # Figures near a half are still near it when turned around.
    assert [found[i] for i in (1, 2, 3, 4, 5, *range(7, 14))] == ["not held"] * 11 + ["held in part"]


def test_claims_that_name_the_public_data_need_them():
    found = verdicts(invented(PUBLISHED, is_synthetic=True))
    assert found.count("needs data not available here") == 5


def test_tables_show_published_values_beside_ours():
    found = invented(PUBLISHED)
    tables = results.tables(found)
    assert [table.title.split(":")[0].split(" on ")[0] for table in tables] == [
        *["Table 1"] * 2, "Table 3", "Table 4", "Table 5", "Figure 2", "Figure 3",
    ]  # fmt: skip
    assert tables[0].rows[0][5:7] == [pytest.approx(0.7885, abs=0.01), 0.7885]
    assert tables[2].rows[0][:4] == ["3", "0.8672", "2.60", "0.8672"]
    assert tables[3].rows[1][1:] == ["91.0", "1.10", "91", "1.10"]
    assert isinstance(found.linear_difference(5, "ndcg@1"), Difference)


def test_a_small_run_has_every_table_claim_and_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(listmle_trees_2019, "QUICK", TINY_EXPERIMENT)
    outcome = listmle_trees_2019.run(Run("listmle-trees", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert "synthetic data in the shape of mslr-web30k" in outcome.data
    assert len(outcome.tables) == 7
    assert len(outcome.claims) == 14
    assert len(outcome.pictures()) == 5
    again = listmle_trees_2019.run(Run("listmle-trees", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert again.to_dict() == outcome.to_dict()


def test_the_public_files_are_read_as_distributed(monkeypatch, tmp_path):
    folder = tmp_path / "Yahoo"
    folder.mkdir()
    written = {part: web_search(6, 700, 5, seed=seed).dataset for seed, part in enumerate(("train", "valid", "test"))}
    for part, lists in written.items():
        write_letor(lists, folder / f"set1.{part}.txt")
    sizes = {"train": PartSize(6, written["train"].n_rows)}
    monkeypatch.setitem(datasets.DATASETS, YAHOO, replace(datasets.DATASETS[YAHOO], sizes=sizes))
    dataset = DatasetSpec.locate(tmp_path, YAHOO, TINY, all_folds=True)
    assert dataset == DatasetSpec(YAHOO, str(tmp_path), None)
    fold = load_fold(dataset, 0)
    assert np.array_equal(fold.train.labels, written["train"].labels)
    assert np.array_equal(fold.test.features, written["test"].features)
    one = fit(system_name="l-ListMLE", fold=0, trees=2, sweeps=1, count=3, dataset=dataset, n_jobs=1)
    assert len(one["lists"]["err"]) == 6
    assert listmle_trees_2019._ratios(dataset, TINY_EXPERIMENT)[3] <= 1
