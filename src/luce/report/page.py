"""The report: a page of all sections that its contents allow."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from luce.report.calibration import calibration
from luce.report.contents import Report
from luce.report.curves import depth, learning
from luce.report.data_card import data_card
from luce.report.differences import differences
from luce.report.explanation import features
from luce.report.exposure import exposure_section
from luce.report.layout import Section, write_page
from luce.report.lists import lists
from luce.report.results import results

SECTIONS: dict[str, tuple[str, Callable[[Report], Section | None]]] = {
    "results": ("Results", results),
    "learning": ("Learning curves", learning),
    "depth": ("By depth", depth),
    "differences": ("Wins and losses", differences),
    "lists": ("Lists to look at", lists),
    "calibration": ("Calibration", calibration),
    "exposure": ("Exposure and merit", exposure_section),
    "features": ("Features", features),
    "data": ("Data", data_card),
}
"""The sections in their order: the line in the table of contents, and the function that makes it, or None."""


def write_report(path: str | os.PathLike[str], **contents: Any) -> Path:
    """Write one self-contained HTML page and return its path; the contents are the fields of `Report`.

    The same contents on the same machine give the same bytes; an existing file is replaced only by a complete one.

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
    report = Report(**contents)
    made = {name: section for name, (_, make) in SECTIONS.items() if (section := make(report)) is not None}
    lines = {name: SECTIONS[name][0] for name in made} | {"repeat": "Reproduce"}
    about: dict[str, Any] = {name: getattr(report, name) for name in ("title", "summary", "command", "settings")}
    return write_page(path, made, **about, contents=lines)
