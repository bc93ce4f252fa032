"""TREC files: judgements (qrels) and the ranked documents of a system (runs)."""

import io
import itertools
import math
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.arrays import Floats, Integers, check_rows, list_of_row
from luce.data.grouping import group_rows, whole_number_ids
from luce.data.ragged import Dataset
from luce.data.streams import InputStream, open_to_write
from luce.errors import DataError, LuceWarning, OptionError
from luce.files import replacing

FilePath = str | os.PathLike[str]

LONGEST_LINE = 65_536
"""A line of more bytes than this is no line of a TREC file."""

LINES = 65_536
"""Lines held as Python strings at a time."""

QRELS = "query 0 document grade"
RUN = "query Q0 document rank score tag"
NO_DOCUMENTS = "A TREC file names documents, and the dataset has no document ids."


def read_qrels(path: FilePath) -> Dataset:
    """The judgements of a file with lines `query 0 document grade`: a dataset with document ids and no features.

    A grade below zero (TREC's junk) is kept; the metrics count it as 0, and it ranks below 0 where order is learnt.
    """
    queries, documents, grades, lines = _read_columns(path, QRELS)
    grouping = group_rows(queries)
    numbers = list_of_row(grouping.offsets)
    order = np.arange(len(grades)) if grouping.order is None else grouping.order
    documents = documents.take(pa.array(order))
    _refuse_twice(path, QRELS, numbers, documents.dictionary_encode().indices, lines[order])
    return Dataset(
        features=np.empty((len(grades), 0), dtype=np.float32),
        labels=grades[order],
        offsets=grouping.offsets,
        query_ids=whole_number_ids(grouping.query_ids),
        document_ids=documents,
    )


def write_qrels(dataset: Dataset, path: FilePath) -> None:
    """Write the labels as TREC judgements; items without a label are left out, and so are the features."""
    if dataset.document_ids is None:
        raise DataError(NO_DOCUMENTS)
    queries, documents = _words("query", dataset.query_ids), _words("document", dataset.document_ids)

    def lines() -> Iterator[str]:
        for q in range(dataset.n_lists):
            for row in range(dataset.offsets[q], dataset.offsets[q + 1]):
                if not math.isnan(dataset.labels[row]):
                    yield f"{queries[q]} 0 {documents[row]} {dataset.labels[row]:.17g}\n"

    _write_lines(path, lines())


def read_run(path: FilePath, judged: Dataset) -> tuple[Floats, Dataset]:
    """The scores of a run, with lines `query Q0 document rank score tag`, and the dataset they belong to.

    Its lists are those of `judged`, in that order. A list holds the documents the run gives, with label 0 where nobody
    judged them, and then the judged ones it does not give, with score −inf: not retrieved. The rank column is not used.
    Queries that nobody judged are left out, with a warning; judged queries that the run leaves out stay, all −inf.

    >>> import pathlib, tempfile
    >>> judged = Dataset(np.empty((2, 0)), [1, 0], [0, 2], ["q"], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = pathlib.Path(folder) / "system.run"
    ...     _ = name.write_text("q Q0 c 1 2.5 system\\nq Q0 a 2 1.5 system\\n")
    ...     scores, data = read_run(name, judged)
    >>> scores, data.document_ids.to_pylist(), data.labels
    (array([ 2.5,  1.5, -inf]), ['c', 'a', 'b'], array([0., 1., 0.]))
    """
    if judged.document_ids is None:
        raise DataError("A run is matched by document ids, and the judged dataset has none.")
    known = judged.query_ids.cast(pa.large_string())
    if not judged.n_rows:
        raise DataError("There are no judgements to match the run with.")
    if len(known.unique()) < len(known):
        raise DataError("A run is matched by query ids, and two judged lists have the same one.")
    queries, documents, scores, lines = _read_columns(path, RUN)
    found = pc.index_in(queries, known)
    kept = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    if not len(kept):
        raise DataError(f"{path}: none of its queries was judged. It has {queries[0]}, the judgements {known[0]}.")
    if len(kept) < len(found):
        strange = len(queries.filter(found.is_null()).unique())
        warnings.warn(f"{path}: queries that nobody judged are left out: {strange}.", LuceWarning, stacklevel=2)
    numbers = found.take(pa.array(kept)).to_numpy().astype(np.int64)
    documents, scores, lines = documents.take(pa.array(kept)), scores[kept], lines[kept]
    codes = pa.concat_arrays([documents, judged.document_ids.cast(pa.large_string())]).dictionary_encode().indices
    _refuse_twice(path, RUN, numbers, codes[: len(kept)], lines)
    return _matched(judged, numbers, documents, scores, codes.to_numpy().astype(np.int64))


