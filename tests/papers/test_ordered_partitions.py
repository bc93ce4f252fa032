"""The tables of 2011: every method trained and timed, and verdicts that follow from the results."""

from itertools import product

import numpy as np
import pytest

from luce.errors import DataError
from luce.kernels.pairs.reference import pair_outcomes
from luce.rankers.presets import PRESETS
from papers import ordered_partitions_2011 as partitions
from papers.datasets import DatasetSpec
from papers.ordered_partitions_2011 import learning, results, timing
from papers.ordered_partitions_2011.learning import SYNTHETIC, YAHOO, Protocol, Result
from papers.ordered_partitions_2011.published import BASELINES, ORDERS, PAIRWISE, PMOP, PRINTED
from papers.outcome import Trial
from papers.runner import Run

SMALL = Protocol((20, 30), 2, 136, (1.0, 100.0), (0.1, 0.01), (2, 4), (1, 2), validation=6, test=10)
POINT = {"fold": 1, "penalties": (1.0, 10.0), "learning_rate": None, "lengths": (2, 5)}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(learning, "QUICK", SMALL._replace(sizes=(20,), seeds=1))
    monkeypatch.setattr(timing, "LENGTHS", (5, 10, 20))
    monkeypatch.setattr(timing, "ROWS", 100)


def test_run_on_a_few_lists(small, monkeypatch):
    monkeypatch.setenv("LUCE_THREADS", "1")
    outcome = partitions.run(Run("ordered-partitions", quick=True, n_jobs=1, seed=2))
    first, second, times = outcome.tables
    assert [row[0] for row in first.rows] == list(PRINTED) == [row[0] for row in times.rows[:-1]]
    assert first.rows[0][2:-1:2] == [0.4882, 0.683, 0.6672]
    assert second.rows[6][2] == 0.5086
    assert first.on_page and "20 synthetic lists; 136 features, the paper had 519" in first.note
    assert "20 for training, 6 for validation, 10 for testing, seeds 2 to 2" in outcome.data
    assert "not the paper's data" in outcome.data
    about_data, about_time = outcome.claims[:5], outcome.claims[5:]
    assert {claim.verdict for claim in about_data} == {"on synthetic data"}  # one seed decides nothing
    assert "on synthetic data" not in {claim.verdict for claim in about_time}
    (drawn,) = outcome.pictures()
    assert "pmop-fd" in drawn.description


def test_every_system_of_the_table_has_its_preset():
    for method, order in product(PRINTED, ORDERS):
        preset = PRESETS[f"{order}-order-{method}"].parameters()
        assert preset["objective"].name == method
        assert ("second-order" in preset["transforms"]) == (order == "second")
        assert (preset.get("batch_size"), preset["max_iter"]) == (
            (1, 1_000) if "-g" in method or "mh" in method else (None, 100)
        )


def test_second_order_features_are_added_and_lists_are_split():
    dataset = SMALL._replace(sizes=(60,)).synthetic(0)[0]
    train, validation, test = learning.load(dataset)
    assert (train.n_lists, validation.n_lists, test.n_lists) == (60, 6, 10)
    assert not set(train.query_ids.to_pylist()) & set(test.query_ids.to_pylist())
    first, second = (learning.train_and_test("listmle", order, dataset, **POINT) for order in ORDERS)
    assert first["lists"] == 60 and first["features"] == 136 < second["features"]
    assert [each["length"] for each in first["trainings"]] == [0, 1, 0, 1]
    assert all(0 < each["metrics"]["err"] < 1 and each["seconds"] > 0 for each in first["trainings"])


def test_sampled_methods_resume_from_the_shorter_training():
    dataset = SMALL.synthetic(0)[0]
    whole, parts = (
        learning.train_and_test("pmop-gibbs", "first", dataset, 1, (1.0,), 0.01, lengths)["trainings"]
        for lengths in ((4,), (1, 2, 4))
    )
    assert parts[2]["metrics"] == whole[0]["metrics"] != parts[0]["metrics"]
    assert parts[2]["seconds"] > parts[1]["seconds"]


def test_a_learning_rate_that_diverges_is_left_out():
    found = learning.train_and_test("pmop-mh", "first", SMALL.synthetic(0)[0], 1, (1.0,), 1e200, (1, 2))
    assert found["trainings"] == []


def test_settings_are_chosen_on_validation_lists_for_each_length():
    points = [point for point in learning.points_of(SMALL, SMALL.synthetic(5)[:1]) if point["features"] == "first"]
    assert [point["method"] for point in points].count("pmop-gibbs") == len(SMALL.learning_rates)
    assert {point["learning_rate"] for point in points if point["method"] in BASELINES} == {None}
    given = [
        {
            "lists": 20,
            "features": 8,
            "trainings": [
                {"length": 0, "validation": number / 100, "seconds": 1.0, "metrics": {"err": number}},
                {"length": 1, "validation": -number / 100, "seconds": 1.0, "metrics": {"err": number}},
            ],
        }
        for number in range(len(points))
    ]
    chosen = learning.chosen_results(points, given, SMALL)
    numbers = [number for number, point in enumerate(points) if point["method"] == "pmop-mh"]
    assert chosen["pmop-mh", "first", Trial(SYNTHETIC, 20, 2, 5)].metrics["err"] == max(numbers)
    assert chosen["pmop-mh", "first", Trial(SYNTHETIC, 20, 4, 5)].metrics["err"] == min(numbers)


