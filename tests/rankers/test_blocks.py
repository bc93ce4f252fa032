"""Scores, rankings and metrics are worked out in blocks of rows: the same results in memory that is bounded."""

import sys
import tracemalloc
from functools import partial

import numpy as np
import pytest

import luce
from luce.arrays import list_blocks
from luce.data.transforms import base
from luce.metrics import measure
from luce.rankers import LabelRanker, LinearRanker, NeuralRanker, TreeRanker
from luce.rankers.ranking import ranking_table

from .made import parts
from .tagged import tagged

NETWORK = {"hidden_layer_sizes": (8,), "epochs": 1, "device": "cpu", "n_jobs": 1}
KINDS = {
    "linear": (LinearRanker(max_iter=3, n_jobs=1), False),
    "linear within lists": (LinearRanker(max_iter=3, transforms=("fill", "list-zscore"), n_jobs=1), True),
    "trees": (TreeRanker(n_estimators=3, n_jobs=1), False),
    "neural": (NeuralRanker(**NETWORK), False),
    "attention": (NeuralRanker(context="attention", **NETWORK), True),
}


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=30)


def peak_of(work):
    """The most bytes that NumPy had allocated at once during some work, after a first time that compiles."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def large(n_lists=4_000, n_features=1, seed=0):
    """Lists of 1 to 300 items, 600,000 rows in all, and scores with ties."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 300, n_lists))])
    features = np.zeros((offsets[-1], n_features), np.float32)
    return rng.integers(0, 50, len(features)) / 8, luce.Dataset(features, rng.integers(0, 3, len(features)), offsets)


@pytest.mark.parametrize("n_rows", [1, 5, 12, 1_000])
def test_blocks_hold_every_list_once(n_rows):
    sizes = np.random.default_rng(n_rows).integers(0, 8, 50)
    offsets = np.concatenate([[0, 0], np.cumsum(sizes)])
    blocks = list_blocks(offsets, n_rows)
    assert [q for block in blocks for q in range(block.start, block.stop)] == list(range(len(offsets) - 1))
    for block in blocks:
        assert offsets[block.stop] - offsets[block.start] <= n_rows or block.stop == block.start + 1
    assert list_blocks(np.array([0])) == [slice(0, 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_scored_in_blocks(kind, data, monkeypatch):
    ranker, complete = KINDS[kind]
    ranker.fit(data["train"])
    test = data["test"]
    expected = ranker.predict(test)
    seen = []

    def scores_of(features, offsets):
        seen.append(offsets)
        assert features.shape[0] == offsets[-1]
        return type(ranker).compute_scores(ranker, features, offsets)

    monkeypatch.setattr(ranker, "compute_scores", scores_of, raising=False)
    rows = 20
    monkeypatch.setattr(base, "CELLS", rows * test.n_features)
    np.testing.assert_allclose(ranker.predict(test), expected, rtol=1e-5, atol=1e-6)
    sizes = np.concatenate([np.diff(offsets) for offsets in seen])
    assert len(seen) > 10
    if complete:
        assert sizes[sizes > 0].tolist() == test.sizes[test.sizes > 0].tolist()
        assert all(offsets[-1] <= rows or len(offsets) == 2 for offsets in seen)
    else:
        assert max(offsets[-1] for offsets in seen) <= rows


def test_labels_are_scored_in_blocks(monkeypatch):
    ranker, test = LabelRanker(hidden_layer_sizes=(8,), epochs=1, device="cpu", n_jobs=1).fit(tagged()), tagged(seed=1)
    best, scores = ranker.top_labels(test, 3), ranker.predict(test)
    monkeypatch.setattr(ranker, "transform_features", None)  # no copy of all features is asked for
    monkeypatch.setattr(base, "SPARSE_ROWS", 7)
    np.testing.assert_array_equal(ranker.top_labels(test, 3)[0], best[0])
    np.testing.assert_allclose(ranker.predict(test), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("names", [("fill", "standardize"), ("fill", "list-minmax"), ("standardize", "fill")])
def test_predicting_takes_little_memory(names, monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30_000, 64)).astype(np.float32)
    features[::50, ::7] = np.nan
    dataset = luce.Dataset(features, rng.integers(0, 3, 30_000), np.arange(0, 30_001, 100))
    ranker = LinearRanker(max_iter=1, transforms=names, n_jobs=1).fit(dataset)
    monkeypatch.setattr(base, "CELLS", 2**16)
    assert peak_of(lambda: ranker.predict(dataset)) < 0.4 * features.nbytes


def test_measuring_and_ranking_take_little_memory():
    scores, dataset = large()
    work = partial(measure, scores, dataset.labels, dataset.offsets, "ndcg@10, err", n_jobs=1)
    assert peak_of(work) < 18 * dataset.n_rows
    assert peak_of(lambda: ranking_table(scores, dataset, top=1)) < 20 * dataset.n_rows


def test_the_size_of_a_block_changes_no_metric_and_no_ranking(data, monkeypatch):
    test = data["test"]
    scores = np.random.default_rng(0).integers(0, 4, test.n_rows).astype(float)
    metrics = "ndcg@3, err, map, disparity"
    expected = measure(scores, test.labels, test.offsets, metrics), ranking_table(scores, test, 4).to_pylist()
    for function in (measure, ranking_table):
        monkeypatch.setattr(sys.modules[function.__module__], "list_blocks", partial(list_blocks, n_rows=40))
    found = measure(scores, test.labels, test.offsets, metrics)
    assert list(found) == list(expected[0])
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[0][name], rtol=1e-12)
    assert ranking_table(scores, test, 4).to_pylist() == expected[1]
