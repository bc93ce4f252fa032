"""TREC files: judgments (qrels) and the ranked documents of a system (runs)."""

import math
import os
import warnings
from collections.abc import Iterable
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, check_rows, list_of_row
from luce.data.grouping import group_rows, integer_ids
from luce.data.ragged import Dataset
from luce.data.streams import InputStream, open_to_write, text_pieces
from luce.errors import DataError, LuceWarning, OptionError
from luce.files import atomic_write

FilePath = str | os.PathLike[str]

LONGEST_LINE = 65_536
"""A line of more bytes than this is no line of a TREC file."""

LINES = 65_536
"""Lines written together."""

QRELS = "query 0 document grade"
RUN = "query Q0 document rank score tag"
RUN_LINE = "%s Q0 %s %d %r %s\n"
LINE_SCHEMA = pa.schema(
    {"query": pa.large_string(), "document": pa.large_string(), "value": pa.float64(), "line": pa.int64()}
)


def read_qrels(path: FilePath) -> Dataset:
    """The judgments of a file with lines `query 0 document grade`: a dataset with document ids and no features.

    A grade below zero (TREC's junk) is kept; the metrics count it as 0, and it ranks below 0 where order is learned.
    """
    lines = _read_lines(path, QRELS)
    grouping = group_rows(lines["query"])
    if grouping.order is not None:
        lines = lines.take(grouping.order)
    return Dataset(
        features=np.empty((len(lines), 0), dtype=np.float32),
        labels=lines["value"].to_numpy(),
        offsets=grouping.offsets,
        query_ids=integer_ids(grouping.query_ids),
        document_ids=lines["document"],
    )


def write_qrels(dataset: Dataset, path: FilePath) -> None:
    """Write the labels as TREC judgments; items without a label are left out, and so are the features."""
    _write_rows(dataset, path, np.flatnonzero(~np.isnan(dataset.labels)), "%s 0 %s %.17g\n", dataset.labels)


def read_run(path: FilePath, judged: Dataset) -> tuple[Floats, Dataset]:
    """Read a run, with lines `query Q0 document rank score tag`, and match it with its judgments.

    Documents are ordered by score; the rank column is not used. Queries without judgments are left out, with a
    warning; judged queries that are not in the run stay, all with score −inf.

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
        The lists of `judged`, in that order. A list has the documents of the run, with label 0 for those
        without a judgment, followed by the judged documents that are not in the run.

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
        raise DataError("A run is matched by document id, but the judged dataset has no document ids.")
    known = judged.query_ids.cast(pa.large_string())
    if not judged.n_rows:
        raise DataError("There are no judgments to match the run with.")
    if len(known.unique()) < len(known):
        raise DataError("A run is matched by query id, but two judged lists have the same one.")
    lines = _read_lines(path, RUN)
    lists = pc.index_in(lines["query"], known)
    if lists.null_count == len(lists):
        raise DataError(
            f"{path}: none of its queries was judged. It has {lines['query'][0]}, the judgments {known[0]}."
        )
    if lists.null_count:
        count = len(lines["query"].filter(lists.is_null()).unique())
        warnings.warn(f"{path}: {count} queries without judgments are left out.", LuceWarning, stacklevel=2)
    return _matched(judged, lines.append_column("list", lists.cast(pa.int64())).filter(lists.is_valid()))


def _matched(judged: Dataset, run: pa.Table) -> tuple[Floats, Dataset]:
    """The scores and the dataset of the retrieved documents of each list and of the judged ones that are not."""
    lists, documents = list_of_row(judged.offsets), judged.document_ids.cast(pa.large_string())
    judgments = pa.table({"list": lists, "document": documents, "label": judged.labels, "row": np.arange(len(lists))})
    if _first_duplicate(lists, documents):
        raise DataError("A run is matched by document id, but a judged list has one of them twice.")
    both = run.drop("query").join(judgments, ["list", "document"], join_type="full outer")
    both = both.sort_by([("list", "ascending"), ("line", "ascending"), ("row", "ascending")])  # nulls are last
    dataset = Dataset(
        features=np.empty((len(both), 0), dtype=np.float32),
        labels=both["label"].fill_null(0).to_numpy(),
        offsets=np.searchsorted(both["list"].to_numpy(), np.arange(judged.n_lists + 1)),
        query_ids=judged.query_ids,
        document_ids=both["document"],
        list_weights=judged.list_weights,
    )
    return both["value"].fill_null(-math.inf).to_numpy(), dataset


def write_run(scores: Any, dataset: Dataset, path: FilePath, *, tag: str = "luce", top: int | None = None) -> None:
    """Write a run: the documents of each list by descending score, equal ones in their order.

    Parameters
    ----------
    scores : array-like of shape (N,)
        The score of each item; −inf = not retrieved.
    dataset : Dataset
        The lists, with document ids.
    path : str or path-like
        The file to write, compressed if it ends in .gz, .bz2 or .zst.
    tag : str
        The name of the system, one word.
    top : int, optional
        The number of documents per list; all by default.

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
        raise OptionError(f"tag must be one word without spaces. Got {tag!r}.")
    if top is not None and top < 1:
        raise OptionError(f"top must be at least 1. Got {top}.")
    values = check_rows("scores", scores, dataset.n_rows)
    if np.any(values == np.inf):
        raise DataError("scores must be finite, or −inf for documents that are not retrieved. Got +inf.")
    lists = list_of_row(dataset.offsets)
    order = np.lexsort((-values, lists))  # stable; a list keeps its rows, so that its number and place are known
    ranks = np.empty(dataset.n_rows, np.int64)
    ranks[order] = np.arange(1, dataset.n_rows + 1) - dataset.offsets[lists]

    rows = order[(values[order] > -np.inf) & (ranks[order] <= (top or dataset.n_rows))]
    _write_rows(dataset, path, rows, RUN_LINE, ranks, values, np.full(dataset.n_rows, tag, dtype=object))


