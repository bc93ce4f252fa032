"""The tagging tables of 2020: the printed figures, made and published data, and verdicts about what was run."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import tagged_documents
from papers.datasets import DATASETS, Layout, PublicData, Size
from papers.partition_2020 import labels
from papers.partition_2020.labels import OURS, SHORT, TRAINED
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, printed
from papers.runner import Run


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows, one epoch, and points that run here."""
    monkeypatch.setattr(labels, "QUICK_MADE", dict.fromkeys(SHORT, labels.Size(60, 30, 20, 40)))
    monkeypatch.setattr(labels, "QUICK_EPOCHS", 1)
    points = Run.points
    monkeypatch.setattr(Run, "points", lambda *given, processes=1, **how: points(*given, **how))


@pytest.mark.parametrize("dataset", SHORT)
def test_printed_figures_agree_where_they_must(dataset):
    for method in METHODS:
        assert printed(dataset, method, "precision", 1) == printed(dataset, method, "ndcg", 1)
        assert printed(dataset, method, "psp", 1) == printed(dataset, method, "psndcg", 1)
        # Of the first k places the share that is relevant falls with k.
        figures = [printed(dataset, method, "precision", k) for k in CUTOFFS]
        assert figures == sorted(figures, reverse=True)
    assert printed(dataset, "sleec", "precision", 5) > printed(dataset, "leml", "precision", 5)
    assert printed(dataset, "sleec", "precision", 10) is None and printed(dataset, "leml", "ndcg", 1) is None
    data, described = DATASETS[dataset], TABLE_3[dataset]
    assert (data.features, data.labels) == (described.features, described.labels)
    assert [data.sizes[part].rows for part in ("train", "test")] == [described.train, described.test]


def test_without_data_all_four_are_made_and_nothing_is_judged():
    outcome = labels.run(Run("partition-labels", quick=True, n_jobs=1))
    assert outcome.data.startswith("Made data") and "not the paper's" in outcome.data
    assert len(outcome.tables) == 1 + 3 * 4 and "D-1K, made data" in outcome.tables[1].title
    about_data = [claim for claim in outcome.claims if claim.text[:4] in ("D-1K", "E-4K", "W-31", "D-20")]
    assert len(about_data) == 24 and {claim.verdict for claim in about_data} == {"needs data not at hand"}
    described = outcome.tables[0].rows
    assert described[0][1:5] == [20, 40, 60, 30] and described[7][1:] == list(TABLE_3["delicious-200k"])
    assert described[6][6] > described[2][6]  # more labels a row where the paper's data have more
    assert len(outcome.pictures()) == 8


def test_published_data_are_run_and_judged(monkeypatch, tmp_path):
    train, test = (tagged_documents(rows, n_words=20, n_labels=12, seed=rows) for rows in (40, 20))
    (tmp_path / "delicious-983").mkdir()
    for part, data in (("train", train), ("test", test)):
        luce.write_tagged(data, tmp_path / "delicious-983" / f"{part}.txt")
    layout = Layout("delicious-983", {"train": "train.txt", "test": "test.txt"})
    sizes = {"train": Size(40, 40), "test": Size(20, 20)}
    monkeypatch.setitem(DATASETS, "delicious", PublicData("delicious", "here", (layout,), 20, 12, sizes))
    outcome = labels.run(Run("partition-labels", data=tmp_path, quick=True, n_jobs=1, seed=3))
    assert outcome.data.startswith("The published data of D-1K; not at hand: E-4K, W-31K, D-200K")
    verdicts = {claim.text.partition(":")[0].partition(",")[0]: claim.verdict for claim in outcome.claims}
    assert verdicts["D-1K"] != "needs data not at hand" == verdicts["W-31K"]
    table = outcome.tables[1]
    assert table.title == "Table 1, D-1K" and table.rows[0][2] == 66.72
    found = labels.train_and_test("delicious", None, OURS, 3, (1e-3,), 1, str(tmp_path), 1)
    assert table.rows[0][1] == f"{found['precision@1']:.2f}"


@pytest.mark.parametrize(("dataset", "share"), [("delicious", 0.25), ("delicious-200k", 0.1)])
def test_validation_rows_are_the_papers_share(monkeypatch, dataset, share):
    shares = []

    def split(data, fractions, seed):
        shares.append(fractions)
        return luce.data.split(data, fractions, seed)

    monkeypatch.setattr(labels, "split", split)
    labels.train_and_test(dataset, (60, 30, 20, 40), "leml", 0, (1e-3,), 1, None, 1)
    assert shares == [(1 - share, share)]


def invented(gap: float) -> labels.Found:
    """Figures in which PL-Partition is so many points above all others."""
    metrics = [f"{metric}@{k}" for metric in labels.METRICS for k in CUTOFFS]
    return {
        ("delicious", method): [dict.fromkeys(metrics, 60.0 + i + gap * (method == OURS))]
        for i, method in enumerate(reversed(TRAINED))
    }


def test_verdicts_compare_means_with_rivals_and_with_what_is_printed():
    assert [claim.verdict for claim in labels._claims("delicious", invented(9.0), True)] == ["held"] * 6
    low = labels._claims("delicious", invented(-9.0), True)
    assert [claim.verdict for claim in low] == ["not held"] * 4 + ["held", "held in part"]
    assert "0 of 8; PL-Partition less the other has −8.00" in low[0].evidence
    unseen = labels._claims("wiki10-31k", {}, True)
    assert {claim.verdict for claim in unseen} == {"needs data not at hand"}
    assert labels._follows(["delicious"], invented(1.0)).verdict == "held"


def test_means_and_spread_over_seeds():
    found = {("delicious", OURS): [{"psp@3": 30.0}, {"psp@3": 32.0}]}
    assert labels._ours(found, "delicious", OURS, "psp", 3) == "31.00 ± 1.41"
    assert np.isclose(labels._mean(found, "delicious", OURS, "psp", 3), 31)
    metrics = [f"{metric}@{k}" for metric in labels.METRICS for k in labels.CUTOFFS]
    seeds = [dict.fromkeys(metrics, value) for value in (30.0, 32.0)]
    tables = labels._tables("delicious", {("delicious", method): seeds for method in TRAINED}, True)
    assert [table.note.startswith("± is the standard deviation over seeds.") for table in tables] == [True] * 3
