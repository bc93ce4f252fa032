"""LETOR text: what is read equals what Python itself makes of it, whatever the thread count; bad lines are named."""

import gzip
import random

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_svmlight_file

from luce.data import streams
from luce.data.letor import read_letor
from luce.data.ragged import Dataset
from luce.errors import DataError, OptionError


@pytest.fixture
def file(tmp_path):
    """Writes text to a file and gives its path."""

    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def small_pieces(monkeypatch):
    """Files of a few lines are then read in many pieces."""
    monkeypatch.setattr(streams, "PIECE", 48)


def bits(dataset):
    """Everything in a dataset, so that == means the same to the last bit."""
    features = dataset.features.toarray() if dataset.is_sparse else dataset.features
    documents = None if dataset.document_ids is None else dataset.document_ids.to_pylist()
    lists = dataset.offsets.tolist(), dataset.query_ids.to_pylist()
    return features.tobytes(), features.shape, dataset.labels.tobytes(), lists, documents, dataset.feature_names


def by_python(text):
    """The slow, obvious reader: (features, labels, offsets, query ids, document ids)."""
    lists = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        fields, _, comment = line.partition("#")
        label, query, *pairs = fields.split()
        values = {int(pair.split(":")[0]): float(pair.split(":")[1].replace("NULL", "nan")) for pair in pairs}
        words = comment.replace("docid =", "").split()
        lists.setdefault(query[4:], []).append((float(label), values, words[0] if words else ""))
    rows = [row for group in lists.values() for row in group]
    features = np.zeros((len(rows), max(max(row[1], default=0) for row in rows)), np.float32)
    for number, (_, values, _) in enumerate(rows):
        for index, value in values.items():
            features[number, index - 1] = value
    offsets = np.cumsum([0] + [len(group) for group in lists.values()])
    return features, [row[0] for row in rows], offsets, list(lists), [row[2] for row in rows]


def random_text(seed, rows=60, n_features=9):
    chance = random.Random(seed)
    lines = []
    for row in range(rows):
        columns = chance.sample(range(1, n_features + 1), chance.randint(0, n_features))
        if chance.random() < 0.7:
            columns.sort()
        values = [
            chance.choice(["0", "NULL", "nan", repr(chance.gauss(0, 10)), f"{chance.random():.3e}"]) for _ in columns
        ]
        pairs = " ".join(f"{column}:{value}" for column, value in zip(columns, values, strict=True))
        comment = chance.choice(["", f"#docid = D{row} inc = 1", f"# é{row}"])
        gap, end = chance.choice([" ", "  ", "\t"]), chance.choice(["\n", "\r\n", " \n", "\n\n"])
        lines.append(f"{chance.randint(0, 4)}{gap}qid:q{chance.randint(0, 5)}{gap}{pairs} {comment}{end}")
    return "".join(lines)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("sparse", [True, False])
def test_equals_python(file, small_pieces, seed, n_jobs, sparse):
    text = random_text(seed)
    features, labels, offsets, queries, documents = by_python(text)
    data = read_letor(file(text), n_jobs=n_jobs, sparse=sparse)
    assert data.is_sparse == sparse
    expected = Dataset(features, labels, offsets, queries, documents)
    assert bits(data) == bits(expected)


def test_equals_scikit_learn(file):
    chance = np.random.default_rng(0)
    rows = [
        f"{chance.integers(5)} qid:{row // 7} " + " ".join(f"{i}:{chance.normal():.6g}" for i in range(1, 20)) + "\n"
        for row in range(200)
    ]
    path = file("".join(rows))
    features, labels, queries = load_svmlight_file(str(path), query_id=True)
    data = read_letor(path)
    np.testing.assert_array_equal(data.features, features.toarray().astype(np.float32))
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(np.repeat(data.query_ids.to_numpy(), data.sizes), queries)


def hard_numbers():
    """Decimals of many kinds, many of them near the middle between two float32 or two float64 numbers."""
    chance = random.Random(3)
    tokens = ["0", "-0", "+1", ".5", "5.", "1e5", "1E+5", "1e-5", "0e99999", "00012", "1e-99999999999999999999"]
    tokens += [
        "3.4028235e38",
        "3.4028235677973362e38",
        "3.4028235677973363646e38",
        "1e-45",
        "7.006492321624085e-46",
        "7.1e-46",
        "1.17549435e-38",
    ]
    tokens += [f"{chance.getrandbits(70)}", "9007199254740993", "9007199254740992.5", "1" * 38, "0." + "3" * 60]
    for _ in range(300):
        tokens.append(repr(chance.gauss(0, 1) * 10 ** chance.randint(-30, 30)))
        tokens.append(f"{chance.random():.{chance.randint(1, 25)}f}")
        tokens.append(f"{chance.random() * 10 ** chance.randint(-40, 37):.{chance.randint(0, 20)}e}")
        single = np.float32(chance.gauss(0, 1))
        middle = (float(single) + float(np.nextafter(single, np.float32(9)))) / 2
        tokens.append(f"{middle:.60f}")
        tokens.append(f"{middle:.60f}"[:-3] + "1")
        tokens.append(f"{np.nextafter(middle, 9):.40f}")
    return tokens


