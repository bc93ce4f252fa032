"""Tagged rows and their text format: what is read is what was written, and what is wrong is said with its line."""

import bz2
import gzip

import numpy as np
import pytest
from scipy import sparse

from luce.data.extreme import TaggedData, read_tagged, write_tagged
from luce.data.splits import split
from luce.errors import DataError, OptionError


def made(n_rows=50, n_features=7, n_labels=11, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, n_features)).astype(np.float32) * (rng.random((n_rows, n_features)) < 0.4)
    return TaggedData(sparse.csr_array(features), rng.random((n_rows, n_labels)) < 0.2)


def assert_same(one, other):
    np.testing.assert_array_equal(one.labels.toarray(), other.labels.toarray())
    np.testing.assert_array_equal(
        *(each.features.toarray() if each.is_sparse else each.features for each in (one, other))
    )


def read_text(tmp_path, text, **options):
    path = tmp_path / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_tagged(path, **options)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.bz2", "a.txt.zst"])
def test_what_is_written_is_read_back(tmp_path, name):
    data = made()
    write_tagged(data, tmp_path / name)
    assert_same(read_tagged(tmp_path / name), data)


def test_many_pieces_on_several_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("luce.data.streams.PIECE", 64)
    data = made(400)
    write_tagged(data, tmp_path / "a.txt")
    assert_same(read_tagged(tmp_path / "a.txt", n_jobs=3), data)
    assert_same(read_tagged(tmp_path / "a.txt", n_jobs=1), data)


def test_a_dense_table_is_written_as_its_sparse_twin(tmp_path):
    data = made()
    dense = TaggedData(data.features.toarray(), data.labels)
    write_tagged(dense, tmp_path / "a.txt")
    assert_same(read_tagged(tmp_path / "a.txt"), dense)


def test_rows_without_labels_or_features_and_all_labels_relevant(tmp_path):
    data = read_text(tmp_path, "6 3 2\n0,1 0:1\n 1:2\n2:3\n1\n\n1,0\t0:0 1:1e-3\r\n")
    np.testing.assert_array_equal(data.labels.toarray(), [[1, 1], [0, 0], [0, 0], [0, 1], [0, 0], [1, 1]])
    expected = [[1, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0, 0], [0, 0, 0], [0, 1e-3, 0]]
    np.testing.assert_array_equal(data.features.toarray(), np.array(expected, np.float32))
    np.testing.assert_array_equal(data.sizes, [2, 0, 0, 1, 0, 2])
    assert data.features.nnz == 4  # a zero that was written out is not stored


def test_blank_lines_after_the_last_row_are_none(tmp_path):
    assert read_text(tmp_path, "1 1 1\n0 0:1\n\n\n").n_rows == 1
    assert read_text(tmp_path, "2 1 1\n0 0:1\n\n\n").n_rows == 2


def test_duplicate_labels_count_once_and_features_are_sorted(tmp_path):
    data = read_text(tmp_path, "2 4 9\n5,3,5,5,3 2:1 0:4\n8,8,0\n")
    np.testing.assert_array_equal(data.labels.indices, [3, 5, 0, 8])
    np.testing.assert_array_equal(data.labels.data, 1.0)
    np.testing.assert_array_equal(data.features.toarray()[0], [4, 0, 1, 0])