def run_lines(queries: pa.Array, documents: pa.Array, ranks: pa.Array, scores: pa.Array, tag: str = "luce") -> bytes:
    """Lines of a run; ids that its reader could not tell from two words are refused.

    >>> run_lines(pa.array([7]), pa.array(["a"]), pa.array([1]), pa.array([0.5]))
    b'7 Q0 a 1 0.5 luce\\n'
    """
    return _lines(RUN_LINE, queries, documents, ranks.to_pylist(), scores.to_pylist(), repeat(tag))


def _lines(form: str, queries: pa.Array, documents: pa.Array, *columns: Iterable[Any]) -> bytes:
    words = _words("query", queries), _words("document", documents)
    return "".join(map(form.__mod__, zip(*words, *columns))).encode()  # noqa: B905  (a column may repeat forever)


def _write_rows(dataset: Dataset, path: FilePath, rows: Integers, form: str, *columns: NDArray[Any]) -> None:
    """Write a line for each of these rows, block by block: its query, its document and its values in the columns."""
    if dataset.document_ids is None:
        raise DataError("A TREC file needs document ids, and the dataset has none.")
    lists = list_of_row(dataset.offsets)
    with atomic_write(path) as partial, open_to_write(partial, path) as file:
        for start in range(0, len(rows), LINES):
            block = rows[start : start + LINES]
            queries, documents = dataset.query_ids.take(pa.array(lists[block])), dataset.document_ids.take(block)
            file.write(_lines(form, queries, documents, *(column[block].tolist() for column in columns)))


def _words(name: str, ids: pa.Array) -> list[str]:
    """Ids as text; an error for one that is empty or has spaces."""
    text = ids.cast(pa.large_string())
    bad = pc.index(pc.or_(pc.equal(text, ""), pc.match_substring_regex(text, r"[\s\v]")), True).as_py()
    if bad >= 0:
        raise DataError(
            f"Ids in a TREC file must not be empty or contain spaces. Got the {name} id {text[bad].as_py()!r}."
        )
    words: list[str] = text.to_pylist()
    return words


def _read_lines(path: FilePath, form: str) -> pa.Table:
    """The columns query, document, value and line (number) of a file; blank lines are passed over."""
    names, number, tables = form.split(), 0, []
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
                tables.append(pa.table(list(zip(*rows, strict=True)), schema=LINE_SCHEMA))
    if not tables:
        raise DataError(f"{path} is empty; lines `{form}` are expected.")
    table = pa.concat_tables(tables).combine_chunks()
    if duplicate := _first_duplicate(table["query"].chunk(0), table["document"].chunk(0)):
        first, second = (table["line"][row] for row in duplicate)
        raise DataError(
            f"{path}, line {second}: the same query and document as in line {first}; each pair must occur once: "
            f"`{form}`."
        )
    return table


def _fields(names: list[str], fields: list[bytes], length: int) -> tuple[str, str, float]:
    """Query, document and value of a line; a ValueError that says what is wrong with it."""
    if length > LONGEST_LINE:
        raise ValueError("the line is too long")
    if len(fields) != len(names):
        raise ValueError(f"it has {len(fields)} fields, not {len(names)}")
    try:
        words = b" ".join(fields).decode().split(" ")
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


def _first_duplicate(queries: Any, documents: Any) -> tuple[int, int] | None:
    """The first row whose query and document another row has before it: (that row, this row)."""
    codes = [pa.array(ids).dictionary_encode().indices.to_numpy() for ids in (queries, documents)]
    order = np.lexsort(codes)  # stable: equal rows stay in their order
    equal = np.flatnonzero(np.all([np.diff(code[order]) == 0 for code in codes], axis=0))
    if not equal.size:
        return None
    at = equal[np.argmin(order[equal + 1])]
    return int(order[at]), int(order[at + 1])
