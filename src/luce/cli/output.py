"""What the commands print: tables and words for people, JSON for programs, progress for whoever waits."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from luce.errors import OptionError
from luce.files import check_target

PATIENCE = 2.0
"""Seconds of work before progress is shown."""


def say(message: str) -> None:
    """A line for people, on standard error, so that standard output holds results alone."""
    Console(stderr=True, highlight=False).print(message, soft_wrap=True)


def show_json(value: Any) -> None:
    """One JSON value on standard output; NaN, which JSON lacks, as null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def show_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 1) -> None:
    """A table on standard output; columns from number `numeric` on stand to the right."""
    console = Console(highlight=False)
    # Piped output is for programs and files: no line is folded to the width of a terminal that is not there.
    console = console if sys.stdout.isatty() else Console(highlight=False, width=1_000)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", expand=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i >= numeric else "left", no_wrap=i >= numeric)
    for row in rows:
        table.add_row(*[str(cell) for cell in row])
    console.print(table)


def write_table(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """A CSV file of rows that all have the same columns."""
    import pyarrow as pa
    from pyarrow import csv

    from luce.files import replacing

    with replacing(path) as partial:
        csv.write_csv(pa.Table.from_pylist(list(rows)), partial)


def check_written(written: Iterable[Path], given: Iterable[Path]) -> None:
    """An error, before the work, for a file that cannot be written, is written twice, or holds what is read."""
    taken = {path.resolve() for path in given}
    for path in written:
        check_target(path)
        if path.resolve() in taken:
            raise OptionError(f"{path} is the name of the data, or of another file to write: give it another name.")
        taken.add(path.resolve())


class Report(Protocol):
    """Tells how far the work has come: a share from 0 to 1, and words."""

    def __call__(self, share: float, words: str = "") -> None: ...


@contextmanager
def progress(title: str, timed: bool = True) -> Iterator[Report]:
    """A bar on standard error once the work has taken two seconds; in a log, some lines.

    `timed`: with the time left as the bar has moved so far, where the words do not tell it.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(40 if timed else 20), TextColumn("{task.fields[words]}")
    bar = Progress(*columns, *([TimeRemainingColumn()] if timed else []), console=console, transient=True)
    task = bar.add_task(title, total=1.0, words="")
    due = time.monotonic() + PATIENCE

    def report(share: float, words: str = "") -> None:
        nonlocal due
        bar.update(task, completed=share, words=words)
        if time.monotonic() < due or bar.live.is_started:
            return
        if console.is_terminal:
            bar.start()
        else:
            say(f"{title}: {share:.0%} {words}")
            due = time.monotonic() + 5 * PATIENCE

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and value != value else value
