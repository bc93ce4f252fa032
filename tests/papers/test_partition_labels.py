"""The multi-label tables of 2020: published values, synthetic and published data, and verdicts."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import tagged_documents
from papers.datasets import DATASETS, DatasetSpec, Layout, PartSize, PublicDataset, SyntheticShape
from papers.partition_2020 import labels
from papers.partition_2020.labels import OURS, SHORT, TRAINED
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, published
from papers.runner import Run

SHAPE = SyntheticShape(60, 20, test=30, labels=40)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows, one epoch, and points computed in this process."""
    monkeypatch.setattr(labels, "QUICK_SHAPES", dict.fromkeys(SHORT, SHAPE))
    monkeypatch.setattr(labels, "QUICK_EPOCHS", 1)
    points = Run.points
    monkeypatch.setattr(Run, "points", lambda *args, processes=1, **options: points(*args, **options))


@pytest.mark.parametrize("dataset", SHORT)
def test_published_values_agree_where_they_must(dataset):
    for method in METHODS:
        assert published(dataset, method, "precision", 1) == published(dataset, method, "ndcg", 1)
        assert published(dataset, method, "psp", 1) == published(dataset, method, "psndcg", 1)
        # Precision decreases with k.
        values = [published(dataset, method, "precision", k) for k in CUTOFFS]
        assert values == sorted(values, reverse=True)
    assert published(dataset, "sleec", "precision", 5) > published(dataset, "leml", "precision", 5)
    assert published(dataset, "sleec", "precision", 10) is None and published(dataset, "leml", "ndcg", 1) is None
    data, described = DATASETS[dataset], TABLE_3[dataset]
    assert (data.features, data.labels) == (described.features, described.labels)
    assert [data.sizes[part].rows for part in ("train", "test")] == [described.train, described.test]


def test_without_data_all_four_are_synthetic_and_there_are_no_verdicts():
    outcome = labels.run(Run("partition-labels", quick=True, n_jobs=1))
    assert outcome.data.startswith("Synthetic data") and "not the paper's" in outcome.data
    assert len(outcome.tables) == 1 + 3 * 4 and "D-1K, synthetic data" in outcome.tables[1].title
    about_data = [claim for claim in outcome.claims if claim.text[:4] in ("D-1K", "E-4K", "W-31", "D-20")]
    assert len(about_data) == 24 and {claim.verdict for claim in about_data} == {"needs data not available here"}
    described = outcome.tables[0].rows
    assert described[0][1:5] == [20, 40, 60, 30] and described[7][1:] == list(TABLE_3["delicious-200k"])
    assert described[6][6] > described[2][6]  # more labels per row where the paper's data have more
    assert len(outcome.pictures()) == 8


def test_published_data_get_verdicts(monkeypatch, tmp_path):
    train, test = (tagged_documents(rows, n_words=20, n_labels=12, seed=rows) for rows in (40, 20))
    (tmp_path / "delicious-983").mkdir()
    for part, data in (("train", train), ("test", test)):
        luce.write_tagged(data, tmp_path / "delicious-983" / f"{part}.txt")
    layout = Layout("delicious-983", {"train": "train.txt", "test": "test.txt"})
    sizes = {"train": PartSize(40, 40), "test": PartSize(20, 20)}
    monkeypatch.setitem(DATASETS, "delicious", PublicDataset("delicious", "here", (layout,), 20, 12, sizes))
    outcome = labels.run(Run("partition-labels", data=tmp_path, quick=True, n_jobs=1, seed=3))
    assert outcome.data.startswith("The published data of D-1K; not available: E-4K, W-31K, D-200K")
    verdicts = {claim.text.partition(":")[0].partition(",")[0]: claim.verdict for claim in outcome.claims}
    assert verdicts["D-1K"] != "needs data not available here" == verdicts["W-31K"]
    table = outcome.tables[1]
    assert table.title == "Table 1, D-1K" and table.rows[0][2] == 66.72
    found = labels.train_and_test(DatasetSpec("delicious", str(tmp_path), None), OURS, 3, (1e-3,), 1, 1)
    assert table.rows[0][1] == f"{found['precision@1']:.2f}"


@pytest.mark.parametrize(("dataset", "share"), [("delicious", 0.25), ("delicious-200k", 0.1)])
def test_validation_rows_are_the_papers_share(monkeypatch, dataset, share):
    shares = []

    def split(data, fractions, seed):
        shares.append(fractions)
        return luce.data.split(data, fractions, seed)

    monkeypatch.setattr(labels, "split", split)
    labels.train_and_test(DatasetSpec(dataset, None, SHAPE), "leml", 0, (1e-3,), 1, 1)
    assert shares == [(1 - share, share)]


def invented(gap: float) -> labels.Scores:
    """Scores in which PL-Partition is `gap` points above all others."""
    metrics = [f"{metric}@{k}" for metric in labels.METRICS for k in CUTOFFS]
    return {
        ("delicious", method): [dict.fromkeys(metrics, 60.0 + i + gap * (method == OURS))]
        for i, method in enumerate(reversed(TRAINED))
    }


def test_verdicts_compare_means_with_rivals_and_with_what_is_published():
    assert [claim.verdict for claim in labels._claims("delicious", invented(9.0), True)] == ["held"] * 6
    low = labels._claims("delicious", invented(-9.0), True)
    assert [claim.verdict for claim in low] == ["not held"] * 4 + ["held", "held in part"]
    assert "0 of 8; PL-Partition minus the other is −8.00" in low[0].evidence
    unseen = labels._claims("wiki10-31k", {}, True)
    assert {claim.verdict for claim in unseen} == {"needs data not available here"}
    assert labels._correlation_claim(["delicious"], invented(1.0)).verdict == "held"


def test_means_and_spread_over_seeds():
    found = {("delicious", OURS): [{"psp@3": 30.0}, {"psp@3": 32.0}]}
    assert labels._mean_and_deviation(found, "delicious", OURS, "psp", 3) == "31.00 ± 1.41"
    assert np.isclose(labels._mean(found, "delicious", OURS, "psp", 3), 31)
    metrics = [f"{metric}@{k}" for metric in labels.METRICS for k in labels.CUTOFFS]
    seeds = [dict.fromkeys(metrics, value) for value in (30.0, 32.0)]
    tables = labels._tables("delicious", {("delicious", method): seeds for method in TRAINED}, True)
    assert [table.note.startswith("± is the standard deviation over seeds.") for table in tables] == [True] * 3
