"""What the commands print and write: messages, tables, JSON, CSV, and progress."""

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from luce.compilation import on_compilation
from luce.errors import MissingPackageError, OptionError
from luce.files import atomic_write, check_target, is_stream

PROGRESS_DELAY = 2.0
"""Seconds of work before progress is shown."""

COMPILING = "Compiling kernels (first run only) …"

STYLES = {"Error": "bold red", "Note": "yellow"}
"""Of labels; others are bold."""

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them, that reverse text, or that cannot be encoded."""


def visible(text: object) -> str:
    r"""Text whose control characters are written out: a name from a file must not give orders to a terminal.

    >>> print(visible("red\x1b[31m"))
    red\u001b[31m
    """
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def say(message: object, label: str = "", style: str = "") -> None:
    """A line for people, on standard error, so that standard output holds results alone."""
    line = Text(visible(message), style)
    if label:
        line = Text.assemble((visible(f"{label}:"), STYLES.get(label, "bold")), " ", line)
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)


def show(text: object) -> None:
    """Text on standard output."""
    print(visible(text))


def show_json(value: Any) -> None:
    """One JSON value on standard output; NaN, which JSON lacks, as null."""
    show(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def show_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 1) -> None:
    """A table on standard output; columns from number `numeric` on stand to the right. A cell may be a styled Text."""
    console = Console(highlight=False)
    # Piped output is for programs and files: no line is folded to the width of a terminal that is not there.
    console = console if sys.stdout.isatty() else Console(highlight=False, width=1_000)
    heading = None if title is None else _cell(title)
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False, header_style="bold", expand=False)
    for i, column in enumerate(columns):
        table.add_column(_cell(column), justify="right" if i >= numeric else "left", no_wrap=i >= numeric)
    for row in rows:
        table.add_row(*map(_cell, row))
    console.print(table)


def show_page_table(table: Any, title: str | None = None, numeric: int = 1) -> None:
    """A table of a page on standard output, the small print of a cell after its text; `numeric` as in `show_table`."""
    heads, *rows = (
        [plain_text(f"{cell.text} {cell.small}".strip()) for cell in row] for row in (table.columns, *table.rows)
    )
    show_table(title, heads, rows, numeric)


def plain_text(text: str) -> str:
    """Text of a page with numbers as programs read them, and names without isolation marks."""
    return text.translate(str.maketrans("−", "-", "\u2068\u2069"))


def _cell(value: Any) -> Text:
    return value if isinstance(value, Text) else Text(visible(value))


def write_csv(table: Any, path: str | os.PathLike[str] | None) -> None:
    """A CSV file, where one is wanted, of an Arrow table or of rows that all have the same columns."""
    import pyarrow as pa

    if path is None:
        return
    name = replacing(Path(path))
    with atomic_write(path) as partial, open(partial, "wb") as file:
        csv_to(table if isinstance(table, pa.Table) else pa.Table.from_pylist(_of_one_type(list(table))), file)
    say(name, "Table")


def _of_one_type(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with text in the columns that have both text and numbers, as those of features' values may."""
    texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}

    def text(value: Any) -> str | None:
        return None if value is None or value != value else str(value)

    return [row | {name: text(row[name]) for name in texts} for row in rows] if texts else rows


def csv_to(table: Any, file: Any, header: bool = True) -> None:
    """An Arrow table as CSV, with or without its header.

    Text that a spreadsheet would run as a formula gets an apostrophe in front. Numbers, also those in a column of
    text, and ids that merely begin with a hyphen stay as they are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            text = table.column(i)
            formula = pc.match_substring_regex(text, r"(?s)^([=+@\t\r]|-.*[^\w.-])")
            number = pc.match_substring_regex(text, r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$")
            quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), text, pa.scalar("", field.type))
            table = table.set_column(i, field, pc.if_else(pc.and_not(formula, number), quoted, text))
    csv.write_csv(table, file, csv.WriteOptions(include_header=header))


def check_written(written: Iterable[Path | None], given: Iterable[Path | None]) -> None:
    """An error, before the work, for a file that cannot be written, is written twice, or holds what is read."""
    taken = {path.resolve() for path in given if path is not None}
    for path in filter(None, written):
        check_target(path)
        if path.resolve() in taken and not is_stream(path):
            raise OptionError(f"{path} would overwrite the data or another output: choose another file name.")
        taken.add(path.resolve())


def check_new(path: Path | None, overwrite: bool) -> None:
    """An error, before the work, where a model or data would be replaced; a page or a table may be, see `replacing`."""
    if path is not None and path.exists() and not (overwrite or is_stream(path)):
        raise OptionError(f"{path} already exists. Add --overwrite to replace it, or choose another file.")


def replacing(path: Path) -> str:
    """A file that is about to be written, as the message after it names it.

    >>> replacing(Path("no-such-folder/explain.html"))
    'no-such-folder/explain.html'
    """
    return f"{path} (replaced)" if path.exists() and not is_stream(path) else str(path)


def beside(path: Path, ending: str, usual: str) -> Path:
    """A file next to an output; next to the `usual` output where it goes to a device or a pipe.

    >>> str(beside(Path("models/a.luce"), ".checkpoint", "model.luce"))
    'models/a.luce.checkpoint'
    """
    return Path(f"{usual if is_stream(path) else path}{ending}")


def command_line() -> str:
    """The command as it can be typed again."""
    return shlex.join(["luce", *sys.argv[1:]])


def write_optional_page(write: Callable[..., Path], path: Path, *contents: Any, **about: Any) -> None:
    """Write a page beside what was printed; where the packages for it are missing, only say so."""
    name = replacing(path)
    try:
        write(path, *contents, command=command_line(), **about)
        say(name, "Report")
    except MissingPackageError as error:
        say(f"The report was not written. {error}", "Note")


_bars: list[Progress] = []
"""The progress bars of the work that is going on."""


def announce_compilation() -> None:
    """Show that kernels are being compiled where that takes noticeable time: a spinner in a terminal, else a line."""
    console, said = Console(stderr=True), False
    status = console.status(COMPILING)

    def report(compiling: bool) -> None:
        nonlocal said
        if not compiling:
            status.stop()
        elif console.is_terminal and not any(bar.live.is_started for bar in _bars):
            status.start()
        elif not said:
            say(COMPILING)
            said = True

    on_compilation(report)


class OnProgress(Protocol):
    """Called with the fraction of the work that is done, from 0 to 1, and a message."""

    def __call__(self, fraction: float, message: str = "") -> None: ...


@contextmanager
def progress(title: str, timed: bool = True) -> Iterator[OnProgress]:
    """A progress bar on standard error after two seconds of work; in a log, a line now and then.

    `timed`: with the time left as the bar has moved so far, where the message does not have it.
    """
    console = Console(stderr=True)
    texts = (TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[message]}"))
    columns = next(texts), BarColumn(40 if timed else 20), next(texts)
    bar = Progress(*columns, *([TimeRemainingColumn()] if timed else []), console=console, transient=True)
    task = bar.add_task(visible(title), total=1.0, message="")
    due = time.monotonic() + PROGRESS_DELAY

    def report(fraction: float, message: str = "") -> None:
        nonlocal due
        bar.update(task, completed=fraction, message=visible(message))
        if time.monotonic() < due or bar.live.is_started:
            return
        if console.is_terminal:
            bar.start()
        else:
            say(f"{title}: {fraction:.0%} {message}")
            due = time.monotonic() + 5 * PROGRESS_DELAY

    _bars.append(bar)
    try:
        yield report
    finally:
        _bars.remove(bar)
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
