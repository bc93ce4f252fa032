"""TREC files: judgments and runs meet by query and document, whatever their order."""

import numpy as np
import pytest

from luce.data import Dataset, read, read_run, streams, trec, write, write_run
from luce.errors import DataError, LuceWarning, OptionError

QRELS = "1 0 da 1\n2 0 x 0\n\n1 0 db -2\n2\t0\té\t3\r\n7 0 z 0.5\n"


@pytest.fixture
def judged(tmp_path):
    path = tmp_path / "a.qrels"
    path.write_text(QRELS)
    return read(path)


def test_qrels_are_lists_of_judged_documents(judged):
    assert judged.query_ids.to_pylist() == [1, 2, 7]
    assert judged.document_ids.to_pylist() == ["da", "db", "x", "é", "z"]
    assert judged.labels.tolist() == [1, -2, 0, 3, 0.5]
    assert judged.offsets.tolist() == [0, 2, 4, 5]
    assert judged.n_features == 0


@pytest.mark.parametrize("name", ["b.qrels", "b.qrels.gz"])
def test_qrels_are_written_and_read_back(judged, name, tmp_path):
    write(judged, tmp_path / name)
    again = read(tmp_path / name)
    assert again.labels.tolist() == judged.labels.tolist()
    assert again.document_ids.equals(judged.document_ids)
    assert again.query_ids.equals(judged.query_ids)


def test_what_was_not_observed_is_no_judgment(tmp_path):
    write(Dataset(np.zeros((2, 1)), [np.nan, 0.1], [0, 2], ["q"], ["a", "b"]), tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text() == "q 0 b 0.10000000000000001\n"


def test_a_run_meets_its_judgments(judged, tmp_path):
    path = tmp_path / "a.run"
    path.write_text(
        "2 Q0 é 1 3.5 t\n9 Q0 u 1 1 t\n1 Q0 new 1 9 t\n1 Q0 da 2 8 t\n1 Q0 x 3 -1e3 t\n8 Q0 u 1 1 t\n9 Q0 v 2 0 t\n"
    )
    with pytest.warns(LuceWarning, match=r"a\.run: 2 queries without judgments are left out"):
        scores, data = read_run(path, judged)
    assert data.query_ids.equals(judged.query_ids)
    lists = [data.document_ids[data.rows(q)].to_pylist() for q in range(3)]
    assert lists == [["new", "da", "x", "db"], ["é", "x"], ["z"]]
    assert data.labels.tolist() == [0, 1, 0, -2, 3, 0, 0.5]
    assert scores.tolist() == [9, 8, -1000, -np.inf, 3.5, -np.inf, -np.inf]


def test_a_run_is_matched_in_any_order_and_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 64)
    random = np.random.default_rng(0)
    n_lists, n_documents = 20, 30
    grades = random.integers(0, 4, (n_lists, n_documents))
    known = random.random((n_lists, n_documents)) < 0.5
    found = random.random((n_lists, n_documents)) < 0.5
    known[:, 0] = found[:, 0] = True
    values = random.random((n_lists, n_documents))
    judgments = [f"{q} 0 d{d} {grades[q, d]}\n" for q, d in np.argwhere(known)]
    retrieved = [f"{q} Q0 d{d} 0 {float(values[q, d])!r} t\n" for q, d in np.argwhere(found)]
    (tmp_path / "a.qrels").write_text("".join(random.permutation(judgments)))
    (tmp_path / "a.run").write_text("".join(random.permutation(retrieved)))
    scores, data = read_run(tmp_path / "a.run", read(tmp_path / "a.qrels"))
    queries = np.repeat(data.query_ids.to_numpy(), data.sizes)
    documents = np.array([int(name[1:]) for name in data.document_ids.to_pylist()])
    pairs = set(zip(queries.tolist(), documents.tolist(), strict=True))
    assert pairs == set(map(tuple, np.argwhere(known | found).tolist()))
    assert len(pairs) == data.n_rows
    assert np.array_equal(data.labels, np.where(known, grades, 0)[queries, documents])
    assert np.array_equal(scores, np.where(found, values, -np.inf)[queries, documents])


@pytest.mark.parametrize("name", ["b.run", "b.run.gz", "b.run.zst"])
def test_a_run_is_written_and_read_back(judged, name, tmp_path):
    scores = np.array([1 / 3, 2e-30, -5, np.pi, 4])
    write_run(scores, judged, tmp_path / name)
    again, data = read_run(tmp_path / name, judged)
    assert data.document_ids.to_pylist() == ["da", "db", "é", "x", "z"]
    assert again.tolist() == [1 / 3, 2e-30, np.pi, -5, 4]


