"""The 2021 paper: its printed tables, curves put side by side, verdicts, and one small run of everything."""

from dataclasses import replace

import numpy as np
import pytest

from luce.data.letor import write_letor
from luce.data.synthetic import web_search
from luce.kernels.expected_gain import ESTIMATORS
from papers import datasets, pl_rank_2021
from papers.datasets import Size
from papers.pl_rank_2021 import Plan, findings
from papers.pl_rank_2021.findings import BEST, BOUND, PLAIN, SAME, TRAINED, Findings
from papers.pl_rank_2021.learning import (
    GROWING,
    METHODS,
    Curve,
    Shape,
    Source,
    expected_dcg,
    goal_of,
    learn,
    list_seconds,
    same_estimate,
    task_of,
)
from papers.pl_rank_2021.published import SAMPLES, TABLE_1, TABLE_2
from papers.runner import Run

TINY = Source("mslr-web30k", None, Shape(6, 12, 10))
TINY_PLAN = Plan({"mslr-web30k": TINY.shape, "istella": Shape(5, 15, 8)}, 2, (10, 12), 2, 10, 0.01, 0.01, (1, 10), 3, 2)


def test_printed_tables_are_whole():
    assert list(TABLE_1) == ["yahoo-set1", "mslr-web30k", "istella"]
    for rows in TABLE_1.values():
        assert list(rows) == list(METHODS)
        assert all(len(row) == len(SAMPLES) and list(row) == sorted(row) for row in rows.values())
    assert list(TABLE_2) == list(METHODS)
    # What the text says of them: PL-Rank-1 is the quickest everywhere, PL-Rank-2 the best after equal time.
    for rows in TABLE_1.values():
        assert (np.array([*rows.values()]).min(axis=0) == rows["PL-Rank-1"]).all()
    assert (np.array([*TABLE_2.values()]).max(axis=0) == TABLE_2["PL-Rank-2"]).all()


def curves(**ends):
    """Methods whose three seeds rise evenly from 0 to about an end, one in 4 seconds and another in 8."""
    return {
        name: [
            Curve([0.0, 2.0, 4.0 + 4 * (name == SAME)], [0.0, end / 2 + seed / 90, end + seed / 90])
            for seed in range(3)
        ]
        for name, end in ends.items()
    }


def test_curves_are_compared_as_far_as_all_of_them_go():
    found = {"a": [Curve([0, 2, 4], [0, 1, 2])], "b": [Curve([0, 2], [0, 5])]}
    epochs, values = findings.along_epochs(found)
    assert epochs.tolist() == [0, 1]
    assert values["a"].tolist() == [[0, 1]]
    times, values = findings.along_seconds(found)
    assert times[[0, -1]].tolist() == [0, 2]
    assert values["a"][0, -1] == 1
    assert values["b"][0] == pytest.approx(2.5 * times)


def made_up(best=1.0, fair=0.1, quick=1.0, apart=0.0, same=0.9, data="yahoo-set1"):
    rising = {BOUND: 0.5, PLAIN: 0.6, SAME: same, BEST: best}
    falling = {
        name: [Curve([0, 4], [1.0, end + seed / 90]) for seed in range(3)]
        for name, end in {PLAIN: 0.5, SAME: 0.2, BEST: fair}.items()
    }
    cost = {BOUND: 3.0, PLAIN: 2.0, "placement policy gradient": 2.0, SAME: 1.0, BEST: quick}
    seconds = {
        (name, n): np.array([1.0, 1.01, 0.99]) * one * (n ** (2 if name == BOUND else 1))
        for name, one in cost.items()
        for n in (1, 10)
    }
    better = curves(**rising)
    figures = {10: better, 100: {**better, PLAIN: curves(**{PLAIN: 0.8})[PLAIN]}}
    return Findings({data: figures}, {data: better}, {data: falling}, {data: seconds}, {data: apart}, {data: True})


def verdicts(found):
    return [claim.verdict for claim in findings.claims(found)]


def test_claims_are_judged_by_what_was_measured():
    assert verdicts(made_up()) == ["held"] * 9 + ["needs data not at hand"]
    worse = verdicts(made_up(best=0.3, fair=0.9, quick=5.0, apart=0.1))
    assert worse[:2] == ["not held", "not held"]
    assert worse[4] == "not held"
    assert worse[5] == "held in part"  # PL-Rank-1 is still the quicker
    assert worse[7] == "not held"
    assert worse[8] == "held in part"  # disparity falls, but less than by the policy gradient
    assert verdicts(made_up(same=0.3))[3] == "not held"


