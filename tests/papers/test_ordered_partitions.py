"""The tables of 2011: every method trained and timed, and verdicts that follow from the results."""

import numpy as np
import pytest

from luce.data.synthetic import web_search
from luce.errors import DataError
from papers import ordered_partitions_2011 as partitions
from papers.datasets import DatasetSpec, SyntheticShape
from papers.ordered_partitions_2011 import BASELINES, LENGTHS, PAIRWISE, PMOP, PRINTED
from papers.runner import Run


def synthetic(lists: int, features: int) -> DatasetSpec:
    return DatasetSpec(partitions.YAHOO, None, SyntheticShape(lists, features, documents=23.7))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(partitions, "QUICK_SHAPE", SyntheticShape(20, 8, documents=23.7))
    monkeypatch.setattr(partitions, "LENGTHS", (5, 10, 20))
    monkeypatch.setattr(partitions, "ROWS", 100)


def test_run_on_a_few_lists(small):
    outcome = partitions.run(Run("ordered-partitions", quick=True, n_jobs=1, seed=2))
    first, second, times = outcome.tables
    assert [row[0] for row in first.rows] == list(PRINTED) == [row[0] for row in times.rows]
    assert first.rows[0][2::2] == [0.4882, 0.683, 0.6672]
    assert second.rows[6][2] == 0.5086
    assert "20 synthetic lists" in outcome.data and "not the paper's data" in outcome.data
    about_data, about_time = outcome.claims[:5], outcome.claims[5:]
    assert {claim.verdict for claim in about_data} == {"needs data not available here"}
    assert "needs data not available here" not in {claim.verdict for claim in about_time}
    (drawn,) = outcome.pictures()
    assert "pmop-fd" in drawn.description


def test_second_order_features_are_added():
    first, second = (partitions.train_and_test("listmle", order, synthetic(60, 30), 1) for order in partitions.ORDERS)
    assert first["features"] == 30 < second["features"]
    assert 0 < first["err"] < 1 and first["seconds"] >= 0


def test_one_list_in_ten_tests(monkeypatch):
    seen = []
    evaluate = partitions.evaluate

    def spy(scores, test, *args, **options):
        seen.append((test.n_lists, options["max_grade"]))
        return evaluate(scores, test, *args, **options)

    monkeypatch.setattr(partitions, "evaluate", spy)
    partitions.train_and_test("ranknet", "first", synthetic(40, 6), 1)
    assert seen == [(4, 4)]


def test_published_lists_are_looked_for(tmp_path):
    (tmp_path / "ltrc_yahoo").mkdir()
    (tmp_path / "ltrc_yahoo" / "set1.train.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(DataError, match=r"missing: .*set1\.valid\.txt"):
        partitions.run(Run("ordered-partitions", data=tmp_path, quick=True))
    for part in ("valid", "test"):
        (tmp_path / "ltrc_yahoo" / f"set1.{part}.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(DataError, match="1 lists, not 19,944"):
        partitions.run(Run("ordered-partitions", data=tmp_path, quick=True))


def invented(pmop: float, second: float, fast: float) -> partitions.Scores:
    """ERR and seconds of all methods: what PMOP has more, what second-order features add, what PMOP-FD takes."""
    return {
        (method, order): {
            "err": 0.4 + pmop * (method in PMOP) + second * (order == "second"),
            "ndcg@1": 0.5 + second * (order == "second"),
            "ndcg@5": 0.5,
            "seconds": fast if method == "pmop-fd" else 1.0,
            "features": 9,
        }
        for method in PRINTED
        for order in partitions.ORDERS
    }


def grown(pairwise: float) -> dict[tuple[str, int], float]:
    return {(method, n): n ** (pairwise if method in PAIRWISE else 1.0) for method in PRINTED for n in LENGTHS}


def test_the_power_of_a_growth_is_found():
    assert partitions._power(grown(1.7), "ranknet") == pytest.approx(1.7)
    assert partitions._table_2(grown(1.7)).rows[1][-2] == "N^1.70"


def test_verdicts_follow_from_the_results():
    good = partitions._claims(invented(0.1, 0.05, 0.5), is_public=True)
    assert [claim.verdict for claim in good] == ["held", "held in part", "held", "held", "held"]
    assert "18 of 18 comparisons (17 in the paper's own table)" in good[3].evidence
    assert "By +25.00 %" in good[4].evidence
    bad = partitions._claims(invented(-0.1, -0.05, 0.5), is_public=True)
    assert [claim.verdict for claim in bad] == ["not held"] * 5
    assert all(method in bad[0].evidence for method in BASELINES)
    assert {claim.verdict for claim in partitions._claims(invented(0.1, 0.05, 0.5), is_public=False)} == {
        "needs data not available here"
    }
    found = invented(0.1, 0.05, 0.5)
    assert [claim.verdict for claim in partitions._time_claims(found, grown(2.0))] == ["held", "held", "held"]
    slow = partitions._time_claims(invented(0.1, 0.05, 2.0), grown(1.0))
    assert [claim.verdict for claim in slow] == ["not held", "held", "not held"]


def test_synthetic_lists_have_the_length_of_yahoos():
    data = partitions.load(synthetic(300, 5))
    assert abs(np.diff(data.offsets).mean() - 473_134 / 19_944) < 2
    assert data.n_features == 5 and data.n_rows == web_search(300, 5, 23.7, seed=0).dataset.n_rows
