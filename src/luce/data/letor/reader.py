"""Reading LETOR and SVMlight text: pieces of lines parsed on several threads, then put together."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from luce.arrays import Floats
from luce.data.allocation import BlockAllocator
from luce.data.grouping import Grouping
from luce.data.letor.assemble import dense_features, group_pieces, sparse_features
from luce.data.letor.piece import IndexBounds, LineError, ParsedPiece, parse_piece
from luce.data.ragged import Dataset
from luce.data.streams import Bytes, InputStream, parse_pieces, text_pieces
from luce.errors import DataError, OptionError
from luce.threads import thread_count

FilePath = str | os.PathLike[str]

MAX_FEATURES = 2**24
"""More features than this are taken for a mistake unless a higher limit is given."""

NAMED_FEATURES = 2**16
"""Features counted from 0 are named by their number up to this many of them; more names would outweigh the data."""


def read_letor(
    path: FilePath,
    *,
    n_features: int | None = None,
    first_index: int | None = None,
    sparse: bool | None = None,
    max_features: int = MAX_FEATURES,
    lists: FilePath | None = None,
    temp_folder: FilePath | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Read LETOR or SVMlight text, plain or compressed (.gz, .bz2, .zst).

    A line is `label qid:query index:value index:value … # comment`. Features that a line leaves out are 0; `nan` and
    `NULL` are missing. The document id is what follows `docid =` in the comment, else the comment's first word.
    Rows of one query need not be adjacent: they are grouped, with lists in order of first appearance.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, optional
        The number of features, if the file may not contain the last ones.
    first_index : {0, 1}, optional
        The lowest feature index; by default 0 if the file contains the index 0, else 1.
    sparse : bool, optional
        Whether the features become a SciPy CSR array; by default if that takes clearly less memory.
    max_features : int
        A higher index is an error, so that a typo does not allocate memory.
    lists : str or path-like, optional
        A file of list sizes, one per line, for text without qid; by default PATH.query or PATH.group, as in LightGBM.
    temp_folder : str or path-like, optional
        A folder for memory-mapped temporary files with the features, which may then be larger than memory.
    n_jobs : int, optional
        The number of threads; by default all cores.
    progress : callable, optional
        Called with the number of bytes read so far and in total.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.txt"
    ...     _ = file.write_text("2 qid:7 1:0.5 3:1 #docid = a\\n0 qid:7 2:nan #docid = b\\n1 qid:8 1:2\\n")
    ...     data = read_letor(file)
    >>> data, data.query_ids.to_pylist(), data.document_ids.to_pylist()
    (Dataset(3 rows, 2 lists, 3 features, labels 0 to 2), [7, 8], ['a', 'b', ''])
    >>> data.features
    array([[0.5, 0. , 1. ],
           [0. , nan, 0. ],
           [2. , 0. , 0. ]], dtype=float32)
    """
    threads = thread_count(n_jobs)
    scan, allocator = _Scan(Path(path)), BlockAllocator(temp_folder)
    parse = partial(parse_piece, bounds=_bounds(n_features, first_index, max_features), allocator=allocator)
    with InputStream(path) as stream:
        for text, (piece, error) in parse_pieces(text_pieces(stream), parse, threads):
            scan.accept(text, piece, error)
            if progress is not None:
                progress(stream.position, stream.size)
    if not scan.rows:
        what = "has only blank lines and comments" if scan.lines else "is empty"
        raise DataError(f"{path} {what}; at least one row is needed.")
    base = scan.base if first_index is None else first_index
    shape = scan.rows, scan.width(base, n_features, max_features)
    grouping = group_pieces(scan.pieces, scan.path, lists)
    labels, document_ids = _labels(scan.pieces, grouping), _document_ids(scan.pieces, grouping)
    zeros = np.zeros if temp_folder is None else allocator.zeros
    if _is_sparse(sparse, shape, scan.entries):
        features = sparse_features(scan.pieces, grouping.position, shape, base, zeros)
    else:
        features = dense_features(scan.pieces, grouping.position, shape, base, zeros, threads)
    return Dataset.of_finite_features(
        features=features,
        labels=labels,
        offsets=grouping.offsets,
        query_ids=grouping.query_ids,
        document_ids=document_ids,
        feature_names=tuple(map(str, range(shape[1]))) if base == 0 and shape[1] <= NAMED_FEATURES else None,
    )


def _labels(pieces: list[ParsedPiece], grouping: Grouping) -> Floats:
    labels = np.concatenate([piece.labels for piece in pieces])
    return labels if grouping.order is None else labels[grouping.order]


