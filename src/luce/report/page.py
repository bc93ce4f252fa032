"""The page: a table of sections, each a function that gathers and a template that shows."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from luce.errors import load_package
from luce.files import replacing
from luce.report.contents import Report
from luce.report.data_card import data_card
from luce.report.example import example
from luce.report.learning import learning
from luce.report.repeat import repeat
from luce.report.results import results
from luce.report.wording import count, decimal, number, p_value, plain, share

SECTIONS: dict[str, Callable[[Report], dict[str, Any] | None]] = {
    "results": results,
    "learning": learning,
    "example": example,
    "data": data_card,
    "repeat": repeat,
}
"""The sections in their order: what each shows (None: it is left out), in templates/NAME.html.j2."""


def environment() -> Any:
    """The templates of the pages and the words they put numbers into."""
    jinja2 = load_package("jinja2", "report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("luce.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(decimal=decimal, number=number, count=count, p_value=p_value, plain=plain, share=share)
    return templates


def render(report: Report) -> str:
    """The page of a report: one HTML text that asks for nothing from outside itself."""
    gathered = {name: gather(report) for name, gather in SECTIONS.items()}
    sections = {name: found for name, found in gathered.items() if found is not None}
    return (
        environment().get_template("page.html.j2").render(title=report.title, summary=report.summary, sections=sections)
    )


def write_report(path: str | os.PathLike[str], **contents: Any) -> Path:
    """Write one self-contained HTML page and give back its path; the contents are the fields of `Report`.

    The same contents on the same machine give the same bytes; a file already there is replaced only by a whole one.

    >>> import tempfile
    >>> from luce.data.ragged import Dataset
    >>> data = Dataset([[0.5], [0.1], [0.3]], [2, 0, 1], [0, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", title="First look", summary="Two lists.",
    ...                         command="luce inspect lists.txt", dataset=data)
    ...     page.name, "First look" in page.read_text("utf-8")
    ('report.html', True)
    """
    page = render(Report(**contents))
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")
    return Path(path)
