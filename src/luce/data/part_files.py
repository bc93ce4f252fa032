"""The files that a path means: itself, those of a folder, or those that match a pattern; and which rank reads which."""

import os
from glob import glob, has_magic
from pathlib import Path

import pyarrow as pa

from luce.arrays import offsets_of_sizes
from luce.data.letor.assemble import LIST_SIZE_SUFFIXES
from luce.data.shards import even_cuts
from luce.errors import DataError


def part_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files of a folder or of a pattern such as `parts/*.parquet`, in the order of their names; else the path.

    In a folder those whose names begin with . or _ are passed over, as Spark and Hive do, and so are files of list
    sizes.
    """
    given = Path(path)
    if given.is_dir():
        files = (each for each in given.iterdir() if each.suffix not in LIST_SIZE_SUFFIXES)
        found = sorted(each for each in files if each.is_file() and not each.name.startswith((".", "_")))
        if not found:
            raise DataError(f"{given} is a folder without data files; name a folder of parts, or a file.")
        return found
    if given.exists() or not has_magic(str(path)):
        return [given]
    found = sorted(Path(each) for each in glob(str(path), recursive=True) if Path(each).is_file())
    if not found:
        raise DataError(f"There is no file {path}.")
    return found


def parts_of_rank(files: list[Path], format: str, rank: int, size: int) -> list[Path]:
    """The files of one rank, which follow each other: about as many rows for each, or bytes where none are counted."""
    cuts = even_cuts(offsets_of_sizes([_size(file, format) for file in files]), size)
    return files[cuts[rank] : cuts[rank + 1]]


def _size(file: Path, format: str) -> int:
    if format not in ("parquet", "arrow"):
        return os.path.getsize(file)
    from pyarrow import dataset

    try:
        return int(dataset.dataset(file, format="ipc" if format == "arrow" else format).count_rows())
    except (pa.ArrowException, OSError):  # reading it will say what is wrong; an Arrow stream does not count its rows
        return os.path.getsize(file)


def refuse_mapped_parts(path: str | os.PathLike[str], n_files: int, size: int) -> None:
    """An error where a process would have to put several mapped files together, in memory that may not hold them."""
    if n_files not in (1, size):
        ranks = f" or {size}, one for each rank" if size > 1 else ""
        raise DataError(
            f"{os.fspath(path)} has {n_files} .luce-data files; a mapped dataset is one file{ranks}. Put them "
            f"together: luce convert {os.fspath(path)} all.luce-data."
        )
