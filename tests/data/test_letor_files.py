"""Files of LETOR text: compressed, cut short, foreign, too long, with list sizes beside them."""

import bz2
import gzip
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from luce.data import read, streams
from luce.data.letor import read_letor
from luce.errors import DataError

TEXT = b"2 qid:1 1:0.5 2:1 #a\n0 qid:1 1:0.25\n1 qid:2 2:3 #c\n"
PACKED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


@pytest.fixture
def file(tmp_path):
    """Writes text to a file and gives its path."""

    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("ending", PACKED)
def test_compressed(file, ending):
    packed = PACKED[ending](TEXT)
    data = read_letor(file(packed, "data.txt" + ending))
    assert data.labels.tolist() == [2, 0, 1]
    # Compressed files may be put together, as many tools do.
    twice = read_letor(file(packed + packed, "DATA.TXT" + ending.upper()))
    assert twice.n_rows == 6


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_and_cut_short_at_every_byte(file, ending):
    packed = PACKED[ending](TEXT)
    for length in range(1, len(packed)):
        with pytest.raises(DataError, match=r"is truncated, damaged or not .* data"):
            read_letor(file(packed[:length], "data.txt" + ending))


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_and_damaged_at_every_byte(file, ending):
    packed = PACKED[ending](TEXT)
    refused = 0
    for at in range(len(packed)):
        damaged = bytearray(packed)
        damaged[at] ^= 0x55
        try:
            read_letor(file(bytes(damaged), "data.txt" + ending))
        except DataError:
            refused += 1
    assert refused > len(packed) / 2


@pytest.mark.parametrize("ending", PACKED)
def test_text_with_the_name_of_a_compressed_file(file, ending):
    with pytest.raises(DataError, match=r"is truncated, damaged or not"):
        read_letor(file(TEXT, "data.txt" + ending))


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_with_the_name_of_text(file, ending):
    with pytest.raises(DataError, match=f"must be UTF-8 text. It looks like .* its name must end in {ending}"):
        read_letor(file(PACKED[ending](TEXT)))


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_empty(file, ending):
    with pytest.raises(DataError, match="is empty; at least one row is needed"):
        read_letor(file(b"", "data.txt" + ending))


def test_nothing_but_comments(file):
    with pytest.raises(DataError, match="has only blank lines and comments; at least one row is needed"):
        read_letor(file("# a\n\n  \n#b"))


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(DataError, match=r"There is no file .*nothing.txt"):
        read_letor(tmp_path / "nothing.txt")
    with pytest.raises(DataError, match="is a directory"):
        read_letor(tmp_path)
    with pytest.raises(DataError, match="is not a valid file name"):
        read_letor(str(tmp_path / "a\0b"))


def test_encodings(file):
    assert read_letor(file(b"\xef\xbb\xbf" + TEXT)).labels.tolist() == [2, 0, 1]
    for encoding in ("utf-16", "utf-16-be"):
        with pytest.raises(DataError, match=r"UTF-16|expected UTF-8 text"):
            read_letor(file(TEXT.decode().encode(encoding)))


@pytest.mark.parametrize("piece", [4, 5, 7, 64])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_pieces_of_any_size(file, monkeypatch, piece, ends, mark, last):
    monkeypatch.setattr(streams, "PIECE", piece)
    text = mark + TEXT.replace(b"\n", ends)
    data = read_letor(file(text if last else text.rstrip()), n_jobs=2)
    assert data.labels.tolist() == [2, 0, 1]
    assert data.features.tolist() == [[0.5, 1], [0.25, 0], [0, 3]]
    assert data.document_ids.to_pylist() == ["a", "", "c"]


def test_lines_have_a_limit(file, monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 1000)
    monkeypatch.setattr(streams, "LONGEST_LINE", 5000)
    short, long = (b"1 qid:1 1:1 #" + b"x" * length + b"\n" for length in (4900, 20_000))
    assert read_letor(file(short)).n_rows == 1
    with pytest.raises(DataError, match="has a line longer than 5,000 bytes"):
        read_letor(file(TEXT + long))


