"""The multi-label tables of 2020: published values, data, the choice of parameters, and verdicts."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import tagged_documents
from luce.metrics import measure_labels
from papers.datasets import DATASETS, DatasetSpec, Layout, PartSize, PublicDataset, SyntheticShape
from papers.partition_2020 import label_training, labels
from papers.partition_2020.label_claims import dataset_claims, follow_claim
from papers.partition_2020.label_results import SHORT, TITLES, Cell, metric_tables, parameter_table
from papers.partition_2020.label_training import METRICS, train_and_test
from papers.partition_2020.labels import LabelGrid
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, published
from papers.runner import Run

SHAPES = (SyntheticShape(40, 20, test=30, labels=40), SyntheticShape(60, 20, test=30, labels=40))
OURS = "pl-partition"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows and epochs, small grids, and points computed in this process."""
    monkeypatch.setattr(labels, "QUICK", LabelGrid(dict.fromkeys(SHORT, SHAPES), (1e-2,), (1, 2), 2, 3, 1))
    monkeypatch.setitem(label_training.GRIDS, "leml", [(1.0,), (10.0,)])
    monkeypatch.setitem(label_training.GRIDS, "sleec", [(1.0, 3), (1.0, 6)])
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


def test_without_data_all_four_are_synthetic_and_named_so():
    outcome = labels.run(Run("partition-labels", quick=True, n_jobs=1))
    assert outcome.data.startswith("Synthetic data, not the paper's") and "40 and 60 training rows" in outcome.data
    assert "at most 1 or 2 epochs, 2 seeds" in outcome.data
    assert len(outcome.tables) == 1 + 2 * 4 + 1 and not any(table.on_page for table in outcome.tables)
    assert outcome.tables[1].title == "Tables 1 and 2, D-1K, synthetic data, 60 rows, 2 epochs"
    by_networks = [claim for claim in outcome.claims if claim.text.startswith("As many labels per row as in ")]
    assert len(by_networks) == 8 and all(" of 8 trials on synthetic " in claim.evidence for claim in by_networks)
    about_data = [claim for claim in outcome.claims if claim.text[:4] in ("D-1K", "E-4K", "W-31", "D-20")]
    assert len(about_data) == 4 and {claim.verdict for claim in about_data} == {"needs data not available here"}
    described = outcome.tables[0].rows
    assert described[0][1:5] == [20, 40, 60, 30] and described[7][1:] == list(TABLE_3["delicious-200k"])
    assert described[6][6] > described[2][6]  # more labels per row where the paper's data have more
    assert len(outcome.pictures()) == 8 and "validation" in outcome.notes


def test_published_data_get_verdicts(monkeypatch, tmp_path):
    train, test = (tagged_documents(rows, n_words=20, n_labels=12, seed=rows) for rows in (40, 20))
    (tmp_path / "delicious-983").mkdir()
    for part, data in (("train", train), ("test", test)):
        luce.write_tagged(data, tmp_path / "delicious-983" / f"{part}.txt")
    layout = Layout("delicious-983", {"train": "train.txt", "test": "test.txt"})
    sizes = {"train": PartSize(40, 40), "test": PartSize(20, 20)}
    monkeypatch.setitem(DATASETS, "delicious", PublicDataset("delicious", "here", (layout,), 20, 12, sizes))
    shapes = dict.fromkeys(SHORT, SHAPES[:1])
    monkeypatch.setattr(labels, "QUICK", LabelGrid(shapes, (1e-4, 1e-1), (1,), 1, 3, 1))
    outcome = labels.run(Run("partition-labels", data=tmp_path, quick=True, n_jobs=1, seed=3))
    assert outcome.data.startswith(
        "The published data of D-1K: at most 3 epochs, 1 seed. Synthetic data, not the paper's"
    )
    verdicts = {claim.text.partition(":")[0]: claim.verdict for claim in outcome.claims}
    assert verdicts["D-1K"] in ("held", "held in part", "not held") and verdicts["W-31K"].startswith("needs data")
    [table] = [table for table in outcome.tables if table.on_page]
    assert table.title == "Tables 1 and 2, D-1K" and "52.80, is doubtful" in table.note
    assert [row[0] for row in table.rows[::2]] == list(TITLES.values()) and table.rows[1][1] == 66.72
    spec = DatasetSpec("delicious", str(tmp_path), None)
    found = [train_and_test(spec, OURS, 3, n_jobs=1, rate=rate, epochs=3) for rate in (1e-4, 1e-1)]
    worst, best = (
        [f"{result[f'{metric}@{k}']:.2f}" for metric in ("precision", "psp") for k in CUTOFFS]
        for result in sorted(found, key=lambda result: result["validation"])
    )
    assert table.rows[0][1:] == best != worst
    assert table.rows[8][8] == f"{train_and_test(spec, 'leml', 3, n_jobs=1)['psp@10']:.2f}"


@pytest.mark.parametrize(("dataset", "share"), [("delicious", 0.25), ("delicious-200k", 0.1)])
def test_validation_rows_are_the_papers_share(monkeypatch, dataset, share):
    shares = []

    def split(data, fractions, seed):
        shares.append(fractions)
        return luce.data.split(data, fractions, seed)

    monkeypatch.setattr(label_training, "split", split)
    train_and_test(DatasetSpec(dataset, None, SHAPES[0]), "leml", 0, n_jobs=1)
    train_and_test(DatasetSpec(dataset, None, SHAPES[0]), "ranksvm", 0, n_jobs=1, rate=1e-3, epochs=1)
    assert shares == [(1 - share, share)] * 2


