"""Data in several files: read as one, each rank its own; a list that lies in two of them is refused."""

import numpy as np
import pyarrow as pa
import pytest

import luce
from luce.data import concatenate, format_of, from_table, read, read_share, write
from luce.data.extreme import TaggedData, read_tagged, write_tagged
from luce.data.formats import TAGGED
from luce.data.part_files import part_files, parts_of_rank
from luce.data.query_hashes import SeenQueries
from luce.data.synthetic import web_search
from luce.errors import DataError, MachineError

from ..ranks import on_ranks

SUFFIXES = ["txt", "csv", "parquet", "arrow"]


def lists(n_lists=9, seed=0, **changes):
    dataset = web_search(n_lists, n_features=3, mean_length=6, seed=seed).dataset
    ids = [f"q{seed}-{number}" for number in range(n_lists)]
    values = {"features": dataset.features, "labels": dataset.labels, "offsets": dataset.offsets, "query_ids": ids}
    return luce.Dataset(**values | changes)


def in_parts(folder, suffix, sizes=(2, 4, 3)):
    """All lists, and the names of files with so many of them each."""
    whole, first = lists(sum(sizes)), 0
    for number, size in enumerate(sizes):
        write(whole.take(np.arange(first, first + size)), folder / f"part-{number}.{suffix}")
        first += size
    return whole


def assert_same(found, expected):
    assert found.query_ids.to_pylist() == expected.query_ids.to_pylist()
    for name in ("offsets", "labels"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.features, expected.features)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_and_a_pattern_are_the_lists_of_all_files_in_order(suffix, tmp_path):
    whole = in_parts(tmp_path, suffix)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / f".part-0.{suffix}.crc").write_text("checksum")
    assert_same(read(tmp_path), whole)
    assert_same(read(tmp_path / f"part-[12].{suffix}"), whole.take(np.arange(2, 9)))


def test_options_and_errors_are_those_of_the_files(tmp_path):
    (tmp_path / "a.csv").write_text("session,clicks,x\n1,0,2\n")
    (tmp_path / "b.csv").write_text("session,clicks,x\n2,1,\n3,1,5\n")
    data = read(tmp_path, query="session", label="clicks")
    assert data.query_ids.to_pylist() == [1, 2, 3]
    (tmp_path / "b.csv").write_text("session,x\n2,1\n")
    with pytest.raises(DataError, match=r"b\.csv has no column 'clicks'"):
        read(tmp_path, query="session", label="clicks")
    (tmp_path / "b.csv").write_text("session,clicks,y\n2,1,5\n")
    with pytest.raises(DataError, match=r"must have the same features\. Got the 1 features 'x' and the 1 features 'y'"):
        read(tmp_path, query="session", label="clicks")
    write(lists(), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"must have one format\. Got csv and parquet"):
        read(tmp_path)


def test_values_of_categories_are_those_of_all_parts(tmp_path):
    for number, (query, brands) in enumerate({"a": ["bolt", "acme"], "b": ["crag", "acme"]}.items()):
        table = pa.table({"query": [query] * 2, "label": [1, 0], "brand": brands})
        write(from_table(table), tmp_path / f"{number}.parquet")
    data = read(tmp_path)
    assert data.categories == (("acme", "bolt", "crag"),)
    assert [data.feature_value(row, 0) for row in range(4)] == ["bolt", "acme", "crag", "acme"]


