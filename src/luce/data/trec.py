"""TREC files: judgments (qrels) and the ranked documents of a system (runs)."""

import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.arrays import Floats, Integers, check_rows, list_of_row
from luce.data.grouping import group_rows, integer_ids
from luce.data.ragged import Dataset
from luce.data.streams import InputStream, open_to_write, text_pieces
from luce.errors import DataError, LuceWarning, OptionError
from luce.files import replacing

FilePath = str | os.PathLike[str]

LONGEST_LINE = 65_536
"""A line of more bytes than this is no line of a TREC file."""

LINES = 65_536
"""Lines written together."""

QRELS = "query 0 document grade"
RUN = "query Q0 document rank score tag"


def read_qrels(path: FilePath) -> Dataset:
    """The judgments of a file with lines `query 0 document grade`: a dataset with document ids and no features.

    A grade below zero (TREC's junk) is kept; the metrics count it as 0, and it ranks below 0 where order is learned.
    """
    queries, documents, grades, lines = _read_columns(path, QRELS)
    grouping = group_rows(queries)
    order = np.arange(len(grades)) if grouping.order is None else grouping.order
    documents = documents.take(pa.array(order))
    _refuse_twice(path, QRELS, list_of_row(grouping.offsets), _codes(documents), lines[order])
    return Dataset(
        features=np.empty((len(grades), 0), dtype=np.float32),
        labels=grades[order],
        offsets=grouping.offsets,
        query_ids=integer_ids(grouping.query_ids),
        document_ids=documents,
    )


def write_qrels(dataset: Dataset, path: FilePath) -> None:
    """Write the labels as TREC judgments; items without a label are left out, and so are the features."""

    def lines(queries: pa.Array, documents: pa.Array, rows: Integers) -> bytes:
        columns = _words("query", queries), _words("document", documents), dataset.labels[rows].tolist()
        return "".join(f"{query} 0 {item} {grade:.17g}\n" for query, item, grade in zip(*columns, strict=True)).encode()

    _write_rows(dataset, path, np.flatnonzero(~np.isnan(dataset.labels)), lines)