@pytest.mark.parametrize("method", ["leml", "sleec"])
def test_embeddings_are_chosen_on_validation_rows_and_fitted_to_all(method):
    spec = DatasetSpec("delicious", None, SHAPES[1], seed=1)
    result = train_and_test(spec, method, 5, n_jobs=1)
    train, test = label_training.load(spec)
    part, validation = luce.data.split(train, (0.75, 0.25), seed=5)
    grid = label_training.GRIDS[method]

    def precision(fitted, rows, parameters, k):
        [(_, scorer)] = label_training._scorers(spec, method, 5, fitted, rows, [parameters])
        ranking = np.argsort(-scorer(slice(0, rows.n_rows)), axis=1, kind="stable")
        return 100 * measure_labels(ranking[:, :k], rows, f"precision@{k}")[f"precision@{k}"].mean()

    found = [precision(part, validation, parameters, 5) for parameters in grid]
    best = int(np.argmax(found))
    assert result["validation"] == pytest.approx(found[best])
    assert tuple(result[name] for name in label_training.PARAMETERS[method]) == grid[best]
    assert result["precision@3"] == pytest.approx(precision(train, test, grid[best], 3))


def cell(name: str, rows: int = 0, epochs: int = 40) -> Cell:
    """Published data, or synthetic with this number of rows."""
    return Cell(name, rows, epochs, None if rows else ".", SHAPES[0] if rows else None)


def invented(gap: float, *cells: Cell, seeds: int = 1):
    """Scores in which PL-Partition is `gap` points above the best of the others, and SLEEC is above LEML."""
    metrics = [f"{metric}@{k}" for metric in METRICS for k in CUTOFFS]
    methods = ("ranksvm", "ranknet", "pl-lb", "leml", "sleec", OURS)
    values = dict(zip(methods, [60.0, 61, 62, 63, 64, 64 + gap], strict=True))
    return {(one, method): [dict.fromkeys(metrics, values[method])] * seeds for one in cells for method in TITLES}


def test_verdicts_on_published_data_compare_means():
    one = cell("delicious")
    high = dataset_claims([one], invented(9.0, one))
    assert [claim.verdict for claim in high] == ["held"] * 5 + ["held in part"]
    assert high[0].evidence.startswith("8 of 8: +11.00 (P@1, PL-Partition − PL-LB)")
    low = dataset_claims([one], invented(-9.0, one))
    assert [claim.verdict for claim in low] == ["not held"] * 4 + ["held", "held in part"]
    eurlex = cell("eurlex-4k")
    assert dataset_claims([eurlex], invented(-2.5, eurlex))[1].verdict == "held"
    assert dataset_claims([eurlex], invented(2.0, eurlex))[1].verdict == "not held"
    assert follow_claim([one], invented(1.0, one)).verdict == "held"


def test_verdicts_on_synthetic_data_follow_from_trials():
    cells = [cell("delicious", rows, epochs) for rows in (100, 200) for epochs in (5, 10)]
    high, low = invented(9.0, *cells, seeds=2), invented(-9.0, *cells, seeds=2)
    claims = dataset_claims(cells, high)
    assert [claim.verdict for claim in claims] == ["held", "held", "needs data not available here"]
    assert "Positive in 8 of 8 trials on synthetic D-1K, by +12: 100 to 200 rows" in claims[1].evidence
    assert [claim.verdict for claim in dataset_claims(cells, low)][:2] == ["not held", "not held"]
    assert "in points. With" in claims[0].evidence
    few = cell("eurlex-4k", 100, 5)
    assert "in points, with 1 added, which the" in dataset_claims([few], invented(9.0, few, seeds=2))[1].evidence
    mixed = high | {key: low[key] for key in low if key[0] == cells[0]}
    assert [claim.verdict for claim in dataset_claims(cells, mixed)][:2] == ["on synthetic data"] * 2
    assert dataset_claims(cells[:1], invented(9.0, cells[0], seeds=2))[0].verdict == "on synthetic data"
    assert follow_claim(cells, high).verdict == "held"


def test_means_and_spread_over_seeds():
    one = cell("delicious")
    scores = {
        (one, method): [metrics for value in (30.0, 32.0) for metrics in invented(value, one)[one, OURS]]
        for method in TITLES
    }
    table = metric_tables(one, scores)[0]
    assert table.rows[0][1] == "95.00 ± 1.41" and table.note.startswith("± is the standard deviation over seeds.")


def test_parameters_at_an_end_of_the_grid_are_counted():
    one, other = cell("delicious", 40), cell("delicious", 60)
    chosen = {method: {"rate": 1e-2} for method in METHODS}
    chosen |= {"leml": {"penalty": 1.0}, "sleec": {"ridge": 1.0, "neighbors": 6}}
    scores = {(each, method): [chosen[method]] for each in (one, other) for method in TITLES}
    scores[one, OURS] = [{"rate": 1e-3}]
    rows = parameter_table(scores, (1e-3, 1e-2, 1e-1)).rows
    assert rows[0] == ["D-1K", "PL-Partition", "learning rate", "0.001, 0.01, 0.1", "0.001 (1), 0.01 (1)", "1 of 2"]
    assert rows[1][-1] == "0 of 2" and [row[2] for row in rows[-2:]] == ["ridge", "neighbors"]