def test_progress_goes_to_the_end(file, monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 64)
    path = file(TEXT * 100)
    calls = []
    read_letor(path, progress=lambda done, total: calls.append((done, total)), n_jobs=2)
    done, totals = zip(*calls, strict=True)
    assert len(calls) > 2
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1] == path.stat().st_size


def test_list_sizes_beside_the_file(file):
    path = file("1 1:1\n0 1:2\n2 1:3\n", "rank.train")
    with pytest.raises(DataError, match=r"Either every line has qid:… after the label, or a file rank.train.query"):
        read_letor(path)
    file("1\n2\n", "rank.train.group")
    assert read_letor(path).offsets.tolist() == [0, 1, 3]
    file(" 2\r\n0 \n1", "rank.train.query")
    data = read_letor(path)
    assert (data.offsets.tolist(), data.query_ids.to_pylist()) == ([0, 2, 2, 3], [1, 2, 3])
    assert read_letor(path, lists=file("3", "sizes")).offsets.tolist() == [0, 3]
    packed = file(gzip.compress(path.read_bytes()), "rank.train.gz")
    assert read_letor(packed).offsets.tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("1\n1\n", "must add up to the 3 rows of .*Their sum is 2"),
        ("1\n-1\n3\n", "line 2: expected the size of a list, at least 0. Got '-1'"),
        ("1\nx\n", "line 2: expected the size of a list"),
        ("1_0\n", "line 1: expected the size"),
        ("999999999999999999\n" * 18 + "446744073709551637\n", "must add up"),  # 2^64 + 3
    ],
)
def test_bad_list_sizes(file, sizes, expected):
    with pytest.raises(DataError, match=expected):
        read_letor(file("1 1:1\n0 1:2\n2 1:3\n"), lists=file(sizes, "sizes"))


def test_list_sizes_are_refused_where_there_are_query_ids(file):
    path = file("1 qid:1 1:1\n")
    file("1", "data.txt.query")
    assert read_letor(path).n_lists == 1
    with pytest.raises(DataError, match="has query ids; leave out lists="):
        read_letor(path, lists=file("1", "sizes"))


CONVERT = """
import resource, sys
from pathlib import Path
from luce.cli.convert import convert

convert(Path("small.txt"), Path("small.luce-data"))  # everything is loaded and compiled now
used = int(Path("/proc/self/status").read_text().partition("VmData:")[2].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[1]), -1))
convert(Path("large.txt"), Path("large.luce-data"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits private memory")
@pytest.mark.parametrize("sparse", [False, True])
def test_converting_takes_less_memory_than_the_features(tmp_path, sparse):
    entries = 4_000 if sparse else 400
    row = " ".join(f"{number * (25 if sparse else 1)}:1" for number in range(1, entries + 1))
    text = f"1 qid:7 {row}\n0 qid:7 {row}\n"
    n_rows = (64 << 20) // ((8 if sparse else 4) * entries)
    (tmp_path / "small.txt").write_text(text)
    (tmp_path / "large.txt").write_text(text * (n_rows // 2))
    settings = {"cwd": tmp_path, "env": {**os.environ, "LUCE_THREADS": "1"}, "text": True, "capture_output": True}
    done = subprocess.run([sys.executable, "-c", CONVERT, str(52 << 20)], **settings)
    assert done.returncode == 0, done.stderr
    data = read(tmp_path / "large.luce-data")
    assert data.is_sparse == sparse and data.n_rows == n_rows // 2 * 2
    assert (data.features.data if sparse else data.features).max() == 1
    assert not [path.name for path in tmp_path.iterdir() if path.suffix not in (".txt", ".luce-data")]


def test_a_temporary_folder_that_is_not_there(file, tmp_path):
    with pytest.raises(DataError, match=r"There is not enough space for .* bytes in .*nowhere"):
        read_letor(file(TEXT), temp_folder=tmp_path / "nowhere")
