"""FORMATS, the one table of file formats, and `read` and `write`, which find the format by the ending of the name."""

import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from luce.data.columns import choose_columns
from luce.data.letor import read_letor, write_letor
from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.ragged import Dataset
from luce.data.streams import COMPRESSIONS
from luce.data.table_files import read_arrow, read_csv, read_parquet, write_arrow, write_csv, write_parquet
from luce.data.trec import read_qrels, write_qrels
from luce.errors import DataError, OptionError, unknown_name

logger = logging.getLogger(__name__)


class Format(NamedTuple):
    """A file format: its name, the endings that mean it, what it is, and the functions that read and write it.

    `compressible` files may also end in .gz, .bz2 or .zst.
    """

    name: str
    endings: tuple[str, ...]
    summary: str
    read: Callable[..., Dataset]
    write: Callable[[Dataset, str | os.PathLike[str]], None]
    compressible: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that reading takes."""
        own = inspect.signature(self.read).parameters.values()
        of_table = any(each.kind is each.VAR_KEYWORD for each in own)
        columns = list(inspect.signature(choose_columns).parameters)[1:] if of_table else []
        return (*(each.name for each in own if each.kind is each.KEYWORD_ONLY), *columns)


TEXT = (".txt", ".letor", ".svm", ".svmlight", ".libsvm", ".dat", ".train", ".vali", ".valid", ".test")
LETOR = "LETOR and SVMlight text, `label qid:7 1:0.5 3:2 #docid = …`, or list sizes in a .query file beside it"
CSV = "text with a header, separated by commas or tabs, one row an item"
QRELS = "TREC judgements, `query 0 document grade`: no features, for evaluation"

FORMATS = {
    each.name: each
    for each in (
        Format("letor", TEXT, LETOR, read_letor, write_letor, compressible=True),
        Format("csv", (".csv", ".tsv"), CSV, read_csv, write_csv, compressible=True),
        Format("parquet", (".parquet", ".pq"), "Parquet table, one row an item", read_parquet, write_parquet),
        Format("arrow", (".arrow", ".feather", ".ipc"), "Arrow table, one row an item", read_arrow, write_arrow),
        Format("mapped", (".luce-data",), "parsed once, memory-mapped after", read_mapped, write_mapped),
        Format("qrels", (".qrels",), QRELS, read_qrels, write_qrels, compressible=True),
    )
}


def read(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> Dataset:
    """The dataset in a file, in the format that its ending says or that is named; options are those of the format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = Path(folder) / "small.csv"
    ...     _ = name.write_text("query,label,length\\n1,2,0.5\\n1,0,0.25\\n")
    ...     read(name)
    Dataset(2 rows, 1 list, 1 feature, labels 0 to 2)
    """
    chosen = format_of(path, format)
    for name in options:
        if name not in chosen.options:
            takes = ", ".join(chosen.options) or "none"
            raise OptionError(f"Format {chosen.name} has no option {name!r}. Its options: {takes}.")
    file = Path(path)
    if not file.exists():
        raise DataError(f"There is no file {file}.")
    if file.is_dir():
        raise DataError(f"{file} is a directory; give the name of a file to read.")
    if not file.stat().st_size:
        raise DataError(f"{file} is empty; at least one row is needed.")
    dataset = chosen.read(path, **options)
    logger.info("%s: %r", file, dataset)
    return dataset


def write(dataset: Dataset, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a dataset in the format that the ending says or that is named; what was there stays whole until it is done.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Dataset([[0.5], [0.1]], [1, 0], [0, 2]), Path(folder) / "small.parquet")
    ...     read(Path(folder) / "small.parquet")
    Dataset(2 rows, 1 list, 1 feature, labels 0 to 1)
    """
    format_of(path, format).write(dataset, path)


def format_of(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """The format that is named, or that the ending of a path means.

    >>> format_of("fold1/train.txt.gz").name
    'letor'
    """
    if name is not None:
        if name not in FORMATS:
            raise unknown_name("format", name, FORMATS)
        return FORMATS[name]
    file = Path(path)
    packed = file.suffix.lower() in COMPRESSIONS
    ending = Path(file.stem).suffix.lower() if packed else file.suffix.lower()
    for each in FORMATS.values():
        if ending in each.endings and packed and not each.compressible:
            raise OptionError(
                f"{file}: {each.name} files are not read or written as {file.suffix}; leave that ending out."
            )
        if ending in each.endings:
            return each
    if file.is_dir():
        raise DataError(f"{file} is a directory; give the name of a file.")
    known = "; ".join(f"{each.name} ({' '.join(each.endings)})" for each in FORMATS.values())
    raise OptionError(f"{file}: the ending {ending!r} means no format. Say which by format=…: {known}.")