def test_every_number_is_exact(file):
    tokens = hard_numbers()
    data = read_letor(file("".join(f"{token} qid:1 1:{token}\n" for token in tokens)))
    exact = np.array([float(token) for token in tokens])
    assert data.labels.tobytes() == exact.tobytes()
    assert data.features[:, 0].tobytes() == exact.astype(np.float32).tobytes()


def test_labels_need_not_fit_in_float32(file):
    tokens = ["1e300", "1.7976931348623157e308", "5e-324", "-1e-310", "123456789012345678901234567890.5"]
    data = read_letor(file("".join(f"{token} qid:1\n" for token in tokens)))
    assert data.labels.tolist() == [float(token) for token in tokens]
    assert data.features.shape == (5, 0)


def test_missing_values(file):
    data = read_letor(file("nan qid:1 1:NaN 2:NULL 3:null 4:-nan\nNULL qid:1 4:1\n"))
    assert np.isnan(data.labels).all()
    np.testing.assert_array_equal(np.isnan(data.features), [[True] * 4, [False] * 4])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x qid:1 1:1", "expected a label: a number, or nan if it is not observed. Got 'x'."),
        ("qid:1 1:1", "expected a label"),
        ("1e qid:1 1:1", "expected a label"),
        ("1_0 qid:1 1:1", "expected a label"),
        ("0x1 qid:1 1:1", "expected a label"),
        ("inf qid:1 1:1", "a label must be finite, or nan if it is not observed. Got 'inf'."),
        ("-Infinity qid:1 1:1", "a label must be finite"),
        ("1e309 qid:1 1:1", "a label must be finite, or nan if it is not observed. Got '1e309'."),
        ("1 qid: 1:1", "expected a query id right after qid:. Got 'qid:'."),
        ("1 qid:1 a:1", "expected index:value, such as 3:0.25. Got 'a:1'."),
        ("1 qid:1 1", "expected index:value"),
        ("1 qid:1 -1:1", "expected index:value"),
        ("1 qid:1 1:1 qid:2", "expected index:value"),
        ("1 qid:1 1:", "expected a number after the colon, or nan or NULL for a missing value. Got '1:'."),
        ("1 qid:1 1:a", "Got '1:a'."),
        ("1 qid:1 1:2:3", "Got '1:2:3'."),
        ("1 qid:1 1:nano", "Got '1:nano'."),
        ("1 qid:1 1:nul", "Got '1:nul'."),
        ("1 qid:1 1:1e+", "Got '1:1e+'."),
        ("1 qid:1 1:.", "Got '1:.'."),
        ("1 qid:1 1:inf", "a feature must be finite and at most 3.4e38, the limit of float32. Got '1:inf'."),
        ("1 qid:1 1:3.4028235677973366e38", "a feature must be finite"),
        ("1 qid:1 1:1e9999", "a feature must be finite"),
        ("1 qid:1 3:1 2:1 3:1", "feature index 3 is repeated."),
        ("1 qid:1 3:1 3:1", "feature index 3 is repeated."),
        (
            "1 qid:1 16777217:1",
            "feature indices must be at most 16,777,216: raise max_features if the index is correct.",
        ),
        ("1 qid:1 18446744073709551621:1", "feature indices must be at most"),
        ("1 1:1", "expected qid: on every line or on none. This line has no qid:, and earlier lines have one."),
        ("1 qid:1 1:1 #docid = \x00", "expected UTF-8 text. Got NUL bytes, as in UTF-16."),
        (b"1 qid:1 1:1 #docid = a\xe9", "the document id b'a\\xe9' is not UTF-8 text. Save the file as UTF-8."),
        (b"1 qid:\xff 1:1", "the query id b'\\xff' is not UTF-8 text."),
    ],
)
def test_bad_lines_are_named(file, small_pieces, line, expected):
    bad = line if isinstance(line, bytes) else line.encode()
    good = b"1 qid:7 1:0.5 2:1 # fine\n\n# only a comment\r\n"
    later = b"bad qid:7\n" * 3
    path = file(good * 30 + bad + b"\n" + good + later)
    messages = set()
    for n_jobs in (1, 2, 5):
        with pytest.raises(DataError) as caught:
            read_letor(path, n_jobs=n_jobs)
        messages.add(str(caught.value))
    (message,) = messages
    assert message.startswith(f"{path}, line 91: ")
    assert expected in message
    if b"\0" not in bad:
        assert f"The line: {bad.decode(errors='replace')!r}" in message