def _matched(
    judged: Dataset, numbers: Integers, documents: pa.Array, scores: Floats, codes: Integers
) -> tuple[Floats, Dataset]:
    """Retrieved and judged documents side by side; `codes` numbers the documents of both, retrieved first."""
    width, retrieved = int(codes.max(initial=0)) + 1, len(numbers)
    judged_lists = list_of_row(judged.offsets)
    judged_keys = pa.array(judged_lists * width + codes[retrieved:])
    if len(judged_keys.unique()) < judged.n_rows:
        raise DataError("A run is matched by document ids, and a judged list has one of them twice.")
    found = pc.index_in(pa.array(numbers * width + codes[:retrieved]), judged_keys)
    hit = found.is_valid().to_numpy(zero_copy_only=False)
    rows = found.drop_null().to_numpy()
    missed = np.flatnonzero(~np.isin(np.arange(judged.n_rows), rows))
    labels = np.zeros(retrieved)
    labels[hit] = judged.labels[rows]
    lists = np.concatenate([numbers, judged_lists[missed]])
    order = np.argsort(lists, kind="stable")
    ids = pa.concat_arrays([documents, judged.document_ids.cast(pa.large_string()).take(pa.array(missed))])
    dataset = Dataset(
        features=np.empty((len(lists), 0), dtype=np.float32),
        labels=np.concatenate([labels, judged.labels[missed]])[order],
        offsets=np.searchsorted(lists[order], np.arange(judged.n_lists + 1)),
        query_ids=judged.query_ids,
        document_ids=ids.take(pa.array(order)),
        list_weights=judged.list_weights,
    )
    return np.concatenate([scores, np.full(len(missed), -np.inf)])[order], dataset


def write_run(path: FilePath, scores: Any, dataset: Dataset, tag: str = "luce", top: int | None = None) -> None:
    """Write a run: the documents of each list by falling score, equal ones in their order; −inf is not retrieved.

    `top` keeps that many of each list.

    >>> import pathlib, tempfile
    >>> data = Dataset(np.empty((2, 0)), [1, 0], [0, 2], ["q"], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = pathlib.Path(folder) / "luce.run"
    ...     write_run(name, [0.5, 2.0], data)
    ...     print(name.read_text())
    q Q0 b 1 2.0 luce
    q Q0 a 2 0.5 luce
    """
    if not tag or len(tag.split()) != 1:
        raise OptionError(f"tag must be one word. Got {tag!r}.")
    if top is not None and top < 1:
        raise OptionError(f"top must be at least 1. Got {top}.")
    if dataset.document_ids is None:
        raise DataError(NO_DOCUMENTS)
    values = check_rows("scores", scores, dataset.n_rows)
    if np.any(values == np.inf):
        raise DataError("scores must be finite, or −inf for what is not retrieved. Got +inf.")
    lists = list_of_row(dataset.offsets)
    order = np.lexsort((-values, lists))  # stable; a list keeps its rows, so that its number and place are known
    ranks = np.arange(1, dataset.n_rows + 1) - dataset.offsets[lists]
    kept = np.flatnonzero((values[order] > -np.inf) & (ranks <= (top or dataset.n_rows)))
    with replacing(path) as partial, open_to_write(partial, path) as file:
        for start in range(0, len(kept), LINES):
            rows = order[block := kept[start : start + LINES]]
            queries = dataset.query_ids.take(pa.array(lists[rows]))
            documents = dataset.document_ids.take(pa.array(rows))
            file.write(run_lines(queries, documents, pa.array(ranks[block]), pa.array(values[rows]), tag))