def test_published_lists_are_looked_for(tmp_path):
    (tmp_path / "ltrc_yahoo").mkdir()
    (tmp_path / "ltrc_yahoo" / "set1.train.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(DataError, match=r"missing: .*set1\.valid\.txt"):
        partitions.run(Run("ordered-partitions", data=tmp_path, quick=True, n_jobs=1))
    for part in ("valid", "test"):
        (tmp_path / "ltrc_yahoo" / f"set1.{part}.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(DataError, match="1 lists, not 19,944"):
        partitions.run(Run("ordered-partitions", data=tmp_path, quick=True, n_jobs=1))


def invented(pmop: float, second: float, fast: float = 0.5, data: str = SYNTHETIC) -> learning.Results:
    """What PMOP has more, what second-order features add, and the seconds of PMOP-FD."""
    trials = [Trial(data, *each) for each in product((100, 200), (25, 100), (0, 1))]
    return {
        (method, order, trial): Result(
            9,
            fast if method == "pmop-fd" else 1.0,
            {
                "err": 0.4 + pmop * (method in PMOP) + second * (order == "second"),
                "ndcg@1": 0.5 + second * (order == "second"),
                "ndcg@5": trial.seed / 2,
            },
        )
        for method, order, trial in product(PRINTED, ORDERS, trials if data == SYNTHETIC else trials[:1])
    }


def test_verdicts_follow_from_the_results():
    good = results.claims(invented(0.1, 0.05))
    assert [claim.verdict for claim in good] == ["held"] * 6
    assert "Positive in 8 of 8 trials" in good[2].evidence and "100 to 200 lists" in good[2].evidence
    assert "Comparisons with a baseline won, of 48 each: pmop-fd 48, pmop-gibbs 48, pmop-mh 48" in good[3].evidence
    assert "in the paper's table the three win 17 of 18" in good[3].evidence
    assert "with first-order features pmop-fd 0.500, rankregress 1.000" in good[5].evidence
    even = invented(0.1, 0.05)
    for key in [key for key in even if key[:2] == ("listmle", "first")]:
        even[key] = even[key]._replace(seconds=0.5)
    assert results.claims(even)[5].verdict == "held in part" and "15 of 16" in results.claims(even)[5].evidence
    bad = results.claims(invented(-0.1, -0.05, fast=2.0))
    assert [claim.verdict for claim in bad] == ["not held"] * 6
    partly = invented(-0.1, -0.05)
    for key in [key for key in partly if key[:2] == ("pmop-fd", "first")]:
        partly[key] = partly[key]._replace(metrics=partly[key].metrics | {"err": 0.9})
    assert [results.claims(partly)[number].verdict for number in (2, 3)] == ["on synthetic data", "not held"]
    mixed = invented(0.1, 0.05)
    key = next(key for key in mixed if key[:2] == ("pmop-mh", "first"))
    mixed[key] = mixed[key]._replace(metrics=mixed[key].metrics | {"err": 0.1})
    assert [results.claims(mixed)[number].verdict for number in (2, 3, 4)] == [
        "on synthetic data",
        "held",
        "on synthetic data",
    ]
    assert {claim.verdict for claim in results.claims(invented(0.1, 0.05, data=YAHOO))} == {"held"}


def test_all_but_one_baseline_must_gain():
    found = invented(0.1, 0.05)
    for name, verdict in (("ranknet", "held"), ("listmle", "not held")):  # one after the other
        for key, each in found.items():
            if key[:2] == (name, "second"):
                found[key] = each._replace(metrics=each.metrics | {"err": 0.2})
        assert results.claims(found)[0].verdict == verdict


def test_tables_show_means_of_the_largest_size_and_of_other_data():
    found = invented(0.1, 0.05) | invented(0.0, 0.0, data="mq2008")
    table = results.table_1(found, "first")
    assert table.rows[6][1] == pytest.approx(0.5) and table.rows[6][5] == pytest.approx(0.25)
    assert "200 synthetic lists, mean of 2 seeds" in table.note
    single = Trial("mq2008", 100, 100, 3)
    found |= {
        (m, o, single): Result(9, 1.0, {"err": 0.3, "ndcg@1": 0.2, "ndcg@5": 0.1}) for m, o in product(PRINTED, ORDERS)
    }
    other = results.real_table(found, "first")
    assert other.columns[1] == "mq2008 ERR" and other.rows[0][1] == 0.3
    assert "mq2008: 1 fold, 9 features" in other.note


def grown(pairwise: float, plain: float = 2.0) -> timing.Times:
    powers = dict.fromkeys(timing.TIMED, 1.0) | dict.fromkeys(PAIRWISE, pairwise) | {timing.ALL_PAIRS: plain}
    return {(method, n): n ** powers[method] for method, n in product(timing.TIMED, timing.LENGTHS)}


def test_the_power_of_a_growth_is_found():
    assert timing.power(grown(1.7), "ranknet") == pytest.approx(1.7)
    assert timing.table_2(grown(1.7)).rows[1][-2] == "N^1.70"
    assert [claim.verdict for claim in timing.time_claims(grown(1.1))] == ["held", "held"]
    assert "ranknet N^1.10" in timing.time_claims(grown(1.1))[1].evidence
    assert [claim.verdict for claim in timing.time_claims(grown(1.1, 1.0))] == ["held", "not held"]


def test_the_plain_sum_over_pairs_is_ranknets():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=12), rng.integers(0, 3, 12).astype(float)
    loss, gradient = timing.all_pairs(scores, labels)
    expected = pair_outcomes(scores, labels)
    assert loss == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-12)


def test_synthetic_lists_have_the_length_of_yahoos():
    train = learning.load(DatasetSpec(YAHOO, None, SMALL._replace(sizes=(300,)).synthetic(0)[0].shape))[0]
    assert abs(np.diff(train.offsets).mean() - 473_134 / 19_944) < 2
