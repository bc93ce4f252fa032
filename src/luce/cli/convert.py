"""`luce convert`: from any format to any other."""

from pathlib import Path
from typing import Annotated

import typer

from luce.cli.options import Data, Overwrite, Reading
from luce.cli.output import check_new, check_written, say
from luce.cli.reading import read_data

Output = Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its extension determines the format.")]


def convert(data: Data, out: Output, overwrite: Overwrite = False, read: Reading = None) -> None:
    """Convert data to another format. A .luce-data file is memory-mapped: it opens immediately, whatever its size.

    Several files become one.

    Example: luce convert train.txt.gz train.luce-data

    Example: luce convert 'parts/*.parquet' train.luce-data
    """
    from luce.data.formats import target_format

    check_written([out], [data])
    check_new(out, overwrite)
    target = target_format(out)
    # Mapped data may be larger than memory: what is read goes through files beside the new one.
    dataset = read_data(data, read, temp_folder=out.parent if target.name == "mapped" else None)
    target.write(dataset, out)
    say(f"{out}: {dataset!r}")
