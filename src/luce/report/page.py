"""The page: a table of sections, each a function that gathers and a template that shows."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from luce.report.calibration import calibration
from luce.report.contents import Report
from luce.report.curves import depth, learning
from luce.report.data_card import data_card
from luce.report.differences import differences
from luce.report.explanation import features
from luce.report.exposure import attention_section
from luce.report.layout import page_of, repeat_section, write_page
from luce.report.lists import lists
from luce.report.results import results


class Section(NamedTuple):
    """Its line in the table of contents, and what gathers what it shows: None leaves it out."""

    line: str
    gather: Callable[[Report], dict[str, Any] | None]


SECTIONS: dict[str, Section] = {
    "results": Section("Results", results),
    "learning": Section("Learning curves", learning),
    "depth": Section("By depth", depth),
    "differences": Section("Wins and losses", differences),
    "lists": Section("Lists to look at", lists),
    "calibration": Section("Calibration", calibration),
    "attention": Section("Exposure and merit", attention_section),
    "features": Section("Features", features),
    "data": Section("Data", data_card),
    "repeat": Section("To repeat it", lambda report: repeat_section(report.command, report.settings)),
}
"""The sections in their order; each is shown by templates/NAME.html.j2."""


def render(report: Report) -> str:
    """The page of a report: one HTML text that asks for nothing from outside itself."""
    gathered = {name: section.gather(report) for name, section in SECTIONS.items()}
    sections = {name: found for name, found in gathered.items() if found is not None}
    return page_of(report.title, report.summary, sections, {name: SECTIONS[name].line for name in sections})


def write_report(path: str | os.PathLike[str], **contents: Any) -> Path:
    """Write a report as one self-contained HTML page.

    The same contents on the same machine give the same bytes. An existing file is replaced once the new one is
    complete.

    Parameters
    ----------
    path : str or path-like
        The file to write.
    **contents
        The fields of `Report`.

    Returns
    -------
    Path
        The path of the page.

    Examples
    --------
    >>> import tempfile
    >>> from luce.data.ragged import Dataset
    >>> data = Dataset([[0.5], [0.1], [0.3]], [2, 0, 1], [0, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", title="First look", summary="Two lists.",
    ...                         command="luce inspect lists.txt", dataset=data)
    ...     page.name, "First look" in page.read_text("utf-8")
    ('report.html', True)
    """
    return write_page(path, render(Report(**contents)))
