"""Files: every format of the table gives back what was written, and says clearly what is wrong."""

import gzip
import os
import threading
import weakref

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import sparse

from luce.data import FORMATS, Dataset, format_of, from_table, read, streams, table_files, table_writing, write
from luce.errors import DataError, LuceWarning, OptionError

TABLES = ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.bz2", "a.csv.zst", "a.parquet", "a.pq", "a.arrow", "a.feather", "a.ipc"]


def judged(**changes):
    features = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    features[2, 1], features[0, 0], features[1, 0] = np.nan, 1e-38, -3e38
    given = {
        "features": features,
        "labels": [0, 1.5, np.nan, 2, 0, -1, 1 / 3],
        "offsets": [0, 2, 5, 7],
        "query_ids": ["a", 'b, "c"', "é"],
        "document_ids": [f"d{i}" for i in range(7)],
        "item_weights": np.arange(7) / 3,
        "list_weights": [1, 0.1, 3],
    }
    return Dataset(**{**given, **changes})


def same(one, other):
    arrays = ("labels", "offsets", "item_weights", "list_weights")
    for name in arrays:
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b, equal_nan=True), name
    assert one.query_ids.to_pylist() == other.query_ids.to_pylist()
    assert (one.document_ids is None) == (other.document_ids is None)
    assert one.document_ids is None or one.document_ids.to_pylist() == other.document_ids.to_pylist()
    assert one.feature_names == other.feature_names
    features = [each.features.toarray() if each.is_sparse else each.features for each in (one, other)]
    assert np.array_equal(*features, equal_nan=True)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_gives_back_all_that_was_written(name, tmp_path):
    for data in (judged(), judged(query_ids=[7, 3, 5], feature_names=["x", "y", "a b"])):
        write(data, tmp_path / name)
        same(read(tmp_path / name), data)
    plain = judged(document_ids=None, item_weights=None, list_weights=None, query_ids=[1, 2, 3])
    write(plain, str(tmp_path / name))
    same(read(str(tmp_path / name)), plain)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_back_labels_ids_and_features(name, tmp_path):
    data = Dataset(
        np.arange(10, dtype=np.float32).reshape(5, 2) / 8,
        [0, 2, 1, 0, 3],
        [0, 2, 5],
        [12, 7],
        document_ids=["a", "b", "c", "d", "e"],
    )
    path = tmp_path / f"data{FORMATS[name].suffixes[0]}"
    write(data, path)
    expected = data.with_features(np.empty((5, 0), np.float32)) if name == "qrels" else data
    same(read(path), expected)
    other = tmp_path / "named"
    write(data, other, format=name)
    same(read(other, format=name), expected)


def test_endings_are_told_apart():
    names = {ending: name for name, each in FORMATS.items() for ending in each.suffixes}
    assert len(names) == sum(len(each.suffixes) for each in FORMATS.values())
    assert format_of("x.TXT.GZ").name == "letor"
    assert format_of("fold.1/rank.train").name == "letor"
    assert format_of("x.csv.zst").name == "csv"
    assert format_of("x.csv", "parquet").name == "parquet"
    with pytest.raises(OptionError, match=r"x\.doc: unknown extension '\.doc'.*format=.*letor \(\.txt .*qrels \("):
        format_of("x.doc")
    with pytest.raises(OptionError, match=r"parquet files cannot be compressed with \.gz"):
        format_of("x.parquet.gz")
    with pytest.raises(OptionError, match=r"There is no format 'parket'. Did you mean 'parquet'"):
        format_of("x.csv", "parket")


def test_options_belong_to_a_format(tmp_path):
    write(judged(), tmp_path / "a.csv")
    with pytest.raises(
        OptionError,
        match=r"Format csv has no option 'lable'. Did you mean 'label'\? Its options: delimiter, categorical, temp",
    ):
        read(tmp_path / "a.csv", lable="label")
    (tmp_path / "a.qrels").write_text("1 0 a 1\n")
    with pytest.raises(OptionError, match=r"Format qrels has no option 'label'. Its options: none"):
        read(tmp_path / "a.qrels", label="label")
    some = read(tmp_path / "a.csv", features=["3", "1"], label=None, weight=None)
    assert some.feature_names == ("3", "1")
    assert np.isnan(some.labels).all()
    assert some.item_weights is None


