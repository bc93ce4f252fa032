"""How every page is put together: sections of text, facts, tables and pictures, rendered by templates into one file."""

import os
import platform
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from luce.errors import load_package
from luce.files import atomic_write
from luce.report.formatting import count, decimal, number, plain, shown_value
from luce.report.svg import Picture
from luce.threads import thread_count

ENGINES = "torch", "lightgbm", "xgboost", "catboost"
"""Packages whose versions are shown where they were used."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text with small print below, the number to sort by, "better" or "worse" as a mark.

    A `shade` from 0 to 1 colors it, in one color above one half and in another below.
    """

    text: str
    small: str = ""
    value: float | None = None
    bold: bool = False
    mark: str = ""
    wrap: bool = False
    shade: float | None = None


def sortable(value: float, form: Callable[[Any], str], small: str = "") -> Cell:
    """A number in its form, sorted by its value."""
    return Cell(form(value), small, value)


@dataclass(frozen=True)
class PageTable:
    """Rows of cells or text; the one at `head` in each row is its name. The `label` is for screen readers."""

    kind: ClassVar[str] = "table"
    label: str
    columns: Sequence[Any]
    rows: Iterable[Sequence[Any]]
    heading: str = ""
    foot: Iterable[Sequence[Any]] = ()
    sortable: bool = False
    searchable: bool = False
    head: int = 0
    matrix: bool = False

    def __post_init__(self) -> None:
        for name, rows in (("columns", [self.columns]), ("rows", self.rows), ("foot", self.foot)):
            cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
            object.__setattr__(self, name, cells[0] if name == "columns" else cells)


@dataclass(frozen=True)
class Text:
    """A paragraph; a note is in small print."""

    kind: ClassVar[str] = "text"
    text: str
    note: bool = False


def note(text: str) -> Text:
    """A paragraph in small print."""
    return Text(text, note=True)


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side, small ones closer."""

    kind: ClassVar[str] = "pictures"
    pictures: Sequence[Picture]
    small: bool = False


@dataclass(frozen=True)
class FullPicture:
    """A picture as wide as the page, and the one that takes its place on a phone."""

    kind: ClassVar[str] = "full picture"
    picture: Picture
    narrow: Picture


@dataclass(frozen=True)
class Facts:
    """Names and what they are."""

    kind: ClassVar[str] = "facts"
    facts: Mapping[str, Any]
    heading: str = ""


@dataclass(frozen=True)
class Code:
    """A command."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown on demand."""

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: Sequence[Any]


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it; one with a template of its own has data for it."""

    heading: str
    blocks: Sequence[Any] = ()
    template: str = "section.html.j2"
    data: Any = None


def write_page(
    path: str | os.PathLike[str],
    sections: Mapping[str, Section],
    *,
    title: str,
    summary: str,
    command: str,
    settings: Mapping[str, Any],
    contents: Mapping[str, str] | None = None,
) -> Path:
    """Write a page, completely or not at all, and return its path; its last section tells how to reproduce it."""
    page = page_of(title, summary, {**sections, "repeat": repeat_section(command, settings)}, contents)
    with atomic_write(path) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")
    return Path(path)


def page_of(title: str, summary: str, sections: Mapping[str, Section], contents: Mapping[str, str] | None) -> str:
    """The HTML of a page; `contents` is a line for each section, and a page that has them can also sort its tables."""
    jinja2 = load_package("jinja2", "report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("luce.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    markup = load_package("markupsafe", "report")

    def isolate(text: str) -> Any:
        """Escaped text, with the names that `formatting.isolated` marked in elements of their own."""
        return markup.Markup(re.sub("\u2068([^\u2068\u2069]*)\u2069", r"<bdi>\1</bdi>", str(markup.escape(text))))

    templates.filters.update(decimal=decimal, number=number, shown_value=shown_value)
    templates.filters.update(count=count, plain=plain, isolate=isolate)
    script = templates.loader.get_source(templates, "page.js")[0]
    digest = f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
    context = {"title": title, "summary": summary, "sections": sections, "contents": contents}
    text: str = templates.get_template("page.html.j2").render(context, script=script, digest=digest)
    return text


def repeat_section(command: str, settings: Mapping[str, Any]) -> Section:
    """What is needed to reproduce a page: the command, the settings, the versions and the machine."""
    code = [Code(command)] if command else []
    given = [Facts(settings, "Settings")] if settings else []
    return Section("Reproduce", [*code, *given, Facts(_versions(), "Versions")])


def _versions() -> dict[str, str]:
    packages = {package: version(package) for package in ("luce", "numpy", "scipy", "numba")}
    packages |= {package: str(sys.modules[package].__version__) for package in ENGINES if sys.modules.get(package)}
    machine = {"platform": platform.platform(), "cores": str(thread_count(-1))}
    return {"python": platform.python_version(), **packages, **machine}
