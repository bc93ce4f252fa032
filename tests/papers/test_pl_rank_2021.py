"""The 2021 paper: its published tables, learning curves, verdicts, and one small run of everything."""

from dataclasses import replace

import numpy as np
import pytest

from luce.data.letor import write_letor
from luce.data.synthetic import web_search
from luce.kernels.expected_gain import ESTIMATORS
from papers import datasets, pl_rank_2021
from papers.datasets import DatasetSpec, PartSize, SyntheticShape
from papers.pl_rank_2021 import EstimatorExperiment, results
from papers.pl_rank_2021.learning import (
    INCREASING,
    METHODS,
    LearningCurve,
    expected_dcg,
    gradient_difference,
    learn,
    load,
    objective_for,
    step_seconds,
)
from papers.pl_rank_2021.published import SAMPLES, TABLE_1, TABLE_2
from papers.pl_rank_2021.results import LAMBDALOSS, PL_RANK_1, PL_RANK_2, POLICY_GRADIENT, TRAINED, EstimatorResults
from papers.runner import Run

SHAPES = {"mslr-web30k": SyntheticShape(10, 6, documents=12), "istella": SyntheticShape(8, 5, documents=15)}
TINY = DatasetSpec("mslr-web30k", None, SHAPES["mslr-web30k"])
TINY_EXPERIMENT = EstimatorExperiment(SHAPES, 2, (10, 12), 2, 10, 0.01, 0.01, (1, 10), 3, 2)


def test_published_tables_are_complete():
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
            LearningCurve([0.0, 2.0, 4.0 + 4 * (name == PL_RANK_1)], [0.0, end / 2 + seed / 90, end + seed / 90])
            for seed in range(3)
        ]
        for name, end in ends.items()
    }


def test_curves_are_compared_as_far_as_all_of_them_go():
    found = {"a": [LearningCurve([0, 2, 4], [0, 1, 2])], "b": [LearningCurve([0, 2], [0, 5])]}
    epochs, values = results.along_epochs(found)
    assert epochs.tolist() == [0, 1]
    assert values["a"].tolist() == [[0, 1]]
    times, values = results.along_seconds(found)
    assert times[[0, -1]].tolist() == [0, 2]
    assert values["a"][0, -1] == 1
    assert values["b"][0] == pytest.approx(2.5 * times)


def invented(best=1.0, fair=0.1, quick=1.0, difference=0.0, same=0.9, data="yahoo-set1"):
    rising = {LAMBDALOSS: 0.5, POLICY_GRADIENT: 0.6, PL_RANK_1: same, PL_RANK_2: best}
    falling = {
        name: [LearningCurve([0, 4], [1.0, end + seed / 90]) for seed in range(3)]
        for name, end in {POLICY_GRADIENT: 0.5, PL_RANK_1: 0.2, PL_RANK_2: fair}.items()
    }
    cost = {LAMBDALOSS: 3.0, POLICY_GRADIENT: 2.0, "placement policy gradient": 2.0, PL_RANK_1: 1.0, PL_RANK_2: quick}
    seconds = {
        (name, n): np.array([1.0, 1.01, 0.99]) * one * (n ** (2 if name == LAMBDALOSS else 1))
        for name, one in cost.items()
        for n in (1, 10)
    }
    better = curves(**rising)
    figures = {10: better, 100: {**better, POLICY_GRADIENT: curves(**{POLICY_GRADIENT: 0.8})[POLICY_GRADIENT]}}
    return EstimatorResults(
        {data: figures}, {data: better}, {data: falling}, {data: seconds}, {data: difference}, {data: True}
    )


def verdicts(found):
    return [claim.verdict for claim in results.claims(found)]


def test_verdicts_follow_from_the_results():
    assert verdicts(invented()) == ["held"] * 9 + ["needs data not available here"]
    worse = verdicts(invented(best=0.3, fair=0.9, quick=5.0, difference=0.1))
    assert worse[:2] == ["not held", "not held"]
    assert worse[4] == "not held"
    assert worse[5] == "held in part"  # PL-Rank-1 is still the quicker
    assert worse[7] == "not held"
    assert worse[8] == "held in part"  # disparity falls, but less than by the policy gradient
    assert verdicts(invented(same=0.3))[3] == "not held"