def test_columns_come_in_the_order_asked_for_whatever_the_file_has(tmp_path):
    table = pa.table({"z": [1, 2], "query": [1, 1], "y": [3, 4], "label": [0, 1], "x": [5, 6]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", features=["x", "z", "y"]).features.tolist() == [[5, 1, 3], [6, 2, 4]]


def test_a_parquet_column_named_like_a_field_of_another_column(tmp_path):
    table = pa.table({"query": [1, 1], "label": [0, 1], "s": [{"t": 7}, {"t": 8}], "s.t": [1, 2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", features=["s.t"]).features.tolist() == [[1], [2]]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow", "a.txt", "a.luce-data", "a.qrels"])
def test_what_is_no_file_with_rows_is_refused(name, tmp_path):
    with pytest.raises(DataError, match=r"There is no file .*a\."):
        read(tmp_path / name)
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="is empty; at least one row is needed"):
        read(tmp_path / name)
    (tmp_path / name).rename(tmp_path / "_SUCCESS")
    with pytest.raises(DataError, match="is a folder without data files"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "query,label,x\n1,0,1\n1,1,2\n1,1,oops\n",
            r"column 'x': Row #4: .*'oops'.*--read categorical=x.*Row 1 is",
        ),
        ("query,label,x\n" + "1,0,1\n" * 250_000 + "1,1,oops\n", "column 'x': Row #250002: .*'oops'"),
        ("x,query,label\n1,1,high\n", "column 'label': Row #2: .*'high'.*Labels and weights must be numbers"),
        ("query,label,x\n1,0,1\n1,1\n", "Row #3: Expected 3 columns, got 2"),
        ("query,label,x\n" + "1,0,1\n" * 250_000 + "1,1\n", "Row #250002: Expected 3 columns, got 2"),
        ("query,label,x\n", "has no rows; at least one is needed"),
        ("query,label,x\n1,0,1\n,0,1\n", "column 'query' is empty at row 3"),
        ("query,label,x\n1,0,inf\n", "column 'x' must be finite. It is infinite at row 1"),
        (b"query,label,x\n1,0,\xff\n", "line 2: the file must be UTF-8 text. Byte 18 of the file, 0xff, is not: save"),
        (b"query,label,d\xffx\n1,0,1\n", "line 1: the file must be UTF-8 text. Byte 13 "),
        (b"query,label,x\n\xff,0,1\n", "line 2: the file must be UTF-8 text. Byte 14 "),
        (b"\x00\x01\x02", "cannot be read as CSV|no query column"),
    ],
)
def test_a_csv_file_that_cannot_be_read_says_where(text, expected, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=expected) as raised:
        read(path)
    assert "bad.csv" in str(raised.value)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_no_thread_of_arrow_waits_for_python(name, tmp_path, monkeypatch):
    """One that still reads when the process ends, such as after an error, would abort it."""
    write(judged(), tmp_path / name)
    plain, threads = streams.InputStream.readinto, set()

    def noted(source, buffer):
        threads.add(threading.current_thread())
        return plain(source, buffer)

    monkeypatch.setattr(streams.InputStream, "readinto", noted)
    read(tmp_path / name)
    assert threads == {threading.main_thread()}


def test_no_thread_of_arrow_releases_memory_of_python(tmp_path, monkeypatch):
    """It needs Python's lock for that, which aborts a process that is ending."""
    write(judged(), tmp_path / "a.csv")
    pieces, readers, split, opened = [], [], table_files.text_pieces, csv.open_csv

    def noted(stream):
        for piece in split(stream):
            pieces.append(weakref.ref(piece))
            yield piece

    monkeypatch.setattr(table_files, "text_pieces", noted)
    monkeypatch.setattr(csv, "open_csv", lambda source, **options: readers.append(source) or opened(source, **options))
    read(tmp_path / "a.csv")
    assert readers and pieces and all(piece() is None for piece in pieces)


