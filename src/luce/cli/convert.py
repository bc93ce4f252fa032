"""`luce convert`: from any format to any other."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from luce.cli.options import Data, Reading, pairs
from luce.cli.output import check_written, say
from luce.cli.reading import read_data

Output = Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its ending says the format.")]


def convert(data: Data, out: Output, read: Reading = None) -> None:
    """Write the data in another format. A .luce-data file is memory-mapped: it opens at once whatever its size.

    Example: luce convert train.txt.gz train.luce-data
    """
    from luce.data import format_of, write

    check_written([out], [data])
    reading, target = list(read or []), format_of(out)
    source = format_of(data, pairs(read, "--read").get("format"))
    with tempfile.TemporaryDirectory(prefix=".luce-", dir=out.parent if out.parent.is_dir() else None) as spool:
        if target.name == "mapped" and "spool" in source.options:  # through files, so it may be larger than memory
            reading.append(f"spool={spool}")
        dataset = read_data(data, reading)
        write(dataset, out, format=target.name)
    say(f"{out}: {dataset!r}")