@pytest.mark.parametrize("sparse", [False, True])
def test_text_that_lacks_the_last_features_in_some_parts_is_widened(sparse, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:2\n")
    (tmp_path / "b.txt").write_text("2 qid:2 1:1 3:4\n")
    data = read(tmp_path, sparse=sparse)
    features = data.features.toarray() if sparse else data.features
    assert data.is_sparse == sparse
    assert features.tolist() == [[0.5, 0, 0], [2, 0, 0], [1, 0, 4]]
    with pytest.raises(DataError, match="must have the same features"):
        concatenate([read(tmp_path / "a.txt"), read(tmp_path / "b.txt")])
    (tmp_path / "c.txt").write_text("2 qid:3 0:1 3:4\n")
    with pytest.raises(DataError, match="first_index=0"):
        read(tmp_path)
    assert read(tmp_path, first_index=0).feature_names == ("0", "1", "2", "3")


def test_a_list_in_two_parts_is_refused_by_name(tmp_path):
    in_parts(tmp_path, "parquet")
    write(lists(3, seed=1, query_ids=["new", "q0-7", "other"]), tmp_path / "part-3.parquet")
    with pytest.raises(DataError, match=r"Query q0-7 has rows in .*part-2.parquet and .*part-3.parquet"):
        read(tmp_path)


def test_tagged_rows_in_parts(tmp_path):
    rng = np.random.default_rng(0)
    features, labels = rng.random((5, 3)), rng.random((5, 4)) < 0.5
    whole = TaggedData(features, labels)
    for number, rows in enumerate(([0, 1], [2, 3, 4])):
        write_tagged(whole.take(rows), tmp_path / f"{number}.txt")
    found = TAGGED.read(tmp_path)
    assert (found.labels != whole.labels).nnz == 0
    np.testing.assert_allclose(found.features.toarray(), whole.features, rtol=1e-6)
    write_tagged(TaggedData(rng.random((2, 2)), labels[:2]), tmp_path / "2.txt")
    with pytest.raises(DataError, match="must have the same features and labels"):
        TAGGED.read(tmp_path)
    assert read_tagged(tmp_path / "2.txt").n_features == 2


def test_mapped_files_are_put_together_in_files_alone(tmp_path):
    whole = in_parts(tmp_path, "luce-data")
    with pytest.raises(DataError, match=r"has 3 .luce-data files; a mapped dataset is one file. Put them together"):
        read(tmp_path)
    assert_same(luce.data.FORMATS["mapped"].read(tmp_path, temp_folder=tmp_path), whole)


def test_queries_seen_before_are_found_among_many():
    seen, rng = SeenQueries(), np.random.default_rng(0)
    ids, before = rng.permutation(5_000), set()
    for batch in np.split(ids, np.sort(rng.choice(5_000, 60, replace=False))):
        assert seen.add(pa.array(batch)) is None
        before |= set(batch.tolist())
        if len(before) > 50:
            repeated = int(rng.choice(sorted(before)))
            assert seen.add(pa.array([f"x{len(before)}", str(repeated)])) == str(repeated)
            seen.add(pa.array([f"y{len(before)}"]))
    assert len(seen._runs) < 15
    assert SeenQueries().add(pa.array([1, 2, 1])) == 1


def shares(folder, size=2, **options):
    return on_ranks(lambda folder: read_share(folder, **options), [str(folder)] * size, size=size)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_are_shared_by_rows(suffix, tmp_path):
    in_parts(tmp_path, suffix, sizes=(1, 1, 1, 1, 1, 12))
    files = part_files(tmp_path)
    shares = [parts_of_rank(files, format_of(tmp_path).name, rank, 2) for rank in (0, 1)]
    assert shares == [files[:5], files[5:]]


@pytest.mark.multiprocess
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_rank_reads_its_own_files(suffix, size, tmp_path):
    whole = in_parts(tmp_path, suffix, sizes=(2, 5, 3, 1, 7, 2))
    found = shares(tmp_path, size)
    assert_same(concatenate(found), whole)
    assert max(part.n_rows for part in found) < 0.7 * whole.n_rows
    starts = np.cumsum([0, 2, 5, 3, 1, 7, 2])
    assert set(np.cumsum([part.n_lists for part in found])) <= set(starts.tolist())


@pytest.mark.multiprocess
@pytest.mark.parametrize("suffix", [*SUFFIXES, "luce-data"])
def test_of_one_file_every_rank_keeps_its_share(suffix, tmp_path):
    write(lists(8), tmp_path / f"all.{suffix}")
    found = shares(tmp_path / f"all.{suffix}")
    assert_same(concatenate(found), lists(8))
    assert all(part.n_lists < 8 for part in found)


@pytest.mark.multiprocess
def test_as_many_mapped_files_as_ranks_are_one_each(tmp_path):
    whole = in_parts(tmp_path, "luce-data", (3, 6))
    assert_same(concatenate(shares(tmp_path)), whole)
    for error in shares(tmp_path, 3):
        assert isinstance(error, DataError)
        assert "has 2 .luce-data files; a mapped dataset is one file or 3, one for each rank" in str(error)


@pytest.mark.multiprocess
def test_ranks_agree_on_features_categories_and_optional_columns(tmp_path):
    for number, (query, brands) in enumerate({"a": ["bolt", "acme"], "b": ["crag", "acme"]}.items()):
        table = pa.table({"query": [query] * 2, "label": [1, 0], "brand": brands})
        write(from_table(table if number else table.append_column("weight", [[1, 2]])), tmp_path / f"{number}.parquet")
    first, second = shares(tmp_path)
    assert first.categories == second.categories == (("acme", "bolt", "crag"),)
    assert [first.features.ravel().tolist(), second.features.ravel().tolist()] == [[1, 0], [2, 0]]
    assert first.item_weights is None
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:2\n")
    (tmp_path / "text" / "b.txt").write_text("2 qid:2 1:1 3:4\n")
    assert [part.features.shape for part in shares(tmp_path / "text", sparse=False)] == [(2, 3), (1, 3)]


@pytest.mark.multiprocess
@pytest.mark.parametrize("repeated", ["q0-1", "q1-0"])
def test_a_list_in_the_parts_of_two_ranks_is_refused_on_both(repeated, tmp_path):
    write(lists(3), tmp_path / "a.parquet")
    write(lists(3, seed=1, query_ids=["q1-0", "q1-1", "q1-2"]), tmp_path / "b.parquet")
    write(lists(3, seed=2, query_ids=["q2-0", repeated, "q2-2"]), tmp_path / "c.parquet")
    for error in shares(tmp_path):
        assert isinstance(error, DataError)
        assert f"Query {repeated} has rows in" in str(error)
        assert ("a.parquet" if repeated == "q0-1" else "b.parquet") in str(error)
        assert "c.parquet; a list must lie in one part" in str(error)


@pytest.mark.multiprocess
def test_ranks_that_see_other_files_are_told(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        in_parts(tmp_path / name, "parquet", (2, 3) if name == "a" else (3, 2))
    for error in on_ranks(lambda folder: read_share(folder), [str(tmp_path / name) for name in ("a", "b")]):
        assert isinstance(error, MachineError)
        assert "the data is" in str(error)