def test_a_table_may_go_without_labels_where_none_is_among_their_names(tmp_path):
    (tmp_path / "a.csv").write_text("query,x\n1,2\n")
    assert np.isnan(read(tmp_path / "a.csv", label=("label", None)).labels).all()
    (tmp_path / "b.csv").write_text("query,x,label\n1,2,3\n")
    assert read(tmp_path / "b.csv", label=("label", None)).labels.tolist() == [3]


def test_csv_files_of_several_shapes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('qid,grade,x,on\n"q,1",2,NULL,true\nq2,,nan,false\n"q,1",0,-1e-3,\n')
    data = read(path)
    assert data.query_ids.to_pylist() == ["q,1", "q2"]
    assert np.array_equal(data.labels, [2, 0, np.nan], equal_nan=True)
    expected = np.array([[np.nan, 1], [-1e-3, np.nan], [np.nan, 0]], np.float32)
    assert np.array_equal(data.features, expected, equal_nan=True)
    (tmp_path / "a.tsv").write_text("query\tlabel\tx\n1,5\t0\t1\n")
    assert read(tmp_path / "a.tsv").query_ids.to_pylist() == ["1,5"]
    write(read(tmp_path / "a.tsv"), tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text().count("\t") == 4
    path.write_text("query,label\n" + "7,0\n" * 250_000 + "x,1\n")
    assert read(path).query_ids.to_pylist() == ["7", "x"]
    path.write_text("query,label\n007,0\n7,1\n")
    assert read(path).query_ids.to_pylist() == ["007", "7"]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_the_header_shows_the_delimiter(mark, name, tmp_path, caplog):
    text = 'query,label,"width, height; depth",x\nq1,1,0.5,3\nq1,0,1.5,4\n'.replace(",", mark)
    text = text.replace(f"width{mark} height", "width, height").encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with caplog.at_level("INFO", logger="luce.data.table_files"):
        data = read(tmp_path / name)
    assert data.feature_names == ("width, height; depth", "x")
    assert data.features.tolist() == [[0.5, 3], [1.5, 4]]
    said = [f"columns are separated by {mark!r}" in line for line in caplog.messages]
    assert said == ([] if mark == ("\t" if name == "a.tsv" else ",") else [True])


def test_a_delimiter_that_is_given_is_used(tmp_path):
    (tmp_path / "a.csv").write_text("query;label;x,y\n1;0;1,5\n")
    assert read(tmp_path / "a.csv", delimiter=";", document="x,y").document_ids.to_pylist() == ["1,5"]
    with pytest.raises(DataError, match=r"no query column.*Columns: query;label;x, y\."):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.parquet", b"PAR1 junk PAR1", "cannot be read as Parquet"),
        ("a.arrow", b"ARROW1 junk", "cannot be read as Arrow"),
        ("a.arrow", b"query,label\n1,2\n", "cannot be read as Arrow"),
        pytest.param(
            "a.csv.gz",
            gzip.compress(b"query,label\n1,2\n" * 999)[:-9],
            "is truncated, damaged or not gzip data",
            id="cut",
        ),
        ("a.csv.gz", b"query,label\n1,2\n", "is truncated, damaged or not gzip data"),
    ],
)
def test_damaged_files_are_refused(name, content, text, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=text):
        read(tmp_path / name)