def _document_ids(pieces: list[ParsedPiece], grouping: Grouping) -> pa.Array | None:
    """The document ids of all rows, None where no row has one."""
    if not any(piece.document_ids.buffers()[2].size for piece in pieces):
        return None
    ids = pa.concat_arrays([piece.document_ids for piece in pieces])
    return ids if grouping.order is None else ids.take(pa.array(grouping.order))


class _Scan:
    """The pieces of a file that have rows, and what is known of all of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pieces: list[ParsedPiece] = []
        self.rows = self.lines = self.entries = 0
        self.base = 1  # 0 where the index 0 occurs
        self.highest = self.highest_line = 0  # the highest feature index, and the line where it first occurs
        self._has_queries: bool | None = None

    def accept(self, text: Bytes, piece: ParsedPiece, error: LineError | None) -> None:
        """Add the next piece; an error that names the line where something is wrong with it."""
        error = min(filter(None, (error, self._query_error(piece))), default=None)
        if error is not None:
            raise DataError(self._located(text, error))
        if piece.highest > self.highest:
            self.highest, self.highest_line = piece.highest, self._line_number(text, piece.highest_place)
        self.base = min(self.base, piece.base)
        self.rows += len(piece.labels)
        self.lines += piece.lines
        self.entries += piece.n_entries
        if len(piece.labels):
            self.pieces.append(piece)

    def width(self, base: int, n_features: int | None, max_features: int) -> int:
        """The number of features. A file that turns out to count from 0 may have one more than it seemed."""
        width = self.highest + 1 - base
        limit = max_features if n_features is None else n_features
        if width > limit:
            option = "max_features" if n_features is None else "n_features"
            raise DataError(
                f"{self.path}, line {self.highest_line:,}: feature indices must be at most {limit - 1:,}, as they "
                f"count from 0 and {option} is {limit:,}. Got {self.highest:,}."
            )
        return width if n_features is None else n_features

    def _query_error(self, piece: ParsedPiece) -> LineError | None:
        """Either every row has a query id or none has."""
        has_id = np.diff(np.frombuffer(piece.query_ids.buffers()[1], np.int64)) > 0
        if self._has_queries is None and len(has_id):
            self._has_queries = bool(has_id[0])
        wrong = np.flatnonzero(has_id != self._has_queries)
        if not len(wrong):
            return None
        this = "no qid:, and earlier lines have one" if self._has_queries else "a qid:, and earlier lines have none"
        return LineError(
            int(piece.run_places[wrong[0]]), f"expected qid: on every line or on none. This line has {this}."
        )

    def _line_number(self, text: Bytes, place: int) -> int:
        return self.lines + 1 + int(np.count_nonzero(text[:place] == ord("\n")))

    def _located(self, text: Bytes, error: LineError) -> str:
        """The error with the file, the number of the line and the line itself, cut around the place."""
        before = bytes(text[: error.place]).rfind(b"\n") + 1
        line = bytes(text[before:]).partition(b"\n")[0].rstrip(b"\r")
        number = self._line_number(text, error.place)
        if b"\0" in line:
            return f"{self.path}, line {number:,}: expected UTF-8 text. Got NUL bytes, as in UTF-16."
        start, end = max(0, error.place - before - 40), error.place - before + 60
        shown = line[start:end].decode(errors="replace")
        shown = ("…" if start else "") + shown + ("…" if end < len(line) else "")
        return f"{self.path}, line {number:,}: {error.text} The line: {shown!r}"


def _bounds(n_features: int | None, first_index: int | None, max_features: int) -> IndexBounds:
    if first_index not in (None, 0, 1):
        raise OptionError(f"first_index must be 0, 1 or None (inferred from the file). Got {first_index!r}.")
    for name, value in (("n_features", n_features), ("max_features", max_features)):
        if value is not None and not (isinstance(value, int) and 1 <= value < 2**31 - 1):
            raise OptionError(f"{name} must be an integer from 1 to {2**31 - 2:,}. Got {value!r}.")
    if n_features is not None:
        return IndexBounds(
            first_index or 0,
            n_features - (first_index == 0),
            "by n_features, or by the features of the model",
        )
    return IndexBounds(
        first_index or 0, max_features - (first_index == 0), "raise max_features if the index is correct"
    )


def _is_sparse(wanted: bool | None, shape: tuple[int, int], entries: int) -> bool:
    """Dense is simpler to work with, so it may take half as much memory again."""
    if wanted is not None:
        return wanted
    return 4 * shape[0] * shape[1] > 1.5 * 8 * (entries + shape[0])
