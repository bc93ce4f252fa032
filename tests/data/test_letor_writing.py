"""LETOR text written: read back to the last bit, and what the format cannot hold is said."""

import numpy as np
import pytest
from scipy import sparse

from luce.data.letor import read_letor, write_letor, writer
from luce.data.ragged import Dataset
from luce.errors import DataError, LuceWarning


def random_singles(count, seed=0):
    """Finite float32 numbers of every size, most of them needing nine digits."""
    bits = np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)
    values = bits.view(np.float32)
    return np.where(np.isinf(values), np.float32(0), values)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_dense_and_back_to_the_last_bit(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(writer, "BLOCK", 1000)
    features = random_singles(40_000).reshape(2_000, 20)
    features[:3, 0] = [0.0, -0.0, np.nan]
    labels = np.random.default_rng(1).normal(size=2_000)
    labels[7] = np.nan
    data = Dataset(
        features, labels, [0, 5, 700, 2_000], ["a", "b:c", "é"], [f"D{i}" if i % 2 else "" for i in range(2_000)]
    )
    path = tmp_path / f"data.txt{ending}"
    write_letor(data, path)
    back = read_letor(path)
    missing = np.isnan(data.features)
    np.testing.assert_array_equal(np.isnan(back.features), missing)
    assert back.features[~missing].tobytes() == data.features[~missing].tobytes()
    np.testing.assert_array_equal(back.labels, data.labels)
    np.testing.assert_array_equal(back.offsets, data.offsets)
    assert back.query_ids.equals(data.query_ids)
    assert back.document_ids.equals(data.document_ids)


@pytest.mark.parametrize("names", [None, tuple(map(str, range(50)))])
def test_sparse_and_back_with_its_number_of_features(tmp_path, monkeypatch, names):
    monkeypatch.setattr(writer, "BLOCK", 100)
    dense = np.random.default_rng(0).normal(size=(300, 50))
    dense[:, [0, 48, 49]] = 0
    matrix = sparse.csr_array(np.where(dense > 1, dense, 0))
    data = Dataset(matrix, np.arange(300) % 4, [0, 300], [5], feature_names=names)
    write_letor(data, tmp_path / "data.txt")
    back = read_letor(tmp_path / "data.txt", sparse=True)
    assert back.features.shape == (300, 50)
    assert (back.features != data.features).nnz == 0
    assert back.feature_names == names
    assert back.query_ids.to_pylist() == [5]
    assert sum(line.count(b":") - 1 for line in (tmp_path / "data.txt").read_bytes().splitlines()) <= matrix.nnz + 2


def test_the_same_data_gives_the_same_bytes(tmp_path):
    data = Dataset([[1.0]], [1], [0, 1])
    for name in ("a.txt.gz", "b.txt.gz"):
        write_letor(data, tmp_path / name)
    written = (tmp_path / "a.txt.gz").read_bytes()
    assert written == (tmp_path / "b.txt.gz").read_bytes()
    assert written[4:8] == bytes(4)  # no time


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ({"query_ids": ["a b", "c"]}, "query_ids in LETOR text must have no blanks.*Got 'a b' at 1"),
        ({"query_ids": ["a", ""]}, "Got '' at 2"),
        ({"query_ids": ["a", "b#c"]}, "Got 'b#c' at 2"),
        ({"query_ids": ["a", "a"]}, "Lists with the same query id"),
        ({"query_ids": ["a", None]}, "query_ids must not be missing"),
        ({"document_ids": ["a\n", "b", "c"]}, "document_ids in LETOR text must have"),
        ({"document_ids": ["a", "b\0", "c"]}, "at 2"),
    ],
)
def test_ids_that_cannot_be_written(tmp_path, ids, expected):
    path = tmp_path / "data.txt"
    path.write_text("old")
    with pytest.raises(DataError, match=expected):
        write_letor(Dataset([[1], [2], [3]], [1, 2, 2], [0, 2, 3], **ids), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"item_weights": [1, 1, 1]}, "item weights"),
        ({"list_weights": [1, 1, 1]}, "list weights"),
        ({"item_groups": ["x", "y", "y"]}, "groups of items"),
        ({"feature_names": ["bm25"]}, "feature names"),
        ({}, "lists without rows"),
    ],
)
def test_what_is_left_out_is_said(tmp_path, extra, what):
    offsets = [0, 2, 2, 3] if not extra else [0, 1, 2, 3]
    data = Dataset([[1], [2], [3]], [1, 2, 2], offsets, **extra)
    with pytest.warns(LuceWarning, match=f"cannot store {what}: left out of .* A .luce-data file stores everything"):
        write_letor(data, tmp_path / "data.txt")
    assert read_letor(tmp_path / "data.txt").n_rows == 3


def test_names_that_are_numbers_are_no_loss(tmp_path):
    write_letor(Dataset([[1, 2]], [1], [0, 1], feature_names=["1", "2"]), tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == "1 qid:1 1:1 2:2\n"
    write_letor(Dataset([[1, 2]], [1], [0, 1], feature_names=["0", "1"]), tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == "1 qid:1 0:1 1:2\n"


def test_a_row_without_document_id_has_no_comment(tmp_path):
    write_letor(Dataset([[1], [2]], [1, 0], [0, 2], document_ids=["", "a"]), tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == "1 qid:1 1:1\n0 qid:1 1:2 #docid = a\n"


def test_nothing_to_write(tmp_path):
    with pytest.raises(DataError, match="at least one row"):
        write_letor(Dataset(np.empty((0, 3)), [], [0]), tmp_path / "data.txt")


def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.txt"
    path.write_text("old")
    monkeypatch.setattr(writer, "BLOCK", 1)
    text = writer._text

    def fails_late(dataset, rows, base):
        if rows.start == 20:
            raise KeyboardInterrupt
        return text(dataset, rows, base)

    monkeypatch.setattr(writer, "_text", fails_late)
    with pytest.raises(KeyboardInterrupt):
        write_letor(Dataset(np.ones((30, 1)), np.arange(30) % 2, [0, 30]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