def test_the_printed_exception_of_table_2_is_not_asked_for():
    """PL-Rank-2 and PL-Rank-1 are level on MSLR in the paper too; elsewhere that counts."""
    below = {"best": 0.8, "same": 1.5}  # which PL-Rank-1 has later; by then 1.0
    assert verdicts(invented(**below, data="mslr-web30k"))[7] == "held"
    assert verdicts(invented(**below))[7] == "held in part"


def test_tables_show_published_values_beside_ours():
    time, end, samples = results.tables(invented())
    assert time.columns == ["method", "N = 1", "paper", "N = 10", "paper"]
    assert time.rows[-1][:3] == [PL_RANK_2, pytest.approx(19_944 / 60), 2.49]
    assert end.rows[-1][1].startswith("1.0") and end.rows[-1][2] == "11.42"
    assert end.rows[-1][3] == "–"
    assert len(samples.rows) == 3


def test_the_expected_dcg_is_that_of_sampled_rankings():
    data = load(TINY)
    far = 1e4 * data.test.labels  # so far apart that only equal labels change places: the ideal DCG
    ideal = [np.sort(2 ** data.test.labels[data.test.rows(q)] - 1)[::-1][:5] for q in range(data.test.n_lists)]
    wanted = np.mean([gains @ (1 / np.log2(np.arange(2, 2 + len(gains)))) for gains in ideal])
    assert expected_dcg(far, data.test) == pytest.approx(wanted)


def test_a_training_learns_and_the_increasing_number_of_samples_is_the_papers():
    one = LearningCurve(*learn(method=PL_RANK_2, samples=10, fair=False, seed=0, epochs=12, seconds=0.0, dataset=TINY))
    assert len(one.values) == len(one.seconds) == 13
    assert one.seconds == sorted(one.seconds)
    assert max(one.values[6:]) > one.values[0]
    assert objective_for(PL_RANK_2, INCREASING).options["samples"] == (10, 100, 40)
    short = LearningCurve(
        *learn(method=POLICY_GRADIENT, samples=INCREASING, fair=True, seed=0, epochs=99, seconds=1e-9, dataset=TINY)
    )
    assert len(short.values) == 2


def test_the_placement_policy_gradient_is_pl_rank_1(monkeypatch):
    assert gradient_difference(TINY) < 1e-12
    for name in ("pl-rank-1", "placement-policy-gradient"):  # that our two agree is not enough
        monkeypatch.setitem(ESTIMATORS, name, ESTIMATORS["pl-rank-2"])
    assert gradient_difference(TINY) > 1e-3


def test_a_step_takes_time():
    assert step_seconds(method=PL_RANK_2, samples=2, repeat=0, steps=3, dataset=TINY) > 0


def test_a_small_run_has_every_table_claim_and_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(pl_rank_2021, "QUICK", TINY_EXPERIMENT)
    outcome = pl_rank_2021.run(Run("pl-rank", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert "synthetic data in the shape of istella" in outcome.data
    assert len(outcome.tables) == 4
    assert len(outcome.claims) == 10
    assert len(outcome.pictures()) == 2 * 2 + 2 + 2
    again = pl_rank_2021.run(Run("pl-rank", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert again.to_dict() == outcome.to_dict()
    assert set(TRAINED) < set(METHODS)


def test_the_public_files_are_read_as_distributed(monkeypatch, tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    written = {part: web_search(5, 220, 6, seed=seed).dataset for seed, part in enumerate(("train", "test"))}
    for part, lists in written.items():
        write_letor(lists, folder / f"{part}.txt")
    sizes = {"train": PartSize(5, written["train"].n_rows)}
    monkeypatch.setitem(datasets.DATASETS, "istella", replace(datasets.DATASETS["istella"], sizes=sizes))
    dataset = DatasetSpec.locate(tmp_path, "istella", SHAPES["istella"])
    assert dataset == DatasetSpec("istella", str(tmp_path), None)
    data = load(dataset)
    assert np.array_equal(data.test.labels, written["test"].labels)
    assert np.abs(data.train_features.mean(axis=0)).max() < 1e-5
