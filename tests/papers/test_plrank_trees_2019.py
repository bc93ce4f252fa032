"""The 2019 paper: its printed tables, its systems and lists, verdicts, and one small run of everything."""

from dataclasses import replace

import numpy as np
import pytest

from luce.data.letor import write_letor
from luce.data.synthetic import web_search
from luce.objectives import objective
from papers import datasets, plrank_trees_2019
from papers.datasets import Size
from papers.paired_differences import Difference
from papers.plrank_trees_2019 import FULL, Plan, chosen, findings
from papers.plrank_trees_2019.claims import claims
from papers.plrank_trees_2019.findings import MSLR, YAHOO, Findings, Scored, Tuned
from papers.plrank_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4, TABLE_5
from papers.plrank_trees_2019.systems import (
    PRESET_OF,
    Shape,
    Source,
    fit,
    fold_of,
    made_lists,
    round_seconds,
    some_features,
    system,
    tune,
)
from papers.runner import Run

TINY = Shape(8, 9, 12, 6, 10)
SOURCE = Source(YAHOO, None, TINY, 3)
TINY_PLAN = Plan({YAHOO: TINY, MSLR: TINY}, 2, 1, (3, 8), (3,), (0.1,), 2, 2, 30)


def test_printed_tables_are_whole():
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


def test_made_lists_have_the_grades_of_their_set_and_folds_share_no_list():
    lists = made_lists(YAHOO, 800, TINY, 0)
    assert np.bincount(lists.labels.astype(int)) / lists.n_rows == pytest.approx(
        (0.22, 0.5, 0.22, 0.04, 0.02), abs=2e-3
    )
    fold = fold_of(SOURCE, 0)
    assert [part.n_lists for part in fold] == [12, 6, 10]
    ids = [set(part.query_ids.to_pylist()) for part in fold]
    assert not ids[0] & ids[2] and not ids[0] & ids[1]
    thirds = [fold_of(SOURCE._replace(thirds=True), number) for number in range(3)]
    tested = [set(one.test.query_ids.to_pylist()) for one in thirds]
    assert set.union(*tested) == ids[0]
    assert all(not set(one.train.query_ids.to_pylist()) & some for one, some in zip(thirds, tested, strict=True))


def test_fewer_features_are_a_part_of_more_and_vary():
    lists = fold_of(SOURCE, 0).train
    flat = lists.with_features(np.hstack([np.zeros((lists.n_rows, 3), np.float32), lists.features]))
    few, many = (some_features(flat, count, 1) for count in (3, 6))
    assert len(few) == 3
    assert set(few) < set(many)
    assert many.min() >= 3


def test_a_training_measures_the_test_lists():
    given = {"trees": 2, "sweeps": 1, "count": 0, "source": SOURCE, "n_jobs": 1, "fold": 0}
    one = fit(system_name="MART-2", **given)
    assert len(one["lists"]["ndcg@10"]) == 10
    scored = findings.scored([one])
    assert scored.by_depth[[0, 2, 9]] == pytest.approx([scored.mean(m) for m in METRICS[:3]], abs=1e-5)
    assert fit(system_name="l-ListMLE", **{**given, "count": 3}) != fit(system_name="l-ListMLE", **given)
    tuned = tune(system_name="LambdaMART", leaves=3, rate=0.1, trees=3, source=SOURCE, n_jobs=1)
    assert 0 < tuned["validation"] <= 1
    times = round_seconds(system_name="McRank", rounds=4, source=SOURCE)
    assert len(times) == 4 and min(times) >= 0


def test_leaves_and_rate_are_chosen_by_the_validation_lists():
    lists = [{metric: [level, None] for metric in METRICS} for level in (0.9, 0.3, 0.6)]
    results = [
        {"validation": figure, "lists": one, "by depth": [0.5] * 10}
        for figure, one in zip((0.1, 0.8, 0.2), lists, strict=True)
    ]
    best = chosen([(10, 0.1), (30, 0.04), (30, 0.1)], results)
    assert (best.leaves, best.rate, best.scored.mean("err")) == (30, 0.04, 0.3)


def scored(level):
    """Lists about a level, or about one for each metric."""
    random, levels = np.random.default_rng(0), np.broadcast_to(level, len(METRICS))
    lists = {metric: one + 0.01 * random.normal(size=50) for metric, one in zip(METRICS, levels, strict=True)}
    return Scored(lists, np.full(10, levels[2]))