def test_a_long_bad_line_is_shown_around_the_place(file):
    line = (
        "1 qid:1 "
        + " ".join(f"{i}:0.5" for i in range(1, 500))
        + " 500:x "
        + " ".join(f"{i}:1" for i in range(501, 999))
    )
    with pytest.raises(DataError, match=r"line 1: .*Got '500:x'. The line: '….* 499:0.5 500:x 501:1 .*…'$") as caught:
        read_letor(file(line))
    assert len(str(caught.value)) < 400


BAD = [
    "x qid:7",
    "1 qid:7 1:x",
    "1e999 qid:7",
    "1 qid:7 1:9e99999999",
    "1 qid:7 2:1 2:2",
    "1 1:1",
    "1 qid:\xe9",
    "1 qid:7 #\0",
]


@pytest.mark.parametrize("first", BAD)
@pytest.mark.parametrize("second", BAD)
def test_of_two_bad_lines_the_first_is_named(file, first, second):
    text = f"1 qid:7 1:1\n{first}\n1 qid:7 1:1\n{second}\n".encode("latin-1")
    with pytest.raises(DataError, match="line 2: "):
        read_letor(file(text))


def test_query_ids_that_begin_later(file, small_pieces):
    text = "1 1:1\n" * 20 + "1 qid:7 1:1\n"
    with pytest.raises(DataError, match=r"line 21: .*This line has a qid:, and earlier lines have none"):
        read_letor(file(text), n_jobs=2)


@pytest.mark.parametrize("seed", range(30))
def test_an_index_is_found_twice_in_any_order(file, seed):
    chance = random.Random(seed)
    indices = chance.sample(range(1, 100), chance.randint(2, 60))
    chance.shuffle(pairs := [f"{index}:1" for index in indices])
    assert read_letor(file(f"1 qid:1 {' '.join(pairs)}"), sparse=True).features.indices.tolist() == [
        index - 1 for index in sorted(indices)
    ]
    chance.shuffle(pairs := [*pairs, f"{indices[0]}:2"])
    with pytest.raises(DataError, match=f"feature index {indices[0]} is repeated"):
        read_letor(file(f"1 qid:1 {' '.join(pairs)}"))


def test_the_bad_line_comes_before_the_damage_behind_it(file, small_pieces):
    text = ("x qid:1 1:0.5\n" + "1 qid:1 1:0.5\n" * 20).encode()
    with pytest.raises(DataError, match="line 1: expected a label"):
        read_letor(file(gzip.compress(text)[:-6], "data.txt.gz"), n_jobs=2)


def test_rows_of_a_query_are_brought_together(file, small_pieces):
    text = "1 qid:b 1:1 #x\n2 qid:a 1:2 #y\n3 qid:b 1:3 #z\n4 qid:c 1:4 #u\n5 qid:a 1:5 #v\n"
    data = read_letor(file(text), n_jobs=2)
    assert data.query_ids.to_pylist() == ["b", "a", "c"]
    assert data.offsets.tolist() == [0, 2, 4, 5]
    assert data.labels.tolist() == [1, 3, 2, 5, 4]
    assert data.features[:, 0].tolist() == [1, 3, 2, 5, 4]
    assert data.document_ids.to_pylist() == ["x", "z", "y", "v", "u"]


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["3", "1", "-2"], pa.int64()),
        (["9223372036854775807"], pa.int64()),
        (["9223372036854775808"], pa.large_string()),
        (["1", "01"], pa.large_string()),
        (["1", "a:b"], pa.large_string()),
        (["+1"], pa.large_string()),
    ],
)
def test_query_ids_are_integers_where_all_are(file, ids, kind):
    data = read_letor(file("".join(f"1 qid:{name} 1:1\n" for name in ids)))
    assert data.query_ids.type == kind
    assert [str(name) for name in data.query_ids.to_pylist()] == ids


@pytest.mark.parametrize(
    ("comment", "document"),
    [
        ("#docid = GX1 inc = 2", "GX1"),
        ("# DocId=GX1", "GX1"),
        ("#docid =GX1\r", "GX1"),
        ("# word and more", "word"),
        ("#docid", "docid"),
        ("#docids = 3", "docids"),
        ("#a#b", "a#b"),
        ("#docid = é", "é"),
        ("#docid =", ""),
        ("#", ""),
        ("", ""),
    ],
)
def test_document_ids(file, comment, document):
    data = read_letor(file(f"1 qid:1 1:1 {comment}\n0 qid:1 1:1#other\n"))
    assert data.document_ids.to_pylist() == [document, "other"]


