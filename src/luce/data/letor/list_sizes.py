"""The sizes of lists in a file of their own, one a line, as LightGBM keeps them beside rows without query ids."""

import os
import re
from pathlib import Path

import numpy as np

from luce.arrays import Integers
from luce.data.streams import COMPRESSIONS, InputStream
from luce.errors import DataError

SUFFIXES = (".query", ".group")
_SIZE = re.compile(rb"[0-9]{1,18}")


def read_list_sizes(path: Path, given: str | os.PathLike[str] | None, n_rows: int) -> Integers:
    """The list sizes for the rows of `path`: from the file `given`, else from PATH.query or PATH.group beside it."""
    place = _beside(path) if given is None else Path(given)
    with InputStream(place) as stream:
        lines = stream.readall().splitlines()
    sizes = np.zeros(len(lines), np.int64)
    for number, line in enumerate(lines):
        if not _SIZE.fullmatch(line.strip()):
            shown = line[:40].decode(errors="replace")
            raise DataError(f"{place}, line {number + 1:,}: expected the size of a list, at least 0. Got {shown!r}.")
        sizes[number] = int(line)
    if sum(sizes.tolist()) != n_rows:
        total = sum(sizes.tolist())
        raise DataError(f"The list sizes in {place} must add up to the {n_rows:,} rows of {path}. They make {total:,}.")
    return sizes


def _beside(path: Path) -> Path:
    stems = [path, path.with_suffix("")] if path.suffix.lower() in COMPRESSIONS else [path]
    for candidate in (Path(f"{stem}{suffix}") for stem in stems for suffix in SUFFIXES):
        if candidate.is_file():
            return candidate
    raise DataError(
        f"{path} does not say which rows belong together. Either every line has qid:… after the label, "
        f"or a file {path.name}.query beside it has the list sizes, one a line (lists=… where it is elsewhere)."
    )