def run_lines(queries: pa.Array, documents: pa.Array, ranks: pa.Array, scores: pa.Array, tag: str = "luce") -> bytes:
    """Lines of a run; ids that its reader could not tell from two words are refused.

    >>> run_lines(pa.array([7]), pa.array(["a"]), pa.array([1]), pa.array([0.5]))
    b'7 Q0 a 1 0.5 luce\\n'
    """
    columns = _words("query", queries), _words("document", documents), ranks.to_pylist(), scores.to_pylist()
    rows = zip(*columns, strict=True)
    return "".join(f"{query} Q0 {item} {rank} {score!r} {tag}\n" for query, item, rank, score in rows).encode()


def _read_columns(path: FilePath, form: str) -> tuple[pa.Array, pa.Array, Floats, Integers]:
    """Queries, documents, the number of each line, and the line numbers; blank lines are passed over."""
    width, column = len(form.split()), form.split().index("score" if "score" in form else "grade")
    queries, documents, values, lines = [], [], [], []
    with InputStream(path) as stream, io.BufferedReader(stream, 1 << 20) as file:
        numbered = _fields(path, file, form, width)
        while block := list(itertools.islice(numbered, LINES)):
            queries.append(pa.array([fields[0] for _, fields in block], pa.large_string()))
            documents.append(pa.array([fields[2] for _, fields in block], pa.large_string()))
            values.append(np.array([_number(path, form, at, fields, column) for at, fields in block]))
            lines.append(np.array([at for at, _ in block]))
    if not values:
        raise DataError(f"{path} is empty; lines `{form}` are expected.")
    return pa.concat_arrays(queries), pa.concat_arrays(documents), np.concatenate(values), np.concatenate(lines)


def _fields(path: FilePath, file: Any, form: str, width: int) -> Iterator[tuple[int, list[str]]]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise _bad(path, number, line[:60].decode(errors="replace") + "…", form, "the line is too long")
        fields = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").split()
        if fields and len(fields) != width:
            found = f"it has {len(fields)} fields, not {width}"
            raise _bad(path, number, line.decode(errors="replace"), form, found)
        if fields:
            try:
                yield number, [field.decode() for field in fields]
            except UnicodeDecodeError:
                raise _bad(path, number, line.decode(errors="replace"), form, "it is not UTF-8") from None


def _number(path: FilePath, form: str, line: int, fields: list[str], column: int) -> float:
    try:
        value = float(fields[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = form.split()[column]
        raise _bad(path, line, " ".join(fields), form, f"its {what}, {fields[column]!r}, is not a finite number")
    return value


def _refuse_twice(path: FilePath, form: str, lists: Integers, codes: pa.Array, lines: Integers) -> None:
    """Refuse a document that stands twice under one query."""
    documents = codes.to_numpy().astype(np.int64)
    order = np.lexsort((lines, documents, lists))
    same = (np.diff(lists[order]) == 0) & (np.diff(documents[order]) == 0)
    if same.any():
        at = int(np.flatnonzero(same)[np.argmin(lines[order][1:][same])])
        first, second = lines[order[at]], lines[order[at + 1]]
        raise DataError(
            f"{path}, line {second}: the same query and document as in line {first}. Expected once: `{form}`."
        )


def _bad(path: FilePath, line: int, text: str, form: str, why: str) -> DataError:
    return DataError(f"{path}, line {line}: {why}. Got {text.strip()[:80]!r}; expected `{form}`.")


def _words(name: str, ids: pa.Array) -> list[str]:
    """Ids as text; an error for one that is empty or has spaces."""
    text = ids.cast(pa.large_string())
    bad = pc.index(pc.or_(pc.equal(text, ""), pc.match_substring_regex(text, r"[\s\v]")), True).as_py()
    if bad >= 0:
        raise DataError(f"In a TREC file ids are words without spaces. The {name} id {text[bad].as_py()!r} is none.")
    words: list[str] = text.to_pylist()
    return words


def _write_lines(path: FilePath, lines: Iterator[str]) -> None:
    with replacing(path) as partial, open_to_write(partial, path) as file:
        while block := "".join(itertools.islice(lines, LINES)):
            file.write(block.encode())