def made_up(main, *, made=True, ratio=0.0, few=-0.1, many=0.1, tuned=0.1, seconds=None):
    """What would be found if systems had these levels; the noise of all lists is the same, so differences are sure."""
    table = {data: {name: scored(level) for name, level in levels.items()} for data, levels in main.items()}
    features = {(n, "l-ListMLE"): scored(0.5 + by) for n, by in ((5, few), (9, many))}
    features |= {(n, "CA"): scored(0.5) for n in (5, 9)}
    search = {name: Tuned(30, 0.1, scored(0.5 + by)) for name, by in (("PLRank(obj=1)", tuned), ("LambdaMART", 0.0))}
    ratios = {data: {orders: one + ratio for orders, one in row.items()} for data, row in TABLE_3.items()}
    hours = TABLE_4 if seconds is None else seconds
    times = {name: hours[name] * np.array([1.0, 1.001, 0.999]) for name in TABLE_4}
    told = dict.fromkeys(TABLE_1, made)
    return Findings(table, {"MART-2": scored(0.5)}, features, search, ratios, times, told)


def verdicts(found):
    return [claim.verdict for claim in claims(found)]


PRINTED = {data: {name: np.array(row) for name, row in rows.items()} for data, rows in TABLE_1.items()}


def test_the_printed_figures_hold_by_our_rules():
    found = verdicts(made_up(PRINTED, made=False))
    # On Yahoo LambdaMART is below c-MART-1, though the text says otherwise.
    assert found == [*["held"] * 6, "held in part", *["held"] * 7]


def test_the_contrary_does_not_hold():
    contrary = {data: {name: 1 - level for name, level in levels.items()} for data, levels in PRINTED.items()}
    slow = dict(zip(TABLE_4, reversed(TABLE_4.values()), strict=True))
    found = verdicts(made_up(contrary, made=False, ratio=0.3, few=0.1, many=-0.1, tuned=-0.1, seconds=slow))
    assert found[0] == found[6] == "held in part"  # McRank and PLRank(obj=1) match on Microsoft either way
    # Figures near a half are still near it when turned around.
    assert [found[i] for i in (1, 2, 3, 4, 5, *range(7, 14))] == ["not held"] * 11 + ["held in part"]


def test_claims_that_name_the_public_data_need_them():
    found = verdicts(made_up(PRINTED, made=True))
    assert found.count("needs data not at hand") == 5


def test_tables_have_ours_beside_theirs():
    found = made_up(PRINTED)
    tables = findings.tables(found)
    assert [table.title.split(":")[0].split(" on ")[0] for table in tables] == [
        *["Table 1"] * 2, "Table 3", "Table 4", "Table 5", "Figure 2", "Figure 3",
    ]  # fmt: skip
    assert tables[0].rows[0][5:7] == [pytest.approx(0.7885, abs=0.01), 0.7885]
    assert tables[2].rows[0][:4] == ["3", "0.8672", "2.60", "0.8672"]
    assert tables[3].rows[1][1:] == ["91.0", "1.10", "91", "1.10"]
    assert isinstance(found.fewer(5, "ndcg@1"), Difference)


def test_a_small_run_has_every_table_claim_and_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(plrank_trees_2019, "QUICK", TINY_PLAN)
    outcome = plrank_trees_2019.run(Run("plrank-trees", quick=True, n_jobs=1, keep=tmp_path / "kept.json"))
    assert "made data in the shape of mslr-web30k" in outcome.data
    assert len(outcome.tables) == 7
    assert len(outcome.claims) == 14
    assert len(outcome.pictures()) == 5
    again = plrank_trees_2019.run(Run("plrank-trees", quick=True, n_jobs=1, keep=tmp_path / "kept.json"))
    assert again.facts() == outcome.facts()


def test_the_public_files_are_read_as_distributed(monkeypatch, tmp_path):
    folder = tmp_path / "Yahoo"
    folder.mkdir()
    made = {part: web_search(6, 700, 5, seed=seed).dataset for seed, part in enumerate(("train", "valid", "test"))}
    for part, lists in made.items():
        write_letor(lists, folder / f"set1.{part}.txt")
    sizes = {"train": Size(6, made["train"].n_rows)}
    monkeypatch.setitem(datasets.DATASETS, YAHOO, replace(datasets.DATASETS[YAHOO], sizes=sizes))
    source = plrank_trees_2019._source(YAHOO, TINY_PLAN, Run("plrank-trees", tmp_path, quick=True))
    assert source.settings() == {"data": YAHOO, "thirds": False, "seed": 0}
    fold = fold_of(source, 0)
    assert np.array_equal(fold.train.labels, made["train"].labels)
    assert np.array_equal(fold.test.features, made["test"].features)
    one = fit(system_name="l-ListMLE", fold=0, trees=2, sweeps=1, count=3, source=source, n_jobs=1)
    assert len(one["lists"]["err"]) == 6
    assert plrank_trees_2019._ratios(source, TINY_PLAN)[3] <= 1
