"""A report to start from, and a reader of pages that sees what a browser would: tags, attributes, table cells, text."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from luce.data.ragged import Dataset
from luce.metrics import Results
from luce.report import write_report

VOID = {"meta", "link", "img", "input", "br", "hr", "base"}


class Page(HTMLParser):
    """The tags with their attributes, the words of each table cell by row, the text of each section."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.rows: list[list[str]] = []
        self.sections: dict[str, str] = {}
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(source)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(self.tags[-1])
        if tag == "section":
            self.sections[self.tags[-1][1]["id"]] = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        names = [tag for tag, _ in self._open]
        if "td" in names or "th" in names:
            self.rows[-1][-1] = " ".join((self.rows[-1][-1] + " " + data).split())
        for tag, attributes in self._open:
            if tag == "section":
                name = attributes["id"]
                self.sections[name] = " ".join((self.sections[name] + " " + data).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def pictures(self) -> list[str]:
        """What is said of each picture."""
        return [svg["aria-label"] for svg in self.all("svg")]


def _results(figures: dict[str, tuple[float, float, float]], n_lists: int = 100, **more: Any) -> Results:
    """Results with these means, lows and highs by metric."""
    empty = more.pop("n_empty", dict.fromkeys(figures, 0))
    given = {
        "list_weights": None,
        "empty": "skip",
        "gain": "exponential",
        "max_grade": None,
        "ranking": None,
        "confidence": 0.95,
        **more,
    }
    return Results(
        values={},
        means={name: mean for name, (mean, _, _) in figures.items()},
        intervals={name: (low, high) for name, (_, low, high) in figures.items()},
        n_empty=empty,
        query_ids=range(n_lists),
        **given,
    )


def _lists(labels: Any, sizes: Any = None, **more: Any) -> Dataset:
    """Lists of these labels; all in one list unless sizes are given."""
    offsets = np.concatenate([[0], np.cumsum([len(labels)] if sizes is None else sizes)]).astype(np.int64)
    return Dataset(more.pop("features", np.ones((len(labels), 2))), labels, offsets, **more)


@pytest.fixture(scope="session")
def results() -> Any:
    return _results


@pytest.fixture(scope="session")
def lists() -> Any:
    return _lists


@pytest.fixture(scope="session")
def contents() -> dict[str, Any]:
    """The least that a report needs."""
    return {"title": "T", "summary": "S", "command": "luce demo", "dataset": _lists([2, 0, 1, 0, 1], [3, 2])}


@pytest.fixture(scope="session")
def read_page() -> Any:
    """A function from the path of a page to the page, read back."""
    return lambda path: Page(path.read_text("utf-8"))


@pytest.fixture(scope="session")
def page(contents: dict[str, Any], tmp_path_factory: Any) -> Any:
    """A function from contents to the page, read back."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    return lambda **more: Page(write_report(path, **{**contents, **more}).read_text("utf-8"))