def test_no_document_ids_at_all(file):
    assert read_letor(file("1 qid:1 1:1 # \n0 qid:1 #docid = \n")).document_ids is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("wide", ["", "1 qid:1 2:3 900:1\n"])
def test_counting_from_zero(file, small_pieces, sparse, wide):
    ones, zero = "1 qid:1 1:10 2:20\n" * 9, "1 qid:1 0:5 2:7\n"
    data = read_letor(file(ones + zero + ones + wide * 9), n_jobs=2, sparse=sparse)
    assert data.feature_names == tuple(map(str, range(901 if wide else 3)))
    features = data.features.toarray() if sparse else data.features
    assert features[:19, :3].tolist() == [[0, 10, 20]] * 9 + [[5, 0, 7]] + [[0, 10, 20]] * 9
    assert features.sum() == 30 * 18 + 12 + (36 if wide else 0)


def test_first_index(file, small_pieces):
    ones, zero = "1 qid:1 1:10 2:20\n" * 9, "1 qid:1 0:5 2:7\n"
    assert read_letor(file(ones), first_index=0).features[0].tolist() == [0, 10, 20]
    assert read_letor(file(ones)).feature_names is None
    with pytest.raises(
        DataError, match=r"line 10: feature indices must be at least 1, because first_index=1. Got '0:5'"
    ):
        read_letor(file(ones + zero), first_index=1)


def test_number_of_features(file):
    path = file("1 qid:1 2:1\n1 qid:1 3:1\n")
    assert read_letor(path, n_features=5).features.tolist() == [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    with pytest.raises(DataError, match=r"line 2: feature indices must be at most 2: by n_features, or .* Got '3:1'"):
        read_letor(path, n_features=2)
    with pytest.raises(DataError, match="line 2: feature indices must be at most 2: raise max_features"):
        read_letor(path, max_features=2)
    with pytest.raises(DataError, match="line 2: feature indices must be at most 2: by n_features"):
        read_letor(path, n_features=3, first_index=0)
    path = file("1 qid:1 0:1\n1 qid:1 3:1\n1 qid:1 3:1\n")
    with pytest.raises(
        DataError, match="line 2: feature indices must be at most 2, as they count from 0 and n_features is 3"
    ):
        read_letor(path, n_features=3)


def test_the_highest_index_may_stand_anywhere(file, small_pieces):
    ones = "1 qid:1 1:1\n" * 20
    for text in (ones + "1 qid:1 9:1\n", "1 qid:1 9:1\n" + ones, ones + "1 qid:1 9:1\n" + ones):
        assert read_letor(file(text), n_jobs=2).n_features == 9


@pytest.mark.parametrize(
    "option", [{"n_features": 0}, {"n_features": 2.0}, {"max_features": 2**31}, {"first_index": 2}, {"n_jobs": 0}]
)
def test_options_outside_their_range(file, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        read_letor(file("1 qid:1 1:1\n"), **option)


def test_dense_or_sparse_by_memory(file, small_pieces):
    wide = "1 qid:1 1:1 1000:1\n" * 5
    assert read_letor(file(wide)).is_sparse
    assert not read_letor(file(wide), sparse=False).is_sparse
    full = "1 qid:1 " + " ".join(f"{i}:0" for i in range(1, 101)) + "\n"
    assert not read_letor(file(full * 5)).is_sparse
    mixed = file(full + wide * 9)
    sparse, dense = read_letor(mixed, sparse=True), read_letor(mixed, sparse=False)
    assert bits(sparse) == bits(dense)
    assert sparse.features.nnz == 90  # zeros that were written are not stored


def test_zeros_keep_their_sign(file, small_pieces):
    path = file("1 qid:1 1:-0 2:0 3:5\n" * 4 + "1 qid:1 1:-1e-99 900:0 901:5\n" * 4)
    for n_jobs in (1, 2):
        dense, sparse = (read_letor(path, n_jobs=n_jobs, sparse=sparse).features for sparse in (False, True))
        assert sparse.data.tolist() == [-0.0, 5] * 8
        assert np.signbit(sparse.data).tolist() == [True, False] * 8
        assert np.signbit(dense).sum() == np.signbit(dense[:, 0]).sum() == 8


def test_a_sparse_file_of_many_features_takes_little_memory(file):
    data = read_letor(file("1 qid:1 0:1 16777215:2\n"))
    assert data.features.shape == (1, 2**24)
    assert data.features.nnz == 2
    assert data.feature_names is None


def test_a_table_larger_than_any_memory_is_refused(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_text("1 qid:1 2147483645:1\n" * 20_000)  # more than 2^47 bytes, all that a process can address
    with pytest.raises(DataError, match=r"not enough memory for 20,000 rows of 2,147,483,645 features: read with"):
        read_letor(path, max_features=2**31 - 2, sparse=False)
    assert read_letor(path, max_features=2**31 - 2).is_sparse