def test_an_arrow_stream_is_read_too(tmp_path):
    table = pa.table({"query": [1, 1], "label": [0, 1], "x": [0.5, 1.5]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    same(read(tmp_path / "a.arrow"), from_table(table))


def test_sparse_data_is_written_as_a_table_up_to_a_limit(tmp_path, monkeypatch):
    dense = np.array([[0, 1.5, 0], [2, 0, 0]], np.float32)
    data = Dataset(sparse.csr_array(dense), [0, 1], [0, 2])
    write(data, tmp_path / "a.parquet")
    assert np.array_equal(read(tmp_path / "a.parquet").features, dense)
    wide = Dataset(sparse.csr_array((1, 16_385), dtype=np.float32), [0], [0, 1])
    with pytest.raises(DataError, match="Write it as"):
        write(wide, tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()
    monkeypatch.setattr(table_writing, "CELLS_LIMIT", 5)
    with pytest.raises(DataError, match=r"up to 16,384 features and 5 values.*\.luce-data or LETOR"):
        write(data, tmp_path / "a.parquet")


def test_many_blocks_are_written_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(table_writing, "BLOCK", 1)
    random = np.random.default_rng(0)
    features, labels, weights = random.random((100, 2), np.float32), random.random(100), random.random(20)
    data = Dataset(features, labels, np.arange(0, 101, 5), list_weights=weights)
    for name in ("a.csv", "a.parquet", "a.arrow"):
        write(data, tmp_path / name)
        same(read(tmp_path / name), data)


def test_what_a_table_cannot_hold_is_said(tmp_path):
    data = judged()
    with pytest.raises(DataError, match="lists with the same query id would be read back as one"):
        write(judged(query_ids=[1, 1, 2]), tmp_path / "a.csv")
    with pytest.raises(DataError, match="A feature is named 'qid', which a table keeps"):
        write(judged(feature_names=["x", "qid", "z"]), tmp_path / "a.csv")
    with pytest.warns(LuceWarning, match=r"a\.csv: 1 empty list\(s\) left out"):
        write(judged(offsets=[0, 2, 2, 5, 7], query_ids=[1, 9, 2, 3], list_weights=None), tmp_path / "a.csv")
    same(read(tmp_path / "a.csv"), judged(query_ids=[1, 2, 3], list_weights=None))
    with pytest.raises(DataError, match="was not written: a table needs at least one row"):
        write(Dataset(np.empty((0, 2)), [], [0]), tmp_path / "none.csv")
    with pytest.raises(DataError, match="there is no directory"):
        write(data, tmp_path / "none" / "a.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_a_crash_while_writing_leaves_the_old_table_whole(name, tmp_path, monkeypatch):
    write(judged(), tmp_path / name)

    def crash(*given):
        raise RuntimeError("crash")

    monkeypatch.setattr(table_writing, "_nullable", crash)
    with pytest.raises(RuntimeError, match="crash"):
        write(judged(labels=np.zeros(7)), tmp_path / name)
    same(read(tmp_path / name), judged())
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.arrow", "a.parquet"])
def test_text_that_is_not_utf8_is_refused_in_tables(name, tmp_path):
    table = pa.table({"query": ["one", "two"], "label": [1, 0], "x": [1.0, 2.0]})
    if name == "a.arrow":
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    else:
        parquet.write_table(table, tmp_path / name, compression=None, write_statistics=False)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content.replace(b"two", b"t\xffo"))
    with pytest.raises(DataError, match=f"{name} cannot be read as .*UTF8"):
        read(tmp_path / name)


def test_a_parquet_file_whose_columns_differ_in_length_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"query": [1, 1, 2, 2], "label": [1, 0, 1, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    parquet.write_table(table, path, compression=None, use_dictionary=False, data_page_version="2.0")
    counts = b"\x15\x08\x15\x00\x15\x08"  # of values, nulls and rows in the header of a page: 4 is 8 in Thrift
    start, *pages = path.read_bytes().split(counts)
    path.write_bytes(counts.join([start, pages[0] + b"\x15\x06\x15\x00\x15\x06" + pages[1], *pages[2:]]))
    with pytest.raises(DataError, match=r"a.parquet is damaged: it says that it has 4 rows; 'label' have another"):
        read(path)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names here")
def test_a_pipe_is_read_and_is_not_empty():
    reading, writing = os.pipe()
    os.write(writing, b"1 qid:1 1:2\n0 qid:1 1:3\n")
    os.close(writing)
    calls = []
    try:
        data = read(f"/dev/fd/{reading}", format="letor", progress=lambda done, total: calls.append((done, total)))
    finally:
        os.close(reading)
    assert data.labels.tolist() == [1, 0]
    assert calls == [(0, 0)]
