"""FORMATS, the one table of file formats; `read` and `write` find the format by the suffix of the file name."""

import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from luce.data.columns import choose_columns
from luce.data.extreme import read_tagged, write_tagged
from luce.data.letor import read_letor, write_letor
from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.ragged import Dataset
from luce.data.streams import CODECS
from luce.data.table_files import read_arrow, read_csv, read_parquet
from luce.data.table_writing import write_arrow, write_csv, write_parquet
from luce.data.trec import read_qrels, write_qrels
from luce.errors import DataError, OptionError, did_you_mean, nearest_names, unknown_name

logger = logging.getLogger(__name__)

FilePath = str | os.PathLike[str]


class Format(NamedTuple):
    """A file format: its name, the suffixes that mean it, a summary, and the functions that read and write it.

    `compressible` files may also end in .gz, .bz2 or .zst.
    """

    name: str
    suffixes: tuple[str, ...]
    summary: str
    reader: Callable[..., Any]
    write: Callable[[Any, FilePath], None]
    compressible: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that reading takes."""
        parameters = inspect.signature(self.reader).parameters.values()
        is_table = any(each.kind is each.VAR_KEYWORD for each in parameters)
        columns = list(inspect.signature(choose_columns).parameters)[1:] if is_table else []
        return (*(each.name for each in parameters if each.kind is each.KEYWORD_ONLY), *columns)

    def read(self, path: FilePath, **options: Any) -> Any:
        """The data in a file of this format; an unknown option, a missing and an empty file are errors."""
        for name in options:
            if name not in self.options:
                guess, takes = did_you_mean(nearest_names(name, self.options)), ", ".join(self.options) or "none"
                raise OptionError(f"Format {self.name} has no option {name!r}.{guess} Its options: {takes}.")
        file = Path(path)
        if not file.exists():
            raise DataError(f"There is no file {file}.")
        if file.is_dir():
            raise DataError(f"{file} is a directory; give a file name.")
        if file.is_file() and not file.stat().st_size:
            raise DataError(f"{file} is empty; at least one row is needed.")
        data = self.reader(path, **options)
        logger.info("%s: %r", file, data)
        return data


TEXT = (".txt", ".letor", ".svm", ".svmlight", ".libsvm", ".dat", ".train", ".vali", ".valid", ".test")
LETOR = "LETOR and SVMlight text, `label qid:7 1:0.5 3:2 #docid = …`, or list sizes in a .query file next to it"
CSV = "text with a header, separated by commas, tabs, semicolons or |, one row per item"
QRELS = "TREC judgments, `query 0 document grade`; without features, for evaluation only"

FORMATS = {
    each.name: each
    for each in (
        Format("letor", TEXT, LETOR, read_letor, write_letor, compressible=True),
        Format("csv", (".csv", ".tsv"), CSV, read_csv, write_csv, compressible=True),
        Format("parquet", (".parquet", ".pq"), "Parquet table, one row per item", read_parquet, write_parquet),
        Format("arrow", (".arrow", ".feather", ".ipc"), "Arrow table, one row per item", read_arrow, write_arrow),
        Format(
            "mapped",
            (".luce-data",),
            "Arrow file that is memory-mapped and needs no parsing",
            read_mapped,
            write_mapped,
        ),
        Format("qrels", (".qrels",), QRELS, read_qrels, write_qrels, compressible=True),
    )
}

TAGGED = Format("tagged", (), "extreme-classification text", read_tagged, write_tagged, compressible=True)
"""The format of `TaggedData`. It is not in the table: no suffix means it, and other data come out of it."""


def read(path: FilePath, *, format: str | None = None, **options: Any) -> Dataset:
    """Read a dataset from a file.

    Parameters
    ----------
    path : str or path-like
        The file. Its extension determines the format, also before .gz, .bz2 or .zst.
    format : str, optional
        The name of the format, a key of `luce.data.FORMATS`, if it does not follow from the extension.
    **options
        The options of the format, such as `sparse=True` of LETOR text or `label="clicks"` of a table.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        The file is missing, empty, or not in its format; the message contains the line.
    OptionError
        The format or an option is unknown.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = Path(folder) / "small.csv"
    ...     _ = name.write_text("query,label,length\\n1,2,0.5\\n1,0,0.25\\n")
    ...     read(name)
    Dataset(2 rows, 1 list, 1 feature, labels 0 to 2)
    """
    dataset: Dataset = format_of(path, format).read(path, **options)
    return dataset


def write(dataset: Dataset, path: FilePath, *, format: str | None = None) -> None:
    """Write a dataset to a file; an existing file is replaced once the new one is complete.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    path : str or path-like
        The file to write. Its extension determines the format.
    format : str, optional
        The name of the format, a key of `luce.data.FORMATS`, if it does not follow from the extension.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Dataset([[0.5], [0.1]], [1, 0], [0, 2]), Path(folder) / "small.parquet")
    ...     read(Path(folder) / "small.parquet")
    Dataset(2 rows, 1 list, 1 feature, labels 0 to 1)
    """
    format_of(path, format).write(dataset, path)


def format_of(path: FilePath, name: str | None = None) -> Format:
    """The format of this name, or the one that the suffix of a path means.

    >>> format_of("fold1/train.txt.gz").name
    'letor'
    """
    if name is not None:
        if name not in FORMATS:
            raise unknown_name("format", name, FORMATS)
        return FORMATS[name]
    file = Path(path)
    compressed = file.suffix.lower() in CODECS
    suffix = Path(file.stem).suffix.lower() if compressed else file.suffix.lower()
    for each in FORMATS.values():
        if suffix in each.suffixes and compressed and not each.compressible:
            raise OptionError(
                f"{file}: {each.name} files cannot be compressed with {file.suffix}; leave out that extension."
            )
        if suffix in each.suffixes:
            return each
    if file.is_dir():
        raise DataError(f"{file} is a directory; give a file name.")
    known = "; ".join(f"{each.name} ({' '.join(each.suffixes)})" for each in FORMATS.values())
    raise OptionError(
        f"{file}: unknown extension {suffix!r}. Save the data in one of these formats, or name theirs with format=, on "
        f"the command line --read format=NAME: {known}."
    )