def test_the_printed_exception_of_table_2_is_not_asked_for():
    """PL-Rank-2 and PL-Rank-1 are level on MSLR in the paper too; elsewhere that counts."""
    below = {"best": 0.8, "same": 1.5}  # which PL-Rank-1 has later; by then 1.0
    assert verdicts(made_up(**below, data="mslr-web30k"))[7] == "held"
    assert verdicts(made_up(**below))[7] == "held in part"


def test_tables_have_ours_beside_theirs():
    time, end, samples = findings.tables(made_up())
    assert time.columns == ["method", "N = 1", "paper", "N = 10", "paper"]
    assert time.rows[-1][:3] == [BEST, pytest.approx(19_944 / 60), 2.49]
    assert end.rows[-1][1].startswith("1.0") and end.rows[-1][2] == "11.42"
    assert end.rows[-1][3] == "–"
    assert len(samples.rows) == 3


def test_the_expected_dcg_is_that_of_sampled_rankings():
    task = task_of(TINY)
    far = 1e4 * task.test.labels  # so far apart that only equal labels change places: the ideal DCG
    ideal = [np.sort(2 ** task.test.labels[task.test.rows(q)] - 1)[::-1][:5] for q in range(task.test.n_lists)]
    wanted = np.mean([gains @ (1 / np.log2(np.arange(2, 2 + len(gains)))) for gains in ideal])
    assert expected_dcg(far, task.test) == pytest.approx(wanted)


def test_a_training_learns_and_the_growing_number_of_samples_is_the_papers():
    one = Curve(*learn(method=BEST, samples=10, fair=False, seed=0, epochs=12, seconds=0.0, source=TINY))
    assert len(one.values) == len(one.seconds) == 13
    assert one.seconds == sorted(one.seconds)
    assert max(one.values[6:]) > one.values[0]
    assert goal_of(BEST, GROWING).options["samples"] == (10, 100, 40)
    short = Curve(*learn(method=PLAIN, samples=GROWING, fair=True, seed=0, epochs=99, seconds=1e-9, source=TINY))
    assert len(short.values) == 2


def test_the_placement_policy_gradient_is_pl_rank_1(monkeypatch):
    assert same_estimate(TINY) < 1e-12
    monkeypatch.setitem(ESTIMATORS, "pl-rank-1", ESTIMATORS["pl-rank-2"])
    assert same_estimate(TINY) > 1e-3


def test_a_step_takes_time():
    assert list_seconds(method=BEST, samples=2, repeat=0, steps=3, source=TINY) > 0


def test_a_small_run_has_every_table_claim_and_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(pl_rank_2021, "QUICK", TINY_PLAN)
    outcome = pl_rank_2021.run(Run("pl-rank-estimator", quick=True, n_jobs=1, keep=tmp_path / "kept.json"))
    assert "made data in the shape of istella" in outcome.data
    assert len(outcome.tables) == 4
    assert len(outcome.claims) == 10
    assert len(outcome.pictures()) == 2 * 2 + 2 + 2
    again = pl_rank_2021.run(Run("pl-rank-estimator", quick=True, n_jobs=1, keep=tmp_path / "kept.json"))
    assert again.facts() == outcome.facts()
    assert set(TRAINED) < set(METHODS)


def test_the_public_files_are_read_as_distributed(monkeypatch, tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    made = {part: web_search(5, 220, 6, seed=seed).dataset for seed, part in enumerate(("train", "test"))}
    for part, lists in made.items():
        write_letor(lists, folder / f"{part}.txt")
    sizes = {"train": Size(5, made["train"].n_rows)}
    monkeypatch.setitem(datasets.DATASETS, "istella", replace(datasets.DATASETS["istella"], sizes=sizes))
    source = pl_rank_2021._source("istella", TINY_PLAN, Run("pl-rank-estimator", tmp_path, quick=True))
    assert source.settings() == {"data": "istella"}
    task = task_of(source)
    assert np.array_equal(task.test.labels, made["test"].labels)
    assert np.abs(task.features.mean(axis=0)).max() < 1e-5