def read_run(path: FilePath, judged: Dataset) -> tuple[Floats, Dataset]:
    """Read a run, with lines `query Q0 document rank score tag`, and match it with its judgments.

    The score decides, the rank column is not used. Queries that nobody judged are left out, with a warning; judged
    queries that the run leaves out stay, all with score −inf.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed (.gz, .bz2, .zst).
    judged : Dataset
        The judgments, with document ids.

    Returns
    -------
    scores : ndarray of shape (N,)
        The score of each item of `dataset`; −inf = not retrieved.
    dataset : Dataset
        The lists of `judged`, in that order. A list holds the documents that the run gives, with label 0 where nobody
        judged them, and then the judged ones that it does not give.

    Examples
    --------
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
        raise DataError("There are no judgments to match the run with.")
    if len(known.unique()) < len(known):
        raise DataError("A run is matched by query ids, and two judged lists have the same one.")
    queries, documents, scores, lines = _read_columns(path, RUN)
    lists = pc.index_in(queries, known)
    is_judged = lists.is_valid().to_numpy(zero_copy_only=False)
    if not is_judged.any():
        raise DataError(f"{path}: none of its queries was judged. It has {queries[0]}, the judgments {known[0]}.")
    if not is_judged.all():
        count = len(queries.filter(lists.is_null()).unique())
        warnings.warn(f"{path}: queries that nobody judged are left out: {count}.", LuceWarning, stacklevel=2)
    documents, numbers = documents.filter(pa.array(is_judged)), lists.drop_null().to_numpy().astype(np.int64)
    codes = _codes(pa.concat_arrays([documents, judged.document_ids.cast(pa.large_string())]))
    _refuse_twice(path, RUN, numbers, codes[: len(numbers)], lines[is_judged])
    return _matched(judged, numbers, documents, scores[is_judged], codes)


def _matched(
    judged: Dataset, numbers: Integers, documents: pa.Array, scores: Floats, codes: Integers
) -> tuple[Floats, Dataset]:
    """Retrieved and judged documents side by side; `codes` numbers the documents of both, retrieved first."""
    width, retrieved = int(codes.max(initial=0)) + 1, len(numbers)
    judged_lists = list_of_row(judged.offsets)
    judged_keys = pa.array(judged_lists * width + codes[retrieved:])
    if len(judged_keys.unique()) < judged.n_rows:
        raise DataError("A run is matched by document ids, and a judged list has one of them twice.")
    judgment = pc.index_in(pa.array(numbers * width + codes[:retrieved]), judged_keys)
    rows = judgment.drop_null().to_numpy()
    missed = np.setdiff1d(np.arange(judged.n_rows), rows)
    labels = np.zeros(retrieved)
    labels[judgment.is_valid().to_numpy(zero_copy_only=False)] = judged.labels[rows]
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


def write_run(scores: Any, dataset: Dataset, path: FilePath, *, tag: str = "luce", top: int | None = None) -> None:
    """Write a run: the documents of each list by descending score, equal ones in their order.

    Parameters
    ----------
    scores : array-like of shape (N,)
        The score of each item; −inf = not retrieved.
    dataset : Dataset
        The lists, with document ids.
    path : str or path-like
        The file to write, compressed where it ends in .gz, .bz2 or .zst.
    tag : str
        The name of the system, one word.
    top : int, optional
        Write only so many of each list.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> data = Dataset(np.empty((2, 0)), [1, 0], [0, 2], ["q"], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = pathlib.Path(folder) / "luce.run"
    ...     write_run([0.5, 2.0], data, name)
    ...     print(name.read_text())
    q Q0 b 1 2.0 luce
    q Q0 a 2 0.5 luce
    """
    if not tag or len(tag.split()) != 1:
        raise OptionError(f"tag must be one word. Got {tag!r}.")
    if top is not None and top < 1:
        raise OptionError(f"top must be at least 1. Got {top}.")
    values = check_rows("scores", scores, dataset.n_rows)
    if np.any(values == np.inf):
        raise DataError("scores must be finite, or −inf for what is not retrieved. Got +inf.")
    lists = list_of_row(dataset.offsets)
    order = np.lexsort((-values, lists))  # stable; a list keeps its rows, so that its number and place are known
    ranks = np.empty(dataset.n_rows, np.int64)
    ranks[order] = np.arange(1, dataset.n_rows + 1) - dataset.offsets[lists]

    def lines(queries: pa.Array, documents: pa.Array, rows: Integers) -> bytes:
        return run_lines(queries, documents, pa.array(ranks[rows]), pa.array(values[rows]), tag)

    _write_rows(dataset, path, order[(values[order] > -np.inf) & (ranks[order] <= (top or dataset.n_rows))], lines)


def run_lines(queries: pa.Array, documents: pa.Array, ranks: pa.Array, scores: pa.Array, tag: str = "luce") -> bytes:
    """Lines of a run; ids that its reader could not tell from two words are refused.

    >>> run_lines(pa.array([7]), pa.array(["a"]), pa.array([1]), pa.array([0.5]))
    b'7 Q0 a 1 0.5 luce\\n'
    """
    columns = _words("query", queries), _words("document", documents), ranks.to_pylist(), scores.to_pylist()
    rows = zip(*columns, strict=True)
    return "".join(f"{query} Q0 {item} {rank} {score!r} {tag}\n" for query, item, rank, score in rows).encode()


def _write_rows(
    dataset: Dataset, path: FilePath, rows: Integers, lines: Callable[[pa.Array, pa.Array, Integers], bytes]
) -> None:
    """Write the lines of some rows, which are made of their query and document ids, block by block."""
    if dataset.document_ids is None:
        raise DataError("A TREC file names documents, and the dataset has no document ids.")
    lists = list_of_row(dataset.offsets)
    with replacing(path) as partial, open_to_write(partial, path) as file:
        for start in range(0, len(rows), LINES):
            block = rows[start : start + LINES]
            queries, documents = dataset.query_ids.take(pa.array(lists[block])), dataset.document_ids.take(block)
            file.write(lines(queries, documents, block))


def _words(name: str, ids: pa.Array) -> list[str]:
    """Ids as text; an error for one that is empty or has spaces."""
    text = ids.cast(pa.large_string())
    bad = pc.index(pc.or_(pc.equal(text, ""), pc.match_substring_regex(text, r"[\s\v]")), True).as_py()
    if bad >= 0:
        raise DataError(f"In a TREC file ids are words without spaces. The {name} id {text[bad].as_py()!r} is none.")
    words: list[str] = text.to_pylist()
    return words


def _read_columns(path: FilePath, form: str) -> tuple[pa.Array, pa.Array, Floats, Integers]:
    """Queries, documents, the value of each line, and the line numbers; blank lines are passed over."""
    names, number, pieces = form.split(), 0, []
    with InputStream(path) as stream:
        for piece in text_pieces(stream):
            rows = []
            for line in bytes(piece).split(b"\n")[:-1]:
                number += 1
                try:
                    if fields := line.split():
                        rows.append((*_fields(names, fields, len(line)), number))
                except ValueError as error:
                    shown = line[:80].decode(errors="replace").strip() + ("…" if len(line) > 80 else "")
                    raise DataError(f"{path}, line {number}: {error}. Got {shown!r}; expected `{form}`.") from None
            if rows:
                queries, documents, values, lines = zip(*rows, strict=True)
                ids = (pa.array(each, pa.large_string()) for each in (queries, documents))
                pieces.append((*ids, np.array(values), np.array(lines)))
    if not pieces:
        raise DataError(f"{path} is empty; lines `{form}` are expected.")
    queries, documents, values, lines = zip(*pieces, strict=True)
    return pa.concat_arrays(queries), pa.concat_arrays(documents), np.concatenate(values), np.concatenate(lines)


def _fields(names: list[str], fields: list[bytes], length: int) -> tuple[str, str, float]:
    """Query, document and value of a line; a ValueError that says what is wrong with it."""
    if length > LONGEST_LINE:
        raise ValueError("the line is too long")
    if len(fields) != len(names):
        raise ValueError(f"it has {len(fields)} fields, not {len(names)}")
    try:
        words = [field.decode() for field in fields]
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    at = 3 if names[3] == "grade" else 4
    try:
        value = float(words[at])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"its {names[at]}, {words[at]!r}, is not a finite number")
    return words[0], words[2], value


def _codes(ids: pa.Array) -> Integers:
    return ids.dictionary_encode().indices.to_numpy().astype(np.int64)


def _refuse_twice(path: FilePath, form: str, lists: Integers, documents: Integers, lines: Integers) -> None:
    """Refuse a document that stands twice under one query."""
    order = np.lexsort((lines, documents, lists))
    same = (np.diff(lists[order]) == 0) & (np.diff(documents[order]) == 0)
    if same.any():
        at = int(np.flatnonzero(same)[np.argmin(lines[order][1:][same])])
        first, second = lines[order[at]], lines[order[at + 1]]
        raise DataError(
            f"{path}, line {second}: the same query and document as in line {first}. Expected once: `{form}`."
        )