def test_a_run_names_the_best_first(tmp_path, monkeypatch):
    monkeypatch.setattr(trec, "LINES", 2)
    data = Dataset(np.zeros((5, 1)), np.zeros(5), [0, 4, 5], ["q", "r"], list("abcde"))
    path = tmp_path / "a.run"
    write_run([1, 2, 2, -np.inf, -np.inf], data, path, tag="me")
    assert path.read_text() == "q Q0 b 1 2.0 me\nq Q0 c 2 2.0 me\nq Q0 a 3 1.0 me\n"
    write_run([1, 2, 2, 0, 7], data, path, top=1)
    assert path.read_text() == "q Q0 b 1 2.0 luce\nr Q0 e 1 7.0 luce\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            b"1 0 a 1\n1 0 a\n",
            r"a\.qrels, line 2: it has 3 fields, not 4. Got '1 0 a'; expected `query 0 document grade`",
        ),
        (b"\n\n1 0 a x\n", r"line 3: its grade, 'x', is not a finite number"),
        (b"1 0 a nan\n", r"line 1: its grade, 'nan', is not a finite number"),
        (
            b"1 0 a 1\n2 0 a 1\n2 0 a 1\n3 0 b 1\n3 0 b 0\n1 0 a 2\n",
            r"line 3: the same query and document as in line 2",
        ),
        (b"1 0 a 1\n1 0 \xff 1\n", r"line 2: it is not UTF-8"),
        (b"1 0 a 1\n" + b"x" * 70_000, r"line 2: the line is too long. Got 'x*…'"),
        (b" \n\n", r"a\.qrels is empty; lines `query 0 document grade` are expected"),
        ("1 0 a 1\n".encode("utf-16"), r"a\.qrels must be UTF-8 text. It looks like UTF-16"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value[:20]),
)
def test_a_line_that_cannot_be_read_is_named(content, text, tmp_path):
    (tmp_path / "a.qrels").write_bytes(content)
    with pytest.raises(DataError, match=text):
        read(tmp_path / "a.qrels")


def test_a_file_may_begin_with_the_mark_of_utf8(tmp_path):
    (tmp_path / "a.qrels").write_text("1 0 a 1\n", encoding="utf-8-sig")
    assert read(tmp_path / "a.qrels").query_ids.to_pylist() == [1]


def test_a_run_that_does_not_fit_is_refused(judged, tmp_path):
    path = tmp_path / "a.run"
    path.write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n")
    with pytest.raises(DataError, match=r"a\.run, line 2: the same query and document as in line 1"):
        read_run(path, judged)
    path.write_text("1 Q0 a 1 inf t\n")
    with pytest.raises(DataError, match="line 1: its score, 'inf', is not a finite number"):
        read_run(path, judged)
    path.write_text("01 Q0 a 1 2 t\n")
    with pytest.raises(DataError, match=r"none of its queries was judged. It has 01, the judgments 1"):
        read_run(path, judged)
    path.write_text("1 Q0 a 1 2 t\n")
    with pytest.raises(DataError, match="the judged dataset has no document ids"):
        read_run(path, Dataset([[1]], [1], [0, 1]))
    with pytest.raises(DataError, match="two judged lists have the same one"):
        read_run(path, Dataset([[1], [1]], [1, 0], [0, 1, 2], [1, 1], ["a", "b"]))
    with pytest.raises(DataError, match="a judged list has one of them twice"):
        read_run(path, Dataset([[1], [1]], [1, 0], [0, 2], [1], ["b", "b"]))
    with pytest.raises(DataError, match="no judgments to match"):
        read_run(path, Dataset(np.empty((0, 0)), [], [0], document_ids=[]))
    with pytest.raises(DataError, match="There is no file"):
        read_run(tmp_path / "none.run", judged)


def test_a_run_that_cannot_be_written_is_refused(judged, tmp_path):
    path = tmp_path / "a.run"
    path.write_text("old")
    scores = np.zeros(5)
    for bad, error, text in [
        ({"scores": np.full(5, np.nan)}, DataError, "scores must not be NaN"),
        ({"scores": np.full(5, np.inf)}, DataError, r"Got \+inf"),
        ({"scores": np.zeros(4)}, DataError, r"scores must have 5 entries. Got 4"),
        ({"tag": "two words"}, OptionError, r"tag must be one word without spaces. Got 'two words'"),
        ({"tag": ""}, OptionError, "tag must be one word"),
        ({"top": 0}, OptionError, r"top must be at least 1. Got 0"),
        ({"dataset": Dataset(np.zeros((5, 1)), scores, [0, 5])}, DataError, "needs document ids"),
        (
            {"dataset": Dataset(np.zeros((5, 1)), scores, [0, 5], document_ids=["a", "b", "", "c", "d"])},
            DataError,
            "''",
        ),
        ({"dataset": Dataset(np.zeros((5, 1)), scores, [0, 5], ["a b"], list("abcde"))}, DataError, "query id 'a b'"),
    ]:
        with pytest.raises(error, match=text):
            write_run(**{"scores": scores, "dataset": judged, "path": path, **bad})
    assert path.read_text() == "old"


def test_list_weights_of_the_judgments_are_kept(tmp_path):
    judged = Dataset(np.zeros((2, 1)), [1, 0], [0, 1, 2], ["q", "r"], ["a", "b"], list_weights=[2, 3])
    (tmp_path / "a.run").write_text("q Q0 a 1 5 t\n")
    assert read_run(tmp_path / "a.run", judged)[1].list_weights.tolist() == [2, 3]
