"""FORMATS, the one table of file formats; `read` and `write` find the format by the suffix of the file name."""

import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from luce.data.allocation import zeros_in
from luce.data.columns import choose_columns
from luce.data.concatenation import join, join_tagged, same_on_ranks
from luce.data.extreme import read_tagged, write_tagged
from luce.data.letor import read_letor, write_letor
from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.part_files import part_files, parts_of_rank, refuse_mapped_parts
from luce.data.query_hashes import refuse_split_lists
from luce.data.ragged import Dataset
from luce.data.shards import share_of
from luce.data.streams import CODECS
from luce.data.table_files import read_arrow, read_csv, read_parquet
from luce.data.table_writing import write_arrow, write_csv, write_parquet
from luce.data.trec import read_qrels, write_qrels
from luce.distributed import current_group
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

    def read(self, path: FilePath, *, temp_folder: FilePath | None = None, **options: Any) -> Any:
        """The data in a file, a folder or the files that match a pattern.

        An unknown option and a missing or empty file are errors. With a `temp_folder` the features are mapped from
        temporary files there.
        """
        self.check_options(options)
        files = part_files(path)
        if self.name == "mapped" and temp_folder is None:
            refuse_mapped_parts(path, len(files), 1)
        parts = [self._read_file(file, temp_folder, options) for file in files]
        if len(parts) > 1 and isinstance(parts[0], Dataset):
            refuse_split_lists([(str(file), part.query_ids) for file, part in zip(files, parts, strict=True)])
        return self._joined(parts, temp_folder)

    def read_share(self, path: FilePath, **options: Any) -> Any:
        """The part of the data that the rank of this process works on; outside of a group all of it."""
        group = current_group()
        if group is None:
            return self.read(path, **options)
        self.check_options(options)
        files = part_files(path)
        group.agree({"the data": [[file.name, os.path.getsize(file) if file.is_file() else 0] for file in files]})
        if self.name == "mapped":
            refuse_mapped_parts(path, len(files), group.size)
        if len(files) < group.size:
            return share_of(self.read(path, **options), group.rank, group.size)
        own = parts_of_rank(files, self.name, group.rank, group.size)
        parts = [self._read_file(file, None, options) for file in own]
        if isinstance(parts[0], Dataset):
            refuse_split_lists([(str(file), part.query_ids) for file, part in zip(own, parts, strict=True)], group)
        return same_on_ranks(self._joined(parts, None), group, widen=self.name == "letor")

    def _joined(self, parts: list[Any], temp_folder: FilePath | None) -> Any:
        if len(parts) == 1:
            return parts[0]
        if not isinstance(parts[0], Dataset):
            return join_tagged(parts)
        return join(parts, zeros_in(temp_folder), widen=self.name == "letor")

    def check_options(self, options: dict[str, Any]) -> None:
        """An error for an option that the format does not have."""
        for name in options:
            if name not in self.options:
                guess, takes = did_you_mean(nearest_names(name, self.options)), ", ".join(self.options) or "none"
                raise OptionError(f"Format {self.name} has no option {name!r}.{guess} Its options: {takes}.")

    def _read_file(self, file: Path, temp_folder: FilePath | None, options: dict[str, Any]) -> Any:
        if not file.exists():
            raise DataError(f"There is no file {file}.")
        if file.is_file() and not file.stat().st_size:
            raise DataError(f"{file} is empty; at least one row is needed.")
        mapped = {"temp_folder": temp_folder} if temp_folder is not None and "temp_folder" in self.options else {}
        data = self.reader(file, **options, **mapped)
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
    """Read a dataset from a file, or from several.

    Parameters
    ----------
    path : str or path-like
        The file. Its extension determines the format, also before .gz, .bz2 or .zst. Or a folder or a pattern such as
        ``"parts/*.parquet"``: the lists of all its files, in the order of their names.
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
        The file is missing, empty, or not in its format; the message contains the line. Or a query has rows in two
        files.
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


def read_share(path: FilePath, *, format: str | None = None, **options: Any) -> Dataset:
    """Read the lists that this process works on inside a group of processes, and outside of one all of them.

    Every rank reads its own files, about as many rows for each rank, and no others. Of fewer files than ranks each
    reads all and keeps its share of the lists; a `.luce-data` file is mapped, and a rank reads its share of it alone.

    Parameters
    ----------
    path : str or path-like
        A file, a folder or a pattern, as in `read`; the same for all ranks.
    format : str, optional
        The name of the format, if it does not follow from the extension.
    **options
        The options of the format, as in `read`.

    Returns
    -------
    Dataset
        The lists of the ranks, one after another, are those that `read` returns.

    Raises
    ------
    DataError
        As in `read`; also where a query has rows in the files of two ranks, on all of them.
    MachineError
        The ranks do not see the same files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in ("a", "b"):
    ...         _ = (Path(folder) / f"{part}.csv").write_text(f"query,label,length\\n{part},2,0.5\\n{part},0,0.25\\n")
    ...     read_share(folder)
    Dataset(4 rows, 2 lists, 1 feature, labels 0 to 2)
    """
    dataset: Dataset = format_of(path, format).read_share(path, **options)
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
    target_format(path, format).write(dataset, path)


def format_of(path: FilePath, name: str | None = None) -> Format:
    """The format of this name, or the one that the suffix of a path means, or those of all files that it means.

    >>> format_of("fold1/train.txt.gz").name
    'letor'
    """
    found = {each.name: each for each in (target_format(file, name) for file in part_files(path))}
    if len(found) > 1:
        raise DataError(f"The files of {os.fspath(path)} must have one format. Got {' and '.join(found)}.")
    return next(iter(found.values()))


def target_format(path: FilePath, name: str | None = None) -> Format:
    """The format of this name, or the one that the suffix of a single file, which need not be there, means."""
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
    known = "; ".join(f"{each.name} ({' '.join(each.suffixes)})" for each in FORMATS.values())
    raise OptionError(
        f"{file}: unknown extension {suffix!r}. Save the data in one of these formats, or name theirs with format=, on "
        f"the command line --read format=NAME: {known}."
    )