def test_long_decimals_are_right_to_the_last_bit(tmp_path):
    words = ["0.1234567890123456789012", "1.17549435082228750797e-38", "16777217", "0.30000001192092896"]
    data = read_text(tmp_path, "1 4 1\n0 " + " ".join(f"{i}:{word}" for i, word in enumerate(words)) + "\n")
    np.testing.assert_array_equal(data.features.toarray()[0], np.array([float(w) for w in words]).astype(np.float32))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("0 1:1\n", "line 1: expected three numbers"),
        ("1 2\n0 1:1\n", "line 1: expected three numbers"),
        ("1 2 -3\n0 1:1\n", "line 1: expected three numbers"),
        ("1 2 3000000000\n0 1:1\n", "at most 2,147,483,647 labels. Got 3,000,000,000"),
        ("1 3000000000 2\n0 1:1\n", "at most 2,147,483,647 features"),
        ("2 2 3\n0 1:1\n3 1:1\n", "line 3: labels must be below 3, as the first line says. Got '3'"),
        ("1 2 3\n99999999999999999999999 1:1\n", "line 2: labels must be below 3"),
        ("1 2 3\n0 2:1\n", "line 2: feature indices must be below 2, as the first line says. Got '2:1'"),
        ("3 2 3\n0 1:1\n", "has 1 rows, but its first line says 3"),
        ("1 2 3\n0 1:1\n1 1:1\n", "has 2 rows, but its first line says 1"),
        ("999999999999999999 2 3\n0 1:1\n", "but its first line says 999,999,999,999,999,999"),
        ("1 2 3\n0, 1:1\n", "line 2: expected labels"),
        ("1 2 3\n0,1:1\n", "line 2: expected labels"),
        ("1 2 3\nrock 1:1\n", "line 2: expected labels"),
        ("1 2 3\n0 1:1 1:2\n", "line 2: feature index 1 is repeated"),
        ("1 2 3\n0 1\n", "line 2: expected index:value"),
        ("1 2 3\n0 1:one\n", "line 2: expected a number"),
        ("1 2 3\n0 1:nan\n", "line 2: a feature must be a number. Got nan"),
        ("1 2 3\n0 1:1e39\n", "line 2: a feature must be finite"),
        ("1 2 3\n0 1:340282356779733661637539395458142568448\n", "line 2: a feature must be finite"),
        ("1 2 3\n0 1:1 # rock\n", "line 2: expected index:value, such as 3:0.25; there are no comments"),
        (b"\xff\xfe1 2 3", "UTF-16"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    with pytest.raises(DataError) as error:
        read_text(tmp_path, text)
    assert words in str(error.value)


def test_the_line_is_right_in_a_later_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("luce.data.streams.PIECE", 16)
    with pytest.raises(DataError, match="line 42: labels must be below 2"):
        read_text(tmp_path, "60 2 2\n" + "0 1:1\n" * 40 + "7 1:1\n" + "9 1:1\n" * 19, n_jobs=2)


def test_damaged_compression_is_an_error(tmp_path):
    whole = gzip.compress(b"1 2 3\n0 1:1\n")
    (tmp_path / "a.gz").write_bytes(whole[:-6])
    (tmp_path / "b.bz2").write_bytes(bz2.compress(b"1 2 3\n0 1:1\n")[:-3])
    for name in ("a.gz", "b.bz2"):
        with pytest.raises(DataError, match="truncated, damaged"):
            read_tagged(tmp_path / name)


def test_split_files_choose_rows(tmp_path):
    data = made(6)
    write_tagged(data, tmp_path / "a.txt")
    (tmp_path / "split.txt").write_text("3 1\n1 6\n")
    assert_same(read_tagged(tmp_path / "a.txt", split=tmp_path / "split.txt"), data.take([2, 0]))
    assert_same(read_tagged(tmp_path / "a.txt", split=tmp_path / "split.txt", column=1), data.take([0, 5]))
    with pytest.raises(OptionError, match="column must be from 0 to 1"):
        read_tagged(tmp_path / "a.txt", split=tmp_path / "split.txt", column=2)
    for text, words in (
        ("0\n", "from 1 to 6, each once"),
        ("7\n", "from 1 to 6"),
        ("2\n2\n", "each once"),
        ("x\n", "row numbers"),
        ("1 2\n3\n", "row numbers"),
        ("", "row numbers"),
    ):
        (tmp_path / "split.txt").write_text(text)
        with pytest.raises(DataError, match=words):
            read_tagged(tmp_path / "a.txt", split=tmp_path / "split.txt")


def test_matrices_of_any_kind_with_duplicates_once():
    entries = ([2.0, 1.0, 1.0, 0.0], ([0, 0, 1, 1], [4, 4, 2, 3]))
    data = TaggedData(np.ones((2, 1)), sparse.coo_array(entries, shape=(2, 5)))
    np.testing.assert_array_equal(data.labels.toarray(), [[0, 0, 0, 0, 2], [0, 0, 1, 0, 0]])
    assert data.labels.nnz == 2
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.lil_matrix, np.asarray):
        assert_same(TaggedData(np.ones((2, 1)), kind(data.labels.toarray())), data)
    np.testing.assert_array_equal(data.label_counts, [0, 0, 1, 0, 1])


def test_grades_and_what_they_may_not_be(tmp_path):
    data = TaggedData([[1.0], [2.0]], [[3, 0, 1.5], [0, 0, 0]])
    labels, offsets, grades = data.relevant(np.array([0, 1]))
    assert labels.tolist() == [0, 2] and offsets.tolist() == [0, 2, 2] and grades.tolist() == [3, 1.5]
    with pytest.raises(DataError, match="only which labels are relevant, and these have grades"):
        write_tagged(data, tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()
    for wrong, words in (
        ([[-1.0]], "not negative"),
        ([[np.nan]], "finite"),
        ([1.0], "two-dimensional"),
        ([["rock"]], "numbers"),
        ([[1], [1]], "1 rows"),
    ):
        with pytest.raises(DataError, match=words):
            TaggedData([[1.0]], wrong)
    with pytest.raises(DataError, match="finite"):
        TaggedData([[np.nan]], [[1]])
    with pytest.raises(DataError, match="at most 2,147,483,647 labels"):
        TaggedData([[1.0]], sparse.csr_array((1, 2**31)))


def test_splits_by_row():
    data = made(40)
    parts = split(data, (0.75, 0.25), seed=3)
    assert [part.n_rows for part in parts] == [30, 10]
    rows = np.concatenate([part.features.toarray() for part in parts])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, data.features.toarray()))
