"""Reading LETOR and SVMlight text: pieces of lines parsed on several threads, then put together."""

import os
from pathlib import Path

from luce.arrays import offsets_of_sizes
from luce.data.letor.list_sizes import read_list_sizes
from luce.data.letor.parts import Bounds
from luce.data.letor.scan import Progress, Scan
from luce.data.letor.whole import DenseFeatures, DocumentIds, Labels, Lists, SparseFeatures, lists_of, put_together
from luce.data.ragged import Dataset
from luce.data.slabs import Slabs
from luce.data.streams import Source
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
    n_jobs: int | None = None,
    progress: Progress | None = None,
    spool: FilePath | None = None,
) -> Dataset:
    """The dataset of a LETOR or SVMlight text, plain or compressed (.gz, .bz2, .zst).

    A line is `label qid:query index:value index:value … # comment`. Features that a line leaves out are 0; `nan` and
    `NULL` are missing. The document id is what follows `docid =` in the comment, else the comment's first word.
    Rows of one query that are not together are brought together: lists in order of first appearance, rows in order.

    Args:
        path: the file.
        n_features: the number of features, where the file may not use the last of them.
        first_index: 0 or 1, the lowest feature index; None = 0 where the file has the index 0 anywhere, else 1.
        sparse: whether the features become a SciPy CSR array; None = what takes clearly less memory.
        max_features: an index beyond this is an error, not a request for memory.
        lists: a file of list sizes, one a line, for text without qid; None = PATH.query or PATH.group, as LightGBM has.
        n_jobs: the number of threads; None = all cores.
        progress: called with the bytes of the file read so far and in all.
        spool: a directory; the arrays are then in files there, without names, for data larger than memory.

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
    slabs, threads = Slabs(spool), thread_count(n_jobs)
    with Source(path) as source:
        scan = Scan(source, _bounds(n_features, first_index, max_features), slabs, threads)
        scan.read(progress)
    base = scan.base if first_index is None else first_index
    shape = scan.rows, _width(scan, Path(path), base, n_features, max_features)
    grouped = _lists(scan, Path(path), lists)
    if _is_sparse(sparse, shape, scan.written):
        features: DenseFeatures | SparseFeatures = SparseFeatures(shape, base, scan.written, slabs)
    else:
        features = DenseFeatures(shape, base, slabs)
    labels, documents = Labels(scan.rows, slabs), DocumentIds(scan.rows, slabs)
    put_together(scan.parts, grouped, [labels, features, documents], threads)
    return Dataset(
        features=features.result,
        labels=labels.result,
        offsets=grouped.offsets,
        query_ids=grouped.query_ids,
        document_ids=documents.result,
        feature_names=tuple(map(str, range(shape[1]))) if base == 0 and shape[1] <= NAMED_FEATURES else None,
    )


def _bounds(n_features: int | None, first_index: int | None, max_features: int) -> Bounds:
    if first_index not in (None, 0, 1):
        raise OptionError(f"first_index must be 0, 1 or None (found from the file). Got {first_index!r}.")
    for name, value in (("n_features", n_features), ("max_features", max_features)):
        if value is not None and not (isinstance(value, int) and 1 <= value < 2**31 - 1):
            raise OptionError(f"{name} must be an integer from 1 to {2**31 - 2:,}. Got {value!r}.")
    if n_features is not None:
        return Bounds(first_index or 0, n_features - (first_index == 0), "n_features says so, or the model")
    return Bounds(first_index or 0, max_features - (first_index == 0), "raise max_features if the file means it")


def _width(scan: Scan, path: Path, base: int, n_features: int | None, max_features: int) -> int:
    """The number of features. A file that turns out to count from 0 may have one more than it seemed."""
    width = scan.highest + 1 - base
    limit = max_features if n_features is None else n_features
    if width > limit:
        option = "max_features" if n_features is None else "n_features"
        raise DataError(
            f"{path}, line {scan.highest_line:,}: feature indices must be at most {limit - 1:,}, as they count from 0 "
            f"and {option} is {limit:,}. Got {scan.highest:,}."
        )
    return width if n_features is None else n_features


def _lists(scan: Scan, path: Path, sizes: FilePath | None) -> Lists:
    lists = lists_of(scan.parts)
    if lists.query_ids is None:
        return lists._replace(offsets=offsets_of_sizes(read_list_sizes(path, sizes, scan.rows)))
    if sizes is not None:
        raise DataError(f"{path} has query ids; leave out lists={os.fspath(sizes)!r}.")
    return lists


def _is_sparse(wanted: bool | None, shape: tuple[int, int], written: int) -> bool:
    """Dense is simpler to work with, so it may take half as much memory again."""
    if wanted is not None:
        return wanted
    return 4 * shape[0] * shape[1] > 1.5 * 8 * (written + shape[0])
